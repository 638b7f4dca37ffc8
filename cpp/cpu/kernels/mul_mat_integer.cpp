// The integer product of quantised weights. Activations are quantised to bytes, weights stay codes, and the
// micro-kernel multiplies bytes (cpu/simd/gemm_i8.cpp).
//
//   for each block of NC columns of a batch, several blocks a round:
//     prepare:  bytes of the block's columns, in groups of the micro-kernel's     shared workspace, all threads
//     compute:  for each panel of rows (some are a chunk):
//       for each block of KC of k:
//         codes of the panel         [KC / 4][rows][4], scales and offsets       the thread's workspace, in the
//                                                                                L2 cache (few columns read a
//                                                                                constant's packed copy instead)
//         for each group of columns: micro-kernel
//
// A panel's codes are decoded once per block of NC columns, which share the cost. An element's sum is taken in blocks
// of 256 in the order of k, then of KC, regardless of threads and chunks. Few columns of a constant take all of k at
// once, because their kernels read its packed copy sequentially. If there is no memory for the copy, KC is all of k for
// them, which gives identical bits from a's blocks.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/mul_mat.hpp"
#include "cpu/programs.hpp"
#include "ops/op_def.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// NC: bytes of 1024 columns stream from the L3 cache at 4 bytes per cycle, while the panel stays in the L2 cache.
constexpr std::int64_t largest_nc = 1020;
using integer::columns_per_chunk;

// What plan() decides.
struct Decisions {
    std::int64_t KC, NC, blocks_per_round, panels_per_chunk;
    bool one;  // columns are read one by one, as 16-bit integers
};

// Sizes that the shapes and the decisions determine, and the parts of a block's columns and of a thread's panel.
struct Blocking {
    const simd::SimdTable::IntegerFormat &format;
    ColumnBlocks blocks;
    std::int64_t K, M, KC, panels_per_chunk, rows, columns, panels, row_chunks, column_chunks;
    // A constant's copy, and the bytes of a panel of it; null if a's blocks are unpacked. Whether panels of bytes are
    // made first.
    const std::byte *copy;
    std::size_t copy_panel;
    bool through_bytes;
    ByteLayout activations;
    WorkspaceParts thread;
    std::size_t codes, code_scales, code_offsets, row;

    Blocking(const Tensor &node, const KernelPlan &plan, const simd::SimdTable &simd) noexcept
        : Blocking(node, plan, plan.kept<Decisions>(), simd) {}
    Blocking(const Tensor &node, const KernelPlan &plan, const Decisions &decided, const simd::SimdTable &simd) noexcept
        : format(simd.integer.formats[dtype_index(node.src[0]->layout.type)]),
          blocks(node.layout, decided.NC, decided.blocks_per_round),
          K(node.src[0]->layout.ne[0]),
          M(node.layout.ne[0]),
          KC(decided.KC),
          panels_per_chunk(decided.panels_per_chunk),
          rows(simd.integer.rows),
          columns(simd.integer.columns),
          panels(ceil_div(M, rows)),
          row_chunks(ceil_div(panels, panels_per_chunk)),
          column_chunks(ceil_div(blocks.NC, columns_per_chunk)),
          copy(plan.copies[0].data),
          copy_panel(static_cast<std::size_t>(simd.panels[dtype_index(node.src[0]->layout.type)].bytes(K))),
          through_bytes(!plan.copies[0].planned() || blocks.NC > format.packed_columns),
          activations(format, K, blocks.NC, decided.one) {
        const std::int64_t kc = through_bytes ? KC : 0;
        if (!through_bytes && blocks.N <= format.packed_group) columns = format.packed_group;
        codes = thread.add<std::uint8_t>(kc * rows), code_scales = thread.add<float>(kc / format.scale_group * rows);
        code_offsets = thread.add<float>(format.offset_group ? kc / format.offset_group * rows : 0);
        row = thread.add<float>(K);
    }

    std::byte *activations_at(const Step &step, std::int64_t in_round) const noexcept {
        return step.workspace + static_cast<std::size_t>(in_round) * activations.size;
    }
    std::byte *thread_at(const Step &step, int number) const noexcept {
        return activations_at(step, blocks.per_round) + static_cast<std::size_t>(number) * thread.size;
    }
};

void quantize_columns(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    ColumnBlock block;
    if (!column_block_at(b.blocks, slice.round, slice.chunk / b.column_chunks, block)) return;
    const Batch batch = batch_at(step, block.batch);
    const TensorRef &src = step.src[1];
    const bool as_it_lies = src.type == DType::f32 && src.nb[0] == sizeof(float);
    auto *row = reinterpret_cast<float *>(b.thread_at(step, slice.thread) + b.row);
    const std::int64_t begin = slice.chunk % b.column_chunks * columns_per_chunk, end = std::min(begin + columns_per_chunk, block.columns);
    for (std::int64_t column = begin; column < end; column++) {
        const std::int64_t first = column / b.columns * b.columns, n = std::min(b.columns, block.columns - first);
        const char *from = batch.b + (block.first_column + column) * static_cast<std::ptrdiff_t>(src.nb[1]);
        if (!as_it_lies) load_row(src, reinterpret_cast<const std::byte *>(from), 0, b.K, row, slice.simd);
        const float *values = as_it_lies ? reinterpret_cast<const float *>(from) : row;
        quantize(slice.simd, b.activations, values, b.activations_at(step, block.in_round), first, n, column);
    }
}

// `count` consecutive panels: more than one only with a copy and for one group of columns.
void compute_panel(const Blocking &b, const Step &step, const ColumnBlock &block, const Batch &batch, std::int64_t panel,
                   std::int64_t count, const Slice &slice) noexcept {
    const simd::SimdTable &simd = slice.simd;
    std::byte *base = b.thread_at(step, slice.thread);
    const TensorRef &a = step.src[0];
    const std::int64_t first_row = panel * b.rows;
    const int rows = static_cast<int>(std::min(count * b.rows, b.M - first_row));
    simd::PackedPanel packed{nullptr, b.format.codebook, simd.integer.prefetch_distance[0]};
    if (b.copy)
        packed.data = reinterpret_cast<const char *>(b.copy) + static_cast<std::size_t>(batch.a_slice * b.panels + panel) * b.copy_panel;
    if (!b.through_bytes) {
        for (std::int64_t column = 0; column < block.columns; column += b.columns) {
            const std::int64_t n = std::min(b.columns, block.columns - column);
            packed.ahead = simd.integer.prefetch_distance[n - 1];
            const auto kernel = b.activations.one ? b.format.gemm_packed_one : b.format.gemm_packed[n - 1];
            kernel(b.K, packed, b.activations.at(b.activations_at(step, block.in_round), column, n, 0),
                   batch.c + first_row + (block.first_column + column) * b.M, b.M, rows);
            finish_tile(step, slice, block.batch, first_row, rows, block.first_column + column, n);
        }
        return;
    }
    auto *codes = reinterpret_cast<std::uint8_t *>(base + b.codes);
    auto *scales = reinterpret_cast<float *>(base + b.code_scales), *offsets = reinterpret_cast<float *>(base + b.code_offsets);
    const RowIndex row{first_row, batch.a_slice % a.ne[2], batch.a_slice / a.ne[2]};
    for (std::int64_t k = 0; k < b.K; k += b.KC) {
        const std::int64_t kc = std::min(b.KC, b.K - k);
        integer::unpack_panel(b.format, packed, a, row, k, kc, rows, codes, scales, offsets);
        for (std::int64_t column = 0; column < block.columns; column += b.columns) {
            const std::int64_t n = std::min(b.columns, block.columns - column);
            const auto kernel = b.activations.one ? b.format.gemm_one : b.format.gemm[n - 1];
            kernel(kc, {codes, scales, offsets}, b.activations.at(b.activations_at(step, block.in_round), column, n, k),
                   batch.c + first_row + (block.first_column + column) * b.M, b.M, rows, k > 0);
            if (k + kc == b.K) finish_tile(step, slice, block.batch, first_row, rows, block.first_column + column, n);
        }
    }
}

void compute_panels(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    ColumnBlock block;
    if (!column_block_at(b.blocks, slice.round, slice.chunk / b.row_chunks, block)) return;
    const std::int64_t first = slice.chunk % b.row_chunks * b.panels_per_chunk, end = std::min(first + b.panels_per_chunk, b.panels);
    const Batch batch = batch_at(step, block.batch);
    // Few columns wait for memory, so panels are read without a pause between them.
    const std::int64_t count = !b.through_bytes && block.columns <= b.columns ? end - first : 1;
    for (std::int64_t panel = first; panel < end; panel += count) {
        compute_panel(b, step, block, batch, panel, count, slice);
    }
}

}  // namespace

void plan_copy(const Problem &p, KernelPlan &plan, std::size_t place, std::size_t source, PackedAs as) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const bool missing = p.missing_copies >> place & 1;
    ConstantCopy &copy = plan.copies[place];
    copy = PackedConstants::plan(*p.node.src[source], as, simd, p.backend.device().memory(), missing);
    copy.source = source;
    if (copy.planned()) plan.unread |= 1u << source;
}

void integer::unpack_panel(const simd::SimdTable::IntegerFormat &format, const simd::PackedPanel &copy, const TensorRef &a,
                           const RowIndex &row, std::int64_t k, std::int64_t kc, int rows, std::uint8_t *codes, float *scales,
                           float *offsets) noexcept {
    if (copy.data) {
        format.expand(k, kc, copy, codes, scales, offsets);
        return;
    }
    const auto block = static_cast<std::size_t>(k / traits(a.type).block_size);
    format.unpack(kc, reinterpret_cast<const char *>(row_address(a, row) + block * a.nb[0]), static_cast<std::ptrdiff_t>(a.nb[1]), rows,
                  codes, scales, offsets);
}

const char *integer::refuse(const Problem &p) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Layout &a = p.node.src[0]->layout;
    if (ops::is_exact(p.node)) return "the product is to be exact";
    if (!simd.integer.formats[dtype_index(a.type)].unpack) return "no integer product of this type on this ISA";
    if (a.nb[0] != traits(a.type).size) return "rows of a are not contiguous";
    return nullptr;
}

void integer::plan(const Problem &p, KernelPlan &plan) noexcept {
    plan_copy(p, plan);
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Layout &a = p.node.src[0]->layout;
    const std::int64_t NC = even_block(p.node.layout.ne[1], largest_nc, simd.integer.columns);
    const ColumnBlocks all(p.node.layout, NC, 1);
    const simd::SimdTable::IntegerFormat &format = simd.integer.formats[dtype_index(a.type)];
    const bool one = in_16_bits(format, all.N, p.batch_invariant);
    const ByteLayout bytes(format, a.ne[0], NC, one);
    const std::int64_t per_round = std::clamp<std::int64_t>(round_bytes / static_cast<std::int64_t>(bytes.size), 1, all.count);
    const std::int64_t panels = ceil_div(p.node.layout.ne[0], simd.integer.rows);
    const bool straight_through = plan.copies[0].used() && NC <= format.packed_columns;
    // Sums of blocks of k are added, so a block is all of k if bits must not depend on the number of columns.
    Decisions decided{.KC = even_block(a.ne[0], straight_through || p.batch_invariant ? a.ne[0] : largest_kc, simd::scaled_bytes),
                      .NC = NC,
                      .blocks_per_round = per_round,
                      .panels_per_chunk = 1,
                      .one = one};
    // Several consecutive panels, because the next one is prefetched; but eight chunks per thread, so that a late one
    // causes little delay.
    decided.panels_per_chunk = std::clamp<std::int64_t>(panels * per_round / (8 * p.n_threads), 1, 16);
    plan.keep(decided);
    const Blocking blocking(p.node, plan, simd);
    plan.rounding = rounding_of(blocking.activations.one);
    plan.n_rounds = blocking.blocks.rounds();
    plan.chunks(Stage::prepare) = per_round * blocking.column_chunks;
    plan.chunks(Stage::compute) = per_round * blocking.row_chunks;
    plan.workspace =
        static_cast<std::size_t>(per_round) * blocking.activations.size + static_cast<std::size_t>(p.n_threads) * blocking.thread.size;
}

void integer::run(const Step &step, const Slice &slice) noexcept {
    const Blocking blocking(*step.node, step.plan, slice.simd);
    if (slice.stage == Stage::prepare) {
        quantize_columns(blocking, step, slice);
    } else {
        compute_panels(blocking, step, slice);
    }
}

}  // namespace tensorlib::core
