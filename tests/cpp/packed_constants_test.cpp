// Packed copies of constant weights: equal bits with and without them, on every ISA and at any number of threads. A plan makes them when
// they pay; they are shared, counted, and freed with their backend or context.
#include "blocks.hpp"

#include <algorithm>
#include <thread>

using namespace tl::core;
using support::backend;

namespace {

std::string plan_of(const tl::Tensor &c, const tl::Backend &cpu) { return tl::Graph({c}).plan_text(cpu); }
bool has_copy(const std::string &plan) { return plan.find("packed copy of") != std::string::npos; }

tl::Tensor constant_of_the_same(const tl::Context &ctx, const tl::Tensor &a) {
    const auto shape = a.shape();
    const tl::Tensor constant = ctx.zeros(a.type(), {shape.begin(), shape.end()});
    std::vector<std::byte> bytes(a.nbytes());
    a.read_bytes(bytes.data(), 0, bytes.size());
    constant.write_bytes(bytes.data(), 0, bytes.size());
    constant.set_constant();
    return constant;
}

class PackedConstants : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(all, PackedConstants, testing::ValuesIn(support::weights()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

// The oracle of the product itself is formats_ops_test's; its bits hold for the copy too, as long as k is one block of KC (8,192).
TEST_P(PackedConstants, give_the_same_bits) {
    const std::int64_t block = traits(GetParam()).block_size;
    struct Size {
        std::int64_t blocks, m, n, x, X;
    };
    // Whole and short pieces of 256; whole panels of 16 and 32 rows, and ends of one; below and past the columns that are expanded for;
    // several panels one after the other.
    for (const Size &s : {Size{1, 16, 1, 1, 1},
                          {1, 33, 6, 1, 1},
                          {std::max<std::int64_t>(1, 544 / block), 40, 7, 1, 1},
                          {std::max<std::int64_t>(1, 288 / block), 34, 8, 1, 2},
                          {1, 33, 9, 1, 1},
                          {std::max<std::int64_t>(1, 288 / block), 47, 2, 1, 1},
                          {std::max<std::int64_t>(2, 1120 / block), 64, 13, 1, 1},
                          {1, 40, 30, 2, 4},
                          {1, 33, 135, 1, 1},
                          {1, 525, 1, 1, 1},
                          {1, 525, 5, 1, 1},
                          {std::max<std::int64_t>(1, 512 / block), 17, 1, 3, 3}}) {
        tl::Context ctx;
        const std::int64_t k = s.blocks * block;
        const auto a = support::blocks_leaf(ctx, GetParam(), {k, s.m, s.x}, 1), b = support::leaf(ctx, {k, s.n, s.X}, 2);
        const auto constant = constant_of_the_same(ctx, a);
        const auto c = mul_mat(a, b), of_constant = mul_mat(constant, b), exact = mul_mat_exact(constant, b);
        const tl::Graph graph({c}), same({of_constant}), as_it_is({exact});
        for (const std::string &isa : support::isas()) {
            const bool integers = graph.plan_text(backend(isa, 1)).find(": mul_mat_integer") != std::string::npos;
            for (const int threads : {1, 2, 3, 8}) {
                const auto cpu = backend(isa, threads);
                graph.compute(cpu);
                same.compute(cpu);
                EXPECT_EQ(of_constant.read<float>(), c.read<float>()) << isa << " k " << k << " m " << s.m << " n " << s.n;
                EXPECT_EQ(has_copy(same.plan_text(cpu)), integers) << same.plan_text(cpu);
                EXPECT_EQ(cpu.packed_memory() != 0, integers);
                EXPECT_FALSE(has_copy(as_it_is.plan_text(cpu)));
            }
        }
        // k beyond what is unpacked at a time: sums in another order.
        if (s.m == 16) {
            const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape(), support::to_bytes_for(GetParam()));
            EXPECT_EQ(support::first_wrong(of_constant.read<float>(), expected), "");
        }
    }
}

TEST_P(PackedConstants, agree_with_double_where_k_is_long) {
    const std::int64_t k = 8704 / traits(GetParam()).block_size * traits(GetParam()).block_size;
    tl::Context ctx;
    const auto a = support::blocks_leaf(ctx, GetParam(), {k, 32}, 3);
    a.set_constant();
    for (const std::int64_t n : {2, 31}) {
        const auto b = support::leaf(ctx, {k, n}, 4), c = mul_mat(a, b);
        const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape(), support::to_bytes_for(GetParam()));
        for (const std::string &isa : support::isas()) {
            backend(isa, 2).compute({c});
            EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "") << isa << " n " << n;
        }
    }
}

// Experts' matrices have one copy. Few columns each, and more than are taken apart in registers; more panels than a chunk takes, of which
// few columns meet all of a chunk's in one call.
TEST_P(PackedConstants, of_experts_give_the_same_bits) {
    const std::int64_t k = std::max<std::int64_t>(512 / traits(GetParam()).block_size, 1) * traits(GetParam()).block_size;
    const struct {
        std::int64_t rows, tokens;
    } sizes[] = {{40, 1}, {40, 45}, {1100, 3}};
    for (const auto &[rows, tokens] : sizes) {
        tl::Context ctx;
        const auto a = support::blocks_leaf(ctx, GetParam(), {k, rows, 5}, 17);
        const auto constant = constant_of_the_same(ctx, a);
        const auto b = support::leaf(ctx, {k, 2, tokens}, 18);
        std::vector<std::int32_t> numbers;
        for (int i = 0; i < 2 * tokens; i++) numbers.push_back(i % 7 == 0 ? i % 5 : 3);
        const auto ids = ctx.tensor<std::int32_t>({2, tokens}, numbers);
        const auto c = mul_mat_id(a, b, ids), of_constant = mul_mat_id(constant, b, ids);
        const tl::Graph graph({c}), same({of_constant});
        for (const std::string &isa : support::isas()) {
            for (const int threads : {1, 3}) {
                const auto cpu = backend(isa, threads);
                graph.compute(cpu);
                same.compute(cpu);
                EXPECT_EQ(of_constant.read<float>(), c.read<float>()) << isa << ", rows " << rows << ", tokens " << tokens;
                EXPECT_EQ(has_copy(same.plan_text(cpu)), cpu.packed_memory() != 0) << same.plan_text(cpu);
            }
        }
    }
}

// An ISA with integer products of Q4_0, else nothing is packed.
class Copies : public testing::Test {
protected:
    void SetUp() override {
        const auto c = mul_mat(a, b);
        if (plan_of(c, cpu).find(": mul_mat_integer") == std::string::npos) GTEST_SKIP() << "no integer products at " << cpu.isa();
    }
    tl::Context model, ctx;
    tl::Tensor a = support::blocks_leaf(model, DType::q4_0, {64, 40, 2}, 5), b = support::leaf(ctx, {64, 3, 2}, 6);
    tl::Backend cpu = backend(support::isas().front(), 2);
};

TEST_F(Copies, are_made_once_a_leaf_is_constant_and_old_plans_are_made_anew) {
    const auto c = mul_mat(a, b);
    const tl::Graph graph({c});
    graph.compute(cpu);
    const auto before = c.read<float>();
    EXPECT_NE(graph.plan_text(cpu).find("not constant"), std::string::npos) << graph.plan_text(cpu);
    EXPECT_EQ(cpu.packed_memory(), 0u);
    a.set_constant();
    graph.compute(cpu);
    EXPECT_TRUE(has_copy(graph.plan_text(cpu))) << graph.plan_text(cpu);
    EXPECT_EQ(c.read<float>(), before);
}

TEST_F(Copies, are_shared_by_graphs_and_counted) {
    a.set_constant();
    const auto c = mul_mat(a, b);
    cpu.compute({c});
    // 2 slices, panels of 32 or 16 rows, of 64 k with 4.5 bits a weight.
    const std::size_t rows = cpu.isa() == "avx2" ? 16 : 32, panels = (40 + rows - 1) / rows;
    EXPECT_EQ(cpu.packed_memory(), 2 * panels * rows * 64 * 9 / 16);
    const auto d = mul_mat(a, support::leaf(ctx, {64, 9, 2}, 7));
    cpu.compute({d});
    EXPECT_EQ(cpu.packed_memory(), 2 * panels * rows * 64 * 9 / 16);
    const auto other = backend(support::isas().front(), 1);
    EXPECT_EQ(other.packed_memory(), 0u);
    other.compute({c});
    EXPECT_EQ(other.packed_memory(), cpu.packed_memory());
}

TEST_F(Copies, of_views_are_their_own) {
    const auto first = a.view({64, 40}), second = a.view({64, 20}, {}, 40 * 36);
    a.set_constant();
    const auto column = support::leaf(ctx, {64, 3}, 8);
    for (const tl::Tensor &view : {first, second}) {
        const auto c = mul_mat(view, column);
        cpu.compute({c});
        EXPECT_TRUE(has_copy(plan_of(c, cpu)));
        const auto expected =
            support::mul_mat(view.read_f32(), view.shape(), column.read_f32(), column.shape(), support::Rounded::to_bytes);
        EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "");
    }
}

TEST_F(Copies, of_few_rows_are_not_made) {
    const auto few = support::blocks_leaf(model, DType::q4_0, {64, 5}, 9);
    few.set_constant();
    const auto c = mul_mat(few, support::leaf(ctx, {64, 3}, 10));
    cpu.compute({c});
    EXPECT_NE(plan_of(c, cpu).find("too few rows"), std::string::npos) << plan_of(c, cpu);
    EXPECT_EQ(cpu.packed_memory(), 0u);
}

TEST_F(Copies, go_with_the_context_and_with_its_reset) {
    for (const bool reset : {false, true}) {
        tl::Context weights, tokens;
        {
            const auto constant = support::blocks_leaf(weights, DType::q4_0, {64, 40}, 11);
            constant.set_constant();
            const auto c = mul_mat(constant, support::leaf(tokens, {64, 3}, 12));
            cpu.compute({c});
            EXPECT_NE(cpu.packed_memory(), 0u);
        }
        tokens = tl::Context();
        if (reset) {
            weights.reset();
            EXPECT_EQ(cpu.packed_memory(), 0u);
            // Other weights, likely at the same address.
            const auto next = support::blocks_leaf(weights, DType::q4_0, {64, 40}, 13), column = support::leaf(tokens, {64, 3}, 14);
            next.set_constant();
            const auto c = mul_mat(next, column);
            cpu.compute({c});
            const auto expected =
                support::mul_mat(next.read_f32(), next.shape(), column.read_f32(), column.shape(), support::Rounded::to_bytes);
            EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "");
        } else {
            weights = tl::Context();
            EXPECT_EQ(cpu.packed_memory(), 0u);
        }
    }
}

TEST_F(Copies, go_with_the_backend_and_another_one_makes_its_own) {
    a.set_constant();
    const auto c = mul_mat(a, b);
    const tl::Graph graph({c});
    std::vector<float> want;
    for (int i = 0; i < 6; i++) {
        const auto next = backend(support::isas().front(), 1 + i % 3);
        graph.compute(next);
        if (want.empty()) want = c.read<float>();
        EXPECT_EQ(c.read<float>(), want);
    }
}

// Contexts end on one thread while another computes with constants of its own.
TEST_F(Copies, may_end_while_others_are_made) {
    std::thread other([&] {
        const auto own = backend(support::isas().front(), 1);
        for (int i = 0; i < 50; i++) {
            tl::Context weights;
            const auto constant = support::blocks_leaf(weights, DType::q4_0, {32, 16}, 15);
            constant.set_constant();
            const auto c = mul_mat(constant, support::leaf(weights, {32, 1}, 16));
            (i % 2 ? own : cpu).compute({c});
        }
    });
    a.set_constant();
    const auto c = mul_mat(a, b);
    const tl::Graph graph({c});
    for (int i = 0; i < 50; i++) graph.compute(cpu);
    other.join();
    EXPECT_TRUE(has_copy(graph.plan_text(cpu)));
}

}  // namespace
