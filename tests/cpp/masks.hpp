// Rules of sparse products, and the neurons that they let through, for their tests.
#pragma once

#include "blocks.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

namespace support::masks {

namespace core = tl::core;

using Random = std::mt19937;
using Rows = std::vector<std::int32_t>;
constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

enum class By { score, magnitude, positive };
struct Rule {
    By by;
    float threshold;
    bool active(float s, bool of_itself = false) const {
        if (std::isnan(s)) return of_itself;
        return by == By::positive ? s > 0 : (by == By::magnitude ? std::fabs(s) : s) >= threshold;
    }
    tl::MulMatSparseOptions products() const { return {.by = static_cast<tl::SparseBy>(by), .threshold = threshold}; }
    tl::AxpyOptions sums() const { return {.by = static_cast<tl::SparseBy>(by), .threshold = threshold}; }
};
// A rule for values in [-4, 4) that makes `share` of them active. The threshold is a possible value, so that ties occur.
inline Rule rule_of(By by, double share) {
    return {by, by == By::positive ? 0 : static_cast<float>(std::round((by == By::magnitude ? 4 - 4 * share : 4 - 8 * share) * 512) / 512)};
}

// Some special ones among them: what the rule is there for.
inline tl::Tensor scores_of(const tl::Context &ctx, std::int64_t n, std::int64_t tokens, unsigned seed, bool special) {
    tl::Tensor t = leaf(ctx, {n, tokens}, seed);
    if (!special) return t;
    std::vector<float> values = t.read_f32();
    Random random(seed);
    for (float &value : values) {
        constexpr float some[] = {nan, inf, -inf, 0, -0.0f};
        if (random() % 16 == 0) value = some[random() % 5];
    }
    t.write_f32(values);
    return t;
}

// Rows of these neurons: `count` of n, spread over them, always the same.
inline Rows some_rows(std::int64_t count, std::int64_t n) {
    Rows rows;
    for (std::int64_t i = 0; i < count; i++) rows.push_back(static_cast<std::int32_t>(i * n / std::max<std::int64_t>(count, 1)));
    return rows;
}
inline std::vector<std::int64_t> places(const std::optional<Rows> &rows, std::int64_t n) {
    std::vector<std::int64_t> of(static_cast<std::size_t>(n), rows ? -1 : 0);
    for (std::size_t i = 0; i < of.size() && !rows; i++) of[i] = static_cast<std::int64_t>(i);
    for (std::size_t row = 0; rows && row < rows->size(); row++)
        of[static_cast<std::size_t>((*rows)[row])] = static_cast<std::int64_t>(row);
    return of;
}
inline std::optional<tl::Tensor> numbers(const tl::Context &ctx, const std::optional<Rows> &rows) {
    if (!rows) return std::nullopt;
    const tl::Tensor t = ctx.zeros(tl::Type::i32, {static_cast<std::int64_t>(rows->size())});
    t.write<std::int32_t>(*rows);
    return t;
}

// What weights may be, but for F32.
inline std::vector<core::DType> weights_and_floats() {
    std::vector<core::DType> all = weights();
    all.insert(all.end(), {core::DType::f16, core::DType::bf16, core::DType::f64});
    return all;
}

inline void expect_zeros_without_a_sign(const std::vector<float> &got, const Expected &want) {
    for (std::size_t i = 0; i < got.size(); i++) {
        if (want.bound[i] == 0 && want.value[i] == 0) {
            EXPECT_FALSE(std::signbit(got[i])) << "element " << i;
        }
    }
}

// Sums in double: n terms and a sum for each 128 of them, in F32 off by at most gamma of as many roundings, times their magnitudes.
inline Expected sums(const tl::Tensor &a, const tl::Tensor &h, const std::optional<tl::Tensor> &scores, const Rule &rule,
                     const std::optional<Rows> &rows) {
    const std::int64_t K = a.shape()[0], n = h.shape()[0], tokens = h.shape()[1];
    const std::vector<float> av = a.read_f32(), hv = h.read_f32(), sv = scores ? scores->read_f32() : hv;
    const std::vector<std::int64_t> place = places(rows, n);
    const double k1 = static_cast<double>(n + n / 128 + 2), u = 0x1p-24, gamma = k1 * u / (1 - k1 * u);
    Expected e;
    for (std::int64_t t = 0; t < tokens; t++) {
        std::vector<double> total(static_cast<std::size_t>(K)), size(total.size());
        for (std::int64_t i = 0; i < n; i++) {
            const std::int64_t row = place[static_cast<std::size_t>(i)];
            const float weight = hv[static_cast<std::size_t>(i + t * n)];
            if (row < 0 || weight == 0 || !rule.active(sv[static_cast<std::size_t>(i + t * n)], !scores)) continue;
            for (std::int64_t k = 0; k < K; k++) {
                const double product = double{weight} * double{av[static_cast<std::size_t>(k + row * K)]};
                total[static_cast<std::size_t>(k)] += product;
                size[static_cast<std::size_t>(k)] += std::fabs(product);
            }
        }
        for (std::size_t k = 0; k < total.size(); k++) {
            e.value.push_back(total[k]);
            e.bound.push_back(size[k] == 0 ? 0 : gamma * size[k] + k1 * 0x1p-126);
        }
    }
    return e;
}

// The graph of c on every ISA at 1 to 8 threads, within what `want(graph, isa)` says, and of the same bits.
template <class Want>
void expect_on_all(const tl::Tensor &c, const std::string &what, Want want) {
    const tl::Graph graph({c});
    for (const std::string &isa : isas()) {
        const Expected expected = want(graph, isa);
        std::vector<float> first;
        for (const int threads : {1, 2, 3, 8}) {
            graph.compute(backend(isa, threads));
            const auto got = c.read<float>();
            ASSERT_EQ(first_wrong(got, expected), "") << what << ", " << isa << ", " << threads << " threads";
            expect_zeros_without_a_sign(got, expected);
            if (first.empty()) first = got;
            // (memcmp: NaNs are equal by their bits.)
            EXPECT_TRUE(got.empty() || std::memcmp(got.data(), first.data(), got.size() * sizeof(float)) == 0)
                << what << ": the bits depend on the number of threads: " << isa << ", " << threads;
        }
    }
}

}  // namespace support::masks
