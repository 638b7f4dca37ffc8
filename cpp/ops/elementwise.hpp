// What elementwise operations share: shape inference, cost, and helpers that make a definition from a formula's name.
#pragma once

#include "ops/gen/op_facts.hpp"

#include <initializer_list>

namespace tensorlib::core::ops {

// OpCode::infer of an operation whose operands repeat into operand `into`: floats of 16 or 32 bits, or numbers that the
// operation takes (ops/numbers.hpp). The result has that operand's shape and type, or is F32 for a comparison of numbers.
template <std::size_t into = 0>
void elementwise_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result);

// As elementwise_infer(), for an operation with attributes, which the node keeps.
template <class A>
void elementwise_attrs_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    result.make_attrs<A>(given);
    elementwise_infer<>(src, given, result);
}

// The contiguous layout of a result to whose shape the operands are broadcast. In each dimension that is the extent of operand
// `into`, or if it is 1, the first other one. Throws Error(shape_mismatch) if they do not broadcast.
Layout broadcast_layout(const OpDef &def, std::span<Tensor *const> src, std::size_t into, DType type);

// Whether the type is a float of 16 or 32 bits.
bool is_float(DType type);
// Throws Error(type_mismatch) if an operand is no float of 16 or 32 bits.
void check_floats(const OpFacts &def, std::span<Tensor *const> src);

// Throws Error(shape_mismatch) if b repeats as tiles: if an extent is neither 1 nor that of `a`, but divides it. Functions
// take such operands, which ggml's graphs use, and the languages' operators do not.
void refuse_tiles(const OpDef &def, const Tensor &a, const Tensor &b);

// Reads the formula's operands and writes the result.
Cost elementwise_cost(const Tensor &node);

// A formula that takes the operation's operands in their order.
template <TileOp op>
Formula formula_of(std::initializer_list<double> parameters = {}) noexcept {
    Formula formula{.op = op};
    std::size_t n = 0;
    for (const double parameter : parameters) formula.parameters[n++] = static_cast<float>(parameter);
    assert(n == static_cast<std::size_t>(traits(op).parameters));
    for (std::size_t i = 0; i < formula.sources.size(); i++) formula.sources[i].operand = static_cast<std::uint8_t>(i);
    return formula;
}

template <TileOp op>
Formula plain_formula(const Tensor &) noexcept {
    return formula_of<op>();
}

// An operation without attributes whose operands repeat into the first one.
template <TileOp op>
constexpr OpCode elementwise{.infer = elementwise_infer<>, .cost = elementwise_cost, .formula = plain_formula<op>};

}  // namespace tensorlib::core::ops
