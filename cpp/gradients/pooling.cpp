// Gradient rules of pooling and upscaling. All work on images; a signal is an image of one row.
#include "ops/pooling.hpp"

#include "gradients/rule.hpp"
#include "gradients/windows.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/resampling.hpp"

#include <array>
#include <optional>

namespace tensorlib::core::gradients::rules {

namespace {

// Images of one channel, {w, h, 1, n}.
Value pool_average(const Windows &windows, const Value &g, bool count_padding) {
    const Value ones = g.ones({windows.x.taps, windows.y.taps, 1, 1});
    if (count_padding) return windows.spread(ones, g * (1 / static_cast<double>(windows.taps())));
    const Value image = g.ones({windows.x.elements, windows.y.elements, 1, 1});
    const Value count = windows.met(ones, image).sum_rows().shaped({windows.x.positions, windows.y.positions, 1, 1});
    // A window without an element has a part in no average.
    return windows.spread(ones, g / count.op(Op::maximum, count.ones(count.ne())));
}

// As pool_largest(), for adjacent windows: orders all first taps of windows, then all second ones and so on, so that
// rows are long.
Value largest_of_tiles(const Windows &windows, const Value &g, const Value &a, const Value &c) {
    const std::int64_t w = windows.x.taps, h = windows.y.taps, x = windows.x.positions, y = windows.y.positions, taps = w * h;
    const std::int64_t images = a.ne()[3], rows = y * images, n = x * rows;
    const Value met = a.narrowed(0, 0, w * x).narrowed(1, 0, h * y).shaped({w, x, h, rows}).permuted({2, 0, 3, 1}).contiguous();
    const Value is_largest = met.shaped({n, taps, 1, 1}).op(Op::eq, c.shaped({n, 1, 1, 1}));
    const Value number = g.numbers(0, 1, taps), is_later = number.repeated({taps, taps, 1, 1}).op(Op::gt, number.shaped({1, taps, 1, 1}));
    const Value earlier = is_largest.op(Op::out_prod, is_later);  // how many earlier taps are as large
    const Value repeated = g.shaped({n, 1, 1, 1}).repeated(is_largest.ne()), chosen = repeated.where(is_largest.op(Op::gt, earlier));
    return windows.tiles_put_back(chosen.shaped({x, rows, w, h}).permuted({1, 3, 0, 2}), images);
}

// Passes g to the first of the largest elements of each window. Padding is never among them, because an element may
// also be -infinity.
Value pool_largest(const Windows &windows, const Value &g, const Value &a, const Value &c) {
    if (windows.are_tiles()) return largest_of_tiles(windows, g, a, c);
    const std::int64_t taps = windows.taps(), n = g.tensor().layout.n_elements();
    const Value one_window = a.zeros({windows.x.taps, windows.y.taps, 1, 1});
    Value is_largest = windows.met(one_window, a).shaped({taps, n, 1, 1}).op(Op::eq, c.shaped({1, n, 1, 1}));
    if (windows.x.padding > 0 || windows.y.padding > 0) {
        const std::int64_t positions = windows.positions();
        const Value there = windows.met(one_window, a.ones({windows.x.elements, windows.y.elements, 1, 1})).shaped({taps, positions, 1, 1});
        is_largest = is_largest * there;
    }
    const Value zeros = g.zeros({taps, n, 1, 1}), of_windows = g.shaped({1, n, 1, 1}),
                places = is_largest.op(Op::argmax, {}, {Attr::of_int("dims", 0)}).shaped({1, n, 1, 1});
    const Value chosen = zeros.op(Op::scatter_add, {&of_windows.tensor(), &places.tensor()}, {Attr::of_int("dim", 0)});
    return windows.put_back(chosen.shaped({taps, windows.x.positions, windows.y.positions, g.ne()[3]}));
}

constexpr GradientRule pooled{[](Rule &r) {
    const ops::Pool pool = ops::pool_of(r.node());
    const Windows windows{pool.x, pool.y};
    r.give(0, [&] {
        const Extents &ne = r.ne(0);
        const bool flat = r.node().op == Op::pool_1d;
        const std::int64_t n = (flat ? ne[1] : 1) * ne[2] * ne[3];
        const Value g = r.g().shaped({pool.x.positions, pool.y.positions, 1, n});
        if (g.tensor().layout.n_elements() == 0) return g.zeros(ne);
        const Value back = pool.average ? pool_average(windows, g, pool.count_padding)
                                        : pool_largest(windows, g, r[0].shaped({ne[0], flat ? 1 : ne[1], 1, n}), r.c());
        return back.shaped(ne);
    });
}};

}  // namespace

constexpr GradientRule pool_1d = pooled, pool_2d = pooled;

namespace {

// Returns gradients from an upscaled image to its n pixels, in one dimension. Each pixel contributes to `factor` pixels
// of the larger image for itself and for each neighbour. At an edge, the neighbour's part is its own.
struct Spread {
    std::int64_t factor;
    bool bilinear;

    // The weight of one of three pixels in the r-th pixel that the middle one became.
    double weight(std::int64_t r, std::int64_t pixel) const {
        if (!bilinear) return pixel == 1 ? 1 : 0;
        const ops::Between between = ops::between(factor + r, factor, 3);
        return (pixel == between.first ? 1 - between.part : 0) + (pixel == between.second ? between.part : 0);
    }
    // Along rows (dimension 0) or columns (dimension 1) of {factor n, ..} or {inner, factor n, outer}. The result is
    // {n, ..} or {inner, n, outer}.
    Value back(const Value &g, std::size_t d) const {
        const Extents &ne = g.ne();
        const std::int64_t inner = d == 0 ? 1 : ne[0], n = ne[d] / factor, outer = d == 0 ? ne[1] * ne[2] : ne[2];
        const Value made = g.shaped({inner, factor, n, outer});
        Value pixels = weighted(made, d, 1)->contiguous();
        const std::int64_t step = d == 0 ? 4 : inner * 4;
        const auto add = [&](const Value &v, std::int64_t from, std::int64_t count, std::int64_t to) {
            if (count == 0) return;
            const auto window = {Attr::of_int("nb1", d == 0 ? n * 4 : step), Attr::of_int("nb2", step * n),
                                 Attr::of_int("offset", step * to)};
            pixels = pixels.op(Op::acc, {&v.narrowed(d, from, count).tensor()}, window);
        };
        if (const auto before = weighted(made, d, 0)) add(*before, 1, n - 1, 0), add(*before, 0, 1, 0);
        if (const auto behind = weighted(made, d, 2)) add(*behind, 0, n - 1, 1), add(*behind, n - 1, 1, n - 1);
        return pixels;
    }

private:
    // The weighted sum of the larger image's pixels for each pixel; nothing if all weights are 0.
    std::optional<Value> weighted(const Value &made, std::size_t d, std::int64_t pixel) const {
        const std::array<std::int64_t, 4> axes = d == 0 ? std::array<std::int64_t, 4>{2, 3, 0, 1} : std::array<std::int64_t, 4>{0, 3, 1, 2};
        std::optional<Value> sum;
        for (std::int64_t r = 0; r < factor; r++) {
            const double w = weight(r, pixel);
            if (w == 0) continue;
            const Value part = made.narrowed(1, r, 1).permuted(axes) * w;
            sum = sum ? *sum + part : part;
        }
        return sum;
    }
};

}  // namespace

namespace {

// The sum of g over the pixels that each pixel has a share in, in dimension d: a product with the shares, which are what becomes of
// images of one pixel each.
Value shares_summed(const Value &g, std::size_t d, std::int64_t n, const ops::UpscaleAttrs &attrs) {
    Extents ne = g.ne();
    const std::int64_t to = ne[d];
    if (n == to && (d > 1 || !attrs.antialias)) return g;
    const Value pixels = g.unit_matrix(n).shaped({n, 1, n, 1});
    // Dimensions 2 and 3 are always those of the nearest pixel.
    const bool is_free = d < 2;
    const Value shares =
        pixels
            .op(Op::upscale, {},
                {Attr::of_ints("ne", Extents{to, 1, n, 1}), Attr::of_int("mode", is_free ? static_cast<std::int64_t>(attrs.mode) : 0),
                 Attr::of_int("align_corners", is_free && attrs.align_corners ? 1 : 0),
                 Attr::of_int("antialias", is_free && attrs.antialias ? 1 : 0)})
            .shaped({to, n, 1, 1});
    std::int64_t inner = 1, outer = 1;
    for (std::size_t i = 0; i < max_dims; i++) (i < d ? inner : outer) *= i == d ? 1 : ne[i];
    const Value first = g.shaped({inner, to, outer, 1}).permuted({1, 0, 2, 3}).contiguous();
    const Value sums = shares.op(Op::mul_mat, first.shaped({to, inner * outer, 1, 1}), {Attr::of_int("exact", 1)});
    ne[d] = n;
    return sums.shaped({n, inner, outer, 1}).permuted({1, 0, 2, 3}).contiguous().shaped(ne);
}

}  // namespace

// Columns first: this adds whole rows, and leaves fewer of them.
constexpr GradientRule upscale{[](Rule &r) {
    const auto &attrs = r.attrs<ops::UpscaleAttrs>();
    r.give(0, [&] {
        Value g = r.g();
        const Extents &ne = r.ne(0);
        const std::int64_t factor = ops::upscale_factor(r.node());
        if (factor == 0 && g.tensor().layout.n_elements() > 0) {
            for (const std::size_t d : {3u, 2u, 1u, 0u}) g = shares_summed(g, d, ne[d], attrs);
            return g;
        }
        const std::int64_t w = ne[0], h = ne[1], images = ne[2] * ne[3];
        if (g.tensor().layout.n_elements() == 0) return g.zeros(ne);
        const Spread spread{factor, attrs.mode == ops::UpscaleMode::bilinear};
        const Value narrow = spread.back(g.shaped({w * factor, h * factor, images, 1}), 1);
        return spread.back(narrow, 0).shaped(ne);
    });
}};

}  // namespace tensorlib::core::gradients::rules
