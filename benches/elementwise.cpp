// Elementwise operations through graphs: one from and to memory beside a plain copy of the same bytes (cont), a chain of five beside one,
// and products with what follows them beside products alone. Shapes are those of a transformer's activations.
#include "api/devices.hpp"
#include "graph/graph.hpp"
#include "ops/op_def.hpp"
#include "runtime/executor.hpp"
#include "sections.hpp"
#include "support.hpp"
#include "tensors.hpp"

#include <cstdio>

namespace tensorlib::bench {

namespace {

using core::DType;
using core::Op;
using core::Ref;
using core::Tensor;

// A graph of one output, in turn with others.
struct Work {
    std::string name;
    double bytes;  // read and written, or 0
    Tensor *output;
};

class Activations {
public:
    Activations(std::int64_t n0, std::int64_t n1) : x(random({n0, n1}, 1)), row(random({n0, 1}, 2)) {}

    Tensor *node(Op op, std::vector<Tensor *> src, std::vector<core::Attr> attrs = {}) {
        return core::build_node(*context, op, src, attrs);
    }
    Tensor *random(std::array<std::int64_t, 2> ne, std::uint32_t seed) {
        Tensor *t = leaf(*context, DType::f32, ne);
        std::vector<float> rows(static_cast<std::size_t>(ne[0] * different_rows));
        fill_normal(rows, seed, 0.01f);
        repeat_rows(*t, rows);
        return t;
    }
    // Of activations' size, but for the first of a chain.
    Tensor *scaled(Tensor *t) { return node(Op::scale, {t}, {core::Attr::of_number("scale", 0.5)}); }

    Ref<core::Context> context = core::Context::create({});
    Tensor *x, *row;
};

void report_in_turn(const Bench &bench, core::Context &context, const std::vector<Work> &all) {
    for (const int threads : bench.threads) {
        core::BackendParams params;
        params.n_threads = threads;
        const Ref<core::Backend> cpu = core::open_backend("cpu", params);
        std::vector<Ref<core::Graph>> graphs;
        std::vector<Contender> contenders;
        for (const Work &work : all) {
            graphs.push_back(core::Graph::create(context, {&work.output, 1}));
            contenders.push_back({work.name, [graph = graphs.back().get(), &cpu] { core::compute(*graph, *cpu); }});
        }
        const Others others;
        in_turn(contenders, bench.budget * static_cast<double>(all.size()) / 2, 0);
        const char mark = others.cores() > 0.05 + (threads - 1) ? '*' : ' ';
        const double first = contenders.front().times().best;
        for (std::size_t i = 0; i < all.size(); i++) {
            const Times t = contenders[i].times();
            std::printf("%c %-44s %d %9.2f %9.2f %5.1f %% %8.1f %8.2f\n", mark, all[i].name.c_str(), threads, t.best * 1e3, t.median * 1e3,
                        100 * t.spread, all[i].bytes / t.best * 1e-9, t.best / first);
        }
        std::fflush(stdout);
    }
}

void head(const std::string &what, const char *beside) {
    std::printf("\n%-46s %s %9s %9s %7s %8s %8s\n", what.c_str(), "t", "best ms", "median", "spread", "GB/s", beside);
}

}  // namespace

void report_elementwise(const Bench &bench) {
    constexpr std::int64_t n0 = 4096, n1 = 11008;
    {
        Activations a(n0, n1);
        const double once = static_cast<double>(a.x->layout.nbytes());
        head("elementwise, 4096 x 11008 of F32", "x copy");
        std::vector<Work> works{{"cont", 2 * once, a.node(Op::cont, {a.x})}};
        for (const Op op : {Op::relu, Op::exp, Op::tanh, Op::silu, Op::gelu, Op::gelu_erf, Op::sqrt}) {
            works.push_back({core::op_name(op), 2 * once, a.node(op, {a.x})});
        }
        works.push_back({"add of a row", 2 * once, a.node(Op::add, {a.x, a.row})});
        report_in_turn(bench, *a.context, works);
    }
    {
        Activations a(n0, n1);
        const double once = static_cast<double>(a.x->layout.nbytes());
        Tensor *up = a.random({n0, n1}, 3);
        head("two operands, 4096 x 11008 of F32", "x add");
        report_in_turn(bench, *a.context,
                       {{"add", 3 * once, a.node(Op::add, {a.x, up})},
                        {"mul", 3 * once, a.node(Op::mul, {a.x, up})},
                        {"glu swiglu", 3 * once, a.node(Op::glu, {a.x, up}, {core::Attr::of_text("op", "swiglu")})},
                        {"mul(silu(x), up)", 3 * once, a.node(Op::mul, {a.node(Op::silu, {a.x}), up})}});
    }
    {
        Activations a(n0, 4096);
        const double once = static_cast<double>(a.x->layout.nbytes());
        Tensor *five = a.node(Op::relu, {a.scaled(a.node(Op::mul, {a.node(Op::add, {a.x, a.row}), a.row}))});
        five = a.node(Op::add, {five, a.row});
        head("chains, 4096 x 4096 of F32", "x one");
        report_in_turn(bench, *a.context,
                       {{"relu", 2 * once, a.node(Op::relu, {a.x})}, {"add, mul, scale, relu, add of rows", 2 * once, five}});
    }
    for (const std::int64_t k : {512, 4096}) {
        Activations a(k, 4096);
        Tensor *b = a.random({k, 512}, 4), *bias = a.random({4096, 1}, 5), *product = a.node(Op::mul_mat, {a.x, b});
        const auto again = [&] { return a.node(Op::mul_mat, {a.x, b}); };
        head("products, " + std::to_string(k) + " x 4096 x 512 of F32", "x alone");
        report_in_turn(bench, *a.context,
                       {{"mul_mat", 0, product},
                        {"mul_mat, add", 0, a.node(Op::add, {again(), bias})},
                        {"mul_mat, add, gelu", 0, a.node(Op::gelu, {a.node(Op::add, {again(), bias})})}});
    }
}

}  // namespace tensorlib::bench
