// mul_mat_id on every ISA against double, at 1 to 8 threads: few and many columns an expert, every type, any layout, and numbers that
// name no expert.
#include "blocks.hpp"

#include <limits>
#include <random>

using support::backend;
using support::leaf;
using tl::core::DType;
using tl::core::traits;

namespace {

// Which expert each slot goes to.
enum class Routing { in_turn, all_to_one, some_to_none, mixed, without };

std::vector<std::int32_t> routed(Routing routing, std::int64_t slots, std::int64_t experts) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(slots));
    std::mt19937 random(7);
    for (std::size_t i = 0; i < ids.size(); i++) {
        const auto n = static_cast<std::size_t>(experts);
        const std::size_t any = random();
        switch (routing) {
            case Routing::in_turn: ids[i] = static_cast<std::int32_t>((i * 7 + 3) % n); break;
            case Routing::all_to_one: ids[i] = static_cast<std::int32_t>(n - 1); break;
            case Routing::some_to_none: ids[i] = static_cast<std::int32_t>(any % n / 2 * 2); break;
            // The expert 0 gets half of them.
            case Routing::mixed: ids[i] = static_cast<std::int32_t>(any % 2 ? 0 : any / 2 % n); break;
            // A third of them gets none, which is -1.
            case Routing::without: ids[i] = any % 3 ? static_cast<std::int32_t>(any / 3 % n) : -1; break;
        }
    }
    return ids;
}

struct Size {
    std::int64_t k, m, experts, used, columns, tokens;
    Routing routing;
};

void PrintTo(const Size &s, std::ostream *out) {
    *out << "k " << s.k << " m " << s.m << " experts " << s.experts << " used " << s.used << " columns " << s.columns << " tokens "
         << s.tokens << " routing " << static_cast<int>(s.routing);
}

tl::Tensor product(const tl::Context &ctx, const tl::Tensor &a, const tl::Tensor &b, const tl::Tensor &ids, bool exact) {
    return exact ? ctx.op("mul_mat_id", {a, b, ids}, {{"exact", {1}, {}}}) : mul_mat_id(a, b, ids);
}

// The graph of c on every ISA at 1 to 8 threads, within the bound and of the same bits.
void expect_on_all(const tl::Tensor &c, const tl::Tensor &a, const tl::Tensor &b, const tl::Tensor &ids, const char *kernel) {
    const tl::Graph graph({c});
    const auto av = a.read_f32(), bv = b.read_f32(), numbers = ids.read_f32();
    for (const std::string &isa : support::isas()) {
        const auto expected = support::mul_mat_id(av, a.shape(), bv, b.shape(), numbers, support::how_rounded(graph, isa, a));
        std::vector<float> first;
        for (const int threads : {1, 2, 3, 8}) {
            const auto cpu = backend(isa, threads);
            if (kernel) {
                EXPECT_NE(graph.plan_text(cpu).find(kernel), std::string::npos) << graph.plan_text(cpu);
            }
            graph.compute(cpu);
            const auto got = c.read<float>();
            EXPECT_EQ(support::first_wrong(got, expected), "") << isa << ", " << threads << " threads";
            if (first.empty()) first = got;
            EXPECT_EQ(got, first) << "the bits depend on the number of threads: " << isa << ", " << threads;
        }
    }
}

class MulMatId : public testing::TestWithParam<Size> {};

TEST_P(MulMatId, agrees_with_double) {
    const Size &s = GetParam();
    tl::Context ctx;
    const auto a = leaf(ctx, {s.k, s.m, s.experts}, 1), b = leaf(ctx, {s.k, s.columns, s.tokens}, 2);
    const auto ids = ctx.tensor<std::int32_t>({s.used, s.tokens}, routed(s.routing, s.used * s.tokens, s.experts));
    expect_on_all(mul_mat_id(a, b, ids), a, b, ids, s.k == 0 || s.m * s.used * s.tokens == 0 ? "mul_mat_id_empty" : "mul_mat_id_f32");
}

// Around the tiles: panels of 8, 16 and 32 rows by 6 and 12 columns, dot tiles of 4 rows for up to 8 columns; blocks of k of 512.
std::vector<Size> sizes() {
    std::vector<Size> all;
    for (const Routing routing : {Routing::in_turn, Routing::all_to_one, Routing::some_to_none, Routing::mixed, Routing::without}) {
        for (const std::int64_t m : {1, 7, 33, 200}) {
            for (const std::int64_t k : {1, 17, 515}) {
                all.push_back({k, m, 5, 2, 2, 1, routing});
                all.push_back({k, m, 4, 3, 1, 13, routing});
            }
        }
        for (const std::int64_t tokens : {1, 8, 9, 12, 13, 25}) all.push_back({33, 19, 3, 1, 1, tokens, routing});
    }
    all.push_back({1100, 40, 3, 2, 2, 20, Routing::mixed});        // three blocks of k
    all.push_back({33, 500, 2, 2, 2, 20, Routing::mixed});         // several blocks of rows
    all.push_back({8192, 3, 3, 3, 1, 500, Routing::mixed});        // two rounds: 8 M floats are 1,024 columns
    all.push_back({8192, 2, 1, 1, 1, 2050, Routing::all_to_one});  // three, the last of two columns
    all.push_back({16, 5, 1000, 4, 2, 30, Routing::in_turn});      // numbers of two bytes, most experts without columns
    all.push_back({2, 3, 70000, 1, 1, 9, Routing::some_to_none});  // of three
    all.push_back({5, 3, 2, 6, 3, 4, Routing::mixed});             // columns that repeat
    for (const Size &s : {Size{0, 3, 2, 2, 1, 3, Routing::in_turn}, Size{4, 0, 2, 2, 1, 3, Routing::in_turn},
                          Size{4, 3, 2, 0, 0, 3, Routing::in_turn}, Size{4, 3, 2, 2, 1, 0, Routing::in_turn}})
        all.push_back(s);
    return all;
}

INSTANTIATE_TEST_SUITE_P(sizes, MulMatId, testing::ValuesIn(sizes()));

// Copies of F32, F16 and BF16: experts in panels, columns in groups of 6 or 12, up to 96 at a time and past them; blocks of k of 512.
TEST_P(MulMatId, of_constants_agrees_with_double) {
    const Size &s = GetParam();
    for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        tl::Context ctx;
        const auto a = leaf(ctx, {s.k, s.m, s.experts}, 1, type), b = leaf(ctx, {s.k, s.columns, s.tokens}, 2);
        const auto ids = ctx.tensor<std::int32_t>({s.used, s.tokens}, routed(s.routing, s.used * s.tokens, s.experts));
        a.set_constant();
        expect_on_all(mul_mat_id(a, b, ids), a, b, ids, nullptr);
    }
}

bool is_packed(tl::Type type, const std::string &isa) { return type == tl::Type::f32 || isa == "avx512" || isa == "avx2"; }

TEST(MulMatIdConstants, are_read_from_their_copies) {
    for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        tl::Context ctx;
        const auto a = leaf(ctx, {1100, 70, 3}, 1, type), b = leaf(ctx, {1100, 1, 250}, 2);
        const auto ids = ctx.tensor<std::int32_t>({1, 250}, routed(Routing::mixed, 250, 3));
        a.set_constant();
        const auto c = mul_mat_id(a, b, ids);
        const auto av = a.read_f32();
        for (const std::string &isa : support::isas()) {
            const tl::Graph graph({c});
            EXPECT_EQ(graph.plan_text(backend(isa, 2)).find(": mul_mat_id_constant") != std::string::npos, is_packed(type, isa)) << isa;
        }
        expect_on_all(c, a, b, ids, nullptr);
        if (!is_packed(type, support::isas().front())) continue;
        // The original is not needed any more.
        const auto cpu = backend(support::isas().front(), 2);
        cpu.compute({c});
        const auto before = c.read<float>();
        a.drop_original();
        cpu.compute({c});
        EXPECT_EQ(c.read<float>(), before);
        EXPECT_EQ(a.read_f32(), av);
    }
}

class MulMatIdTypes : public testing::TestWithParam<DType> {};

std::vector<DType> types() {
    std::vector<DType> all = support::weights();
    all.insert(all.end(), {DType::f16, DType::bf16});
    return all;
}

INSTANTIATE_TEST_SUITE_P(all, MulMatIdTypes, testing::ValuesIn(types()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

TEST_P(MulMatIdTypes, agree_with_double) {
    const std::int64_t block = traits(GetParam()).block_size;
    // Past the blocks of k of both products; many rows, many columns of one expert.
    for (const Size &s : {Size{block, 5, 3, 2, 2, 1, Routing::in_turn}, Size{2 * block, 33, 3, 2, 1, 9, Routing::mixed},
                          Size{5 * block, 7, 4, 1, 1, 31, Routing::some_to_none},
                          Size{std::max<std::int64_t>(3, 1100 / block) * block, 35, 2, 2, 2, 8, Routing::all_to_one},
                          Size{8704 / block * block, 33, 2, 2, 1, 3, Routing::mixed}, Size{2 * block, 33, 3, 2, 1, 14, Routing::without}}) {
        tl::Context ctx;
        const auto a = support::blocks_leaf(ctx, GetParam(), {s.k, s.m, s.experts}, 1), b = leaf(ctx, {s.k, s.columns, s.tokens}, 2);
        const auto ids = ctx.tensor<std::int32_t>({s.used, s.tokens}, routed(s.routing, s.used * s.tokens, s.experts));
        for (const bool exact : {false, true}) expect_on_all(product(ctx, a, b, ids, exact), a, b, ids, exact ? "mul_mat_id_f32" : nullptr);
    }
}

// Columns past a round's bytes: 16 MiB are some 1,800 of 8,704.
TEST(MulMatIdRounds, of_bytes) {
    tl::Context ctx;
    const auto a = support::blocks_leaf(ctx, DType::q4_0, {8704, 3, 2}, 1), b = leaf(ctx, {8704, 1, 1900}, 2);
    const auto ids = ctx.tensor<std::int32_t>({1, 1900}, routed(Routing::mixed, 1900, 2));
    expect_on_all(mul_mat_id(a, b, ids), a, b, ids, nullptr);
}

// Each operand in other layouts than packed; few columns and many.
TEST(MulMatIdLayouts, strided_operands) {
    for (const std::int64_t tokens : {2, 15}) {
        tl::Context ctx;
        const std::vector<std::size_t> apart{64 * sizeof(float), 10 * 64 * sizeof(float)};
        const tl::Tensor as[] = {leaf(ctx, {32, 6, 3}, 3),
                                 leaf(ctx, {6, 32, 3}, 4).transpose(),
                                 leaf(ctx, {32, 3, 6}, 5).permute({0, 2, 1, 3}),
                                 leaf(ctx, {32, 20, 3}, 6).view({32, 6, 3}, apart, 128),
                                 support::blocks_leaf(ctx, DType::q4_0, {64, 6, 3}, 7).view({32, 6, 3}, std::vector<std::size_t>{36, 216}),
                                 support::blocks_leaf(ctx, DType::q6_K, {256, 3, 6}, 8).permute({0, 2, 1, 3})};
        const auto plain = ctx.tensor<std::int32_t>({2, tokens}, routed(Routing::mixed, 2 * tokens, 3));
        const std::vector<std::size_t> wide{4 * sizeof(std::int32_t)};
        const auto four = ctx.tensor<std::int32_t>({4, tokens}, routed(Routing::in_turn, 4 * tokens, 3));
        const tl::Tensor numbers[] = {plain, four.view({2, tokens}, wide, 4), plain.cast(tl::Type::i64),
                                      ctx.tensor<std::int32_t>({tokens, 2}, routed(Routing::mixed, 2 * tokens, 3)).transpose()};
        for (const tl::Tensor &a : as) {
            const std::int64_t k = a.shape()[0];
            const tl::Tensor bs[] = {leaf(ctx, {k, 1, tokens}, 9, tl::Type::f16), leaf(ctx, {k, 2, tokens}, 10, tl::Type::bf16),
                                     leaf(ctx, {2, k, tokens}, 11).transpose(), leaf(ctx, {k, tokens, 2}, 12).permute({0, 2, 1, 3})};
            for (const tl::Tensor &b : bs) {
                for (const tl::Tensor &ids : numbers) {
                    const auto c = mul_mat_id(a, b, ids);
                    const tl::Graph graph({c, ids});
                    for (const std::string &isa : support::isas()) {
                        graph.compute(backend(isa, 2));
                        const auto expected = support::mul_mat_id(a.read_f32(), a.shape(), b.read_f32(), b.shape(), ids.read_f32(),
                                                                  support::how_rounded(graph, isa, a));
                        EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "") << isa << " " << tokens << " tokens";
                    }
                }
            }
        }
    }
}

TEST(MulMatIdLayouts, float_types_of_both) {
    for (const tl::Type ta : {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::f64}) {
        for (const tl::Type tb : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
            tl::Context ctx;
            const auto a = leaf(ctx, {35, 6, 3}, 13, ta), b = leaf(ctx, {35, 1, 14}, 14, tb);
            const auto ids = ctx.tensor<std::int32_t>({2, 14}, routed(Routing::mixed, 28, 3));
            expect_on_all(mul_mat_id(a, b, ids), a, b, ids, "mul_mat_id_f32");
        }
    }
}

// A NaN or an infinity in b reaches the columns that use it, one in a the row of its expert's columns.
TEST(MulMatIdSpecialValues, stay_in_their_columns) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const DType type : {DType::f32, DType::q4_0, DType::q4_K}) {
        for (const std::string &isa : support::isas()) {
            for (const std::int64_t tokens : {4, 40}) {
                tl::Context ctx;
                const std::int64_t k = std::max<std::int64_t>(32, traits(type).block_size);
                const auto a = type == DType::f32 ? leaf(ctx, {k, 7, 3}, 15) : support::blocks_leaf(ctx, type, {k, 7, 3}, 15);
                const auto b = leaf(ctx, {k, 1, tokens}, 16);
                const auto ids = ctx.tensor<std::int32_t>({2, tokens}, routed(Routing::in_turn, 2 * tokens, 3));
                const auto c = mul_mat_id(a, b, ids);
                const auto cpu = backend(isa, 3);
                cpu.compute({c});
                const auto want = c.read<float>();
                auto values = b.read_f32();
                values[static_cast<std::size_t>(k) + 1] = inf;
                values[static_cast<std::size_t>(3 * k) - 1] = nan;
                b.write_f32(values);
                cpu.compute({c});
                const auto got = c.read<float>();
                for (std::size_t i = 0; i < got.size(); i++) {
                    const std::size_t token = i / 14;
                    if (token == 1 || token == 2) {
                        EXPECT_FALSE(std::isfinite(got[i])) << isa << " element " << i;
                    } else {
                        EXPECT_EQ(got[i], want[i]) << isa << " element " << i;
                    }
                }
            }
        }
    }
    tl::Context ctx;
    std::vector<float> weights(7 * 5 * 3, 1.0f);
    weights[7 * (5 + 2) + 6] = nan;  // expert 1, row 2
    const auto a = ctx.tensor<float>({7, 5, 3}, std::span<const float>(weights)), b = leaf(ctx, {7, 1, 30}, 17);
    const auto numbers = routed(Routing::mixed, 30, 3);
    const auto ids = ctx.tensor<std::int32_t>({1, 30}, numbers);
    const auto c = mul_mat_id(a, b, ids);
    for (const std::string &isa : support::isas()) {
        backend(isa, 2).compute({c});
        const auto got = c.read<float>();
        for (std::size_t i = 0; i < got.size(); i++) EXPECT_EQ(std::isnan(got[i]), i % 5 == 2 && numbers[i / 5] == 1) << isa << " " << i;
    }
}

// Numbers are looked at in each run, and may change between two; a run that failed harms none after it.
TEST(MulMatIdNumbers, are_data) {
    for (const DType type : {DType::f32, DType::q8_0, DType::q5_K}) {
        for (const std::string &isa : support::isas()) {
            tl::Context ctx;
            const std::int64_t k = std::max<std::int64_t>(64, traits(type).block_size), tokens = 21;
            const auto a = type == DType::f32 ? leaf(ctx, {k, 9, 4}, 18) : support::blocks_leaf(ctx, type, {k, 9, 4}, 18);
            const auto b = leaf(ctx, {k, 1, tokens}, 19), ids = ctx.zeros(tl::Type::i64, {2, tokens});
            const auto c = mul_mat_id(a, b, ids);
            const tl::Graph graph({c});
            for (const int threads : {1, 3, 8}) {
                const auto cpu = backend(isa, threads);
                for (const Routing routing : {Routing::mixed, Routing::all_to_one, Routing::without}) {
                    const auto good = routed(routing, 2 * tokens, 4);
                    std::vector<std::int64_t> numbers(good.begin(), good.end());
                    for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-2}, std::int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
                        numbers[17] = numbers[39] = bad;
                        ids.write<std::int64_t>(numbers);
                        support::expect_error(tl::Status::invalid_argument,
                                              {"mul_mat_id", "element 17 of ids is " + std::to_string(bad), "experts 0 to 3 are there"},
                                              [&] { graph.compute(cpu); });
                    }
                    std::fill(numbers.begin(), numbers.end(), 4);
                    ids.write<std::int64_t>(numbers);
                    support::expect_error(tl::Status::invalid_argument, {"element 0 of ids is 4"}, [&] { graph.compute(cpu); });
                    numbers.assign(good.begin(), good.end());
                    ids.write<std::int64_t>(numbers);
                    graph.compute(cpu);
                    const auto expected = support::mul_mat_id(a.read_f32(), a.shape(), b.read_f32(), b.shape(), ids.read_f32(),
                                                              support::how_rounded(graph, isa, a));
                    EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "") << isa << ", " << threads << " threads";
                }
            }
        }
    }
}

// A stride of 0: as many experts as there are numbers, of one matrix, without memory for each.
TEST(MulMatIdNumbers, of_very_many_experts) {
    tl::Context ctx;
    const std::int64_t experts = std::int64_t{1} << 50;
    const auto a = leaf(ctx, {16, 3}, 20).view({16, 3, experts}, std::vector<std::size_t>{64, 0}), b = leaf(ctx, {16, 1, 4}, 21);
    const std::vector<std::int64_t> numbers{experts - 1, 5, experts / 3, experts - 1};
    const auto ids = ctx.tensor<std::int64_t>({1, 4}, std::span<const std::int64_t>(numbers));
    const auto c = mul_mat_id(a, b, ids), plain = mul_mat(a.view({16, 3}), b.view({16, 4}));
    backend(support::isas().front(), 2).compute({c, plain});
    EXPECT_EQ(c.read<float>(), plain.read<float>());
}

}  // namespace
