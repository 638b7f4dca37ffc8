// The cost of joining: runs and plans of a chain of small nodes on a CPU, on that CPU joined alone, and joined with virtual
// CPUs (TENSORLIB_CPU_VIRTUAL_DEVICES) that hold no tensor.
#include "api/devices.hpp"
#include "cpu/cpu_backend.hpp"
#include "graph/graph.hpp"
#include "graphs.hpp"
#include "runtime/executor.hpp"
#include "runtime/joined_backend.hpp"
#include "support.hpp"

#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::Op;
using core::Tensor;

constexpr int nodes = 4000;

// Norms of 16 numbers: they are never fused, and a node's arithmetic costs little compared with its overhead in the plan.
core::Ref<core::Graph> chain(Activations &a) {
    Tensor *t = a.random({16, 1}, 1);
    for (int i = 0; i < nodes; i++) t = a.node(Op::rms_norm, {t}, {core::Attr::of_number("eps", 1e-5)});
    return core::Graph::create(*a.context, {&t, 1});
}

void print(const std::vector<Contender> &contenders, const Others &others) {
    const char mark = others.cores() > 0.05 ? '*' : ' ';
    const double first = contenders.front().times().best;
    for (const Contender &contender : contenders) {
        const Times t = contender.times();
        std::printf("%c %-46s %9.1f %9.1f %5.1f %% %8.2f %9.2f\n", mark, contender.name.c_str(), t.best * 1e9 / nodes,
                    t.median * 1e9 / nodes, 100 * t.spread, t.best / first, (t.best - first) * 1e9 / nodes);
    }
    std::fflush(stdout);
}

}  // namespace

void report_joined(const Bench &bench) {
    Activations a(16, 1);
    const auto graph = chain(a);
    core::BackendParams params;
    params.n_threads = 1;
    const auto cpu = core::open_backend("cpu", params), other = core::open_backend("cpu", params);
    core::Backend *alone[] = {cpu.get()};
    const auto one = core::join_backends(alone);
    std::vector<core::Ref<core::Backend>> second;
    for (const core::Device *device : core::virtual_cpu_devices()) second.push_back(device->open(params));
    std::vector<core::Backend *> parts{other.get()};
    for (const auto &backend : second) parts.push_back(backend.get());
    const auto all = core::join_backends(parts);
    const std::string with = "the CPU and " + std::to_string(second.size()) + " virtual ones, nothing on these";

    std::printf("\n%-48s %9s %9s %7s %8s %9s\n", "a chain of 4,000 nodes of 16 numbers: ns a node", "best", "median", "spread", "x first",
                "more");
    std::vector<Contender> runs{{"run on the CPU", [&] { core::compute(*graph, *cpu); }},
                                {"run on the CPU joined alone", [&] { core::compute(*graph, *one); }},
                                {"run on " + with, [&] { core::compute(*graph, *all); }}};
    {
        const Others others;
        in_turn(runs, bench.budget * 2, 0);
        print(runs, others);
    }
    std::vector<Contender> plans{{"planned for the CPU", [&] { (void)core::plan_bytes(*graph, *cpu); }},
                                 {"planned for the CPU joined alone", [&] { (void)core::plan_bytes(*graph, *one); }},
                                 {"planned for " + with, [&] { (void)core::plan_bytes(*graph, *all); }}};
    const Others others;
    in_turn(plans, bench.budget * 2, 0);
    print(plans, others);
}

}  // namespace tensorlib::bench
