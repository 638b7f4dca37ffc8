// What the mul_mat kernels share.
#pragma once

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

namespace tensorlib::core {

// The matrices of one batch: slice (i2, i3) of b and c, and the slice of a that it shares.
struct Batch {
    const char *a, *b;
    float *c;
};

inline Batch batch_at(const Step &step, std::int64_t batch) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t i2 = batch % c.ne[2], i3 = batch / c.ne[2];
    // X / x consecutive slices of b share one of a.
    const auto a2 = static_cast<std::size_t>(i2 / (b.ne[2] / a.ne[2])), a3 = static_cast<std::size_t>(i3 / (b.ne[3] / a.ne[3]));
    const auto b2 = static_cast<std::size_t>(i2), b3 = static_cast<std::size_t>(i3);
    return {reinterpret_cast<const char *>(a.data + a2 * a.nb[2] + a3 * a.nb[3]),
            reinterpret_cast<const char *>(b.data + b2 * b.nb[2] + b3 * b.nb[3]),
            reinterpret_cast<float *>(c.data + b2 * c.nb[2] + b3 * c.nb[3])};
}

// Blocks of about the same size, none above `largest`, each a multiple of `unit`.
inline std::int64_t even_block(std::int64_t total, std::int64_t largest, std::int64_t unit) noexcept {
    const std::int64_t blocks = ceil_div(total, largest);
    return ceil_div(ceil_div(total, blocks), unit) * unit;
}

// The integer product's row of the table, in mul_mat_integer.cpp.
namespace integer {
const char *refuse(const Problem &problem) noexcept;
void plan(const Problem &problem, KernelPlan &plan) noexcept;
void run(const Step &step, const Slice &slice) noexcept;
}  // namespace integer

// The packed product's rows of the table, in mul_mat_packed.cpp: of floats, and of pairs of BF16.
namespace packed {
const char *refuse(const Problem &problem) noexcept;
const char *refuse_pairs(const Problem &problem) noexcept;
void plan(const Problem &problem, KernelPlan &plan) noexcept;
void plan_pairs(const Problem &problem, KernelPlan &plan) noexcept;
void run(const Step &step, const Slice &slice) noexcept;
}  // namespace packed

}  // namespace tensorlib::core
