// The packed F32 product, after BLIS: both operands are copied into panels that the micro-kernel reads straight
// through, in blocks that fit the caches. What is not F32 is decoded first, the rows of a panel at a time, into a buffer
// of the thread's: for a panel of A [MR][KC], 64 KiB at most.
//
//   for each unit = (batch, block of NC columns), several units a round:
//     prepare:  B panels of the unit   [NC / NR][K][NR]       shared workspace, all threads pack
//     compute:  for each block of MC rows (a chunk):
//       for each block of KC of k:
//         A panels of the chunk        [MC / MR][KC][MR]      the thread's workspace, in the second-level cache
//         for each B panel (KC x NR, in the first-level cache), for each A panel: micro-kernel
//
// Of BF16 weights, where the micro-kernel multiplies pairs, all this counts pairs in place of floats: a word of a panel is two of k, and b
// is rounded to BF16 (to nearest even, by 2^-8 of an element at most) as it is packed.
//
// MR and NR are the micro-kernel's. An element's sum is taken in blocks of KC in the order of k, whatever thread or chunk
// it falls to, so results do not depend on the number of threads.
#include "base/checked.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/epilogues.hpp"
#include "cpu/kernels/mul_mat.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

// NC: for one block of k the B panels of a unit (384 x 512 floats: 768 KiB) should stay in the second-level cache while
// the chunk's A panels meet them in turn. 512 columns as two units instead of one: 4 % more in four runs in turn.
constexpr std::int64_t largest_nc = 384;
// B panels packed at a time.
constexpr std::int64_t panels_per_chunk = 4;

// The decisions of plan(), kept in KernelPlan::choice.
enum Choice { choice_mc, choice_kc, choice_nc, choice_units_per_round, choice_per_word, choice_count };
static_assert(choice_count <= std::tuple_size_v<decltype(KernelPlan::choice)>);

// Sizes that follow from the shapes and the choice. K and KC are in words.
struct Blocking {
    Units units;
    std::int64_t per_word, K, M;
    std::int64_t MC, KC;
    std::int64_t row_blocks, panels_per_unit;
    std::int64_t MR, NR;
    bool decodes;

    Blocking(const Tensor &node, const KernelPlan &plan, const leaf::LeafTable &leaf) noexcept
        : Blocking(node.src[0]->layout, node.src[1]->layout, node.layout, plan, leaf) {}
    Blocking(const Layout &a, const Layout &b, const Layout &c, const KernelPlan &plan, const leaf::LeafTable &leaf) noexcept
        : units(c, plan.choice[choice_nc], plan.choice[choice_units_per_round]),
          per_word(plan.choice[choice_per_word]),
          K(a.ne[0] / per_word),
          M(c.ne[0]),
          MC(plan.choice[choice_mc]),
          KC(plan.choice[choice_kc]),
          row_blocks(ceil_div(M, MC)),
          panels_per_unit(ceil_div(units.NC, leaf.gemm_columns)),
          MR(leaf.gemm_rows),
          NR(leaf.gemm_columns),
          decodes(per_word > 1 || a.type != DType::f32 || b.type != DType::f32) {}

    std::int64_t unit_floats() const noexcept { return panels_per_unit * NR * K; }
    std::int64_t pack_chunks_per_unit() const noexcept { return ceil_div(panels_per_unit, panels_per_chunk); }
    // A thread's A panels and its buffer of decoded rows, on cache lines of their own.
    std::int64_t panel_floats() const noexcept { return ceil_div(MC, MR) * MR * KC; }
    std::int64_t thread_floats() const noexcept { return panel_floats() + (decodes ? std::max(MR, NR) * KC : 0) + pair_floats(); }
    // A row of b before it is rounded to pairs.
    std::int64_t pair_floats() const noexcept { return per_word > 1 ? per_word * KC : 0; }
    float *unit_panels(const Step &step, std::int64_t in_round) const noexcept {
        return reinterpret_cast<float *>(step.workspace) + in_round * unit_floats();
    }
    float *thread_panels(const Step &step, int thread) const noexcept {
        return unit_panels(step, units.per_round) + thread * thread_floats();
    }
};

// Words k .. k + kc of `n` rows into a panel of `width`: panel[k][i]. `decoded`: the thread's buffer.
void pack(const Blocking &b, const TensorRef &t, const char *first, std::int64_t k, std::int64_t kc, int n, int width, float *panel,
          float *decoded, const leaf::LeafTable &leaf) noexcept {
    if (b.per_word == 1) {
        packed::pack_floats(t, first, k, kc, n, width, panel, decoded, leaf);
        return;
    }
    constexpr std::ptrdiff_t word = sizeof(float);
    const auto row_stride = static_cast<std::ptrdiff_t>(t.nb[1]);
    if (t.type == DType::bf16 && t.nb[0] == sizeof(std::uint16_t)) {
        leaf.pack_f32(kc, first + k * word, word, row_stride, n, width, panel);
        return;
    }
    float *row = decoded + std::max(b.MR, b.NR) * b.KC;
    for (int i = 0; i < n; i++) {
        const auto *from = reinterpret_cast<const std::byte *>(first + i * row_stride);
        load_row(t, from, k * b.per_word, kc * b.per_word, row, leaf);
        leaf.formats[dtype_index(DType::bf16)].encode(row, nullptr, decoded + i * kc, kc * b.per_word);
    }
    leaf.pack_f32(kc, reinterpret_cast<const char *>(decoded), word, kc * word, n, width, panel);
}

void pack_columns(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    Unit unit;
    if (!unit_at(b.units, slice.phase, slice.chunk / b.pack_chunks_per_unit(), unit)) return;
    const Batch batch = batch_at(step, unit.batch);
    const TensorRef &src = step.src[1];
    const auto row_stride = static_cast<std::ptrdiff_t>(src.nb[1]);
    float *decoded = b.thread_panels(step, slice.thread) + b.panel_floats();
    const std::int64_t first = slice.chunk % b.pack_chunks_per_unit() * panels_per_chunk * b.NR;
    const std::int64_t end = std::min(first + panels_per_chunk * b.NR, unit.columns);
    // F32 has no buffer to fit into.
    const std::int64_t KC = b.decodes ? b.KC : b.K;
    for (std::int64_t n = first; n < end; n += b.NR) {
        // The last panel is as wide as there are columns: its micro-kernel computes no more.
        const int width = static_cast<int>(std::min(b.NR, unit.columns - n));
        for (std::int64_t k = 0; k < b.K; k += KC) {
            pack(b, src, batch.b + (unit.first_column + n) * row_stride, k, std::min(KC, b.K - k), width, width,
                 b.unit_panels(step, unit.in_round) + n * b.K + k * width, decoded, slice.leaf);
        }
    }
}

void compute_rows(const Blocking &b, const Step &step, const Slice &slice) noexcept {
    Unit unit;
    if (!unit_at(b.units, slice.phase, slice.chunk / b.row_blocks, unit)) return;
    const Batch batch = batch_at(step, unit.batch);
    const TensorRef &src = step.src[0];
    const auto row_stride = static_cast<std::ptrdiff_t>(src.nb[1]);
    const std::int64_t first_row = slice.chunk % b.row_blocks * b.MC, rows = std::min(b.MC, b.M - first_row);
    float *a_panels = b.thread_panels(step, slice.thread);
    const leaf::LeafTable::GemmF32 *gemm = b.per_word > 1 ? slice.leaf.gemm_bf16 : slice.leaf.gemm_f32;
    for (std::int64_t k = 0; k < b.K; k += b.KC) {
        const std::int64_t kc = std::min(b.KC, b.K - k);
        for (std::int64_t m = 0; m < rows; m += b.MR) {
            const int height = static_cast<int>(std::min(b.MR, rows - m));
            pack(b, src, batch.a + (first_row + m) * row_stride, k, kc, height, static_cast<int>(b.MR), a_panels + m * kc,
                 a_panels + b.panel_floats(), slice.leaf);
        }
        for (std::int64_t n = 0; n < unit.columns; n += b.NR) {
            const std::int64_t width = std::min(b.NR, unit.columns - n);
            const float *b_panel = b.unit_panels(step, unit.in_round) + n * b.K + k * width;
            float *c = batch.c + first_row + (unit.first_column + n) * b.M;
            for (std::int64_t m = 0; m < rows; m += b.MR) {
                gemm[width - 1](kc, a_panels + m * kc, b_panel, c + m, b.M, static_cast<int>(std::min(b.MR, rows - m)), k > 0);
            }
            if (k + kc == b.K) finish_tile(step, slice.leaf, unit.batch, first_row, rows, unit.first_column + n, width);
        }
    }
}

}  // namespace

void packed::pack_floats(const TensorRef &t, const char *first, std::int64_t k, std::int64_t kc, int n, int width, float *panel,
                         float *decoded, const leaf::LeafTable &leaf) noexcept {
    const auto k_stride = static_cast<std::ptrdiff_t>(t.nb[0]), row_stride = static_cast<std::ptrdiff_t>(t.nb[1]);
    const auto as_it_lies = t.type == DType::f32    ? leaf.pack_f32
                            : t.type == DType::f16  ? leaf.pack_f16
                            : t.type == DType::bf16 ? leaf.pack_bf16
                                                    : nullptr;
    if (as_it_lies) {
        as_it_lies(kc, first + k * k_stride, k_stride, row_stride, n, width, panel);
        return;
    }
    for (int i = 0; i < n; i++) load_row(t, reinterpret_cast<const std::byte *>(first + i * row_stride), k, kc, decoded + i * kc, leaf);
    constexpr std::ptrdiff_t word = sizeof(float);
    leaf.pack_f32(kc, reinterpret_cast<const char *>(decoded), word, kc * word, n, width, panel);
}

const char *packed::refuse(const Problem &) noexcept { return nullptr; }

const char *packed::refuse_pairs(const Problem &p) noexcept {
    const Layout &a = p.node.src[0]->layout;
    if (!static_cast<const CpuBackend &>(p.backend).leaf().gemm_bf16[0]) return "no product of BF16 pairs at this level";
    if (a.type != DType::bf16) return "a is not bf16";
    if (p.node.exact) return "the product is to be exact";
    if (!a.rows_contiguous() || a.ne[0] % 2 != 0) return "rows of a are no whole pairs";
    return nullptr;
}

namespace {

void plan_words(const Problem &p, std::int64_t per_word, KernelPlan &plan) noexcept {
    const leaf::LeafTable &leaf = static_cast<const CpuBackend &>(p.backend).leaf();
    const Layout &a = p.node.src[0]->layout, &c = p.node.layout;
    const std::int64_t MR = leaf.gemm_rows, NR = leaf.gemm_columns, T = p.n_threads;
    plan.choice[choice_per_word] = per_word;
    // Whole blocks of a's format, which are of 16 elements or a multiple of that. b has no blocks.
    plan.choice[choice_kc] = even_block(a.ne[0] / per_word, packed::largest_kc, std::max<std::int64_t>(16, traits(a.type).block_size));
    plan.choice[choice_nc] = even_block(c.ne[1], largest_nc, NR);
    // Small enough that every thread gets some four chunks, so that one that starts late delays the end by a quarter.
    std::int64_t mc = packed::largest_mc / MR * MR;
    const std::int64_t tiles = ceil_div(c.ne[0], MR) * ceil_div(c.ne[1], plan.choice[choice_nc]) * c.ne[2] * c.ne[3];
    if (T > 1) mc = std::min(mc, std::max<std::int64_t>(1, tiles / (4 * T)) * MR);
    plan.choice[choice_mc] = std::min(mc, ceil_div(c.ne[0], MR) * MR);
    plan.choice[choice_units_per_round] = 1;

    Blocking blocking(p.node, plan, leaf);
    const std::int64_t per_round = std::clamp<std::int64_t>(packed::round_floats / blocking.unit_floats(), 1, blocking.units.count);
    plan.choice[choice_units_per_round] = blocking.units.per_round = per_round;
    plan.n_phases = blocking.units.phases();
    plan.n_chunks = {per_round * blocking.pack_chunks_per_unit(), per_round * blocking.row_blocks};
    plan.workspace = static_cast<std::size_t>(per_round * blocking.unit_floats() + T * blocking.thread_floats()) * sizeof(float);
}

}  // namespace

void packed::plan(const Problem &p, KernelPlan &plan) noexcept { plan_words(p, 1, plan); }
void packed::plan_pairs(const Problem &p, KernelPlan &plan) noexcept { plan_words(p, 2, plan); }

void packed::run(const Step &step, const Slice &slice) noexcept {
    const Blocking blocking(*step.node, step.plan, slice.leaf);
    if (slice.phase % 2 == 0) {
        pack_columns(blocking, step, slice);
    } else {
        compute_rows(blocking, step, slice);
    }
}

}  // namespace tensorlib::core
