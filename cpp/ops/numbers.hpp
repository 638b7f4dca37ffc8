// Elementwise operations on I32, I64 and F64, which compute in that type, and on the bits of integers. Those on F32, F16 and
// BF16 are formulas.
#pragma once

#include "math/number_op.hpp"
#include "ops/op_def.hpp"

namespace tensorlib::core::ops {

// Whether elements of the type are computed with as they are: I32, I64 and F64.
constexpr bool is_number(DType type) noexcept { return type == DType::i32 || type == DType::i64 || type == DType::f64; }

// Calls f with a value of the type F32, I32, I64 or F64, and returns what it returns.
template <class F>
decltype(auto) visit_number(DType type, F &&f) {
    switch (type) {
        case DType::i32: return f(std::int32_t{});
        case DType::i64: return f(std::int64_t{});
        case DType::f64: return f(double{});
        default: return f(float{});
    }
}

// The type in which argsort and top_k compare elements of a type, which holds them all.
DType ordered_type(DType type) noexcept;

// The operation on numbers that an operation stands for, or -1 if it has none.
int number_op(Op op) noexcept;

// Whether an operand of an elementwise operation holds such numbers.
bool has_numbers(Op op, std::span<Tensor *const> src) noexcept;
inline bool computes_numbers(const Tensor &node) noexcept { return has_numbers(node.op, {node.src, node.n_src}); }

// The operation of a node that computes numbers, its type, and its first operand of that type.
struct NumberNode {
    NumberOp op;
    DType type;
    int first;
    // The parameters, of the type: clamp's bounds, fill's value, the factor and the addend of scale.
    union Parameters {
        std::int32_t i32[2];
        std::int64_t i64[2];
        double f64[2];
    } parameters;
};
NumberNode number_node(const Tensor &node) noexcept;

// Throws Error(type_mismatch) if the operands' types differ or the operation has no numbers of the type,
// Error(invalid_argument) if the type does not have a parameter.
void check_numbers(const OpFacts &def, std::span<Tensor *const> src, const Attrs &attrs);

// Throws Error(invalid_argument) if `a` holds integers and its type does not have the number, which the attribute `name` is.
void check_represented(const OpFacts &def, const Tensor &a, const char *name, double number);

// OpCode::checked_operands and valid_values of div and pow: integers are not divided by 0, and not raised to powers below 0.
unsigned checked_integers(const Tensor &node) noexcept;
std::string valid_integers(const Tensor &node, int operand);

}  // namespace tensorlib::core::ops

namespace tensorlib::core {

// Whether a node is computed by a formula, in programs.
inline bool has_formula(const Tensor &node) noexcept { return op_def(node.op).formula && !ops::computes_numbers(node); }

}  // namespace tensorlib::core
