// Batch-invariant graphs: a column of a product, and a query of attention, has the bits that it has alone, with any columns and
// threads, on every ISA; and these bits are right.
#include "blocks.hpp"

#include <limits>
#include <optional>

using support::backend;
using support::leaf;
using tl::core::DType;
using tl::core::traits;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

std::vector<DType> weight_types() {
    std::vector<DType> all{DType::f32, DType::f16, DType::bf16};
    for (const DType type : support::weights()) all.push_back(type);
    return all;
}

tl::Tensor weights(const tl::Context &ctx, DType type, const tl::Shape &shape, bool constant) {
    const tl::Tensor a =
        traits(type).block_size > 1 ? support::blocks_leaf(ctx, type, shape, 1) : leaf(ctx, shape, 1, static_cast<tl::Type>(type));
    if (constant) a.set_constant();
    return a;
}

// About n elements, in whole blocks of a type.
std::int64_t blocks_of(DType type, std::int64_t n) {
    const std::int64_t block = traits(type).block_size;
    return (n + block - 1) / block * block;
}

tl::Graph invariant(std::initializer_list<tl::Tensor> outputs) {
    tl::Graph graph(outputs);
    graph.set_batch_invariant(true);
    return graph;
}

// Column `j` of n columns of some floats.
std::vector<float> column(const std::vector<float> &all, std::int64_t j, std::int64_t n) {
    const std::size_t size = all.size() / static_cast<std::size_t>(n), first = static_cast<std::size_t>(j) * size;
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + size)};
}

class BatchInvariant : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(all, BatchInvariant, testing::ValuesIn(weight_types()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

// k: within a block of KC and past several, also of integers (8,192). m: full panels, and rows left over. n: every width of a
// micro-kernel, the ends of groups of columns, and of blocks of columns.
TEST_P(BatchInvariant, columns_of_mul_mat) {
    struct Size {
        std::int64_t k, m, most;
    };
    for (const bool constant : {false, true}) {
        for (const Size &s :
             {Size{blocks_of(GetParam(), 96), 47, 530}, {blocks_of(GetParam(), 800), 33, 27}, {blocks_of(GetParam(), 8300), 32, 5}}) {
            tl::Context ctx;
            const auto a = weights(ctx, GetParam(), {s.k, s.m}, constant), b = leaf(ctx, {s.k, s.most}, 2);
            for (const std::string &isa : support::isas()) {
                const auto cpu = backend(isa, 1), three = backend(isa, 3);
                // Columns 0 to 13 alone; they stand for the others, which only have other neighbours.
                std::vector<std::vector<float>> alone;
                for (std::int64_t j = 0; j < std::min<std::int64_t>(s.most, 14); j++) {
                    const auto one = mul_mat(a, b.narrow(1, j, 1));
                    const auto graph = invariant({one});
                    graph.compute(cpu);
                    alone.push_back(one.read<float>());
                    if (j > 0) continue;
                    const auto first = b.narrow(1, 0, 1);
                    const auto want =
                        support::mul_mat(a.read_f32(), a.shape(), first.read_f32(), first.shape(), support::how_rounded(graph, isa, a));
                    EXPECT_EQ(support::first_wrong(alone[0], want), "") << isa;
                    EXPECT_EQ(graph.plan_text(cpu).find("16 bits"), std::string::npos) << graph.plan_text(cpu);
                }
                for (const std::int64_t n : {2, 3, 4, 5, 7, 8, 9, 12, 13, 14, 15, 26, 27, 99, 530}) {
                    if (n > s.most) break;
                    const auto c = mul_mat(a, b.narrow(1, 0, n));
                    const auto graph = invariant({c});
                    for (const auto *at : {&cpu, &three}) {
                        graph.compute(*at);
                        const auto got = c.read<float>();
                        for (std::int64_t j = 0; j < std::min<std::int64_t>(n, 14); j++) {
                            ASSERT_EQ(column(got, j, n), alone[static_cast<std::size_t>(j)])
                                << isa << ", k " << s.k << ", column " << j << " of " << n << (constant ? ", constant" : "");
                        }
                    }
                    // The last columns, which are in the last group: alone they are in the first.
                    const auto last = mul_mat(a, b.narrow(1, n - 1, 1));
                    invariant({last}).compute(cpu);
                    ASSERT_EQ(column(c.read<float>(), n - 1, n), last.read<float>()) << isa << ", k " << s.k << ", last of " << n;
                }
            }
        }
    }
}

TEST_P(BatchInvariant, columns_of_exact_products) {
    const std::int64_t k = blocks_of(GetParam(), 576);
    tl::Context ctx;
    for (const bool constant : {false, true}) {
        const auto a = weights(ctx, GetParam(), {k, 40, 2}, constant), b = leaf(ctx, {k, 15, 4}, 2);
        for (const std::string &isa : support::isas()) {
            const auto cpu = backend(isa, 2);
            const auto all = mul_mat_exact(a, b), one = mul_mat_exact(a, b.narrow(1, 14, 1));
            invariant({all, one}).compute(cpu);
            const auto want = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape());
            EXPECT_EQ(support::first_wrong(all.read<float>(), want), "") << isa;
            const auto of_all = all.read<float>(), of_one = one.read<float>();
            for (std::int64_t slice = 0; slice < 4; slice++) {
                EXPECT_EQ(column(column(of_all, slice, 4), 14, 15), column(of_one, slice, 4)) << isa << ", slice " << slice;
            }
        }
    }
}

// Experts of one token, of several, and of many with as many columns of an expert as there are tokens.
TEST_P(BatchInvariant, columns_of_mul_mat_id) {
    for (const std::int64_t k : {blocks_of(GetParam(), 600), blocks_of(GetParam(), 8300)}) {
        for (const bool constant : {false, true}) {
            if (!constant && k > 8192) continue;  // packed copies are what divides k
            tl::Context ctx;
            constexpr std::int64_t used = 2, tokens = 15, experts = 3;
            const auto a = weights(ctx, GetParam(), {k, 40, experts}, constant), b = leaf(ctx, {k, 1, tokens}, 3);
            std::vector<std::int32_t> chosen;
            // Expert 0 gets every token, 1 and 2 some of them; one token has a slot without expert.
            for (std::int32_t t = 0; t < tokens; t++) chosen.insert(chosen.end(), {0, t == 5 ? -1 : t % 7 == 0 ? 2 : 1});
            const auto ids = ctx.tensor<std::int32_t>({used, tokens}, chosen);
            for (const std::string &isa : support::isas()) {
                const auto cpu = backend(isa, 1), three = backend(isa, 3);
                std::vector<std::vector<float>> alone;
                for (std::int64_t t = 0; t < tokens; t++) {
                    const auto one = mul_mat_id(a, b.narrow(2, t, 1), ids.narrow(1, t, 1));
                    invariant({one}).compute(cpu);
                    alone.push_back(one.read<float>());
                }
                for (const std::int64_t n : {2, 5, 13, 15}) {
                    const auto c = mul_mat_id(a, b.narrow(2, 0, n), ids.narrow(1, 0, n));
                    const auto graph = invariant({c});
                    for (const auto *at : {&cpu, &three}) {
                        graph.compute(*at);
                        const auto got = c.read<float>();
                        for (std::int64_t t = 0; t < n; t++) {
                            ASSERT_EQ(column(got, t, n), alone[static_cast<std::size_t>(t)])
                                << isa << ", k " << k << ", token " << t << " of " << n << (constant ? ", constant" : "");
                        }
                    }
                }
                if (k > 8192) continue;  // columns_of_mul_mat compares long rows with double
                const auto c = mul_mat_id(a, b, ids);
                const auto graph = invariant({c});
                graph.compute(three);
                const auto want = support::mul_mat_id(a.read_f32(), a.shape(), b.read_f32(), b.shape(), ids.read_f32(),
                                                      support::how_rounded(graph, isa, a));
                EXPECT_EQ(support::first_wrong(c.read<float>(), want), "") << isa;
            }
        }
    }
}

struct Attention {
    DType type;
    std::int64_t head, value_head, heads, kv_heads;
    bool sinks;
    double cap, bias;
};

class BatchInvariantAttention : public testing::TestWithParam<Attention> {};
INSTANTIATE_TEST_SUITE_P(all, BatchInvariantAttention,
                         testing::Values(Attention{DType::f32, 64, 64, 4, 4, false, 0, 0}, Attention{DType::f16, 64, 64, 4, 2, true, 0, 0},
                                         Attention{DType::f16, 128, 96, 8, 1, false, 30, 0},
                                         Attention{DType::bf16, 80, 80, 3, 1, false, 0, 8},
                                         Attention{DType::q8_0, 64, 32, 4, 1, true, 0, 0}, Attention{DType::f32, 33, 7, 2, 2, false, 0, 0},
                                         Attention{DType::f16, 256, 256, 2, 1, false, 0, 0}));

// A causal mask with a window, for `tokens` queries that end at position `end`, over `keys` keys.
tl::Tensor mask_of(const tl::Context &ctx, std::int64_t keys, std::int64_t end, std::int64_t tokens, std::int64_t window) {
    std::vector<float> mask;
    for (std::int64_t t = end - tokens; t < end; t++) {
        for (std::int64_t key = 0; key < keys; key++) mask.push_back(key <= t && key > t - window ? 0 : -inf);
    }
    return ctx.tensor<float>({keys, tokens}, mask);
}

// The queries of the last positions, alone with just their keys, and in blocks of several sizes with more keys that are hidden.
TEST_P(BatchInvariantAttention, queries) {
    const Attention &s = GetParam();
    for (const std::int64_t window : {1000, 70}) {
        tl::Context ctx;
        constexpr std::int64_t keys = 640, end = 601;
        const auto type = static_cast<tl::Type>(s.type);
        const auto k = leaf(ctx, {s.head, keys, s.kv_heads}, 1, type), v = leaf(ctx, {s.value_head, keys, s.kv_heads}, 2, type);
        const auto q = leaf(ctx, {s.head, end, s.heads}, 3);
        const std::optional<tl::Tensor> sinks = s.sinks ? std::optional(leaf(ctx, {s.heads}, 4)) : std::nullopt;
        const auto attended = [&](std::int64_t first, std::int64_t tokens, std::int64_t seen) {
            const auto mask = mask_of(ctx, seen, first + tokens, tokens, window);
            // A small scale, so that many keys count and the order of their sums shows.
            const tl::FlashAttnExtOptions options{.scale = 0.01, .max_bias = s.bias, .logit_softcap = s.cap};
            return flash_attn_ext(q.narrow(1, first, tokens), k.narrow(1, 0, seen), v.narrow(1, 0, seen), mask, sinks, options);
        };
        for (const std::string &isa : support::isas()) {
            const auto cpu = backend(isa, 1), three = backend(isa, 3);
            for (const std::int64_t tokens : {2, 3, 4, 7, 33, 130}) {
                const std::int64_t first = end - tokens;
                const auto all = attended(first, tokens, keys);
                const auto graph = invariant({all});
                graph.compute(three);
                const auto got = all.read<float>();
                for (std::int64_t t = 0; t < tokens; t++) {
                    for (const std::int64_t seen : {first + t + 1, keys}) {
                        const auto one = attended(first + t, 1, seen);
                        invariant({one}).compute(cpu);
                        ASSERT_EQ(column(got, t, tokens), one.read<float>())
                            << isa << ", query " << t << " of " << tokens << ", " << seen << " keys, window " << window;
                    }
                }
            }
        }
    }
}

// The setting belongs to the graph: plans are made again, and other graphs of the same structure do not take them.
TEST(BatchInvariance, changes_with_the_setting) {
    tl::Context ctx;
    const auto a = weights(ctx, DType::q8_0, {512, 64}, true), b = leaf(ctx, {512, 1}, 2);
    for (const std::string &isa : support::isas()) {
        const auto cpu = backend(isa, 2);
        const auto c = mul_mat(a, b);
        tl::Graph graph({c});
        const auto plain = graph.plan_text(cpu);
        graph.compute(cpu);
        const auto before = c.read<float>();
        graph.set_batch_invariant(true);
        EXPECT_EQ(graph.plan_text(cpu).find("16 bits"), std::string::npos);
        graph.compute(cpu);
        const auto invariant = c.read<float>();
        graph.set_batch_invariant(false);
        EXPECT_EQ(graph.plan_text(cpu), plain);
        graph.compute(cpu);
        EXPECT_EQ(c.read<float>(), before);
        // Rounding to 16 bits and to 8 differs somewhere.
        if (plain.find("16 bits") != std::string::npos) {
            EXPECT_NE(invariant, before) << plain;
        }
    }
}

TEST(BatchInvariance, is_refused_where_there_are_no_such_kernels) {
    tl::Context ctx;
    const auto a = leaf(ctx, {32, 40}, 1), b = leaf(ctx, {32, 2}, 2), scores = leaf(ctx, {40, 2}, 3);
    const auto cpu = backend("baseline", 1);
    const auto refuses = [&](const tl::Tensor &c, const char *op) {
        const auto graph = invariant({c});
        support::expect_error(tl::Status::unsupported, {op, "number of columns"}, [&] { graph.compute(cpu); });
        graph.set_batch_invariant(false);
        graph.compute(cpu);
    };
    refuses(mul_mat_sparse(a, b, scores, {}), "mul_mat_sparse");
    refuses(axpy(a, leaf(ctx, {40, 2}, 4), scores, {}), "axpy");
}

}  // namespace
