// Rules of convolutions, pooling and upscaling. All are of images, a signal being one of a single row; kernels are {kw, kh, inputs,
// outputs}, images {w, h, channels, images}, and what windows meet {kw kh, positions, ..}.
#include "ops/convolution.hpp"

#include "gradients/rule.hpp"
#include "ops/op_facts.hpp"
#include "ops/pooling.hpp"

#include <limits>

namespace tensorlib::core::gradients::rules {

namespace {

const Attr exact = Attr::of_int("exact", 1);

// Windows over both dimensions.
struct Windows {
    Sliding x, y;

    std::int64_t taps() const noexcept { return x.taps * y.taps; }
    std::int64_t positions() const noexcept { return x.positions * y.positions; }

    // What they meet, in images of this shape: {taps channels, positions of x, of y, images}. The kernel says how large they are.
    Value met(const Value &kernel, const Value &images) const {
        return kernel.op(
            Op::im2col, images,
            {Attr::of_int("s0", x.stride), Attr::of_int("s1", y.stride), Attr::of_int("p0", x.padding), Attr::of_int("p1", y.padding),
             Attr::of_int("d0", x.dilation), Attr::of_int("d1", y.dilation), Attr::of_int("is_2D", 1)});
    }
    // Values for each position {X, Y, outputs, images}, spread by a kernel {kw, kh, channels, outputs} to the elements that the taps meet.
    Value spread(const Value &kernel, const Value &values) const {
        const Extents &n = values.ne();
        if (values.tensor().layout.n_elements() == 0) return values.zeros({x.elements, y.elements, kernel.ne()[2], n[3]});
        const bool one = x.stride == y.stride;
        const Value apart = one ? values : with_zeros(with_zeros(values, 0, x.stride), 1, y.stride);
        const std::int64_t p0 = padding_at_both_ends(x), p1 = padding_at_both_ends(y);
        const Value all = kernel.op(Op::conv_transpose_2d, apart,
                                    {Attr::of_int("stride", one ? x.stride : 1), Attr::of_int("d0", x.dilation),
                                     Attr::of_int("d1", y.dilation), Attr::of_int("p0", p0), Attr::of_int("p1", p1)});
        const auto fitted = [](const Value &v, std::size_t d, const Sliding &s, std::int64_t before) {
            return v.padded(d, -before, s.elements + before - v.ne()[d]);
        };
        return fitted(fitted(all, 0, x, x.padding - p0), 1, y, y.padding - p1).contiguous();
    }
    // The same. With a stride of 1 it is windows over the values, by a kernel whose taps stand in the opposite order: a product that takes
    // two thirds of the time.
    Value spread_as_windows(const Value &kernel, const Value &values) const {
        const std::int64_t before_x = x.dilation * (x.taps - 1) - x.padding, before_y = y.dilation * (y.taps - 1) - y.padding;
        const std::int64_t n = values.tensor().layout.n_elements() * kernel.tensor().layout.n_elements();
        if (x.stride != 1 || y.stride != 1 || before_x < 0 || before_y < 0 || n == 0) return spread(kernel, values);
        const Extents &ne = kernel.ne();
        const Extents by_tap{taps(), ne[2], ne[3], 1};
        return kernel.shaped(by_tap)
            .reversed()
            .shaped(ne)
            .permuted({0, 1, 3, 2})
            .contiguous()
            .op(Op::conv_2d, values,
                {Attr::of_int("p0", before_x), Attr::of_int("p1", before_y), Attr::of_int("d0", x.dilation),
                 Attr::of_int("d1", y.dilation)});
    }
    // What the windows met, back to where it was: {taps, X, Y, images}, of one channel.
    Value put_back(const Value &met) const {
        if (are_tiles()) {
            const std::int64_t n = met.ne()[3];
            return tiles_put_back(met.shaped({x.taps, y.taps, x.positions, y.positions * n}).permuted({0, 2, 1, 3}), n);
        }
        const Value units = met.unit_matrix(taps());
        return spread(units.shaped({x.taps, y.taps, 1, taps()}), met.permuted({2, 0, 1, 3}).contiguous());
    }

    // Whether each element lies in one window at most, so that what they met only changes its order.
    bool are_tiles() const noexcept { return is_tiling(x) && is_tiling(y); }
    // What tiles of n images met, {x taps, X, y taps, Y n}, with zeros behind the last window, which none met.
    Value tiles_put_back(const Value &met, std::int64_t n) const {
        const Value all = met.contiguous().shaped({x.taps * x.positions, y.taps * y.positions, 1, n});
        return all.padded(0, 0, x.elements - all.ne()[0]).padded(1, 0, y.elements - all.ne()[1]).contiguous();
    }

private:
    static bool is_tiling(const Sliding &s) noexcept { return s.stride == s.taps && s.dilation == 1 && s.padding == 0; }
    // The padding, where the windows cover all of it, so that a transposed convolution can leave it out; else 0.
    static std::int64_t padding_at_both_ends(const Sliding &s) noexcept {
        const std::int64_t covered = (s.positions - 1) * s.stride + s.dilation * (s.taps - 1) + 1;
        return covered == s.elements + 2 * s.padding ? s.padding : 0;
    }
    // `stride` - 1 zeros between the elements of a dimension.
    static Value with_zeros(const Value &v, std::size_t d, std::int64_t stride) {
        Extents n = v.ne();
        const std::int64_t inner = d == 0 ? 1 : n[0], outer = (d == 0 ? n[1] : 1) * n[2] * n[3], spaced = (n[d] - 1) * stride + 1;
        const Value wide = v.shaped({inner, 1, n[d], outer}).padded(1, 0, stride - 1);
        n[d] *= stride;
        return wide.shaped(n).narrowed(d, 0, spaced).contiguous();
    }
};

// The gradient of a kernel: what its windows met times the gradients of what they made, {X, Y, outputs, images}.
// The copy leaves the rows of an image's positions whole; the product reads what windows met by its columns, as cheaply as by rows.
Value kernel_gradient(const Windows &windows, const Value &kernel, const Value &images, const Value &made) {
    const Extents &n = made.ne();
    const std::int64_t positions = n[0] * n[1], columns = positions * n[3];
    const Value met = windows.met(kernel, images), by_output = made.shaped({positions, n[2], n[3], 1}).permuted({0, 2, 1, 3}).contiguous();
    const Value windows_met = met.shaped({met.ne()[0], columns, 1, 1});
    return windows_met.transposed().op(Op::mul_mat, by_output.shaped({columns, n[2], 1, 1}), {exact});
}

// A convolution's operands and windows as those of images.
struct Images {
    ops::Convolution form;
    Windows windows;
    Value kernel, image;
    std::int64_t channels;

    explicit Images(const Rule &r)
        : form(ops::convolution_of(r.node())),
          windows{form.x, form.y},
          kernel(r[0]),
          image(r[1]),
          channels(form.by_channel ? form.outputs : form.channels) {
        const std::int64_t first = form.transposed ? form.outputs : form.channels, second = form.transposed ? form.channels : form.outputs;
        kernel = kernel.shaped({form.x.taps, form.y.taps, first, second});
        image = image.shaped(form.transposed ? Extents{form.x.positions, form.y.positions, channels, form.images}
                                             : Extents{form.x.elements, form.y.elements, channels, form.images});
    }
};

constexpr GradientRule convolved{[](Rule &r) {
    const Images i(r);
    const Value g = r.g().shaped({i.form.x.positions, i.form.y.positions, i.form.outputs, i.form.images});
    r.give(0, [&] { return kernel_gradient(i.windows, i.kernel, i.image, g).shaped(r.ne(0)); });
    r.give(1, [&] { return i.windows.spread_as_windows(i.kernel, g).shaped(r.ne(1)); });
}};

// The operands change places: the result's windows make b.
constexpr GradientRule transposed{[](Rule &r) {
    const Images i(r);
    const Value g = r.g().shaped({i.form.x.elements, i.form.y.elements, i.form.outputs, i.form.images});
    r.give(0, [&] { return kernel_gradient(i.windows, i.kernel, g, i.image).shaped(r.ne(0)); });
    r.give(1, [&] {
        const Sliding &x = i.windows.x, &y = i.windows.y;
        return i.kernel
            .op(Op::conv_2d, g,
                {Attr::of_int("s0", x.stride), Attr::of_int("s1", y.stride), Attr::of_int("p0", x.padding), Attr::of_int("p1", y.padding),
                 Attr::of_int("d0", x.dilation), Attr::of_int("d1", y.dilation)})
            .shaped(r.ne(1));
    });
}};

// Each channel is an image of its own.
constexpr GradientRule by_channel{[](Rule &r) {
    const Images i(r);
    const std::int64_t taps = i.windows.taps(), positions = i.windows.positions(), n = i.channels * i.form.images;
    const Value g = r.g().shaped({positions, 1, i.channels, i.form.images});
    r.give(0, [&] {
        const Value image = i.image.shaped({i.form.x.elements, i.form.y.elements, 1, n});
        const Value met =
            i.windows.met(i.kernel.zeros({i.form.x.taps, i.form.y.taps, 1, 1}), image).shaped({taps, positions, i.channels, i.form.images});
        return met.op(Op::out_prod, g.shaped({1, positions, i.channels, i.form.images}))
            .summed_to({taps, 1, i.channels, 1})
            .shaped(r.ne(0));
    });
    r.give(1, [&] {
        const Value met = i.kernel.shaped({taps, 1, i.channels, 1}).op(Op::out_prod, g);
        return i.windows.put_back(met.shaped({taps, i.form.x.positions, i.form.y.positions, n})).shaped(r.ne(1));
    });
}};

// Images of one channel, {w, h, 1, n}.
Value pool_average(const Windows &windows, const Value &g, bool count_padding) {
    const Value ones = g.ones({windows.x.taps, windows.y.taps, 1, 1});
    if (count_padding) return windows.spread(ones, g * (1 / static_cast<double>(windows.taps())));
    const Value image = g.ones({windows.x.elements, windows.y.elements, 1, 1});
    const Value count = windows.met(ones, image).sum_rows().shaped({windows.x.positions, windows.y.positions, 1, 1});
    return windows.spread(ones, g / count);
}

// As below, of windows side by side: all first taps of windows, then all second ones and so on, so that rows are long.
Value largest_of_tiles(const Windows &windows, const Value &g, const Value &a, const Value &c) {
    const std::int64_t w = windows.x.taps, h = windows.y.taps, x = windows.x.positions, y = windows.y.positions, taps = w * h;
    const std::int64_t images = a.ne()[3], rows = y * images, n = x * rows;
    const Value met = a.narrowed(0, 0, w * x).narrowed(1, 0, h * y).shaped({w, x, h, rows}).permuted({2, 0, 3, 1}).contiguous();
    const Value is_largest = met.shaped({n, taps, 1, 1}).op(Op::eq, c.shaped({n, 1, 1, 1}));
    const Value number = g.numbers(0, 1, taps), is_later = number.repeated({taps, taps, 1, 1}).op(Op::gt, number.shaped({1, taps, 1, 1}));
    const Value earlier = is_largest.op(Op::out_prod, is_later);  // how many taps before are as large
    const Value repeated = g.shaped({n, 1, 1, 1}).repeated(is_largest.ne()), chosen = repeated.where(is_largest.op(Op::gt, earlier));
    return windows.tiles_put_back(chosen.shaped({x, rows, w, h}).permuted({1, 3, 0, 2}), images);
}

// To the first of the largest elements of each window, which padding is not among: an element may be -infinity too.
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
                places = is_largest.op(Op::argmax).shaped({1, n, 1, 1});
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

constexpr GradientRule im2col{[](Rule &r) {
    r.give(1, [&] {
        const Images i(r);
        const std::int64_t taps = i.windows.taps(), x = i.windows.x.positions, y = i.windows.y.positions, images = i.form.images;
        const Value by_channel = r.g().shaped({taps, i.channels, x * y, images}).permuted({0, 2, 1, 3}).contiguous();
        return i.windows.put_back(by_channel.shaped({taps, x, y, i.channels * images})).shaped(r.ne(1));
    });
}};
constexpr GradientRule conv_1d = convolved, conv_2d = convolved;
constexpr GradientRule conv_1d_dw = by_channel, conv_2d_dw = by_channel;
constexpr GradientRule conv_transpose_1d = transposed, conv_transpose_2d = transposed;
constexpr GradientRule pool_1d = pooled, pool_2d = pooled;

// Upscaling is a product with a matrix from both sides; what it makes of unit vectors are the matrix' columns.
constexpr GradientRule upscale{[](Rule &r) {
    const auto &attrs = r.attrs<ops::UpscaleAttrs>();
    r.give(0, [&] {
        Value g = r.g();
        if (g.tensor().layout.n_elements() == 0) return g.zeros(r.ne(0));
        for (std::size_t d = 0; d < 2; d++) {
            const std::int64_t n = r.ne(0)[d];
            const Value units = g.unit_matrix(n).shaped({n, 1, n, 1});
            const Value rows = units.op(
                Op::upscale, {}, {Attr::of_int("factor", attrs.factor), Attr::of_int("mode", static_cast<std::int64_t>(attrs.mode))});
            const Value matrix = rows.narrowed(1, 0, 1).shaped({n * attrs.factor, n, 1, 1});
            g = matrix.op(Op::mul_mat, g, {exact}).transposed();
        }
        return g.contiguous();
    });
}};

}  // namespace tensorlib::core::gradients::rules
