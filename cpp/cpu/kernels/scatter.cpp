// scatter_add: copies a, then adds the elements of b to the elements that indices select.
//
// First, all of a is copied, unless the result overwrites a. Then each chunk adds pieces of b's rows, complete along
// the indexed dimension. All elements with one index are added by one chunk, in b's order, so threads do not race and
// the sums always have identical bits. I32, I64 and F64 are added as they are, other types in F32. Limited by memory,
// and by the latency of the lines that are added to.
#include "cpu/kernels/convert.hpp"
#include "cpu/kernels/layout.hpp"
#include "cpu/kernels/lines.hpp"
#include "math/numbers.hpp"
#include "ops/gen/op_facts.hpp"
#include "ops/numbers.hpp"

#include "base/checked.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// Elements of dimension 0 that a chunk takes at a time. They are few, because for other dimensions only dimension 0
// divides the sums.
constexpr std::int64_t piece = 128;

std::size_t dim_of(const Tensor &node) noexcept { return static_cast<std::size_t>(attrs_of<ops::ScatterAddAttrs>(node).dim); }

// b's shape in pieces, without the indexed dimension: dimension 0 counts pieces, unless it is the indexed one.
Extents pieces_of(const Extents &b, std::size_t dim) noexcept {
    Extents pieces = b;
    pieces[0] = ceil_div(b[0], piece);
    pieces[dim] = 1;
    return pieces;
}
std::int64_t count(const Extents &ne) noexcept { return ne[0] * ne[1] * ne[2] * ne[3]; }

void plan_scatter(const Problem &p, KernelPlan &plan) noexcept {
    const Layout &a = p.node.src[0]->layout, &b = p.node.src[1]->layout, &c = p.node.layout;
    if (a.ne == c.ne && a.nb == c.nb) plan.may_overwrite = 1;
    plan.chunks(Stage::prepare) = move_chunks(p);
    const std::int64_t pieces = b.n_elements() == 0 ? 0 : count(pieces_of(b.ne, dim_of(p.node)));
    plan.chunks(Stage::compute) = chunks_for(pieces, 3 * static_cast<std::int64_t>(b.nbytes()), p.n_threads);
}

// The indices, which repeat into b's shape.
struct Numbers {
    const Step &step;
    const TensorRef &indices;
    std::int64_t extent;

    // The index for an element of b, or -1 if it is invalid.
    std::int64_t at(const Extents &i) const noexcept {
        std::size_t place = 0;
        for (std::size_t d = 0; d < max_dims; d++) place += static_cast<std::size_t>(i[d] % indices.ne[d]) * indices.nb[d];
        const std::int64_t number = integer_value(indices.type, indices.data + place);
        if (number >= 0 && number < extent) return number;
        std::int64_t flat = 0;
        for (std::size_t d = max_dims; d-- > 0;) flat = flat * indices.ne[d] + i[d] % indices.ne[d];
        note_fault(step, 2, flat);
        return -1;
    }
};

template <class E>
E *sums_at(const TensorRef &c, Extents i, std::size_t dim, std::int64_t number) noexcept {
    i[dim] = number;
    return reinterpret_cast<E *>(row_address(c, {i[1], i[2], i[3]})) + i[0];
}

// Adds n elements of b along dimension 0, starting with i, each to the element of its index.
template <class E>
void add_elements(const TensorRef &c, const Numbers &numbers, const E *added, Extents i, std::int64_t n, std::size_t dim) noexcept {
    for (std::int64_t k = 0; k < n; k++, i[0]++) {
        const std::int64_t number = numbers.at(i);
        if (number < 0) continue;
        E *sum = sums_at<E>(c, i, dim, number);
        *sum = math::Numbers<E>::add(*sum, added[k]);
    }
}

// Adds n elements to as many.
template <class E>
void add_run(E *sums, const E *added, std::int64_t n, const simd::SimdTable &simd) noexcept {
    if constexpr (std::is_same_v<E, float>) {
        const simd::SimdTable::TileLoop add = simd.tiles.loops[static_cast<std::size_t>(TileOp::add)];
        add({.n = n, .src = {sums, added}, .repeated = 0, .dst = sums, .params = nullptr});
    } else {
        for (std::int64_t k = 0; k < n; k++) sums[k] = math::Numbers<E>::add(sums[k], added[k]);
    }
}

// n elements of b along dimension 0, starting with i; in place, or in `buffer`.
template <class E>
const E *elements_of(const TensorRef &b, const Extents &i, std::int64_t n, E *buffer, const simd::SimdTable &simd) noexcept {
    const std::byte *row = row_address(b, {i[1], i[2], i[3]});
    if constexpr (std::is_same_v<E, float>) {
        return floats_of(b, row, i[0], n, buffer, simd);
    } else {
        if (b.nb[0] == sizeof(E)) return reinterpret_cast<const E *>(row) + i[0];
        load_numbers(b, row, i[0], n, buffer);
        return buffer;
    }
}

template <class E>
void run_scatter_as(const Step &step, const Slice &slice) noexcept {
    const TensorRef &b = step.src[1], &c = step.dst;
    if (b.ne[0] == 0 || b.ne[1] == 0 || b.ne[2] == 0 || b.ne[3] == 0) return;
    const std::size_t dim = dim_of(*step.node);
    const Numbers numbers{step, step.src[2], c.ne[dim]};
    const bool one_number = dim != 0 && numbers.indices.ne[0] == 1;
    const Extents pieces = pieces_of(b.ne, dim);
    const Range part = part_of(count(pieces), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t at = part.begin; at < part.end; at++) {
        Extents first{};
        std::int64_t rest = at;
        for (std::size_t d = 0; d < max_dims; d++) {
            first[d] = rest % pieces[d] * (d == 0 ? piece : 1);
            rest /= pieces[d];
        }
        alignas(64) E buffer[piece];
        const std::int64_t steps = dim == 0 ? ceil_div(b.ne[0], piece) : b.ne[dim];
        for (std::int64_t j = 0; j < steps; j++) {
            Extents i = first;
            i[dim] = dim == 0 ? j * piece : j;
            const std::int64_t n = std::min(piece, b.ne[0] - i[0]);
            const E *added = elements_of<E>(b, i, n, buffer, slice.simd);
            if (!one_number) {
                add_elements<E>(c, numbers, added, i, n, dim);
            } else if (const std::int64_t number = numbers.at(i); number >= 0) {
                add_run(sums_at<E>(c, i, dim, number), added, n, slice.simd);
            }
        }
    }
}

void run_scatter(const Step &step, const Slice &slice) noexcept {
    if (slice.stage == Stage::prepare) {
        if (step.src[0].data != step.dst.data) run_move_stage(step, slice, Stage::prepare);
        return;
    }
    ops::visit_number(step.dst.type, [&]<class E>(E) { run_scatter_as<E>(step, slice); });
}

constexpr CpuKernel table[] = {{{.op = Op::scatter_add, .name = "scatter_add", .plan = plan_always<plan_scatter>}, run_scatter}};

}  // namespace

const std::span<const CpuKernel> kernels::scatter = table;

}  // namespace tensorlib::core
