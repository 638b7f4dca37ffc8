// Steps of optimisers of many small parameters: as the backend runs them, one by one (as a run with a progress callback has them), and of
// one parameter of all their elements.
#include "api/devices.hpp"
#include "graph/graph.hpp"
#include "graph/tensor_data.hpp"
#include "graphs.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::Op;
using core::Tensor;

constexpr std::int64_t parameters = 100, elements = 1000;

core::Ref<core::Graph> steps_of(Activations &a, Op op, std::int64_t count, std::int64_t n) {
    const bool adamw = op == Op::opt_step_adamw;
    Tensor *settings = leaf(*a.context, core::DType::f32, std::array<std::int64_t, 1>{adamw ? 7 : 2});
    const float values[] = {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, 1, 1};
    core::write_f32(*settings, values, adamw ? 7 : 2);
    std::vector<Tensor *> outputs;
    for (std::int64_t i = 0; i < count; i++) {
        std::vector<Tensor *> src{a.random({n, 1}, 1), a.random({n, 1}, 2)};
        if (adamw)
            src.insert(src.end(), {leaf(*a.context, core::DType::f32, std::array{n}), leaf(*a.context, core::DType::f32, std::array{n})});
        src.push_back(settings);
        outputs.push_back(a.node(op, src));
    }
    return core::Graph::create(*a.context, outputs);
}

void report(const Bench &bench, const char *name, Op op) {
    Activations a(32, 1);
    const auto all = steps_of(a, op, parameters, elements), apart = steps_of(a, op, parameters, elements),
               whole = steps_of(a, op, 1, parameters * elements);
    core::set_progress(*apart, [](void *, std::size_t, std::size_t) { return true; }, nullptr);
    std::printf("\n%-46s %s %9s %9s %7s %8s\n", name, "t", "best us", "median", "spread", "x first");
    for (const int threads : bench.threads) {
        core::BackendParams params;
        params.n_threads = threads;
        const core::Ref<core::Backend> cpu = core::open_backend("cpu", params);
        std::vector<Contender> contenders{{"100 of 1,000 elements, one by one", [&] { core::compute(*apart, *cpu); }},
                                          {"100 of 1,000 elements", [&] { core::compute(*all, *cpu); }},
                                          {"one of 100,000 elements", [&] { core::compute(*whole, *cpu); }}};
        const Others others;
        in_turn(contenders, bench.budget * static_cast<double>(contenders.size()) / 2, 0);
        const char mark = others.cores() > 0.05 + (threads - 1) ? '*' : ' ';
        const double first = contenders.front().times().best;
        for (const Contender &contender : contenders) {
            const Times t = contender.times();
            std::printf("%c %-44s %d %9.1f %9.1f %5.1f %% %8.2f\n", mark, contender.name.c_str(), threads, t.best * 1e6, t.median * 1e6,
                        100 * t.spread, t.best / first);
        }
        std::fflush(stdout);
    }
}

}  // namespace

void report_steps(const Bench &bench) {
    report(bench, "opt_step_sgd", Op::opt_step_sgd);
    report(bench, "opt_step_adamw", Op::opt_step_adamw);
}

}  // namespace tensorlib::bench
