// A product fused with the addition that reads it: the bits of one after the other, on every ISA, by every kernel and at any number of
// threads; and fused only where the difference is invisible.
#include "support.hpp"

using support::backend;

namespace {

bool fused(const tl::Graph &graph, const tl::Backend &cpu) { return graph.plan_text(cpu).find(" + add") != std::string::npos; }

struct Size {
    std::int64_t k, m, n, X;
};

class Epilogues : public testing::TestWithParam<tl::Type> {};
// What each kernel multiplies: integers, dot tiles and panels of floats, pairs.
INSTANTIATE_TEST_SUITE_P(all, Epilogues, testing::Values(tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::q4_0, tl::Type::q6_K),
                         [](const auto &info) { return tl::type_name(info.param); });

TEST_P(Epilogues, give_the_same_bits_as_one_after_the_other) {
    // One column and many, several blocks of rows, columns and k, batches.
    for (const Size &s : {Size{256, 1, 1, 1}, Size{256, 37, 3, 2}, Size{512, 50, 29, 1}, Size{256, 400, 17, 1}, Size{8704, 33, 9, 1}}) {
        tl::Context ctx;
        const auto a = support::leaf(ctx, {s.k, s.m}, 1).cast(GetParam()), weights = ctx.zeros(GetParam(), {s.k, s.m});
        const auto filled = cpy(a, weights);
        const auto b = support::leaf(ctx, {s.k, s.n, s.X}, 2);
        // A row for all columns, a matrix for all batches, one of the result's own shape, a number for each column, rows apart.
        const tl::Tensor others[] = {
            support::leaf(ctx, {s.m}, 3), support::leaf(ctx, {s.m, s.n}, 4), support::leaf(ctx, {s.m, s.n, s.X}, 5),
            support::leaf(ctx, {1, s.n}, 6),
            support::leaf(ctx, {s.m, 1, 2 * s.X}, 7)
                .view({s.m, 1, s.X}, std::vector<std::size_t>{static_cast<std::size_t>(4 * s.m), static_cast<std::size_t>(8 * s.m)})};
        for (const std::string &isa : support::isas()) {
            for (const int threads : {1, 2, 3, 8}) {
                const auto cpu = backend(isa, threads);
                cpu.compute({filled});
                for (const tl::Tensor &other : others) {
                    const auto c = mul_mat(weights, b), sum = add(c, other);
                    const tl::Graph together({sum}), apart({c, sum});
                    EXPECT_TRUE(fused(together, cpu)) << together.plan_text(cpu);
                    EXPECT_FALSE(fused(apart, cpu)) << apart.plan_text(cpu);
                    apart.compute(cpu);
                    const auto want = sum.read<float>();
                    together.compute(cpu);
                    EXPECT_EQ(sum.read<float>(), want) << isa << " " << threads << " threads, k " << s.k << " m " << s.m << " n " << s.n;
                }
                // The product as the second operand.
                const auto c = mul_mat(weights, b), sum = add(others[2], c);
                const tl::Graph together({sum}), apart({c, sum});
                EXPECT_TRUE(fused(together, cpu)) << together.plan_text(cpu);
                apart.compute(cpu);
                const auto want = sum.read<float>();
                together.compute(cpu);
                EXPECT_EQ(sum.read<float>(), want) << isa;
            }
        }
    }
}

class Fusing : public testing::Test {
protected:
    tl::Context ctx;
    tl::Tensor a = support::leaf(ctx, {16, 6}, 1), b = support::leaf(ctx, {16, 5}, 2), bias = support::leaf(ctx, {6}, 3);
    tl::Backend cpu = backend(support::isas().front(), 2);
};

TEST_F(Fusing, chains_of_layers) {
    // Two products that one addition reads: one of them is fused. And the result of a fused pair goes on as any other.
    const auto w = support::leaf(ctx, {6, 4}, 4);
    const auto hidden = add(mul_mat(a, b), bias), out = add(mul_mat(w, hidden), mul_mat(w, hidden));
    const tl::Graph graph({out});
    graph.compute(cpu);
    const auto got = out.read<float>();
    const auto product = mul_mat(a, b), same = add(product, bias), left = mul_mat(w, same), right = mul_mat(w, same),
               sum = add(left, right);
    tl::Graph({product, same, left, right, sum}).compute(cpu);
    EXPECT_EQ(got, sum.read<float>());
    const std::string plan = graph.plan_text(cpu);
    EXPECT_NE(plan.find("in node"), std::string::npos) << plan;
    // The fused product takes no memory of its own: two results of [6, 5], of which the first is in node 1, and so on.
    EXPECT_EQ(plan.find("in its context", plan.find("in its context") + 1), std::string::npos) << plan;
}

TEST_F(Fusing, not_where_the_product_has_another_reader) {
    const auto c = mul_mat(a, b);
    EXPECT_FALSE(fused(tl::Graph({add(c, bias), add(c, c)}), cpu));
    EXPECT_FALSE(fused(tl::Graph({add(c, bias), c}), cpu));
    const auto view = c.view({6});
    EXPECT_FALSE(fused(tl::Graph({add(c, view)}), cpu));
}

TEST_F(Fusing, not_where_the_result_is_not_the_products) {
    const auto c = mul_mat(a, b);
    EXPECT_FALSE(fused(tl::Graph({add(support::leaf(ctx, {6, 5, 2}, 5), c)}), cpu));              // repeats into more
    EXPECT_FALSE(fused(tl::Graph({add(support::leaf(ctx, {6, 5}, 6, tl::Type::f16), c)}), cpu));  // is F16
    EXPECT_FALSE(fused(tl::Graph({add(mul_mat(ctx.zeros(tl::Type::f32, {0, 6}), ctx.zeros(tl::Type::f32, {0, 5})), bias)}), cpu));
}

// The product's operand twice, one that is rounded, one that repeats along a column, several in a row; the last of another type is no
// place for the product's sums.
TEST_F(Fusing, with_whatever_follows) {
    const auto c = mul_mat(a, b), of_f16 = support::leaf(ctx, {6}, 7, tl::Type::f16), of_two = support::leaf(ctx, {2}, 8);
    const support::Environment fuse("TENSORLIB_FUSE", "0");
    const tl::Backend plain = backend(support::isas().front(), 2);
    for (const auto &sum : {add(c, c), add(c, of_f16), add(c, of_two), add(add(add(c, bias), c), add(of_two.view({1}), of_two.view({1}))),
                            add(bias.view({6, 1}), c.view({6, 1}))}) {
        const bool whole = sum.shape()[1] == 5;
        EXPECT_EQ(fused(tl::Graph({sum}), cpu), whole);
        plain.compute({sum});
        const auto want = sum.read<float>();
        cpu.compute({sum});
        EXPECT_EQ(sum.read<float>(), want);
    }
}

TEST_F(Fusing, not_across_a_write_that_the_product_might_see) {
    const auto kept = a.read<float>();
    const auto other = support::leaf(ctx, {16, 6}, 9);
    const auto c = mul_mat(a, b), written = cpy(other, a), first_row = written.view({6});
    const auto sum = add(c, first_row);
    const tl::Graph graph({sum});
    EXPECT_FALSE(fused(graph, cpu));
    graph.compute(cpu);
    const auto got = sum.read<float>();
    a.write<float>(kept);
    const auto product = mul_mat(a, b);
    cpu.compute({product});
    const auto want = product.read<float>(), row = other.read<float>();
    for (std::size_t i = 0; i < got.size(); i++) EXPECT_EQ(got[i], want[i] + row[i % 6]);
}

TEST_F(Fusing, may_be_switched_off) {
    const auto sum = add(mul_mat(a, b), bias);
    cpu.compute({sum});
    const auto want = sum.read<float>();
    const auto with = [](const char *value) {
        const support::Environment fuse("TENSORLIB_FUSE", value);
        return backend(support::isas().front(), 2);
    };
    EXPECT_TRUE(fused(tl::Graph({sum}), with("1")));
    EXPECT_THROW(with("maybe"), tl::Error);
    const auto plain = with("0");
    EXPECT_FALSE(fused(tl::Graph({sum}), plain));
    plain.compute({sum});
    EXPECT_EQ(sum.read<float>(), want);
}

}  // namespace
