// The effect of more threads: alone, with more threads than cores, and while another process keeps one core busy.
//
// Fair share, in cores: T threads that run together with B busy processes on C cores get T * min(1, C / (T + B)) of them.
// `cpu` is the processor time of a run relative to one thread's in the same rows. The part above 1 was spent on waiting, on
// caches that two threads share, or on the overhead of more threads. This measure also holds on a machine that others use,
// where wall-clock time does not.
#include "api/devices.hpp"
#include "base/platform.hpp"
#include "dtype/dtype.hpp"
#include "graph/graph.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>

#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace tensorlib::bench {

namespace {

using core::DType;
using core::Ref;

// Weights that are read once are rotated over more than 256 MB.

// Another program that wants all of a core, until the end of the scope.
class BusyProcess {
public:
    BusyProcess() {
#if defined(__unix__) || defined(__APPLE__)
        const pid_t parent = getpid();
        child_ = fork();
        if (child_ < 0) die("no busy process: fork failed");
        // Ends by itself should this program be killed.
        while (child_ == 0) {
            for (const double end = now() + 0.001; now() < end;) continue;
            if (getppid() != parent) _exit(0);
        }
#endif
    }
    ~BusyProcess() {
#if defined(__unix__) || defined(__APPLE__)
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
#endif
    }
    BusyProcess(const BusyProcess &) = delete;
    BusyProcess &operator=(const BusyProcess &) = delete;

private:
    int child_ = 0;
};

// Graphs of one form; a run computes the next one.
struct Work {
    std::string name;
    double flops;  // of a run
    Ref<core::Context> context = core::Context::create({});
    std::vector<Ref<core::Graph>> graphs{};
    std::vector<core::Tensor *> results{};
    std::size_t next = 0;

    core::Tensor *normal_leaf(std::int64_t k, std::int64_t n, std::uint32_t seed) {
        core::Tensor *t = leaf(*context, DType::f32, std::array{k, n});
        fill_normal({reinterpret_cast<float *>(t->address()), static_cast<std::size_t>(k * n)}, seed, 1e-2f);
        return t;
    }
    core::Tensor *node(core::Op op, core::Tensor *a, core::Tensor *b) {
        std::array<core::Tensor *, 2> src{a, b};
        return core::build_node(*context, op, src);
    }
    void add_graph(core::Tensor *result) {
        results.push_back(result);
        graphs.push_back(core::Graph::create(*context, {&result, 1}));
    }
    void run(core::Backend &backend) { core::compute(*graphs[next = (next + 1) % graphs.size()], backend); }
};

Work products_of(DType type, std::int64_t size, std::int64_t n) {
    const core::DTypeTraits &t = core::traits(type);
    const auto elements = static_cast<double>(size * size);
    Work work{std::string(t.name) + " [" + std::to_string(size) + ", " + std::to_string(size) + "] x " + std::to_string(n),
              2 * elements * static_cast<double>(n)};
    core::Tensor *b = work.normal_leaf(size, n, 1), *values = work.normal_leaf(size, size, 2);
    const auto copies =
        n == 1 ? cold_bytes / static_cast<std::int64_t>(core::contiguous_layout("bench", type, std::array{size, size}).nbytes()) + 1 : 1;
    core::Tensor *first = nullptr;
    for (std::int64_t i = 0; i < copies; i++) {
        core::Tensor *a = leaf(*work.context, type, std::array{size, size});
        if (first) {
            std::memcpy(a->address(), first->address(), a->layout.nbytes());
        } else {
            check(t.encode(reinterpret_cast<const float *>(values->address()), nullptr, a->address(), size * size) == -1, t.name);
            first = a;
        }
        work.add_graph(work.node(core::Op::mul_mat, a, b));
    }
    return work;
}

// Many phases of some 20 us each: what waking, waiting and ending cost.
Work short_phases() {
    constexpr std::int64_t n = 128 << 10, nodes = 200;
    Work work{"200 adds of 128 Ki floats", static_cast<double>(n * nodes)};
    core::Tensor *one = work.normal_leaf(n, 1, 1), *last = one;
    for (std::int64_t i = 0; i < nodes; i++) last = work.node(core::Op::add, last, one);
    work.add_graph(last);
    return work;
}

struct Row {
    Ref<core::Backend> backend;
    double processor_seconds = 0;
    int runs = 0;
};

void report_rows(const Bench &bench, Work &work, const std::vector<int> &threads, int busy) {
    std::vector<Row> rows;
    std::vector<Contender> contenders;
    std::vector<std::byte> expected(work.results[0]->layout.nbytes()), got(expected.size());
    for (const int n : threads) {
        core::BackendParams params;
        params.n_threads = n;
        rows.push_back({core::open_backend("cpu", params)});
        for (const auto &graph : work.graphs) core::compute(*graph, *rows.back().backend);
        // The bits must be equal, whichever thread took which chunk.
        std::vector<std::byte> &result = rows.size() == 1 ? expected : got;
        std::memcpy(result.data(), work.results[0]->address(), result.size());
        check(rows.size() == 1 || expected == got, work.name);
    }
    for (Row &row : rows) {
        contenders.push_back({std::to_string(row.backend->n_threads()), [&work, &row] {
                                  const std::clock_t start = std::clock();
                                  work.run(*row.backend);
                                  row.processor_seconds += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
                                  row.runs++;
                              }});
    }
    const Others others;
    in_turn(contenders, bench.budget * static_cast<double>(rows.size()), 0.001);
    const double taken = others.cores() - busy;
    const double cores = core::platform::usable_cpus();
    const Times one = contenders[0].times();
    const double processor_one = rows[0].processor_seconds / rows[0].runs;
    for (std::size_t i = 0; i < rows.size(); i++) {
        const Times t = contenders[i].times();
        const double share = threads[i] * std::min(1.0, cores / (threads[i] + busy)) / std::min(1.0, cores / (1 + busy));
        std::printf("%c %-26s %3d %4d  %8.1f %8.1f %5.1f %%  %6.2f %6.2f   %5.2f %5.0f %% %5.0f %%  %6.2f\n", taken > 0.05 ? '*' : ' ',
                    work.name.c_str(), threads[i], busy, work.flops / t.best * 1e-9, work.flops / t.median * 1e-9, 100 * t.spread,
                    one.best / t.best, one.median / t.median, share, 100 * one.best / t.best / share, 100 * one.median / t.median / share,
                    rows[i].processor_seconds / rows[i].runs / processor_one);
    }
    std::printf("  %-26s others took %.2f cores meanwhile\n", "", std::max(0.0, taken));
    std::fflush(stdout);
}

}  // namespace

void report_threads(const Bench &bench) {
    const int cores = core::platform::usable_cpus();
    std::printf("\nthreads; G(FL)OP/s%41s to one thread    fair  of fair share\n", "");
    std::printf("%c %-26s %3s %4s  %8s %8s %7s  %6s %6s  %6s %7s %7s  %6s\n", ' ', "", "thr", "busy", "best", "median", "spread", "best",
                "median", "share", "best", "median", "cpu");
    std::vector<int> counts{1};
    for (const int n : {cores, 2 * cores, 4 * cores}) {
        if (n > counts.back()) counts.push_back(n);
    }
    std::vector<Work> works;
    works.push_back(products_of(DType::q4_0, 4096, 512));
    works.push_back(products_of(DType::q4_0, 4096, 1));
    works.push_back(products_of(DType::f32, 1024, 1024));
    works.push_back(short_phases());
    for (Work &work : works) report_rows(bench, work, counts, 0);
    const std::vector<int> beside(counts.begin(), counts.begin() + (cores > 1 ? 2 : 1));
    for (Work &work : works) {
        const BusyProcess other;
        report_rows(bench, work, beside, 1);
    }
}

}  // namespace tensorlib::bench
