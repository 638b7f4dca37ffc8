// axpy: sums of the active neurons' rows, each multiplied by its activation.
//
//   prepare:  the list of active neurons of a round's columns, whose activations are not 0   one thread
//   compute:  for each slice of 128 of the list and span of 1,024 outputs (a chunk): 8 rows  the thread's workspace
//             at a time become floats, 4 KiB each, and are added to each column's sums,
//             which are partial sums
//   combine:  the slices' sums, in their order                                               shared workspace
//
// For few columns, a constant of a quantised type has packed rows (cpu/simd/packed_rows_i8.hpp), which are multiplied
// as they are unpacked, a whole row at a time. Slices are 64 entries of the list, or a 32nd of it, and combine puts
// their sums in order.
//
// For one column, rows of F32, F16 and BF16 are added in place, one after the other, while a later row's lines are
// prefetched.
//
// Otherwise, a slice of a span of Q4_0 has 72 KiB of weights, in runs of 576 bytes that are prefetched. With more than
// 8 columns, a chunk is 8 columns by a span. It goes through all slices itself, and adds each one's sums to the result
// as combine would. This needs no room for all slices' sums and gives an element identical bits. These bits depend on
// the list, and so on the columns of a round, but not on threads.
#include "cpu/kernels/axpy.hpp"

#include "cpu/cpu_backend.hpp"

namespace tensorlib::core {

namespace {

simd::SimdTable::Attention::Weighted weighted_as_it_lies(const Layout &a_t, std::int64_t columns, const simd::SimdTable &simd) noexcept {
    if (columns != 1 || a_t.nb[0] != traits(a_t.type).size) return nullptr;
    switch (a_t.type) {
        case DType::f32: return simd.attention.f32[0];
        case DType::f16: return simd.attention.f16[0];
        case DType::bf16: return simd.attention.bf16[0];
        default: return nullptr;
    }
}

}  // namespace

WeightedRows::WeightedRows(const Layout &a_t, std::int64_t columns, bool few, const ConstantCopy &copy,
                           const simd::SimdTable &simd) noexcept
    : simd_(simd),
      format_(simd.packed_rows[dtype_index(a_t.type)]),
      codebook_(simd.integer.formats[dtype_index(a_t.type)].codebook),
      by_packed_rows_(copy.used()),
      packs_rows_(copy.missing()),
      copy_(copy.data),
      as_they_lie_(weighted_as_it_lies(a_t, columns, simd)),
      K_(a_t.ne[0]),
      sums_of_column_(by_packed_rows_ ? format_.sum_floats(K_) : K_),
      spans_(ceil_div(sums_of_column_, span)),
      slices_(by_packed_rows_ ? std::min(ceil_div(a_t.ne[1], least_slice), most_slices) : ceil_div(a_t.ne[1], slice)),
      column_blocks_(ceil_div(columns, few_columns)),
      few_(few) {
    if (few) shared_.add<float>(std::max<std::int64_t>(slices_, 1) * columns * sums_of_column_);
    if (by_packed_rows_) {
        packed_row_bytes_ = static_cast<std::size_t>(format_.copy.bytes(K_));
        packed_ = thread_.add<std::byte>(packs_rows_ ? format_.summed * static_cast<std::int64_t>(packed_row_bytes_) : 0);
        return;
    }
    decoded_ = thread_.add<float>(together * span);
    sums_ = thread_.add<float>(few ? 0 : few_columns * span);
}

const float *WeightedRows::floats(const TensorRef &a_t, std::int64_t row, Range outputs, int place, std::byte *thread) const noexcept {
    float *stage = reinterpret_cast<float *>(thread + decoded_) + place * span;
    return floats_of(a_t, row_address(a_t, {row, 0, 0}), outputs.begin, outputs.end - outputs.begin, stage, simd_);
}

void WeightedRows::fetch(const TensorRef &a_t, std::int64_t row, Range outputs) const noexcept {
    const DTypeTraits &type = traits(a_t.type);
    if (a_t.nb[0] != type.size) return;
    constexpr std::size_t line = 64;
    const auto block = [&](std::int64_t i) { return static_cast<std::size_t>(i / type.block_size) * type.size; };
    const std::byte *from = row_address(a_t, {row, 0, 0});
    for (std::size_t at = block(outputs.begin); at < block(outputs.end); at += line) __builtin_prefetch(from + at, 0, 2);
}

void WeightedRows::combine(std::int64_t n_rows, std::int64_t columns, std::int64_t span_number, std::byte *shared,
                           float *c) const noexcept {
    const std::int64_t begin = span_number * span, length = std::min(span, sums_of_column_ - begin), per_slice = slice_of(n_rows);
    const float one = 1;
    float *sums = reinterpret_cast<float *>(shared);
    for (std::int64_t t = 0; t < columns; t++) {
        // Packed rows have another order, so their first slice is copied.
        float *to = by_packed_rows_ ? sums + t * sums_of_column_ + begin : c + t * K_ + begin;
        if (!by_packed_rows_ || n_rows == 0) std::fill_n(to, length, 0.0f);
        for (std::int64_t s = by_packed_rows_ ? 1 : 0; s * per_slice < n_rows; s++) {
            const float *from = sums + (s * columns + t) * sums_of_column_ + begin;
            simd_.windows.sum(length, 1, &from, &one, to, true);
        }
        if (by_packed_rows_) format_.put_in_order(K_, sums + t * sums_of_column_, begin, begin + length, c + t * K_);
    }
}

namespace {

// What a node determines, and the parts of the workspace: the list, columns that are not stored as floats, partial
// sums, threads.
struct Blocking {
    std::int64_t tokens, columns;
    WeightedRows rows;
    WorkspaceParts parts;
    ActiveRows active;
    std::size_t h, scores, sums, threads;

    Blocking(const Tensor &node, const KernelPlan &plan, int n_threads, const simd::SimdTable &simd) noexcept
        : tokens(node.layout.ne[1]),
          columns(std::min(tokens, sparse_columns)),
          rows(node.src[0]->layout, columns, tokens <= WeightedRows::few_columns, plan.copies[0], simd),
          active(node.src[0]->layout.ne[1], node.src[ops::sparse_operands.rows] != nullptr, parts) {
        const auto staged = [&](const Tensor *t) { return t ? FloatColumns::staged_floats(t->layout, columns) : 0; };
        h = parts.add<float>(staged(node.src[1])), scores = parts.add<float>(staged(node.src[ops::sparse_operands.scores]));
        sums = parts.add<std::byte>(static_cast<std::int64_t>(rows.shared_bytes()));
        threads = parts.add<std::byte>(static_cast<std::int64_t>(rows.thread_bytes()) * n_threads);
    }
};

// What the rule tests: scores, or h without scores.
FloatColumns tested(const Blocking &b, const Step &step, const FloatColumns &h) noexcept {
    constexpr int scores = ops::sparse_operands.scores;
    return step.node->src[scores] ? FloatColumns(step.src[scores], step.workspace + b.scores) : h;
}

void find_active(const Blocking &b, const Step &step, std::int64_t first, std::int64_t n, const simd::SimdTable &simd) noexcept {
    const auto [scores, rows] = ops::sparse_operands;
    const ops::SparseRule rule = ops::sparse_rule(*step.node);
    const FloatColumns h(step.src[1], step.workspace + b.h);
    h.load(first, n, simd);
    b.active.clear(step.workspace);
    if (step.node->src[rows]) b.active.read_numbers(step.workspace, step, rows, step.src[1].ne[0]);
    const FloatColumns s = tested(b, step, h);
    if (step.node->src[scores]) s.load(first, n, simd);
    for (std::int64_t j = 0; j < n; j++) b.active.add(step.workspace, rule, s.at(first, j), h.at(first, j));
    b.active.compact(step.workspace);
}

void plan_axpy(const Problem &p, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    if (WeightedRows::takes_packed_rows(p.node.src[0]->layout, p.node.layout.ne[1], simd)) plan_copy(p, plan, 0, 0, PackedAs::rows);
    const Blocking b(p.node, plan, p.n_threads, simd);
    plan.n_rounds = ceil_div(b.tokens, sparse_columns);
    plan.chunks(Stage::prepare) = 1;
    plan.chunks(Stage::compute) = std::max<std::int64_t>(b.rows.chunks(), 1);
    plan.chunks(Stage::combine) = b.rows.combine_chunks();
    plan.workspace = b.parts.size;
    plan.keep(PlannedThreads{p.n_threads});
}

void run_axpy(const Step &step, const Slice &slice) noexcept {
    const Blocking b(*step.node, step.plan, step.plan.kept<PlannedThreads>().count, slice.simd);
    const std::int64_t K = step.dst.ne[0], first = slice.round * sparse_columns, n = std::min(sparse_columns, b.tokens - first);
    float *c = reinterpret_cast<float *>(step.dst.data) + first * K;
    if (slice.stage == Stage::prepare) {
        find_active(b, step, first, n, slice.simd);
        return;
    }
    const std::int64_t n_rows = b.active.count(step.workspace), *list = b.active.list(step.workspace);
    if (slice.stage == Stage::combine) {
        b.rows.combine(n_rows, b.tokens, slice.chunk, step.workspace + b.sums, reinterpret_cast<float *>(step.dst.data));
        return;
    }
    if (slice.chunk >= b.rows.chunks()) return;
    const ops::SparseRule rule = ops::sparse_rule(*step.node);
    const FloatColumns h(step.src[1], step.workspace + b.h), s = tested(b, step, h);
    const auto weight = [&](std::int64_t place, std::int64_t j) {
        const std::int64_t neuron = b.active.neuron(step.workspace, list[place]);
        return rule.active(s.at(first, j)[neuron]) ? h.at(first, j)[neuron] : 0.0f;
    };
    std::byte *thread = step.workspace + b.threads + static_cast<std::size_t>(slice.thread) * b.rows.thread_bytes();
    const WeightedRows::Work<decltype(weight)> work{step.src[0], list, n_rows, n, c, weight};
    b.rows.run(work, slice.chunk, step.workspace + b.sums, thread);
}

constexpr CpuKernel table[] = {
    {{.op = Op::axpy, .name = "axpy_empty", .plan = plan_unless<refuse_unless_empty>}, check_rows},
    {{.op = Op::axpy, .name = "axpy_rows", .plan = plan_unless<refuse_batch_invariant, plan_axpy>}, run_axpy},
};

}  // namespace

const std::span<const CpuKernel> kernels::axpy = table;

}  // namespace tensorlib::core
