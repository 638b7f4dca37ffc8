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
        const Value all =
            kernel.op(Op::conv_transpose_2d, apart,
                      {Attr::of_int("stride", one ? x.stride : 1), Attr::of_int("d0", x.dilation), Attr::of_int("d1", y.dilation)});
        const auto fitted = [](const Value &v, std::size_t d, const Sliding &s) {
            return v.padded(d, -s.padding, s.elements + s.padding - v.ne()[d]);
        };
        return fitted(fitted(all, 0, x), 1, y).contiguous();
    }
    // What the windows met, back to where it was: {taps, X, Y, images}, of one channel.
    Value put_back(const Value &met) const {
        const Value units = met.unit_matrix(taps());
        return spread(units.shaped({x.taps, y.taps, 1, taps()}), met.permuted({2, 0, 1, 3}).contiguous());
    }

private:
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
Value kernel_gradient(const Windows &windows, const Value &kernel, const Value &images, const Value &made) {
    const Extents &n = made.ne();
    const std::int64_t columns = n[0] * n[1] * n[3];
    const Value met = windows.met(kernel, images), by_output = made.permuted({1, 2, 0, 3}).contiguous();
    return met.shaped({met.ne()[0], columns, 1, 1}).op(Op::out_prod, by_output.shaped({n[2], columns, 1, 1}));
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
    r.give(1, [&] { return i.windows.spread(i.kernel, g).shaped(r.ne(1)); });
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

// To the first of the largest elements of each window; padding is less than all.
Value pool_largest(const Windows &windows, const Value &g, const Value &a) {
    Value inside = a;
    Windows over = windows;
    if (windows.x.padding > 0 || windows.y.padding > 0) {
        const auto wide = [&](const Value &v) {
            return v.padded(0, windows.x.padding, windows.x.padding).padded(1, windows.y.padding, windows.y.padding);
        };
        const Value padded = wide(a), there = wide(a.filled(1));
        inside = there.op(Op::where, {&padded.tensor(), &padded.filled(-std::numeric_limits<double>::infinity()).tensor()});
        over.x.padding = over.y.padding = 0;
    }
    const std::int64_t taps = windows.taps(), n = g.tensor().layout.n_elements();
    const Value met = over.met(a.zeros({windows.x.taps, windows.y.taps, 1, 1}), inside), places = met.op(Op::argmax);
    const Value choices = a.unit_matrix(taps).op(Op::get_rows, places.shaped({n, 1, 1, 1}));
    return windows.put_back((choices * g.shaped({1, n, 1, 1})).shaped({taps, windows.x.positions, windows.y.positions, g.ne()[3]}));
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
                                        : pool_largest(windows, g, r[0].shaped({ne[0], flat ? 1 : ne[1], 1, n}));
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
