// How upscale computes a dimension of images of another size: each pixel of the result is a weighted sum of some adjacent pixels. The
// CPU's and CUDA's kernels share this code.
#pragma once

#include "dtype/host_device.hpp"
#include "graph/tensor.hpp"

#include <cmath>
#include <cstdint>

namespace tensorlib::core::ops {

enum class Filter : std::uint8_t { nearest, linear, cubic, triangle };

// One dimension: `from` pixels become `to`.
struct Resampling {
    std::int64_t from = 1, to = 1;
    Filter filter = Filter::nearest;
    bool corners = false;  // the centres of the pixels at the ends coincide; otherwise the outer edges do

    // The pixels that a pixel of the result is made of: `n` from `first` on. Those beyond the ends are the pixels at the ends.
    struct Taps {
        std::int64_t first, n;
        double centre;  // in pixels of the image
        double scale;   // of distances from it, for weight()
    };
    // No pixel has more taps.
    std::int64_t most_taps() const noexcept {
        switch (filter) {
            case Filter::nearest: return 1;
            case Filter::linear: return 2;
            case Filter::cubic: return 4;
            case Filter::triangle: break;
        }
        const double most = 2 * std::ceil(support()) + 1;
        return most < static_cast<double>(from) ? static_cast<std::int64_t>(most) : from;
    }
    TL_HOST_DEVICE Taps taps_of(std::int64_t pixel) const noexcept {
        if (filter == Filter::nearest) return {nearest(pixel), 1, 0, 0};
        const double offset = corners ? 0 : 0.5, centre = (static_cast<double>(pixel) + offset) * step() - offset;
        if (filter == Filter::triangle) {
            const double wide = support();
            const std::int64_t least = static_cast<std::int64_t>(::floor(centre - wide)) + 1,
                               last = static_cast<std::int64_t>(::ceil(centre + wide)) - 1;
            const std::int64_t first = least < 0 ? 0 : least, end = last < from ? last + 1 : from;
            return {first, end - first, centre, 1 / wide};
        }
        const auto below = static_cast<std::int64_t>(::floor(centre));
        return filter == Filter::linear ? Taps{below, 2, centre, 1} : Taps{below - 1, 4, centre, 1};
    }
    // The pixel of a tap.
    TL_HOST_DEVICE std::int64_t pixel_of(const Taps &taps, std::int64_t tap) const noexcept {
        const std::int64_t i = taps.first + tap;
        return i < 0 ? 0 : i < from ? i : from - 1;
    }
    // A tap's weight, before it is divided by total_of().
    TL_HOST_DEVICE double weight(const Taps &taps, std::int64_t tap) const noexcept {
        if (filter == Filter::nearest) return 1;
        const double distance = ::fabs(static_cast<double>(taps.first + tap) - taps.centre) * taps.scale;
        if (filter != Filter::cubic) return distance < 1 ? 1 - distance : 0;
        // Cubic convolution (Keys, 1981) with a = -0.75.
        constexpr double a = -0.75;
        if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
        return distance < 2 ? ((distance - 5) * distance + 8) * distance * a - 4 * a : 0;
    }
    // What the weights of a pixel's taps are divided by: their sum for a triangle; other filters' weights add up to 1.
    TL_HOST_DEVICE double total_of(const Taps &taps) const noexcept {
        if (filter != Filter::triangle) return 1;
        double total = 0;
        for (std::int64_t tap = 0; tap < taps.n; tap++) total += weight(taps, tap);
        return total;
    }

private:
    TL_HOST_DEVICE bool by_corners() const noexcept { return corners && from > 1 && to > 1; }
    // Pixels of the image for a pixel of the result.
    TL_HOST_DEVICE double step() const noexcept {
        return by_corners() ? static_cast<double>(from - 1) / static_cast<double>(to - 1)
                            : static_cast<double>(from) / static_cast<double>(to);
    }
    // A triangle reaches as far as a pixel of the result is wide, but for at least one pixel of the image.
    TL_HOST_DEVICE double support() const noexcept { return step() > 1 ? step() : 1; }
    TL_HOST_DEVICE std::int64_t nearest(std::int64_t pixel) const noexcept {
        return by_corners() ? pixel * (from - 1) / (to - 1) : pixel * from / to;
    }
};

// The dimensions of an upscale whose result is not empty.
struct Resized {
    Resampling dims[max_dims];
};
Resized resized(const Tensor &node) noexcept;

// The factor of an upscale that enlarges width and height by the same factor and has a kernel for it; 0 for others.
std::int64_t upscale_factor(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
