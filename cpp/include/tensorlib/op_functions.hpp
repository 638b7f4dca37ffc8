// Operations, a function each: tensorlib.hpp includes this. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#pragma once

#include <cstdint>

namespace tensorlib {

class Tensor;
enum class Type : std::int32_t;

// Context's methods: the free functions of the same names, with the node in this context: that of a request, while the
// operands are a model's.
class ContextOps {
public:
    Tensor add(const Tensor &a, const Tensor &b) const;
    Tensor transpose(const Tensor &a) const;
    Tensor cont(const Tensor &a) const;
    Tensor cpy(const Tensor &src, const Tensor &dst) const;
    Tensor dup(const Tensor &a) const;
    Tensor get_rows(const Tensor &a, const Tensor &rows) const;
    Tensor set_rows(const Tensor &a, const Tensor &b, const Tensor &rows) const;
};

// Tensor's methods: the free functions of one operand.
class TensorOps {
public:
    Tensor transpose() const;
    Tensor cont() const;
    Tensor dup() const;
};

// A node lives in the context of its operands; where those differ, in the one that was made last: see Tensor.
// a + b, element by element; b repeats into a. The result c: c[i] = a[i] + b[i mod b's shape]. Shapes: c has a's shape; each dimension of b
// is 1 or divides that of a, and a zero one meets only a zero in a. Types: a and b each F32, F16 or BF16; computed in F32 and rounded once.
// The result is of a's type.
Tensor add(const Tensor &a, const Tensor &b);
// a with dimensions 0 and 1 swapped. The result c: c[i1, i0, i2, i3] = a[i0, i1, i2, i3]. The result is a view of a: nothing is computed.
// Shapes: a's extents, the first two swapped. Types: any without blocks. The result is of a's type.
Tensor transpose(const Tensor &a);
// A contiguous copy. The result c: c[i] = a[i]. Shapes: c has a's shape, and its elements lie side by side. Types: any. Exact. The result
// is of a's type.
Tensor cont(const Tensor &a);
// dst with src's elements copied into it. dst's elements, in their order, become src's. The result is a view of dst: make it an output, or
// use it, for this to happen. Shapes: as many elements on both sides. Whatever comes later in the graph and reads dst, through any view,
// sees them. dst must not be constant, no two of its elements may share memory, nor may one of it and one of src, unless both are the same
// elements. Types: any into any, converted as by cast. Computing fails with Error(invalid_argument), naming the place, for a value that
// dst's type cannot hold.
Tensor cpy(const Tensor &src, const Tensor &dst);
// A copy. The result c: c[i] = a[i]. Shapes: c has a's shape, and its elements lie side by side. Types: any. Exact. The result is of a's
// type.
Tensor dup(const Tensor &a);
// a's rows of these numbers. The result c: c[i, r, i2, i3] = a[i, rows[r, i2, i3], i2, i3]. Shapes: a {n, m, x, y}, rows {r, x, y}, c
// {n, r, x, y}; a row may be taken any number of times. Types: a any, rows I32 or I64; c of a's type where that is an integer, else F32.
// Exact but for F64, which is rounded. Computing fails with Error(invalid_argument), naming the place, for a number that is no row's.
Tensor get_rows(const Tensor &a, const Tensor &rows);
// a with b's rows stored as its rows of these numbers. In the result a[i, rows[r, i2 mod x', i3 mod y'], i2, i3] = b[i, r, i2, i3]. The
// result is a view of a: make it an output, or use it, for this to happen. Shapes: a {n, m, x, y}, b {n, r, x, y}, rows {r, x', y'}, x'
// dividing x and y' dividing y. Where a row is named twice, the later one stays. a must not be constant, and no two of its elements nor one
// of it and one of b or rows may share memory. Types: a and b any, b is converted to a's type as by cast; rows I32 or I64. The result is of
// a's type. Computing fails with Error(invalid_argument), naming the place, for a number that is no row's, whose row is left out, or a
// value that a's type cannot hold.
Tensor set_rows(const Tensor &a, const Tensor &b, const Tensor &rows);

}  // namespace tensorlib
