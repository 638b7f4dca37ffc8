// mul_mat_sparse, axpy and sparse_ffn of cold constants, one column, by share of active neurons, in turn with the dense packed product of
// as many weights, and with the dense block.
#include "api/devices.hpp"
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

namespace tensorlib::bench {

namespace {

using core::DType;
using core::Ref;

constexpr double shares[] = {1.0, 0.5, 0.1, 0.03};
constexpr std::int64_t columns = 1;

// Matrices {k, n}, gates, ups and transposed down projections, all constant, and enough of them to be cold.
struct Weights {
    const std::int64_t k, n;
    const core::DTypeTraits &type;
    Ref<core::Context> context = core::Context::create({});
    std::vector<core::Tensor *> all;

    Weights(std::int64_t of_k, std::int64_t of_n, DType t) : k(of_k), n(of_n), type(core::traits(t)) {
        std::vector<float> rows(static_cast<std::size_t>(k * different_rows));
        fill_normal(rows, 1, 1e-4f);
        std::int64_t bytes = 0;
        // Three matrices make a block.
        while (bytes < cold_bytes || all.size() % 3 != 0) {
            all.push_back(leaf(*context, t, std::array{k, n}));
            repeat_rows(*all.back(), rows);
            core::set_constant(*all.back());
            bytes += static_cast<std::int64_t>(all.back()->layout.nbytes());
        }
    }
    core::Tensor *floats(std::int64_t rows, std::uint32_t seed) {
        core::Tensor *t = leaf(*context, DType::f32, std::array{rows, columns});
        fill_normal({reinterpret_cast<float *>(t->address()), static_cast<std::size_t>(rows * columns)}, seed, 1e-2f);
        return t;
    }
    core::Tensor *node(core::Op op, std::vector<core::Tensor *> src, std::vector<core::Attr> attrs = {}) {
        return core::build_node(*context, op, src, attrs);
    }
    Ref<core::Graph> graph(core::Tensor *output) { return core::Graph::create(*context, {&output, 1}); }
};

// Where the largest `share` of values begin.
double threshold_of(const core::Tensor *t, double share) {
    const auto *from = reinterpret_cast<const float *>(t->address());
    std::vector<float> values(from, from + t->layout.n_elements());
    std::ranges::sort(values, std::greater<>());
    return share >= 1 ? -1e30 : static_cast<double>(values[static_cast<std::size_t>(share * static_cast<double>(values.size()))]);
}

// A graph for each matrix, or block, run in turn.
struct Rotation {
    std::vector<core::Tensor *> outputs;
    std::vector<Ref<core::Graph>> graphs;
    std::size_t next = 0;

    void add(Weights &w, core::Tensor *output) {
        outputs.push_back(output);
        graphs.push_back(w.graph(output));
    }
    void run(core::Backend &cpu) {
        next = (next + 1) % graphs.size();
        core::compute(*graphs[next], cpu);
    }
    void run_all(core::Backend &cpu) {
        for (std::size_t i = 0; i < graphs.size(); i++) run(cpu);
    }
};

// A sparse computation and the dense one that it is compared with. Both are checked, element by element, within half a per cent of their
// size.
struct Pair {
    const char *name;
    double share;
    Rotation sparse;
    Rotation *dense;
};

void check_close(const core::Tensor *got, const std::vector<float> &want, const char *what) {
    const auto *values = reinterpret_cast<const float *>(got->address());
    double error = 0, size = 0;
    for (std::size_t i = 0; i < want.size(); i++) {
        const double off = double{values[i]} - double{want[i]};
        error += off * off, size += double{want[i]} * double{want[i]};
    }
    check(error <= 5e-4 * size && size > 0, what);
}

// The scores' rule, as attributes.
std::vector<core::Attr> at_least(double threshold) { return {core::Attr::of_number("threshold", threshold)}; }

class Section {
public:
    Section(const Bench &bench, std::int64_t k, std::int64_t n, DType type) : bench_(bench), w_(k, n, type) {
        x_ = w_.floats(k, 7), h_ = w_.floats(n, 8);
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(std::lround(1 / shares[std::size(shares) - 1])); i++)
            scores_.push_back(w_.floats(n, 9 + i));
        for (core::Tensor *a : w_.all) dense_.add(w_, w_.node(core::Op::mul_mat, {a, x_}));
    }

    void report(int threads) {
        core::BackendParams params;
        params.n_threads = threads;
        const Ref<core::Backend> cpu = core::open_backend("cpu", params);
        dense_.run_all(*cpu);
        // By block, the gate's values decide: of each block its own threshold.
        for (const double share : shares) {
            products(*cpu, share, threads);
            sums(*cpu, share, threads);
        }
        block(*cpu, 0.1, threads);
    }

private:
    // Calls add(matrix, scores, threshold) for all matrices with one active set after the other, until all that is read is too large for a
    // cache: 3 % of 257 MB would fit. Returns the last one.
    template <class Add>
    std::pair<core::Tensor *, double> rotate(double share, Add add) {
        std::pair<core::Tensor *, double> last;
        for (std::size_t i = 0; i < static_cast<std::size_t>(std::lround(1 / share)); i++) {
            last = {scores_[i], threshold_of(scores_[i], share)};
            for (core::Tensor *a : w_.all) add(a, last.first, last.second);
        }
        return last;
    }

    void products(core::Backend &cpu, double share, int threads) {
        Rotation sparse;
        const auto [scores, threshold] = rotate(share, [&](core::Tensor *a, core::Tensor *scores, double threshold) {
            sparse.add(w_, w_.node(core::Op::mul_mat_sparse, {a, x_, scores}, at_least(threshold)));
        });
        sparse.run_all(cpu);
        // Compares active neurons with the dense product of the same matrix.
        const auto *dense = reinterpret_cast<const float *>(dense_.outputs.back()->address());
        const auto *last = reinterpret_cast<const float *>(scores->address());
        std::vector<float> want(static_cast<std::size_t>(w_.n));
        for (std::size_t i = 0; i < want.size(); i++) want[i] = last[i] >= static_cast<float>(threshold) ? dense[i] : 0;
        check_close(sparse.outputs.back(), want, "mul_mat_sparse");
        row(cpu, "mul_mat_sparse", share, threads, sparse, dense_, 1);
    }

    void sums(core::Backend &cpu, double share, int threads) {
        Rotation sparse;
        const auto [mask, threshold] = rotate(share, [&](core::Tensor *a, core::Tensor *scores, double least) {
            sparse.add(w_, w_.node(core::Op::axpy, {a, h_, scores}, at_least(least)));
        });
        sparse.run_all(cpu);
        // Compares with the definition: rows decoded, added up in double.
        const auto *h = reinterpret_cast<const float *>(h_->address()), *scores = reinterpret_cast<const float *>(mask->address());
        std::vector<double> total(static_cast<std::size_t>(w_.k));
        std::vector<float> values(total.size());
        for (std::int64_t i = 0; i < w_.n; i++) {
            if (!(scores[i] >= static_cast<float>(threshold))) continue;
            w_.type.decode(w_.all.back()->address() + i * static_cast<std::int64_t>(w_.all.back()->layout.row_bytes()), values.data(),
                           w_.k);
            for (std::size_t j = 0; j < total.size(); j++) total[j] += double{h[i]} * double{values[j]};
        }
        check_close(sparse.outputs.back(), {total.begin(), total.end()}, "axpy");
        row(cpu, "axpy", share, threads, sparse, dense_, 1);
    }

    // Gate, up and down transposed; the dense block's down projection is {n, k}, of as many weights.
    void block(core::Backend &cpu, double share, int threads) {
        Rotation sparse, dense;
        Weights down(w_.n, w_.k, w_.type.type);
        for (std::size_t i = 0; i + 2 < w_.all.size(); i += 3) {
            core::Tensor *gate = w_.node(core::Op::mul_mat, {w_.all[i], x_});
            core::compute(*w_.graph(gate), cpu);
            auto attrs = at_least(std::max(threshold_of(gate, share), 1e-30));
            sparse.add(w_, w_.node(core::Op::sparse_ffn, {x_, w_.all[i], w_.all[i + 1], w_.all[i + 2]}, attrs));
            core::Tensor *up = w_.node(core::Op::mul_mat, {w_.all[i + 1], x_});
            core::Tensor *z = w_.node(core::Op::glu, {w_.node(core::Op::mul_mat, {w_.all[i], x_}), up},
                                      {core::Attr::of_text("op", "reglu"), core::Attr::of_int("split", 1)});
            core::Tensor *output = core::build_node(*w_.context, core::Op::mul_mat, std::array{down.all[i], z});
            dense.add(w_, output);
        }
        sparse.run_all(cpu);
        dense.run_all(cpu);
        row(cpu, "sparse_ffn", share, threads, sparse, dense, 3);
    }

    void row(core::Backend &cpu, const char *name, double share, int threads, Rotation &sparse, Rotation &dense, int matrices) {
        core::ThreadPool pool(threads);
        const core::Tensor *first = w_.all[0];
        const auto floats = static_cast<std::int64_t>(first->layout.nbytes() / 4096 * 1024);
        std::size_t at = 0;
        std::vector<Contender> contenders{
            {"read",
             [&] {
                 at = (at + 1) % w_.all.size();
                 run_read(bench_.limits, pool, reinterpret_cast<const float *>(w_.all[at]->address()), floats, true);
             }},
            {"sparse", [&] { sparse.run(cpu); }},
            {"dense", [&] { dense.run(cpu); }},
        };
        const Others others;
        in_turn(contenders, bench_.budget, 0);
        const double read = 4.0 * static_cast<double>(floats) / contenders[0].times().best * 1e-9;
        const Times ours = contenders[1].times(), whole = contenders[2].times();
        const double bytes = static_cast<double>(first->layout.nbytes()) * matrices;
        std::printf("%c %-14s %-5s %5.0f %% %3d  %6.1f  %9.1f %9.1f %5.1f %%  %9.1f  %6.2f %6.2f  %5.1f %%\n",
                    others.cores() > 0.05 ? '*' : ' ', name, w_.type.name, 100 * share, threads, read, ours.best * 1e6, ours.median * 1e6,
                    100 * ours.spread, whole.best * 1e6, whole.best / ours.best, whole.median / ours.median,
                    100 * bytes / whole.best * 1e-9 / read);
        std::fflush(stdout);
    }

    const Bench &bench_;
    Weights w_;
    Rotation dense_;
    core::Tensor *x_, *h_;
    std::vector<core::Tensor *> scores_;
};

}  // namespace

void report_sparse(const Bench &bench) {
    std::printf("\nsparse products, constants {4096, 11008}, cold, one column, compared with the dense packed product; microseconds\n");
    std::printf("%c %-14s %-5s %7s %3s  %6s  %9s %9s %7s  %9s  %6s %6s  %7s\n", ' ', "operation", "type", "active", "thr", "GB/s", "best",
                "median", "spread", "dense", "times", "median", "dense of read");
    for (const DType type : {DType::q4_0, DType::q4_K, DType::q8_0, DType::f16}) {
        if (!bench.wants(core::traits(type))) continue;
        Section section(bench, 4096, 11008, type);
        for (const int threads : bench.threads) section.report(threads);
    }
}

}  // namespace tensorlib::bench
