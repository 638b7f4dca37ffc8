// mul_mat with weights of each storage type, compared with its roof: min(peak, 2 n x bandwidth / bytes a weight). The peak is that
// of the ISA's dot products of bytes (for BF16 of pairs, for F16 multiply-adds), where it has any; the bandwidth is that of reading
// the weights as they are stored.
#include "api/devices.hpp"
#include "dtype/dtype.hpp"
#include "graph/constants.hpp"
#include "graph/graph.hpp"
#include "graph/tensor_data.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::DTypeTraits;
using core::Ref;

// One type's matrices, and a graph for each number of columns and matrix.
struct Weights {
    const DTypeTraits &type;
    const std::int64_t k, m;
    Ref<core::Context> context = core::Context::create({});
    std::vector<core::Tensor *> a;
    bool constant = false;

    Weights(const DTypeTraits &t, std::int64_t k_, std::int64_t m_) : type(t), k(k_), m(m_) {
        std::vector<float> rows(static_cast<std::size_t>(k * different_rows));
        fill_normal(rows, 1, 1e-2f);
        a.push_back(leaf(*context, type.type, std::array{k, m}));
        repeat_rows(*a[0], rows);
        for (std::int64_t i = 0; i < cold_bytes / bytes(); i++) {
            a.push_back(leaf(*context, type.type, std::array{k, m}));
            std::memcpy(a.back()->address(), a[0]->address(), a[0]->layout.nbytes());
        }
    }
    // From now on plans may keep copies.
    void promise() {
        for (core::Tensor *t : a) core::set_constant(*t);
        constant = true;
    }
    std::int64_t bytes() const { return static_cast<std::int64_t>(a[0]->layout.nbytes()); }
};

// Checks some rows against a product in double by squared error over squared values: products of bytes are off by half a per cent.
void check_product(const Weights &w, const core::Tensor *b, const core::Tensor *c, std::int64_t n) {
    std::vector<float> row(static_cast<std::size_t>(w.k));
    const auto *columns = reinterpret_cast<const float *>(b->address()), *got = reinterpret_cast<const float *>(c->address());
    double error = 0, size = 0;
    for (std::int64_t m = 0; m < w.m; m += w.m / 16 + 1) {
        w.type.decode(w.a[0]->address() + w.bytes() / w.m * m, row.data(), w.k);
        for (std::int64_t j = 0; j < n; j += n / 8 + 1) {
            double sum = 0;
            for (std::int64_t i = 0; i < w.k; i++) sum += double{row[static_cast<std::size_t>(i)]} * double{columns[j * w.k + i]};
            const double off = double{got[j * w.m + m]} - sum;
            error += off * off, size += sum * sum;
        }
    }
    check(error <= 5e-4 * size, std::string("mul_mat of ") + w.type.name);
}

std::string kernel_of(core::Graph &graph, core::Backend &backend) {
    const std::string plan = core::plan_text(graph, backend);
    const std::size_t at = plan.find(": mul_mat");
    return at == std::string::npos ? "?" : plan.substr(at + 2, plan.find(',', at) - at - 2);
}

void report_row(const Bench &bench, const Weights &w, std::int64_t n, int threads) {
    core::BackendParams params;
    params.n_threads = threads;
    const Ref<core::Backend> cpu = core::open_backend("cpu", params);
    core::ThreadPool pool(threads);
    const Ref<core::Context> context = core::Context::create({});
    core::Tensor *b = leaf(*context, DType::f32, std::array{w.k, n});
    fill_normal({reinterpret_cast<float *>(b->address()), static_cast<std::size_t>(w.k * n)}, 7, 1e-2f);
    std::vector<Ref<core::Graph>> graphs;
    for (core::Tensor *a : w.a) {
        std::array<core::Tensor *, 2> src{a, b};
        core::Tensor *c = core::build_node(*context, core::Op::mul_mat, src);
        graphs.push_back(core::Graph::create(*context, {&c, 1}));
        core::compute(*graphs.back(), *cpu);
        if (a == w.a[0]) check_product(w, b, c, n);
    }
    std::size_t next = 0;
    const auto rotate = [&] { return next = (next + 1) % w.a.size(); };
    const bool pairs = w.type.type == DType::bf16 && bench.limits.bf16_dots, bytes = w.type.block_size > 1 && bench.limits.byte_dots;
    const auto chains = pairs ? bench.limits.bf16_dots : bytes ? bench.limits.byte_dots : bench.limits.multiply_add;
    const std::int64_t ops = pairs   ? bench.limits.bf16_flops_per_round
                             : bytes ? bench.limits.byte_ops_per_round
                                     : bench.limits.flops_per_round;
    const std::int64_t floats = w.bytes() / 4;
    std::vector<Contender> contenders{
        {"peak", [&] { run_chains(chains, ops, pool); }},
        {"read 1", [&] { run_read(bench.limits, pool, reinterpret_cast<const float *>(w.a[rotate()]->address()), floats, false); }},
        {"read 4", [&] { run_read(bench.limits, pool, reinterpret_cast<const float *>(w.a[rotate()]->address()), floats, true); }},
        {"tensorlib", [&] { core::compute(*graphs[rotate()], *cpu); }},
    };
    const Others others;
    in_turn(contenders, bench.budget, 0);
    const bool disturbed = others.cores() > 0.05;
    const double peak = static_cast<double>(run_chains(chains, ops, pool)) / contenders[0].times().best * 1e-9;
    const double bandwidth = static_cast<double>(w.bytes()) / std::min(contenders[1].times().best, contenders[2].times().best) * 1e-9;
    const double work = 2.0 * static_cast<double>(w.k * w.m) * static_cast<double>(n);
    const double roof = std::min(peak, work / static_cast<double>(w.bytes()) * bandwidth);
    const Times ours = contenders[3].times();
    std::printf("%c %-8s%c %4lld %3d  %8.1f %6.1f %8.1f  %8.1f %8.1f %5.1f %%  %5.1f %% %5.1f %%  %s\n", disturbed ? '*' : ' ', w.type.name,
                w.constant ? 'c' : ' ', static_cast<long long>(n), threads, peak, bandwidth, roof, work / ours.best * 1e-9,
                work / ours.median * 1e-9, 100 * ours.spread, 100 * work / ours.best * 1e-9 / peak, 100 * work / ours.best * 1e-9 / roof,
                kernel_of(*graphs[0], *cpu).c_str());
    std::fflush(stdout);
    bench.rows.add({{"section", std::string("weights")},
                    {"isa", std::string(bench.isa.name)},
                    {"who", std::string("tensorlib")},
                    {"type", std::string(w.type.name)},
                    {"constant", w.constant},
                    {"n", n},
                    {"threads", std::int64_t{threads}},
                    {"weight_bytes", static_cast<double>(w.bytes()) / static_cast<double>(w.k * w.m)},
                    {"peak", peak},
                    {"bandwidth", bandwidth},
                    {"best", work / ours.best * 1e-9},
                    {"median", work / ours.median * 1e-9},
                    {"disturbed", disturbed}});
}

}  // namespace

void report_weights(const Bench &bench) {
    std::printf("\nmul_mat by storage type, weights cold; G(FL)OP/s%31s best of:\n", "");
    std::printf("%c %-8s  %4s %3s  %8s %6s %8s  %8s %8s %7s  %7s %7s  %s\n", ' ', "type", "n", "thr", "peak", "GB/s", "roof", "best",
                "median", "spread", "peak", "roof", "kernel");
    const auto shapes = read_shapes(TENSORLIB_SHAPES, "mul_mat");
    for (std::size_t i = 0; i < core::dtype_count(); i++) {
        const DTypeTraits &type = core::dtype_at(i);
        if (!bench.wants(type) || !may_be_weights(type)) continue;
        Weights weights(type, shapes[0].k, shapes[0].m);
        for (const bool constant : {false, true}) {
            if (constant) weights.promise();
            for (const Shape &shape : shapes) {
                if (shape.k != weights.k || shape.m != weights.m) continue;
                for (const int threads : bench.threads) report_row(bench, weights, shape.n, threads);
            }
        }
    }
}

}  // namespace tensorlib::bench
