// Operations that reduce many elements to few, compared with a plain read of the same bytes; running sums compared with a copy; orders
// of a vocabulary's size; and out_prod compared with mul_mat.
#include "graphs.hpp"

namespace tensorlib::bench {

namespace {

using core::Attr;
using core::Op;
using core::Tensor;

void report_reads(const Bench &bench, std::int64_t n0, std::int64_t n1) {
    Activations a(n0, n1);
    const auto once = static_cast<double>(a.x->layout.nbytes());
    head("reductions, " + std::to_string(n0) + " x " + std::to_string(n1) + " of F32", "x read");
    report_in_turn(bench, a,
                   {{"sum", once, a.node(Op::sum, {a.x})},
                    {"sum_rows", once, a.node(Op::sum_rows, {a.x})},
                    {"mean", once, a.node(Op::mean, {a.x}, {Attr::of_int("dims", 0)})},
                    {"argmax", once, a.node(Op::argmax, {a.x}, {Attr::of_int("dims", 0)})},
                    {"top_k, 40", once, a.node(Op::top_k, {a.x}, {Attr::of_int("k", 40)})}},
                   a.x);
}

// Every reduction along the rows, and across them.
void report_dims(const Bench &bench, std::int64_t n0, std::int64_t n1) {
    Activations a(n0, n1);
    const auto once = static_cast<double>(a.x->layout.nbytes());
    for (const int dim : {0, 1}) {
        head(std::string("reductions ") + (dim == 0 ? "along" : "across") + " rows, " + std::to_string(n0) + " x " + std::to_string(n1) +
                 " of F32",
             "x read");
        std::vector<Work> rows;
        for (const Op op : {Op::sum, Op::max, Op::argmax, Op::var, Op::prod, Op::any, Op::all, Op::log_sum_exp}) {
            std::vector<Attr> attrs{Attr::of_int("dims", dim)};
            if (op == Op::var) attrs.push_back(Attr::of_int("correction", 1));
            rows.push_back({core::op_name(op), once, a.node(op, {a.x}, attrs)});
        }
        report_in_turn(bench, a, rows, a.x);
    }
}

// Numbers that are not computed in F32; those of U8 are converted to I32 first.
template <class T>
void report_numbers(const Bench &bench, core::DType type) {
    constexpr std::int64_t n0 = 4096, n1 = 5504;
    Activations a(1, 1);
    Tensor *x = numbers<T>(*a.context, type, {n0, n1});
    const auto once = static_cast<double>(x->layout.nbytes());
    for (const int dim : {0, 1}) {
        head(std::string("reductions ") + (dim == 0 ? "along" : "across") + " rows, 4096 x 5504 of " + core::traits(type).name, "x read");
        std::vector<Work> rows;
        for (const Op op : {Op::sum, Op::max, Op::argmax, Op::prod, Op::any})
            rows.push_back({core::op_name(op), once, a.node(op, {x}, {Attr::of_int("dims", dim)})});
        rows.push_back({"var", once, a.node(Op::var, {x}, {Attr::of_int("dims", dim), Attr::of_int("correction", 1)})});
        report_in_turn(bench, a, rows, x);
    }
}

void report_pairs(const Bench &bench) {
    Activations a(4096, 5504);
    const double twice = 2 * static_cast<double>(a.x->layout.nbytes());
    Tensor *other = a.random({4096, 5504}, 3);
    head("of two operands, 4096 x 5504 of F32", "x first");
    report_in_turn(bench, a,
                   {{"count_equal", twice, a.node(Op::count_equal, {a.x, other})},
                    {"cross_entropy_loss", twice, a.node(Op::cross_entropy_loss, {a.x, other})}});
}

void report_running(const Bench &bench, std::int64_t n0, std::int64_t n1) {
    Activations a(n0, n1);
    const double twice = 2 * static_cast<double>(a.x->layout.nbytes());
    head("running sums, " + std::to_string(n0) + " x " + std::to_string(n1) + " of F32", "x copy");
    report_in_turn(bench, a, {{"cont", twice, a.node(Op::cont, {a.x})}, {"cumsum", twice, a.node(Op::cumsum, {a.x})}});
}

void report_orders(const Bench &bench, std::int64_t n0, std::int64_t n1) {
    Activations a(n0, n1);
    const auto once = static_cast<double>(a.x->layout.nbytes());
    head("orders, " + std::to_string(n0) + " x " + std::to_string(n1) + " of F32", "x argmax");
    report_in_turn(bench, a,
                   {{"argmax", once, a.node(Op::argmax, {a.x}, {Attr::of_int("dims", 0)})},
                    {"top_k, 40", once, a.node(Op::top_k, {a.x}, {Attr::of_int("k", 40)})},
                    {"argsort", once, a.node(Op::argsort, {a.x})}});
}

void report_outer(const Bench &bench, std::int64_t m, std::int64_t n, std::int64_t k) {
    Activations a(k, m);
    Tensor *b = a.random({k, n}, 4), *a_turned = a.random({m, k}, 5), *b_turned = a.random({n, k}, 6);
    head("products, " + std::to_string(k) + " x " + std::to_string(m) + " x " + std::to_string(n) + " of F32", "x first");
    report_in_turn(bench, a, {{"mul_mat", 0, a.node(Op::mul_mat, {a.x, b})}, {"out_prod", 0, a.node(Op::out_prod, {a_turned, b_turned})}});
}

}  // namespace

void report_reductions(const Bench &bench) {
    report_reads(bench, 4096, 11008);
    report_reads(bench, 64, 704512);
    report_reads(bench, 45088768, 1);
    report_dims(bench, 4096, 11008);
    report_dims(bench, 64, 704512);
    report_numbers<std::int32_t>(bench, core::DType::i32);
    report_numbers<std::int64_t>(bench, core::DType::i64);
    report_numbers<double>(bench, core::DType::f64);
    report_numbers<std::uint8_t>(bench, core::DType::u8);
    report_pairs(bench);
    report_running(bench, 4096, 11008);
    report_running(bench, 45088768, 1);
    report_orders(bench, 152064, 1);
    report_orders(bench, 152064, 16);
    report_orders(bench, 1000, 1000);
    report_outer(bench, 512, 512, 512);
    report_outer(bench, 2048, 512, 2048);
}

}  // namespace tensorlib::bench
