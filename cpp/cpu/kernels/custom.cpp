// Custom operations: a chunk is a slice, whole units of the result's elements. How long one takes is known to its maker alone.
#include "ops/custom.hpp"
#include "cpu/kernels/convert.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <array>

namespace tensorlib::core {

namespace {

// Fewer operations are not worth another thread.
constexpr double operations_per_chunk = 1 << 16;

// The elements of a unit: 0 if there is only one slice.
std::int64_t unit_of(const CustomOp &op, const Layout &c) noexcept {
    return op.unit() == 0 ? c.ne[0] : std::max<std::int64_t>(op.unit(), 0);
}

void plan_custom(const Problem &p, KernelPlan &plan) noexcept {
    const CustomOp &op = CustomOp::of(p.node);
    const std::int64_t elements = p.node.layout.n_elements(), unit = unit_of(op, p.node.layout);
    const std::int64_t units = elements == 0 ? 0 : unit == 0 ? 1 : ceil_div(elements, unit);
    const double worth = static_cast<double>(elements) * std::max(op.cost(), 1.0) / operations_per_chunk;
    const auto most = static_cast<double>(std::min<std::int64_t>(units, p.n_threads == 1 ? 1 : 4 * std::int64_t{p.n_threads}));
    plan.chunks(Stage::compute) = static_cast<std::int64_t>(std::clamp(worth, std::min(most, 1.0), most));
}

void run_custom(const Step &step, const Slice &slice) noexcept {
    const CustomOp &op = CustomOp::of(*step.node);
    std::array<Layout, max_sources> layouts;
    std::array<CustomView, max_sources> views;
    for (std::size_t i = 0; i < step.src.size(); i++) {
        const TensorRef &t = step.src[i];
        layouts[i] = {t.type, step.node->src[i]->layout.n_dims, t.ne, t.nb};
        views[i] = {t.data, &layouts[i]};
    }
    const Layout &c = step.node->layout;
    const std::int64_t elements = c.n_elements(), whole = unit_of(op, c), unit = whole == 0 ? elements : whole;
    const Range units = part_of(ceil_div(elements, unit), slice.chunk, step.plan.chunks(Stage::compute));
    const CustomSlice part{
        {views.data(), step.src.size()}, {step.dst.data, &c}, units.begin * unit, std::min(units.end * unit, elements), slice.thread};
    if (!op.run(part, step.fault)) note_fault(step, 0, 0);
}

constexpr CpuKernel table[] = {{{.op = Op::custom, .name = "custom", .plan = plan_always<plan_custom>}, run_custom}};

}  // namespace

const std::span<const CpuKernel> kernels::custom = table;

}  // namespace tensorlib::core
