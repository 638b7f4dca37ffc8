// Gradient rules of convolutions. All work on images; a signal is an image of one row. Kernels are {kw, kh, inputs,
// outputs}, images {w, h, channels, images}, and the contents of windows {kw kh, positions, ..}.
#include "ops/convolution.hpp"

#include "gradients/rule.hpp"
#include "gradients/windows.hpp"
#include "ops/gen/op_facts.hpp"

#include <algorithm>
#include <optional>

namespace tensorlib::core::gradients::rules {

namespace {

const Attr exact = Attr::of_int("exact", 1);

// The contents of all windows are larger than the images by the number of a kernel's taps. Gradients of kernels
// therefore process at most this much at a time: 16 MiB.
constexpr std::int64_t band_floats = std::int64_t{4} << 20;

// Some positions of windows, as windows over the part of the images that they span, with zeros for padding.
struct Band {
    Windows windows;
    Value images;
};
// The positions [first, first + count) of one dimension; nothing if all their elements are padding.
std::optional<Band> band_of(const Windows &windows, const Value &images, bool rows, std::int64_t first, std::int64_t count) {
    Windows band = windows;
    Sliding &s = rows ? band.y : band.x;
    const std::int64_t begin = s.element(first, 0), end = s.element(first + count - 1, s.taps - 1) + 1;
    const std::int64_t from = std::max<std::int64_t>(begin, 0), to = std::min(end, s.elements);
    if (from >= to) return std::nullopt;
    const std::size_t d = rows ? 1 : 0;
    s.elements = end - begin, s.padding = 0, s.positions = count;
    return Band{band, images.narrowed(d, from, to - from).padded(d, from - begin, end - to)};
}

// The sum, of this shape, of product(windows, images, made) over bands. A band is some whole images, or some rows of
// positions of one image (columns, if it has one row). Each position of `made`, {X, Y, outputs, images}, meets `floats`
// elements.
template <class Product>
Value summed_over_bands(const Windows &windows, const Value &images, const Value &made, std::int64_t floats, const Extents &ne,
                        Product product) {
    const std::int64_t n = made.ne()[3], positions = windows.positions(), most = std::max<std::int64_t>(1, band_floats / floats);
    if (n * positions <= most) return product(windows, images, made);
    std::optional<Value> sum;
    const auto add = [&](const Band &band, const Value &of_band) {
        const Value more = product(band.windows, band.images, of_band);
        sum = sum ? *sum + more : more;
    };
    const bool whole = positions <= most, rows = windows.y.positions > 1;
    const std::int64_t per_band = whole ? most / positions : 1, all = rows ? windows.y.positions : windows.x.positions;
    const std::int64_t step = std::max<std::int64_t>(1, rows ? most / windows.x.positions : most);
    for (std::int64_t i = 0; i < n; i += per_band) {
        const std::int64_t count = std::min(per_band, n - i);
        const Value image = images.narrowed(3, i, count), of_image = made.narrowed(3, i, count);
        if (whole) add({windows, image}, of_image);
        for (std::int64_t first = 0; !whole && first < all; first += step) {
            const std::int64_t length = std::min(step, all - first);
            if (const auto band = band_of(windows, image, rows, first, length)) add(*band, of_image.narrowed(rows ? 1 : 0, first, length));
        }
    }
    return sum ? *sum : made.zeros(ne);
}

// The gradient of a kernel: the contents of its windows times the gradients of their results, {X, Y, outputs, images}.
// The copy keeps the rows of an image's positions together. The product reads the windows' contents by columns, which
// costs no more than by rows.
Value kernel_gradient(const Windows &windows, const Value &kernel, const Value &images, const Value &made) {
    const auto product = [&](const Windows &band, const Value &part, const Value &of_band) {
        const Extents &n = of_band.ne();
        const std::int64_t positions = n[0] * n[1], columns = positions * n[3];
        const Value met = band.met(kernel, part),
                    by_output = of_band.shaped({positions, n[2], n[3], 1}).permuted({0, 2, 1, 3}).contiguous();
        const Value windows_met = met.shaped({met.ne()[0], columns, 1, 1});
        return windows_met.transposed().op(Op::mul_mat, by_output.shaped({columns, n[2], 1, 1}), {exact});
    };
    const std::int64_t met = windows.taps() * images.ne()[2];
    return summed_over_bands(windows, images, made, met, {met, made.ne()[2], 1, 1}, product);
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

// The operands swap: the result's windows make b.
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

// The gradient of a kernel {kw, kh, 1, channels} with stride 1, tap by tap: the sum over positions of each gradient
// times the element that the tap meets there. Both are views of existing tensors, so nothing is copied.
Value kernel_gradient_by_tap(const Windows &windows, const Value &images, const Value &made) {
    const Sliding &x = windows.x, &y = windows.y;
    const std::int64_t channels = made.ne()[2], taps = windows.taps();
    Value sums = made.zeros({taps, channels, 1, 1});
    for (std::int64_t tap = 0; tap < taps; tap++) {
        const std::int64_t tx = tap % x.taps, ty = tap / x.taps;
        const Sliding::Range xs = x.positions_of(tx), ys = y.positions_of(ty);
        if (xs.size() == 0 || ys.size() == 0) continue;
        const auto part = [&](const Value &v, std::int64_t from_x, std::int64_t from_y) {
            return v.narrowed(0, from_x, xs.size()).narrowed(1, from_y, ys.size());
        };
        const Value met = part(images, x.element(xs.begin, tx), y.element(ys.begin, ty));
        const Value sum = (part(made, xs.begin, ys.begin) * met).sum_rows().summed_to({1, 1, channels, 1}).shaped({1, channels, 1, 1});
        sums = sums.op(Op::acc, sum, {Attr::of_int("nb1", taps * 4), Attr::of_int("offset", tap * 4)});
    }
    return sums;
}

// For any stride, from the windows' contents.
Value kernel_gradient_by_channel(const Windows &windows, const Value &images, const Value &made) {
    const std::int64_t channels = made.ne()[2], taps = windows.taps();
    const Value one = made.zeros({windows.x.taps, windows.y.taps, 1, 1});
    const auto product = [&](const Windows &band, const Value &part, const Value &of_band) {
        const std::int64_t positions = band.positions(), n = of_band.ne()[3];
        const Value met = band.met(one, part.shaped({band.x.elements, band.y.elements, 1, channels * n}));
        return met.shaped({taps, positions, channels, n})
            .op(Op::out_prod, of_band.shaped({1, positions, channels, n}))
            .summed_to({taps, 1, channels, 1});
    };
    return summed_over_bands(windows, images, made, taps * channels, {taps, 1, channels, 1}, product);
}

// Each tap takes several nodes.
constexpr std::int64_t most_taps = 64;

// Each channel is an image of its own.
constexpr GradientRule by_channel{[](Rule &r) {
    const Images i(r);
    const Value g = r.g().shaped({i.form.x.positions, i.form.y.positions, i.channels, i.form.images});
    r.give(0, [&] {
        const bool by_tap = i.form.x.stride == 1 && i.form.y.stride == 1 && i.windows.taps() <= most_taps;
        return (by_tap ? kernel_gradient_by_tap : kernel_gradient_by_channel)(i.windows, i.image, g).shaped(r.ne(0));
    });
    r.give(1, [&] { return i.windows.spread_by_channel(i.kernel, g).shaped(r.ne(1)); });
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

}  // namespace tensorlib::core::gradients::rules
