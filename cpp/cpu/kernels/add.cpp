// add: c = a + b in a's shape, b repeating into a.
//
// The result is contiguous and is cut into rows of dimension 0. Row (i1, i2, i3) of a meets row (i1 mod b1, i2 mod b2,
// i3 mod b3) of b, which repeats along dimension 0 where b0 < a0.
#include "cpu/cpu_kernel.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

const char *refuse_strided(const Problem &p) noexcept {
    for (const Tensor *t : p.node.sources()) {
        if (t->layout.type != DType::f32) return "not f32";
        if (!t->layout.rows_contiguous()) return "rows are not contiguous";
    }
    return nullptr;
}

const char *refuse_unless_flat(const Problem &p) noexcept {
    const Layout &a = p.node.src[0]->layout, &b = p.node.src[1]->layout;
    if (a.type != DType::f32 || b.type != DType::f32) return "not f32";
    if (a.ne != b.ne) return "b repeats";
    return a.contiguous() && b.contiguous() ? nullptr : "not contiguous";
}

// The operands whose elements lie as the result's do, and may lie under them.
unsigned alike(const Tensor &node) noexcept {
    unsigned bits = 0;
    for (std::size_t s = 0; s < node.n_src; s++) {
        const Layout &l = node.src[s]->layout;
        if (l.type == node.layout.type && l.ne == node.layout.ne && l.nb == node.layout.nb) bits |= 1u << s;
    }
    return bits;
}

void plan_flat(const Problem &p, KernelPlan &plan) noexcept {
    const std::int64_t n = p.node.layout.n_elements();
    plan.overlaid = alike(p.node);
    plan.chunks(Stage::compute) = chunks_for(n, 12 * n, p.n_threads);
}

void plan_rows(const Problem &p, KernelPlan &plan) noexcept {
    plan.overlaid = alike(p.node);
    plan.chunks(Stage::compute) = chunks_for(p.node.layout.n_rows(), 12 * p.node.layout.n_elements(), p.n_threads);
}

float *floats(std::byte *p) noexcept { return reinterpret_cast<float *>(p); }

// Same shape, all contiguous: one long row.
void run_flat(const Step &step, const Slice &slice) noexcept {
    const std::int64_t n = step.node->layout.n_elements();
    const Range part = part_of(n, slice.chunk, step.plan.chunks(Stage::compute));
    const auto add = streams(*step.node) ? slice.leaf.elementwise.add_stream : slice.leaf.elementwise.add;
    add(part.end - part.begin, floats(step.src[0].data) + part.begin, floats(step.src[1].data) + part.begin,
        floats(step.dst.data) + part.begin);
}

RowIndex repeated(const RowIndex &r, const Extents &b) noexcept { return {r.i1 % b[1], r.i2 % b[2], r.i3 % b[3]}; }

void run_rows(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1];
    const std::int64_t n = a.ne[0], nb = b.ne[0];
    if (n == 0) return;
    const Range rows = part_of(step.node->layout.n_rows(), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t row = rows.begin; row < rows.end; row++) {
        const RowIndex index = row_index(a.ne, row);
        const float *from_a = floats(row_address(a, index)), *from_b = floats(row_address(b, repeated(index, b.ne)));
        float *to = floats(row_address(step.dst, index));
        if (nb == 1) {
            slice.leaf.elementwise.add_scalar(n, from_a, *from_b, to);
        } else {
            for (std::int64_t i = 0; i < n; i += nb) slice.leaf.elementwise.add(nb, from_a + i, from_b, to + i);
        }
    }
}

// Any float type, any stride: through small buffers of floats, rounded once at the end.
void run_any(const Step &step, const Slice &slice) noexcept {
    constexpr std::int64_t stage = 256;
    const TensorRef &a = step.src[0], &b = step.src[1];
    const std::int64_t n = a.ne[0], nb = b.ne[0];
    if (n == 0) return;
    const Range rows = part_of(step.node->layout.n_rows(), slice.chunk, step.plan.chunks(Stage::compute));
    float left[stage], right[stage];
    for (std::int64_t row = rows.begin; row < rows.end; row++) {
        const RowIndex index = row_index(a.ne, row);
        const std::byte *from_a = row_address(a, index), *from_b = row_address(b, repeated(index, b.ne));
        std::byte *to = row_address(step.dst, index);
        for (std::int64_t i = 0, count; i < n; i += count) {
            // Up to the end of the buffer, of a's row, and of b's next repetition.
            count = std::min({stage, n - i, nb - i % nb});
            load_row(a, from_a, i, count, left, slice.leaf);
            load_row(b, from_b, i % nb, count, right, slice.leaf);
            for (std::int64_t j = 0; j < count; j++) left[j] += right[j];
            store_row(step.dst, to, i, count, left, slice.leaf);
        }
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::add, .name = "add_f32_flat", .plan = plan_unless<refuse_unless_flat, plan_flat>}, run_flat},
    {{.op = Op::add, .name = "add_f32_rows", .plan = plan_unless<refuse_strided, plan_rows>}, run_rows},
    {{.op = Op::add, .name = "add_any", .plan = plan_always<plan_rows>}, run_any},
};

}  // namespace

const std::span<const CpuKernel> kernels::add = table;

}  // namespace tensorlib::core
