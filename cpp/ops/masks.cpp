#include "ops/masks.hpp"

#include "base/fail.hpp"

namespace tensorlib::core::ops {

bool divides(std::int64_t n, std::int64_t of) noexcept { return n == 0 ? of == 0 : of % n == 0; }

void check_mask(const OpFacts &def, std::span<Tensor *const> src, const Masked &masked, double max_bias) {
    const auto operands = [&] { return operands_text(def, src); };
    if (const Tensor *mask = masked.mask) {
        const Extents &ne = mask->layout.ne;
        if (ne[0] != masked.columns || ne[1] < masked.rows || !divides(ne[2], masked.heads) || !divides(ne[3], masked.batches)) {
            fail(Status::shape_mismatch, "%s: %s: a mask {%lld, %lld or more, x, y} is valid, x dividing %lld and y dividing %lld",
                 def.name, operands().c_str(), shown(masked.columns), shown(masked.rows), shown(masked.heads), shown(masked.batches));
        }
    } else if (max_bias > 0) {
        fail(Status::invalid_argument, "%s: %s, max_bias is %.12g: it is a factor of the mask, which must be there", def.name,
             operands().c_str(), max_bias);
    }
    if (const Tensor *sinks = masked.sinks) {
        if (sinks->layout.type != DType::f32) fail(Status::type_mismatch, "%s: %s: sinks must be f32", def.name, operands().c_str());
        if (sinks->layout.ne != Extents{masked.heads, 1, 1, 1})
            fail(Status::shape_mismatch, "%s: %s: sinks {%lld} are valid, one for each head", def.name, operands().c_str(),
                 shown(masked.heads));
    }
}

}  // namespace tensorlib::core::ops
