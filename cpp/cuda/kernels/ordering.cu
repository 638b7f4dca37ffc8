// argsort and top_k: indices of elements, by way of entries that sort as integers (math/order.hpp). No two
// entries are equal, so the results are the CPU's, regardless of the order of the work. An entry of F32, which is for F16
// and BF16 too, or I32, which is for smaller integers, has 8 bytes; one of I64 or F64 has 16.
//
//   argsort    a bitonic sort of the next power of two of entries: tiles of 2048 in shared memory (16 or 32 KiB), a thread a
//              pair at a time; steps over distances of a tile and more go through memory, a launch each. Rows of a tile
//              or less need no other memory
//   top_k      for k up to 1024: a block owns a row, and keeps its best 256 to 1024 entries sorted in shared memory; as
//              many new ones are read next to them (up to 32 KiB in all), and sorted with them if one of these is among
//              the first k
//
// Limited by memory (top_k of long rows), and by the passes of the sort: 66 and more for a tile.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"

#include "base/checked.hpp"
#include "math/order.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/numbers.hpp"

#include <algorithm>
#include <bit>

namespace tensorlib::core {

namespace {

using math::last_entry;
using math::Order;
using math::SortEntryOf;

// A row's elements as entries; past its end the last entry.
template <class E>
struct Rows {
    using Entry = SortEntryOf<E>;

    device::View a;
    DType type;
    Order order;

    __device__ Entry entry(std::int64_t row, std::int64_t i) const {
        if (i >= a.ne[0]) return last_entry<Entry>();
        return math::sort_entry(device::load_as_number<E>(type, a.row(row) + i * a.nb[0]), i, order);
    }
};

unsigned blocks_for(std::int64_t n) noexcept { return static_cast<unsigned>(std::clamp<std::int64_t>(n, 1, device::largest_grid_x)); }

template <class E>
Rows<E> rows_of(const Step &step, Order order) noexcept {
    return {device::view_of(step.src[0]), step.src[0].type, order};
}

// ---- argsort

constexpr std::int64_t largest_tile = 2048;
constexpr int most_sort_threads = 512;

// Sorts a tile in shared memory from sequences of from / 2 to sequences of `to`, for distances within a tile. first:
// the tile's position in its row. Every second sequence becomes descending, as the next size requires.
template <class Entry>
__device__ void sort_tile(Entry *entries, std::int64_t tile, std::int64_t first, std::int64_t from, std::int64_t to) {
    for (std::int64_t size = from; size <= to; size *= 2) {
        for (std::int64_t distance = min(size, tile) / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (std::int64_t pair = threadIdx.x; pair < tile / 2; pair += blockDim.x) {
                const std::int64_t i = pair / distance * 2 * distance + pair % distance;
                const bool ascends = ((first + i) & size) == 0;
                const Entry x = entries[i], y = entries[i + distance];
                if ((y < x) == ascends) {
                    entries[i] = y;
                    entries[i + distance] = x;
                }
            }
        }
    }
    __syncthreads();
}

// Where a row's entries are stored between launches, padded to a power of two, and how many of its indices are needed
// in the end.
template <class Entry>
struct Padded {
    Entry *entries;
    std::int64_t length, tile, n_tiles, wanted;
};

// Tiles: read from a and sorted if from is 2; otherwise read from memory, for the rest of a size. At the size of the
// row, stores its indices.
template <class E>
__global__ void sort_tiles(Rows<E> rows, Padded<SortEntryOf<E>> padded, std::int32_t *c, std::int64_t from, std::int64_t to) {
    using Entry = SortEntryOf<E>;
    auto *entries = device::shared_memory<Entry>();
    for (std::int64_t t = blockIdx.x; t < padded.n_tiles; t += gridDim.x) {
        const std::int64_t row = t * padded.tile / padded.length, first = t * padded.tile % padded.length;
        Entry *there = padded.entries + t * padded.tile;
        for (std::int64_t i = threadIdx.x; i < padded.tile; i += blockDim.x) entries[i] = from == 2 ? rows.entry(row, first + i) : there[i];
        sort_tile(entries, padded.tile, first, from, to);
        for (std::int64_t i = threadIdx.x; i < padded.tile; i += blockDim.x) {
            if (to < padded.length) {
                there[i] = entries[i];
            } else if (first + i < padded.wanted) {
                c[row * padded.wanted + first + i] = math::place_of(entries[i]);
            }
        }
        __syncthreads();
    }
}

// One step over a distance of a tile or more.
template <class Entry>
__global__ void sort_far(Padded<Entry> padded, std::int64_t size, std::int64_t distance) {
    device::for_each_unit(padded.n_tiles * padded.tile / 2, [&](std::int64_t pair) {
        const std::int64_t i = pair / distance * 2 * distance + pair % distance;
        const bool ascends = (i % padded.length & size) == 0;
        const Entry x = padded.entries[i], y = padded.entries[i + distance];
        if ((y < x) == ascends) {
            padded.entries[i] = y;
            padded.entries[i + distance] = x;
        }
    });
}

std::int64_t padded_length(std::int64_t n) noexcept {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 2))));
}

void plan_sort(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout;
    const std::int64_t length = padded_length(a.ne[0]);
    const std::size_t size =
        ops::visit_number(ops::ordered_type(p.node.src[0]->layout.type), []<class E>(E) { return sizeof(SortEntryOf<E>); });
    if (length > largest_tile) plan.workspace = static_cast<std::size_t>(length * a.n_rows()) * size;
}

Order order_of(const Tensor &node) noexcept {
    const bool descends = node.op == Op::top_k || attrs_of<ops::ArgsortAttrs>(node).order == ops::ArgsortOrder::desc;
    return descends ? Order::descending : Order::ascending;
}

template <class E>
cudaError_t launch_sort_as(const Step &step, const CudaStream &stream) noexcept {
    using Entry = SortEntryOf<E>;
    const std::int64_t n_rows = step.node->layout.n_rows(), length = padded_length(step.src[0].ne[0]),
                       tile = std::min(length, largest_tile);
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const Rows<E> rows = rows_of<E>(step, order_of(*step.node));
    const Padded<Entry> padded{reinterpret_cast<Entry *>(step.workspace), length, tile, n_rows * (length / tile), step.node->layout.ne[0]};
    auto *c = reinterpret_cast<std::int32_t *>(step.dst.data);
    const auto threads = static_cast<unsigned>(std::clamp<std::int64_t>(tile / 2, 32, most_sort_threads));
    const Launch of_tiles{step.kernel->name, dim3(blocks_for(padded.n_tiles)), dim3(threads),
                          static_cast<std::size_t>(tile) * sizeof(Entry)};
    cudaError_t error = launch(stream, of_tiles, sort_tiles<E>, rows, padded, c, std::int64_t{2}, tile);
    const device::RowGrid far = device::row_grid(padded.n_tiles * tile / 2, 1);
    for (std::int64_t size = 2 * tile; size <= length; size *= 2) {
        for (std::int64_t distance = size / 2; distance >= tile && error == cudaSuccess; distance /= 2)
            error = launch(stream, {step.kernel->name, far.grid, far.block}, sort_far<Entry>, padded, size, distance);
        if (error == cudaSuccess) error = launch(stream, of_tiles, sort_tiles<E>, rows, padded, c, size, size);
    }
    return error;
}

cudaError_t launch_sort(const Step &step, const CudaStream &stream) noexcept {
    return ops::visit_number(ops::ordered_type(step.src[0].type), [&]<class E>(E) { return launch_sort_as<E>(step, stream); });
}

// ---- top_k

constexpr std::int64_t most_kept = 1024;
constexpr int top_k_threads = 256, top_k_warps = top_k_threads / 32;

// Whether `mine` is true in one of the block's threads. `votes` has an element for each warp.
__device__ bool any_of_block(bool mine, unsigned *votes) {
    const int warp = static_cast<int>(threadIdx.x / device::warp_size);
    const int any = __any_sync(device::all_lanes, mine ? 1 : 0);
    if (threadIdx.x % device::warp_size == 0) votes[warp] = any != 0 ? 1 : 0;
    __syncthreads();
    unsigned all = 0;
    for (int w = 0; w < top_k_warps; w++) all |= votes[w];
    __syncthreads();
    return all != 0;
}

// kept: a power of two, at least k.
template <class E>
__global__ void top_k_rows(Rows<E> rows, std::int32_t *c, std::int64_t k, std::int64_t kept, std::int64_t n_rows) {
    using Entry = SortEntryOf<E>;
    auto *entries = device::shared_memory<Entry>();
    auto *votes = reinterpret_cast<unsigned *>(entries + 2 * kept);
    for (std::int64_t row = blockIdx.x; row < n_rows; row += gridDim.x) {
        for (std::int64_t i = threadIdx.x; i < kept; i += top_k_threads) entries[i] = last_entry<Entry>();
        __syncthreads();
        for (std::int64_t from = 0; from < rows.a.ne[0]; from += kept) {
            const Entry least = entries[k - 1];
            bool better = false;
            for (std::int64_t i = threadIdx.x; i < kept; i += top_k_threads) {
                const Entry entry = rows.entry(row, from + i);
                entries[kept + i] = entry;
                better |= entry < least;
            }
            if (any_of_block(better, votes)) sort_tile(entries, 2 * kept, 0, 2, 2 * kept);
        }
        for (std::int64_t i = threadIdx.x; i < k; i += top_k_threads) c[row * k + i] = math::place_of(entries[i]);
        __syncthreads();
    }
}

const char *refuse_large_k(const Problem &p) noexcept { return p.node.layout.ne[0] <= most_kept ? nullptr : "k is more than 1024"; }

template <class E>
cudaError_t launch_top_k_as(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t k = step.node->layout.ne[0], n_rows = step.node->layout.n_rows();
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const std::int64_t kept = std::max<std::int64_t>(padded_length(k), top_k_threads);
    const std::size_t shared = static_cast<std::size_t>(2 * kept) * sizeof(SortEntryOf<E>) + top_k_warps * sizeof(unsigned);
    return launch(stream, {step.kernel->name, dim3(blocks_for(n_rows)), dim3(top_k_threads), shared}, top_k_rows<E>,
                  rows_of<E>(step, Order::descending), reinterpret_cast<std::int32_t *>(step.dst.data), k, kept, n_rows);
}

cudaError_t launch_top_k(const Step &step, const CudaStream &stream) noexcept {
    return ops::visit_number(ops::ordered_type(step.src[0].type), [&]<class E>(E) { return launch_top_k_as<E>(step, stream); });
}

constexpr CudaKernel table[] = {
    {{.op = Op::argsort, .name = "argsort", .plan = plan_always<plan_sort>}, launch_sort},
    {{.op = Op::top_k, .name = "top_k_kept", .plan = plan_unless<refuse_large_k>}, launch_top_k},
    {{.op = Op::top_k, .name = "top_k_sorted", .plan = plan_always<plan_sort>}, launch_sort},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::ordering = table;

}  // namespace tensorlib::core
