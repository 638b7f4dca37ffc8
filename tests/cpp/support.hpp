// Shared by all tests: inputs, oracles in double, and expectations of errors.
#pragma once

#include <gtest/gtest.h>

#include "cpu/dispatch.hpp"

#include <tensorlib/tensorlib.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace tl = tensorlib;

namespace support {

// How often: a few times for every change, many times with TENSORLIB_DEEP=1 (cargo xtask test --deep).
inline int repeats(int few, int many) {
    const char *deep = std::getenv("TENSORLIB_DEEP");
    return deep && *deep && *deep != '0' ? many : few;
}

// Multiples of 1/512 in [-4, 4), from the index and a seed: the generator of tests/cases/README.md.
inline float value(std::uint32_t seed, std::uint32_t i) {
    std::uint32_t x = i ^ (seed * 0x9E3779B1u);
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    x ^= x >> 16;
    return static_cast<float>(static_cast<int>((x >> 8) % 4096) - 2048) / 512.0f;
}

inline tl::Tensor leaf(const tl::Context &ctx, const tl::Shape &shape, std::uint32_t seed, tl::Type type = tl::Type::f32) {
    tl::Tensor t = ctx.zeros(type, shape);
    std::vector<float> values(static_cast<std::size_t>(t.n_elements()));
    for (std::size_t i = 0; i < values.size(); i++) values[i] = value(seed, static_cast<std::uint32_t>(i));
    t.write_f32(values);
    return t;
}

// Runs f, which must throw an Error of this code whose message has all these words.
inline void expect_error(tl::Status code, const std::vector<std::string> &words, const std::function<void()> &f) {
    try {
        f();
        FAIL() << "nothing was thrown; expected status " << static_cast<int>(code);
    } catch (const tl::Error &error) {
        EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
        for (const std::string &word : words) {
            EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << "'" << word << "' is not in: " << error.what();
        }
    }
}

// Sets an environment variable until the end of the scope.
class Environment {
public:
    Environment(const char *name, const char *value) : name_(name) {
        const char *old = std::getenv(name);
        had_ = old != nullptr;
        if (had_) old_ = old;
        setenv(name, value, 1);
    }
    ~Environment() {
        if (had_) {
            setenv(name_, old_.c_str(), 1);
        } else {
            unsetenv(name_);
        }
    }
    Environment(const Environment &) = delete;
    Environment &operator=(const Environment &) = delete;

private:
    const char *name_;
    bool had_;
    std::string old_;
};

// The ISA asked for by TENSORLIB_ISA alone, or all that this CPU has.
inline std::vector<std::string> isas() {
    if (const char *asked = std::getenv("TENSORLIB_ISA"); asked && *asked) return {asked};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < tl::core::isa_count(); i++) names.emplace_back(tl::core::isa_at(i).name);
    return names;
}

inline tl::Backend backend(const std::string &isa, int n_threads) {
    const Environment chosen("TENSORLIB_ISA", isa.c_str());
    return tl::Backend("cpu", {n_threads});
}

// The matrix product in double, with the bound of its error in F32: a sum of k products of magnitude S in all, in any
// order and with or without fused multiply-adds, is off by at most gamma_(k+1) S, gamma_k = k u / (1 - k u), u = 2^-24.
struct Expected {
    std::vector<double> value, bound;
};

// How a product may have rounded b:
// - not at all;
// - to BF16, by up to 2^-8 of each element;
// - to 16 bits with a scale for each 256 of k, which is largest / 32512, by up to half a scale;
// - to 8 bits, by up to a 127th of the largest of its span or of a 16th of the largest of 256, and by no more than half of a 127th of
//   the largest of 256. The enumerator's number is the span: 32 of k, for some types more.
enum class Rounded { no, to_bf16, to_words, to_bytes = 32, to_bytes_by_64 = 64, to_bytes_by_128 = 128, to_bytes_by_256 = 256 };

// The largest error that rounding to whole numbers may give each element of a column. A scale, its inverse and the product with it are
// rounded as well, which costs 2^-12 of it in all.
inline std::vector<double> roundings(const float *column, std::int64_t K, Rounded rounded) {
    std::vector<double> off(static_cast<std::size_t>(K), 0.0);
    if (rounded == Rounded::no || rounded == Rounded::to_bf16) return off;
    const auto largest = [&](std::int64_t begin, std::int64_t n) {
        double of = 0;
        for (std::int64_t k = begin; k < std::min(K, begin + n); k++) of = std::max(of, std::fabs(double{column[k]}));
        return of;
    };
    const std::int64_t span = static_cast<int>(rounded);
    for (std::int64_t k = 0; k < K; k++) {
        const double of_256 = largest(k / 256 * 256, 256);
        double most = of_256 / (2 * 32512);
        if (rounded != Rounded::to_words) most = std::min(of_256 / 254, std::max(largest(k / span * span, span), of_256 / 16) / 127);
        off[static_cast<std::size_t>(k)] = most * (1 + 0x1p-12);
    }
    return off;
}

// Appends the products of a packed matrix {K, M} and a column.
inline void append_column(Expected &e, const float *matrix, const float *column, std::int64_t K, std::int64_t M, Rounded rounded) {
    const double u = std::ldexp(1.0, -24), k1 = static_cast<double>(K + 1);
    const double gamma = k1 * u / (1 - k1 * u);
    const std::vector<double> off = roundings(column, K, rounded);
    for (std::int64_t m = 0; m < M; m++) {
        double sum = 0, magnitude = 0, rounding = 0;
        const float *row = matrix + K * m;
        for (std::int64_t k = 0; k < K; k++) {
            const double product = double{row[k]} * double{column[k]};
            sum += product;
            magnitude += std::fabs(product);
            rounding += std::fabs(double{row[k]}) * off[static_cast<std::size_t>(k)];
        }
        if (rounded == Rounded::to_bf16) rounding = std::ldexp(magnitude, -8);
        e.value.push_back(sum);
        // BF16 products take subnormals as zeros.
        e.bound.push_back(gamma * (magnitude + rounding) + rounding + std::ldexp(k1, -126));
    }
}

// a {k, m, x, y}, b {k, n, X, Y}, both packed.
inline Expected mul_mat(const std::vector<float> &a, const std::array<std::int64_t, 4> &na, const std::vector<float> &b,
                        const std::array<std::int64_t, 4> &nb, Rounded rounded = Rounded::no) {
    const auto K = na[0], M = na[1], N = nb[1];
    Expected e;
    for (std::int64_t i3 = 0; i3 < nb[3]; i3++) {
        for (std::int64_t i2 = 0; i2 < nb[2]; i2++) {
            const std::int64_t a2 = i2 * na[2] / nb[2], a3 = i3 * na[3] / nb[3];
            for (std::int64_t n = 0; n < N; n++) {
                append_column(e, a.data() + K * M * (a2 + na[2] * a3), b.data() + K * (n + N * (i2 + nb[2] * i3)), K, M, rounded);
            }
        }
    }
    return e;
}

// a {k, m, experts}, b {k, x, tokens}, ids {used, tokens}, all packed.
inline Expected mul_mat_id(const std::vector<float> &a, const std::array<std::int64_t, 4> &na, const std::vector<float> &b,
                           const std::array<std::int64_t, 4> &nb, const std::vector<float> &ids, Rounded rounded = Rounded::no) {
    const auto K = na[0], M = na[1];
    const std::int64_t slots = static_cast<std::int64_t>(ids.size()), used = nb[2] == 0 ? 0 : slots / nb[2];
    Expected e;
    for (std::int64_t slot = 0; slot < slots; slot++) {
        const auto expert = static_cast<std::int64_t>(ids[static_cast<std::size_t>(slot)]);
        if (expert == -1) {
            e.value.insert(e.value.end(), static_cast<std::size_t>(M), 0.0);
            e.bound.insert(e.bound.end(), static_cast<std::size_t>(M), 0.0);
            continue;
        }
        append_column(e, a.data() + K * M * expert, b.data() + K * (slot % used % nb[1] + nb[1] * (slot / used)), K, M, rounded);
    }
    return e;
}

// The first value out of its bound, as a message; empty where there is none.
inline std::string first_wrong(const std::vector<float> &got, const Expected &want) {
    if (got.size() != want.value.size()) return "sizes " + std::to_string(got.size()) + " and " + std::to_string(want.value.size());
    for (std::size_t i = 0; i < got.size(); i++) {
        const double g = static_cast<double>(got[i]), w = want.value[i];
        const bool same = (std::isnan(g) && std::isnan(w)) || g == w || std::fabs(g - w) <= want.bound[i];
        if (!same) {
            char text[160];
            std::snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g to within %.3g", i, g, w, want.bound[i]);
            return text;
        }
    }
    return {};
}

}  // namespace support
