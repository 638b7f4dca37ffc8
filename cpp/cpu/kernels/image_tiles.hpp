// Elements of images as convolutions read them: for a tile of neighbouring positions of the result, the elements that
// each tap of each channel meets. They are read directly from the image, so only a tile of what im2col would give
// exists at a time.
#pragma once

#include "cpu/cpu_kernel.hpp"
#include "ops/convolution.hpp"

namespace tensorlib::core {

// One dimension of a convolution, or of the positions of a transposed one that share their taps. Tap j of position i
// meets element i * step + first + j * tap_step. It is the kernel's tap kernel_first + j * kernel_step, and adds to the
// result's element out_first + i * out_step.
struct TileAxis {
    std::int64_t elements, positions, taps;
    std::int64_t step, first, tap_step;
    std::int64_t kernel_first, kernel_step;
    std::int64_t out_first, out_step;

    explicit TileAxis(const Sliding &windows) noexcept;
    // For a transposed convolution: the elements that tap first_tap, and each kernel_step-th tap after it, reach.
    TileAxis(const Sliding &windows, std::int64_t first_tap) noexcept;

    std::int64_t element(std::int64_t position, std::int64_t tap) const noexcept { return position * step + first + tap * tap_step; }
    Sliding::Range positions_of(std::int64_t tap) const noexcept { return Sliding::within(element(0, tap), step, positions, elements); }
};

// The number of sets of positions with taps of their own: 1, or for a transposed convolution one for each remainder by
// the stride that a tap leaves. The result is zero for other remainders.
std::int64_t phases_of(const ops::Convolution &c) noexcept;
bool leaves_zeros(const ops::Convolution &c) noexcept;

// Describes the panels of a tile: positions in their order, x first; channels and taps as numbers k = (channel * y taps
// + y) * x taps + x.
struct ImageTiles {
    TileAxis x, y;
    std::int64_t channels;
    TensorRef image;  // one image, with dimensions x, y, channels
    const simd::SimdTable &simd;

    ImageTiles(const ops::Convolution &c, std::int64_t phase, const TensorRef &b, std::int64_t number,
               const simd::SimdTable &simd) noexcept;

    std::int64_t positions() const noexcept { return x.positions * y.positions; }
    std::int64_t taps() const noexcept { return x.taps * y.taps; }
    std::int64_t products() const noexcept { return channels * taps(); }

    // Fills panel[k][i] for kc numbers from k and n positions from `position`. Zeros fill the panel's width, and
    // replace elements that a tap does not meet.
    void gather(std::int64_t position, std::int64_t n, std::int64_t k, std::int64_t kc, std::int64_t width, float *panel) const noexcept;

private:
    struct Line;
    void gather_line(const Line &line, std::int64_t k, std::int64_t kc, std::int64_t width, float *panel) const noexcept;
    void gather_tap(const Line &line, std::int64_t tap, std::int64_t channel, std::int64_t n_channels, float *to,
                    std::int64_t to_stride) const noexcept;
};

// Loads n elements that are `stride` bytes apart as contiguous floats. Repeats that k times, each k_stride bytes and
// to_stride floats after the previous one.
void load_runs(DType type, std::int64_t k, const std::byte *from, std::int64_t k_stride, std::int64_t stride, std::int64_t n, float *to,
               std::int64_t to_stride, const simd::SimdTable &simd) noexcept;

}  // namespace tensorlib::core
