// The packed product in floats. The micro-kernel reads panels of both operands sequentially, in blocks that fit the
// caches. Types other than F32 are decoded first, the rows of a panel at a time, into a buffer of the thread: for a
// panel of A [MR][KC], 24 KiB at most.
//
//   for each block of NC columns of a batch, several blocks a round:
//     prepare:  B panels of the block  [K / KC][NC / NR][KC][NR]    shared workspace, all threads pack
//     compute:  for each block of MC rows (a chunk):
//       for each block of KC of k (its B panels stay in the L2 cache):
//         for each panel of MR rows (in the L1 cache):
//           A panel                    [KC][MR]                     the thread's workspace, or the constant's copy in
//                                                                   place
//           for each B panel: micro-kernel, sums into a tile        [MR / MR][NC][MR]: the thread's workspace
//       the last block of k goes on to C
//
// Tiles are separate from C because columns of C are often a power of two apart. The 24 cache lines of a tile would
// then fall into two sets, and the L1 cache has 12 ways each. Storing tiles into C block by block cost 6 to 8 % at 4096
// x 4096 x 512 (docs/performance/products.md).
//
// For BF16 weights, where the micro-kernel multiplies pairs, all of this counts pairs instead of floats. A word of a
// panel is two elements of k, and packing rounds b to BF16 (to nearest even, by 2^-8 of an element at most).
//
// MR and NR are the micro-kernel's. An element's sum is taken in blocks of KC in the order of k, regardless of threads
// and chunks, so results do not depend on the number of threads.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/mul_mat.hpp"
#include "cpu/programs.hpp"
#include "ops/op_def.hpp"

#include <algorithm>
#include <cstring>

namespace tensorlib::core {

// What a panel of A holds by what a panel of B holds. A word of pairs is two elements of k.
enum class packed::Product : std::uint8_t { floats, pairs, halves_by_floats, pairs_by_floats };

namespace {

using packed::Decisions;
using packed::Product;

// NC: for one block of k, the B panels of a block of columns (192 x 516 floats: 387 KiB) stay in the L2 cache while the
// panels of A use them in turn. Larger blocks would be read again from the L3 cache: sets of 4 KiB pages fill up before
// the cache does.
constexpr std::int64_t largest_nc = 516;
// B panels that are packed at a time.
constexpr std::int64_t panels_per_chunk = 4;

std::int64_t elements_per_word(Product product) noexcept {
    return product == Product::pairs || product == Product::pairs_by_floats ? 2 : 1;
}

const simd::SimdTable::Gemm &gemm_of(Product product, bool in_order, const simd::SimdTable &simd) noexcept {
    switch (product) {
        case Product::pairs: return simd.gemm.bf16;
        case Product::halves_by_floats: return in_order ? simd.gemm.f16_by_f32_in_order : simd.gemm.f16_by_f32;
        case Product::pairs_by_floats: return in_order ? simd.gemm.bf16_by_f32_in_order : simd.gemm.bf16_by_f32;
        default: return in_order ? simd.gemm.f32_in_order : simd.gemm.f32;
    }
}

// Sizes that the shapes and the decisions determine, and the parts of a thread's workspace. K and KC are in words.
struct Blocking {
    ColumnBlocks blocks;
    Product product;
    bool in_order;
    std::int64_t per_word, b_floats;  // elements of a word of A, and floats of B that it is multiplied by
    std::int64_t K, M;
    std::int64_t MC, KC;
    std::int64_t row_blocks, panels_per_block;
    std::int64_t MR, NR;
    // Whether panels of A come from the constant's copy; the copy, and the bytes of a panel and of its part for a word.
    bool reads_copy;
    const std::byte *copy;
    std::size_t copy_panel, copy_word;
    // Whether each panel of A takes all of k at once, because the panels of few columns stay in the L2 cache
    // completely.
    bool few_columns;
    WorkspaceParts thread;
    // The parts for a panel of A, for decoded rows (and for a row of b before it is rounded to pairs), and for
    // incomplete sums.
    std::size_t panel, decoded, row, tiles;

    Blocking(const Layout &a, const Layout &b, const Layout &c, const KernelPlan &plan, const Decisions &decided,
             const simd::SimdTable &simd) noexcept
        : blocks(c, decided.NC, decided.blocks_per_round),
          product(decided.product),
          in_order(decided.in_order),
          per_word(elements_per_word(product)),
          b_floats(product == Product::pairs_by_floats ? 2 : 1),
          K(a.ne[0] / per_word),
          M(c.ne[0]),
          MC(decided.MC),
          KC(decided.KC),
          row_blocks(ceil_div(M, MC)),
          panels_per_block(ceil_div(blocks.NC, simd.gemm.columns)),
          MR(simd.gemm.rows),
          NR(simd.gemm.columns),
          reads_copy(plan.copies[0].planned()),
          copy(plan.copies[0].data),
          copy_panel(reads_copy ? static_cast<std::size_t>(simd.panels[dtype_index(a.type)].bytes(a.ne[0])) : 0),
          copy_word(reads_copy ? copy_panel / static_cast<std::size_t>(K) : 0),
          few_columns(blocks.NC <= packed::most_few_columns) {
        panel = thread.add<float>(reads_copy ? 0 : MR * KC);
        const bool decodes =
            product == Product::pairs || !packed::packs_as_it_lies(b.type, simd) || !(reads_copy || packed::packs_as_it_lies(a.type, simd));
        decoded = thread.add<float>(decodes ? std::max(MR, NR) * KC * b_floats : 0);
        row = thread.add<float>(product == Product::pairs ? per_word * KC : 0);
        tiles = thread.add<float>(blocks_of_k() > 1 ? (few_columns ? MR : MC) * blocks.NC : 0);
    }

    std::int64_t blocks_of_k() const noexcept { return ceil_div(K, KC); }
    std::int64_t block_floats() const noexcept { return ceil_div(blocks.NC * K * b_floats, 16) * 16; }
    std::int64_t pack_chunks_per_block() const noexcept { return ceil_div(panels_per_block, panels_per_chunk); }
    float *block_panels(const Step &step, std::int64_t in_round) const noexcept {
        return reinterpret_cast<float *>(step.workspace) + in_round * block_floats();
    }
    // The block's panel of columns starting with n, for the block of k that starts with k and has kc.
    float *column_panel(const Step &step, const ColumnBlock &block, std::int64_t n, std::int64_t k, std::int64_t kc) const noexcept {
        return block_panels(step, block.in_round) + (k * block.columns + n * kc) * b_floats;
    }
    float *of_thread(const Step &step, const Slice &slice, std::size_t part) const noexcept {
        auto *threads = reinterpret_cast<std::byte *>(block_panels(step, blocks.per_round));
        return reinterpret_cast<float *>(threads + static_cast<std::size_t>(slice.thread) * thread.size + part);
    }
};

// Packs words k .. k + kc of `n` rows into a panel of `width`: panel[k][i].
void pack(const Blocking &b, const Step &step, const Slice &slice, const TensorRef &t, const char *first, std::int64_t k, std::int64_t kc,
          int n, int width, float *panel) noexcept {
    const simd::SimdTable &simd = slice.simd;
    float *decoded = b.of_thread(step, slice, b.decoded);
    if (b.product != Product::pairs) {
        packed::pack_floats(t, first, k * b.b_floats, kc * b.b_floats, n, width, panel, decoded, simd);
        return;
    }
    constexpr std::ptrdiff_t word = sizeof(float);
    const auto row_stride = static_cast<std::ptrdiff_t>(t.nb[1]);
    if (t.type == DType::bf16 && t.nb[0] == sizeof(std::uint16_t)) {
        simd.pack.f32(kc, first + k * word, word, row_stride, n, width, panel);
        return;
    }
    float *row = b.of_thread(step, slice, b.row);
    const bool as_it_lies = t.type == DType::f32 && t.nb[0] == sizeof(float);
    for (int i = 0; i < n; i++) {
        const auto *from = reinterpret_cast<const std::byte *>(first + i * row_stride);
        if (!as_it_lies) load_row(t, from, k * b.per_word, kc * b.per_word, row, simd);
        const float *values = as_it_lies ? reinterpret_cast<const float *>(from) + k * b.per_word : row;
        simd.formats[dtype_index(DType::bf16)].encode(values, nullptr, decoded + i * kc, kc * b.per_word);
    }
    simd.pack.f32(kc, reinterpret_cast<const char *>(decoded), word, kc * word, n, width, panel);
}

void pack_columns(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    ColumnBlock block;
    if (!column_block_at(b.blocks, slice.round, slice.chunk / b.pack_chunks_per_block(), block)) return;
    const Batch batch = batch_at(step, block.batch);
    const TensorRef &src = step.src[1];
    const std::int64_t first = slice.chunk % b.pack_chunks_per_block() * panels_per_chunk * b.NR;
    const std::int64_t end = std::min(first + panels_per_chunk * b.NR, block.columns);
    for (std::int64_t n = first; n < end; n += b.NR) {
        // The last panel is as wide as the remaining columns, so its micro-kernel computes no more.
        const int width = static_cast<int>(std::min(b.NR, block.columns - n));
        const char *columns = batch.b + (block.first_column + n) * static_cast<std::ptrdiff_t>(src.nb[1]);
        for (std::int64_t k = 0; k < b.K; k += b.KC) {
            const std::int64_t kc = std::min(b.KC, b.K - k);
            pack(b, step, slice, src, columns, k, kc, width, width, b.column_panel(step, block, n, k, kc));
        }
    }
}

// Stores m of a tile's MR rows into C.
void store_tile(const float *tile, std::int64_t MR, float *c, std::int64_t ldc, std::int64_t m, std::int64_t columns) noexcept {
    for (std::int64_t j = 0; j < columns; j++) std::memcpy(c + j * ldc, tile + j * MR, static_cast<std::size_t>(m) * sizeof(float));
}

// The products of a panel of A with all columns of a block, for one block of k.
struct PanelProduct {
    const void *panel;
    std::int64_t k, kc, row, rows;  // of C
    float *tiles;                   // null if there is only one block of k
};
void multiply(const Blocking &b, const Step &step, const Slice &slice, const ColumnBlock &block, const Batch &batch,
              const PanelProduct &p) noexcept {
    const simd::SimdTable::Gemm &gemm = gemm_of(b.product, b.in_order, slice.simd);
    const bool last = p.k + p.kc == b.K;
    for (std::int64_t n = 0; n < block.columns; n += b.NR) {
        const std::int64_t width = std::min(b.NR, block.columns - n);
        const float *columns = b.column_panel(step, block, n, p.k, p.kc);
        float *c = batch.c + p.row + (block.first_column + n) * b.M;
        if (last) fetch_tile(step, block.batch, p.row, p.rows, block.first_column + n, width);
        const auto kernel = (b.reads_copy && n == 0 ? gemm.from_memory : gemm.from_cache)[width - 1];
        if (p.tiles) {
            float *tile = p.tiles + n * b.MR;
            // Other panels' sums have evicted these from the L1 cache meanwhile.
            for (std::int64_t i = 0; i < width * b.MR; i += 16) __builtin_prefetch(tile + i, 1, 3);
            kernel(p.kc, p.panel, columns, tile, b.MR, static_cast<int>(b.MR), p.k > 0);
            if (last) store_tile(tile, b.MR, c, b.M, p.rows, width);
        } else {
            kernel(p.kc, p.panel, columns, c, b.M, static_cast<int>(p.rows), false);
        }
        if (last) finish_tile(step, slice, block.batch, p.row, p.rows, block.first_column + n, width);
    }
}

// The block of k that starts with k, for the panel whose first row is m: in the constant's copy, or packed here.
const void *row_panel(const Blocking &b, const Step &step, const Slice &slice, const Batch &batch, std::int64_t m, std::int64_t k,
                      std::int64_t kc) noexcept {
    if (b.reads_copy) {
        const auto number = static_cast<std::size_t>(batch.a_slice * ceil_div(b.M, b.MR) + m / b.MR);
        return b.copy + number * b.copy_panel + static_cast<std::size_t>(k) * b.copy_word;
    }
    float *panel = b.of_thread(step, slice, b.panel);
    const TensorRef &a = step.src[0];
    pack(b, step, slice, a, batch.a + m * static_cast<std::ptrdiff_t>(a.nb[1]), k, kc, static_cast<int>(std::min(b.MR, b.M - m)),
         static_cast<int>(b.MR), panel);
    return panel;
}

void compute_rows(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    ColumnBlock block;
    if (!column_block_at(b.blocks, slice.round, slice.chunk / b.row_blocks, block)) return;
    const Batch batch = batch_at(step, block.batch);
    const std::int64_t first = slice.chunk % b.row_blocks * b.MC, end = std::min(first + b.MC, b.M);
    float *tiles = b.blocks_of_k() > 1 ? b.of_thread(step, slice, b.tiles) : nullptr;
    // Panels that use a block of k one after the other.
    const std::int64_t together = b.few_columns ? b.MR : b.MC;
    for (std::int64_t from = first; from < end; from += together) {
        for (std::int64_t k = 0; k < b.K; k += b.KC) {
            const std::int64_t kc = std::min(b.KC, b.K - k);
            for (std::int64_t m = from; m < std::min(from + together, end); m += b.MR) {
                multiply(b, step, slice, block, batch,
                         {row_panel(b, step, slice, batch, m, k, kc), k, kc, m, std::min(b.MR, end - m),
                          tiles ? tiles + (m - from) * block.columns : nullptr});
            }
        }
    }
}

}  // namespace

bool packed::packs_as_it_lies(DType type, const simd::SimdTable &simd) noexcept {
    return type == DType::f32 || (type == DType::f16 && simd.pack.f16) || (type == DType::bf16 && simd.pack.bf16);
}

void packed::pack_floats(const TensorRef &t, const char *first, std::int64_t k, std::int64_t kc, int n, int width, float *panel,
                         float *decoded, const simd::SimdTable &simd) noexcept {
    const auto k_stride = static_cast<std::ptrdiff_t>(t.nb[0]), row_stride = static_cast<std::ptrdiff_t>(t.nb[1]);
    const auto as_it_lies = t.type == DType::f32    ? simd.pack.f32
                            : t.type == DType::f16  ? simd.pack.f16
                            : t.type == DType::bf16 ? simd.pack.bf16
                                                    : nullptr;
    if (as_it_lies) {
        as_it_lies(kc, first + k * k_stride, k_stride, row_stride, n, width, panel);
        return;
    }
    for (int i = 0; i < n; i++) load_row(t, reinterpret_cast<const std::byte *>(first + i * row_stride), k, kc, decoded + i * kc, simd);
    constexpr std::ptrdiff_t word = sizeof(float);
    simd.pack.f32(kc, reinterpret_cast<const char *>(decoded), word, kc * word, n, width, panel);
}

namespace {

Product product_of_copy(DType type) noexcept {
    return type == DType::f16 ? Product::halves_by_floats : type == DType::bf16 ? Product::pairs_by_floats : Product::floats;
}

}  // namespace

const simd::SimdTable::Gemm &packed::gemm_of_copy(DType type, bool in_order, const simd::SimdTable &simd) noexcept {
    return gemm_of(product_of_copy(type), in_order, simd);
}
const simd::SimdTable::Gemm &packed::gemm_of_floats(bool in_order, const simd::SimdTable &simd) noexcept {
    return gemm_of(Product::floats, in_order, simd);
}

const char *packed::refuse_pairs(const Problem &p) noexcept {
    const Layout &a = p.node.src[0]->layout;
    if (!static_cast<const CpuBackend &>(p.backend).simd().gemm.bf16.from_cache[0]) return "no product of BF16 pairs on this ISA";
    if (a.type != DType::bf16) return "a is not bf16";
    if (ops::is_exact(p.node)) return "the product is to be exact";
    if (p.batch_invariant) return not_batch_invariant;
    if (!a.rows_contiguous() || a.ne[0] % 2 != 0) return "rows of a are no whole pairs";
    return nullptr;
}

const char *packed::refuse_constant(const Problem &p) noexcept {
    const Tensor &a = *p.node.src[0];
    const DType type = a.layout.type;
    if (type != DType::f32 && type != DType::f16 && type != DType::bf16) return "a is not f32, f16 or bf16";
    if (!a.layout.rows_contiguous()) return "rows of a are not contiguous";
    return PackedConstants::refuse(a, PackedAs::panels, static_cast<const CpuBackend &>(p.backend).simd(), p.backend.device().memory());
}

namespace {

// `blocked_as`: the product whose blocks of k this one uses, so that it gives that product's bits.
void plan_product(const Problem &p, const Layout &a, const Layout &b, Product product, Product blocked_as, KernelPlan &plan) noexcept {
    const simd::SimdTable &simd = static_cast<const CpuBackend &>(p.backend).simd();
    const Layout &c = p.node.layout;
    const std::int64_t MR = simd.gemm.rows, NR = simd.gemm.columns, T = p.n_threads;
    Decisions decided{.MC = 0,
                      .KC = 0,
                      .NC = even_block(c.ne[1], largest_nc, NR),
                      .blocks_per_round = 1,
                      .product = product,
                      .in_order = p.batch_invariant};
    if (product == Product::pairs) plan.rounding = "b in bf16";
    // Whole blocks of a's type, which have 16 elements or a multiple of that. b is not quantised.
    const std::int64_t words =
        even_block(a.ne[0] / elements_per_word(blocked_as),
                   decided.NC <= packed::most_few_columns && !p.batch_invariant ? packed::few_columns_kc : packed::largest_kc,
                   std::max<std::int64_t>(16, traits(a.type).block_size));
    decided.KC = words * elements_per_word(blocked_as) / elements_per_word(product);
    // Small enough that each thread gets some four chunks, so that one that starts late delays the end by a quarter.
    std::int64_t mc = packed::largest_mc / MR * MR;
    const std::int64_t tiles = ceil_div(c.ne[0], MR) * ceil_div(c.ne[1], decided.NC) * c.ne[2] * c.ne[3];
    if (T > 1) mc = std::min(mc, std::max<std::int64_t>(1, tiles / (4 * T)) * MR);
    decided.MC = even_block(c.ne[0], mc, MR);

    const Blocking each(a, b, c, plan, decided, simd);  // a block's sizes do not depend on how many are in a round
    // As few blocks as give every thread four chunks, so that packed panels are read back from a near cache.
    const std::int64_t few = std::max(packed::near_floats / each.block_floats(), T > 1 ? ceil_div(4 * T, each.row_blocks) : 1);
    const std::int64_t most = std::max<std::int64_t>(packed::round_floats / each.block_floats(), 1);
    const std::int64_t per_round = std::min({few, most, each.blocks.count});
    decided.blocks_per_round = per_round;
    plan.keep(decided);
    const Blocking blocking(a, b, c, plan, decided, simd);
    plan.n_rounds = blocking.blocks.rounds();
    plan.chunks(Stage::prepare) = per_round * blocking.pack_chunks_per_block();
    plan.chunks(Stage::compute) = per_round * blocking.row_blocks;
    plan.workspace =
        static_cast<std::size_t>(per_round * blocking.block_floats()) * sizeof(float) + static_cast<std::size_t>(T) * blocking.thread.size;
}

// For operands that are the node's.
void plan_product(const Problem &p, Product product, KernelPlan &plan) noexcept {
    plan_product(p, p.node.src[0]->layout, p.node.src[1]->layout, product, product, plan);
}

}  // namespace

void packed::plan_of(const Problem &p, const Layout &a, const Layout &b, KernelPlan &plan) noexcept {
    plan_product(p, a, b, Product::floats, Product::floats, plan);
}
void packed::plan(const Problem &p, KernelPlan &plan) noexcept { plan_product(p, Product::floats, plan); }
void packed::plan_pairs(const Problem &p, KernelPlan &plan) noexcept { plan_product(p, Product::pairs, plan); }

void packed::plan_constant(const Problem &p, KernelPlan &plan) noexcept {
    plan_copy(p, plan);
    const DType type = p.node.src[0]->layout.type;
    // A single column waits for memory either way, so it is not rounded. 8 columns on Zen 4: 100 GFLOP/s by floats, 160
    // by pairs; 2 columns: 55 and 64.
    const bool pairs = !refuse_pairs(p) && p.node.layout.ne[1] > 1;
    // If there is no memory for the copy, panels of floats are made, and multiplied in the copy's blocks.
    const Product of_copy = pairs ? Product::pairs : product_of_copy(type);
    const Product product = pairs || plan.copies[0].planned() ? of_copy : Product::floats;
    plan_product(p, p.node.src[0]->layout, p.node.src[1]->layout, product, of_copy, plan);
}

void packed::run(const Step &step, const Slice &slice) noexcept {
    run_of(step.node->src[0]->layout, step.node->src[1]->layout, step, slice);
}

void packed::run_of(const Layout &a, const Layout &b, const Step &step, const Slice &slice) noexcept {
    const Blocking blocking(a, b, step.node->layout, step.plan, step.plan.kept<Decisions>(), slice.simd);
    if (slice.stage == Stage::prepare) {
        pack_columns(blocking, step, slice);
    } else {
        compute_rows(blocking, step, slice);
    }
}

}  // namespace tensorlib::core
