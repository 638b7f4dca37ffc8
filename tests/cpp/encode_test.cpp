// Encoding: errors compared with the reference implementation's, plain oracles in double, extremes, and equal bytes
// everywhere.
#include "support.hpp"
#include "vectors.hpp"

#include "cpu/dispatch.hpp"
#include "dtype/dtype.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <random>

using namespace tensorlib::core;

namespace {

using Encode = std::int64_t (*)(const float *, const float *, void *, std::int64_t);

using EncodeByRule = std::int64_t (*)(const float *values, void *blocks, std::int64_t n);

struct Encoder {
    std::string isa;
    Encode encode;
    EncodeByRule encode_by_rule;
};

// Each way to encode a type: the traits', and every ISA's.
std::vector<Encoder> encoders(DType type) {
    std::vector<Encoder> all{{"traits", traits(type).encode, traits(type).encode_by_rule}};
    for (const std::string &isa : support::isas()) {
        const auto &loops = choose_isa(isa).kernels.formats[dtype_index(type)];
        all.push_back({isa, loops.encode, loops.encode_by_rule});
    }
    return all;
}

std::vector<const DTypeTraits *> block_types() {
    std::vector<const DTypeTraits *> types;
    for (std::size_t i = 0; i < dtype_count(); i++) {
        if (dtype_at(i).block_size > 1) types.push_back(&dtype_at(i));
    }
    return types;
}

std::vector<std::uint8_t> encoded(const DTypeTraits &type, const std::vector<float> &values, const float *weights = nullptr) {
    std::vector<std::uint8_t> blocks(values.size() / static_cast<std::size_t>(type.block_size) * type.size);
    EXPECT_EQ(type.encode(values.data(), weights, blocks.data(), static_cast<std::int64_t>(values.size())), -1) << type.name;
    return blocks;
}

std::vector<float> decoded(const DTypeTraits &type, const std::vector<std::uint8_t> &blocks) {
    std::vector<float> values(blocks.size() / type.size * static_cast<std::size_t>(type.block_size));
    type.decode(blocks.data(), values.data(), static_cast<std::int64_t>(values.size()));
    return values;
}

std::vector<float> round_trip(const DTypeTraits &type, const std::vector<float> &values, const float *weights = nullptr) {
    return decoded(type, encoded(type, values, weights));
}

double squared_error(const float *x, const float *y, std::size_t n, const float *weights = nullptr) {
    double sum = 0;
    for (std::size_t i = 0; i < n; i++) {
        const double off = double{x[i]} - double{y[i]};
        sum += (weights ? double{weights[i]} : 1.0) * off * off;
    }
    return sum;
}

std::vector<float> normal(std::size_t n, unsigned seed, float scale = 1) {
    std::mt19937 random(seed);
    std::vector<float> values(n);
    for (float &value : values) {
        // Twelve uniform numbers: near enough, and the same everywhere.
        double sum = -6;
        for (int i = 0; i < 12; i++) sum += static_cast<double>(random()) / 4294967296.0;
        value = static_cast<float>(sum) * scale;
    }
    return values;
}

TEST(Encode, no_worse_than_the_reference) {
    const support::Vectors &vectors = support::quant_vectors();
    TL_SKIP_WITHOUT_VECTORS(vectors);
    const std::vector<float> x = vectors.get<float>("x");
    const std::size_t columns = 1024, rows = x.size() / columns;
    double whole = 0;
    int n = 0;
    std::printf("squared error compared with the reference's, row by row\n");
    for (const DTypeTraits *type : block_types()) {
        const std::string name = type->name;
        if (!vectors.has(name + ".y")) continue;
        const std::vector<float> reference = vectors.get<float>(name + ".y"), own = round_trip(*type, x);
        double mean = 0;
        std::printf("%-8s", type->name);
        for (std::size_t r = 0; r < rows; r++) {
            const double mine = squared_error(&x[r * columns], &own[r * columns], columns);
            const double theirs = squared_error(&x[r * columns], &reference[r * columns], columns);
            const double ratio = theirs == 0 ? (mine == 0 ? 1.0 : INFINITY) : mine / theirs;
            EXPECT_LE(ratio, 1.02) << name << ", row " << r;
            mean += ratio / static_cast<double>(rows);
            std::printf(" %.3f", ratio);
        }
        std::printf(" | %.3f\n", mean);
        whole += mean;
        n++;
    }
    EXPECT_EQ(n, 25);
    std::printf("the whole: %.3f\n", whole / n);
    EXPECT_LE(whole / n, 0.9);
}

// The smallest error of 32 elements with levels low..high and any F16 scale, in double.
double best_uniform(const float *x, const float *weights, int low, int high) {
    double best = INFINITY, none = 0;
    for (int i = 0; i < 32; i++) none += (weights ? weights[i] : 1.0) * double{x[i]} * double{x[i]};
    best = none;
    for (std::uint32_t bits = 0; bits < 0x7c00; bits++) {
        const double size = from_half(static_cast<std::uint16_t>(bits));
        for (const double d : {size, -size}) {
            if (d == 0) continue;
            double sum = 0;
            for (int i = 0; i < 32 && sum < best; i++) {
                const double level = std::clamp(std::nearbyint(x[i] / d), double(low), double(high)), off = x[i] - d * level;
                sum += (weights ? weights[i] : 1.0) * off * off;
            }
            best = std::min(best, sum);
        }
    }
    return best;
}

TEST(Encode, near_the_best_of_all_scales) {
    const struct {
        DType type;
        int low, high;
    } formats[] = {{DType::q4_0, -8, 7}, {DType::q5_0, -16, 15}};
    for (const auto &format : formats) {
        const DTypeTraits &type = traits(format.type);
        double own = 0, best = 0;
        for (unsigned seed = 0; seed < static_cast<unsigned>(support::repeats(12, 100)); seed++) {
            std::vector<float> x = normal(32, seed), weights = normal(32, 1000 + seed);
            for (float &w : weights) w = w * w;
            if (seed % 3 == 1) x[seed % 32] *= 6;
            if (seed % 4 == 2) {
                for (float &v : x) v = std::fabs(v);
            }
            const float *w = seed % 2 ? weights.data() : nullptr;
            const std::vector<float> y = round_trip(type, x, w);
            const double mine = squared_error(x.data(), y.data(), 32, w), least = best_uniform(x.data(), w, format.low, format.high);
            EXPECT_LE(mine, 1.25 * least) << type.name << ", seed " << seed;
            EXPECT_GE(mine, least * (1 - 1e-6)) << "the oracle is wrong: " << type.name << ", seed " << seed;
            own += mine, best += least;
        }
        std::printf("%s: %.4f of the best\n", type.name, own / best);
        EXPECT_LE(own, 1.05 * best) << type.name;
    }
}

// The plain rules: scales from the extremes, no search. Of one block, decoded.
float as_half(double value) {
    const auto single = static_cast<float>(value);
    std::uint16_t half;
    F16::encode(&single, half);
    return from_half(half);
}

// Levels low..high, the signed extreme mapped to `to`.
std::vector<float> plain_uniform(const std::vector<float> &x, double to, double low, double high) {
    double extreme = 0;
    for (const float v : x) extreme = std::fabs(v) > std::fabs(extreme) ? double{v} : extreme;
    const double d = as_half(extreme / to);
    std::vector<float> y;
    for (const float v : x) y.push_back(static_cast<float>(d == 0 ? 0 : d * std::clamp(std::nearbyint(v / d), low, high)));
    return y;
}

// Levels 0..top between a minimum and a maximum.
std::vector<float> plain_line(const std::vector<float> &x, double top) {
    const auto [least, most] = std::minmax_element(x.begin(), x.end());
    const double d = as_half((double{*most} - double{*least}) / top), m = as_half(*least);
    std::vector<float> y;
    for (const float v : x) y.push_back(static_cast<float>(m + (d == 0 ? 0 : d * std::clamp(std::nearbyint((v - m) / d), 0.0, top))));
    return y;
}

// Sub-blocks with scales and minimums of 0..largest times F16s.
std::vector<float> plain_super_block(const std::vector<float> &x, std::size_t sub, double top, double largest) {
    std::vector<double> scales, mins;
    for (std::size_t b = 0; b < x.size(); b += sub) {
        double low = 0, high = 0;
        for (std::size_t i = b; i < b + sub; i++) low = std::min(low, double{x[i]}), high = std::max(high, double{x[i]});
        scales.push_back((high - low) / top), mins.push_back(-low);
    }
    const double d = as_half(*std::max_element(scales.begin(), scales.end()) / largest);
    const double dmin = as_half(*std::max_element(mins.begin(), mins.end()) / largest);
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); i++) {
        const double s = d == 0 ? 0 : d * std::nearbyint(std::min(largest, scales[i / sub] / d));
        const double m = dmin == 0 ? 0 : dmin * std::nearbyint(std::min(largest, mins[i / sub] / dmin));
        y.push_back(static_cast<float>((s == 0 ? 0 : s * std::clamp(std::nearbyint((x[i] + m) / s), 0.0, top)) - m));
    }
    return y;
}

// Sub-blocks of 16 with levels low..high and integer scales least..-least - 1 whose extreme becomes `least`.
std::vector<float> plain_scaled(const std::vector<float> &x, double low, double high, double least) {
    std::vector<double> scales;
    double extreme = 0;
    for (std::size_t b = 0; b < x.size(); b += 16) {
        double most = 0;
        for (std::size_t i = b; i < b + 16; i++) most = std::fabs(x[i]) > std::fabs(most) ? double{x[i]} : most;
        scales.push_back(most / low);
        extreme = std::fabs(scales.back()) > std::fabs(extreme) ? scales.back() : extreme;
    }
    const double d = as_half(extreme / least);
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); i++) {
        const double s = d == 0 ? 0 : d * std::clamp(std::nearbyint(scales[i / 16] / d), least, -least - 1);
        y.push_back(static_cast<float>(s == 0 ? 0 : s * std::clamp(std::nearbyint(x[i] / s), low, high)));
    }
    return y;
}

std::vector<float> plain_rule(DType type, const std::vector<float> &x) {
    switch (type) {
        case DType::q4_0: return plain_uniform(x, -8, -8, 7);
        case DType::q5_0: return plain_uniform(x, -16, -16, 15);
        case DType::q2_0: return plain_uniform(x, 1, -1, 1);
        case DType::tq1_0:
        case DType::tq2_0: return plain_uniform(x, 1, -1, 1);
        case DType::q4_1: return plain_line(x, 15);
        case DType::q5_1: return plain_line(x, 31);
        case DType::q2_K: return plain_super_block(x, 16, 3, 15);
        case DType::q4_K: return plain_super_block(x, 32, 15, 63);
        case DType::q5_K: return plain_super_block(x, 32, 31, 63);
        case DType::q3_K: return plain_scaled(x, -4, 3, -32);
        case DType::q6_K: return plain_scaled(x, -32, 31, -128);
        default: return {};
    }
}

// Unfriendly inputs of n values, by seed: heavy tails, few values, offsets, ranges that differ from element to element.
std::vector<float> unfriendly(std::size_t n, unsigned seed) {
    std::vector<float> x = normal(n, 300 + seed);
    const std::vector<float> other = normal(n, 600 + seed);
    for (std::size_t i = 0; i < n; i++) {
        float &v = x[i];
        switch (seed % 10) {
            case 0: v /= std::fabs(other[i]) + 0.01f; break;                                        // Cauchy
            case 1: v = std::exp(2 * v) * (other[i] < 0 ? -1.0f : 1.0f); break;                     // log-normal
            case 2: v = other[i] > 1.2f ? v : 0; break;                                             // sparse
            case 3: v = 5 + 0.1f * v; break;                                                        // offset
            case 4: v = std::round(4 * v); break;                                                   // integers
            case 5: v *= std::exp2(static_cast<float>(i % 64) / 8); break;                          // growing
            case 6: v = (other[i] < 0 ? -1.0f : 1.0f) + 0.02f * v; break;                           // two clusters
            case 7: v = -std::fabs(v); break;                                                       // one sign
            case 8: v = other[i] > 2 ? 50 * v : v; break;                                           // outliers
            default: v = std::floor(3 * static_cast<float>(i) / static_cast<float>(n)) - 1; break;  // three values
        }
    }
    const float scale = seed % 3 == 0 ? 1.0f : seed % 3 == 1 ? 1e-4f : 300.0f;
    for (float &v : x) v *= scale;
    return x;
}

TEST(Encode, no_worse_than_the_plain_rule) {
    for (const DTypeTraits *type : block_types()) {
        double worst = 0, sum = 0;
        int n = 0;
        unsigned worst_seed = 0;
        for (unsigned seed = 0; seed < static_cast<unsigned>(support::repeats(120, 200)); seed++) {
            const std::vector<float> x = unfriendly(static_cast<std::size_t>(type->block_size), seed), plain = plain_rule(type->type, x);
            if (plain.empty()) break;
            const std::vector<float> own = round_trip(*type, x);
            double whole = 0;
            for (const float v : x) whole += double{v} * double{v};
            // What F32's sums in the search do not see: 2^-22 of the whole.
            const double mine = squared_error(x.data(), own.data(), x.size()), theirs = squared_error(x.data(), plain.data(), x.size());
            // Zeros, and scales beyond F16, which the plain rule does not mind.
            if (whole == 0 || !std::isfinite(theirs)) continue;
            const double ratio = mine / (theirs + whole * 0x1p-22);
            if (ratio > worst) worst = ratio, worst_seed = seed;
            sum += ratio;
            n++;
        }
        if (n == 0) continue;
        std::printf("%-8s mean %.3f worst %.3f (seed %u)\n", type->name, sum / n, worst, worst_seed);
        EXPECT_LE(worst, 1.001) << type->name << ", seed " << worst_seed;
        EXPECT_LE(sum / n, 0.75) << type->name;
    }
}

// What values are hard: the ends of F32, subnormals, single outliers, constants.
std::vector<std::pair<std::string, std::vector<float>>> extremes(std::size_t n) {
    std::vector<std::pair<std::string, std::vector<float>>> all;
    const auto fill = [&](const char *name, auto f) {
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; i++) values[i] = f(i);
        all.emplace_back(name, values);
    };
    const std::vector<float> noise = normal(n, 7);
    const float denormal = std::numeric_limits<float>::denorm_min();
    fill("0", [](std::size_t) { return 0.0f; });
    fill("-0", [](std::size_t) { return -0.0f; });
    fill("both zeros", [](std::size_t i) { return i % 2 ? -0.0f : 0.0f; });
    for (const float c :
         {1.0f, -1.0f, FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, denormal, -denormal, 1e-6f, -1e-7f, 6e-8f, 1e6f, 65504.0f, 1e30f, 1e-30f}) {
        char name[32];
        std::snprintf(name, sizeof name, "%g", static_cast<double>(c));
        fill((std::string("all ") + name).c_str(), [&](std::size_t) { return c; });
        fill((std::string("alternating ") + name).c_str(), [&](std::size_t i) { return i % 2 ? -c : c; });
        fill((std::string("first ") + name).c_str(), [&](std::size_t i) { return i == 0 ? c : 0.0f; });
        fill((std::string("last ") + name).c_str(), [&](std::size_t i) { return i == n - 1 ? c : 0.0f; });
        fill((std::string("one in noise ") + name).c_str(), [&](std::size_t i) { return i == n / 3 ? c : noise[i]; });
        fill((std::string("noise times ") + name).c_str(), [&](std::size_t i) { return std::clamp(noise[i] / 8, -1.0f, 1.0f) * c; });
    }
    fill("every power of two", [](std::size_t i) { return std::ldexp(i % 2 ? 1.0f : -1.0f, static_cast<int>(i % 277) - 149); });
    fill("ramp", [&](std::size_t i) { return static_cast<float>(i) / static_cast<float>(n); });
    fill("large offset", [&](std::size_t i) { return 1000.0f + noise[i]; });
    fill("negative", [&](std::size_t i) { return -std::fabs(noise[i]); });
    return all;
}

TEST(Encode, finite_values_stay_finite_and_no_worse_than_zeros) {
    for (const DTypeTraits *type : block_types()) {
        const auto n = static_cast<std::size_t>(type->block_size);
        for (const auto &[name, x] : extremes(n)) {
            const std::vector<float> y = round_trip(*type, x);
            double zeros = 0;
            for (const float v : x) zeros += double{v} * double{v};
            for (const float v : y) EXPECT_TRUE(std::isfinite(v)) << type->name << ", " << name;
            if (zeros == 0) {
                for (const float v : y) EXPECT_EQ(v, 0) << type->name << ", " << name;
            }
            // F32's sums in the search may be off by 2^-20 of the whole.
            EXPECT_LE(squared_error(x.data(), y.data(), n), zeros * (1 + 1e-6)) << type->name << ", " << name;
        }
    }
}

// What a format can hold exactly it does: constants for those with a scale, two values for those with a minimum.
TEST(Encode, exact_where_the_format_is) {
    for (const DTypeTraits *type : block_types()) {
        if (type->kind == Kind::activation) continue;
        const auto n = static_cast<std::size_t>(type->block_size);
        const std::string name = type->name;
        std::vector<float> x(n, 0.0f);
        x[n / 2] = 1.0f;
        const std::vector<float> y = round_trip(*type, x);
        const bool no_zero = name == "q1_0" || name.rfind("iq1", 0) == 0 || name.rfind("iq2", 0) == 0 || name.rfind("iq3", 0) == 0 ||
                             name.rfind("iq4", 0) == 0;
        if (no_zero) continue;
        EXPECT_LE(squared_error(x.data(), y.data(), n), 1e-6) << name;
    }
}

TEST(Encode, same_bytes_on_every_isa) {
    for (const DTypeTraits *type : block_types()) {
        const auto n = static_cast<std::size_t>(type->block_size);
        std::vector<float> x = normal(3 * n, 3), weights = normal(3 * n, 4);
        for (float &w : weights) w = std::fabs(w);
        for (const auto &[name, values] : extremes(n)) x.insert(x.end(), values.begin(), values.end());
        weights.resize(x.size(), 0.5f);
        for (const float *w : {static_cast<const float *>(nullptr), static_cast<const float *>(weights.data())}) {
            const std::vector<std::uint8_t> want = encoded(*type, x, w);
            for (const Encoder &encoder : encoders(type->type)) {
                std::vector<std::uint8_t> got(want.size(), 0xee);
                EXPECT_EQ(encoder.encode(x.data(), w, got.data(), static_cast<std::int64_t>(x.size())), -1);
                for (std::size_t i = 0; i < want.size(); i++) {
                    ASSERT_EQ(got[i], want[i]) << type->name << " on " << encoder.isa << (w ? ", weighted" : "") << ", block "
                                               << i / type->size;
                }
                // One block at a time, at an odd address.
                std::vector<std::uint8_t> odd(type->size + 1);
                EXPECT_EQ(encoder.encode(x.data() + n, w ? w + n : nullptr, odd.data() + 1, type->block_size), -1);
                EXPECT_EQ(std::memcmp(odd.data() + 1, want.data() + type->size, type->size), 0) << type->name;
            }
        }
    }
}

TEST(Encode, refuses_what_is_not_finite_and_says_where) {
    for (const DTypeTraits *type : block_types()) {
        const auto n = static_cast<std::size_t>(type->block_size);
        for (const Encoder &encoder : encoders(type->type)) {
            for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
                std::vector<float> x = normal(3 * n, 5);
                std::fill_n(x.begin(), n, 0.0f);  // encoded again and again, so let it be quick
                for (std::size_t at = n; at < 2 * n; at++) {
                    const float kept = x[at];
                    x[at] = bad;
                    if (at % 7 == 0) x[2 * n - 1] = NAN;  // the first one counts
                    std::vector<std::uint8_t> blocks(3 * type->size, 0xee);
                    ASSERT_EQ(encoder.encode(x.data(), nullptr, blocks.data(), static_cast<std::int64_t>(x.size())),
                              static_cast<std::int64_t>(at))
                        << type->name << " on " << encoder.isa;
                    for (std::size_t i = type->size; i < blocks.size(); i++) ASSERT_EQ(blocks[i], 0xee) << type->name;
                    x[2 * n - 1] = 1;
                    x[at] = kept;
                }
            }
        }
    }
}

// ---- Plain rules (dtype/encode/rules.hpp), as cpy, cast and set_rows encode

constexpr DType ruled[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::iq4_nl};

std::vector<std::uint8_t> encoded_by_rule(const DTypeTraits &type, const std::vector<float> &values) {
    std::vector<std::uint8_t> blocks(values.size() / static_cast<std::size_t>(type.block_size) * type.size);
    EXPECT_EQ(type.encode_by_rule(values.data(), blocks.data(), static_cast<std::int64_t>(values.size())), -1) << type.name;
    return blocks;
}

std::vector<float> round_trip_by_rule(const DTypeTraits &type, const std::vector<float> &values) {
    std::vector<float> decoded(values.size());
    type.decode(encoded_by_rule(type, values).data(), decoded.data(), static_cast<std::int64_t>(values.size()));
    return decoded;
}

TEST(EncodeByRule, has_the_same_bytes_on_every_isa) {
    for (const DType ruled_type : ruled) {
        const DTypeTraits *type = &traits(ruled_type);
        const auto n = static_cast<std::size_t>(type->block_size);
        // More blocks at once than a register has lanes, and hard ones among them and alone.
        std::vector<float> x = normal(41 * n, 3);
        for (std::size_t i = 0; i < n; i++) x[7 * n + i] = static_cast<float>(i % 16) + 0.5f;  // ties
        for (const auto &[name, values] : extremes(n)) {
            x.insert(x.end(), values.begin(), values.end());
            const std::vector<float> more = normal(37 * n, static_cast<unsigned>(x.size()));
            if (x.size() % 5 == 0) x.insert(x.end(), more.begin(), more.end());
        }
        const std::vector<std::uint8_t> want = encoded_by_rule(*type, x);
        for (const Encoder &encoder : encoders(type->type)) {
            std::vector<std::uint8_t> got(want.size() + 1, 0xee);
            // At an odd address.
            EXPECT_EQ(encoder.encode_by_rule(x.data(), got.data() + 1, static_cast<std::int64_t>(x.size())), -1);
            for (std::size_t i = 0; i < want.size(); i++)
                ASSERT_EQ(got[i + 1], want[i]) << type->name << " on " << encoder.isa << ", block " << i / type->size;
        }
    }
}

TEST(EncodeByRule, is_the_search_for_types_without_one) {
    for (const DTypeTraits *type : block_types()) {
        if (std::find(std::begin(ruled), std::end(ruled), type->type) != std::end(ruled)) continue;
        const std::vector<float> x = normal(2 * static_cast<std::size_t>(type->block_size), 6);
        EXPECT_EQ(encoded_by_rule(*type, x), encoded(*type, x)) << type->name;
    }
}

TEST(EncodeByRule, has_the_errors_of_the_reference) {
    const support::Vectors &vectors = support::quant_vectors();
    TL_SKIP_WITHOUT_VECTORS(vectors);
    const std::vector<float> x = vectors.get<float>("x");
    const std::size_t columns = 1024;
    for (const DType type : ruled) {
        const std::string name = traits(type).name;
        const std::vector<float> reference = vectors.get<float>(name + ".y"), own = round_trip_by_rule(traits(type), x);
        for (std::size_t r = 0; r < x.size() / columns; r++) {
            const double mine = squared_error(&x[r * columns], &own[r * columns], columns);
            const double theirs = squared_error(&x[r * columns], &reference[r * columns], columns);
            // The reference's values of iq4_nl are from a search.
            EXPECT_LE(mine, (type == DType::iq4_nl ? 1.05 : 1.02) * theirs) << name << ", row " << r;
        }
    }
}

TEST(EncodeByRule, keeps_hard_values_finite_and_no_worse_than_zeros) {
    for (const DType type : ruled) {
        for (const auto &[name, x] : extremes(32)) {
            const std::vector<float> y = round_trip_by_rule(traits(type), x);
            double zeros = 0, error = 0;
            for (std::size_t i = 0; i < x.size(); i++) {
                EXPECT_TRUE(std::isfinite(y[i])) << traits(type).name << ", " << name;
                zeros += double{x[i]} * double{x[i]};
                error += (double{x[i]} - double{y[i]}) * (double{x[i]} - double{y[i]});
            }
            EXPECT_LE(error, zeros) << traits(type).name << ", " << name;
        }
    }
}

TEST(EncodeByRule, refuses_what_is_not_finite_and_says_where) {
    for (const DType type : ruled) {
        for (const Encoder &encoder : encoders(type)) {
            for (const std::size_t at : {std::size_t{0}, std::size_t{31}, std::size_t{32 * 18 + 5}, std::size_t{32 * 40 - 1}}) {
                for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
                    std::vector<float> x = normal(32 * 40, 5);
                    x[at] = bad;
                    x.back() = NAN;  // the first one counts
                    std::vector<std::uint8_t> blocks(40 * traits(type).size);
                    ASSERT_EQ(encoder.encode_by_rule(x.data(), blocks.data(), 32 * 40), static_cast<std::int64_t>(at))
                        << traits(type).name << " on " << encoder.isa;
                }
            }
        }
    }
}

TEST(EncodeByRule, of_halves_is_exact_on_every_isa) {
    std::vector<float> x;
    for (std::uint32_t i = 0; i < 0x10000; i++) {
        for (const std::uint32_t low : {0u, 0x0fffu, 0x1000u, 0x1001u, 0x8000u}) {
            const std::uint32_t bits = i << 16 | low;
            float value;
            std::memcpy(&value, &bits, sizeof value);
            x.push_back(value);
        }
    }
    std::vector<std::uint16_t> want(x.size()), got(x.size());
    for (std::size_t i = 0; i < x.size(); i++) traits(DType::f16).encode(&x[i], nullptr, &want[i], 1);
    for (const Encoder &encoder : encoders(DType::f16)) {
        ASSERT_EQ(encoder.encode(x.data(), nullptr, got.data(), static_cast<std::int64_t>(x.size())), -1);
        EXPECT_EQ(got, want) << encoder.isa;
        ASSERT_EQ(encoder.encode_by_rule(x.data(), got.data(), static_cast<std::int64_t>(x.size())), -1);
        EXPECT_EQ(got, want) << encoder.isa;
    }
}

TEST(Encode, weights_of_one_are_none) {
    for (const DTypeTraits *type : block_types()) {
        const std::vector<float> x = normal(static_cast<std::size_t>(4 * type->block_size), 9);
        const std::vector<float> ones(x.size(), 1.0f), zeros(x.size(), 0.0f);
        const std::vector<std::uint8_t> want = encoded(*type, x);
        EXPECT_EQ(encoded(*type, x, ones.data()), want) << type->name;
        EXPECT_EQ(encoded(*type, x, zeros.data()), want) << type->name;
    }
}

TEST(Encode, weights_are_followed) {
    for (const DTypeTraits *type : block_types()) {
        if (type->kind == Kind::activation) continue;
        const auto n = static_cast<std::size_t>(type->block_size);
        double followed = 0, ignored = 0, one_followed = 0, one_ignored = 0;
        for (unsigned seed = 0; seed < 8; seed++) {
            const std::vector<float> x = normal(n, 20 + seed);
            std::vector<float> weights = normal(n, 40 + seed);
            for (float &w : weights) w = w * w;
            const std::vector<float> plain = round_trip(*type, x), weighted = round_trip(*type, x, weights.data());
            followed += squared_error(x.data(), weighted.data(), n, weights.data());
            ignored += squared_error(x.data(), plain.data(), n, weights.data());
            // Extremes of weights: all but one element hardly count.
            std::vector<float> one(n, seed % 2 ? 1e-20f : 0.0f);
            const std::size_t at = (seed * 37 + 5) % n;
            one[at] = seed % 2 ? 1e20f : 1.0f;
            const std::vector<float> sharp = round_trip(*type, x, one.data());
            for (const float v : sharp) ASSERT_TRUE(std::isfinite(v)) << type->name;
            one_followed += squared_error(&x[at], &sharp[at], 1);
            one_ignored += squared_error(&x[at], &plain[at], 1);
        }
        EXPECT_LE(followed, 1.02 * ignored) << type->name;
        // E8M0 and UE4M3 scales are too coarse to meet a value.
        const bool coarse = type->type == DType::mxfp4 || type->type == DType::nvfp4;
        EXPECT_LE(one_followed, (coarse ? 1.0 : 0.1) * one_ignored) << type->name;
    }
}

// The rule of Q8_0 and Q8_1: dd = largest / 127, ties away from zero; of Q8_K: the extreme becomes -127, ties to even.
TEST(Encode, eight_bit_types_keep_to_the_rule) {
    for (unsigned seed = 0; seed < 200; seed++) {
        const std::vector<float> x = normal(256, 100 + seed, std::ldexp(1.0f, static_cast<int>(seed % 16) - 6));
        std::vector<Q8_0::Block> q8_0(8);
        std::vector<Q8_1::Block> q8_1(8);
        Q8_K::Block q8_K;
        EXPECT_EQ(traits(DType::q8_0).encode(x.data(), nullptr, q8_0.data(), 256), -1);
        EXPECT_EQ(traits(DType::q8_1).encode(x.data(), nullptr, q8_1.data(), 256), -1);
        EXPECT_EQ(traits(DType::q8_K).encode(x.data(), nullptr, &q8_K, 256), -1);
        for (std::size_t b = 0; b < 8; b++) {
            float largest = 0;
            for (std::size_t i = 0; i < 32; i++) largest = std::max(largest, std::fabs(x[32 * b + i]));
            const float dd = largest / 127, inverse = 1 / dd;
            std::uint16_t d, s;
            F16::encode(&dd, d);
            int sum = 0;
            for (std::size_t i = 0; i < 32; i++) {
                const double code = std::round(double{x[32 * b + i] * inverse});
                EXPECT_EQ(q8_0[b].qs[i], code);
                EXPECT_EQ(q8_1[b].qs[i], code);
                sum += q8_0[b].qs[i];
            }
            const float total = static_cast<float>(sum) * dd;
            F16::encode(&total, s);
            EXPECT_EQ(q8_0[b].d, d);
            EXPECT_EQ(q8_1[b].d, d);
            EXPECT_EQ(q8_1[b].s, s);
        }
        float extreme = 0;
        for (const float v : x) extreme = std::fabs(v) > std::fabs(extreme) ? v : extreme;
        const float inverse = -127 / extreme;
        EXPECT_EQ(q8_K.d, 1 / inverse);
        for (std::size_t g = 0; g < 16; g++) {
            int sum = 0;
            for (std::size_t i = 16 * g; i < 16 * g + 16; i++) {
                EXPECT_EQ(q8_K.qs[i], std::min(127.0, std::nearbyint(double{x[i] * inverse})));
                sum += q8_K.qs[i];
            }
            EXPECT_EQ(q8_K.bsums[g], sum);
        }
    }
}

// The public function against the traits', at any number of threads, with rows that chunks (of 16384 elements) cut anywhere.
TEST(Quantize, same_bytes_at_any_number_of_threads) {
    for (const DType dtype : {DType::q8_0, DType::q4_K, DType::mxfp4, DType::iq4_nl, DType::q1_0, DType::f16}) {
        const DTypeTraits &type = traits(dtype);
        const std::size_t n_per_row = 768, n_rows = 100;
        const std::vector<float> x = normal(n_per_row * n_rows, 50);
        std::vector<float> importance = normal(n_per_row, 51), repeated;
        for (float &w : importance) w = std::fabs(w);
        for (std::size_t r = 0; r < n_rows; r++) repeated.insert(repeated.end(), importance.begin(), importance.end());
        const auto tl_type = static_cast<tl::Type>(dtype);
        const std::vector<std::uint8_t> plain = encoded(type, x), weighted = encoded(type, x, repeated.data());
        const auto same = [&](const std::vector<std::byte> &got, const std::vector<std::uint8_t> &want) {
            return got.size() == want.size() && std::memcmp(got.data(), want.data(), want.size()) == 0;
        };
        EXPECT_TRUE(same(tl::quantize(tl_type, x, n_per_row), plain)) << type.name;
        EXPECT_TRUE(same(tl::quantize(tl_type, x, n_per_row, importance), weighted)) << type.name;
        for (int threads = 1; threads <= 8; threads++) {
            const tl::Backend cpu("cpu", {.n_threads = threads});
            EXPECT_TRUE(same(cpu.quantize(tl_type, x, n_per_row), plain)) << type.name << ", threads: " << threads;
            EXPECT_TRUE(same(cpu.quantize(tl_type, x, n_per_row, importance), weighted)) << type.name << ", threads: " << threads;
        }
        const std::vector<std::byte> blocks = tl::quantize(tl_type, x, n_per_row);
        EXPECT_EQ(tl::dequantize(tl_type, blocks), decoded(type, plain)) << type.name;
    }
}

TEST(Quantize, the_first_bad_value_is_named_whatever_thread_meets_it) {
    std::vector<float> x = normal(1024 * 512, 60);
    const tl::Backend cpu("cpu", {.n_threads = 4});
    for (const std::size_t at : {x.size() - 1, std::size_t{300 * 1024 + 1}, std::size_t{70 * 1024 + 1023}, std::size_t{17}}) {
        x[at] = NAN;  // later bad values stay
        const std::string position = "value " + std::to_string(at % 1024) + " of row " + std::to_string(at / 1024) + " is nan";
        for (int repeat = 0; repeat < support::repeats(5, 100); repeat++) {
            support::expect_error(tl::Status::invalid_argument, {"backend_quantize", position, "q8_0 holds finite numbers only"},
                                  [&] { (void)cpu.quantize(tl::Type::q8_0, x, 1024); });
        }
        support::expect_error(tl::Status::invalid_argument, {"quantize", position}, [&] { (void)tl::quantize(tl::Type::q8_0, x, 1024); });
    }
}

TEST(Quantize, the_isa_is_TENSORLIB_ISA) {
    const std::vector<float> x = normal(256, 61);
    const std::vector<std::byte> want = tl::quantize(tl::Type::q4_K, x, 256);
    for (const std::string &isa : support::isas()) {
        const support::Environment environment("TENSORLIB_ISA", isa.c_str());
        EXPECT_EQ(tl::quantize(tl::Type::q4_K, x, 256), want);
        EXPECT_EQ(tl::dequantize(tl::Type::q4_K, want).size(), x.size());
    }
    const support::Environment environment("TENSORLIB_ISA", "abacus");
    support::expect_error(tl::Status::invalid_argument, {"quantize", "abacus"}, [&] { (void)tl::quantize(tl::Type::q4_K, x, 256); });
    support::expect_error(tl::Status::invalid_argument, {"dequantize", "abacus"}, [&] { (void)tl::dequantize(tl::Type::q4_K, want); });
}

TEST(Quantize, lengths_must_fit) {
    const std::vector<float> x(512, 1.0f);
    std::vector<std::byte> blocks(2 * 144);
    std::vector<float> back(512);
    using tl::Type;
    const auto refused = [](const char *word, const std::function<void()> &f) {
        support::expect_error(tl::Status::invalid_argument, {word}, f);
    };
    refused("no whole rows of 500", [&] { (void)tl::quantize(Type::q4_K, x, 500); });
    refused("no whole rows of -1", [&] { (void)tl::quantize(Type::q4_K, x, -1); });
    refused("a multiple of 256", [&] { (void)tl::quantize(Type::q4_K, x, 128); });
    refused("256 weights", [&] { (void)tl::quantize(Type::q4_K, x, 512, std::span(x).first(256)); });
    refused("144 bytes", [&] { tl::quantize_into(Type::q4_K, x, 256, std::span(blocks).first(144)); });
    refused("287 bytes", [&] { tl::dequantize_into(Type::q4_K, std::span(blocks).first(287), back); });
    refused("143 bytes", [&] { (void)tl::dequantize(Type::q4_K, std::span(blocks).first(143)); });
    refused("no type 99", [&] { (void)tl::quantize(static_cast<Type>(99), x, 512); });
    tl::quantize_into(Type::q4_K, x, 256, blocks);
    tl::dequantize_into(Type::q4_K, blocks, back);
    EXPECT_TRUE(tl::quantize(Type::q4_K, {}, 256).empty());
    EXPECT_TRUE(tl::dequantize(Type::q4_K, {}).empty());
}

}  // namespace
