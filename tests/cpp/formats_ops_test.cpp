// Operations on every storage type, on every ISA and at 1 to 8 threads: products, rows by number, conversions. Weights are blocks of
// random bytes. The traits decode their values (formats_test.cpp compares the traits with the formats' document), and everything else is
// computed here in double.
#include "blocks.hpp"

#include <cstring>
#include <random>
#include <set>

using namespace tl::core;
using support::backend;
using support::blocks_leaf;
using support::how_rounded;
using support::weights;

namespace {

class Formats : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(all, Formats, testing::ValuesIn(weights()), [](const auto &info) { return std::string(traits(info.param).name); });

// Products also take plain floats that kernels read as they lie.
class Products : public Formats {};

std::vector<DType> weights_and_halves() {
    std::vector<DType> all = weights();
    all.insert(all.end(), {DType::f16, DType::bf16});
    return all;
}

INSTANTIATE_TEST_SUITE_P(all, Products, testing::ValuesIn(weights_and_halves()),
                         [](const auto &info) { return std::string(traits(info.param).name); });

TEST_P(Products, agree_with_double) {
    const std::int64_t block = traits(GetParam()).block_size;
    struct Size {
        std::int64_t blocks, m, n, x, X;
    };
    // Around the tiles of 4 rows and 8 to 32 rows, of 8 and 12 columns; past the blocks of k; batches that share.
    for (const Size &s : {Size{1, 1, 1, 1, 1},
                          {1, 5, 2, 1, 1},
                          {2, 17, 8, 1, 1},
                          {1, 33, 9, 1, 1},
                          {5, 7, 13, 1, 1},
                          {std::max<std::int64_t>(3, 1100 / block), 35, 25, 1, 1},
                          {8704 / block, 33, 7, 1, 1},
                          {1, 6, 3, 2, 4},
                          {1, 6, 11, 2, 4}}) {
        tl::Context ctx;
        const std::int64_t k = s.blocks * block;
        const auto a = blocks_leaf(ctx, GetParam(), {k, s.m, s.x}, 1), b = support::leaf(ctx, {k, s.n, s.X}, 2);
        for (const bool exact : {false, true}) {
            const auto c = exact ? mul_mat_exact(a, b) : mul_mat(a, b);
            const tl::Graph graph({c});
            for (const std::string &isa : support::isas()) {
                const support::Rounded rounded = how_rounded(graph, isa, a);
                if (exact) {
                    EXPECT_EQ(rounded, support::Rounded::no);
                }
                const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape(), rounded);
                std::vector<float> first;
                for (const int threads : {1, 2, 3, 8}) {
                    graph.compute(backend(isa, threads));
                    const auto got = c.read<float>();
                    EXPECT_EQ(support::first_wrong(got, expected), "")
                        << isa << " k " << k << " m " << s.m << " n " << s.n << (exact ? " exact" : "");
                    if (first.empty()) first = got;
                    EXPECT_EQ(got, first) << "the bits depend on the number of threads: " << isa << ", " << threads;
                }
            }
        }
    }
}

// Weights as views: some rows, rows apart, dimensions exchanged; activations of each float type and with gaps.
TEST_P(Products, of_views) {
    const DTypeTraits &type = traits(GetParam());
    const std::int64_t k = 2 * type.block_size;
    const std::size_t row = 2 * type.size;
    for (const std::string &isa : support::isas()) {
        const auto cpu = backend(isa, 2);
        for (const std::int64_t n : {3, 14}) {
            tl::Context ctx;
            const auto whole = blocks_leaf(ctx, GetParam(), {k, 12, 2}, 3);
            const std::vector<std::size_t> apart{2 * row};
            const tl::Tensor as[] = {whole.view({k / 2, 4}, apart, type.size), whole.permute({0, 2, 1, 3}),
                                     whole.view({k, 7}, {}, 3 * row)};
            for (const tl::Tensor &a : as) {
                const std::int64_t rest = a.shape()[2];
                const tl::Tensor bs[] = {support::leaf(ctx, {a.shape()[0], n, rest}, 4, tl::Type::f16),
                                         support::leaf(ctx, {a.shape()[0], n, rest}, 5, tl::Type::bf16),
                                         support::leaf(ctx, {n, a.shape()[0], rest}, 6).transpose()};
                for (const tl::Tensor &b : bs) {
                    const auto c = mul_mat(a, b);
                    const tl::Graph graph({c});
                    graph.compute(cpu);
                    const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape(), how_rounded(graph, isa, a));
                    EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "") << isa << " n " << n;
                }
            }
        }
    }
}

// Sums of products in 16 bits: every code at an end of its range, by activations that are all at an end of theirs and so are not rounded,
// or close to it.
TEST(Extremes, of_codes_and_activations_do_not_overflow) {
    constexpr std::int64_t k = 512, m = 35, most_columns = 7;
    struct Kind {
        DType type;
        std::size_t head;             // bytes of a block before its codes
        std::vector<int> code_bytes;  // -128 and 127; places of the least and the largest level
    };
    for (const Kind &kind : {Kind{DType::q8_0, 2, {0x80, 0x7f, 0x81}}, Kind{DType::iq4_nl, 2, {0x00, 0xff, 0xf0, 0x0f}},
                             Kind{DType::iq4_xs, 8, {0x00, 0xff, 0xf0, 0x0f}}, Kind{DType::q4_0, 2, {0x00, 0xff, 0xf0}},
                             Kind{DType::q4_1, 4, {0x00, 0xff}}, Kind{DType::q5_0, 2, {0x00, 0xff}}}) {
        tl::Context ctx;
        const DTypeTraits &type = traits(kind.type);
        const auto a = blocks_leaf(ctx, kind.type, {k, m}, 12);
        std::vector<std::byte> bytes(a.nbytes());
        a.read_bytes(bytes.data(), 0, bytes.size());
        for (std::size_t i = 0; i < bytes.size(); i++) {
            const std::size_t in_row = i % a.strides()[1], row = i / a.strides()[1];
            if (in_row % type.size >= kind.head) bytes[i] = static_cast<std::byte>(kind.code_bytes[row % kind.code_bytes.size()]);
        }
        a.write_bytes(bytes.data(), 0, bytes.size());
        const auto constant = ctx.zeros(static_cast<tl::Type>(kind.type), {k, m});
        constant.write_bytes(bytes.data(), 0, bytes.size());
        constant.set_constant();
        for (std::int64_t n = 1; n <= most_columns; n++) {
            const auto b = support::leaf(ctx, {k, n}, 13);
            // By the second one, of 16 bits the low byte is -128.
            for (const float size : {1.0f, 32384.0f / 32512}) {
                auto values = b.read_f32();
                for (std::size_t i = 0; i < values.size(); i++) {
                    const bool negative = i / k % 3 == 0 || (i / k % 3 == 1 && i % 2 == 0);
                    values[i] = (negative ? -1.0f : 1.0f) * (i % 256 == 0 ? 1.0f : size);
                }
                b.write_f32(values);
                const auto c = mul_mat(a, b), of_constant = mul_mat(constant, b);
                const tl::Graph graph({c, of_constant});
                for (const std::string &isa : support::isas()) {
                    const auto rounded = size == 1 ? support::Rounded::no : how_rounded(graph, isa, a);
                    const auto expected = support::mul_mat(a.read_f32(), a.shape(), values, b.shape(), rounded);
                    graph.compute(backend(isa, 1));
                    EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "") << isa << " " << type.name << " n " << n;
                    EXPECT_EQ(support::first_wrong(of_constant.read<float>(), expected), "")
                        << isa << " " << type.name << " constant, n " << n;
                }
            }
        }
    }
}

// Each 256 of k have a scale of their own: an outlier that meets weights of zero costs the others no digits.
TEST(Rounding, an_outlier_widens_the_error_of_its_own_256_alone) {
    constexpr std::int64_t k = 768, m = 7, n = 5;
    for (const tl::Type type : {tl::Type::q8_0, tl::Type::q4_K}) {
        tl::Context ctx;
        const auto weights = support::leaf(ctx, {k, m}, 10), b = support::leaf(ctx, {k, n}, 11);
        auto values = weights.read_f32();
        for (std::int64_t i = 0; i < k * m; i++) {
            if (i % k < 256) values[static_cast<std::size_t>(i)] = 0;
        }
        weights.write_f32(values);
        values = b.read_f32();
        for (std::int64_t column = 0; column < n; column++) values[static_cast<std::size_t>(column * k + 3)] = 1e6f;
        b.write_f32(values);
        for (const std::string &isa : support::isas()) {
            const auto a = weights.cast(type), c = mul_mat(a, b);
            const tl::Graph graph({a, c});
            graph.compute(backend(isa, 2));
            const auto expected = support::mul_mat(a.read_f32(), a.shape(), b.read_f32(), b.shape(), how_rounded(graph, isa, a));
            EXPECT_EQ(support::first_wrong(c.read<float>(), expected), "") << isa << " " << tl::type_name(type);
        }
    }
}

// Compares errors of products with those of activations rounded as in the reference implementation, with a scale for each 32 or 256
// elements depending on the type: at most 1.25 times these with outliers, 1.35 without.
TEST_P(Products, are_no_less_exact_than_the_reference) {
    constexpr std::int64_t k = 1024, m = 6, most = 32;  // encoding the weights takes the time
    const std::set<DType> in_32s{DType::q4_0, DType::q4_1,   DType::q5_0,  DType::q5_1,
                                 DType::q8_0, DType::iq4_nl, DType::mxfp4, DType::nvfp4};
    const std::int64_t span = in_32s.count(GetParam()) ? 32 : 256;
    tl::Context ctx;
    const auto a = support::leaf(ctx, {k, m}, 21).cast(static_cast<tl::Type>(GetParam()));
    backend("baseline", 2).compute({a});
    const auto weights = a.read_f32();
    for (const float outlier : {1.0f, 20.0f, 100.0f}) {
        for (const std::int64_t n : {most, std::int64_t{1}}) {
            std::mt19937 random(5);
            std::normal_distribution<float> normal;
            std::vector<float> values(static_cast<std::size_t>(k * n)), rounded;
            for (float &v : values) v = normal(random) * (random() % 100 == 0 ? outlier : 1);
            for (std::size_t i = 0; i < values.size(); i++) {
                const auto first = values.begin() + static_cast<std::ptrdiff_t>(i) / span * span;
                float largest = 0;
                std::for_each(first, first + span, [&](float v) { largest = std::max(largest, std::fabs(v)); });
                rounded.push_back(std::nearbyint(values[i] / (largest / 127)) * (largest / 127));
            }
            const auto b = ctx.tensor<float>({k, n}, values), c = mul_mat(a, b);
            const tl::Graph graph({c});
            const auto want = support::mul_mat(weights, a.shape(), values, b.shape()).value;
            const auto in_spans = support::mul_mat(weights, a.shape(), rounded, b.shape()).value;
            const auto off = [&](const auto &got) {
                double sum = 0;
                for (std::size_t i = 0; i < want.size(); i++) sum += (double{got[i]} - want[i]) * (double{got[i]} - want[i]);
                return std::sqrt(sum / static_cast<double>(want.size()));
            };
            for (const std::string &isa : support::isas()) {
                graph.compute(backend(isa, 2));
                // A column has too few elements to compare errors, but in 16 bits there are hardly any.
                const bool words = how_rounded(graph, isa, a) == support::Rounded::to_words;
                if (n == 1 && !words) continue;
                EXPECT_LE(off(c.read<float>()), off(in_spans) * (words ? 0.02 : outlier > 1 ? 1.25 : 1.35)) << isa << " " << outlier;
            }
        }
    }
}

// A column with a NaN or an infinity comes out not finite, every other as if it were not there.
TEST_P(Formats, special_values_stay_in_their_columns) {
    const std::int64_t k = traits(GetParam()).block_size;
    for (const std::string &isa : support::isas()) {
        const auto cpu = backend(isa, 2);
        for (const std::int64_t n : {3, 13}) {
            tl::Context ctx;
            const auto a = blocks_leaf(ctx, GetParam(), {k, 5}, 7), b = support::leaf(ctx, {k, n}, 8);
            const auto clean = mul_mat(a, b);
            cpu.compute({clean});
            const auto want = clean.read<float>();
            auto values = b.read_f32();
            values[static_cast<std::size_t>(k) + 1] = INFINITY;
            values[static_cast<std::size_t>(3 * k) - 1] = NAN;
            b.write_f32(values);
            const auto c = mul_mat(a, b);
            cpu.compute({c});
            const auto got = c.read<float>();
            for (std::size_t i = 0; i < got.size(); i++) {
                const std::size_t column = i / 5;
                if (column == 1 || column == 2) {
                    EXPECT_FALSE(std::isfinite(got[i])) << isa << " element " << i;
                } else {
                    EXPECT_EQ(got[i], want[i]) << isa << " element " << i;
                }
            }
        }
    }
}

TEST_P(Formats, rows_by_number_are_decoded_to_the_bit) {
    const std::int64_t n = 2 * traits(GetParam()).block_size;
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 3, 8}) {
            tl::Context ctx;
            const auto a = blocks_leaf(ctx, GetParam(), {n, 9, 2}, 9);
            std::vector<std::int32_t> rows;
            for (int i = 0; i < 90; i++) rows.push_back(i * 7 % 9);
            const auto numbers = ctx.tensor<std::int32_t>({45, 2}, rows);
            const auto c = get_rows(a, numbers);
            backend(isa, threads).compute({c});
            const auto all = a.read_f32(), got = c.read<float>();
            const auto length = static_cast<std::size_t>(n);
            for (std::size_t r = 0; r < rows.size(); r++) {
                const std::size_t source = r / 45 * 9 + static_cast<std::size_t>(rows[r]);
                ASSERT_EQ(std::memcmp(got.data() + r * length, all.data() + source * length, length * sizeof(float)), 0)
                    << isa << " row " << r;
            }
        }
    }
}

TEST_P(Formats, casts_and_copies_to_plain_types) {
    const std::int64_t n = traits(GetParam()).block_size;
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 3, 8}) {
            const auto cpu = backend(isa, threads);
            tl::Context ctx;
            const auto a = blocks_leaf(ctx, GetParam(), {n, 6}, 10);
            const auto want = a.read_f32();
            for (const tl::Type to : {tl::Type::f32, tl::Type::f16, tl::Type::bf16, tl::Type::f64}) {
                const auto cast = a.cast(to);
                cpu.compute({cast});
                const auto got = cast.read_f32();
                for (std::size_t i = 0; i < want.size(); i++) {
                    float rounded = want[i];
                    alignas(8) std::byte bytes[8];
                    traits(static_cast<DType>(to)).encode(&want[i], nullptr, bytes, 1);
                    traits(static_cast<DType>(to)).decode(bytes, &rounded, 1);
                    ASSERT_EQ(got[i], rounded) << isa << " element " << i;
                }
                // Rows of another length on the other side, and elements apart.
                for (const tl::Tensor &t : {ctx.zeros(to, {6, n}), ctx.zeros(to, {n, 6}).transpose()}) {
                    const auto c = cpy(a, t);
                    cpu.compute({c});
                    EXPECT_EQ(c.read_f32(), got) << isa;
                }
            }
        }
    }
}

// Elements that lie apart are gathered for the blocks, and scattered from them.
TEST_P(Formats, rows_are_stored_from_and_to_any_strides) {
    const std::int64_t n = 2 * traits(GetParam()).block_size;
    const auto type = static_cast<tl::Type>(GetParam());
    for (const std::string &isa : support::isas()) {
        for (const int threads : {1, 3}) {
            const auto cpu = backend(isa, threads);
            tl::Context ctx;
            const auto rows = ctx.tensor<std::int32_t>({5}, {6, 0, 3, 1, 5});
            for (const tl::Type from : {tl::Type::f32, tl::Type::f16, tl::Type::f64}) {
                const auto apart = support::leaf(ctx, {5, n}, 3).cast(from).transpose();
                const auto stored = set_rows(ctx.zeros(type, {n, 7}), apart, rows),
                           wanted = set_rows(ctx.zeros(type, {n, 7}), apart.cont(), rows);
                cpu.compute({stored, wanted});
                EXPECT_EQ(stored.read_f32(), wanted.read_f32()) << isa << " from " << tl::type_name(from);
                const auto blocks = blocks_leaf(ctx, GetParam(), {n, 5}, 12);
                const auto scattered = set_rows(ctx.zeros(from, {7, n}).transpose(), blocks, rows);
                const auto together = set_rows(ctx.zeros(from, {n, 7}), blocks, rows);
                cpu.compute({scattered, together});
                EXPECT_EQ(scattered.read_f32(), together.read_f32()) << isa << " to " << tl::type_name(from);
            }
        }
    }
}

}  // namespace
