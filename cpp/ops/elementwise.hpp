// What elementwise operations share: their shapes, their cost, and how a definition is made of a formula's name.
#pragma once

#include "ops/gen/op_facts.hpp"

#include <initializer_list>

namespace tensorlib::core::ops {

// OpCode::infer of an operation whose other operands repeat into one of them, by its place: floats of 16 or 32 bits, the result of that
// operand's shape and type.
template <std::size_t into = 0>
void elementwise_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result);

// The same for one with attributes: the node keeps them.
template <class A>
void elementwise_attrs_infer(std::span<Tensor *const> src, const Attrs &given, NodeSpec &result) {
    result.make_attrs<A>(given);
    elementwise_infer<>(src, given, result);
}

// Of 16 or 32 bits.
bool is_float(DType type);
// Throws Error(type_mismatch) where one of the operands is no such float.
void check_floats(const OpFacts &def, std::span<Tensor *const> src);

// Reads the operands of the formula, writes the result.
Cost elementwise_cost(const Tensor &node);

// A formula of the operation's operands in their order.
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

// An operation without attributes whose other operands repeat into the first.
template <TileOp op>
constexpr OpCode elementwise{.infer = elementwise_infer<>, .cost = elementwise_cost, .formula = plain_formula<op>};

}  // namespace tensorlib::core::ops
