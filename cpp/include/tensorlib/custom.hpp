// Operations of your own: functions as nodes of graphs.
#pragma once

#include <tensorlib/tensorlib.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tensorlib {

namespace core {
class CustomOp;
}

// The memory of an operand, or of the result, while a slice is computed. Element (i0, i1, i2, i3) of a type without blocks is at data +
// i0 strides[0] + i1 strides[1] + i2 strides[2] + i3 strides[3].
template <class Byte>
struct CustomView {
    Byte *data;
    Type type;
    std::array<std::int64_t, 4> shape;   // missing dimensions are 1
    std::array<std::size_t, 4> strides;  // in bytes

    std::int64_t n_elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
    bool contiguous() const;
    // The elements in the order of the shape. Throws Error(type_mismatch) if they are no T, and Error(invalid_argument) if they are not
    // contiguous: pass cont() of the operand.
    template <class T>
    auto elements() const {
        using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
        check(type_of<T>());
        return std::span<Element>(reinterpret_cast<Element *>(data), static_cast<std::size_t>(n_elements()));
    }

private:
    void check(Type wanted) const;
};

// What one call computes: elements [begin, end) of the result, counted along dimension 0 first.
struct CustomSlice {
    std::span<const CustomView<const std::byte>> operands;
    CustomView<std::byte> result;  // contiguous; only [begin, end) may be written, and all of it must be
    std::int64_t begin, end;
    int thread;  // below the backend's threads; calls for one node that run at a time have different ones

    // The slice's elements. Throws Error(type_mismatch) if they are no T.
    template <class T>
    std::span<T> elements() const {
        return result.elements<T>().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    }
};

// An operation whose function computes slices of the result, on any thread, several at once. The result must not depend on how it is
// divided. An exception fails the run, with its message. Inside the function, calls that need a context, a graph or a backend throw
// Error(invalid_argument). The operation is computed on the CPU, and planned, traced and placed like all others.
//
// Copies are handles of one operation, which contexts with nodes of it keep until they are reset or freed. A function must not hold a
// tensor of such a context: each would keep the other alive. Any thread may use it.
class CustomOp {
public:
    struct Operand {
        Type type;
        Shape shape;
    };
    struct Options {
        // The type and the shape of the result; it throws if there is none for the operands. Without it, they are the first operand's.
        std::function<Operand(std::span<const Operand>)> shape = {};
        // The gradient of an operand, in its shape, built from the node, whose operands are node.sources(), and the gradient of its
        // result. Called for operands of F32, F16 or BF16 whose gradient is wanted. Without it, there is none.
        std::function<Tensor(const Tensor &node, const Tensor &gradient, std::size_t operand)> gradient = {};
        // Slices begin at multiples of this many elements: 0 for whole rows, 1 for any. -1: the result is one slice.
        std::int64_t slice_unit = 0;
        // About how many operations an element takes; 0 counts as 1. It decides how many threads are worth waking.
        double cost = 0;
    };
    // Throws Error(invalid_argument) for an empty function, a name that is no UTF-8 of 1 to 64 bytes, or options that are not valid.
    CustomOp(std::string_view name, std::function<void(const CustomSlice &)> compute, Options options);
    CustomOp(std::string_view name, std::function<void(const CustomSlice &)> compute) : CustomOp(name, std::move(compute), Options()) {}

    // A node with 1 to 10 operands, in the context of the youngest. Throws what the shape function threw, or Error as the constructors
    // of other nodes.
    Tensor operator()(std::span<const Tensor> operands) const;
    Tensor operator()(std::initializer_list<Tensor> operands) const { return (*this)(std::span(operands.begin(), operands.size())); }
    template <class... More>
    Tensor operator()(const Tensor &first, const More &...more) const {
        return (*this)({first, more...});
    }

    // In Context::op() it is "custom", with this as the attribute `function`. No other operation of the process ever has it.
    std::uint64_t number() const;

private:
    std::shared_ptr<core::CustomOp> impl_;
};

}  // namespace tensorlib
