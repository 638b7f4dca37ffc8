// What an operation means: everything about it that is not a kernel. One OpDef per operation, in its family's file: what its description
// (ops/*.toml) says, and what it computes with.
#pragma once

#include "graph/context.hpp"
#include "math/tile_op.hpp"
#include "ops/attrs.hpp"

#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <string>

namespace tensorlib::core {

// The work of one node, for choosing threads and for reporting rates.
struct Cost {
    double flops = 0;
    double bytes = 0;
};

// What becomes of an operand. read: its elements are. written: the result is a view of it, which computing writes into. viewed: the
// result is a view of it, and nothing is computed. indices: its elements are numbers of something. integers: whole numbers of which any is
// valid.
enum class Role : std::uint8_t { read, written, viewed, indices, integers };

struct Operand {
    const char *name;  // for messages
    Role role;
    bool optional = false;              // may be left out; never the first operand
    const char *no_gradient = nullptr;  // why it has no gradient; null where it has one
};

// The result's type: an operand's, or always the same. by_hand: infer says it, by the operands or attributes.
enum class ResultType : std::uint8_t { by_hand, of_first, f32, i32, i64 };

// No more than a step of a plan has room for.
struct Operands : std::span<const Operand> {
    constexpr Operands() = default;
    template <std::size_t N>
    constexpr Operands(const Operand (&all)[N]) : std::span<const Operand>(all) {
        static_assert(N <= max_sources);
    }
};

// What an operation is, out of its description (ops/gen/op_facts.hpp).
struct OpFacts {
    Op op;
    const char *name;
    Operands operands{};
    std::span<const AttrDef> attrs{};
    ResultType result = ResultType::by_hand;
    const char *gradient;  // the derivative as a formula, or why there is none: never empty. `g` is the gradient of the result
    const char *doc;
};

// What an elementwise operation computes of each element (math/tile_ops.inc): the formula, its parameters, and for each of its operands
// which of the node's that is, from which element of dimension 0 on: a gated operation's may be two halves of one. Extents that the result
// has more of than an operand repeat.
struct Formula {
    TileOp op;
    std::array<float, 4> parameters{};
    struct Source {
        std::uint8_t operand = 0;
        std::int64_t first = 0;
    };
    std::array<Source, max_tile_operands> sources{};
};

// What it computes with.
struct OpCode {
    // The only validator and shape rule: throws an Error whose message names the operation, the shapes and what would
    // be valid, or fills in the result (op and src are set already, and view_of and written by the operands' roles). There is a source
    // for each operand, null where it is left out, and all are on one device.
    void (*infer)(std::span<Tensor *const> src, const Attrs &attrs, NodeSpec &result);

    Cost (*cost)(const Tensor &node);

    // For operations that some values of an operand make impossible: an index beyond the last row, a NaN where there
    // are integers to be. The operands whose elements are checked while the node is computed, a bit each; and what is
    // valid for one, for the message. Null for operations that take all values.
    unsigned (*checked_operands)(const Tensor &node) noexcept = nullptr;
    std::string (*valid_values)(const Tensor &node, int operand) = nullptr;

    // Of an elementwise operation, whose result is contiguous; null for others. It has no kernels of its own: programs are made of formulas
    // (runtime/program.hpp).
    Formula (*formula)(const Tensor &node) noexcept = nullptr;
};

struct OpDef : OpFacts, OpCode {};

// A node's attributes; A is its operation's struct (ops/gen/op_facts.hpp).
template <class A>
const A &attrs_of(const Tensor &node) noexcept {
    assert(node.op == A::operation);
    return *static_cast<const A *>(node.attrs);
}

const OpDef &op_def(Op op) noexcept;

// OpCode::checked_operands, 0 where there are none.
inline unsigned checked_operands(const Tensor &node) noexcept {
    const OpDef &def = op_def(node.op);
    return def.checked_operands ? def.checked_operands(node) : 0;
}

// By name; nullptr where there is none (leaf is no operation).
const OpDef *find_op(std::string_view name) noexcept;
// The same, or an Error(invalid_argument) with the nearest names.
const OpDef &op_named(std::string_view name);

// All operations but leaf, in the list's order.
std::span<const OpDef *const> all_ops() noexcept;

// Throws Error(invalid_argument) where an operation does not take so many operands. Optional ones at the end may be missing.
void check_operand_count(const OpDef &def, std::size_t count);

// Names the operands' layouts: "a is [2, 4] f32, b is [7] f32". null: what is said of one that is null, which infer sees where an operand
// was left out.
std::string operands_text(const OpFacts &def, std::span<Tensor *const> src, const char *null = "left out");

// The attributes of one call, in the kinds that the definition asks for, without those that say no more than the default; they lie in
// `room`. Throws Error(invalid_argument), naming operation, attribute, value and what is valid.
Attrs checked_attrs(const OpDef &def, std::span<const Attr> attrs, std::span<Attr, Attrs::most> room);

// The one way to make a node: checks operands and attributes, infers, and appends to the context. left_out() stands for an optional
// operand that is left out.
Tensor *build_node(Context &context, Op op, std::span<Tensor *const> src, std::span<const Attr> attrs = {});

// The view of `length` elements of a from `start` on in dimension dim.
Tensor *build_narrow(Context &context, Tensor *a, std::int32_t dim, std::int64_t start, std::int64_t length);

namespace ops {

// Each is defined in its family's file.
#define TL_OP(name, number) extern const OpDef name;
#include "graph/gen/op_list.inc"
#undef TL_OP

// What the operations that write into one of their operands share. Throws Error(invalid_argument) where `target` is constant, or two
// of its elements share memory, so that threads would race for it.
void check_target(const char *op, const char *name, const Tensor &target);
// Throws Error(invalid_argument) where an element of `from` shares memory with one of `target`.
void check_apart(const char *op, const char *from_name, const Tensor &from, const char *name, const Tensor &target);
// Whether some values of `from` cannot be held by `to`; and what it holds.
bool may_refuse(DType from, DType to) noexcept;
std::string values_of(DType type);

// OpCode::infer of an operation with attributes: the node keeps them.
template <class A, void (*infer)(std::span<Tensor *const>, const A &, NodeSpec &)>
void with_attrs(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    infer(src, result.make_attrs<A>(given), result);
}

// In the ids of mul_mat_id and out_prod_id: no expert's number. Its column of a product is zeros, and is in no sum.
constexpr std::int64_t no_expert = -1;

// Whether no kernel may round the operands of this product, a mul_mat, mul_mat_id or mul_mat_sparse.
bool is_exact(const Tensor &product) noexcept;

// Reads the operands once, writes the result once.
Cost copy_cost(const Tensor &node);
// For operations that only describe memory.
Cost no_cost(const Tensor &node);

}  // namespace ops

}  // namespace tensorlib::core
