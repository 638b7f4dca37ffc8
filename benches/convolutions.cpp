// Convolutions compared with multiply-adds in registers and with a product of as many (of im2col's result). im2col, pooling, upscaling
// and convolutions by channel, which are limited by memory, compared with a plain copy.
#include "api/devices.hpp"
#include "graph/graph.hpp"
#include "graphs.hpp"
#include "runtime/executor.hpp"
#include "support.hpp"

#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::Attr;
using core::Op;
using core::Tensor;

// Random images, or a kernel, of four dimensions.
Tensor *images(Activations &a, std::array<std::int64_t, 4> ne, std::uint32_t seed) {
    return a.node(Op::reshape, {a.random({ne[0] * ne[1], ne[2] * ne[3]}, seed)}, {Attr::of_ints("ne", ne)});
}

std::vector<Attr> strided(std::int64_t stride, std::int64_t padding) {
    return {Attr::of_int("s0", stride), Attr::of_int("s1", stride), Attr::of_int("p0", padding), Attr::of_int("p1", padding)};
}

// A row for each, on one thread and on all: GFLOP/s, and as a share of multiply-adds in registers.
void report_sums(const Bench &bench, const Activations &of, const std::vector<Tensor *> &outputs, const std::vector<std::string> &names) {
    std::printf("\n%-46s %s %9s %9s %7s %8s %8s\n", "convolutions of F32", "t", "best ms", "median", "spread", "GFLOP/s", "of peak");
    for (const int threads : bench.threads) {
        const core::Ref<core::Backend> cpu = core::open_backend("cpu", {.n_threads = threads});
        core::ThreadPool pool(threads);
        const auto peak = static_cast<double>(run_multiply_add(bench.limits, pool));
        std::vector<core::Ref<core::Graph>> graphs;
        std::vector<Contender> contenders{{"multiply-adds in registers", [&] { run_multiply_add(bench.limits, pool); }}};
        std::vector<double> flops{peak};
        for (std::size_t i = 0; i < outputs.size(); i++) {
            graphs.push_back(core::Graph::create(*of.context, {&outputs[i], 1}));
            contenders.push_back({names[i], [graph = graphs.back().get(), &cpu] { core::compute(*graph, *cpu); }});
            flops.push_back(core::op_def(outputs[i]->op).cost(*outputs[i]).flops);
        }
        const Others others;
        in_turn(contenders, bench.budget * static_cast<double>(contenders.size()) / 2, 0);
        const char mark = others.cores() > 0.05 + (threads - 1) ? '*' : ' ';
        const double limit = flops[0] / contenders[0].times().best;
        for (std::size_t i = 0; i < contenders.size(); i++) {
            const Times t = contenders[i].times();
            std::printf("%c %-44s %d %9.3f %9.3f %5.1f %% %8.1f %6.1f %%\n", mark, contenders[i].name.c_str(), threads, t.best * 1e3,
                        t.median * 1e3, 100 * t.spread, flops[i] / t.best * 1e-9, 100 * flops[i] / t.best / limit);
        }
        std::fflush(stdout);
    }
}

}  // namespace

void report_convolutions(const Bench &bench) {
    {
        Activations a(576, 64);
        Tensor *columns = a.random({576, 3136}, 3), *image = images(a, {56, 56, 64, 1}, 4);
        Tensor *kernel = images(a, {3, 3, 64, 64}, 5), *wide = images(a, {3, 3, 256, 256}, 6), *deep = images(a, {14, 14, 256, 1}, 7);
        Tensor *point = images(a, {1, 1, 64, 256}, 8), *first = images(a, {7, 7, 3, 64}, 9), *photo = images(a, {224, 224, 3, 1}, 10);
        Tensor *spread = images(a, {4, 4, 64, 64}, 11);
        report_sums(
            bench, a,
            {a.node(Op::mul_mat, {columns, a.x}), a.node(Op::conv_2d, {kernel, image}, strided(1, 1)),
             a.node(Op::conv_2d, {kernel, image}, strided(2, 1)), a.node(Op::conv_2d, {wide, deep}, strided(1, 1)),
             a.node(Op::conv_2d, {point, image}), a.node(Op::conv_2d, {first, photo}, strided(2, 3)),
             a.node(Op::conv_transpose_2d, {spread, image}, {Attr::of_int("stride", 2), Attr::of_int("p0", 1), Attr::of_int("p1", 1)})},
            {"mul_mat 576 x 3136 x 64", "conv_2d 3x3, 64 to 64, 56 x 56", "conv_2d 3x3 by 2, 64 to 64, 56 x 56",
             "conv_2d 3x3, 256 to 256, 14 x 14", "conv_2d 1x1, 64 to 256, 56 x 56", "conv_2d 7x7 by 2, 3 to 64, 224 x 224",
             "conv_transpose_2d 4x4 by 2, 64 to 64, 56 x 56"});
    }
    Activations a(56 * 56 * 64, 64);
    const auto once = static_cast<double>(a.x->layout.nbytes());
    Tensor *x = a.node(Op::reshape, {a.x}, {Attr::of_ints("ne", std::array<std::int64_t, 4>{56, 56, 64, 64})});
    Tensor *few = a.node(Op::view, {x}, {Attr::of_ints("ne", std::array<std::int64_t, 4>{56, 56, 64, 8})});
    Tensor *kernel = images(a, {3, 3, 64, 1}, 3), *by_channel = images(a, {3, 3, 1, 64}, 4);
    std::vector<Attr> windows = strided(1, 1);
    windows.push_back(Attr::of_int("is_2D", 1));
    const auto pool = [](const char *op) {
        return std::vector<Attr>{Attr::of_text("op", op), Attr::of_int("k0", 2), Attr::of_int("k1", 2)};
    };
    head("64 images of 64 channels, 56 x 56, of F32", "x copy");
    report_in_turn(bench, a,
                   {{"cont", 2 * once, a.node(Op::cont, {a.x})},
                    {"im2col 3x3, of 8", 10 * once / 8, a.node(Op::im2col, {kernel, few}, windows)},
                    {"conv_2d_dw 3x3", 2 * once, a.node(Op::conv_2d_dw, {by_channel, x}, strided(1, 1))},
                    {"pool_2d max 2x2", 1.25 * once, a.node(Op::pool_2d, {x}, pool("max"))},
                    {"pool_2d avg 2x2", 1.25 * once, a.node(Op::pool_2d, {x}, pool("avg"))},
                    {"upscale nearest by 2, of 8", 5 * once / 8, a.node(Op::upscale, {few}, {Attr::of_int("factor", 2)})},
                    {"upscale bilinear by 2, of 8", 5 * once / 8,
                     a.node(Op::upscale, {few}, {Attr::of_int("factor", 2), Attr::of_text("mode", "bilinear")})}},
                   nullptr);
}

}  // namespace tensorlib::bench
