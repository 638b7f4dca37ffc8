// What the tests of pooling, upscaling and convolutions share: random calls, each with an oracle in double of every element of the result
// and a bound of its error, over leafs, intermediates and views.
#pragma once

#include "moves.hpp"

#include <limits>

namespace convolutions {

using namespace moves;

constexpr double u = 0x1p-24;

// What an element is to be, and by how much it may be off before it is rounded to the result's type.
struct Wanted {
    double value, bound;
};

struct Call {
    std::vector<Tensor *> src{};
    std::vector<Attr> attrs{};
    DType type{};
    Ne ne{};
    std::function<Wanted(const Ne &)> want{};
};

// An operand's values, by its indices.
class Values {
public:
    explicit Values(const Tensor *t) : ne_(t->layout.ne), values_(values_of(t)) {}
    double at(const Ne &i) const {
        return static_cast<double>(values_[static_cast<std::size_t>(i[0] + ne_[0] * (i[1] + ne_[1] * (i[2] + ne_[2] * i[3])))]);
    }

private:
    Ne ne_;
    std::vector<float> values_;
};

// An operand of multiples of 1/512 in [-4, 4), or, with `special`, a few infinities and NaN among them.
inline Tensor *floats(Builder &build, DType type, const Ne &ne, Random &random, bool special = false) {
    Tensor *t = build.operand(type, ne, random);
    Tensor *leaf = t->op == Op::dup ? t->src[0] : t->root;
    std::vector<float> values(static_cast<std::size_t>(leaf->layout.n_elements()));
    const auto seed = static_cast<std::uint32_t>(random());
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < values.size(); i++) {
        values[i] = support::value(seed, static_cast<std::uint32_t>(i));
        if (special && random() % 16 == 0) values[i] = one_of(random, std::array<float, 4>{inf, -inf, std::nanf(""), -0.0f});
    }
    core::write_f32(*leaf, values.data(), values.size());
    return t;
}

// One dimension's windows.
struct Windows {
    std::int64_t n, k, s, p, d;
    std::int64_t out() const { return (n + 2 * p - (k - 1) * d - 1) / s + 1; }
};
// Small ones of all kinds; rows that are long now and then.
inline Windows draw_windows(Random &random, std::int64_t n, bool dilated, bool pools) {
    Windows w{n, 1 + below(random, 5), 1 + below(random, 4), 0, dilated ? 1 + below(random, 3) : 1};
    w.p = pools ? below(random, w.k) : below(random, 4);
    w.k = std::max<std::int64_t>(1, std::min(w.k, (n + 2 * w.p - 1) / w.d + 1));
    if (pools) w.p = std::min(w.p, w.k - 1);
    return w;
}

// ---- Pooling and upscaling

inline Call draw_pool(Builder &build, Random &random, bool flat, bool large) {
    const DType type = one_of(random, float_types);
    Ne a{1 + below(random, 40), 1 + below(random, 9), below(random, 4), 1 + below(random, 2)};
    if (random() % 4 == 0) a = {1000 + below(random, 1500), 1 + below(random, 3), 1, 1};
    if (large) a = {300 + below(random, 60), 100 + below(random, 10), 20, 2};
    Windows x = draw_windows(random, a[0], false, true), y = flat ? Windows{1, 1, 1, 0, 1} : draw_windows(random, a[1], false, true);
    // A window of all there is, and one that is longer than what kernels take at a time.
    if (!large && random() % 4 == 0) x = {a[0], a[0], 1, a[0] > 1 ? a[0] / 3 : 0, 1};
    const bool average = random() % 2 == 0, other = random() % 2 == 0, counts = other == flat;
    std::vector<Attr> attrs{Attr::of_text("op", average ? "avg" : "max")};
    const auto give = [&](const char *k, const char *s, const char *p, const Windows &w) {
        attrs.push_back(Attr::of_int(k, w.k));
        if (w.s != w.k || random() % 2 == 0) attrs.push_back(Attr::of_int(s, w.s));
        if (w.p > 0) attrs.push_back(Attr::of_int(p, w.p));
    };
    if (flat) {
        give("k", "s", "p", x);
    } else {
        give("k0", "s0", "p0", x), give("k1", "s1", "p1", y);
    }
    attrs.push_back(Attr::of_int(flat ? "count_padding" : "skip_padding", other));
    Tensor *t = floats(build, type, a, random, random() % 3 == 0);
    Ne ne{x.out(), flat ? a[1] : y.out(), a[2], a[3]};
    return {{t}, attrs, type, ne, [=, values = Values(t)](const Ne &i) {
                double most = -std::numeric_limits<double>::infinity(), sum = 0, size = 0, count = 0;
                for (std::int64_t ty = 0; ty < y.k; ty++) {
                    for (std::int64_t tx = 0; tx < x.k; tx++) {
                        const std::int64_t ax = i[0] * x.s + tx - x.p, ay = flat ? i[1] : i[1] * y.s + ty - y.p;
                        if (ax < 0 || ax >= a[0] || ay < 0 || ay >= a[1]) continue;
                        const double value = values.at({ax, ay, i[2], i[3]});
                        most = std::isnan(most) || std::isnan(value) ? std::nan("") : std::max(most, value);
                        sum += value, size += std::fabs(value), count++;
                    }
                }
                if (!average) return Wanted{most, 0};
                const double divisor = counts ? static_cast<double>(x.k * y.k) : count;
                return Wanted{sum / divisor, (count + 2) * 0x1p-52 * size / divisor};
            }};
}

inline Call draw_pool_1d(Builder &build, Random &random, bool large) { return draw_pool(build, random, true, large); }
inline Call draw_pool_2d(Builder &build, Random &random, bool large) { return draw_pool(build, random, false, large); }

// The pixels on both sides and the second one's part, by PyTorch's words: coordinates of centres, none below 0.
struct Mixture {
    std::int64_t first, second;
    double part;
};
inline Mixture mixture(std::int64_t pixel, std::int64_t factor, std::int64_t n) {
    const double at = std::max(0.0, (static_cast<double>(pixel) + 0.5) / static_cast<double>(factor) - 0.5);
    const auto first = static_cast<std::int64_t>(at);
    return {first, std::min(first + 1, n - 1), at - static_cast<double>(first)};
}

inline Call draw_upscale(Builder &build, Random &random, bool large) {
    const DType type = one_of(random, float_types);
    Ne a{1 + below(random, 20), 1 + below(random, 9), below(random, 4), 1 + below(random, 2)};
    if (random() % 4 == 0) a = {500 + below(random, 1500), 1 + below(random, 3), 1, 1};
    if (large) a = {200 + below(random, 60), 100 + below(random, 10), 10, 2};
    const std::int64_t factor = random() % 8 == 0 ? 1500 / a[0] + 1 : 1 + below(random, 5);
    const bool bilinear = random() % 2 == 0;
    Tensor *t = floats(build, type, a, random, !bilinear && random() % 3 == 0);
    std::vector<Attr> attrs{Attr::of_int("factor", factor)};
    if (bilinear || random() % 2 == 0) attrs.push_back(Attr::of_text("mode", bilinear ? "bilinear" : "nearest"));
    return {{t}, attrs, type, {a[0] * factor, a[1] * factor, a[2], a[3]}, [=, values = Values(t)](const Ne &i) {
                if (!bilinear) return Wanted{values.at({i[0] / factor, i[1] / factor, i[2], i[3]}), 0};
                const Mixture x = mixture(i[0], factor, a[0]), y = mixture(i[1], factor, a[1]);
                double sum = 0, size = 0;
                for (int which = 0; which < 4; which++) {
                    const double part = (which & 1 ? x.part : 1 - x.part) * (which & 2 ? y.part : 1 - y.part);
                    const double value = values.at({which & 1 ? x.second : x.first, which & 2 ? y.second : y.first, i[2], i[3]});
                    sum += part * value, size += part * std::fabs(value);
                }
                // Each of the two mixtures: its part, 1 - part, two products and a sum are rounded.
                return Wanted{sum, 8 * u * size};
            }};
}

// ---- Running them

struct Operation {
    Op op;
    Call (*draw)(Builder &, Random &, bool large);
};
inline void PrintTo(const Operation &operation, std::ostream *out) { *out << core::op_name(operation.op); }

inline constexpr Operation all_operations[] = {
    {Op::upscale, draw_upscale},
    {Op::pool_1d, draw_pool_1d},
    {Op::pool_2d, draw_pool_2d},
};

// By how much a value may be off once it is rounded to a type.
inline double rounding(DType type, double value) {
    if (type == DType::f16) return std::fabs(value) * 0x1p-11 + 0x1p-25;
    if (type == DType::bf16) return std::fabs(value) * 0x1p-8 + 0x1p-134;
    return std::fabs(value) * 0x1p-24 + 0x1p-150;
}

// The first element that is not what it should be, as a message; empty where there is none.
inline std::string first_wrong_value(const Call &call, const std::vector<float> &got) {
    for (std::size_t flat = 0; flat < got.size(); flat++) {
        Ne i;
        auto rest = static_cast<std::int64_t>(flat);
        for (std::size_t d = 0; d < 4; d++) i[d] = rest % call.ne[d], rest /= call.ne[d];
        const Wanted want = call.want(i);
        const double found = static_cast<double>(got[flat]);
        if (found == want.value || (std::isnan(found) && std::isnan(want.value))) continue;
        if (std::fabs(found - want.value) <= want.bound + rounding(call.type, std::fabs(want.value) + want.bound)) continue;
        char text[160];
        std::snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g to within %.3g", flat, found, want.value, want.bound);
        return text;
    }
    return {};
}

// Each draw on the next of the first backends, and with the same bits on the others that have its level.
inline void expect_values(const Operation &operation, std::span<const std::vector<core::Ref<core::Backend>>> levels, int draws,
                          bool large = false) {
    Random random(11);
    for (int draw = 0; draw < draws; draw++) {
        const auto &backends = levels[static_cast<std::size_t>(draw) % levels.size()];
        Builder build(*backends[0]);
        const Call call = operation.draw(build, random, large);
        std::string given =
            std::string(core::op_name(operation.op)) + " draw " + std::to_string(draw) + ", level " + backends[0]->isa() + ", of ";
        for (const Tensor *source : call.src) given += core::strided_text(*source) + "; ";
        for (const Attr &attr : call.attrs) {
            given += std::string(attr.name) + "=" +
                     (attr.kind == core::AttrKind::text ? std::string(attr.text) : std::to_string(attr.ints[0])) + " ";
        }
        SCOPED_TRACE(given);
        Tensor *result = build.node(operation.op, call.src, call.attrs);
        ASSERT_EQ(result->layout.type, call.type);
        ASSERT_EQ(result->layout.ne, call.ne);
        ASSERT_TRUE(result->layout.contiguous());
        const auto graph = core::Graph::create(*build.context, {&result, 1});
        Bytes first;
        for (const auto &backend : backends) {
            core::compute(*graph, *backend);
            if (first.empty()) {
                ASSERT_EQ(first_wrong_value(call, values_of(result)), "");
                first = bytes_of(result);
            } else {
                ASSERT_EQ(first, bytes_of(result)) << "other bits at " << backend->n_threads() << " threads";
            }
        }
    }
}

}  // namespace convolutions
