// Optimiser steps (math/optimisers.hpp). A chunk is some pieces of the parameter, whose elements are contiguous, as are
// those of its state. Limited by memory.
#include "cpu/kernels/convert.hpp"
#include "ops/gen/op_facts.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// Elements at a time. This many elements of a gradient are converted to floats.
constexpr std::int64_t piece = 1024;

std::int64_t pieces_of(const Layout &a) noexcept { return ceil_div(a.n_elements(), piece); }

void plan_step(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.layout;
    const auto streams = static_cast<std::int64_t>(p.node.n_src);
    plan.chunks(Stage::compute) = chunks_for(pieces_of(a), streams * static_cast<std::int64_t>(a.nbytes()), p.n_threads);
}

// A piece: its start, its length, and the gradient's elements.
struct Piece {
    std::int64_t at, n;
    const float *gradient;

    float *of(const TensorRef &t) const noexcept { return reinterpret_cast<float *>(t.data) + at; }
};

template <class F>
void for_each_piece(const Step &step, const Slice &slice, F f) noexcept {
    const TensorRef &g = step.src[1];
    const Layout &a = step.node->layout;
    const bool floats = step.node->src[1]->layout.contiguous() && g.type == DType::f32;
    const Range part = part_of(pieces_of(a), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t p = part.begin; p < part.end; p++) {
        const std::int64_t at = p * piece, n = std::min(piece, a.n_elements() - at);
        alignas(64) float buffer[piece];
        if (floats) {
            f(Piece{at, n, reinterpret_cast<const float *>(g.data) + at});
            continue;
        }
        for (std::int64_t done = 0, count; done < n; done += count) {
            const std::int64_t i0 = (at + done) % g.ne[0];
            count = std::min(n - done, g.ne[0] - i0);
            load_row(g, row_address(g, row_index(g.ne, (at + done) / g.ne[0])), i0, count, buffer + done, slice.simd);
        }
        f(Piece{at, n, buffer});
    }
}

// The settings need not be contiguous.
template <std::size_t n>
void read_settings(const TensorRef &t, float (&settings)[n]) noexcept {
    for (std::size_t i = 0; i < n; i++) settings[i] = *reinterpret_cast<const float *>(t.data + i * t.nb[0]);
}

void run_sgd(const Step &step, const Slice &slice) noexcept {
    float settings[2];
    read_settings(step.src[2], settings);
    for_each_piece(step, slice, [&](const Piece &p) { slice.simd.optimisers.sgd(p.n, settings, p.gradient, p.of(step.src[0])); });
}

void run_momentum(const Step &step, const Slice &slice) noexcept {
    float settings[3];
    read_settings(step.src[3], settings);
    const bool nesterov = attrs_of<ops::OptStepMomentumAttrs>(*step.node).nesterov;
    for_each_piece(step, slice, [&](const Piece &p) {
        slice.simd.optimisers.momentum(p.n, settings, nesterov, p.gradient, p.of(step.src[2]), p.of(step.src[0]));
    });
}

void run_adamw(const Step &step, const Slice &slice) noexcept {
    float settings[7];
    read_settings(step.src[4], settings);
    for_each_piece(step, slice, [&](const Piece &p) {
        slice.simd.optimisers.adamw(p.n, settings, p.gradient, p.of(step.src[2]), p.of(step.src[3]), p.of(step.src[0]));
    });
}

void run_lion(const Step &step, const Slice &slice) noexcept {
    float settings[4];
    read_settings(step.src[3], settings);
    for_each_piece(step, slice,
                   [&](const Piece &p) { slice.simd.optimisers.lion(p.n, settings, p.gradient, p.of(step.src[2]), p.of(step.src[0])); });
}

constexpr CpuKernel table[] = {
    {{.op = Op::opt_step_sgd, .name = "step_sgd", .plan = plan_always<plan_step>}, run_sgd, true},
    {{.op = Op::opt_step_momentum, .name = "step_momentum", .plan = plan_always<plan_step>}, run_momentum, true},
    {{.op = Op::opt_step_adamw, .name = "step_adamw", .plan = plan_always<plan_step>}, run_adamw, true},
    {{.op = Op::opt_step_lion, .name = "step_lion", .plan = plan_always<plan_step>}, run_lion, true},
};

}  // namespace

const std::span<const CpuKernel> kernels::optimisers = table;

}  // namespace tensorlib::core
