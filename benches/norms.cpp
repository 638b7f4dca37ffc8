// Operations that take a row at a time compared with a plain copy of the same bytes (cont): norms, soft_max, rope, running sums.
// Operations that reduce a row to one or two numbers are compared with a plain read.
#include "graphs.hpp"

#include <numeric>

namespace tensorlib::bench {

namespace {

using core::Attr;
using core::Op;
using core::Tensor;

void report_rows(const Bench &bench) {
    Activations a(4096, 4096);
    const double once = static_cast<double>(a.x->layout.nbytes());
    Tensor *mask = a.random({4096, 4096}, 3);
    const Attr eps = Attr::of_number("eps", 1e-5), scale = Attr::of_number("scale", 0.125);
    head("rows, 4096 x 4096 of F32", "x copy");
    report_in_turn(bench, a,
                   {{"cont", 2 * once, a.node(Op::cont, {a.x})},
                    {"norm", 2 * once, a.node(Op::norm, {a.x}, {eps})},
                    {"rms_norm", 2 * once, a.node(Op::rms_norm, {a.x}, {eps})},
                    {"rms_norm, mul by a row", 2 * once, a.node(Op::mul, {a.node(Op::rms_norm, {a.x}, {eps}), a.row})},
                    {"soft_max", 2 * once, a.node(Op::soft_max, {a.x})},
                    {"cumsum", 2 * once, a.node(Op::cumsum, {a.x})}});
    head("of two operands, 4096 x 4096 of F32", "x add");
    report_in_turn(
        bench, a,
        {{"add", 3 * once, a.node(Op::add, {a.x, mask})},
         {"soft_max_ext with a mask", 3 * once, a.node(Op::soft_max_ext, {a.x, mask, core::left_out()}, {scale})},
         {"add, rms_norm, mul by a row", 3 * once, a.node(Op::mul, {a.node(Op::rms_norm, {a.node(Op::add, {a.x, mask})}, {eps}), a.row})}});
    head("a number of a row, 4096 x 4096 of F32", "x read");
    report_in_turn(bench, a,
                   {{"sum_rows", once, a.node(Op::sum_rows, {a.x})},
                    {"mean", once, a.node(Op::mean, {a.x}, {Attr::of_int("dims", 0)})},
                    {"argmax", once, a.node(Op::argmax, {a.x}, {Attr::of_int("dims", 0)})}},
                   a.x);
}

void report_rope(const Bench &bench) {
    constexpr std::int64_t n = 128, heads = 32, tokens = 1024;
    Activations a(n, heads * tokens);
    const double twice = 2 * static_cast<double>(a.x->layout.nbytes());
    const std::int64_t ne[] = {n, heads, tokens};
    Tensor *x = a.node(Op::reshape, {a.x}, {Attr::of_ints("ne", ne)});
    Tensor *positions = leaf(*a.context, core::DType::i32, std::array{tokens});
    auto *first = reinterpret_cast<std::int32_t *>(positions->address());
    std::iota(first, first + tokens, 0);
    head("rope, 128 x 32 x 1024 of F32", "x copy");
    report_in_turn(bench, a,
                   {{"cont", twice, a.node(Op::cont, {x})},
                    {"normal", twice, a.node(Op::rope, {x, positions, core::left_out()}, {Attr::of_text("mode", "normal")})},
                    {"neox", twice, a.node(Op::rope, {x, positions, core::left_out()}, {Attr::of_text("mode", "neox")})}});
}

}  // namespace

void report_norms(const Bench &bench) {
    report_rows(bench);
    report_rope(bench);
}

}  // namespace tensorlib::bench
