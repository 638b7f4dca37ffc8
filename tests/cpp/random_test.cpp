// Random numbers by a counter: the published vectors, equal bits on every ISA at any number of threads, and their distributions. Seeds
// are fixed, so a statement about probabilities either always holds or never.
#include "support.hpp"

#include "math/random.hpp"

#include <array>
#include <bit>

namespace {

namespace math = tensorlib::core::math;
using tl::core::isa_at;
using tl::core::isa_count;
using tl::core::RandomSource;

using Block = std::array<std::uint32_t, 4>;

tl::Tensor state_of(const tl::Context &ctx, std::int64_t seed, std::int64_t counter) {
    const auto state = ctx.zeros(tl::Type::i64, {2});
    state.write<std::int64_t>(std::vector<std::int64_t>{seed, counter});
    return state;
}

std::vector<float> computed(const tl::Tensor &t, const tl::Backend &backend) {
    backend.compute({t});
    return t.read_f32();
}
std::vector<float> computed(const tl::Tensor &t) { return computed(t, support::backend(support::isas()[0], 2)); }

// The first place where they differ in a bit, or -1.
std::int64_t first_other(const std::vector<float> &a, const std::vector<float> &b) {
    if (a.size() != b.size()) return 0;
    for (std::size_t i = 0; i < a.size(); i++) {
        if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return static_cast<std::int64_t>(i);
    }
    return -1;
}

// ---- Words

struct Known {
    Block counter;
    std::array<std::uint32_t, 2> key;
    Block words;
};

// From Random123's kat_vectors, philox4x32 with 10 rounds.
constexpr Known known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(Philox, gives_the_published_words) {
    for (const Known &k : known) {
        Block c = k.counter;
        math::philox(k.key[0], k.key[1], c[0], c[1], c[2], c[3]);
        EXPECT_EQ(c, k.words);
        const RandomSource source{{k.key[0], k.key[1]}, k.counter[1], {k.counter[2], k.counter[3]}};
        for (std::size_t isa = 0; isa < isa_count(); isa++) {
            Block words{};
            isa_at(isa).kernels.random.words(1, source, k.counter[0], words.data());
            EXPECT_EQ(words, k.words) << isa_at(isa).name;
        }
    }
}

TEST(Philox, gives_any_number_of_blocks_from_any_one_on) {
    const RandomSource source = math::random_source(-0x123456789abcdef, 0x7654321fedcba98, 0x7fffffff);
    EXPECT_EQ(source.key[0], 0x76543211u);
    EXPECT_EQ(source.key[1], 0xfedcba98u);
    EXPECT_EQ(source.stream, 0x7fffffffu);
    EXPECT_EQ(source.counter[0], 0xfedcba98u);
    EXPECT_EQ(source.counter[1], 0x07654321u);
    for (std::size_t isa = 0; isa < isa_count(); isa++) {
        for (const std::uint32_t first : {0u, 1u, 0x7fffffe0u, 0xffffff80u}) {
            for (std::int64_t blocks = 0; blocks < 70; blocks++) {
                std::vector<std::uint32_t> got(static_cast<std::size_t>(4 * blocks) + 1, 77);
                isa_at(isa).kernels.random.words(blocks, source, first, got.data());
                EXPECT_EQ(got.back(), 77u);
                for (std::int64_t b = 0; b < blocks; b++) {
                    Block want{};
                    math::random_words(source, first + static_cast<std::uint32_t>(b), want.data());
                    ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin() + 4 * b)) << isa_at(isa).name << " " << first << " " << b;
                }
            }
        }
    }
}

// ---- What is made of words

// z is where the normal distribution has p. Its error may change the distribution by as much as rounding z to F32 does, 2^-24 of it,
// which the density converts. In addition there are erfc's own few steps of 2^-53, the function's 1e-15 and, in the middle, where z is
// small, 2^-53 of 1/2.
TEST(Normal, is_where_the_distribution_has_the_word) {
    std::vector<std::uint32_t> words{0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    // Both sides of where the middle ends, 0.075 and 0.925.
    for (const std::uint32_t border : {322122547u, 3972844748u}) {
        for (std::uint32_t d = 0; d < 5; d++) words.push_back(border - 2 + d);
    }
    for (std::uint32_t i = 0; i < 31; i++) words.push_back(1u << i), words.push_back(~(1u << i));
    const auto more = static_cast<std::uint32_t>(support::repeats(100000, 10000000));
    for (std::uint32_t i = 0; i < more; i++) words.push_back(static_cast<std::uint32_t>(std::uint64_t{i} * 0xffffffffu / more));
    std::vector<float> first;
    for (std::size_t isa = 0; isa < isa_count(); isa++) {
        std::vector<float> z(words.size());
        isa_at(isa).kernels.random.normal(static_cast<std::int64_t>(words.size()), words.data(), 0, 1, z.data());
        if (isa == 0) first = z;
        ASSERT_EQ(first_other(z, first), -1) << isa_at(isa).name;
    }
    for (std::size_t i = 0; i < words.size(); i++) {
        const double z = double{first[i]}, p = (words[i] + 0.5) * 0x1p-32, least = std::min(p, 1 - p);
        const double got = 0.5 * std::erfc(std::fabs(z) * std::sqrt(0.5)), density = std::exp(-z * z / 2) * 0.3989422804014327;
        ASSERT_LE(std::fabs(got - least), density * std::fabs(z) * 0x1.01p-24 + 1e-14 * least + 0x1p-53) << words[i];
        ASSERT_EQ(z < 0, p < 0.5) << words[i];
    }
    EXPECT_FLOAT_EQ(first[0], -6.3379577f);
    EXPECT_EQ(first[6], -first[0]);
}

TEST(Numbers, have_the_same_bits_on_every_isa_by_any_number_of_threads) {
    for (const tl::Shape &ne : {tl::Shape{1021, 37, 9}, {1}, {5, 1, 3}, {300001}, {1025, 1, 1, 4}}) {
        const tl::Context ctx;
        const auto state = state_of(ctx, 5, 77);
        const auto a = support::leaf(ctx, ne, 3);
        const auto uniform = random_uniform(state, ne, -0.1, 3.7, 1), normal = random_normal(state, ne, 0.3, 1.7, 2),
                   kept = dropout(a, state, 0.3, 3);
        std::vector<float> first[3];
        for (const std::string &isa : support::isas()) {
            for (int threads = 1; threads <= 8; threads++) {
                const auto backend = support::backend(isa, threads);
                backend.compute({uniform, normal, kept});
                std::size_t which = 0;
                for (const auto &t : {uniform, normal, kept}) {
                    const auto got = t.read_f32();
                    if (first[which].empty()) first[which] = got;
                    ASSERT_EQ(first_other(got, first[which]), -1) << isa << " " << threads << " " << which;
                    which++;
                }
            }
        }
    }
}

// Past the caches too: each is the function of its own word.
TEST(Uniform, is_made_of_the_words_in_order) {
    for (const tl::Shape &ne : {tl::Shape{7, 5, 3, 2}, {17000001}}) {
        const tl::Context ctx;
        const auto c = random_uniform(state_of(ctx, -3, std::int64_t{9} << 33), ne, 0, 1, 12);
        const RandomSource source = math::random_source(-3, std::int64_t{9} << 33, 12);
        for (const std::string &isa : support::isas()) {
            const auto got = computed(c, support::backend(isa, 3));
            for (std::size_t i = 0; i < got.size(); i++) {
                Block words{};
                if (i % 4 == 0) {
                    math::random_words(source, static_cast<std::uint32_t>(i / 4), words.data());
                    for (std::size_t w = 0; w < 4 && i + w < got.size(); w++)
                        ASSERT_EQ(double{got[i + w]}, (words[w] >> 8) * 0x1p-24) << isa << " " << i + w;
                }
            }
        }
    }
}

// As the description says, of the largest word too.
TEST(Uniform, stays_within_its_bounds) {
    const std::vector<std::uint32_t> words{0, 0xff, 0x80000000, 0xfffffeff, 0xffffffff};
    struct Bounds {
        float low, high;
        bool reached;
    };
    for (const Bounds &b : {Bounds{0, 1, false}, Bounds{0, 0x1.000002p-126f, false}, Bounds{0, 0x1p-126f, true}, Bounds{-1, 1, false},
                            Bounds{1, 2, true}, Bounds{0, 3e38f, false}, Bounds{2, 2, true}, Bounds{-1e38f, 2e38f, false}}) {
        for (std::size_t isa = 0; isa < isa_count(); isa++) {
            std::vector<float> c(words.size());
            isa_at(isa).kernels.random.uniform(static_cast<std::int64_t>(words.size()), words.data(), b.low, b.high - b.low, c.data());
            EXPECT_EQ(c[0], b.low);
            EXPECT_EQ(c[1], b.low);
            for (const float x : c) EXPECT_TRUE(b.low <= x && x <= b.high) << x;
            EXPECT_EQ(c.back() == b.high, b.reached) << b.low << " " << b.high;
        }
    }
}

// ---- Distributions. Bounds are of 5 standard deviations, which one of two million samples exceeds; with 2^20 numbers.

constexpr std::int64_t n = 1 << 20;
const tl::Shape many{n};
const double root_n = std::sqrt(static_cast<double>(n));

template <class F>
double mean_of(const std::vector<float> &values, F f) {
    double sum = 0;
    for (const float v : values) sum += f(double{v});
    return sum / static_cast<double>(values.size());
}

// Kolmogorov and Smirnov: the largest distance of the share of numbers up to x from what the distribution has there. It is above 2 /
// sqrt(n) with a chance of 2 e^-8, 7e-4.
template <class F>
void expect_distributed(std::vector<float> values, F distribution) {
    std::sort(values.begin(), values.end());
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); i++) {
        const double p = distribution(double{values[i]}), share = static_cast<double>(i) / static_cast<double>(n);
        largest = std::max({largest, std::fabs(p - share), std::fabs(p - share - 1.0 / static_cast<double>(n))});
    }
    EXPECT_LT(largest, 2 / root_n);
}

TEST(Uniform, is_distributed_so) {
    const tl::Context ctx;
    for (const std::int64_t seed : {0, 1, 2026}) {
        const auto u = computed(random_uniform(state_of(ctx, seed, 0), many, 0, 1, 0));
        // Variance 1 / 12; that of (u - 1/2)^2 is 1 / 180.
        EXPECT_NEAR(mean_of(u, [](double x) { return x; }), 0.5, 5 / std::sqrt(12.0) / root_n);
        EXPECT_NEAR(mean_of(u, [](double x) { return (x - 0.5) * (x - 0.5); }), 1 / 12.0, 5 / std::sqrt(180.0) / root_n);
        expect_distributed(u, [](double x) { return x; });
    }
}

TEST(Normal, is_distributed_so) {
    const tl::Context ctx;
    for (const std::int64_t seed : {0, 1, 2026}) {
        const auto z = computed(random_normal(state_of(ctx, seed, 0), many, 0, 1, 0));
        // The variances of z, z^2, z^3 and z^4 are 1, 2, 15 and 96.
        EXPECT_NEAR(mean_of(z, [](double x) { return x; }), 0, 5 / root_n);
        EXPECT_NEAR(mean_of(z, [](double x) { return x * x; }), 1, 5 * std::sqrt(2.0) / root_n);
        EXPECT_NEAR(mean_of(z, [](double x) { return x * x * x; }), 0, 5 * std::sqrt(15.0) / root_n);
        EXPECT_NEAR(mean_of(z, [](double x) { return x * x * x * x; }), 3, 5 * std::sqrt(96.0) / root_n);
        expect_distributed(z, [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); });
        const auto moved = computed(random_normal(state_of(ctx, seed, 0), many, -7, 0.25, 0));
        for (std::size_t i = 0; i < 1000; i++) ASSERT_NEAR(moved[i], -7 + 0.25 * z[i], 1e-6);
    }
}

// The correlation of n pairs has a standard deviation of 1 / sqrt(n).
double correlation(const std::vector<float> &a, const std::vector<float> &b, std::size_t lag = 0) {
    double sum = 0;
    for (std::size_t i = lag; i < a.size(); i++) sum += (double{a[i]} - 0.5) * (double{b[i - lag]} - 0.5);
    return 12 * sum / static_cast<double>(a.size());
}

TEST(Streams, are_independent_and_so_are_seeds_counters_and_neighbours) {
    const tl::Context ctx;
    const auto draw = [&](std::int64_t seed, std::int64_t counter, std::int64_t stream) {
        return computed(random_uniform(state_of(ctx, seed, counter), many, 0, 1, stream));
    };
    const auto first = draw(1, 1, 1);
    const std::int64_t far = std::int64_t{1} << 32;
    for (const auto &other : {draw(1, 1, 0), draw(1, 1, 2), draw(1, 1, 0x7fffffff), draw(1, 0, 1), draw(1, 2, 1), draw(1, 1 + far, 1),
                              draw(0, 1, 1), draw(2, 1, 1), draw(1 + far, 1, 1), draw(-1, 1, 1)}) {
        EXPECT_LT(std::fabs(correlation(first, other)), 5 / root_n);
        // Equal by chance 2^-24 each.
        std::size_t equal = 0;
        for (std::size_t i = 0; i < first.size(); i++) equal += first[i] == other[i];
        EXPECT_LT(equal, 4u);
    }
    for (std::size_t lag = 1; lag <= 8; lag++) EXPECT_LT(std::fabs(correlation(first, first, lag)), 5 / root_n) << lag;
}

TEST(State, is_read_by_each_run) {
    const tl::Context ctx;
    const auto state = state_of(ctx, 11, 0);
    const tl::Shape ne{100, 3};
    const auto c = random_uniform(state, ne, 0, 1, 4), again = random_uniform(state, ne, 0, 1, 4),
               longer = random_uniform(state, {777}, 0, 1, 4);
    const auto cpu = support::backend(support::isas()[0], 2);
    std::vector<std::vector<float>> runs;
    for (const std::int64_t counter : {0, 1, 0}) {
        state.write<std::int64_t>(std::vector<std::int64_t>{11, counter});
        cpu.compute({c, again, longer});
        runs.push_back(c.read_f32());
        EXPECT_EQ(again.read_f32(), runs.back());
        // An element depends on its number, not on the shape.
        const auto all = longer.read_f32();
        EXPECT_TRUE(std::equal(runs.back().begin(), runs.back().end(), all.begin()));
    }
    EXPECT_NE(runs[0], runs[1]);
    EXPECT_EQ(runs[0], runs[2]);
}

// ---- dropout

TEST(Dropout, keeps_its_share_where_words_are_large) {
    const tl::Context ctx;
    const auto state = state_of(ctx, 4, 2);
    const RandomSource source = math::random_source(4, 2, 6);
    const auto a = support::leaf(ctx, {n}, 9);
    const auto x = a.read_f32();
    for (const double p : {0.0, 0.1, 0.5, 0.9, 1 - 0x1p-32, 1 - 0x1p-53}) {
        const auto c = computed(dropout(a, state, p, 6));
        const auto share = static_cast<float>(1 - p);
        double kept = 0;
        for (std::size_t i = 0; i < x.size(); i++) {
            Block words{};
            math::random_words(source, static_cast<std::uint32_t>(i / 4), words.data());
            const bool keeps = words[i % 4] >= p * 0x1p32;
            kept += keeps;
            ASSERT_EQ(c[i], keeps ? x[i] / share : 0.0f) << p << " " << i;
        }
        EXPECT_NEAR(kept / static_cast<double>(n), 1 - p, 5 * std::sqrt(p * (1 - p)) / root_n + 1e-300) << p;
    }
}

TEST(Dropout, takes_any_strides_and_the_memory_of_what_it_drops) {
    const tl::Context ctx;
    const auto state = state_of(ctx, 4, 2);
    for (const tl::Type type : {tl::Type::f32, tl::Type::f16, tl::Type::bf16}) {
        const auto a = support::leaf(ctx, {67, 43, 5, 2}, 9, type);
        const std::size_t size = type == tl::Type::f32 ? 4 : 2;
        const std::vector<std::size_t> repeated{0, 43 * 67 * size};
        for (const auto &view :
             {a.permute({1, 0, 2, 3}), a.permute({3, 2, 1, 0}), a.view({67, 31, 5}, repeated), a.permute({0, 2, 1, 3})}) {
            for (const std::string &isa : support::isas()) {
                for (const int threads : {1, 3}) {
                    const auto cpu = support::backend(isa, threads);
                    const auto want = computed(dropout(view.cont(), state, 0.4, 1), cpu);
                    EXPECT_EQ(first_other(computed(dropout(view, state, 0.4, 1), cpu), want), -1) << isa;
                    // Its memory is taken where it dies.
                    EXPECT_EQ(first_other(computed(dropout(scale(view, 1), state, 0.4, 1), cpu), want), -1) << isa;
                }
            }
        }
    }
}

// Twice the same: as often as one says, and scaled by both, as the gradient is of the result.
TEST(Dropout, of_its_own_result_keeps_the_same) {
    const tl::Context ctx;
    const auto state = state_of(ctx, 8, 8);
    const auto a = support::leaf(ctx, {5000}, 1);
    const auto once = computed(dropout(a, state, 0.5, 3)), twice = computed(dropout(dropout(a, state, 0.5, 3), state, 0.5, 3));
    for (std::size_t i = 0; i < once.size(); i++) ASSERT_EQ(twice[i], 2 * once[i]);
}

// ---- Refusals (more of them are in tests/cases)

TEST(Refusals, name_the_operation_the_operands_and_what_is_valid) {
    using S = tl::Status;
    const tl::Context ctx;
    const auto state = state_of(ctx, 1, 1), a = ctx.zeros(tl::Type::f32, {4}), floats = ctx.zeros(tl::Type::f32, {2});
    const char *valid = "a state of [2] i64, a seed and a counter, is valid";
    support::expect_error(S::type_mismatch, {"random_uniform", "state is [2] f32", valid}, [&] { random_uniform(floats, {4}, 0, 1, 0); });
    support::expect_error(S::type_mismatch, {"random_normal", "state is [2] f32", valid}, [&] { random_normal(floats, {4}, 0, 1, 0); });
    support::expect_error(S::type_mismatch, {"dropout", "a is [4] f32, state is [2] f32", valid}, [&] { dropout(a, floats, 0.5, 0); });
    support::expect_error(S::shape_mismatch, {"dropout", "state is [1, 2] i64", valid}, [&] { dropout(a, state.reshape({1, 2}), 0.5, 0); });
    support::expect_error(S::invalid_argument, {"random_uniform", "state is [2] i64", "17180000256 elements", "up to 2^34"}, [&] {
        const tl::Context shapes(tl::ContextOptions{.no_alloc = true});
        const auto of = shapes.zeros(tl::Type::i64, {2});
        EXPECT_NO_THROW(random_uniform(of, {1 << 17, 1 << 17}, 0, 1, 0));
        random_uniform(of, {(1 << 17) + 1, 1 << 17}, 0, 1, 0);
    });
    support::expect_error(S::invalid_argument, {"dropout", "p is 1:", "less than 1"}, [&] { dropout(a, state, 1, 0); });
    support::expect_error(S::invalid_argument, {"dropout", "stream is -1", "0 to 2147483647"}, [&] { dropout(a, state, 0, -1); });
    support::expect_error(S::invalid_argument, {"random_uniform", "low is 2", "high is 1", "no less than low"},
                          [&] { random_uniform(state, {4}, 2, 1, 0); });
}

}  // namespace
