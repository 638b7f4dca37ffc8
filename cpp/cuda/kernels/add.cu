// add: c = a + b in a's shape, b repeating into a. One rounding, so the bits are the CPU's.
//
// All three are limited by memory: 12 bytes an element where b has a's shape. A thread moves 16 bytes of each operand
// where addresses and strides allow, else one element. No shared memory.
//
//   add_f32_flat   the same shape, all contiguous: a thread owns vectors i, i + threads, ...
//   add_f32_rows   rows contiguous: row (i1, i2, i3) of a meets row (i1 mod b1, i2 mod b2, i3 mod b3) of b
//   add_any        any float types and strides, an element a thread
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/device.cuh"
#include "cuda/device/element.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/kernels/alignment.hpp"
#include "cuda/launch.hpp"

namespace tensorlib::core {

namespace {

using device::View;

__device__ inline float4 operator+(const float4 &a, const float4 &b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ inline float4 operator+(const float4 &a, float b) { return make_float4(a.x + b, a.y + b, a.z + b, a.w + b); }

// V: float or float4. n_vectors of V, and behind them n_rest floats for the first threads.
template <class V>
__global__ void add_flat(const float *a, const float *b, float *c, std::int64_t n_vectors, int n_rest) {
    constexpr std::int64_t width = sizeof(V) / sizeof(float);
    device::for_each_unit(n_vectors, [&](std::int64_t i) {
        const V sum = device::load_vector<V>(a + i * width) + device::load_vector<V>(b + i * width);
        device::store_vector(c + i * width, sum);
    });
    const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (thread < n_rest) {
        const std::int64_t i = n_vectors * width + thread;
        c[i] = a[i] + b[i];
    }
}

// units: V of a row. Rows have less than 2^31 elements.
template <class V>
__global__ void add_rows(View a, View b, View c, std::int64_t units, std::int64_t n_rows) {
    constexpr unsigned width = sizeof(V) / sizeof(float);
    const bool one = b.ne[0] == 1;
    const auto period = static_cast<unsigned>(b.ne[0]);
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = a.index(row);
        const auto *from_a = reinterpret_cast<const float *>(a.at(index));
        const auto *from_b = reinterpret_cast<const float *>(b.repeated_at(index));
        auto *to = reinterpret_cast<float *>(c.at(index));
        device::for_each_unit(units, [&](std::int64_t unit) {
            const std::int64_t i = unit * width;
            const V left = device::load_vector<V>(from_a + i);
            if (one) {
                device::store_vector(to + i, left + *from_b);
            } else {
                device::store_vector(to + i, left + device::load_vector<V>(from_b + static_cast<unsigned>(i) % period));
            }
        });
    });
}

__global__ void add_elements(View a, DType a_type, View b, DType b_type, View c, DType c_type, std::int64_t n_rows) {
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = a.index(row);
        const char *from_a = a.at(index), *from_b = b.repeated_at(index);
        char *to = c.at(index);
        device::for_each_unit(a.ne[0], [&](std::int64_t i) {
            const float left = device::load_element(a_type, from_a + i * a.nb[0]);
            const float right = device::load_element(b_type, from_b + i % b.ne[0] * b.nb[0]);
            device::store_element(c_type, to + i * c.nb[0], left + right);
        });
    });
}

const char *refuse_unless_flat(const Problem &p) noexcept {
    const Layout &a = p.node.src[0]->layout, &b = p.node.src[1]->layout;
    if (a.type != DType::f32 || b.type != DType::f32) return "not f32";
    if (a.ne != b.ne) return "b repeats";
    return a.contiguous() && b.contiguous() ? nullptr : "not contiguous";
}

const char *refuse_strided(const Problem &p) noexcept {
    for (const Tensor *t : p.node.sources()) {
        if (t->layout.type != DType::f32) return "not f32";
        if (!t->layout.rows_contiguous()) return "rows are not contiguous";
    }
    return p.node.layout.ne[0] < INT32_MAX ? nullptr : "rows of 2^31 elements or more";
}

const char *refuse_formats(const Problem &p) noexcept {
    for (const Tensor *t : p.node.sources()) {
        if (!device::is_element(t->layout.type)) return "not f32, f16 or bf16";
    }
    return nullptr;
}

const float *floats(const std::byte *p) noexcept { return reinterpret_cast<const float *>(p); }

cudaError_t launch_flat(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    if (n == 0) return cudaSuccess;
    const float *a = floats(step.src[0].data), *b = floats(step.src[1].data);
    auto *c = reinterpret_cast<float *>(step.dst.data);
    if (is_aligned(step.src[0].data, 16) && is_aligned(step.src[1].data, 16) && is_aligned(step.dst.data, 16)) {
        // At least one block, for the rest.
        const device::RowGrid grid = device::row_grid(std::max<std::int64_t>(n / 4, 4), 1);
        return launch(stream, {step.kernel->name, grid.grid, grid.block}, add_flat<float4>, a, b, c, n / 4, static_cast<int>(n % 4));
    }
    const device::RowGrid grid = device::row_grid(n, 1);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, add_flat<float>, a, b, c, n, 0);
}

// Whether each row of the operand can be read as float4.
bool has_vectors(const TensorRef &t) noexcept { return t.ne[0] % 4 == 0 && rows_aligned(t, 16); }

cudaError_t launch_rows(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || a.ne[0] == 0) return cudaSuccess;
    const bool vectors = has_vectors(a) && has_vectors(c) && (b.ne[0] == 1 || has_vectors(b));
    const std::int64_t units = vectors ? a.ne[0] / 4 : a.ne[0];
    const device::RowGrid grid = device::row_grid(units, n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, vectors ? add_rows<float4> : add_rows<float>, device::view_of(a),
                  device::view_of(b), device::view_of(c), units, n_rows);
}

cudaError_t launch_any(const Step &step, const CudaStream &stream) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || a.ne[0] == 0) return cudaSuccess;
    const device::RowGrid grid = device::row_grid(a.ne[0], n_rows);
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, add_elements, device::view_of(a), a.type, device::view_of(b), b.type,
                  device::view_of(c), c.type, n_rows);
}

constexpr CudaKernel table[] = {
    {{.op = Op::add, .name = "add_f32_flat", .plan = plan_unless<refuse_unless_flat>}, launch_flat},
    {{.op = Op::add, .name = "add_f32_rows", .plan = plan_unless<refuse_strided>}, launch_rows},
    {{.op = Op::add, .name = "add_any", .plan = plan_unless<refuse_formats>}, launch_any},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::add = table;

}  // namespace tensorlib::core
