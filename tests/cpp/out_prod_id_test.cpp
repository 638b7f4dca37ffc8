// out_prod_id against double: sizes around tiles and blocks, all types, strides and repetitions, experts with many, few and no columns, on
// every ISA, with equal bits at several thread counts; and the gradients that use it.
#include "blocks.hpp"
#include "random_tensors.hpp"

namespace core = tensorlib::core;
using core::Attr;
using core::DType;
using core::Op;
using core::Tensor;
using support::Builder;
using support::Ne;
using support::Random;

namespace {

// Sums of products in F32, as support::mul_mat has them: of the columns of each expert in turn.
support::Expected wanted(const Tensor *a, const Tensor *b, const std::vector<std::int64_t> &ids, std::int64_t experts) {
    const std::vector<float> av = support::values_of(a), bv = support::values_of(b);
    const std::int64_t N = a->layout.ne[0], x = a->layout.ne[1], M = b->layout.ne[0], used = b->layout.ne[1];
    support::Expected all;
    for (std::int64_t expert = 0; expert < experts; expert++) {
        std::vector<std::size_t> from_a, from_b;  // where the expert's columns begin
        for (std::int64_t slot = 0; slot < static_cast<std::int64_t>(ids.size()); slot++) {
            if (ids[static_cast<std::size_t>(slot)] != expert) continue;
            from_a.push_back(static_cast<std::size_t>(N * (slot % used % x + x * (slot / used))));
            from_b.push_back(static_cast<std::size_t>(M * slot));
        }
        const auto K = static_cast<std::int64_t>(from_a.size());
        std::vector<float> rows(static_cast<std::size_t>(K * N)), column(static_cast<std::size_t>(K));
        for (std::int64_t i = 0; i < N; i++) {
            for (std::int64_t k = 0; k < K; k++)
                rows[static_cast<std::size_t>(i * K + k)] = av[from_a[static_cast<std::size_t>(k)] + static_cast<std::size_t>(i)];
        }
        for (std::int64_t m = 0; m < M; m++) {
            for (std::size_t k = 0; k < from_b.size(); k++) column[k] = bv[from_b[k] + static_cast<std::size_t>(m)];
            support::append_column(all, rows.data(), column.data(), K, N, support::Rounded::no);
        }
    }
    return all;
}

Tensor *leaf_of_numbers(Builder &build, std::int64_t used, std::int64_t tokens, DType type, const std::vector<std::int64_t> &ids) {
    Tensor *t = build.leaf({used, tokens, 1, 1}, type);
    std::vector<float> values(ids.begin(), ids.end());
    core::write_f32(*t, values.data(), values.size());
    return t;
}

void check(Builder &build, Tensor *a, Tensor *b, DType type, const std::vector<std::int64_t> &ids, std::int64_t experts) {
    const Ne &na = a->layout.ne, &nb = b->layout.ne;
    const std::string what =
        "out_prod_id of " + core::tensor_text(*a) + " and " + core::tensor_text(*b) + " for " + std::to_string(experts);
    Tensor *c = build.node(Op::out_prod_id, {a, b, leaf_of_numbers(build, nb[1], nb[2], type, ids)}, {Attr::of_int("experts", experts)});
    ASSERT_EQ(c->layout.ne, (Ne{na[0], nb[0], experts, 1}));
    const auto want = wanted(a, b, ids, experts);
    // computed_on_isas also expects equal bits from all backends of an ISA.
    for (const std::vector<float> &got : support::computed_on_isas(build, c, what)) EXPECT_EQ(support::first_wrong(got, want), "") << what;
}

Builder finite() {
    Builder build;
    build.draw = support::any_value;
    return build;
}

enum class Routing { in_turn, all_to_one, half_to_the_first, some_to_none, without };

std::vector<std::int64_t> routed(Routing routing, std::int64_t slots, std::int64_t experts, Random &random) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < slots; i++) {
        const std::int64_t any = support::below(random, experts);
        switch (routing) {
            case Routing::in_turn: ids.push_back(i % experts); break;
            case Routing::all_to_one: ids.push_back(experts - 1); break;
            case Routing::half_to_the_first: ids.push_back(i % 2 ? 0 : any); break;
            case Routing::some_to_none: ids.push_back(any / 2 * 2); break;
            case Routing::without: ids.push_back(i % 3 ? any : -1); break;
        }
    }
    return ids;
}

constexpr Routing routings[] = {Routing::in_turn, Routing::all_to_one, Routing::half_to_the_first, Routing::some_to_none, Routing::without};

// Around micro-kernels' tiles (8 to 32 rows, 6 and 12 columns), groups of 8 of these, chunks of rows and blocks of 192 columns.
TEST(OutProdId, agrees_with_double_at_all_sizes) {
    Random random(3);
    constexpr std::int64_t sizes[] = {1, 2, 6, 7, 12, 13, 31, 33, 97, 130}, tokens[] = {1, 2, 17, 70, 190, 260};
    for (int draw = 0; draw < support::repeats(60, 1000) && !testing::Test::HasFailure(); draw++) {
        Builder build = finite();
        const std::int64_t used = 1 + support::below(random, 3), t = support::one_of(random, tokens),
                           experts = 1 + support::below(random, 5);
        Tensor *a = build.leaf({support::one_of(random, sizes), support::below(random, 2) ? used : 1, t, 1}, DType::f32, random);
        Tensor *b = build.leaf({support::one_of(random, sizes), used, t, 1}, DType::f32, random);
        check(build, a, b, DType::i32, routed(support::one_of(random, routings), used * t, experts, random), experts);
    }
    Builder build = finite();
    Tensor *a = build.leaf({600, 1, 300, 1}, DType::f32, random), *b = build.leaf({210, 2, 300, 1}, DType::f32, random);
    check(build, a, b, DType::i32, routed(Routing::half_to_the_first, 600, 3, random), 3);
}

TEST(OutProdId, agrees_with_double_for_all_strides_types_and_repetitions) {
    Random random(5);
    constexpr DType types[] = {DType::f32, DType::f16, DType::bf16}, of_numbers[] = {DType::i32, DType::i64};
    for (int draw = 0; draw < support::repeats(100, 2000) && !testing::Test::HasFailure(); draw++) {
        Builder build = finite();
        const std::int64_t n = 1 + support::below(random, 40), m = 1 + support::below(random, 40), tokens = 1 + support::below(random, 12);
        const std::int64_t x = 1 + support::below(random, 2), used = x * (1 + support::below(random, 3)),
                           experts = 1 + support::below(random, 4);
        Tensor *a = build.operand({n, x, tokens, 1}, support::one_of(random, types), random);
        Tensor *b = build.operand({m, used, tokens, 1}, support::one_of(random, types), random);
        check(build, a, b, support::one_of(random, of_numbers), routed(support::one_of(random, routings), used * tokens, experts, random),
              experts);
    }
}

TEST(OutProdId, of_many_experts) {
    Random random(7);
    for (const std::int64_t experts : {300, 70000}) {
        Builder build = finite();
        const std::vector<std::int64_t> ids{experts - 1, 0, 255, 256, experts - 1, -1};
        check(build, build.leaf({3, 1, 3, 1}, DType::f32, random), build.leaf({2, 2, 3, 1}, DType::f32, random), DType::i32, ids, experts);
    }
}

// ---- The gradients of mul_mat_id

// A NaN stays with the expert that it belongs to; of a column that has none nothing is read.
TEST(Gradients, of_experts_keep_apart) {
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 2, 3}) {
            const auto backend = support::backend(isa, threads);
            const tl::Context ctx;
            const auto a = support::leaf(ctx, {5, 7, 3}, 1);
            std::vector<float> columns(static_cast<std::size_t>(5 * 4), 1.0f);
            columns[0] = NAN, columns[5] = NAN;
            const auto b = ctx.tensor<float>({5, 1, 4}, columns);
            const auto ids = ctx.tensor<std::int32_t>({1, 4}, {0, -1, 2, 2});
            const auto gradient = sum(mul_mat_id(a, b, ids)).gradients({a}).at(0);
            backend.compute({gradient});
            const auto got = gradient.read_f32();
            for (std::size_t i = 0; i < got.size(); i++) {
                const std::size_t expert = i / 35;
                if (expert == 0 && i % 5 == 0) {
                    EXPECT_TRUE(std::isnan(got[i])) << i;
                } else {
                    EXPECT_EQ(got[i], expert == 0 ? 1.0f : expert == 1 ? 0.0f : 2.0f) << i << ", " << isa << ", " << threads;
                }
            }
        }
    }
}

// No mask of all columns for each expert and no copy of all experts: beyond the weights and their gradient, little more than the columns.
TEST(Gradients, of_experts_take_little_memory) {
    const tl::Context ctx({.no_alloc = true});
    constexpr std::int64_t k = 256, m = 128, experts = 64, used = 8, tokens = 64;
    const auto a = ctx.zeros(tl::Type::f32, {k, m, experts}), b = ctx.zeros(tl::Type::f32, {k, 1, tokens});
    const auto ids = ctx.zeros(tl::Type::i32, {used, tokens});
    const auto gradient = sum(mul_mat_id(a, b, ids)).gradients({a}).at(0);
    const auto backend = support::backend(support::isas().front(), 2);
    const std::size_t bytes = tl::Graph({gradient}).plan_bytes(backend)[0], columns = used * tokens * (k + m) * 4;
    EXPECT_LT(bytes, 2 * k * m * experts * 4 + 2 * columns + (std::size_t{2} << 20));
}

}  // namespace
