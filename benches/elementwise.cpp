// Elementwise operations through graphs: one from and to memory compared with a plain copy of the same bytes (cont), a chain of five
// compared with one, and products with an epilogue compared with products alone. Shapes are those of a transformer's activations.
#include "graphs.hpp"

#include <vector>

namespace tensorlib::bench {

using core::Op;
using core::Tensor;

namespace {

// Arithmetic in a wide type, compared with a copy.
template <class T>
void report_numbers(const Bench &bench, core::DType type) {
    constexpr std::int64_t n0 = 4096, n1 = 5504;
    Activations a(1, 1);
    const auto made = [&](std::array<std::int64_t, 2> ne) { return numbers<T>(*a.context, type, ne); };
    Tensor *x = made({n0, n1}), *y = made({n0, n1}), *row = made({n0, 1});
    const auto once = static_cast<double>(x->layout.nbytes());
    head(std::string("numbers, 4096 x 5504 of ") + core::traits(type).name, "x copy");
    report_in_turn(bench, a,
                   {{"cont", 2 * once, a.node(Op::cont, {x})},
                    {"neg", 2 * once, a.node(Op::neg, {x})},
                    {"scale", 2 * once, a.node(Op::scale, {x}, {core::Attr::of_number("scale", 2)})},
                    {"add of a row", 2 * once, a.node(Op::add, {x, row})},
                    {"add", 3 * once, a.node(Op::add, {x, y})},
                    {"mul", 3 * once, a.node(Op::mul, {x, y})},
                    {"div", 3 * once, a.node(Op::div, {x, y})},
                    {"lt", 2.5 * once, a.node(Op::lt, {x, y})}});
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
    report_numbers<std::int32_t>(bench, core::DType::i32);
    report_numbers<std::int64_t>(bench, core::DType::i64);
    report_numbers<double>(bench, core::DType::f64);
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
