// Packed rows, which products of some of a constant's rows read: every type against double, whole and padded superblocks, on every ISA and
// at any number of threads. Their bits depend on the row alone; they are counted, work for views, and can replace an original.
#include "masks.hpp"

using support::backend;
using support::leaf;
using tl::core::DType;
using tl::core::traits;
using namespace support::masks;

namespace {

using support::masks::inf, support::masks::nan;

std::string plan_of(const tl::Tensor &c, const tl::Backend &cpu) { return tl::Graph({c}).plan_text(cpu); }
bool has_packed_rows(const std::string &plan) { return plan.find("packed rows of") != std::string::npos; }
bool packs(const std::string &isa) { return isa != "baseline"; }

tl::Tensor constant(const tl::Context &ctx, DType type, const tl::Shape &shape, unsigned seed) {
    const tl::Tensor t = support::blocks_leaf(ctx, type, shape, seed);
    t.set_constant();
    return t;
}

class PackedRows : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(all, PackedRows, testing::ValuesIn(support::weights()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

// Superblocks of an ISA with 16 lanes in a vector are 8,192 elements, 4,096, and so on: one, several, a last one that is filled up, or no
// packed rows.
TEST_P(PackedRows, products_agree_with_double) {
    constexpr std::int64_t n = 37;
    for (const std::int64_t k : {768, 1024, 2816, 3840, 8192, 11008}) {
        for (const std::int64_t tokens : {1, 3, 4}) {
            if (tokens == 3 && k != 3840) continue;
            tl::Context ctx;
            const auto a = constant(ctx, GetParam(), {k, n}, 1);
            const auto b = leaf(ctx, {k, tokens}, 2), scores = scores_of(ctx, n, tokens, 3, true);
            const Rule rule = rule_of(By::score, 0.5);
            const auto c = mul_mat_sparse(a, b, scores, std::nullopt, rule.products());
            const std::vector<float> av = a.read_f32(), bv = b.read_f32(), sv = scores.read_f32();
            expect_on_all(c, "mul_mat_sparse k " + std::to_string(k), [&](const tl::Graph &graph, const std::string &isa) {
                if (packs(isa) && k == 8192) {
                    EXPECT_TRUE(has_packed_rows(graph.plan_text(backend(isa, 1)))) << graph.plan_text(backend(isa, 1));
                }
                support::Expected e;
                for (std::int64_t t = 0; t < tokens; t++)
                    support::append_column(e, av.data(), bv.data() + t * k, k, n, support::how_rounded(graph, isa, a));
                for (std::size_t i = 0; i < e.value.size(); i++) {
                    if (!rule.active(sv[i])) e.value[i] = e.bound[i] = 0;
                }
                return e;
            });
        }
    }
}

TEST_P(PackedRows, sums_agree_with_double) {
    for (const std::int64_t k : {768, 1024, 3840, 8192, 11008}) {
        for (const std::int64_t n : {1, 150}) {
            const std::int64_t tokens = k == 3840 ? 8 : 1;
            tl::Context ctx;
            const auto a = constant(ctx, GetParam(), {k, n}, 17);
            const auto h = leaf(ctx, {n, tokens}, 18), scores = scores_of(ctx, n, tokens, 19, true);
            const Rule rule = rule_of(By::score, n == 1 ? 1 : 0.5);
            const support::Expected expected = sums(a, h, scores, rule, std::nullopt);
            expect_on_all(axpy(a, h, scores, std::nullopt, rule.sums()), "axpy k " + std::to_string(k),
                          [&](const tl::Graph &graph, const std::string &isa) {
                              if (packs(isa) && k == 8192) {
                                  EXPECT_TRUE(has_packed_rows(graph.plan_text(backend(isa, 1))));
                              }
                              return expected;
                          });
        }
    }
}

// More slices of more than 64 neurons, none at all, and activations that are zeros.
TEST(StripSums, of_many_and_of_no_neurons) {
    constexpr std::int64_t k = 4096, n = 2500;
    tl::Context ctx;
    const auto a = constant(ctx, DType::q4_0, {k, n}, 20), h = leaf(ctx, {n, 2}, 21);
    std::vector<float> values = h.read_f32();
    for (std::size_t i = 0; i < values.size(); i += 3) values[i] = i % 2 ? 0.0f : -0.0f;
    h.write_f32(values);
    for (const double share : {1.0, 0.0}) {
        const Rule rule = share == 0 ? Rule{By::magnitude, 1e9f} : rule_of(By::magnitude, share);
        const support::Expected expected = sums(a, h, std::nullopt, rule, std::nullopt);
        expect_on_all(axpy(a, h, std::nullopt, std::nullopt, rule.sums()), "axpy of many",
                      [&](const tl::Graph &, const std::string &) { return expected; });
    }
}

// A row's bits depend neither on which others are active nor on how many columns there are.
TEST_P(PackedRows, bits_are_the_rows_own) {
    constexpr std::int64_t k = 8192, n = 60, tokens = 4;
    tl::Context ctx;
    const auto a = constant(ctx, GetParam(), {k, n}, 4), b = leaf(ctx, {k, tokens}, 5), scores = leaf(ctx, {n, tokens}, 6);
    const Rule few = rule_of(By::score, 0.2), all = rule_of(By::score, 1);
    const auto c = mul_mat_sparse(a, b, scores, std::nullopt, few.products()),
               whole = mul_mat_sparse(a, b, scores, std::nullopt, all.products());
    const auto one =
        mul_mat_sparse(a, b.view({k, 1}, {}, k * sizeof(float)), scores.view({n, 1}, {}, n * sizeof(float)), std::nullopt, all.products());
    const std::vector<float> sv = scores.read_f32();
    for (const std::string &isa : support::isas()) {
        if (!packs(isa)) continue;
        backend(isa, 2).compute({c, whole, one});
        const auto got = c.read<float>(), want = whole.read<float>(), of_one = one.read<float>();
        for (std::size_t i = 0; i < got.size(); i++) EXPECT_EQ(got[i], few.active(sv[i]) ? want[i] : 0) << isa << " " << i;
        EXPECT_EQ(of_one, std::vector<float>(want.begin() + n, want.begin() + 2 * n)) << isa;
    }
}

TEST_P(PackedRows, of_special_activations) {
    constexpr std::int64_t k = 8192, n = 3;
    tl::Context ctx;
    const auto a = constant(ctx, GetParam(), {k, n}, 7), b = ctx.zeros(tl::Type::f32, {k, 4}), scores = leaf(ctx, {n, 4}, 8);
    std::vector<float> values(4 * k);
    values[k + 77] = nan, values[2 * k + 8191] = inf, values[3 * k + 5] = 1e-41f;
    b.write_f32(values);
    const auto c = mul_mat_sparse(a, b, scores, std::nullopt, rule_of(By::score, 1).products());
    for (const std::string &isa : support::isas()) {
        backend(isa, 1).compute({c});
        const auto got = c.read<float>();
        for (std::size_t i = 0; i < n; i++) {
            EXPECT_EQ(got[i], 0) << isa;
            EXPECT_TRUE(std::isnan(got[n + i])) << isa;
            EXPECT_FALSE(std::isfinite(got[2 * n + i])) << isa;
            EXPECT_LE(std::fabs(got[3 * n + i]), 1e-35f) << isa;
        }
    }
}

class StripCopies : public testing::Test {
protected:
    void SetUp() override {
        if (!packs(cpu.isa())) GTEST_SKIP() << "no packed copies at " << cpu.isa();
    }
    tl::Tensor product(const tl::Tensor &a) { return mul_mat_sparse(a, b, scores, std::nullopt, rule_of(By::score, 0.5).products()); }
    tl::Context model, ctx;
    tl::Backend cpu = backend(support::isas().front(), 2);
    tl::Tensor b = leaf(ctx, {4096, 1}, 9), scores = leaf(ctx, {50, 1}, 10);
};

TEST_F(StripCopies, are_made_once_and_counted) {
    const auto a = constant(model, DType::q4_0, {4096, 50}, 11);
    const auto c = product(a), d = product(a);
    const tl::Graph graph({c});
    const auto estimate = graph.plan_bytes(cpu);
    EXPECT_EQ(cpu.packed_memory(), 0u);
    graph.compute(cpu);
    // 4.5 bits a weight.
    EXPECT_EQ(cpu.packed_memory(), 50u * 4096 * 9 / 16);
    EXPECT_NE(graph.plan_text(cpu).find("packed rows of " + std::to_string(cpu.packed_memory()) + " bytes"), std::string::npos)
        << graph.plan_text(cpu);
    EXPECT_EQ(graph.plan_bytes(cpu), estimate);
    cpu.compute({d});
    EXPECT_EQ(cpu.packed_memory(), 50u * 4096 * 9 / 16);
    // A product of all rows has panels of its own, which an estimate of both counts.
    const auto dense = mul_mat(a, b);
    const tl::Graph both({c, dense});
    const auto more = both.plan_bytes(cpu);
    both.compute(cpu);
    EXPECT_GT(cpu.packed_memory(), 2u * 50 * 4096 * 9 / 16);
    EXPECT_GT(more[0], estimate[0] + 50u * 4096 * 9 / 16);
    EXPECT_EQ(both.plan_bytes(cpu), more);
}

TEST_F(StripCopies, of_views_are_their_own) {
    const auto a = constant(model, DType::q8_0, {4096, 80}, 12);
    const std::size_t row = 4096 / 32 * 34;
    const auto last = a.view({4096, 50}, {}, 30 * row), every_other = a.view({4096, 40}, std::vector<std::size_t>{2 * row});
    const auto c = product(last), d = mul_mat_sparse(every_other, b, std::nullopt, numbers(ctx, some_rows(40, 50)), {.n = 50});
    cpu.compute({c, d});
    EXPECT_TRUE(has_packed_rows(plan_of(c, cpu)));
    EXPECT_TRUE(has_packed_rows(plan_of(d, cpu)));
    const auto dense = mul_mat_exact(a, b);
    cpu.compute({dense});
    const auto want = dense.read<float>(), of_last = c.read<float>(), of_others = d.read<float>(), sv = scores.read_f32();
    double size = 0;
    for (const float x : want) size = std::max(size, std::fabs(double{x}));
    const Rule rule = rule_of(By::score, 0.5);
    for (std::size_t i = 0; i < 50; i++) EXPECT_NEAR(of_last[i], rule.active(sv[i]) ? want[30 + i] : 0, 1e-3 * size) << i;
    const auto rows = some_rows(40, 50);
    for (std::size_t i = 0; i < 40; i++) EXPECT_NEAR(of_others[static_cast<std::size_t>(rows[i])], want[2 * i], 1e-3 * size) << i;
}

// All three matrices of a block, one of each.
TEST_F(StripCopies, of_a_block) {
    const auto gate = constant(model, DType::q4_0, {4096, 50}, 22), up = constant(model, DType::q4_0, {4096, 50}, 23),
               down = constant(model, DType::q8_0, {4096, 50}, 24);
    const tl::Graph graph({sparse_ffn(b, gate, up, down, std::nullopt, std::nullopt, {})});
    const auto estimate = graph.plan_bytes(cpu);
    graph.compute(cpu);
    EXPECT_EQ(cpu.packed_memory(), 50u * 4096 * (9 + 9 + 17) / 16);
    EXPECT_NE(graph.plan_text(cpu).find("packed rows of " + std::to_string(cpu.packed_memory()) + " bytes"), std::string::npos)
        << graph.plan_text(cpu);
    EXPECT_EQ(graph.plan_bytes(cpu), estimate);
}

// A product of a block's gate takes the copy that is there; so does an estimate of both. Of another gate it takes its rows and a copy more.
TEST_F(StripCopies, of_a_block_serve_products) {
    const std::size_t gate_bytes = 50u * 4096 * 9 / 16;
    for (const std::size_t shared : {0u, 1u, 2u}) {
        const tl::Tensor matrices[] = {constant(model, DType::q4_0, {4096, 50}, 25), constant(model, DType::q4_0, {4096, 50}, 26),
                                       constant(model, DType::q4_0, {4096, 50}, 27)};
        const auto other = constant(model, DType::q4_0, {4096, 50}, 28);
        const auto block = sparse_ffn(b, matrices[0], matrices[1], matrices[2], std::nullopt, std::nullopt, {});
        const auto product_of = [&](const tl::Tensor &a) {
            return shared == 2 ? axpy(a, scores, std::nullopt, std::nullopt, {}) : product(a);
        };
        const tl::Graph one({block, product_of(matrices[shared])}), two({block, product_of(other)});
        tl::Backend fresh = backend(support::isas().front(), 2);
        EXPECT_EQ(two.plan_bytes(fresh)[0], one.plan_bytes(fresh)[0] + 2 * gate_bytes);
        one.compute(fresh);
        EXPECT_EQ(fresh.packed_memory(), 3 * gate_bytes);
        two.compute(fresh);
        EXPECT_EQ(fresh.packed_memory(), 4 * gate_bytes);
    }
}

TEST_F(StripCopies, of_short_rows_are_not_made) {
    const auto a = constant(model, DType::q4_0, {96, 50}, 13);
    const auto c = mul_mat_sparse(a, leaf(ctx, {96, 1}, 14), scores, std::nullopt, {});
    EXPECT_FALSE(has_packed_rows(plan_of(c, cpu)));
}

// The original comes back from packed rows alone, block for block, for whatever reads it; what reads packed rows needs none.
TEST_F(StripCopies, stand_in_for_their_originals) {
    for (const DType type : {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_K, DType::q3_K, DType::q4_K,
                             DType::q5_K, DType::q6_K}) {
        for (const std::int64_t k : {4096, 7936}) {
            tl::Context weights;
            const auto a = constant(weights, type, {k, 50}, 15);
            std::vector<std::byte> bytes(a.nbytes()), back(bytes.size());
            a.read_bytes(bytes.data(), 0, bytes.size());
            const auto x = leaf(ctx, {k, 1}, 16);
            const auto c = mul_mat_sparse(a, x, scores, std::nullopt, rule_of(By::score, 0.5).products()), dense = mul_mat(a, x);
            cpu.compute({c});
            const auto before = c.read<float>();
            a.drop_original();
            a.read_bytes(back.data(), 0, back.size());
            EXPECT_EQ(back, bytes) << traits(type).name << " " << k;
            EXPECT_EQ(plan_of(c, cpu).find("rebuilt"), std::string::npos) << plan_of(c, cpu);
            cpu.compute({c, dense});
            EXPECT_EQ(c.read<float>(), before) << traits(type).name;
        }
    }
}

}  // namespace
