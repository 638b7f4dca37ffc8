// Operations on groups: one thread exchanges with the other ranks what they need of each other (runtime/collectives.hpp).
#include "runtime/collectives.hpp"
#include "cpu/kernels/convert.hpp"

#include "base/checked.hpp"
#include "graph/device_memory.hpp"

namespace tensorlib::core {

namespace {

// A copy of an operand that is not contiguous comes first in the workspace.
std::size_t packed_bytes(const Layout &a) noexcept { return a.contiguous() ? 0 : round_up(a.nbytes(), host_memory().alignment()); }

void plan_collective(const Problem &p, KernelPlan &plan) noexcept {
    plan.workspace = packed_bytes(p.node.src[0]->layout) + collective_workspace(p.node);
}

void exchange(const Step &step, StepWatch *watch) {
    const Layout &a = step.node->src[0]->layout;
    const std::size_t packed = packed_bytes(a);
    const std::byte *own = step.src[0].data;
    if (packed != 0) {
        read_operand(step.src[0], host_memory(), step.workspace);
        own = step.workspace;
    }
    run_collective(*step.node, own, step.dst.data, step.workspace + packed, watch);
}

void run_nothing(const Step &, const Slice &) noexcept {}

constexpr CpuKernel of(Op op) noexcept {
    return {{.op = op, .name = "exchange", .plan = plan_always<plan_collective>}, run_nothing, false, exchange};
}

constexpr CpuKernel table[] = {of(Op::all_sum),   of(Op::all_max),    of(Op::all_gather), of(Op::sum_scatter),
                               of(Op::broadcast), of(Op::all_to_all), of(Op::send),       of(Op::receive)};

}  // namespace

const std::span<const CpuKernel> kernels::collectives = table;

}  // namespace tensorlib::core
