// Elementwise operations, one or several fused: a program over tiles (runtime/program.hpp).
//
// The result is contiguous. If every input is contiguous and has its shape, all of it is one long row. Otherwise it is
// cut into rows of dimension 0: row (i1, i2, i3) uses row (i1 mod n1, i2 mod n2, i3 mod n3) of an input, which repeats
// along dimension 0 if it has fewer elements there.
#include "base/checked.hpp"
#include "cpu/programs.hpp"
#include "runtime/program.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// The inputs whose elements lie as the result's do, and which the result may overwrite.
unsigned alike(const Problem &p) noexcept {
    unsigned bits = 0;
    for (std::size_t i = 0; i < p.program.inputs.size(); i++) {
        const TensorRef &input = p.program.inputs[i];
        if (input.type == p.node.layout.type && input.ne == p.node.layout.ne && input.nb == p.node.layout.nb) bits |= 1u << i;
    }
    return bits;
}

// What determines a chunk's size: bytes of memory, or of the tiles that instructions process if there are many of
// these.
std::int64_t work(const Problem &p) noexcept {
    const std::int64_t n = p.node.layout.n_elements();
    const auto per_element = static_cast<std::int64_t>(traits(p.node.layout.type).size + 4 * p.program.inputs.size());
    return n * std::max<std::int64_t>(per_element, 4 * static_cast<std::int64_t>(p.program.instructions.size()));
}

std::int64_t tiles_of(std::int64_t n) noexcept { return ceil_div(n, tile_floats); }

void plan_flat(const Problem &p, KernelPlan &plan) noexcept {
    plan.may_overwrite = alike(p);
    plan.chunks(Stage::compute) = chunks_for(p.node.layout.n_elements(), work(p), p.n_threads);
}

void plan_rows(const Problem &p, KernelPlan &plan) noexcept {
    plan.may_overwrite = alike(p);
    plan.chunks(Stage::compute) = chunks_for(p.node.layout.n_rows() * tiles_of(p.node.layout.ne[0]), work(p), p.n_threads);
}

void run_flat(const Step &step, const Slice &slice) noexcept {
    const Range part = part_of(step.result->layout.n_elements(), slice.chunk, step.plan.chunks(Stage::compute));
    ProgramRun run(step.program, step.dst, slice.simd, slice.scratch.program, {.flat = true, .stream = streams(*step.result)});
    run.row({0, 0, 0}, part.begin, part.end - part.begin);
    run.end();
}

void run_rows(const Step &step, const Slice &slice) noexcept {
    const TensorRef &c = step.dst;
    const std::int64_t tiles = tiles_of(c.ne[0]);
    if (tiles == 0) return;
    const Range units = part_of(step.result->layout.n_rows() * tiles, slice.chunk, step.plan.chunks(Stage::compute));
    ProgramRun run(step.program, step.dst, slice.simd, slice.scratch.program, {.stream = streams(*step.result)});
    for (std::int64_t unit = units.begin; unit < units.end;) {
        const std::int64_t row = unit / tiles, first = unit % tiles, count = std::min(tiles - first, units.end - unit);
        run.row(row_index(c.ne, row), first * tile_floats, std::min(count * tile_floats, c.ne[0] - first * tile_floats));
        unit += count;
    }
    run.end();
}

constexpr CpuKernel table[] = {
    {{.op = Op::leaf, .name = "tiles_flat", .plan = plan_unless<refuse_unless_one_row, plan_flat>}, run_flat},
    {{.op = Op::leaf, .name = "tiles_rows", .plan = plan_always<plan_rows>}, run_rows},
};

}  // namespace

const std::span<const CpuKernel> kernels::tiles = table;

}  // namespace tensorlib::core
