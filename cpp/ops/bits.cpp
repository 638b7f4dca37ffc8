// Operations on the bits of integers, described in bits.toml.
#include "base/fail.hpp"
#include "ops/elementwise.hpp"
#include "ops/gen/op_facts.hpp"

namespace tensorlib::core::ops {

namespace {

void bits_infer(std::span<Tensor *const> src, const Attrs &, NodeSpec &result) {
    const OpDef &def = op_def(result.op);
    const DType type = src[0]->layout.type;
    const bool shifts = result.op == Op::shift_left || result.op == Op::shift_right;
    for (const Tensor *operand : src) {
        if (traits(type).kind == Kind::integer && operand->layout.type == type && !(shifts && type == DType::boolean)) continue;
        fail(Status::type_mismatch, "%s: %s: %s must be i8, i16, i32, i64%s", def.name, operands_text(def, src).c_str(),
             src.size() > 1 ? "both" : "it", shifts ? " or u8" : ", u8 or bool");
    }
    result.layout = broadcast_layout(def, src, 0, type);
}

constexpr OpCode bits{.infer = bits_infer, .cost = copy_cost};

}  // namespace

constexpr OpDef bitwise_and{facts::bitwise_and, bits};
constexpr OpDef bitwise_or{facts::bitwise_or, bits};
constexpr OpDef bitwise_xor{facts::bitwise_xor, bits};
constexpr OpDef bitwise_not{facts::bitwise_not, bits};
constexpr OpDef shift_left{facts::shift_left, bits};
constexpr OpDef shift_right{facts::shift_right, bits};

}  // namespace tensorlib::core::ops
