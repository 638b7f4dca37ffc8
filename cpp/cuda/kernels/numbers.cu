// Elementwise operations on I32, I64 and F64, and on the bits of integers: a thread owns an element of the result. Limited by memory, or by
// F64 on devices with few F64 units.
#include "cuda/cuda_kernel.hpp"
#include "cuda/device/convert.cuh"
#include "cuda/device/row_grid.cuh"
#include "cuda/launch.hpp"
#include "math/numbers.hpp"
#include "ops/numbers.hpp"

namespace tensorlib::core {

namespace {

using device::View;
using ops::NumberNode;

struct Arguments {
    NumberNode node;
    View a, b, condition, c;
    std::size_t condition_size;
    bool condition_is_float;
    std::uint64_t *fault;
};

// Where a tensor, which repeats, has an element of the result.
struct Place {
    std::int64_t i0;
    RowIndex row;

    __device__ const char *address(const View &v) const { return v.repeated_at(row) + i0 % v.ne[0] * v.nb[0]; }
    __device__ std::int64_t position(const View &v) const {
        return i0 % v.ne[0] + v.ne[0] * (row.i1 % v.ne[1] + v.ne[1] * (row.i2 % v.ne[2] + v.ne[2] * (row.i3 % v.ne[3])));
    }
};

__device__ bool is_true(const Arguments &all, const Place &place) {
    std::uint64_t bits = 0;
    const char *from = place.address(all.condition);
    for (std::size_t i = 0; i < all.condition_size; i++) bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
    return (all.condition_is_float ? bits << (65 - 8 * all.condition_size) : bits) != 0;
}

// Products and sums are not fused, as on the CPU.
template <class T>
__device__ T scaled(T a, T factor, T added) {
#if !defined(TENSORLIB_SIMT)
    if constexpr (std::is_floating_point_v<T>) return __dadd_rn(__dmul_rn(a, factor), added);
#endif
    return math::Numbers<T>::scale(a, factor, added);
}

// Smaller types have operations on bits alone.
template <class T>
constexpr bool is_computed_in = sizeof(T) >= sizeof(std::int32_t);

template <class T>
__device__ T number_of(const Arguments &all, const T *parameters, const Place &place) {
    using N = math::Numbers<T>;
    const int operands = operands_of(all.node.op);
    const T a = operands > 0 ? *reinterpret_cast<const T *>(place.address(all.a)) : T{0};
    const T b = operands > 1 ? *reinterpret_cast<const T *>(place.address(all.b)) : T{0};
    if (all.node.op == NumberOp::where) return is_true(all, place) ? a : b;
    if constexpr (is_computed_in<T>) {
        switch (all.node.op) {
            case NumberOp::add: return N::add(a, b);
            case NumberOp::sub: return N::sub(a, b);
            case NumberOp::mul: return N::mul(a, b);
            case NumberOp::div:
                if (N::integer && b == 0) device::note_fault(all.fault, 1, place.position(all.b));
                return N::div(a, b);
            case NumberOp::maximum: return N::maximum(a, b);
            case NumberOp::minimum: return N::minimum(a, b);
            case NumberOp::pow:
                if (N::integer && b < 0) device::note_fault(all.fault, 1, place.position(all.b));
                return N::pow(a, b);
            case NumberOp::abs: return N::abs(a);
            case NumberOp::neg: return N::neg(a);
            case NumberOp::sqr: return N::sqr(a);
            case NumberOp::sgn: return N::sgn(a);
            case NumberOp::clamp: return N::clamp(a, parameters[0], parameters[1]);
            case NumberOp::fill: return parameters[0];
            case NumberOp::scale: return scaled(a, parameters[0], parameters[1]);
            default: break;
        }
    }
    if constexpr (N::integer) {
        switch (all.node.op) {
            case NumberOp::bitwise_and: return N::bits_and(a, b);
            case NumberOp::bitwise_or: return N::bits_or(a, b);
            case NumberOp::bitwise_xor: return N::bits_xor(a, b);
            case NumberOp::bitwise_not: return N::bits_not(a, parameters[0]);
            case NumberOp::shift_left: return N::shift_left(a, b);
            case NumberOp::shift_right: return N::shift_right(a, b);
            default: break;
        }
    }
    if constexpr (std::is_floating_point_v<T>) {
        switch (all.node.op) {
            case NumberOp::sqrt: return ::sqrt(a);
            case NumberOp::floor: return ::floor(a);
            case NumberOp::ceil: return ::ceil(a);
            case NumberOp::round: return math::round_f64(a);
            case NumberOp::trunc: return ::trunc(a);
            default: break;
        }
    }
    return a;
}

template <class T>
__device__ bool compared(const Arguments &all, const Place &place) {
    const T a = *reinterpret_cast<const T *>(place.address(all.a)), b = *reinterpret_cast<const T *>(place.address(all.b));
    switch (all.node.op) {
        case NumberOp::eq: return a == b;
        case NumberOp::ne: return a != b;
        case NumberOp::lt: return a < b;
        case NumberOp::le: return a <= b;
        case NumberOp::gt: return a > b;
        default: return a >= b;
    }
}

template <class T>
__global__ void compute_numbers(Arguments all, std::int64_t n_rows) {
    const T *parameters = reinterpret_cast<const T *>(&all.node.parameters);
    device::for_each_row(n_rows, [&](std::int64_t row) {
        const RowIndex index = all.c.index(row);
        char *to = all.c.at(index);
        device::for_each_unit(all.c.ne[0], [&](std::int64_t i) {
            const Place place{i, index};
            if (is_comparison(all.node.op)) {
                reinterpret_cast<float *>(to)[i] = compared<T>(all, place) ? 1.0f : 0.0f;
            } else {
                reinterpret_cast<T *>(to)[i] = number_of<T>(all, parameters, place);
            }
        });
    });
}

cudaError_t launch_numbers(const Step &step, const CudaStream &stream) noexcept {
    const std::int64_t n_rows = step.node->layout.n_rows();
    if (n_rows == 0 || step.dst.ne[0] == 0) return cudaSuccess;
    Arguments all{ops::number_node(*step.node), {}, {}, {}, device::view_of(step.dst), 0, false, step.fault};
    const auto view_at = [&](int i) { return device::view_of(step.src[static_cast<std::size_t>(i)]); };
    const int operands = operands_of(all.node.op), first = all.node.first;
    if (operands > 0) all.a = view_at(first);
    if (operands > 1) all.b = view_at(first + 1);
    if (first > 0) {
        all.condition = view_at(0);
        all.condition_size = traits(step.src[0].type).size;
        all.condition_is_float = traits(step.src[0].type).kind == Kind::floating;
    }
    const device::RowGrid grid = device::row_grid(step.dst.ne[0], n_rows);
    const auto kernel = all.node.type == DType::i8    ? compute_numbers<std::int8_t>
                        : all.node.type == DType::i16 ? compute_numbers<std::int16_t>
                        : all.node.type == DType::i32 ? compute_numbers<std::int32_t>
                        : all.node.type == DType::i64 ? compute_numbers<std::int64_t>
                        : all.node.type == DType::u8  ? compute_numbers<std::uint8_t>
                                                      : compute_numbers<double>;
    return launch(stream, {step.kernel->name, grid.grid, grid.block}, kernel, all, n_rows);
}

constexpr CudaKernel table[] = {
#define TL_NUMBER_OP(name_, operands, types) {{.op = Op::name_, .name = "numbers", .plan = plan_always<>}, launch_numbers},
#include "math/number_ops.inc"
#undef TL_NUMBER_OP
    {{.op = Op::add1, .name = "numbers", .plan = plan_always<>}, launch_numbers},
};

}  // namespace

const std::span<const CudaKernel> cuda_kernels::numbers = table;

}  // namespace tensorlib::core
