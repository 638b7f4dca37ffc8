// mul_mat_id compared with its roof, and with mul_mat of one matrix with as many columns: the cost of grouping columns by expert,
// and of reading more weights for experts with few columns each.
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
#include <cstdio>
#include <cstring>
#include <set>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::Ref;

// Experts enough to be cold, in one tensor, and for several runs tokens that go to experts of their own.
struct Experts {
    static constexpr int runs = 8;
    const Shape shape;
    const core::DTypeTraits &type;
    Ref<core::Context> context = core::Context::create({});
    std::int64_t experts;
    core::Tensor *a, *b;
    std::vector<core::Tensor *> ids, nodes;
    std::vector<Ref<core::Graph>> graphs;
    std::vector<std::size_t> read;  // bytes of the experts that a run uses

    Experts(const Shape &s, DType t) : shape(s), type(core::traits(t)) {
        const auto row_bytes = static_cast<std::int64_t>(type.size) * s.k / type.block_size;
        experts = std::max(s.experts, cold_bytes / (row_bytes * s.m) + 1);
        a = leaf(*context, t, std::array{s.k, s.m, experts});
        b = leaf(*context, DType::f32, std::array{s.k, std::int64_t{1}, s.n});
        std::vector<float> rows(static_cast<std::size_t>(s.k * different_rows));
        fill_normal(rows, 1, 1e-2f);
        repeat_rows(*a, rows);
        fill_normal({reinterpret_cast<float *>(b->address()), static_cast<std::size_t>(s.k * s.n)}, 7, 1e-2f);
        core::set_constant(*a);
        std::uint64_t state = 1;
        for (int run = 0; run < runs; run++) {
            ids.push_back(leaf(*context, DType::i32, std::array{s.used, s.n}));
            std::set<std::int32_t> met;
            for (std::int64_t i = 0; i < s.used * s.n; i++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                // A run chooses among as many experts as the shape says, others than the run before.
                const auto number =
                    static_cast<std::int32_t>((static_cast<std::int64_t>(state >> 33) % s.experts + run * s.experts) % experts);
                reinterpret_cast<std::int32_t *>(ids.back()->address())[i] = number;
                met.insert(number);
            }
            read.push_back(met.size() * static_cast<std::size_t>(row_bytes * s.m));
            std::array<core::Tensor *, 3> src{a, b, ids.back()};
            nodes.push_back(core::build_node(*context, core::Op::mul_mat_id, src));
            graphs.push_back(core::Graph::create(*context, {&nodes.back(), 1}));
        }
    }

    // Compares some columns with their definition: products of bytes are off by half a per cent.
    void check_run(std::size_t run) const {
        std::vector<float> row(static_cast<std::size_t>(shape.k));
        const auto *numbers = reinterpret_cast<const std::int32_t *>(ids[run]->address());
        const auto *columns = reinterpret_cast<const float *>(b->address()), *got = reinterpret_cast<const float *>(nodes[run]->address());
        const auto row_bytes = static_cast<std::int64_t>(a->layout.row_bytes());
        double error = 0, size = 0;
        for (std::int64_t c = 0; c < shape.used * shape.n; c += shape.used * shape.n / 5 + 1) {
            for (std::int64_t m = 0; m < shape.m; m += shape.m / 9 + 1) {
                type.decode(a->address() + (numbers[c] * shape.m + m) * row_bytes, row.data(), shape.k);
                double sum = 0;
                for (std::int64_t i = 0; i < shape.k; i++)
                    sum += double{row[static_cast<std::size_t>(i)]} * double{columns[c / shape.used * shape.k + i]};
                const double off = double{got[c * shape.m + m]} - sum;
                error += off * off, size += sum * sum;
            }
        }
        check(error <= 5e-4 * size, std::string("mul_mat_id of ") + type.name);
    }
};

void report_row(const Bench &bench, const Experts &e, int threads) {
    core::BackendParams params;
    params.n_threads = threads;
    const Ref<core::Backend> cpu = core::open_backend("cpu", params);
    core::ThreadPool pool(threads);
    for (std::size_t run = 0; run < e.graphs.size(); run++) {
        core::compute(*e.graphs[run], *cpu);
        e.check_run(run);
    }
    // One matrix, as many columns.
    const Ref<core::Context> context = core::Context::create({});
    core::Tensor *a = leaf(*context, e.type.type, std::array{e.shape.k, e.shape.m});
    core::Tensor *b = leaf(*context, DType::f32, std::array{e.shape.k, e.shape.used * e.shape.n});
    std::memcpy(a->address(), e.a->address(), a->layout.nbytes());
    fill_normal({reinterpret_cast<float *>(b->address()), static_cast<std::size_t>(e.shape.k * e.shape.used * e.shape.n)}, 8, 1e-2f);
    core::set_constant(*a);
    std::array<core::Tensor *, 2> src{a, b};
    core::Tensor *c = core::build_node(*context, core::Op::mul_mat, src);
    const auto one = core::Graph::create(*context, {&c, 1});
    core::compute(*one, *cpu);

    const bool bytes = e.type.block_size > 1 && bench.limits.byte_dots;
    const auto chains = bytes ? bench.limits.byte_dots : bench.limits.multiply_add;
    const std::int64_t ops = bytes ? bench.limits.byte_ops_per_round : bench.limits.flops_per_round;
    const auto floats = static_cast<std::int64_t>(e.read[0] / 4096 * 1024);
    std::size_t next = 0;
    const auto rotate = [&] { return next = (next + 1) % e.graphs.size(); };
    std::vector<Contender> contenders{
        {"peak", [&] { run_chains(chains, ops, pool); }},
        {"read",
         [&] {
             const std::size_t places = (e.a->layout.nbytes() - static_cast<std::size_t>(floats) * 4) / 4096 + 1;
             const std::size_t at = rotate() * 7919 % places * 4096;
             run_read(bench.limits, pool, reinterpret_cast<const float *>(e.a->address() + at), floats, true);
         }},
        {"tensorlib", [&] { core::compute(*e.graphs[rotate()], *cpu); }},
        {"mul_mat", [&] { core::compute(*one, *cpu); }},
    };
    const Others others;
    in_turn(contenders, bench.budget, 0);
    const double work = 2.0 * static_cast<double>(e.shape.k * e.shape.m) * static_cast<double>(e.shape.used * e.shape.n);
    double read = 0;
    for (const std::size_t n : e.read) read += static_cast<double>(n) / static_cast<double>(e.read.size());
    const double peak = static_cast<double>(run_chains(chains, ops, pool)) / contenders[0].times().best * 1e-9;
    const double bandwidth = 4.0 * static_cast<double>(floats) / contenders[1].times().best * 1e-9;
    const double roof = std::min(peak, work / read * bandwidth);
    const Times ours = contenders[2].times();
    std::printf("%c %-6s %4lld %3d  %8.1f %6.1f %8.1f  %8.1f %8.1f %5.1f %%  %5.1f %%  %8.1f\n", others.cores() > 0.05 ? '*' : ' ',
                e.type.name, static_cast<long long>(e.shape.n), threads, peak, bandwidth, roof, work / ours.best * 1e-9,
                work / ours.median * 1e-9, 100 * ours.spread, 100 * work / ours.best * 1e-9 / roof,
                work / contenders[3].times().best * 1e-9);
    std::fflush(stdout);
}

}  // namespace

void report_experts(const Bench &bench) {
    std::printf("\nmul_mat_id, constant experts, cold; G(FL)OP/s%46s best of  mul_mat of\n", "");
    std::printf("%c %-6s %4s %3s  %8s %6s %8s  %8s %8s %7s  %7s  %8s\n", ' ', "type", "n", "thr", "peak", "GB/s", "roof", "best", "median",
                "spread", "roof", "as many");
    for (const Shape &shape : read_shapes(TENSORLIB_SHAPES, "mul_mat_id")) {
        for (const DType type : {DType::f32, DType::bf16, DType::q8_0, DType::q4_K}) {
            if (!bench.wants(core::traits(type))) continue;
            const Experts experts(shape, type);
            for (const int threads : bench.threads) report_row(bench, experts, threads);
        }
    }
}

}  // namespace tensorlib::bench
