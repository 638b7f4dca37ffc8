#include "graphs.hpp"

#include "api/devices.hpp"
#include "graph/graph.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdio>

namespace tensorlib::bench {

core::Tensor *Activations::random(std::array<std::int64_t, 2> ne, std::uint32_t seed) {
    core::Tensor *t = leaf(*context, core::DType::f32, ne);
    std::vector<float> rows(static_cast<std::size_t>(ne[0] * std::min(ne[1], different_rows)));
    fill_normal(rows, seed, 0.01f);
    repeat_rows(*t, rows);
    return t;
}

BesidePeak in_turn_with_peak(const Bench &bench, int threads, const std::vector<core::Ref<core::Graph>> &graphs) {
    core::BackendParams params;
    params.n_threads = threads;
    const core::Ref<core::Backend> cpu = core::open_backend("cpu", params);
    core::ThreadPool pool(threads);
    std::vector<Contender> contenders{{"peak", [&] { run_multiply_add(bench.limits, pool); }}};
    for (const core::Ref<core::Graph> &graph : graphs)
        contenders.push_back({"graph", [of = graph.get(), &cpu] { core::compute(*of, *cpu); }});
    const Others others;
    in_turn(contenders, bench.budget * static_cast<double>(contenders.size()) / 2, 0);
    const char mark = others.cores() > 0.05 + (threads - 1) ? '*' : ' ';
    BesidePeak result{static_cast<double>(run_multiply_add(bench.limits, pool)) / contenders[0].times().best, {}, mark};
    for (std::size_t i = 1; i < contenders.size(); i++) result.times.push_back(contenders[i].times());
    return result;
}

void head(const std::string &what, const char *beside) {
    std::printf("\n%-46s %s %9s %9s %7s %8s %8s\n", what.c_str(), "t", "best ms", "median", "spread", "GB/s", beside);
}

void report_in_turn(const Bench &bench, const Activations &of, const std::vector<Work> &all, const core::Tensor *read) {
    for (const int threads : bench.threads) {
        core::BackendParams params;
        params.n_threads = threads;
        const core::Ref<core::Backend> cpu = core::open_backend("cpu", params);
        core::ThreadPool pool(threads);
        std::vector<core::Ref<core::Graph>> graphs;
        std::vector<Contender> contenders;
        std::vector<double> bytes;
        if (read) {
            const auto *from = reinterpret_cast<const float *>(read->address());
            contenders.push_back({"read", [&, from] {
                                      run_read(bench.limits, pool, from, static_cast<std::int64_t>(read->layout.nbytes() / sizeof(float)),
                                               false);
                                  }});
            bytes.push_back(static_cast<double>(read->layout.nbytes()));
        }
        for (const Work &work : all) {
            graphs.push_back(core::Graph::create(*of.context, {&work.output, 1}));
            contenders.push_back({work.name, [graph = graphs.back().get(), &cpu] { core::compute(*graph, *cpu); }});
            bytes.push_back(work.bytes);
        }
        const Others others;
        in_turn(contenders, bench.budget * static_cast<double>(contenders.size()) / 2, 0);
        const char mark = others.cores() > 0.05 + (threads - 1) ? '*' : ' ';
        const double first = contenders.front().times().best;
        for (std::size_t i = 0; i < contenders.size(); i++) {
            const Times t = contenders[i].times();
            std::printf("%c %-44s %d %9.2f %9.2f %5.1f %% %8.1f %8.2f\n", mark, contenders[i].name.c_str(), threads, t.best * 1e3,
                        t.median * 1e3, 100 * t.spread, bytes[i] / t.best * 1e-9, t.best / first);
        }
        std::fflush(stdout);
    }
}

}  // namespace tensorlib::bench
