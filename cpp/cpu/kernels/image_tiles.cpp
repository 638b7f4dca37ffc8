#include "cpu/kernels/image_tiles.hpp"

#include "base/checked.hpp"

#include <algorithm>
#include <numeric>

namespace tensorlib::core {

TileAxis::TileAxis(const Sliding &w) noexcept
    : elements(w.elements),
      positions(w.positions),
      taps(w.taps),
      step(w.stride),
      first(-w.padding),
      tap_step(w.dilation),
      kernel_first(0),
      kernel_step(1),
      out_first(0),
      out_step(1) {}

namespace {

// The distance between taps of a transposed convolution whose elements have the same remainder by the stride, which is
// their phase.
std::int64_t kernel_step_of(const Sliding &w) noexcept { return w.stride / std::gcd(w.dilation, w.stride); }
// The number of phases that taps reach: each of the first taps has its own.
std::int64_t phases_of(const Sliding &w) noexcept { return std::min(w.taps, kernel_step_of(w)); }

}  // namespace

// Element e of the result is met at position (e + padding - tap * dilation) / stride by the taps for which that is an
// integer. From the first such tap, this is each m-th one, where m * dilation is the least multiple of the stride.
TileAxis::TileAxis(const Sliding &w, std::int64_t first_tap) noexcept
    : elements(w.positions),
      positions(0),
      taps(0),
      step(1),
      first(0),
      tap_step(-(w.dilation / std::gcd(w.dilation, w.stride))),
      kernel_first(first_tap),
      kernel_step(kernel_step_of(w)),
      out_first(0),
      out_step(w.stride) {
    const std::int64_t offset = first_tap * w.dilation - w.padding, remainder = offset % w.stride;
    out_first = remainder < 0 ? remainder + w.stride : remainder;
    if (out_first < w.elements) positions = (w.elements - 1 - out_first) / w.stride + 1;
    if (first_tap < w.taps) taps = (w.taps - 1 - first_tap) / kernel_step + 1;
    first = (out_first - offset) / w.stride;
}

std::int64_t phases_of(const ops::Convolution &c) noexcept { return c.transposed ? phases_of(c.x) * phases_of(c.y) : 1; }
bool leaves_zeros(const ops::Convolution &c) noexcept {
    return c.transposed && (phases_of(c.x) < c.x.stride || phases_of(c.y) < c.y.stride);
}

ImageTiles::ImageTiles(const ops::Convolution &c, std::int64_t phase, const TensorRef &b, std::int64_t number,
                       const simd::SimdTable &table) noexcept
    : x(c.transposed ? TileAxis(c.x, phase % phases_of(c.x)) : TileAxis(c.x)),
      y(c.transposed ? TileAxis(c.y, phase / phases_of(c.x)) : TileAxis(c.y)),
      channels(c.channels),
      image{b.type, {x.elements, y.elements, c.channels, 1}, {}, b.data + number * c.image.image},
      simd(table) {
    const std::int64_t strides[] = {c.image.x, c.image.y, c.image.channel};
    for (std::size_t d = 0; d < std::size(strides); d++) image.nb[d] = static_cast<std::size_t>(strides[d]);
}

// Positions of a tile that lie in one row: their index in the tile, and in the row.
struct ImageTiles::Line {
    std::int64_t place, row, first, n;
};

void ImageTiles::gather(std::int64_t position, std::int64_t n, std::int64_t k, std::int64_t kc, std::int64_t width,
                        float *panel) const noexcept {
    for (std::int64_t at = 0; at < n;) {
        const std::int64_t row = (position + at) / x.positions, first = (position + at) % x.positions;
        const Line line{at, row, first, std::min(x.positions - first, n - at)};
        gather_line(line, k, kc, width, panel);
        at += line.n;
    }
    if (n == width) return;
    for (std::int64_t i = 0; i < kc; i++) std::fill(panel + i * width + n, panel + (i + 1) * width, 0.0f);
}

void ImageTiles::gather_line(const Line &line, std::int64_t k, std::int64_t kc, std::int64_t width, float *panel) const noexcept {
    const std::int64_t n_taps = taps();
    // With fewer elements than taps, those that follow k; otherwise all.
    const std::int64_t count = std::min(kc, n_taps), first = k % n_taps;
    for (std::int64_t i = 0; i < count; i++) {
        const bool next = first + i >= n_taps;
        const std::int64_t tap = next ? first + i - n_taps : first + i;
        gather_tap(line, tap, k / n_taps + (next ? 1 : 0), (kc - i - 1) / n_taps + 1, panel + i * width + line.place, n_taps * width);
    }
}

void ImageTiles::gather_tap(const Line &line, std::int64_t tap, std::int64_t channel, std::int64_t n_channels, float *to,
                            std::int64_t to_stride) const noexcept {
    const std::int64_t tap_x = tap % x.taps, row = y.element(line.row, tap / x.taps);
    Sliding::Range there = x.positions_of(tap_x);
    there.begin = std::clamp(there.begin, line.first, line.first + line.n) - line.first;
    there.end = std::clamp(there.end, line.first, line.first + line.n) - line.first;
    if (row < 0 || row >= y.elements || there.begin >= there.end) there = {line.n, line.n};
    if (there.begin > 0 || there.end < line.n) {
        for (std::int64_t c = 0; c < n_channels; c++) {
            std::fill(to + c * to_stride, to + c * to_stride + there.begin, 0.0f);
            std::fill(to + c * to_stride + there.end, to + c * to_stride + line.n, 0.0f);
        }
    }
    if (there.begin == line.n) return;
    const auto nb = [&](std::size_t d) { return static_cast<std::int64_t>(image.nb[d]); };
    const std::byte *from = image.data + x.element(line.first + there.begin, tap_x) * nb(0) + row * nb(1) + channel * nb(2);
    // The stride of a dimension of one element may be arbitrarily large.
    const std::int64_t stride = there.size() > 1 ? x.step * nb(0) : 0;
    load_runs(image.type, n_channels, from, nb(2), stride, there.size(), to + there.begin, to_stride, simd);
}

void load_runs(DType type, std::int64_t k, const std::byte *from, std::int64_t k_stride, std::int64_t stride, std::int64_t n, float *to,
               std::int64_t to_stride, const simd::SimdTable &simd) noexcept {
    const auto runs = type == DType::f32 ? simd.windows.runs_f32 : type == DType::f16 ? simd.windows.runs_f16 : simd.windows.runs_bf16;
    if (runs) {
        runs(k, reinterpret_cast<const char *>(from), k_stride, stride, static_cast<int>(n), to, to_stride);
        return;
    }
    const TensorRef row{type, {n, 1, 1, 1}, {static_cast<std::size_t>(stride), 0, 0, 0}, nullptr};
    for (std::int64_t i = 0; i < k; i++) load_row(row, from + i * k_stride, 0, n, to + i * to_stride, simd);
}

}  // namespace tensorlib::core
