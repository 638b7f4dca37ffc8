// diag, tri, diag_mask_inf, diag_mask_zero: each row keeps a run of elements, and all others have one value
// (runtime/band.hpp).
//
// A chunk is a range of the result's elements, regardless of rows. If the result overwrites a, only the other elements
// are written.
#include "cpu/kernels/units.hpp"
#include "runtime/band.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

void plan_band(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout, &c = p.node.layout;
    if (p.node.op != Op::diag && a.ne == c.ne && a.nb == c.nb) plan.may_overwrite = 1;
    plan.chunks(Stage::compute) = chunks_for(c.n_elements(), 2 * static_cast<std::int64_t>(c.nbytes()), p.n_threads);
}

void run_band(const Step &step, const Slice &slice) noexcept {
    const TensorRef &c = step.dst;
    const Range part = part_of(step.node->layout.n_elements(), slice.chunk, step.plan.chunks(Stage::compute));
    const Band band = band_of(step);
    const auto unit = static_cast<std::int64_t>(traits(c.type).size), nb = static_cast<std::int64_t>(band.source.nb[0]);
    const bool in_place = band.source.data == c.data && band.source.nb == c.nb;
    Sink sink(c.data + part.begin * unit, slice.simd, !in_place && streams(*step.node));
    for (std::int64_t at = part.begin; at < part.end;) {
        const std::int64_t row = at / c.ne[0], begin = at % c.ne[0], end = std::min(c.ne[0], begin + part.end - at);
        const RowIndex index = row_index(c.ne, row);
        const Band::Range kept = band.range(index.i1, c.ne[0]);
        const std::int64_t first = std::clamp(kept.begin, begin, end), last = std::clamp(kept.end, first, end);
        if (in_place) {
            std::byte *to = row_address(c, index);
            fill_units(to + begin * unit, &band.fill, first - begin, unit);
            fill_units(to + last * unit, &band.fill, end - last, unit);
        } else {
            fill_units(sink, &band.fill, first - begin, unit);
            const std::byte *from = row_address(band.source, index) + first * nb;
            if (nb == unit) fetch_row(sink, from + band.source.nb[1], (last - first) * unit);
            copy_units(sink, from, nb, last - first, unit);
            fill_units(sink, &band.fill, end - last, unit);
        }
        at += end - begin;
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::diag, .name = "band", .plan = plan_always<plan_band>}, run_band},
    {{.op = Op::tri, .name = "band", .plan = plan_always<plan_band>}, run_band},
    {{.op = Op::diag_mask_inf, .name = "band", .plan = plan_always<plan_band>}, run_band},
    {{.op = Op::diag_mask_zero, .name = "band", .plan = plan_always<plan_band>}, run_band},
};

}  // namespace

const std::span<const CpuKernel> kernels::bands = table;

}  // namespace tensorlib::core
