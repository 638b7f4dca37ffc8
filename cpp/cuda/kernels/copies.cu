// cont, dup, cast, cpy: copies src's elements to dst in the order of ne, with any strides and shapes on both sides.
//
// Limited by memory, so each kernel accesses it in whole sectors of 32 bytes for one kind of layout:
//
//   copy_flat        both contiguous: the device's own copy
//   copy_rows        equal shapes, rows contiguous on both sides: 16 bytes a thread where addresses allow
//   copy_transposed  src contiguous along dimension 1, dst along 0: a block transposes a tile of 32 x 32 elements in
//                    shared memory, 32 x 33 words: with rows of 33, the lanes of a column use 32 different banks
//   copy_units       anything of one type: a unit (element, or block of a quantised type) a thread
//   copy_floats      between F32, F16 and BF16, equal shapes, rows contiguous on both sides: four elements a thread
//   copy_convert     from one plain type to another, an element a thread
//   copy_decode      from a quantised type to a plain type, a run of 8 elements a thread
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/device.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

using device::View;

// V: what a thread moves at a time. A row has `units` of them.
template <class V>
__global__ void copy_rows(View src, View dst, std::int64_t units, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const char *from = src.row(row);
        char *to = dst.row(row);
        device::for_each_unit(units, [&](std::int64_t unit) {
            const std::int64_t at = unit * static_cast<std::int64_t>(sizeof(V));
            device::store_vector(to + at, device::load_vector<V>(from + at));
        });
    });
}

constexpr int tile = 32, tile_rows = 8;

// A block of 32 x 8 threads: tile (blockIdx.x, blockIdx.y) of dimensions 0 and 1, in slices blockIdx.z, blockIdx.z +
// gridDim.z, ...
template <class T>
__global__ void copy_transposed(View src, View dst, std::int64_t n_slices) {
    T *words = device::shared_memory<T>();
    const std::int64_t i0 = std::int64_t{blockIdx.x} * tile, i1 = std::int64_t{blockIdx.y} * tile;
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    for (std::int64_t slice = blockIdx.z; slice < n_slices; slice += gridDim.z) {
        const std::int64_t i2 = slice % src.ne[2], i3 = slice / src.ne[2];
        // src is contiguous along dimension 1: lane x reads element i1 + x of rows i0 + y.
        for (int j = y; j < tile; j += tile_rows) {
            if (i0 + j < src.ne[0] && i1 + x < src.ne[1])
                words[j * (tile + 1) + x] = *reinterpret_cast<const T *>(src.at(i1 + x, i2, i3) + (i0 + j) * src.nb[0]);
        }
        __syncthreads();
        for (int j = y; j < tile; j += tile_rows) {
            if (i0 + x < src.ne[0] && i1 + j < src.ne[1])
                *reinterpret_cast<T *>(dst.at(i1 + j, i2, i3) + (i0 + x) * dst.nb[0]) = words[x * (tile + 1) + j];
        }
        __syncthreads();
    }
}

// The address of unit `index`, in the order of ne, of a tensor with `per_row` units per row.
__device__ inline char *unit_address(const View &t, std::int64_t index, std::int64_t per_row) {
    return t.row(index / per_row) + index % per_row * t.nb[0];
}

// A unit has `words` words of type T.
template <class T>
__global__ void copy_units(View src, std::int64_t src_per_row, View dst, std::int64_t dst_per_row, std::int64_t n_units, int words) {
    device::for_each_unit(n_units, [&](std::int64_t i) {
        const auto *from = reinterpret_cast<const T *>(unit_address(src, i, src_per_row));
        auto *to = reinterpret_cast<T *>(unit_address(dst, i, dst_per_row));
        for (int w = 0; w < words; w++) to[w] = from[w];
    });
}

template <class Format>
struct alignas(4 * sizeof(typename Format::Block)) Four {
    typename Format::Block at[4];
};

// A row has n elements in `units` units of four, of which the last may be a part.
template <class From, class To>
__global__ void copy_floats(View src, View dst, std::int64_t n, std::int64_t units, std::int64_t n_rows, std::uint64_t *fault) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const auto *from = reinterpret_cast<const typename From::Block *>(src.row(row));
        auto *to = reinterpret_cast<typename To::Block *>(dst.row(row));
        device::for_each_unit(units, [&](std::int64_t unit) {
            const std::int64_t first = unit * 4;
            const bool is_whole = first + 4 <= n;
            Four<From> in{};
            Four<To> out{};
            if (is_whole) in = device::load_vector<Four<From>>(from + first);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (first + i >= n) continue;
                if (!is_whole) in.at[i] = from[first + i];
                if (!convert_element<From, To>(in.at[i], out.at[i])) device::note_fault(fault, 0, row * n + first + i);
                if (!is_whole) to[first + i] = out.at[i];
            }
            if (is_whole) device::store_vector(to + first, out);
        });
    });
}

__global__ void copy_converted(View src, DType src_type, View dst, DType dst_type, std::int64_t n, std::uint64_t *fault) {
    device::for_each_unit(n, [&](std::int64_t i) {
        if (!device::convert(src_type, unit_address(src, i, src.ne[0]), dst_type, unit_address(dst, i, dst.ne[0]))) {
            device::note_fault(fault, 0, i);
        }
    });
}

__global__ void copy_decoded(View src, DType src_type, View dst, DType dst_type, std::int64_t n_runs, std::uint64_t *fault) {
    const std::int64_t per_row = src.ne[0] / run_length;
    device::for_each_unit(n_runs, [&](std::int64_t run) {
        float values[run_length];
        device::decode_run(src_type, src.row(run / per_row), run % per_row, values);
#pragma unroll
        for (int i = 0; i < run_length; i++) {
            const std::int64_t element = run * run_length + i;
            if (!device::convert_to<F32>(values[i], dst_type, unit_address(dst, element, dst.ne[0]))) device::note_fault(fault, 0, element);
        }
    });
}

const Layout &source_of(const Problem &p) noexcept { return p.node.src[0]->layout; }

const char *refuse_unless_flat(const Problem &p) noexcept {
    if (source_of(p).type != p.node.layout.type) return "types differ";
    return source_of(p).contiguous() && p.node.layout.contiguous() ? nullptr : "not contiguous";
}

const char *refuse_unless_rows(const Problem &p) noexcept {
    const Layout &from = source_of(p), &to = p.node.layout;
    if (from.type != to.type) return "types differ";
    if (from.ne != to.ne) return "shapes differ";
    return from.rows_contiguous() && to.rows_contiguous() ? nullptr : "rows are not contiguous";
}

bool is_word(std::size_t size) noexcept { return size == 1 || size == 2 || size == 4 || size == 8; }

const char *refuse_unless_transposed(const Problem &p) noexcept {
    const Layout &from = source_of(p), &to = p.node.layout;
    const DTypeTraits &type = traits(to.type);
    if (from.type != to.type) return "types differ";
    if (from.ne != to.ne) return "shapes differ";
    if (type.block_size != 1 || !is_word(type.size)) return "elements are no words";
    if (to.ne[0] < tile / 2 || to.ne[1] < tile / 2) return "less than half a tile";
    if (to.ne[1] > tile * device::largest_grid_y) return "more rows than a grid has tiles";
    return from.nb[1] == type.size && to.nb[0] == type.size ? nullptr : "not transposed";
}

const char *refuse_conversion(const Problem &p) noexcept { return source_of(p).type == p.node.layout.type ? nullptr : "types differ"; }

const char *refuse_blocks(const Problem &p) noexcept {
    return device::is_plain(source_of(p).type) && device::is_plain(p.node.layout.type) ? nullptr : "a format with blocks";
}

const char *refuse_encoding(const Problem &p) noexcept {
    return device::is_plain(p.node.layout.type) ? nullptr : "into a format with blocks";
}

bool is_float_of_words(DType type) noexcept { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

const char *refuse_unless_floats(const Problem &p) noexcept {
    const Layout &from = source_of(p), &to = p.node.layout;
    if (!is_float_of_words(from.type) || !is_float_of_words(to.type) || from.type == to.type) return "not two of f32, f16 and bf16";
    if (from.contiguous() && to.contiguous()) return nullptr;
    if (from.ne != to.ne) return "shapes differ";
    return from.rows_contiguous() && to.rows_contiguous() ? nullptr : "rows are not contiguous";
}

cudaError_t launch_flat(const Step &step, const CudaStream &stream) noexcept {
    // src may be dst. Then there is nothing to do, and CUDA does not accept a copy onto itself.
    const std::size_t size = step.node->layout.nbytes();
    if (size == 0 || step.src[0].data == step.dst.data) return cudaSuccess;
    return cudaMemcpyAsync(step.dst.data, step.src[0].data, size, cudaMemcpyDeviceToDevice, stream.stream);
}

cudaError_t launch_rows(const Step &step, const CudaStream &stream) noexcept {
    const std::size_t row_bytes = step.node->layout.row_bytes();
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (row_bytes == 0 || n_rows == 0) return cudaSuccess;
    const std::size_t size = widest_word(step.src[0], step.dst, row_bytes);
    return with_word(size, [&](auto word) {
        const auto units = static_cast<std::int64_t>(row_bytes / sizeof word);
        const device::RowGrid grid = device::row_grid(units, n_rows);
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, copy_rows<decltype(word)>, device::view_of(step.src[0]),
                      device::view_of(step.dst), units, n_rows);
    });
}

cudaError_t launch_transposed(const Step &step, const CudaStream &stream) noexcept {
    const Extents &ne = step.dst.ne;
    const std::int64_t n_slices = ne[2] * ne[3];
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    const auto blocks = [](std::int64_t n) { return static_cast<unsigned>(ceil_div(n, tile)); };
    const dim3 grid(blocks(ne[0]), blocks(ne[1]), static_cast<unsigned>(std::min(n_slices, device::largest_grid_y)));
    return with_word(traits(step.dst.type).size, [&](auto word) {
        return launch(stream, {step.kernel->name, grid, dim3(tile, tile_rows), tile * (tile + 1) * sizeof word},
                      copy_transposed<decltype(word)>, device::view_of(step.src[0]), device::view_of(step.dst), n_slices);
    });
}

cudaError_t launch_units(const Step &step, const CudaStream &stream) noexcept {
    const DTypeTraits &type = traits(step.dst.type);
    const std::int64_t n_units = step.node->layout.n_elements() / type.block_size;
    if (n_units == 0) return cudaSuccess;
    // Words that divide the unit: units are aligned to their words.
    std::size_t size = 8;
    const auto fits = [&](const TensorRef &t) { return rows_aligned(t, size) && (t.ne[0] <= type.block_size || t.nb[0] % size == 0); };
    while (size > 1 && (type.size % size != 0 || !fits(step.src[0]) || !fits(step.dst))) size /= 2;
    const device::RowGrid grid = device::row_grid(n_units, 1);
    return with_word(size, [&](auto word) {
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, copy_units<decltype(word)>, device::view_of(step.src[0]),
                      step.src[0].ne[0] / type.block_size, device::view_of(step.dst), step.dst.ne[0] / type.block_size, n_units,
                      static_cast<int>(type.size / sizeof word));
    });
}

cudaError_t launch_converted(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(n, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, copy_converted, device::view_of(step.src[0]), step.src[0].type,
                  device::view_of(step.dst), step.dst.type, n, step.fault);
}

template <class From, class To>
cudaError_t launch_floats_as(const Step &step, const CudaStream &stream) noexcept {
    device::View src = device::view_of(step.src[0]), dst = device::view_of(step.dst);
    std::int64_t n = dst.ne[0], n_rows = step.node->layout.n_rows();
    if (step.node->src[0]->layout.contiguous() && step.node->layout.contiguous()) n *= n_rows, n_rows = 1;
    const std::int64_t units = ceil_div(n, std::int64_t{4});
    const device::RowGrid grid = device::row_grid(units, n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, copy_floats<From, To>, src, dst, n, units, n_rows, step.fault);
}

template <class From>
cudaError_t launch_floats_from(const Step &step, const CudaStream &stream) noexcept {
    switch (step.dst.type) {
        case DType::f16: return launch_floats_as<From, F16>(step, stream);
        case DType::bf16: return launch_floats_as<From, BF16>(step, stream);
        default: return launch_floats_as<From, F32>(step, stream);
    }
}

cudaError_t launch_floats(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &from = step.src[0], &to = step.dst;
    if (step.node->layout.n_elements() == 0) return cudaSuccess;
    if (!rows_aligned(from, 4 * traits(from.type).size) || !rows_aligned(to, 4 * traits(to.type).size))
        return launch_converted(step, stream);
    switch (from.type) {
        case DType::f16: return launch_floats_from<F16>(step, stream);
        case DType::bf16: return launch_floats_from<BF16>(step, stream);
        default: return launch_floats_from<F32>(step, stream);
    }
}

cudaError_t launch_decoded(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_runs = step.node->layout.n_elements() / run_length;
    if (n_runs == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(n_runs, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, copy_decoded, device::view_of(step.src[0]), step.src[0].type,
                  device::view_of(step.dst), step.dst.type, n_runs, step.fault);
}

constexpr CudaKernel table[] = {
    {{.op = Op::cont, .name = "copy_flat", .plan = plan_unless<refuse_unless_flat>}, launch_flat},
    {{.op = Op::cont, .name = "copy_rows", .plan = plan_unless<refuse_unless_rows>}, launch_rows},
    {{.op = Op::cont, .name = "copy_transposed", .plan = plan_unless<refuse_unless_transposed>}, launch_transposed},
    {{.op = Op::cont, .name = "copy_units", .plan = plan_unless<refuse_conversion>}, launch_units},
    {{.op = Op::dup, .name = "copy_flat", .plan = plan_unless<refuse_unless_flat>}, launch_flat},
    {{.op = Op::dup, .name = "copy_rows", .plan = plan_unless<refuse_unless_rows>}, launch_rows},
    {{.op = Op::dup, .name = "copy_transposed", .plan = plan_unless<refuse_unless_transposed>}, launch_transposed},
    {{.op = Op::dup, .name = "copy_units", .plan = plan_unless<refuse_conversion>}, launch_units},
    {{.op = Op::cpy, .name = "copy_flat", .plan = plan_unless<refuse_unless_flat>}, launch_flat},
    {{.op = Op::cpy, .name = "copy_rows", .plan = plan_unless<refuse_unless_rows>}, launch_rows},
    {{.op = Op::cpy, .name = "copy_transposed", .plan = plan_unless<refuse_unless_transposed>}, launch_transposed},
    {{.op = Op::cpy, .name = "copy_units", .plan = plan_unless<refuse_conversion>}, launch_units},
    {{.op = Op::cpy, .name = "copy_floats", .plan = plan_unless<refuse_unless_floats>}, launch_floats},
    {{.op = Op::cpy, .name = "copy_convert", .plan = plan_unless<refuse_blocks>}, launch_converted},
    {{.op = Op::cpy, .name = "copy_decode", .plan = plan_unless<refuse_encoding>}, launch_decoded},
    {{.op = Op::cast, .name = "copy_flat", .plan = plan_unless<refuse_unless_flat>}, launch_flat},
    {{.op = Op::cast, .name = "copy_rows", .plan = plan_unless<refuse_unless_rows>}, launch_rows},
    {{.op = Op::cast, .name = "copy_units", .plan = plan_unless<refuse_conversion>}, launch_units},
    {{.op = Op::cast, .name = "copy_floats", .plan = plan_unless<refuse_unless_floats>}, launch_floats},
    {{.op = Op::cast, .name = "copy_convert", .plan = plan_unless<refuse_blocks>}, launch_converted},
    {{.op = Op::cast, .name = "copy_decode", .plan = plan_unless<refuse_encoding>}, launch_decoded},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::copies = table;

}  // namespace tensorlib::core
