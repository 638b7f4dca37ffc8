// arange: equally spaced numbers, computed in F64 and rounded once. Limited by writing them.
//
// Compiled without contraction (cpp/CMakeLists.txt), so every processor gives identical bits.
#include "cpu/kernels/sink.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

void plan_arange(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &c = p.node.layout;
    plan.chunks(Stage::compute) = chunks_for(c.n_elements(), static_cast<std::int64_t>(c.nbytes()), p.n_threads);
}

void run_arange(const Step &step, const Slice &slice) noexcept {
    const auto &attrs = attrs_of<ops::ArangeAttrs>(*step.node);
    const Range part = part_of(step.node->layout.n_elements(), slice.chunk, step.plan.chunks(Stage::compute));
    constexpr auto size = static_cast<std::int64_t>(sizeof(float));
    Sink sink(step.dst.data + part.begin * size, slice.simd, streams(*step.node));
    for (std::int64_t begin = part.begin; begin < part.end;) {
        const std::int64_t n = std::min(part.end - begin, Sink::most / size);
        auto *to = reinterpret_cast<float *>(sink.room(n * size));
        for (std::int64_t i = 0; i < n; i++) to[i] = static_cast<float>(attrs.start + static_cast<double>(begin + i) * attrs.step);
        begin += n;
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::arange, .name = "arange", .plan = plan_always<plan_arange>}, run_arange},
};

}  // namespace

const std::span<const CpuKernel> kernels::arange = table;

}  // namespace tensorlib::core
