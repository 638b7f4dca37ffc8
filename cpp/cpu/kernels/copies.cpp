// cont, dup, cast, cpy: copies src's elements to dst in the order of ne, with any strides and shapes on both sides.
//
// Both sides are walked as runs of contiguous elements. A run ends at the end of a row of either side, or after each
// element (or block) of a row with gaps. If the types differ and one is quantised, its rows need not match whole blocks
// of the other: elements are gathered into runs of the longer block, converted, and scattered.
//
// A copy between sides of one shape and type, whose rows of adjacent elements are different dimensions, is one of transposed matrices. Its
// units are blocks of them, which registers transpose.
#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"
#include "cpu/kernels/convert.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace tensorlib::core {

namespace {

const char *refuse_conversion(const Problem &p) noexcept {
    return p.node.src[0]->layout.type == p.node.layout.type ? nullptr : "types differ";
}

// The number of units to copy: blocks of the node's type.
std::int64_t units(const Layout &l) noexcept { return l.n_elements() / traits(l.type).block_size; }

void plan_copy(const Problem &p, KernelPlan &plan) noexcept {
    const Tensor &node = p.node, &source = *node.src[0];
    const auto bytes = static_cast<std::int64_t>(node.layout.nbytes() + source.layout.nbytes());
    plan.chunks(Stage::compute) = chunks_for(units(node.layout), bytes, p.n_threads);
}

// The position of a walk in ne order: element i0 of a row, and the rest of that row.
class Cursor {
public:
    Cursor(const TensorRef &t, std::int64_t element) noexcept
        : t_(t), block_(traits(t.type).block_size), flat_(t.nb[0] == traits(t.type).size || t.ne[0] == block_) {
        const std::int64_t row = element / t.ne[0];
        i0_ = element % t.ne[0];
        index_ = row_index(t.ne, row);
        row_ = row_address(t, index_);
    }
    // Contiguous elements from the current position on.
    std::int64_t run() const noexcept { return flat_ ? t_.ne[0] - i0_ : block_; }
    std::byte *address() const noexcept { return row_ + static_cast<std::size_t>(i0_ / block_) * t_.nb[0]; }
    void advance(std::int64_t n) noexcept {
        i0_ += n;
        if (i0_ < t_.ne[0]) return;
        i0_ = 0;
        if (++index_.i1 == t_.ne[1]) {
            index_.i1 = 0;
            if (++index_.i2 == t_.ne[2]) {
                index_.i2 = 0;
                index_.i3++;
            }
        }
        row_ = row_address(t_, index_);
    }

private:
    const TensorRef &t_;
    std::int64_t block_, i0_;
    bool flat_;
    RowIndex index_;
    std::byte *row_;
};

// The chunk's elements, which are cut between units of `unit` elements.
Range elements_of(const Step &step, const Slice &slice, std::int64_t unit) noexcept {
    const Range part = part_of(step.node->layout.n_elements() / unit, slice.chunk, step.plan.chunks(Stage::compute));
    return {part.begin * unit, part.end * unit};
}

// Calls move(to, from, n, position) for every run of the chunk.
template <class Move>
void for_each_run(const Step &step, const Slice &slice, std::int64_t unit, Move move) noexcept {
    const Range part = elements_of(step, slice, unit);
    if (part.begin == part.end) return;
    Cursor from(step.src[0], part.begin), to(step.dst, part.begin);
    for (std::int64_t at = part.begin; at < part.end;) {
        const std::int64_t n = std::min({part.end - at, from.run(), to.run()});
        move(to.address(), from.address(), n, at);
        from.advance(n);
        to.advance(n);
        at += n;
    }
}

// n bytes, which may be copied onto themselves or overlap.
void copy_bytes(std::byte *to, const std::byte *from, std::size_t n, const simd::SimdTable *streaming) noexcept {
    const auto distance = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
    if (streaming && n >= shortest_stream && distance >= n && std::uintptr_t{0} - distance >= n) {
        streaming->copies.stream(static_cast<std::int64_t>(n), from, to);
        streaming->copies.stream_end();
    } else {
        std::memmove(to, from, n);
    }
}

void run_same_type(const Step &step, const Slice &slice) noexcept {
    const DTypeTraits &type = traits(step.dst.type);
    const simd::SimdTable *streaming = streams(*step.node) ? &slice.simd : nullptr;
    if (type.block_size == 1 && type.size == 4) {
        // Single elements of four bytes have a path of their own, because transposed matrices come as runs of one
        // element.
        for_each_run(step, slice, 1, [=](std::byte *to, const std::byte *from, std::int64_t n, std::int64_t) {
            if (n == 1) {
                std::memcpy(to, from, 4);
            } else {
                copy_bytes(to, from, static_cast<std::size_t>(n) * 4, streaming);
            }
        });
        return;
    }
    for_each_run(step, slice, type.block_size, [&](std::byte *to, const std::byte *from, std::int64_t n, std::int64_t) {
        copy_bytes(to, from, static_cast<std::size_t>(n / type.block_size) * type.size, streaming);
    });
}

// The matrices of a transposed copy: `across` is the dimension of the source's adjacent elements, or 0, and then `along` is the one of the
// target's.
struct Transposed {
    std::size_t along, across;
};

// Whether dimension d has elements, side by side.
bool is_row(const Layout &l, std::size_t d) noexcept { return l.ne[d] > 1 && l.nb[d] == traits(l.type).size; }

std::optional<Transposed> transposed(const Problem &p) noexcept {
    const Layout &from = p.node.src[0]->layout, &to = p.node.layout;
    if (from.type != to.type || traits(to.type).block_size != 1 || from.ne != to.ne) return std::nullopt;
    for (std::size_t d = 1; d < max_dims; d++) {
        if (is_row(from, d) && !is_row(from, 0) && is_row(to, 0)) return Transposed{0, d};
        if (is_row(to, d) && !is_row(to, 0) && is_row(from, 0)) return Transposed{d, 0};
    }
    return std::nullopt;
}
const char *refuse_untransposed(const Problem &p) noexcept { return transposed(p) ? nullptr : "not a transposed matrix"; }

// Rows of a block are few enough for the pages that they are in, which the columns of a line share.
constexpr std::int64_t block_rows = 256, block_columns = 512;

std::int64_t blocks_of(const Extents &ne, const Transposed &t) noexcept {
    const std::int64_t others = ne[1] * ne[2] * ne[3] * ne[0] / (ne[t.along] * ne[t.across]);
    return ceil_div(ne[t.along], block_rows) * ceil_div(ne[t.across], block_columns) * others;
}

void plan_transposed(const Problem &p, KernelPlan &plan) noexcept {
    const Transposed t = *transposed(p);
    plan.keep(t);
    plan.chunks(Stage::compute) = 0;
    if (p.node.layout.n_elements() == 0) return;
    plan.chunks(Stage::compute) =
        chunks_for(blocks_of(p.node.layout.ne, t), 2 * static_cast<std::int64_t>(p.node.layout.nbytes()), p.n_threads);
}

void run_transposed(const Step &step, const Slice &slice) noexcept {
    const auto t = step.plan.kept<Transposed>();
    const TensorRef &from = step.src[0], &to = step.dst;
    const Extents &ne = to.ne;
    const std::size_t size = traits(to.type).size;
    std::size_t others[2], n_others = 0;
    for (std::size_t d = 0; d < max_dims; d++) {
        if (d != t.along && d != t.across) others[n_others++] = d;
    }
    const std::int64_t down = ceil_div(ne[t.along], block_rows), side_by_side = ceil_div(ne[t.across], block_columns);
    const Range part = part_of(blocks_of(ne, t), slice.chunk, step.plan.chunks(Stage::compute));
    for (std::int64_t block = part.begin; block < part.end; block++) {
        Extents at{};
        at[t.across] = block % side_by_side * block_columns;
        at[t.along] = block / side_by_side % down * block_rows;
        const std::int64_t matrix = block / side_by_side / down;
        at[others[0]] = matrix % ne[others[0]];
        at[others[1]] = matrix / ne[others[0]];
        const auto address = [&](const TensorRef &of) {
            std::byte *p = of.data;
            for (std::size_t d = 0; d < max_dims; d++) p += static_cast<std::size_t>(at[d]) * of.nb[d];
            return reinterpret_cast<char *>(p);
        };
        slice.simd.copies.transpose[std::countr_zero(size)](
            std::min(block_rows, ne[t.along] - at[t.along]), std::min(block_columns, ne[t.across] - at[t.across]), address(from),
            static_cast<std::ptrdiff_t>(from.nb[t.along]), address(to), static_cast<std::ptrdiff_t>(to.nb[t.across]));
    }
}

void run_convert(const Step &step, const Slice &slice) noexcept {
    const Converter convert(step.src[0].type, step.dst.type, slice.simd, streams(*step.node));
    for_each_run(step, slice, 1, [&](std::byte *to, const std::byte *from, std::int64_t n, std::int64_t position) {
        const std::int64_t bad = convert(from, to, n);
        if (bad >= 0) note_fault(step, 0, position + bad);
    });
}

std::int64_t unit_of(const Problem &p) noexcept { return conversion_unit(p.node.src[0]->layout.type, p.node.layout.type); }

const char *refuse_elements(const Problem &p) noexcept { return unit_of(p) == 1 ? nullptr : "not element by element"; }

void plan_convert(const Problem &p, KernelPlan &plan) noexcept {
    plan_copy(p, plan);
    plan.chunks(Stage::compute) = std::min(plan.chunks(Stage::compute), std::max<std::int64_t>(1, p.node.layout.n_elements() / unit_of(p)));
}

// Moves n elements between a tensor and a buffer of its type, across ends of rows.
template <class Move>
void walk(Cursor &cursor, const DTypeTraits &type, std::int64_t n, std::byte *buffer, Move move) noexcept {
    while (n > 0) {
        const std::int64_t run = std::min(n, cursor.run());
        const std::size_t bytes = static_cast<std::size_t>(run / type.block_size) * type.size;
        move(buffer, cursor.address(), bytes);
        cursor.advance(run);
        buffer += bytes;
        n -= run;
    }
}

void run_convert_blocks(const Step &step, const Slice &slice) noexcept {
    const TensorRef &src = step.src[0], &dst = step.dst;
    const Converter convert(src.type, dst.type, slice.simd, streams(*step.node));
    const std::int64_t unit = convert.unit();
    const Range part = elements_of(step, slice, unit);
    if (part.begin == part.end) return;
    // A unit of either side: no more elements than the longest block, at most a double each.
    alignas(8) std::byte from[longest_block * sizeof(double)], to[longest_block * sizeof(double)];
    Cursor read(src, part.begin), write(dst, part.begin);
    for (std::int64_t at = part.begin; at < part.end;) {
        std::int64_t n = std::min({part.end - at, read.run(), write.run()}) / unit * unit, bad;
        if (n > 0) {
            // Whole contiguous units on both sides.
            bad = convert(read.address(), write.address(), n);
            read.advance(n);
            write.advance(n);
        } else {
            n = unit;
            walk(read, traits(src.type), n, from,
                 [](std::byte *buffer, const std::byte *t, std::size_t bytes) { std::memcpy(buffer, t, bytes); });
            bad = convert(from, to, n);
            walk(write, traits(dst.type), n, to,
                 [](const std::byte *buffer, std::byte *t, std::size_t bytes) { std::memcpy(t, buffer, bytes); });
        }
        if (bad >= 0) note_fault(step, 0, at + bad);
        at += n;
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::cont, .name = "copy_transposed", .plan = plan_unless<refuse_untransposed, plan_transposed>}, run_transposed},
    {{.op = Op::cont, .name = "copy_same_type", .plan = plan_unless<refuse_conversion, plan_copy>}, run_same_type},
    {{.op = Op::dup, .name = "copy_transposed", .plan = plan_unless<refuse_untransposed, plan_transposed>}, run_transposed},
    {{.op = Op::dup, .name = "copy_same_type", .plan = plan_unless<refuse_conversion, plan_copy>}, run_same_type},
    {{.op = Op::cpy, .name = "copy_transposed", .plan = plan_unless<refuse_untransposed, plan_transposed>}, run_transposed},
    {{.op = Op::cpy, .name = "copy_same_type", .plan = plan_unless<refuse_conversion, plan_copy>}, run_same_type},
    {{.op = Op::cpy, .name = "copy_convert", .plan = plan_unless<refuse_elements, plan_copy>}, run_convert},
    {{.op = Op::cpy, .name = "copy_convert_blocks", .plan = plan_always<plan_convert>}, run_convert_blocks},
    {{.op = Op::cast, .name = "copy_transposed", .plan = plan_unless<refuse_untransposed, plan_transposed>}, run_transposed},
    {{.op = Op::cast, .name = "copy_same_type", .plan = plan_unless<refuse_conversion, plan_copy>}, run_same_type},
    {{.op = Op::cast, .name = "copy_convert", .plan = plan_unless<refuse_elements, plan_copy>}, run_convert},
    {{.op = Op::cast, .name = "copy_convert_blocks", .plan = plan_always<plan_convert>}, run_convert_blocks},
};

}  // namespace

const std::span<const CpuKernel> kernels::copies = table;

}  // namespace tensorlib::core
