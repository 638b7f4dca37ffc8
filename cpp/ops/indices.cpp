#include "ops/indices.hpp"

#include "base/fail.hpp"

namespace tensorlib::core::ops {

void check_indices(const OpFacts &def, std::span<Tensor *const> src, std::size_t operand) {
    const DType type = src[operand]->layout.type;
    if (type == DType::i32 || type == DType::i64) return;
    fail(Status::type_mismatch, "%s: %s: %s must be i32 or i64", def.name, operands_text(def, src).c_str(), def.operands[operand].name);
}

std::string valid_indices(const char *what, std::int64_t n) {
    return n == 0 ? format_text("there are no %s", what) : format_text("%s 0 to %lld are there", what, shown(n - 1));
}

}  // namespace tensorlib::core::ops
