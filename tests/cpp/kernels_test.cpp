// Every kernel on every ISA against double, at 1 to 8 threads, checking that the plan picked the intended kernel.
#include "cpu/dispatch.hpp"
#include "dtype/dtype.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

using support::backend;
using support::leaf;

namespace {

struct Product {
    const char *kernel;
    tl::Shape a, b;
};

void PrintTo(const Product &p, std::ostream *out) { *out << p.kernel << " k " << p.a[0] << " m " << p.a[1] << " n " << p.b[1]; }

class MulMat : public testing::TestWithParam<Product> {};

TEST_P(MulMat, agrees_with_double) {
    const Product &p = GetParam();
    tl::Context ctx;
    const auto a = leaf(ctx, p.a, 1), b = leaf(ctx, p.b, 2);
    const auto c = mul_mat(a, b);
    const tl::Graph graph({c});
    const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape());
    for (const std::string &isa : support::isas()) {
        std::vector<float> first;
        for (const int threads : {1, 2, 3, 8}) {
            const auto cpu = backend(isa, threads);
            EXPECT_NE(graph.plan_text(cpu).find(p.kernel), std::string::npos) << graph.plan_text(cpu);
            graph.compute(cpu);
            const auto got = c.read<float>();
            EXPECT_EQ(support::first_wrong(got, expected), "") << isa << ", " << threads << " threads";
            if (first.empty()) first = got;
            EXPECT_EQ(got, first) << "the bits depend on the number of threads: " << isa << ", " << threads;
        }
    }
}

// Sizes around the tiles of all ISAs: panels of 8, 16 and 32 rows by 6 and 12 columns, dot tiles of 4 rows, blocks of
// 192 rows, 512 k and 1024 columns.
std::vector<Product> products() {
    std::vector<Product> all;
    for (const std::int64_t n : {1, 2, 3, 4, 5, 8}) {
        for (const std::int64_t m : {1, 3, 4, 15, 16, 17, 33}) {
            for (const std::int64_t k : {1, 7, 16, 33, 515}) all.push_back({"mul_mat_f32_dot", {k, m}, {k, n}});
        }
    }
    for (const std::int64_t n : {9, 12, 13, 31, 48}) {
        for (const std::int64_t m : {1, 7, 32, 33, 100}) {
            for (const std::int64_t k : {1, 15, 16, 17, 100}) all.push_back({"mul_mat_f32_packed", {k, m}, {k, n}});
        }
    }
    all.push_back({"mul_mat_f32_packed", {1100, 40}, {1100, 20}});  // three blocks of k
    all.push_back({"mul_mat_f32_packed", {33, 500}, {33, 70}});     // several blocks of rows
    all.push_back({"mul_mat_f32_packed", {5, 40}, {5, 2100}});      // several blocks of columns
    all.push_back({"mul_mat_f32_packed", {17, 9, 2, 3}, {17, 11, 6, 3}});
    all.push_back({"mul_mat_f32_dot", {17, 9, 2, 1}, {17, 3, 4, 5}});
    all.push_back({"mul_mat_f32_packed", {2048, 3, 1, 1}, {2048, 1030, 5}});  // several rounds of packing
    all.push_back({"mul_mat_empty", {0, 3}, {0, 5}});
    all.push_back({"mul_mat_empty", {4, 0}, {4, 5}});
    all.push_back({"mul_mat_empty", {4, 3}, {4, 0}});
    return all;
}

INSTANTIATE_TEST_SUITE_P(sizes, MulMat, testing::ValuesIn(products()));

// Each operand in another layout than packed, against the packed result's oracle.
TEST(MulMatLayouts, strided_operands) {
    for (const std::string &isa : support::isas()) {
        const auto cpu = backend(isa, 2);
        for (const std::int64_t n : {3, 40}) {
            tl::Context ctx;
            // a transposed: its k lies 50 elements apart. b: every second row of a matrix, from its third on.
            const auto a = leaf(ctx, {50, 37}, 3).transpose();  // {37, 50}
            const auto rows = leaf(ctx, {37, 2 * n + 2}, 4);
            const std::size_t row = 37 * sizeof(float);
            const std::vector<std::size_t> nb{2 * row};
            const auto b = rows.view({37, n}, nb, 2 * row);
            const auto c = mul_mat(a, b);
            cpu.compute({c});
            EXPECT_EQ(support::first_wrong(c.read<float>(), support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape())), "") << isa;
        }
    }
}

// Keys and values as a cache has them, heads within a token, by queries of twice as many heads: nothing is contiguous, and the values'
// rows do not lie along k.
TEST(MulMatLayouts, attention) {
    for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        for (const std::int64_t d : {64, 128}) {
            for (const std::int64_t n : {1, 2, 7, 33}) {
                tl::Context ctx;
                const std::int64_t tokens = 70;
                const auto keys = leaf(ctx, {d, 3, tokens, 2}, 51, type).permute({0, 2, 1, 3});
                const auto queries = leaf(ctx, {d, 6, n, 2}, 52).permute({0, 2, 1, 3});
                const auto values = leaf(ctx, {d, 3, tokens, 2}, 53, type).permute({1, 2, 0, 3});  // {tokens, d, heads}
                const auto scores = leaf(ctx, {tokens, n, 6, 2}, 54);
                const auto qk = mul_mat(keys, queries), sv = mul_mat(values, scores);
                ASSERT_EQ(sv.shape(), (std::array<std::int64_t, 4>{d, n, 6, 2}));
                const auto rounded = type == tl::Type::bf16 ? support::Rounded::to_bf16 : support::Rounded::no;
                const auto want_qk = support::mul_mat(keys.read_f32(), keys.shape(), queries.read_f32(), queries.shape(), rounded);
                const auto want_sv = support::mul_mat(values.read_f32(), values.shape(), scores.read_f32(), scores.shape(), rounded);
                for (const std::string &isa : support::isas()) {
                    for (const int threads : {1, 3}) {
                        const auto cpu = backend(isa, threads);
                        cpu.compute({qk});
                        cpu.compute({sv});
                        EXPECT_EQ(support::first_wrong(qk.read<float>(), want_qk), "") << isa << " d " << d << " n " << n;
                        EXPECT_EQ(support::first_wrong(sv.read<float>(), want_sv), "") << isa << " d " << d << " n " << n;
                    }
                }
            }
        }
    }
}

// Very tall and very flat ones, of rows that leave tiles and panels unfilled.
TEST(MulMatShapes, tall_and_flat) {
    struct Size {
        std::int64_t k, m, n;
    };
    for (const Size &s :
         {Size{3, 5000, 2}, {5000, 3, 2}, {2, 3, 5000}, {1, 1, 4000}, {4000, 1, 1}, {1, 4000, 1}, {3000, 33, 9}, {9, 33, 3000}}) {
        tl::Context ctx;
        const auto a = leaf(ctx, {s.k, s.m}, 55), b = leaf(ctx, {s.k, s.n}, 56), c = mul_mat(a, b);
        const auto want = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape());
        for (const std::string &isa : support::isas()) {
            for (const int threads : {1, 8}) {
                backend(isa, threads).compute({c});
                EXPECT_EQ(support::first_wrong(c.read<float>(), want), "") << isa << " k " << s.k << " m " << s.m << " n " << s.n;
            }
        }
    }
}

TEST(MulMatTypes, any_float_type_by_the_reference) {
    const auto cpu = backend(support::isas().front(), 2);
    for (const tl::Type ta : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        for (const tl::Type tb : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
            tl::Context ctx;
            const auto a = leaf(ctx, {33, 5, 2}, 5, ta), b = leaf(ctx, {33, 9, 4}, 6, tb);
            const auto c = mul_mat(a, b);
            cpu.compute({c});
            EXPECT_EQ(support::first_wrong(c.read<float>(), support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape())), "");
        }
    }
}

// A NaN or an infinity reaches the elements whose sums it is in, and no others: no padding takes part.
TEST(MulMatSpecialValues, stay_in_their_rows_and_columns) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::string &isa : support::isas()) {
        const auto cpu = backend(isa, 2);
        for (const std::int64_t n : {2, 13}) {
            tl::Context ctx;
            std::vector<float> av(19 * 33, 1.0f), bv(19 * static_cast<std::size_t>(n), 1.0f);
            av[19 * 32 + 18] = inf;
            av[19 * 5] = nan;
            bv[19] = -inf;  // column 1
            const auto a = ctx.tensor<float>({19, 33}, std::span<const float>(av));
            const auto b = ctx.tensor<float>({19, n}, std::span<const float>(bv));
            const auto c = mul_mat(a, b);
            cpu.compute({c});
            const auto got = c.read<float>();
            for (std::size_t j = 0; j < static_cast<std::size_t>(n); j++) {
                for (std::size_t i = 0; i < 33; i++) {
                    const float x = got[i + 33 * j];
                    if (i == 5 || (i == 32 && j == 1)) {
                        EXPECT_TRUE(std::isnan(x)) << isa << " " << i << " " << j;
                    } else if (i == 32) {
                        EXPECT_EQ(x, inf);
                    } else if (j == 1) {
                        EXPECT_EQ(x, -inf);
                    } else {
                        EXPECT_EQ(x, 19.0f);
                    }
                }
            }
        }
    }
}

struct Sum {
    const char *kernel;
    tl::Shape a, b;
};

void PrintTo(const Sum &s, std::ostream *out) { *out << s.kernel << " " << s.a[0]; }

class Add : public testing::TestWithParam<Sum> {};

TEST_P(Add, is_exact) {
    const Sum &s = GetParam();
    tl::Context ctx;
    const auto a = leaf(ctx, s.a, 7), b = leaf(ctx, s.b, 8);
    const auto c = add(a, b);
    const tl::Graph graph({c});
    const auto av = a.read<float>(), bv = b.read<float>();
    const auto na = a.shape(), nb = b.shape();
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 2, 5}) {
            const auto cpu = backend(isa, threads);
            EXPECT_NE(graph.plan_text(cpu).find(s.kernel), std::string::npos) << graph.plan_text(cpu);
            graph.compute(cpu);
            const auto got = c.read<float>();
            for (std::size_t i = 0; i < got.size(); i++) {
                auto rest = static_cast<std::int64_t>(i), at = std::int64_t{0}, step = std::int64_t{1};
                for (std::size_t d = 0; d < 4; d++) {
                    at += rest % na[d] % nb[d] * step;
                    rest /= na[d];
                    step *= nb[d];
                }
                ASSERT_EQ(got[i], static_cast<float>(static_cast<double>(av[i]) + static_cast<double>(bv[static_cast<std::size_t>(at)])))
                    << isa << " element " << i;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(shapes, Add,
                         testing::Values(Sum{"tiles_flat", {1}, {1}}, Sum{"tiles_flat", {0, 3}, {0, 3}},
                                         Sum{"tiles_flat", {67, 3}, {67, 3}}, Sum{"tiles_flat", {200000}, {200000}},
                                         Sum{"tiles_rows", {33, 5, 2, 3}, {1}}, Sum{"tiles_rows", {33, 5, 2, 3}, {33}},
                                         Sum{"tiles_rows", {33, 5, 2, 3}, {1, 5}}, Sum{"tiles_rows", {33, 6, 4, 3}, {11, 3, 2, 1}},
                                         Sum{"tiles_rows", {400, 300}, {1, 300}}));

// What every ISA has is filled by the baseline, so that an ISA may leave out what it does no better; and so of every ISA.
TEST(SimdTable, the_baseline_fills_every_entry_that_all_isas_have) {
    using namespace tl::core;
    // A table of functions and nothing else, read as such: an entry that is added to it is looked at too.
    const auto functions = [](const auto &table) {
        constexpr std::size_t size = sizeof(void (*)());
        static_assert(sizeof table % size == 0);
        std::vector<void (*)()> all(sizeof table / size);
        std::memcpy(all.data(), &table, sizeof table);
        return all;
    };
    for (std::size_t isa = 0; isa < isa_count(); isa++) {
        const simd::SimdTable &simd = isa_at(isa).kernels;
        const char *name = isa_at(isa).name;
        // Not every formula has a `second`.
        const auto &tiles = simd.tiles;
        for (const auto f : functions(tiles.loops)) EXPECT_TRUE(f) << name;
        for (const auto f : functions(tiles.first)) EXPECT_TRUE(f) << name;
        for (const auto &step : {tiles.load, tiles.store, tiles.stream, tiles.end}) EXPECT_TRUE(step.four && step.one) << name;
        EXPECT_TRUE(tiles.run) << name;
        for (const auto f : functions(simd.copies)) EXPECT_TRUE(f) << name;
        for (const auto f : functions(simd.sums)) EXPECT_TRUE(f) << name;
        for (const auto f : functions(simd.losses)) EXPECT_TRUE(f) << name;
        for (const auto f : functions(simd.comparisons)) EXPECT_TRUE(f) << name;
        EXPECT_TRUE(simd.pack.f32) << name;
        EXPECT_TRUE(simd.gemm.rows > 0 && simd.gemm.columns > 0 && simd.dot.rows > 0 && simd.dot.columns > 0) << name;
        for (int n = 0; n < simd.gemm.columns; n++)
            EXPECT_TRUE(simd.gemm.f32.from_cache[n] && simd.gemm.f32.from_memory[n]) << name << ' ' << n;
        for (int r = 0; r < simd.dot.rows; r++) {
            for (int n = 0; n < simd.dot.columns; n++) EXPECT_TRUE(simd.dot.f32[r][n]) << name << ' ' << r << ' ' << n;
        }
        std::size_t type = 0;
#define TL_DTYPE(name_of_type, id, format) \
    for (const auto f : functions(simd.formats[type++])) EXPECT_TRUE(f) << name << " " #name_of_type;
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
    }
}

// Panels of F16 and BF16 as they are stored give the bits that the same numbers give as floats: a constant's copy, for which there may be
// no memory, changes no result.
TEST(Panels, of_16_bits_have_the_bits_of_floats) {
    using namespace tl::core;
    constexpr std::int64_t k = 38;
    for (const std::string &isa : support::isas()) {
        const simd::SimdTable &simd = choose_isa(isa).kernels;
        const auto rows = static_cast<std::size_t>(simd.gemm.rows);
        for (const DType type : {DType::f16, DType::bf16}) {
            const bool pairs = type == DType::bf16;
            const simd::SimdTable::Gemm &gemm = pairs ? simd.gemm.bf16_by_f32 : simd.gemm.f16_by_f32;
            if (!gemm.from_cache[0]) continue;
            // Thirds: sums depend on their order.
            std::vector<float> values(rows * k), b(static_cast<std::size_t>(simd.gemm.columns) * k), widened(rows * k);
            for (std::size_t i = 0; i < values.size(); i++) values[i] = support::value(4, static_cast<std::uint32_t>(i)) / 3;
            for (std::size_t i = 0; i < b.size(); i++) b[i] = support::value(5, static_cast<std::uint32_t>(i)) / 3;
            std::vector<std::uint16_t> stored(rows * k), panel(rows * k);
            ASSERT_EQ(traits(type).encode(values.data(), nullptr, stored.data(), static_cast<std::int64_t>(values.size())), -1);
            traits(type).decode(stored.data(), widened.data(), static_cast<std::int64_t>(values.size()));
            for (std::size_t i = 0; i < k; i++) {
                for (std::size_t r = 0; r < rows; r++) panel[pairs ? (i / 2 * rows + r) * 2 + i % 2 : i * rows + r] = stored[i * rows + r];
            }
            for (int n = 1; n <= simd.gemm.columns; n++) {
                std::vector<float> got(rows * static_cast<std::size_t>(n)), want(got.size());
                for (const auto kernels : {&gemm.from_cache, &gemm.from_memory}) {
                    (*kernels)[n - 1](pairs ? k / 2 : k, panel.data(), b.data(), got.data(), simd.gemm.rows, simd.gemm.rows, false);
                    simd.gemm.f32.from_cache[n - 1](k, widened.data(), b.data(), want.data(), simd.gemm.rows, simd.gemm.rows, false);
                    EXPECT_EQ(got, want) << isa << " " << traits(type).name << " n " << n;
                }
            }
        }
    }
}

// Stores that bypass the caches: equal bytes wherever they begin and end, and no other byte is written.
TEST(CopyStream, any_place_and_length) {
    for (const std::string &isa : support::isas()) {
        const tl::core::simd::SimdTable &simd = tl::core::choose_isa(isa).kernels;
        for (const std::int64_t n : {0, 1, 3, 63, 64, 65, 127, 128, 1000, 4099}) {
            for (std::size_t begin = 0; begin < 66; begin += 13) {
                std::vector<unsigned char> from(4200), to(4400, 0xee);
                for (std::size_t i = 0; i < from.size(); i++) from[i] = static_cast<unsigned char>(i * 7 % 251);
                simd.copies.stream(n, from.data() + 5, to.data() + begin);
                simd.copies.stream_end();
                for (std::size_t i = 0; i < to.size(); i++) {
                    const bool inside = i >= begin && i < begin + static_cast<std::size_t>(n);
                    ASSERT_EQ(to[i], inside ? from[i - begin + 5] : 0xee) << isa << " n " << n << " at " << i;
                }
            }
        }
    }
}

// Results large enough to go past the caches: rows that begin anywhere, of several types, by all ways of copying.
class LargeCopies : public testing::TestWithParam<tl::Type> {};
INSTANTIATE_TEST_SUITE_P(all, LargeCopies, testing::Values(tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::q8_0, tl::Type::i32),
                         [](const auto &info) { return std::string(tl::type_name(info.param)); });

TEST_P(LargeCopies, have_every_element) {
    // A quantised leaf has rows of whole blocks. Rows of 1,120 and 1,059 elements end within the 512 that are converted at a time.
    const bool blocks = GetParam() == tl::Type::q8_0;
    const std::int64_t wide = blocks ? 1120 : 1059, rows = 300, copies = 100;
    tl::Context ctx;
    const auto a = leaf(ctx, {wide, rows}, 41, GetParam());
    const auto want = a.read_f32();
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(rows * copies));
    for (std::size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<std::int32_t>(i * 37 % static_cast<std::size_t>(rows));
    const auto by = ctx.zeros(tl::Type::i32, {rows * copies});
    by.write<std::int32_t>(numbers);
    const auto got = get_rows(a, by);
    ASSERT_GE(got.nbytes(), std::size_t{64} << 20);
    // All of it again into rows with gaps, of floats; and as another type.
    const auto wider = ctx.zeros(tl::Type::f32, {wide + 3, rows * copies});
    const std::size_t stride[] = {static_cast<std::size_t>(wide + 3) * sizeof(float)};
    const auto gaps = wider.view({wide, rows * copies}, stride, sizeof(float));
    const auto copied = cpy(got, gaps);
    for (const std::string &isa : support::isas()) {
        const auto cpu = backend(isa, 3);
        cpu.compute({got, copied});
        const auto result = got.read_f32(), again = wider.read<float>();
        for (std::size_t r = 0; r < numbers.size(); r++) {
            const float *of = want.data() + static_cast<std::size_t>(numbers[r]) * static_cast<std::size_t>(wide);
            const float *has = result.data() + r * static_cast<std::size_t>(wide);
            const float *in_gap = again.data() + r * static_cast<std::size_t>(wide + 3);
            ASSERT_TRUE(std::equal(of, of + wide, has)) << isa << " row " << r;
            ASSERT_TRUE(std::equal(of, of + wide, in_gap + 1)) << isa << " row " << r;
            ASSERT_EQ(in_gap[0], 0) << isa << " row " << r;
            ASSERT_EQ(in_gap[wide + 1], 0) << isa << " row " << r;
            ASSERT_EQ(in_gap[wide + 2], 0) << isa << " row " << r;
        }
    }
}

// Into types of half the size and back: exact, as the values are, but for one that I8 cannot hold, which the error names.
TEST(LargeConversions, are_exact_and_name_what_does_not_fit) {
    const std::int64_t n = (std::int64_t{34} << 20) + 7;
    tl::Context ctx;
    const auto a = ctx.zeros(tl::Type::f32, {n});
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i % 255) - 127;
    a.write_f32(values);
    for (const tl::Type type : {tl::Type::f16, tl::Type::bf16, tl::Type::i16}) {
        const auto half = a.cast(type), back = half.cast(tl::Type::f32);
        ASSERT_GE(half.nbytes(), std::size_t{64} << 20);
        tl::Backend("cpu", {2}).compute({back});
        EXPECT_TRUE(back.read<float>() == values) << tl::type_name(type);
    }
    values[30'000'001] = 40'000;
    a.write_f32(values);
    try {
        tl::Backend("cpu", {2}).compute({a.cast(tl::Type::i16)});
        FAIL() << "40,000 is no i16";
    } catch (const tl::Error &e) {
        EXPECT_NE(std::string(e.what()).find("30000001"), std::string::npos) << e.what();
    }
}

// A sum large enough to be stored so, with all threads.
TEST(AddStream, large_sums) {
    const std::int64_t n = (std::int64_t{16} << 20) + 5;
    tl::Context ctx;
    const auto a = ctx.zeros(tl::Type::f32, {n}), b = ctx.zeros(tl::Type::f32, {n});
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); i++) values[i] = support::value(3, static_cast<std::uint32_t>(i));
    a.write_f32(values), b.write_f32(values);
    const auto c = add(a, b);
    tl::Backend("cpu", {3}).compute({c});
    const auto got = c.read<float>();
    for (std::size_t i = 0; i < values.size(); i++) ASSERT_EQ(got[i], values[i] + values[i]) << i;
}

TEST(AddTypes, computed_in_f32_and_rounded_once) {
    const auto cpu = backend(support::isas().front(), 2);
    for (const tl::Type ta : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        for (const tl::Type tb : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
            tl::Context ctx;
            const auto a = leaf(ctx, {300, 5}, 9, ta).transpose(), b = leaf(ctx, {5, 1}, 10, tb);
            const auto c = a + b;
            cpu.compute({c});
            EXPECT_EQ(c.type(), ta);
            const auto av = a.read_f32(), bv = b.read_f32(), got = c.read_f32();
            // The oracle rounds through a leaf of the type, whose conversion dtype_test checks.
            std::vector<float> sums(av.size());
            for (std::size_t i = 0; i < av.size(); i++) sums[i] = av[i] + bv[i % 5];
            const auto rounded = ctx.zeros(ta, {5, 300});
            rounded.write_f32(sums);
            EXPECT_EQ(got, rounded.read_f32());
        }
    }
}

// Copies between any two layouts keep ne order; conversions round like the type does.
TEST(Copies, any_layout_to_any_layout) {
    const auto cpu = backend(support::isas().front(), 3);
    for (const tl::Type from : {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::i8, tl::Type::i64}) {
        for (const tl::Type to : {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::i8, tl::Type::i64}) {
            const bool converts = static_cast<int>(from) != static_cast<int>(to);
            const bool integer = from == tl::Type::i8 || from == tl::Type::i64 || to == tl::Type::i8 || to == tl::Type::i64;
            if (converts && integer) continue;  // refused: op_def_test
            tl::Context ctx;
            const auto source = leaf(ctx, {24, 5, 7, 2}, 11, from).permute({2, 0, 3, 1});  // {5, 24, 2, 7} reordered
            const auto target = ctx.zeros(to, {6, 40, 7, 1});
            const auto odd = target.permute({1, 0, 2, 3});
            const auto done = cpy(source, odd);
            const auto plain = source.cont();
            cpu.compute({done, plain});
            const auto want = source.read_f32();
            const auto rounded = ctx.zeros(to, {static_cast<std::int64_t>(want.size())});
            rounded.write_f32(want);
            EXPECT_EQ(odd.read_f32(), rounded.read_f32());
            EXPECT_EQ(plain.read_f32(), want);
        }
    }
}

TEST(Isa, one_that_is_unknown_or_missing_is_an_error) {
    support::expect_error(tl::Status::invalid_argument, {"TENSORLIB_ISA", "pentium", "baseline"}, [] { backend("pentium", 1); });
    for (const char *isa : {"avx512", "avx2", "baseline"}) {
        bool here = false;
        for (std::size_t i = 0; i < tl::core::isa_count(); i++) here = here || std::string(isa) == tl::core::isa_at(i).name;
        if (here) {
            EXPECT_EQ(backend(isa, 1).isa(), isa);
        } else {
            support::expect_error(tl::Status::unavailable, {isa, "baseline"}, [&] { backend(isa, 1); });
        }
    }
}

}  // namespace
