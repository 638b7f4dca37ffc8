// get_rows, set_rows: rows selected by index.
#include "cpu/kernels/convert.hpp"

#include "base/checked.hpp"
#include "graph/stand_in.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

namespace {

// The index in element i of slice (i2, i3) of rows. If a has no such row, this records a fault and returns -1.
std::int64_t row_number(const Step &step, int operand, std::int64_t i, std::int64_t i1, std::int64_t i2, std::int64_t n_rows) noexcept {
    const TensorRef &rows = step.src[static_cast<std::size_t>(operand)];
    const std::byte *at = rows.data + static_cast<std::size_t>(i) * rows.nb[0] + static_cast<std::size_t>(i1) * rows.nb[1] +
                          static_cast<std::size_t>(i2) * rows.nb[2];
    const std::int64_t number = integer_value(rows.type, at);
    if (number >= 0 && number < n_rows) return number;
    note_fault(step, operand, i + rows.ne[0] * (i1 + rows.ne[1] * i2));
    return -1;
}

// ---- get_rows. A chunk is some rows of the result. For a leaf without its original, it rebuilds only the rows that it
// reads.

// A thread's part of the workspace: a row of a's root, and a row of a.
struct GetParts {
    std::size_t row, size;
    explicit GetParts(const Tensor &a) noexcept
        : row(round_up(a.root->layout.row_bytes(), 64)), size(row + round_up(a.layout.row_bytes(), 64)) {}
};

void plan_get(const Problem &p, KernelPlan &plan) noexcept {
    const Tensor &a = *p.node.src[0];
    if (is_dropped(a) && a.layout.rows_contiguous()) {
        plan.unread = 1;
        plan.workspace = static_cast<std::size_t>(p.n_threads) * GetParts(a).size;
    }
    plan.chunks(Stage::compute) = chunks_for(p.node.layout.n_rows(), static_cast<std::int64_t>(p.node.layout.nbytes()), p.n_threads);
}

// A row is read this many elements at a time, a multiple of every block, while the same part of the next row is
// prefetched. Rows lie anywhere, so without prefetching each one starts with memory's latency. Rows with gaps are not
// prefetched: the next row is mostly in lines that this row has read, and both may span the whole tensor.
constexpr std::int64_t piece = 512;

// Copies rows of a to the result, in a's type or decoded to F32.
class RowGetter {
public:
    RowGetter(const Step &step, const simd::SimdTable &simd) noexcept
        : a_(step.src[0]),
          simd_(simd),
          decodes_(a_.type != step.dst.type),
          side_by_side_(a_.nb[0] == traits(a_.type).size),
          stream_(streams(*step.node) && step.node->layout.row_bytes() >= shortest_stream && (decodes_ || side_by_side_)) {}
    ~RowGetter() {
        if (stream_) simd_.copies.stream_end();
    }
    RowGetter(const RowGetter &) = delete;
    RowGetter &operator=(const RowGetter &) = delete;

    // next: the row that is read after this one, or null.
    void get(const std::byte *source, const std::byte *next, std::byte *target) const noexcept {
        const DTypeTraits &type = traits(a_.type);
        const std::size_t size = decodes_ ? sizeof(float) : type.size;
        for (std::int64_t i = 0; i < a_.ne[0]; i += piece) {
            const std::int64_t n = std::min(piece, a_.ne[0] - i);
            const auto at = static_cast<std::size_t>(i / type.block_size) * a_.nb[0];
            if (next && side_by_side_) fetch(next + at, static_cast<std::size_t>(n / type.block_size) * type.size);
            std::byte *to = target + static_cast<std::size_t>(i) * size;
            if (decodes_ && stream_) {
                alignas(64) float values[piece];
                load_row(a_, source, i, n, values, simd_);
                simd_.copies.stream(n * static_cast<std::int64_t>(size), values, to);
            } else if (decodes_) {
                load_row(a_, source, i, n, reinterpret_cast<float *>(to), simd_);
            } else if (stream_) {
                simd_.copies.stream(n * static_cast<std::int64_t>(size), source + at, to);
            } else if (side_by_side_) {
                std::memcpy(to, source + at, static_cast<std::size_t>(n) * size);
            } else {
                for (std::int64_t j = 0; j < n; j++)
                    std::memcpy(to + static_cast<std::size_t>(j) * size, source + at + static_cast<std::size_t>(j) * a_.nb[0], size);
            }
        }
    }

private:
    static void fetch(const std::byte *from, std::size_t n) noexcept {
        constexpr std::size_t line = 64;
        for (std::size_t i = 0; i < n; i += line) __builtin_prefetch(from + i, 0, 2);
    }

    const TensorRef &a_;
    const simd::SimdTable &simd_;
    bool decodes_, side_by_side_, stream_;
};

void run_get(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.src[0], &c = step.dst;
    const std::size_t row_bytes = step.node->layout.row_bytes();
    const Range part = part_of(step.node->layout.n_rows(), slice.chunk, step.plan.chunks(Stage::compute));
    const Tensor &of = *step.node->src[0];
    const GetParts parts(of);
    std::byte *stage = step.plan.unread ? step.workspace + static_cast<std::size_t>(slice.thread) * parts.size : nullptr;
    RebuiltBytes rebuilt(*of.root, stage);
    const RowGetter getter(step, slice.simd);
    // The row of a for row r of the result; -1 if a has no such row.
    const auto from_at = [&](std::int64_t r) {
        const RowIndex to = row_index(c.ne, r);
        return RowIndex{row_number(step, 1, to.i1, to.i2, to.i3, a.ne[1]), to.i2, to.i3};
    };
    constexpr RowIndex none{-1, 0, 0};
    RowIndex from = part.begin < part.end ? from_at(part.begin) : none;
    for (std::int64_t r = part.begin; r < part.end; r++) {
        std::byte *target = row_address(c, row_index(c.ne, r));
        const RowIndex next = r + 1 < part.end ? from_at(r + 1) : none;
        if (from.i1 < 0) {
            std::memset(target, 0, row_bytes);
        } else if (stage) {
            rebuilt.read(of.root_offset + row_place(a, from), of.layout.row_bytes(), stage + parts.row);
            getter.get(stage + parts.row, nullptr, target);
        } else {
            getter.get(row_address(a, from), next.i1 < 0 ? nullptr : row_address(a, next), target);
        }
        from = next;
    }
}

// ---- set_rows. A chunk is a range of columns of all rows. Rows are therefore stored in their order, and of two rows
// with one index the later one stays, with any number of threads.

std::int64_t column_units(const Tensor &node) noexcept {
    return node.layout.ne[0] / conversion_unit(node.src[1]->layout.type, node.layout.type);
}

void plan_set(const Problem &p, KernelPlan &plan) noexcept {
    const auto bytes = static_cast<std::int64_t>(p.node.src[1]->layout.nbytes());
    plan.chunks(Stage::compute) = chunks_for(column_units(p.node), bytes, p.n_threads);
}

// n elements of a row, starting with i0, for any strides.
void set_columns(const Step &step, const Converter *convert, const std::byte *source, std::byte *target, std::int64_t i0, std::int64_t n,
                 std::int64_t position) noexcept {
    const TensorRef &a = step.dst, &b = step.src[1];
    const DTypeTraits &from = traits(b.type), &to = traits(a.type);
    const bool side_by_side = b.nb[0] == from.size && a.nb[0] == to.size;
    const std::int64_t unit = conversion_unit(b.type, a.type), step_size = side_by_side ? n : unit;
    // Where one type has blocks, elements of the other one that lie apart are gathered for a block, or scattered from it.
    const bool gathers = unit > 1 && b.nb[0] != from.size, scatters = unit > 1 && a.nb[0] != to.size;
    alignas(16) std::byte gathered[longest_block * sizeof(double)], converted[longest_block * sizeof(double)];
    for (std::int64_t i = i0; i < i0 + n; i += step_size) {
        const std::byte *s = source + static_cast<std::size_t>(i / from.block_size) * b.nb[0];
        std::byte *t = target + static_cast<std::size_t>(i / to.block_size) * a.nb[0];
        if (!convert) {
            std::memcpy(t, s, static_cast<std::size_t>(step_size / to.block_size) * to.size);
            continue;
        }
        for (std::size_t e = 0; gathers && e < static_cast<std::size_t>(unit); e++) {
            std::memcpy(gathered + e * from.size, s + e * b.nb[0], from.size);
        }
        const std::int64_t bad = (*convert)(gathers ? gathered : s, scatters ? converted : t, step_size);
        for (std::size_t e = 0; scatters && e < static_cast<std::size_t>(unit); e++) {
            std::memcpy(t + e * a.nb[0], converted + e * to.size, to.size);
        }
        if (bad >= 0) note_fault(step, 1, position + i + bad);
    }
}

void run_set(const Step &step, const Slice &slice) noexcept {
    const TensorRef &a = step.dst, &b = step.src[1], &rows = step.src[2];
    const Converter convert(b.type, a.type, slice.simd);
    const Range part = part_of(column_units(*step.node), slice.chunk, step.plan.chunks(Stage::compute));
    const std::int64_t first = part.begin * convert.unit(), n = (part.end - part.begin) * convert.unit();
    if (n == 0) return;
    const std::int64_t n_rows = step.node->src[1]->layout.n_rows();
    for (std::int64_t r = 0; r < n_rows; r++) {
        const RowIndex from = row_index(b.ne, r);
        const std::int64_t number = row_number(step, 2, from.i1, from.i2 % rows.ne[1], from.i3 % rows.ne[2], a.ne[1]);
        if (number < 0) continue;
        set_columns(step, a.type == b.type ? nullptr : &convert, row_address(b, from), row_address(a, {number, from.i2, from.i3}), first, n,
                    r * b.ne[0]);
    }
}

constexpr CpuKernel table[] = {
    {{.op = Op::get_rows, .name = "get_rows", .plan = plan_always<plan_get>}, run_get},
    {{.op = Op::set_rows, .name = "set_rows", .plan = plan_always<plan_set>}, run_set},
};

}  // namespace

const std::span<const CpuKernel> kernels::rows = table;

}  // namespace tensorlib::core
