// solve_tri: against substitution in double, for both triangles, all strides and types, at sizes around units of work, on every ISA and
// at several thread counts.
#include "attended.hpp"
#include "blocks.hpp"

namespace {

namespace core = tensorlib::core;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::Builder;
using support::Random;
using support::Values;
using support::Wanted;

// The unknowns, with what their errors add up to: each product and sum rounds, and errors of unknowns reach those after them.
std::vector<Wanted> wanted(const Tensor *a, const Tensor *b, bool lower, bool unit) {
    const Values coefficients(a), right(b);
    const std::int64_t n = b->layout.ne[1];
    std::vector<Wanted> all(static_cast<std::size_t>(b->layout.n_elements()));
    const auto at = [&](std::int64_t i, std::int64_t r, std::int64_t i2, std::int64_t i3) -> Wanted & {
        const core::Extents &ne = b->layout.ne;
        return all[static_cast<std::size_t>(i + ne[0] * (r + ne[1] * (i2 + ne[2] * i3)))];
    };
    for (std::int64_t i3 = 0; i3 < b->layout.ne[3]; i3++) {
        for (std::int64_t i2 = 0; i2 < b->layout.ne[2]; i2++) {
            for (std::int64_t i = 0; i < b->layout.ne[0]; i++) {
                for (std::int64_t step = 0; step < n; step++) {
                    const std::int64_t r = lower ? step : n - 1 - step;
                    const float *row = coefficients.row(r, i2, i3);
                    double value = double{right.row(r, i2, i3)[i]}, size = std::fabs(value), error = 0;
                    for (std::int64_t k = lower ? 0 : r + 1; k < (lower ? r : n); k++) {
                        const Wanted &x = at(i, k, i2, i3);
                        value -= double{row[k]} * x.value, size += std::fabs(double{row[k]} * x.value);
                        error += std::fabs(double{row[k]}) * x.bound;
                    }
                    error += static_cast<double>(step + 1) * support::rounding * size;
                    if (!unit) {
                        value /= double{row[r]};
                        error = error / std::fabs(double{row[r]}) + support::rounding * std::fabs(value);
                    }
                    at(i, r, i2, i3) = {value, error * 1.01 + 0x1p-149};
                }
            }
        }
    }
    return all;
}

TEST(SolveTri, agrees_with_double_for_all_strides_types_and_sizes) {
    constexpr std::int64_t sizes[] = {1, 2, 3, 8, 17, 33, 64, 100}, columns[] = {1, 2, 7, 16, 63, 64, 65, 130};
    constexpr const char *triangles[] = {"upper", "lower"};
    Random random(5);
    for (int draw = 0; draw < support::repeats(80, 2000); draw++) {
        Builder build;
        build.draw = support::any_value;
        const std::int64_t n = support::one_of(random, sizes), m = support::one_of(random, columns), x = 1 + support::below(random, 3),
                           y = 1 + support::below(random, 2);
        const bool lower = random() % 2, unit = random() % 2;
        // Small coefficients and a large diagonal, so that unknowns do not grow beyond what F32 holds.
        std::vector<float> values(static_cast<std::size_t>(n * n * x * y));
        for (std::size_t i = 0; i < values.size(); i++) {
            const auto place = static_cast<std::int64_t>(i) % (n * n);
            const float small = static_cast<float>(support::below(random, 2001) - 1000) / static_cast<float>(1000 * n);
            values[i] = place % (n + 1) == 0 ? (random() % 2 ? 2.0f : -1.5f) + small : small;
        }
        Tensor *a = build.leaf({n, n, x, y}, support::one_of(random, support::float_types), values);
        if (random() % 2) a = build.node(Op::transpose, {a});
        Tensor *b = build.operand({m, n, x, y}, support::one_of(random, support::float_types), random);
        Tensor *c = build.node(Op::solve_tri, {a, b},
                               {Attr::of_int("left", 1), Attr::of_int("lower", lower ? 1 : 0), Attr::of_int("unit", unit ? 1 : 0)});
        const std::string what =
            std::string(triangles[lower]) + (unit ? " with ones, " : ", ") + core::tensor_text(*a) + " and " + core::tensor_text(*b);
        ASSERT_TRUE(c->layout.ne == b->layout.ne && c->layout.type == DType::f32 && c->layout.contiguous()) << what;
        const auto of_isas = support::computed_on_isas(build, c, what);
        const auto want = wanted(a, b, lower, unit);
        for (std::size_t isa = 0; isa < of_isas.size(); isa++)
            support::expect_right(of_isas[isa], want, DType::f32, what + " on " + support::all_backends()[isa].isa);
        ASSERT_FALSE(HasFailure()) << "draw " << draw;
    }
}

}  // namespace
