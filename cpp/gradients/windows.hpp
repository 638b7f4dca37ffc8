// Windows that slide over images {w, h, channels, images}, and scattering their contents {kw kh, positions, ..} back.
#pragma once

#include "gradients/value.hpp"
#include "ops/sliding.hpp"

#include <array>
#include <cstdint>

namespace tensorlib::core::gradients {

// Windows over both dimensions.
struct Windows {
    Sliding x, y;

    std::int64_t taps() const noexcept { return x.taps * y.taps; }
    std::int64_t positions() const noexcept { return x.positions * y.positions; }

    // The contents of windows over images of this shape: {taps channels, positions of x, of y, images}. The kernel
    // gives the windows' size.
    Value met(const Value &kernel, const Value &images) const {
        return kernel.op(
            Op::im2col, images,
            {Attr::of_int("s0", x.stride), Attr::of_int("s1", y.stride), Attr::of_int("p0", x.padding), Attr::of_int("p1", y.padding),
             Attr::of_int("d0", x.dilation), Attr::of_int("d1", y.dilation), Attr::of_int("is_2D", 1)});
    }
    // Spreads values for each position {X, Y, outputs, images} by a kernel {kw, kh, channels, outputs} to the elements
    // that the taps meet.
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
    // As spread(). With a stride of 1, it is windows over the values, with a kernel whose taps are in reverse order: a
    // product that takes two thirds of the time.
    Value spread_as_windows(const Value &kernel, const Value &values) const {
        const std::int64_t before_x = x.dilation * (x.taps - 1) - x.padding, before_y = y.dilation * (y.taps - 1) - y.padding;
        const std::int64_t n = values.tensor().layout.n_elements() * kernel.tensor().layout.n_elements();
        if (x.stride != 1 || y.stride != 1 || before_x < 0 || before_y < 0 || n == 0) return spread(kernel, values);
        return turned(kernel)
            .permuted({0, 1, 3, 2})
            .contiguous()
            .op(Op::conv_2d, values,
                {Attr::of_int("p0", before_x), Attr::of_int("p1", before_y), Attr::of_int("d0", x.dilation),
                 Attr::of_int("d1", y.dilation)});
    }
    // Spreads by a kernel {kw, kh, 1, channels}, each channel by its own: windows with a stride of 1 over the values,
    // with zeros in between for another stride.
    Value spread_by_channel(const Value &kernel, const Value &values) const {
        if (values.tensor().layout.n_elements() == 0) return values.zeros({x.elements, y.elements, kernel.ne()[3], values.ne()[3]});
        // Element e is met at position e + padding - tap * dilation of these, so zeros are added before the first and
        // after the last, or these are cut. What both ends share, as with a stride of 1, becomes the windows' padding.
        Value apart = values;
        std::array<std::int64_t, 2> padding{};
        for (std::size_t d = 0; d < 2; d++) {
            const Sliding &s = d == 0 ? x : y;
            if (s.stride != 1) apart = with_zeros(apart, d, s.stride);
            const std::int64_t before = s.dilation * (s.taps - 1) - s.padding, behind = s.elements + s.padding - apart.ne()[d];
            if (before == behind && before >= 0) {
                padding[d] = before;
            } else {
                apart = apart.padded(d, before, behind);
            }
        }
        return turned(kernel).op(Op::conv_2d_dw, apart,
                                 {Attr::of_int("p0", padding[0]), Attr::of_int("p1", padding[1]), Attr::of_int("d0", x.dilation),
                                  Attr::of_int("d1", y.dilation)});
    }
    // Adds the windows' contents {taps, X, Y, images}, of one channel, to the elements that they come from.
    Value put_back(const Value &met) const {
        if (are_tiles()) {
            const std::int64_t n = met.ne()[3];
            return tiles_put_back(met.shaped({x.taps, y.taps, x.positions, y.positions * n}).permuted({0, 2, 1, 3}), n);
        }
        const Value units = met.unit_matrix(taps());
        return spread(units.shaped({x.taps, y.taps, 1, taps()}), met.permuted({2, 0, 1, 3}).contiguous());
    }

    // Whether each element lies in at most one window, so that contents only change their order.
    bool are_tiles() const noexcept { return is_tiling(x) && is_tiling(y); }
    // The contents of tiles of n images, {x taps, X, y taps, Y n}, in place, with zeros after the last window, which no
    // window met.
    Value tiles_put_back(const Value &met, std::int64_t n) const {
        const Value all = met.contiguous().shaped({x.taps * x.positions, y.taps * y.positions, 1, n});
        return all.padded(0, 0, x.elements - all.ne()[0]).padded(1, 0, y.elements - all.ne()[1]).contiguous();
    }

private:
    // A kernel with its taps in reverse order.
    Value turned(const Value &kernel) const {
        const Extents &ne = kernel.ne();
        return kernel.shaped({taps(), ne[2], ne[3], 1}).reversed().shaped(ne);
    }
    static bool is_tiling(const Sliding &s) noexcept { return s.stride == s.taps && s.dilation == 1 && s.padding == 0; }
    // The padding, if the windows cover all of it, so that a transposed convolution can leave it out; otherwise 0.
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

}  // namespace tensorlib::core::gradients
