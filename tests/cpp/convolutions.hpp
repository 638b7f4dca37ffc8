// Shared by the tests of pooling, upscaling and convolutions: random calls over leafs, intermediates and views, each with an oracle in
// double for every element of the result and a bound of its error.
#pragma once

#include "moves.hpp"

#include <limits>
#include <map>

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
inline Windows draw_windows(Random &random, std::int64_t n, bool dilated) {
    Windows w{n, 1 + below(random, 5), 1 + below(random, 4), below(random, 4), dilated ? 1 + below(random, 3) : 1};
    w.k = std::max<std::int64_t>(1, std::min(w.k, (n + 2 * w.p - 1) / w.d + 1));
    return w;
}

// ---- Pooling and upscaling

inline Call draw_pool(Builder &build, Random &random, bool flat, bool large) {
    const DType type = one_of(random, float_types);
    Ne a{1 + below(random, 40), 1 + below(random, 9), below(random, 4), 1 + below(random, 2)};
    if (random() % 4 == 0) a = {1000 + below(random, 1500), 1 + below(random, 3), 1, 1};
    if (large) a = {300 + below(random, 60), 100 + below(random, 10), 20, 2};
    Windows x = draw_windows(random, a[0], false), y = flat ? Windows{1, 1, 1, 0, 1} : draw_windows(random, a[1], false);
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
                // F16 and BF16 have no such number.
                const double lowest =
                    type == DType::f32 ? -static_cast<double>(std::numeric_limits<float>::max()) : -std::numeric_limits<double>::infinity();
                if (count == 0) return Wanted{average ? 0.0 : lowest, 0};
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
                double sum = 0, size = 0, all = 0;
                for (int which = 0; which < 4; which++) {
                    const double part = (which & 1 ? x.part : 1 - x.part) * (which & 2 ? y.part : 1 - y.part);
                    const double value = values.at({which & 1 ? x.second : x.first, which & 2 ? y.second : y.first, i[2], i[3]});
                    sum += part * value, size += part * std::fabs(value), all += std::fabs(value);
                }
                // Each of the two mixtures rounds its part, 1 - part, two products and a sum. Rounding the part itself costs u of a number
                // near 1, which is not small compared with a small 1 - part.
                return Wanted{sum, 8 * u * size + 2 * u * all};
            }};
}

// How upscale computes a dimension: the shares of all pixels of the image in a pixel of the result, by ops/convolution.toml.
struct Resize {
    std::int64_t from, to;
    std::string mode;
    bool corners, antialias;

    std::vector<double> shares(std::int64_t pixel) const {
        std::vector<double> of(static_cast<std::size_t>(from), 0);
        const bool by_corners = corners && from > 1 && to > 1;
        const double n = static_cast<double>(from), m = static_cast<double>(to), i = static_cast<double>(pixel);
        if (mode == "nearest") {
            of[static_cast<std::size_t>(by_corners ? pixel * (from - 1) / (to - 1) : pixel * from / to)] = 1;
            return of;
        }
        const double step = by_corners ? (n - 1) / (m - 1) : n / m, x = corners ? i * step : (i + 0.5) * step - 0.5;
        const double wide = antialias ? std::max(1.0, step) : 1;
        double sum = 0;
        const auto give = [&](std::int64_t j, double share) {
            if (antialias && (j < 0 || j >= from)) return;
            of[static_cast<std::size_t>(std::clamp<std::int64_t>(j, 0, from - 1))] += share;
            sum += share;
        };
        const auto at = static_cast<std::int64_t>(std::floor(x)), reach = static_cast<std::int64_t>(wide) + 2;
        for (std::int64_t j = at - reach; j <= at + reach; j++) {
            const double d = std::fabs(static_cast<double>(j) - x) / wide;
            if (mode == "bilinear") {
                if (d < 1) give(j, 1 - d);
            } else if (d < 2) {
                give(j, d <= 1 ? 1.25 * d * d * d - 2.25 * d * d + 1 : -0.75 * d * d * d + 3.75 * d * d - 6 * d + 3);
            }
        }
        if (antialias) {
            for (double &share : of) share /= sum;
        }
        return of;
    }
};

inline Call draw_resized(Builder &build, Random &random, bool large) {
    const DType type = one_of(random, float_types);
    Ne a{1 + below(random, 20), 1 + below(random, 9), below(random, 4), 1 + below(random, 2)};
    Ne ne{1 + below(random, 24), 1 + below(random, 12), a[2] == 0 ? 0 : 1 + below(random, 4), 1 + below(random, 3)};
    if (random() % 4 == 0) a[0] = 200 + below(random, 300), ne[0] = 1 + below(random, 500);
    if (large) a = {100 + below(random, 60), 50 + below(random, 10), 3, 2}, ne = {120 + below(random, 20), 40 + below(random, 30), 3, 2};
    constexpr const char *modes[] = {"nearest", "bilinear", "bicubic"};
    const std::string mode = one_of(random, modes);
    const bool corners = random() % 3 == 0, antialias = mode == "bilinear" && random() % 2 == 0;
    Tensor *t = floats(build, type, a, random, mode == "nearest" && random() % 3 == 0);
    std::vector<Attr> attrs{Attr::of_ints("ne", ne), Attr::of_int("align_corners", corners), Attr::of_int("antialias", antialias)};
    attrs.push_back(Attr::of_int("mode", mode == "nearest" ? 0 : mode == "bilinear" ? 1 : 2));
    const Resize x{a[0], ne[0], mode, corners, antialias}, y{a[1], ne[1], mode, corners, antialias};
    return {{t}, attrs, type, ne, [=, values = Values(t)](const Ne &i) {
                const std::int64_t i2 = i[2] * a[2] / ne[2], i3 = i[3] * a[3] / ne[3];
                const std::vector<double> of_x = x.shares(i[0]), of_y = y.shares(i[1]);
                double sum = 0, size = 0, all = 0, terms = 0;
                for (std::size_t j1 = 0; j1 < of_y.size(); j1++) {
                    for (std::size_t j0 = 0; j0 < of_x.size(); j0++) {
                        const double share = of_x[j0] * of_y[j1];
                        if (share == 0) continue;
                        const double value = values.at({static_cast<std::int64_t>(j0), static_cast<std::int64_t>(j1), i2, i3});
                        sum += share * value, size += std::fabs(share * value), all += std::fabs(value), terms++;
                    }
                }
                if (mode == "nearest") return Wanted{sum, 0};
                // A weight is rounded, and so are products and sums, between rows and between columns. A weight near 0 is off by 2^-50.
                return Wanted{sum, (terms + 6) * u * size + 0x1p-48 * all};
            }};
}

// ---- im2col and convolutions

// An image has windows in x and y. A signal has them in x only; its y is one window of one element.
struct Shape {
    bool flat;
    Windows x, y;
    std::int64_t channels, outputs, images;

    Shape(Random &random, bool one_dimension, bool large) : flat(one_dimension) {
        const auto extent = [&] { return 1 + below(random, large ? 60 : 14); };
        x = draw_windows(random, large ? 40 + below(random, 20) : extent(), true);
        y = flat ? Windows{1, 1, 1, 0, 1} : draw_windows(random, extent(), true);
        channels = large ? 8 + below(random, 40) : below(random, 6);
        outputs = large ? 30 + below(random, 30) : below(random, 5) == 0 ? 17 + below(random, 30) : 1 + below(random, 4);
        images = below(random, 8) == 0 ? 0 : 1 + below(random, 2);
        // Sums of several blocks; a kernel of all there is; a long signal.
        if (!large && random() % 6 == 0) channels = 60 + below(random, 40);
        if (!large && random() % 6 == 0) x.k = x.n, x.p = 0, x.d = 1;
        if (flat && random() % 4 == 0) x.n += 700;
    }
    // Dimensions without those that a signal has not.
    Ne of(std::int64_t n0, std::int64_t n1, std::int64_t n2, std::int64_t n3) const {
        return flat ? Ne{n0, n2, n3, 1} : Ne{n0, n1, n2, n3};
    }
    Ne index(std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
        return flat ? Ne{i0, i2, i3, 0} : Ne{i0, i1, i2, i3};
    }
    // An index of the result: x, y, and the two others.
    Ne split(const Ne &i) const { return flat ? Ne{i[0], 0, i[1], i[2]} : i; }
    std::vector<Attr> attrs(Random &random) const {
        std::vector<Attr> given;
        const auto give = [&](const char *s, const char *p, const char *d, const Windows &w) {
            if (w.s != 1 || random() % 2 == 0) given.push_back(Attr::of_int(s, w.s));
            if (w.p != 0) given.push_back(Attr::of_int(p, w.p));
            if (w.d != 1) given.push_back(Attr::of_int(d, w.d));
        };
        if (flat) {
            give("s", "p", "d", x);
        } else {
            give("s0", "p0", "d0", x), give("s1", "p1", "d1", y);
        }
        return given;
    }
};

// The sum of products that are pushed, and the bound of what a sum in F32 in any order is off by.
struct Products {
    double sum = 0, size = 0, n = 0;
    void add(double a, double b) { sum += a * b, size += std::fabs(a * b), n++; }
    Wanted wanted() const { return {sum, (n + 1) * u / (1 - (n + 1) * u) * size + n * 0x1p-149}; }
};

// Calls take(tap, element) for those of a window that the operand has.
template <class Take>
void for_each_tap(const Windows &w, std::int64_t position, Take take) {
    for (std::int64_t t = 0; t < w.k; t++) {
        const std::int64_t i = position * w.s + t * w.d - w.p;
        if (i >= 0 && i < w.n) take(t, i);
    }
}

inline Call draw_im2col(Builder &build, Random &random, bool large) {
    const Shape s(random, random() % 2 == 0, large);
    Tensor *a = floats(build, one_of(random, float_types), s.of(s.x.k, s.y.k, s.channels, s.outputs), random);
    Tensor *b = floats(build, one_of(random, float_types), s.of(s.x.n, s.y.n, s.channels, s.images), random, random() % 3 == 0);
    std::vector<Attr> attrs;
    for (Attr attr : s.attrs(random)) {
        // A signal's are those of dimension 0.
        static const std::map<std::string, const char *> names{{"s", "s0"}, {"p", "p0"}, {"d", "d0"}};
        if (s.flat) attr.name = names.at(std::string(attr.name));
        attrs.push_back(attr);
    }
    if (!s.flat) attrs.push_back(Attr::of_int("is_2D", 1));
    const DType to = one_of(random, float_types);
    if (to != DType::f32) attrs.push_back(Attr::of_text("to", core::traits(to).name));
    const std::int64_t taps = s.x.k * s.y.k, n = s.channels * taps;
    const Ne ne = s.flat ? Ne{n, s.x.out(), s.images, 1} : Ne{n, s.x.out(), s.y.out(), s.images};
    return {{a, b}, attrs, to, ne, [=, values = Values(b)](const Ne &i) {
                const std::int64_t row = s.flat ? 0 : i[2], number = s.flat ? i[2] : i[3];
                double value = 0;
                for_each_tap(s.x, i[1], [&](std::int64_t tx, std::int64_t x) {
                    for_each_tap(s.y, row, [&](std::int64_t ty, std::int64_t y) {
                        if (i[0] % taps != ty * s.x.k + tx) return;
                        value = values.at(s.flat ? Ne{x, i[0] / taps, number, 0} : Ne{x, y, i[0] / taps, number});
                    });
                });
                return Wanted{value, 0};
            }};
}

inline Call draw_convolution(Builder &build, Random &random, bool flat, bool by_channel, bool large) {
    Shape s(random, flat, large);
    if (by_channel) s.outputs = s.channels;
    Tensor *a = floats(build, one_of(random, float_types), s.of(s.x.k, s.y.k, by_channel ? 1 : s.channels, s.outputs), random);
    Tensor *b = floats(build, one_of(random, float_types), s.of(s.x.n, s.y.n, s.channels, s.images), random, random() % 4 == 0);
    return {{a, b},
            s.attrs(random),
            DType::f32,
            s.of(s.x.out(), s.y.out(), s.outputs, s.images),
            [=, kernel = Values(a), image = Values(b)](const Ne &at) {
                const Ne i = s.split(at);
                Products products;
                for_each_tap(s.x, i[0], [&](std::int64_t tx, std::int64_t x) {
                    for_each_tap(s.y, i[1], [&](std::int64_t ty, std::int64_t y) {
                        for (std::int64_t c = 0; c < (by_channel ? 1 : s.channels); c++) {
                            const std::int64_t channel = by_channel ? i[2] : c;
                            products.add(kernel.at(s.index(tx, ty, c, i[2])), image.at(s.index(x, y, channel, i[3])));
                        }
                    });
                });
                return products.wanted();
            }};
}

inline Call draw_conv_1d(Builder &build, Random &random, bool large) { return draw_convolution(build, random, true, false, large); }
inline Call draw_conv_2d(Builder &build, Random &random, bool large) { return draw_convolution(build, random, false, false, large); }
inline Call draw_conv_1d_dw(Builder &build, Random &random, bool large) { return draw_convolution(build, random, true, true, large); }
inline Call draw_conv_2d_dw(Builder &build, Random &random, bool large) { return draw_convolution(build, random, false, true, large); }

// The size of a transposed convolution's output in a dimension in which b has n elements.
inline std::int64_t spread(const Windows &w) { return (w.n - 1) * w.s - 2 * w.p + (w.k - 1) * w.d + 1; }

inline Call draw_transposed(Builder &build, Random &random, bool flat, bool large) {
    Shape s(random, flat, large);
    if (large) s.outputs = 10;
    if (s.x.n > 100) s.x.n = 300;
    if (!flat) s.y.s = s.x.s;
    for (Windows *w : {&s.x, &s.y}) w->p = std::max<std::int64_t>(0, std::min(w->p, (spread({w->n, w->k, w->s, 0, w->d}) - 1) / 2));
    if (flat) s.y = {1, 1, 1, 0, 1};
    Tensor *a = floats(build, one_of(random, float_types), s.of(s.x.k, s.y.k, s.outputs, s.channels), random);
    Tensor *b = floats(build, one_of(random, float_types), s.of(s.x.n, s.y.n, s.channels, s.images), random, random() % 4 == 0);
    std::vector<Attr> attrs;
    for (const Attr &attr : s.attrs(random)) {
        if (!flat && attr.name.starts_with("s")) continue;
        attrs.push_back(attr);
    }
    if (!flat && s.x.s > 1) attrs.push_back(Attr::of_int("stride", s.x.s));
    return {{a, b},
            attrs,
            DType::f32,
            s.of(spread(s.x), spread(s.y), s.outputs, s.images),
            [=, kernel = Values(a), image = Values(b)](const Ne &at) {
                const Ne i = s.split(at);
                const auto for_each_source = [](const Windows &w, std::int64_t element, auto take) {
                    for (std::int64_t x = 0; x < w.n; x++) {
                        for (std::int64_t t = 0; t < w.k; t++) {
                            if (x * w.s + t * w.d - w.p == element) take(t, x);
                        }
                    }
                };
                Products products;
                for_each_source(s.x, i[0], [&](std::int64_t tx, std::int64_t x) {
                    for_each_source(s.y, i[1], [&](std::int64_t ty, std::int64_t y) {
                        for (std::int64_t c = 0; c < s.channels; c++)
                            products.add(kernel.at(s.index(tx, ty, i[2], c)), image.at(s.index(x, y, c, i[3])));
                    });
                });
                return products.wanted();
            }};
}

inline Call draw_conv_transpose_1d(Builder &build, Random &random, bool large) { return draw_transposed(build, random, true, large); }
inline Call draw_conv_transpose_2d(Builder &build, Random &random, bool large) { return draw_transposed(build, random, false, large); }

// ---- Running them

struct Operation {
    Op op;
    Call (*draw)(Builder &, Random &, bool large);
    const char *kind = "";  // of several draws for an operation

    std::string name() const { return core::op_name(op) + std::string(kind); }
};
inline void PrintTo(const Operation &operation, std::ostream *out) { *out << operation.name(); }

inline constexpr Operation all_operations[] = {
    {Op::upscale, draw_upscale},
    {Op::upscale, draw_resized, "_resized"},
    {Op::pool_1d, draw_pool_1d},
    {Op::pool_2d, draw_pool_2d},
    {Op::im2col, draw_im2col},
    {Op::conv_1d, draw_conv_1d},
    {Op::conv_2d, draw_conv_2d},
    {Op::conv_1d_dw, draw_conv_1d_dw},
    {Op::conv_2d_dw, draw_conv_2d_dw},
    {Op::conv_transpose_1d, draw_conv_transpose_1d},
    {Op::conv_transpose_2d, draw_conv_transpose_2d},
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

// Each draw on the next of the first backends, and with the same bits on the others that have its ISA.
inline void expect_values(const Operation &operation, std::span<const std::vector<core::Ref<core::Backend>>> isas, int draws,
                          bool large = false) {
    Random random(11);
    for (int draw = 0; draw < draws; draw++) {
        const auto &backends = isas[static_cast<std::size_t>(draw) % isas.size()];
        Builder build(*backends[0]);
        const Call call = operation.draw(build, random, large);
        std::string given =
            std::string(core::op_name(operation.op)) + " draw " + std::to_string(draw) + ", ISA " + backends[0]->isa() + ", of ";
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
