// Recurrent layers over a prompt compared with the peak of multiply-adds, and over one token with a plain copy of their states.
#include "graphs.hpp"

#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;

struct Heads {
    std::int64_t size, heads, tokens;
};

struct Layer {
    std::string name;
    double flops;  // of an element of the state, for a token
    Tensor *output;
};

class Scene {
public:
    explicit Scene(const Heads &of) : of_(of) {}

    std::vector<Layer> layers() {
        const std::int64_t n = of_.size;
        return {{"gated_delta_net", 7, delta(1)},
                {"gated_delta_net, gates of elements", 7, delta(n)},
                {"ssm_scan, Mamba 2", 5, scan()},
                {"rwkv_wkv7", 9, mixed(Op::rwkv_wkv7, 6)},
                {"rwkv_wkv6", 7,
                 build(Op::rwkv_wkv6, {part(n, 1), part(n, 2), part(n, 3), leaf_of({n, of_.heads, 1, 1}, 4), part(n, 5), flat()})},
                {"gated_linear_attn", 5, mixed(Op::gated_linear_attn, 4, {Attr::of_number("scale", 0.125)})}};
    }
    // The elements of a layer's states.
    std::int64_t elements() const { return of_.size * of_.size * of_.heads; }

    core::Ref<core::Context> context = core::Context::create({});

private:
    Tensor *leaf_of(std::array<std::int64_t, 4> ne, std::uint32_t seed) {
        Tensor *t = leaf(*context, DType::f32, ne);
        std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()));
        fill_normal(values, seed, 0.05f);
        core::write_f32(*t, values.data(), values.size());
        return t;
    }
    Tensor *part(std::int64_t n, std::uint32_t seed) { return leaf_of({n, of_.heads, of_.tokens, 1}, seed); }
    Tensor *flat() { return leaf_of({elements(), 1, 1, 1}, 7); }
    Tensor *build(Op op, const std::vector<Tensor *> &src) { return core::build_node(*context, op, src); }
    Tensor *delta(std::int64_t gates) {
        const std::int64_t n = of_.size;
        return build(Op::gated_delta_net,
                     {part(n, 1), part(n, 2), part(n, 3), part(gates, 4), part(1, 5), leaf_of({n, n, of_.heads, 1}, 6)});
    }
    Tensor *scan() {
        const std::int64_t n = of_.size;
        Tensor *ids = leaf(*context, DType::i32, std::array{std::int64_t{1}});
        const float first = 0;
        core::write_f32(*ids, &first, 1);
        return build(Op::ssm_scan,
                     {leaf_of({n, n, of_.heads, 1}, 1), part(n, 2), leaf_of({of_.heads, of_.tokens, 1, 1}, 3),
                      leaf_of({1, of_.heads, 1, 1}, 4), leaf_of({n, 1, of_.tokens, 1}, 5), leaf_of({n, 1, of_.tokens, 1}, 6), ids});
    }
    Tensor *mixed(Op op, std::uint32_t operands, const std::vector<Attr> &attrs = {}) {
        std::vector<Tensor *> src;
        for (std::uint32_t i = 0; i < operands; i++) src.push_back(part(of_.size, i + 1));
        src.push_back(flat());
        return core::build_node(*context, op, src, attrs);
    }

    Heads of_;
};

std::string text(const Heads &of) {
    return std::to_string(of.heads) + " heads of " + std::to_string(of.size) + ", tokens: " + std::to_string(of.tokens);
}

void report_prompt(const Bench &bench, const Heads &of) {
    Scene scene(of);
    const std::vector<Layer> layers = scene.layers();
    std::printf("\n%-46s %s %9s %9s %7s %9s %8s\n", text(of).c_str(), "t", "best ms", "median", "spread", "GFLOP/s", "of peak");
    std::vector<core::Ref<core::Graph>> graphs;
    for (const Layer &layer : layers) graphs.push_back(core::Graph::create(*scene.context, {&layer.output, 1}));
    for (const int threads : bench.threads) {
        const BesidePeak measured = in_turn_with_peak(bench, threads, graphs);
        for (std::size_t i = 0; i < layers.size(); i++) {
            const Times &t = measured.times[i];
            const double flops = layers[i].flops * static_cast<double>(scene.elements() * of.tokens);
            std::printf("%c %-44s %d %9.3f %9.3f %5.1f %% %9.1f %6.1f %%\n", measured.mark, layers[i].name.c_str(), threads, t.best * 1e3,
                        t.median * 1e3, 100 * t.spread, flops / t.best * 1e-9, 100 * flops / t.best / measured.peak);
        }
        std::fflush(stdout);
    }
}

void report_token(const Bench &bench, const Heads &of) {
    Scene scene(of);
    Activations activations(1, 1);
    activations.context = scene.context;
    const double bytes = 2.0 * sizeof(float) * static_cast<double>(scene.elements());
    Tensor *state = leaf(*scene.context, DType::f32, std::array{of.size * of.size, of.heads});
    std::fill_n(reinterpret_cast<float *>(state->address()), scene.elements(), 1.0f);
    std::vector<Work> all{{"cont of as many elements", bytes, core::build_node(*scene.context, Op::cont, std::array{state})}};
    for (const Layer &layer : scene.layers()) all.push_back({layer.name, bytes, layer.output});
    head(text(of), "x copy");
    report_in_turn(bench, activations, all);
}

}  // namespace

void report_recurrent(const Bench &bench) {
    report_prompt(bench, {128, 32, 512});
    report_prompt(bench, {64, 32, 512});
    report_token(bench, {128, 32, 1});
}

}  // namespace tensorlib::bench
