#include "runtime/band.hpp"

#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <limits>

namespace tensorlib::core {

namespace {

void keep_triangle(Band &band, ops::TriType type, std::int64_t n) noexcept {
    switch (type) {
        case ops::TriType::lower: band.end_step = 1; return;
        case ops::TriType::lower_diag: band.end = 1, band.end_step = 1; return;
        case ops::TriType::upper: band.begin = 1, band.begin_step = 1, band.end = n; return;
        case ops::TriType::upper_diag: band.begin_step = 1, band.end = n; return;
    }
}

// Keeps positions up to the query's own.
void keep_past(Band &band, std::int64_t n_past, const TensorRef &c, float fill) noexcept {
    band.end = std::min(n_past, c.ne[0]) + 1;
    band.end_step = 1;
    traits(c.type).encode(&fill, nullptr, &band.fill, 1);
}

}  // namespace

bool masks_by_infinity(const Tensor &node) noexcept { return node.op == Op::diag_mask_inf; }

Band band_of(const Step &step) noexcept {
    const Tensor &node = *step.node;
    Band band{0, 0, 0, 0, step.src[0], 0};
    switch (node.op) {
        case Op::diag:
            band.begin_step = 1, band.end = 1, band.end_step = 1;
            band.source.nb[1] = 0;
            break;
        case Op::tri: keep_triangle(band, attrs_of<ops::TriAttrs>(node).type, step.dst.ne[0]); break;
        case Op::diag_mask_inf:
            keep_past(band, attrs_of<ops::DiagMaskInfAttrs>(node).n_past, step.dst, -std::numeric_limits<float>::infinity());
            break;
        default: keep_past(band, attrs_of<ops::DiagMaskZeroAttrs>(node).n_past, step.dst, 0);
    }
    return band;
}

}  // namespace tensorlib::core
