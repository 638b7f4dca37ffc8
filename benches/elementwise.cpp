// Elementwise operations through graphs: one from and to memory compared with a plain copy of the same bytes (cont), a chain of five
// compared with one, and products with an epilogue compared with products alone. Shapes are those of a transformer's activations.
#include "graphs.hpp"

namespace tensorlib::bench {

using core::Op;
using core::Tensor;

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
        report_in_turn(bench, a, works);
    }
    {
        Activations a(n0, n1);
        const double once = static_cast<double>(a.x->layout.nbytes());
        Tensor *up = a.random({n0, n1}, 3);
        head("two operands, 4096 x 11008 of F32", "x add");
        report_in_turn(bench, a,
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
        report_in_turn(bench, a, {{"relu", 2 * once, a.node(Op::relu, {a.x})}, {"add, mul, scale, relu, add of rows", 2 * once, five}});
    }
    for (const std::int64_t k : {512, 4096}) {
        Activations a(k, 4096);
        Tensor *b = a.random({k, 512}, 4), *bias = a.random({4096, 1}, 5), *product = a.node(Op::mul_mat, {a.x, b});
        const auto again = [&] { return a.node(Op::mul_mat, {a.x, b}); };
        head("products, " + std::to_string(k) + " x 4096 x 512 of F32", "x alone");
        report_in_turn(bench, a,
                       {{"mul_mat", 0, product},
                        {"mul_mat, add", 0, a.node(Op::add, {again(), bias})},
                        {"mul_mat, add, gelu", 0, a.node(Op::gelu, {a.node(Op::add, {again(), bias})})}});
    }
}

}  // namespace tensorlib::bench
