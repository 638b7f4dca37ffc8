// What the mul_mat kernels share.
#pragma once

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"

namespace tensorlib::core {

// The matrices of one batch: slice (i2, i3) of b and c, and the slice of a that it shares.
struct Batch {
    const char *a, *b;
    float *c;
    std::int64_t a_slice;  // its number, of ne[2] * ne[3]
};

inline Batch batch_at(const Step &step, std::int64_t batch) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t i2 = batch % c.ne[2], i3 = batch / c.ne[2];
    // X / x consecutive slices of b share one of a.
    const auto a2 = static_cast<std::size_t>(i2 / (b.ne[2] / a.ne[2])), a3 = static_cast<std::size_t>(i3 / (b.ne[3] / a.ne[3]));
    const auto b2 = static_cast<std::size_t>(i2), b3 = static_cast<std::size_t>(i3);
    return {reinterpret_cast<const char *>(a.data + a2 * a.nb[2] + a3 * a.nb[3]),
            reinterpret_cast<const char *>(b.data + b2 * b.nb[2] + b3 * b.nb[3]),
            reinterpret_cast<float *>(c.data + b2 * c.nb[2] + b3 * c.nb[3]),
            static_cast<std::int64_t>(a2) + a.ne[2] * static_cast<std::int64_t>(a3)};
}

// Blocks of about the same size, none above `largest`, each a multiple of `unit`.
inline std::int64_t even_block(std::int64_t total, std::int64_t largest, std::int64_t unit) noexcept {
    const std::int64_t blocks = ceil_div(total, largest);
    return ceil_div(ceil_div(total, blocks), unit) * unit;
}

// What products with packed operands are cut into: units = (batch, block of NC columns), several of them a round. A round is two
// phases: the units' columns are prepared, then multiplied.
struct Units {
    std::int64_t N, NC, column_blocks, count, per_round;

    Units(const Layout &c, std::int64_t nc, std::int64_t units_per_round) noexcept
        : N(c.ne[1]), NC(nc), column_blocks(ceil_div(N, NC)), count(column_blocks * c.ne[2] * c.ne[3]), per_round(units_per_round) {}
    std::int64_t phases() const noexcept { return 2 * ceil_div(count, per_round); }
};
struct Unit {
    std::int64_t in_round, batch, first_column, columns;
};
// The unit at a place of a phase's round; false for the empty places of the last round.
inline bool unit_at(const Units &units, std::int64_t phase, std::int64_t in_round, Unit &unit) noexcept {
    const std::int64_t index = phase / 2 * units.per_round + in_round;
    if (index >= units.count) return false;
    const std::int64_t first = index % units.column_blocks * units.NC;
    unit = {in_round, index / units.column_blocks, first, units.N - first < units.NC ? units.N - first : units.NC};
    return true;
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
