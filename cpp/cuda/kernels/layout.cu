// repeat, concat, pad, pad_reflect_1d, roll, flip: moves elements as their Movement says (runtime/movement.hpp). diag, tri,
// diag_mask_inf, diag_mask_zero: each row keeps a run of elements, and all others have one value (runtime/band.hpp).
// Limited by memory.
//
//   move   a thread owns a word of the result: of 16 to 1 bytes if all sources' rows are contiguous and aligned to it,
//          otherwise an element. Neighbours read and write neighbours, unless a source's elements are not contiguous
//   band   a thread owns an element of the result
#include "cuda/kernels/layout.hpp"

#include "cuda/device/device.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/launch.hpp"
#include "runtime/band.hpp"
#include "runtime/movement.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// T: a unit of the movement. most: no less than the number of its sources, which are unrolled.
template <class T, int most>
__global__ void move_units(Movement m, char *result, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const std::int64_t slice = row / m.ne[1];
        const std::byte *from[most];
#pragma unroll
        for (int p = 0; p < most; p++)
            from[p] = p < m.n_sources ? m.sources[p].row(row % m.ne[1], slice % m.ne[2], slice / m.ne[2]) : nullptr;
        auto *to = reinterpret_cast<T *>(result) + row * m.ne[0];
        device::for_each_unit(m.ne[0], [&](std::int64_t i) {
            T value{};
#pragma unroll
            for (int p = 0; p < most; p++) {
                if (!from[p]) continue;
                const std::int64_t j = m.sources[p].index(0, i);
                if (j < m.sources[p].extent[0]) value = device::load_vector<T>(from[p] + j * m.sources[p].nb[0]);
            }
            device::store_vector(to + i, value);
        });
    });
}

// Changes the units to larger ones, or to smaller ones for a quantised type, if all sources' rows are contiguous: words
// of at most 16 bytes that divide all counts of units and all addresses.
void take_words(Movement &m, const std::byte *result) noexcept {
    const auto contiguous = [&](const Movement::Source &source) { return source.nb[0] == m.unit; };
    if (!std::all_of(m.sources, m.sources + m.n_sources, contiguous)) return;
    std::uint64_t any = 16 | static_cast<std::uint64_t>(m.ne[0] * m.unit) | reinterpret_cast<std::uintptr_t>(result);
    for (int p = 0; p < m.n_sources; p++) {
        const Movement::Source &source = m.sources[p];
        any |= reinterpret_cast<std::uintptr_t>(source.data);
        for (const std::int64_t units : {source.start[0], source.period[0], source.extent[0]})
            any |= static_cast<std::uint64_t>(units * m.unit);
        for (int d = 1; d < max_dims; d++) any |= source.extent[d] > 1 ? static_cast<std::uint64_t>(source.nb[d]) : 0;
    }
    const auto word = static_cast<std::int64_t>(any & (~any + 1));  // its lowest bit
    const auto in_words = [&](std::int64_t &units) { units = units * m.unit / word; };
    in_words(m.ne[0]);
    for (int p = 0; p < m.n_sources; p++) {
        Movement::Source &source = m.sources[p];
        in_words(source.start[0]), in_words(source.period[0]), in_words(source.extent[0]);
        source.nb[0] = word;
    }
    m.unit = word;
}

// T has an element's size.
template <class T>
__global__ void keep_band(Band band, device::View source, device::View c, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = c.index(row);
        const char *from = source.at(index);
        auto *to = reinterpret_cast<T *>(c.at(index));
        const Band::Range kept = band.range(index.i1, c.ne[0]);
        T fill{};
        memcpy(&fill, &band.fill, sizeof fill < sizeof band.fill ? sizeof fill : sizeof band.fill);
        device::for_each_unit(c.ne[0], [&](std::int64_t i) {
            to[i] = i >= kept.begin && i < kept.end ? *reinterpret_cast<const T *>(from + i * source.nb[0]) : fill;
        });
    });
}

cudaError_t launch_band(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    const Band band = band_of(step);
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_rows);
    return with_word(traits(step.dst.type).size, [&](auto word) {
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, keep_band<decltype(word)>, band, device::view_of(band.source),
                      device::view_of(step.dst), n_rows);
    });
}

constexpr CudaKernel table[] = {
    {{.op = Op::repeat, .name = "move", .plan = plan_always<>}, launch_move},
    {{.op = Op::concat, .name = "move", .plan = plan_always<>}, launch_move},
    {{.op = Op::flip, .name = "move", .plan = plan_always<>}, launch_move},
    {{.op = Op::pad, .name = "move", .plan = plan_always<>}, launch_move},
    {{.op = Op::pad_reflect_1d, .name = "move", .plan = plan_always<>}, launch_move},
    {{.op = Op::roll, .name = "move", .plan = plan_always<>}, launch_move},
    {{.op = Op::diag, .name = "band", .plan = plan_always<>}, launch_band},
    {{.op = Op::tri, .name = "band", .plan = plan_always<>}, launch_band},
    {{.op = Op::diag_mask_inf, .name = "band", .plan = plan_always<>}, launch_band},
    {{.op = Op::diag_mask_zero, .name = "band", .plan = plan_always<>}, launch_band},
};

}  // namespace

cudaError_t launch_move(const Step &step, const CudaStream &stream) noexcept {
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    Movement m = movement_of(step);
    take_words(m, step.dst.data);
    const std::int64_t n_rows = m.ne[1] * m.ne[2] * m.ne[3];
    const device::RowGrid grid = device::row_grid(m.ne[0], n_rows);
    return with_word(static_cast<std::size_t>(m.unit), [&](auto word) {
        using T = decltype(word);
        const auto kernel = m.n_sources <= 3 ? move_units<T, 3> : move_units<T, max_sources>;
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, kernel, m, reinterpret_cast<char *>(step.dst.data), n_rows);
    });
}

const std::span<const CudaKernel> cuda_kernels::layout = table;

}  // namespace tensorlib::core
