// What the kernels of mul_mat and mul_mat_id share.
#pragma once

#include "base/checked.hpp"
#include "cpu/cpu_kernel.hpp"
#include "cpu/packed_constants.hpp"

namespace tensorlib::core {

// The matrices of one batch: slice (i2, i3) of b and c, and the slice of a that it shares.
struct Batch {
    const char *a, *b;
    float *c;
    std::int64_t a_slice;  // its index, below ne[2] * ne[3]
};

inline Batch batch_at(const Step &step, std::int64_t batch) noexcept {
    const TensorRef &a = step.src[0], &b = step.src[1], &c = step.dst;
    const std::int64_t i2 = batch % c.ne[2], i3 = batch / c.ne[2];
    // X / x consecutive slices of b share one of a.
    const auto a2 = static_cast<std::size_t>(i2 / (b.ne[2] / a.ne[2])), a3 = static_cast<std::size_t>(i3 / (b.ne[3] / a.ne[3]));
    const auto b2 = static_cast<std::size_t>(i2), b3 = static_cast<std::size_t>(i3);
    // A product with a's packed copy may have no a: KernelPlan::unread.
    return {a.data ? reinterpret_cast<const char *>(a.data + a2 * a.nb[2] + a3 * a.nb[3]) : nullptr,
            reinterpret_cast<const char *>(b.data + b2 * b.nb[2] + b3 * b.nb[3]),
            reinterpret_cast<float *>(c.data + b2 * c.nb[2] + b3 * c.nb[3]),
            static_cast<std::int64_t>(a2) + a.ne[2] * static_cast<std::int64_t>(a3)};
}

// Blocks of about equal size, at most `largest`, each a multiple of `unit`.
inline std::int64_t even_block(std::int64_t total, std::int64_t largest, std::int64_t unit) noexcept {
    const std::int64_t blocks = ceil_div(total, largest);
    return ceil_div(ceil_div(total, blocks), unit) * unit;
}

// How products with packed operands are divided: blocks of NC columns of one batch. A round prepares the columns of
// several blocks, then multiplies them.
struct ColumnBlocks {
    std::int64_t N, NC, per_batch, count, per_round;

    ColumnBlocks(const Layout &c, std::int64_t nc, std::int64_t blocks_per_round) noexcept
        : N(c.ne[1]), NC(nc), per_batch(ceil_div(N, NC)), count(per_batch * c.ne[2] * c.ne[3]), per_round(blocks_per_round) {}
    std::int64_t rounds() const noexcept { return ceil_div(count, per_round); }
};
struct ColumnBlock {
    std::int64_t in_round, batch, first_column, columns;
};
// The block at a position of a round; false for the empty positions of the last round.
inline bool column_block_at(const ColumnBlocks &blocks, std::int64_t round, std::int64_t in_round, ColumnBlock &block) noexcept {
    const std::int64_t index = round * blocks.per_round + in_round;
    if (index >= blocks.count) return false;
    const std::int64_t first = index % blocks.per_batch * blocks.NC;
    block = {in_round, index / blocks.per_batch, first, blocks.N - first < blocks.NC ? blocks.N - first : blocks.NC};
    return true;
}

// Consecutive parts of a workspace, each starting on its own cache line.
struct WorkspaceParts {
    std::size_t size = 0;
    template <class T>
    std::size_t add(std::int64_t n) noexcept {
        const std::size_t at = size;
        size += round_up(static_cast<std::size_t>(n) * sizeof(T), 64);
        return at;
    }
};

// Whether a product of this many columns reads them as 16-bit integers.
inline bool in_16_bits(const simd::SimdTable::IntegerFormat &format, std::int64_t columns, bool batch_invariant) noexcept {
    return columns == 1 && format.gemm_one && !batch_invariant;
}

inline const char *rounding_of(bool one) noexcept { return one ? "b in 16 bits" : "b in 8 bits"; }

// Where columns of K activations are stored as bytes: the parts of simd::ByteColumns, each ordered by groups of
// columns. one: columns are read one by one, as 16-bit integers.
struct ByteLayout {
    const simd::SimdTable::IntegerFormat &format;
    bool one;
    std::int64_t K, element_bytes, pair_sums;
    std::size_t bytes, scales, starts, sums, sum_pairs, size;

    ByteLayout(const simd::SimdTable::IntegerFormat &f, std::int64_t k, std::int64_t columns, bool in_16_bits) noexcept
        : format(f), one(in_16_bits), K(k), element_bytes(one ? 2 : f.column_bytes), pair_sums(one ? 2 : 1) {
        WorkspaceParts parts;
        bytes = parts.add<std::int8_t>(K * columns * element_bytes);
        scales = parts.add<float>(ceil_div(K, simd::scaled_bytes) * columns);
        starts = parts.add<std::int32_t>(K / format.scale_group * 2 * columns);
        const std::int64_t of_offsets = format.offset_group ? K / format.offset_group * columns : 0;
        sums = parts.add<float>(format.offset_steps ? 0 : of_offsets);
        sum_pairs = parts.add<std::int16_t>(format.offset_steps ? of_offsets * pair_sums : 0);
        size = parts.size;
    }

    // The group of n columns starting with column `first`, at element k (a multiple of simd::scaled_bytes).
    simd::ByteColumns at(std::byte *base, std::int64_t first, std::int64_t n, std::int64_t k) const noexcept {
        const std::int64_t blocks = ceil_div(K, simd::scaled_bytes);
        const std::int64_t offset_group = format.offset_group ? format.offset_group : K;
        // Counts elements of a part: per_column for each earlier column, and in_column for each of the n columns before
        // k.
        const auto behind = [&](std::int64_t per_column, std::int64_t in_column) { return first * per_column + n * in_column; };
        return {reinterpret_cast<std::int8_t *>(base + bytes) + behind(K * element_bytes, k * element_bytes),
                reinterpret_cast<float *>(base + scales) + behind(blocks, k / simd::scaled_bytes),
                reinterpret_cast<std::int32_t *>(base + starts) + behind(K / format.scale_group * 2, k / format.scale_group * 2),
                reinterpret_cast<float *>(base + sums) + behind(K / offset_group, k / offset_group),
                reinterpret_cast<std::int16_t *>(base + sum_pairs) + behind(K / offset_group * pair_sums, k / offset_group * pair_sums)};
    }
};

// Quantises a column into its group of n columns, which starts with `first`.
inline void quantize(const simd::SimdTable &simd, const ByteLayout &layout, const float *values, std::byte *base, std::int64_t first,
                     std::int64_t n, std::int64_t column) noexcept {
    const simd::ByteColumns to = layout.at(base, first, n, 0);
    if (layout.one) {
        simd.integer.quantize_one(layout.K, values, layout.format, to);
    } else {
        simd.integer.quantize_column(layout.K, values, layout.format, to, static_cast<int>(n), static_cast<int>(column - first));
    }
}

// Why a kernel refuses a batch-invariant graph.
constexpr const char *not_batch_invariant = "bits would depend on the number of columns";
inline const char *refuse_batch_invariant(const Problem &problem) noexcept {
    return problem.batch_invariant ? not_batch_invariant : nullptr;
}

// The most columns that tiles of dot products multiply: each group of columns reads a's rows again from the L2 cache.
constexpr std::int64_t most_dot_columns = 8;

// The SIMD kernels that read rows of a in place, or null: then rows are first decoded into floats. Rows of b are always
// floats.
using DotTiles = const simd::SimdTable::DotF32 (*)[simd::max_dot_columns];
DotTiles tiles_as_it_lies(const Layout &a, const simd::SimdTable &simd) noexcept;

// n consecutive rows as floats: in place if they are stored so, otherwise decoded into `to`, row_floats apart.
struct RowsAsFloats {
    const char *first;
    std::ptrdiff_t stride;
};
RowsAsFloats float_rows(const TensorRef &t, const char *first, std::int64_t n, std::size_t row_floats, bool decode, float *to,
                        const simd::SimdTable &simd) noexcept;

// Floats from one decoded row to the next. Each row starts on its own cache line.
inline std::size_t decoded_floats(std::int64_t k) noexcept { return round_up(static_cast<std::size_t>(k), 16); }

// Lists the packed copy of a constant source at position `place` of the plan's copies. A kernel that reads the copy
// does not read the source.
void plan_copy(const Problem &problem, KernelPlan &plan, std::size_t place, std::size_t source, PackedAs as) noexcept;
// For the panels of a.
inline void plan_copy(const Problem &problem, KernelPlan &plan) noexcept { plan_copy(problem, plan, 0, 0, PackedAs::panels); }

// The integer product's row of the table, in mul_mat_integer.cpp.
namespace integer {
// KC: 32 rows x 8192 codes = 256 KiB, and up to 128 KiB of scales and offsets: fits in an L2 cache of 512 KiB to 1 MiB.
constexpr std::int64_t largest_kc = 8192;
// Bytes of activations of a round, which stay in the L3 cache.
constexpr std::int64_t round_bytes = std::int64_t{16} << 20;
constexpr std::int64_t columns_per_chunk = 12;

// kc elements of a panel's rows, starting with k (a multiple of KC), as a panel of bytes. They are taken from the copy
// if there is one, otherwise from a's blocks, starting with the given row.
void unpack_panel(const simd::SimdTable::IntegerFormat &format, const simd::PackedPanel &copy, const TensorRef &a, const RowIndex &row,
                  std::int64_t k, std::int64_t kc, int rows, std::uint8_t *codes, float *scales, float *offsets) noexcept;

const char *refuse(const Problem &problem) noexcept;
void plan(const Problem &problem, KernelPlan &plan) noexcept;
void run(const Step &step, const Slice &slice) noexcept;
}  // namespace integer

// The packed product's rows of the table, in mul_mat_packed.cpp: with a constant's copy, with pairs of BF16, and with
// floats.
namespace packed {
// KC: an A panel (MR = 32: 24 KiB) stays in the L1 cache of 32 or 48 KiB while B panels (NR = 12: 9 KiB) and tiles of
// sums (1.5 KiB) pass through it.
constexpr std::int64_t largest_kc = 192;
// The B panels of up to this many columns stay in the L2 cache for all of k, so A's panels take more of k at a time.
constexpr std::int64_t most_few_columns = 96, few_columns_kc = 512;
// MC: sums of 512 rows x 516 columns take 1 MiB. That exceeds the L2 cache, but they are read and written once per KC
// multiply-adds. Fewer rows would load the block's B panels from the L3 cache more often.
constexpr std::int64_t largest_mc = 512;
// B panels of a round: bounds the shared workspace (32 MiB), which stays in the L3 cache.
constexpr std::int64_t round_floats = std::int64_t{8} << 20;
// Rounds of small blocks are smaller if that leaves enough work for all threads: 2 MiB.
constexpr std::int64_t near_floats = std::int64_t{1} << 19;

// Whether pack_floats() needs no buffer of decoded rows.
bool packs_as_it_lies(DType type, const simd::SimdTable &simd) noexcept;
// Packs elements k .. k + kc of `n` rows as floats into a panel of `width`: panel[k][i]. `decoded`: n rows of kc
// floats, for types other than F32.
void pack_floats(const TensorRef &t, const char *first, std::int64_t k, std::int64_t kc, int n, int width, float *panel, float *decoded,
                 const simd::SimdTable &simd) noexcept;

// The floating-point micro-kernels for a copy of this type, or for panels of F32; in_order: with one order of sums for any
// number of columns.
const simd::SimdTable::Gemm &gemm_of_copy(DType type, bool in_order, const simd::SimdTable &simd) noexcept;
const simd::SimdTable::Gemm &gemm_of_floats(bool in_order, const simd::SimdTable &simd) noexcept;

const char *refuse_pairs(const Problem &problem) noexcept;
const char *refuse_constant(const Problem &problem) noexcept;
void plan(const Problem &problem, KernelPlan &plan) noexcept;
void plan_pairs(const Problem &problem, KernelPlan &plan) noexcept;
void plan_constant(const Problem &problem, KernelPlan &plan) noexcept;
void run(const Step &step, const Slice &slice) noexcept;

// The product of floats for operands that differ from the node's but have k as dimension 0, like mul_mat's. The step's
// sources are these operands.
void plan_of(const Problem &problem, const Layout &a, const Layout &b, KernelPlan &plan) noexcept;
void run_of(const Layout &a, const Layout &b, const Step &step, const Slice &slice) noexcept;
// What plan_of() decides: sizes of blocks, how many blocks of columns a round has, and what is multiplied by what. A caller with decisions
// of its own keeps them in a struct that begins with these.
enum class Product : std::uint8_t;
struct Decisions {
    std::int64_t MC, KC, NC, blocks_per_round;
    Product product;
    bool in_order;  // whether sums have one order for any number of columns
};
}  // namespace packed

}  // namespace tensorlib::core
