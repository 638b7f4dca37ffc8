// The inner loops of one ISA. The sources in this folder are compiled once per ISA, each time into its own namespace.
// An ISA's fill function enters its kernels here. A backend chooses its ISA once, when it is opened (cpu/dispatch).
//
// SIMD code uses no standard-library templates and no inline functions of other folders: such functions have one
// definition per program, and the linker might keep the one that was compiled for another processor.
#pragma once

#include "math/number_op.hpp"
#include "math/reduced_kind.hpp"
#include "math/tile_op.hpp"

#include <stddef.h>
#include <stdint.h>
#include <type_traits>

namespace tensorlib::core {
struct RandomSource;  // math/random.hpp
}

namespace tensorlib::core::simd {

constexpr int max_gemm_columns = 16;
constexpr int max_dot_rows = 4;
constexpr int max_dot_columns = 4;
constexpr int max_formats = 64;

constexpr int max_integer_columns = 8;
constexpr int max_weighted_columns = 4;
constexpr int max_summed_rows = 4;
constexpr int64_t summed_unit = 1024;

constexpr int sum_block = 1024, sum_parts = 32, sum_run = 16, running_block = 256;

// A panel of weights for an integer product: codes [k / 4][rows][4], scales [k / scale_group][rows], and offsets
// [k / offset_group][rows] if the type has them (in steps: cpu/simd/panels_i8.hpp).
struct CodePanel {
    const uint8_t *codes;
    const float *scales, *offsets;
};

// A panel of a constant's copy. codebook: the type's, if its codes are indices. ahead: from
// SimdTable::Integer::prefetch_distance.
struct PackedPanel {
    const char *data;
    const uint8_t *codebook;
    int64_t ahead;
};

// A group of n activation columns:
// - bytes [k / 4][n][4], or 16 bits each in the order 0, 2, 1, 3, or for one column bytes and their magnitudes
//   [k / 4][2][4] (SimdTable::IntegerFormat);
// - scales [.][n], one for each 256 elements;
// - starts [.][2][n], for each group of scale_group: what its sums start from and how often they count
//   (cpu/simd/columns_i8.cpp);
// - sums [k / offset_group][n], what weights' offsets are multiplied by: the sums of the bytes, as often as they count.
//   If offsets are in steps, sum_pairs has two groups in 16 bits each.
//
// One column in 16 bits has bytes [k / 4][2][4], for each element the high and the low byte, or 16 bits each in the
// order 0, 2, 1, 3; scales; starts; sums [.] of whole elements; and sum_pairs [k / offset_group / 2][2][2] of the high
// bytes and of the low bytes.
struct ByteColumns {
    int8_t *bytes;
    float *scales;
    int32_t *starts;
    float *sums;
    int16_t *sum_pairs;  // [k / offset_group / 2][n][2]
};
constexpr int scaled_bytes = 256;
constexpr int largest_shift = 12;  // for the powers of two that divide a scale

constexpr int64_t reduced_columns = 4096;

// The arguments of a loop over a tile: n floats of each operand. Bit i of `repeated` says that operand i is one float
// for all n. dst may be one of the operands, starting at its first float. params: as many as the formula has
// (math/tile_ops.inc).
struct TileArgs {
    int64_t n;
    const float *src[max_tile_operands];
    unsigned repeated;
    float *dst;
    const float *params;
};

// A chain of formulas takes a few registers, a block, through all of its links before the next block. Slots are where
// floats are stored while it runs. Those of element i are at at[i & moves], where moves is -1, or 0 if all blocks use
// the same max_block floats. A slot with moves 0 that is `written` is only read again in the same block.
constexpr int max_block = 64, max_slots = 17;
struct ChainSlot {
    float *at;  // null: no slot
    int64_t moves;
    bool written;
};
// Functions of the ISA's own types, for blocks of four registers and of one.
struct LinkStep {
    void (*four)();
    void (*one)();
};
// from: the slots that a link reads in addition to the values that come down the chain. to: the slot that it stores to.
// The formula determines the number of parameters.
struct Link {
    LinkStep step;
    uint8_t from[2], to;
    float parameters[4];
};

struct SimdTable {
    using GemmF32 = void (*)(int64_t k, const void *a, const float *b, float *c, ptrdiff_t ldc, int m, bool accumulate);
    // One kernel per n.
    struct Gemm {
        GemmF32 from_cache[max_gemm_columns], from_memory[max_gemm_columns];
    };
    // Packed product of a panel of `rows` rows and one of n columns (n <= columns): C[m, n] (+)= sum over k of
    // A[k][rows] * B[k][n]. C is column-major with `ldc` floats per column; m of the panel's rows are stored.
    // from_memory: for a panel of A that is in no cache, which is prefetched.
    struct Gemms {
        int rows, columns;
        Gemm f32;
        // The product of pairs: each float of the panels stands for two BF16, and k counts pairs. Null if the ISA has
        // none.
        Gemm bf16;
        // A in 16 bits, widened on the way, and B in floats: F16 [k][rows], and BF16 in pairs [k][rows][2], for which k
        // counts pairs, two floats of each column. Null if the ISA has none.
        Gemm f16_by_f32, bf16_by_f32;
        // The kernels by floats whose sums have one order for any n.
        Gemm f32_in_order, f16_by_f32_in_order, bf16_by_f32_in_order;
    } gemm;

    // Packs k elements of `rows` rows into a panel [k][width], padded with zeros to the panel's width. Strides in
    // bytes.
    using PackF32 = void (*)(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel);
    struct Packs {
        PackF32 f32;
        // As f32, for F16 and BF16; null if the ISA does not support them.
        PackF32 f16, bf16;
    } pack;

    // Dot products of rows of a and rows of b, contiguous in k: C[i + j * ldc] = a_i . b_j, with one kernel per tile of
    // rows x columns. Row strides in bytes.
    using DotF32 = void (*)(int64_t k, const char *a, ptrdiff_t a_stride, const char *b, ptrdiff_t b_stride, float *c, ptrdiff_t ldc);
    struct Dots {
        int rows, columns;
        DotF32 f32[max_dot_rows][max_dot_columns];
        // As f32, with rows of a in F16 or BF16; null if the ISA does not support them.
        DotF32 f16[max_dot_rows][max_dot_columns], bf16[max_dot_rows][max_dot_columns];
        // For one column, row after row as one stream; dispatch.cpp puts these into the tables above if they are
        // faster.
        DotF32 f16_stream[max_dot_rows], bf16_stream[max_dot_rows];
        // For one column, with the order of sums of more columns.
        DotF32 f16_in_order[max_dot_rows], bf16_in_order[max_dot_rows];
        // One row times one column, while lines of another row, `ahead` bytes from this one, are prefetched. Null if
        // the ISA lacks a type.
        using Row = float (*)(int64_t k, const char *a, ptrdiff_t ahead, const float *column);
        Row row_f32, row_f16, row_bf16;
    } dot;

    // Integer products with weights of a type: C[m, n] (+)= sum over k of weight * activation, with the weights as
    // codes. unpack is null if a type has no codes.
    struct IntegerFormat {
        int scale_group, offset_group, zero;  // elements; offset_group or zero is 0 (dtype/format.hpp)
        bool offset_steps;                    // offsets are integer steps of a unit for 256 elements
        int column_bytes;                     // of an activation: 2 if products of bytes could overflow
        bool widens;                          // sums of products are widened from 16 bits
        bool one_by_signs;                    // in addition, one column is stored as bytes and their magnitudes
        // Unpacks k elements, whole blocks, of `rows` rows into a panel; the panel's other rows are zeros.
        void (*unpack)(int64_t k, const char *blocks, ptrdiff_t row_stride, int rows, uint8_t *codes, float *scales, float *offsets);
        // One kernel per n; C, ldc, m and accumulate as in Gemms.
        void (*gemm[max_integer_columns])(int64_t k, const CodePanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m,
                                          bool accumulate);
        // For one column in 16 bits; null if a type uses only bytes.
        void (*gemm_one)(int64_t k, const CodePanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m, bool accumulate);
        // Products with a panel of a constant's copy (panels below), over all of k. If m exceeds a panel's rows, the
        // panels after it are included.
        void (*gemm_packed[max_integer_columns])(int64_t k, const PackedPanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc,
                                                 int m);
        void (*gemm_packed_one)(int64_t k, const PackedPanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m);
        // gemm_packed takes this many columns, integer_columns or more, which is faster if these are all columns: a
        // panel is read from memory once.
        int packed_group;
        // For more columns than packed_columns it is faster to expand a panel into an unpacked one: k elements,
        // starting with a multiple of 256.
        int packed_columns;
        void (*expand)(int64_t from, int64_t k, const PackedPanel &panel, uint8_t *codes, float *scales, float *offsets);
        uint8_t codebook[16];  // the values of codes that are indices
    };
    // `rows` and `columns` of the ISA's micro-kernel; 0 rows if it has none.
    struct Integer {
        int rows, columns;
        IntegerFormat formats[max_formats];
        // Prefetch distance in bytes for packed panels, by column count; 0 if the processor is faster without
        // (cpu/dispatch).
        int64_t prefetch_distance[max_integer_columns];
        // Quantises column j of n, k floats, for products with `format`. Values that are not finite make the scale NaN.
        void (*quantize_column)(int64_t k, const float *x, const IntegerFormat &format, const ByteColumns &columns, int n, int j);
        // For gemm_one and gemm_packed_one.
        void (*quantize_one)(int64_t k, const float *x, const IntegerFormat &format, const ByteColumns &column);
    } integer;

    // Panels of constants' copies, of `rows` rows each: the bytes of one with k elements (0 if such k are not packed),
    // and how it is made. A copy's rows are padded with zero rows to whole panels. Quantised types are packed as in
    // cpu/simd/panels_i8.hpp, F32 as gemm.f32 reads it, F16 and BF16 as gemm.f16_by_f32 and gemm.bf16_by_f32 do. 0 rows
    // if a type is not packed.
    struct PanelFormat {
        int rows;
        int64_t (*bytes)(int64_t k);
        void (*pack)(int64_t k, const char *src, ptrdiff_t row_stride, int rows, char *panel);
        // Rebuilds `rows` of a panel's rows, starting with `row`, as they were packed, bit for bit, one row after the
        // other. A block that cannot be rebuilt from a panel has other bits. Null for types whose blocks cannot be
        // rebuilt (dtype/format.hpp).
        void (*rebuild)(int64_t k, const char *panel, int row, int rows, char *to);
    };
    PanelFormat panels[max_formats];

    // Packed rows: copies of single quantised rows, for products of some of a matrix's rows
    // (cpu/simd/packed_rows_i8.hpp).
    struct PackedRowFormat {
        // One row each; 0 rows if an ISA or a type has none.
        PanelFormat copy;
        // Whether activations are rounded to 16 bits, or else to 8.
        bool in_16_bits;
        // Prepares k activations in the order of packed rows, aligned to 64 bytes. Values that are not finite make the
        // scale NaN.
        int64_t (*column_bytes)(int64_t k);
        void (*prepare)(int64_t k, const float *x, char *column);
        // The product with a packed row, whose `ahead` is the distance to the row that is read next.
        float (*dot)(int64_t k, const PackedPanel &row, const char *column);
        // Adds up to `summed` packed rows, each times its weight, to sum_floats(k) sums in the order of packed rows;
        // one kernel for each number of rows.
        int summed;
        int64_t (*sum_floats)(int64_t k);
        void (*add[max_summed_rows])(int64_t k, const PackedPanel *rows, const float *weights, float *sums, bool accumulate);
        // Stores sums begin..end-1, multiples of summed_unit, at the positions of their elements among k.
        void (*put_in_order)(int64_t k, const float *sums, int64_t begin, int64_t end, float *to);
    };
    PackedRowFormat packed_rows[max_formats];

    // The formulas of elementwise operations. A float's result depends neither on n nor on its position.
    using TileLoop = void (*)(const TileArgs &args);
    struct Tiles {
        // Chains begin with load, or with a formula without operands, and end with `end`. store and stream (past the
        // caches, to slots that are aligned to 64 bytes) keep the values that they store.
        LinkStep load, store, stream, end;
        // By TileOp. first: the value so far is the first operand, and the others are read. second: the value so far is
        // the second operand; null if there is none, and for other than two operands.
        LinkStep first[n_tile_ops], second[n_tile_ops];
        void (*run)(const Link *chain, const ChainSlot *slots, int n_slots, int64_t n);
        // Single formulas.
        TileLoop loops[n_tile_ops];
    } tiles;

    // Passes over a row of n floats; y may be x. Norms and soft_max consist of these, sums and comparisons.
    struct Norms {
        // The sum of (x - center)^2, in the order of Sums::sum, as all sums here.
        double (*squares)(int64_t n, const float *x, float center);
        // y = (x - center) factor; with `stream`, past the caches if possible, as Copies::stream does.
        void (*normalise)(int64_t n, const float *x, float center, float factor, float *y, bool stream);
        // y = x scale + mask slope, with mask null if there is none; returns the largest.
        float (*logits)(int64_t n, const float *x, float scale, const float *mask, float slope, float *y);
        // y = e ^ (x - largest); returns the sum.
        double (*exponentials)(int64_t n, const float *x, float largest, float *y);
    } norms;

    // Rotations of pairs by angles, for a row or a position; y may be x.
    struct Rotations {
        // cos[i] and sin[i] of position rate[i], times `size`. The angle is computed in double and reduced to a turn
        // before it becomes a float.
        void (*angles)(int64_t n, double position, const double *rate, float size, float *cos, float *sin);
        // n adjacent pairs, 2 i and 2 i + 1. cos and sin hold each angle's value twice; the first sine is negated.
        void (*neighbours)(int64_t n, const float *x, const float *cos, const float *sin, float *y);
        // n pairs i and n + i.
        void (*halves)(int64_t n, const float *x, const float *cos, const float *sin, float *y);
    } rotations;

    // Attention of `gemm.rows` adjacent queries at a time: s [n][rows] are their products with n keys.
    struct Attention {
        // Each product x becomes cap tanh(x) if cap is above 0. Then slopes[q] mask[key][q] is added if there is a
        // mask. Finally it becomes e ^ (x - m), where m is the largest so far. largest, sum and factor are [rows]: the
        // sum is rescaled to m, and these values are added to it. Everything that was summed before must be multiplied
        // by factor.
        void (*weights)(int64_t n, float *s, float cap, const float *mask, const float *slopes, float *largest, float *sum, float *factor);
        // y[n][rows] *= factor[rows].
        void (*rescale)(int64_t n, float *y, const float *factor);
        // y[j][n] += sum over keys of w[j][key] v[key][n], where v has contiguous rows of elements of a type; one
        // kernel for each number of columns j. Strides of v in bytes. Null if the ISA does not support the type.
        using Weighted = void (*)(int64_t keys, int64_t n, const char *v, ptrdiff_t v_stride, const float *w, ptrdiff_t ldw, float *y,
                                  ptrdiff_t ldy);
        int columns;
        Weighted f32[max_weighted_columns], f16[max_weighted_columns], bf16[max_weighted_columns];
    } attention;

    // What a token does to the states of recurrent layers.
    struct Recurrences {
        // For each of `count` rows of n floats: row = decay row + k add (+ b add_b), where decay is a number for each element, or `all` for
        // all of them if it is null; b may be null. Then firsts[row] = row . first and seconds[row] = row . second.
        struct Advance {
            int64_t n = 0;
            int count = 0;
            const float *from = nullptr;
            int64_t stride = 0;   // of `from`, in floats
            float *to = nullptr;  // adjacent rows, also those of `from`; null: rows stay as they are, for two products only
            const float *decay = nullptr;
            float all = 1;
            const float *k = nullptr, *add = nullptr, *b = nullptr, *add_b = nullptr;
            const float *first = nullptr, *second = nullptr;  // null: not wanted; there is no `first` without `second`
            float *firsts = nullptr, *seconds = nullptr;
        };
        void (*advance)(const Advance &advance);
        // For `width` columns of `rows` rows: out = of_v v + the sum over rows of row of_row[row]; row = decay[row] row + k[row] v.
        struct Columns {
            int64_t rows = 0, width = 0;
            const float *from = nullptr;
            float *to = nullptr;                     // may be `from`
            int64_t from_stride = 0, to_stride = 0;  // in floats
            const float *v = nullptr, *of_row = nullptr, *decay = nullptr, *k = nullptr;
            float of_v = 0;
            float *out = nullptr;
        };
        void (*columns)(const Columns &columns);
    } recurrences;

    // Sums in a fixed order, so that every ISA gives identical bits.
    struct Sums {
        // The sum of n floats, block after block of sum_block: in a block, float i is added to part i mod 32 in F32,
        // the parts are added pairwise (0 and 16, .., then 0 and 8, ..), and the blocks in F64.
        double (*sum)(int64_t n, const float *x);
        // to[i] = before + x[0] + .. + x[i]. In runs of sum_run floats: pairs, then each next power of two, whose upper
        // half adds the last element of the lower half. Runs are added one after the other, all in F32; across each
        // running_block in F64, which is added as a float, last. With `stream`, past the caches if possible, as
        // Copies::stream does.
        void (*running)(int64_t n, const float *x, double before, float *to, bool stream);
    } sums;

    // Reductions to a state for each group, by Reduced, in a fixed order (math/reduced_kind.hpp). E: what elements are
    // computed with as; null where integers have no such reduction.
    template <class E>
    struct Reductions {
        using Number = std::conditional_t<std::is_integral_v<E>, int64_t, double>;
        // Adds n elements of a group to its state. The first one has the index `first` in its group.
        using Along = void (*)(int64_t n, const E *x, int64_t first, Number *state);
        // Adds an element to each of n groups, up to reduced_columns, from each of `count` rows, up to reduced_rows. The
        // first row has the index `first` in all groups. Number i of the state of group j is state[i n + j]. Uses `room`,
        // three elements for each of n groups, rounded up to 16.
        using Across = void (*)(int64_t n, int64_t count, const E *const *rows, int64_t first, Number *state, E *room);
        Along along[n_reduced];
        Across across[n_reduced];
    };
    Reductions<float> reductions;
    Reductions<int32_t> reductions_i32;
    Reductions<int64_t> reductions_i64;
    Reductions<double> reductions_f64;
    template <class E>
    const Reductions<E> &reductions_of() const {
        if constexpr (std::is_same_v<E, float>) {
            return reductions;
        } else if constexpr (std::is_same_v<E, int32_t>) {
            return reductions_i32;
        } else if constexpr (std::is_same_v<E, int64_t>) {
            return reductions_i64;
        } else {
            return reductions_f64;
        }
    }

    // Parts of a loss, in the order of Sums::sum.
    struct Losses {
        // The sum of e^(x[i] - base). base is not -infinity.
        double (*exp_sum)(int64_t n, const float *x, float base);
        // The sum of w[i] (x[i] - base); terms with w[i] = 0 are 0 for any x[i].
        double (*weighted_sum)(int64_t n, const float *w, const float *x, float base);
    } losses;

    // Random words, and random numbers made of n of them; every ISA gives identical bits.
    struct Random {
        // The 4 words of each block, starting with block `first`; `to` has room for all.
        void (*words)(int64_t blocks, const RandomSource &source, uint32_t first, uint32_t *to);
        // low + span u
        void (*uniform)(int64_t n, const uint32_t *words, float low, float span, float *to);
        // mean + deviation z
        void (*normal)(int64_t n, const uint32_t *words, double mean, double deviation, float *to);
        // x[i] / share if words[i] >= least, otherwise 0; `to` may be x.
        void (*drop)(int64_t n, const uint32_t *words, uint32_t least, float share, const float *x, float *to);
    } random;

    // A step of n elements of a parameter and its state (math/optimisers.hpp); every ISA gives identical bits. Nothing
    // overlaps.
    struct Optimisers {
        void (*sgd)(int64_t n, const float *settings, const float *g, float *a);
        void (*momentum)(int64_t n, const float *settings, bool nesterov, const float *g, float *velocity, float *a);
        void (*adamw)(int64_t n, const float *settings, const float *g, float *m, float *v, float *a);
        void (*lion)(int64_t n, const float *settings, const float *g, float *m, float *a);
    } optimisers;

    struct Comparisons {
        // Ignores NaN; -infinity if there is nothing else.
        float (*largest)(int64_t n, const float *x);
        // The first i with x[i] >= limit; n if there is none.
        int64_t (*first_at_least)(int64_t n, const float *x, float limit);
        // The number of i with a[i] == b[i], for elements of a type.
        using CountEqual = int64_t (*)(int64_t n, const void *a, const void *b);
        CountEqual equal_i8, equal_i16, equal_i32, equal_i64, equal_f32, equal_f64;
    } comparisons;

    // Computes n contiguous elements from contiguous operands: src has the operands of an operation, and for `where` a
    // byte for each element as the third one. params: as many numbers of the type as the operation has.
    using NumberLoop = void (*)(int64_t n, const void *const *src, const void *params, void *dst);
    // By NumberOp; null where a type does not have an operation.
    struct Numbers {
        NumberLoop i8[number_op_count], i16[number_op_count], i32[number_op_count], i64[number_op_count], f64[number_op_count],
            u8[number_op_count];
    } numbers;

    // For windows that slide over rows (cpu/simd/windows_f32.cpp).
    struct Windows {
        // For each of k, loads n elements that are `stride` bytes apart as contiguous floats. Each source is k_stride
        // bytes after the previous one, and each target is to_stride floats after it. Null for F16 and BF16 if the ISA
        // does not support them.
        using Runs = void (*)(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t stride, int n, float *to, ptrdiff_t to_stride);
        Runs runs_f32, runs_f16, runs_bf16;
        // to[i] = the sum over t of src[t][i] weights[t], in the order of t, starting with to[i] if it accumulates.
        void (*sum)(int64_t n, int taps, const float *const *src, const float *weights, float *to, bool accumulate);
    } windows;

    struct Copies {
        // Writes n bytes past the caches. Other threads see them in order only after stream_end().
        void (*stream)(int64_t n, const void *src, void *dst);
        void (*stream_end)();
        // to[column][row] = from[row][column], whose rows are adjacent elements on both sides; strides in bytes. By size of an element:
        // 1, 2, 4 and 8 bytes. The sides do not overlap.
        using Transpose = void (*)(int64_t rows, int64_t columns, const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride);
        Transpose transpose[4];
    } copies;

    // The storage types, in the order of dtype_list.inc. decode: n elements, whole blocks. encode: as
    // DTypeTraits::encode, which gives identical bytes. encode_by_rule: the same without a search, for types that have a rule.
    struct FormatLoops {
        void (*decode)(const void *blocks, float *values, int64_t n);
        int64_t (*encode)(const float *values, const float *weights, void *blocks, int64_t n);
        int64_t (*encode_by_rule)(const float *values, void *blocks, int64_t n);
    };
    FormatLoops formats[max_formats];
};

}  // namespace tensorlib::core::simd
