// Packed copies of F32, F16 and BF16 constants: products with them against float64, on every ISA and at any number of threads.
#include "support.hpp"

#include <cmath>
#include <limits>

using support::backend;

namespace {

bool has_copy(const std::string &plan) { return plan.find("packed copy of") != std::string::npos; }

// Small multiples of a power of two, which all three types hold.
tl::Tensor weights(const tl::Context &ctx, tl::Type type, const tl::Shape &shape) {
    const tl::Tensor a = support::leaf(ctx, shape, 31, type);
    a.set_constant();
    return a;
}

class PackedFloats : public testing::TestWithParam<tl::Type> {};
INSTANTIATE_TEST_SUITE_P(all, PackedFloats, testing::Values(tl::Type::f32, tl::Type::f16, tl::Type::bf16),
                         [](const auto &info) { return std::string(tl::type_name(info.param)); });

struct Size {
    std::int64_t k, m, n, x = 1, X = 1;
};

// Columns up to and past a micro-kernel's, the few that keep panels of A for all of k, and a unit; one block of k and several; rows that
// fill panels and rows that do not; slices shared by several of b.
const Size sizes[] = {{2, 16, 2},        {34, 33, 1},          {96, 32, 8},   {100, 47, 12},  {514, 64, 13},     {1030, 40, 7},
                      {1500, 70, 31},    {700, 130, 96},       {700, 45, 97}, {258, 90, 530}, {1, 40, 5},        {77, 33, 20},
                      {64, 16, 5, 2, 4}, {390, 50, 100, 3, 3}, {0, 32, 3},    {32, 32, 0},    {66, 300, 2, 1, 3}};

TEST_P(PackedFloats, agree_with_double) {
    for (const Size &s : sizes) {
        tl::Context ctx;
        const auto a = weights(ctx, GetParam(), {s.k, s.m, s.x}), b = support::leaf(ctx, {s.k, s.n, s.X}, 32);
        const auto c = mul_mat(a, b), exact = mul_mat_exact(a, b);
        const auto rounded = GetParam() == tl::Type::bf16 ? support::Rounded::to_bf16 : support::Rounded::no;
        const auto want = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape(), rounded);
        const auto want_exact = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape());
        for (const std::string &isa : support::isas()) {
            std::vector<float> first;
            for (const int threads : {1, 2, 3, 8}) {
                const auto cpu = backend(isa, threads);
                const std::string where = isa + " " + std::to_string(threads) + " threads, k " + std::to_string(s.k) + " m " +
                                          std::to_string(s.m) + " n " + std::to_string(s.n);
                cpu.compute({c});
                const auto got = c.read<float>();
                EXPECT_EQ(support::first_wrong(got, want), "") << where;
                if (first.empty()) first = got;
                EXPECT_EQ(got, first) << where;
                cpu.compute({exact});
                EXPECT_EQ(support::first_wrong(exact.read<float>(), want_exact), "") << where;
            }
        }
    }
}

TEST_P(PackedFloats, are_made_where_they_pay) {
    struct Case {
        Size size;
        const char *reason;  // null where there is a copy
    };
    const bool pairs = GetParam() == tl::Type::bf16;
    for (const Case &t : {Case{{64, 40, 3}, nullptr}, Case{{64, 40, 1}, nullptr}, Case{{65, 40, 3}, pairs ? "no whole pairs" : nullptr},
                          Case{{64, 3, 3}, "too few rows"}}) {
        for (const std::string &isa : support::isas()) {
            tl::Context ctx;
            const auto a = weights(ctx, GetParam(), {t.size.k, t.size.m}), b = support::leaf(ctx, {t.size.k, t.size.n}, 33);
            const auto cpu = backend(isa, 1);
            const tl::Graph graph({mul_mat(a, b)});
            graph.compute(cpu);
            const std::string plan = graph.plan_text(cpu);
            const bool isa_has_none = plan.find("no packed copies") != std::string::npos;
            EXPECT_EQ(isa_has_none, GetParam() != tl::Type::f32 && isa == "baseline") << plan;
            EXPECT_EQ(has_copy(plan), !t.reason && !isa_has_none) << plan;
            EXPECT_EQ(cpu.packed_memory() != 0, has_copy(plan));
            if (t.reason && !isa_has_none) {
                EXPECT_NE(plan.find(t.reason), std::string::npos) << plan;
            }
        }
    }
}

// Rows of a part of a constant, some of them and in another order of slices; columns of b that do not lie along k.
TEST_P(PackedFloats, of_views_and_by_strided_columns) {
    tl::Context ctx;
    const auto whole = support::leaf(ctx, {80, 60, 3, 2}, 34, GetParam());
    whole.set_constant();
    const std::size_t size = whole.nbytes() / (80 * 60 * 3 * 2), strides[] = {80 * size, 80 * 60 * size};
    const auto part = whole.view({64, 50, 3}, strides, 80 * 4 * size);
    const auto turned = whole.permute({0, 1, 3, 2});
    const auto columns = support::leaf(ctx, {7, 64, 3}, 35), others = support::leaf(ctx, {9, 80, 2, 3}, 36);
    const auto b = columns.permute({1, 0, 2, 3}), d = others.permute({1, 0, 2, 3});
    const auto rounded = GetParam() == tl::Type::bf16 ? support::Rounded::to_bf16 : support::Rounded::no;
    const auto c = mul_mat(part, b), e = mul_mat(turned, d);
    const auto want = support::mul_mat(part.read_f32(), part.shape(), b.read_f32(), b.shape(), rounded);
    const auto want_turned = support::mul_mat(turned.read_f32(), turned.shape(), d.read_f32(), d.shape(), rounded);
    for (const std::string &isa : support::isas()) {
        const auto cpu = backend(isa, 2);
        cpu.compute({c, e});
        EXPECT_EQ(support::first_wrong(c.read<float>(), want), "") << isa;
        EXPECT_EQ(support::first_wrong(e.read<float>(), want_turned), "") << isa;
    }
}

// Padding takes no part, of rows and of columns.
TEST_P(PackedFloats, keep_what_is_not_finite_in_its_row_and_column) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    constexpr std::size_t K = 600, M = 33;
    for (const std::int64_t n : {2, 13, 101}) {
        tl::Context ctx;
        std::vector<float> av(K * M, 1.0f), bv(K * static_cast<std::size_t>(n), 1.0f);
        av[K * 32 + 599] = inf, av[K * 5] = nan, bv[K] = -inf;  // rows 32 and 5, column 1
        const auto a = ctx.zeros(GetParam(), {K, M}), b = ctx.tensor<float>({K, n}, std::span<const float>(bv));
        a.write_f32(av);
        a.set_constant();
        const auto c = mul_mat(a, b);
        for (const std::string &isa : support::isas()) {
            backend(isa, 2).compute({c});
            const auto got = c.read<float>();
            for (std::size_t j = 0; j < static_cast<std::size_t>(n); j++) {
                for (std::size_t i = 0; i < M; i++) {
                    const float x = got[i + M * j];
                    if (i == 5 || (i == 32 && j == 1)) {
                        EXPECT_TRUE(std::isnan(x)) << isa << " " << i << " " << j;
                    } else {
                        EXPECT_EQ(x, i == 32 ? inf : j == 1 ? -inf : static_cast<float>(K)) << isa << " " << i << " " << j;
                    }
                }
            }
        }
    }
}

}  // namespace
