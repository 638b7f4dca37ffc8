// Attention of many queries compared with the peak of multiply-adds, with half of it masked compared with no mask, and of one query
// compared with a plain read of the same keys and values; each also with keys and values in pages.
#include "graphs.hpp"

#include "graph/graph.hpp"
#include "graph/tensor_data.hpp"
#include "support.hpp"

#include <cstdio>
#include <limits>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::Op;
using core::Tensor;

struct Heads {
    std::int64_t n, tokens, keys, heads, kv_heads;
};

class Scene {
public:
    explicit Scene(const Heads &heads) : heads_(heads), query_(random({heads.n, heads.tokens, heads.heads}, DType::f32, 1)) {}

    Tensor *random(std::array<std::int64_t, 3> ne, DType type, std::uint32_t seed) {
        Tensor *t = leaf(*context, type, ne);
        std::vector<float> rows(static_cast<std::size_t>(ne[0] * std::min(ne[1], different_rows)));
        fill_normal(rows, seed, 0.01f);
        repeat_rows(*t, rows);
        return t;
    }
    Tensor *attention(DType type, bool causal) {
        const std::array<std::int64_t, 3> ne{heads_.n, heads_.keys, heads_.kv_heads};
        Tensor *k = random(ne, type, 2), *v = random(ne, type, 3), *mask = core::left_out();
        if (causal) {
            std::vector<float> values(static_cast<std::size_t>(heads_.keys * heads_.tokens));
            for (std::size_t i = 0; i < values.size(); i++) {
                const auto at = static_cast<std::int64_t>(i);
                values[i] = at % heads_.keys > at / heads_.keys ? -std::numeric_limits<float>::infinity() : 0;
            }
            mask = leaf(*context, DType::f16, std::array{heads_.keys, heads_.tokens});
            core::write_f32(*mask, values.data(), values.size());
        }
        return core::build_node(*context, Op::flash_attn_ext, std::array{query_, k, v, mask, core::left_out()});
    }
    // The last `tokens` tokens of a sequence with all keys, whose pages lie in another order.
    Tensor *paged(DType type) {
        constexpr std::int64_t page = 64;
        const std::array<std::int64_t, 3> ne{heads_.n, heads_.kv_heads, heads_.keys};
        std::vector<float> order, positions;
        for (std::int64_t i = 0; i < heads_.keys / page; i++) order.push_back(static_cast<float>((i * 5 + 3) % (heads_.keys / page)));
        for (std::int64_t t = heads_.keys - heads_.tokens; t < heads_.keys; t++) positions.push_back(static_cast<float>(t));
        const std::vector<float> sequences(positions.size(), 0);
        const auto numbers = [&](const std::vector<float> &values, std::array<std::int64_t, 2> shape) {
            Tensor *t = leaf(*context, DType::i32, shape);
            core::write_f32(*t, values.data(), values.size());
            return t;
        };
        const auto n = static_cast<std::int64_t>(positions.size());
        return core::build_node(
            *context, Op::paged_attention,
            std::array{query_, random(ne, type, 2), random(ne, type, 3), numbers(order, {static_cast<std::int64_t>(order.size()), 1}),
                       numbers(positions, {n, 1}), numbers(sequences, {n, 1}), core::left_out()});
    }
    // For one kind of keys and values.
    double flops() const { return 4.0 * static_cast<double>(heads_.n * heads_.tokens * heads_.keys * heads_.heads); }

    core::Ref<core::Context> context = core::Context::create({});

private:
    Heads heads_;
    Tensor *query_;
};

std::string text(const Heads &h) {
    return std::to_string(h.heads) + " heads x " + std::to_string(h.n) + ", " + std::to_string(h.tokens) + " queries, " +
           std::to_string(h.keys) + " keys of " + std::to_string(h.kv_heads) + " heads";
}

struct Variant {
    const char *name;
    DType type;
    bool causal = false, paged = false;
};

// All at once, in turn with the peak; whole attention is what all operations are counted of.
void report_many(const Bench &bench, const Heads &heads) {
    constexpr Variant variants[] = {{"F32", DType::f32},
                                    {"F32, causal", DType::f32, true},
                                    {"F16 keys and values", DType::f16},
                                    {"BF16 keys and values", DType::bf16},
                                    {"Q8_0 keys and values", DType::q8_0},
                                    {"F32, causal, in pages", DType::f32, true, true},
                                    {"F16 keys and values, causal, in pages", DType::f16, true, true}};
    Scene scene(heads);
    std::printf("\n%-66s %s %9s %9s %7s %9s %8s %8s\n", text(heads).c_str(), "t", "best ms", "median", "spread", "GFLOP/s", "of peak",
                "x F32");
    std::vector<core::Ref<core::Graph>> graphs;
    for (const Variant &variant : variants) {
        Tensor *output = variant.paged ? scene.paged(variant.type) : scene.attention(variant.type, variant.causal);
        graphs.push_back(core::Graph::create(*scene.context, {&output, 1}));
    }
    for (const int threads : bench.threads) {
        const BesidePeak measured = in_turn_with_peak(bench, threads, graphs);
        for (std::size_t i = 0; i < graphs.size(); i++) {
            const Times &t = measured.times[i];
            std::printf("%c %-64s %d %9.2f %9.2f %5.1f %% %9.1f %6.1f %% %8.2f\n", measured.mark, variants[i].name, threads, t.best * 1e3,
                        t.median * 1e3, 100 * t.spread, scene.flops() / t.best * 1e-9, 100 * scene.flops() / t.best / measured.peak,
                        t.best / measured.times[0].best);
        }
        std::fflush(stdout);
    }
}

void report_one(const Bench &bench, const Heads &heads, DType type) {
    Scene scene(heads);
    Activations of(1, 1);
    of.context = scene.context;
    Tensor *output = scene.attention(type, false);
    const auto bytes = static_cast<double>(output->src[1]->layout.nbytes() + output->src[2]->layout.nbytes());
    head(text(heads) + ", " + core::traits(type).name, "x read");
    // As many bytes as keys and values have.
    Tensor *read = leaf(*scene.context, DType::f32, std::array{std::int64_t{1024}, static_cast<std::int64_t>(bytes) / 4096});
    std::fill_n(reinterpret_cast<float *>(read->address()), read->layout.n_elements(), 1.0f);
    report_in_turn(bench, of, {{"attention", bytes, output}, {"attention in pages", bytes, scene.paged(type)}}, read);
}

}  // namespace

void report_attention(const Bench &bench) {
    report_many(bench, {128, 512, 512, 32, 32});
    report_many(bench, {64, 512, 512, 32, 8});
    report_many(bench, {128, 2048, 2048, 8, 8});
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q8_0}) report_one(bench, {128, 1, 4096, 32, 32}, type);
    report_one(bench, {128, 1, 4096, 32, 8}, DType::f16);
}

}  // namespace tensorlib::bench
