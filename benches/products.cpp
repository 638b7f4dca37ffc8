// Whole operations through graphs: mul_mat compared with its roof and peers, add compared with the memory's limit.
//
// The roof of mul_mat [k, m] x [k, n] is min(peak, 2 n x bandwidth / 4): each weight is 4 bytes, read once, and takes
// part in 2 n operations.
#include "api/devices.hpp"
#include "graph/graph.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::Ref;

// OpenBLAS's threads spin some 26 ms for more work (2^26 cycles), OpenMP's of oneDNN some milliseconds; ours only 50 us.
constexpr double pause_between_pools = 0.040;

float *floats(core::Tensor *t) { return reinterpret_cast<float *>(t->address()); }

core::Tensor *node(core::Context &context, core::Op op, core::Tensor *a, core::Tensor *b) {
    std::array<core::Tensor *, 2> src{a, b};
    return core::build_node(context, op, src);
}

Ref<core::Backend> backend(int threads) {
    core::BackendParams params;
    params.n_threads = threads;
    return core::open_backend("cpu", params);
}

std::span<float> values(core::Tensor *t) { return {floats(t), static_cast<std::size_t>(t->layout.n_elements())}; }

// A shape's matrices: weights enough to be cold, one graph for each.
struct Product {
    const Shape shape;
    Ref<core::Context> context = core::Context::create({});
    std::vector<core::Tensor *> a, c;
    core::Tensor *b;
    std::vector<Ref<core::Graph>> graphs;
    std::vector<float> peer_c;

    explicit Product(const Shape &s) : shape(s) {
        const std::int64_t copies = cold_bytes / (4 * s.k * s.m) + 1;
        b = leaf(*context, core::DType::f32, std::array{s.k, s.n});
        fill(values(b), 1);
        for (std::int64_t i = 0; i < copies; i++) {
            a.push_back(leaf(*context, core::DType::f32, std::array{s.k, s.m}));
            fill(values(a.back()), static_cast<std::uint64_t>(i + 2));
            c.push_back(node(*context, core::Op::mul_mat, a.back(), b));
            graphs.push_back(core::Graph::create(*context, {&c.back(), 1}));
        }
        peer_c.resize(static_cast<std::size_t>(s.m * s.n));
    }

    // 64 elements spread over the result, against their definition. All values are small integers: exact.
    void check_result(std::size_t i, const float *result, const std::string &what) const {
        const std::int64_t total = shape.m * shape.n;
        for (std::int64_t at = 0; at < total; at += std::max<std::int64_t>(1, total / 64)) {
            const float *row = floats(a[i]) + at % shape.m * shape.k, *column = floats(b) + at / shape.m * shape.k;
            double sum = 0;
            for (std::int64_t k = 0; k < shape.k; k++) sum += static_cast<double>(row[k]) * column[k];
            check(static_cast<double>(result[at]) == sum, what);
        }
    }
};

// What bounds a product: GFLOP/s, GB/s, and the lower of both in GFLOP/s.
struct Bounds {
    double peak, bandwidth, roof;
};

// From the times of the first three contenders.
Bounds bounds_of(const Bench &bench, core::ThreadPool &pool, const Shape &s, std::span<const Contender> contenders) {
    const auto bytes = static_cast<double>(4 * s.k * s.m);
    const double peak = static_cast<double>(run_multiply_add(bench.limits, pool)) / contenders[0].times().best * 1e-9;
    const double bandwidth = bytes / std::min(contenders[1].times().best, contenders[2].times().best) * 1e-9;
    return {peak, bandwidth, std::min(peak, 2 * static_cast<double>(s.n) * bandwidth / 4)};
}

// Whose product was measured, and how.
struct Run {
    const char *who;
    const Shape &shape;
    int threads;
    bool disturbed;
};

void add_row(const Bench &bench, const Run &run, const Bounds &bounds, const Times &times) {
    const auto flops = static_cast<double>(2 * run.shape.k * run.shape.m * run.shape.n);
    bench.rows.add({{"section", std::string("products")},
                    {"isa", std::string(bench.isa.name)},
                    {"who", std::string(run.who)},
                    {"type", std::string("f32")},
                    {"constant", false},
                    {"n", run.shape.n},
                    {"threads", std::int64_t{run.threads}},
                    {"weight_bytes", 4.0},
                    {"peak", bounds.peak},
                    {"bandwidth", bounds.bandwidth},
                    {"best", flops / times.best * 1e-9},
                    {"median", flops / times.median * 1e-9},
                    {"disturbed", run.disturbed}});
}

void report_product(const Bench &bench, Product &p, int threads) {
    const Shape &s = p.shape;
    core::ThreadPool pool(threads);
    const Ref<core::Backend> cpu = backend(threads);
    std::size_t next = 0;
    const auto rotate = [&] { return next = (next + 1) % p.a.size(); };

    // Each graph's first run plans and takes its memory from the system: 60 % longer for n = 512. Not what is measured.
    for (std::size_t i = 0; i < p.graphs.size(); i++) {
        core::compute(*p.graphs[i], *cpu);
        p.check_result(i, floats(p.c[i]), "mul_mat");
    }
    std::vector<Contender> contenders{
        {"peak", [&] { run_multiply_add(bench.limits, pool); }},
        {"read 1", [&] { run_read(bench.limits, pool, floats(p.a[rotate()]), s.k * s.m, false); }},
        {"read 4", [&] { run_read(bench.limits, pool, floats(p.a[rotate()]), s.k * s.m, true); }},
        {"tensorlib", [&] { core::compute(*p.graphs[rotate()], *cpu); }},
    };
    for (const auto &peer : bench.peers) {
        peer->set_threads(threads);
        peer->mul_mat(s.k, s.m, s.n, floats(p.a[0]), floats(p.b), p.peer_c.data());
        p.check_result(0, p.peer_c.data(), peer->name());
        contenders.push_back({peer->name(), [&] { peer->mul_mat(s.k, s.m, s.n, floats(p.a[rotate()]), floats(p.b), p.peer_c.data()); }});
    }
    const Others others;
    in_turn(contenders, bench.budget, threads > 1 ? pause_between_pools : 0);
    const bool disturbed = others.cores() > 0.05;

    const auto flops = static_cast<double>(2 * s.k * s.m * s.n);
    const Bounds bounds = bounds_of(bench, pool, s, contenders);
    const Times ours = contenders[3].times();
    std::printf("%c %4lld %3d  %7.1f %7.1f %7.1f  %8.1f %8.1f %5.1f %%  %5.1f %% %5.1f %%", disturbed ? '*' : ' ',
                static_cast<long long>(s.n), threads, bounds.peak, bounds.bandwidth, bounds.roof, flops / ours.best * 1e-9,
                flops / ours.median * 1e-9, 100 * ours.spread, 100 * flops / ours.best * 1e-9 / bounds.roof,
                100 * flops / ours.median * 1e-9 / bounds.roof);
    add_row(bench, {"tensorlib", s, threads, disturbed}, bounds, ours);
    for (std::size_t i = 0; i < bench.peers.size(); i++) {
        const Times its = contenders[4 + i].times();
        add_row(bench, {bench.peers[i]->name(), s, threads, disturbed}, bounds, its);
        std::printf("  %8.1f %8.1f %6.2f  %-20s", flops / its.best * 1e-9, flops / its.median * 1e-9, its.best / ours.best,
                    bench.peers[i]->kernel().c_str());
    }
    std::printf("\n");
    std::fflush(stdout);
}

// The best that memory gives an add: stores that do not read their line first.
void add_non_temporal([[maybe_unused]] std::int64_t n, [[maybe_unused]] const float *a, [[maybe_unused]] const float *b,
                      [[maybe_unused]] float *to) {
#if defined(__SSE2__)
    for (std::int64_t i = 0; i < n; i += 4) _mm_stream_ps(to + i, _mm_add_ps(_mm_load_ps(a + i), _mm_load_ps(b + i)));
    _mm_sfence();
#endif
}

}  // namespace

void report_products(const Bench &bench) {
    const auto shapes = read_shapes(TENSORLIB_SHAPES, "mul_mat");
    std::printf("\nmul_mat, F32, weights cold; GFLOP/s%9s %7s  %8s %8s %7s  %7s %7s", "", "", "", "", "", "of roof", "");
    for (const auto &peer : bench.peers) std::printf("  %17s   ours  %-20s", peer->name(), "");
    std::printf("\n%c %4s %3s  %7s %7s %7s  %8s %8s %7s  %7s %7s", ' ', "n", "thr", "peak", "GB/s", "roof", "best", "median", "spread",
                "best", "median");
    for (std::size_t i = 0; i < bench.peers.size(); i++) std::printf("  %8s %8s   /its  %-20s", "best", "median", "its kernel");
    std::printf("\n");
    for (const Shape &shape : shapes) {
        Product product(shape);
        for (const int threads : bench.threads) report_product(bench, product, threads);
    }
}

void report_add(const Bench &bench) {
    std::printf("\nadd, F32, from and to memory%42s %8s %8s %7s\n", "", "best", "median", "spread");
    for (const Shape &shape : read_shapes(TENSORLIB_SHAPES, "add")) {
        const Ref<core::Context> context = core::Context::create({});
        core::Tensor *a = leaf(*context, core::DType::f32, std::array{shape.n}), *b = leaf(*context, core::DType::f32, std::array{shape.n});
        core::Tensor *c = node(*context, core::Op::add, a, b);
        fill(values(a), 1);
        fill(values(b), 2);
        const auto graph = core::Graph::create(*context, {&c, 1});
        for (const int threads : bench.threads) {
            const Ref<core::Backend> cpu = backend(threads);
            core::ThreadPool pool(threads);
            core::compute(*graph, *cpu);
            for (std::int64_t i = 0; i < shape.n; i += 4097) check(floats(c)[i] == floats(a)[i] + floats(b)[i], "add");
            std::vector<Contender> contenders{{"tensorlib", [&] { core::compute(*graph, *cpu); }}};
#if defined(__SSE2__)
            contenders.push_back({"non-temporal stores, the limit", [&] {
                                      const std::int64_t chunks = 4 * std::int64_t{threads}, part = shape.n / chunks;
                                      auto task = [&](std::int64_t i, int) noexcept {
                                          add_non_temporal(part, floats(a) + i * part, floats(b) + i * part, floats(c) + i * part);
                                      };
                                      pool.run(chunks, task);
                                  }});
#endif
            const Others others;
            in_turn(contenders, bench.budget, 0);
            const bool disturbed = others.cores() > 0.05;
            for (const Contender &contender : contenders) {
                const Times t = contender.times();
                const double gbytes = 12e-9 * static_cast<double>(shape.n);
                std::printf("%c n = %lld, %d thread%s, %-40s %8.1f %8.1f %5.1f %% GB/s\n", disturbed ? '*' : ' ',
                            static_cast<long long>(shape.n), threads, threads == 1 ? " " : "s", contender.name.c_str(), gbytes / t.best,
                            gbytes / t.median, 100 * t.spread);
            }
        }
    }
}

}  // namespace tensorlib::bench
