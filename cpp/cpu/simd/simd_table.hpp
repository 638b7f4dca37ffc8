// The inner loops of one ISA. The same sources in this folder are compiled once per ISA, each time
// into a namespace of its own; an ISA's fill function enters its kernels here. Which ISA a backend uses is chosen
// once, when it is opened (cpu/dispatch).
//
// SIMD code uses no standard-library templates and nothing inline from other folders: such functions have one
// definition per program, and the linker might keep the one compiled for a processor that this is not.
#pragma once

#include "math/tile_op.hpp"

#include <stddef.h>
#include <stdint.h>

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

// A panel of weights for an integer product: codes [k / 4][rows][4], scales [k / scale_group][rows], offsets
// [k / offset_group][rows] where the format has them (in steps: cpu/simd/panels_i8.hpp).
struct CodePanel {
    const uint8_t *codes;
    const float *scales, *offsets;
};

// One of a constant's copy. codebook: the format's, for codes that are places. ahead: of SimdTable::Integer::prefetch_distance.
struct PackedPanel {
    const char *data;
    const uint8_t *codebook;
    int64_t ahead;
};

// A group of n activation columns: bytes [k / 4][n][4] (or 16 bits each, in the order 0, 2, 1, 3, or of one column bytes and their
// magnitudes [k / 4][2][4]: SimdTable::IntegerFormat), for each 256 elements a scale [.][n], and for each group of scale_group what its
// sums start from and how often they count [.][2][n] (cpu/simd/columns_i8.cpp). What weights' offsets meet: the sums of the bytes, as often
// as they count, [k / offset_group][n], of two groups in 16 bits each where offsets are in steps.
//
// One column in 16 bits: bytes [k / 4][2][4], of each element the high and the low one, or 16 bits each in the order 0, 2, 1, 3; scales;
// starts, sums [.] of whole elements; sum_pairs [k / offset_group / 2][2][2], of the high bytes and of the low ones.
struct ByteColumns {
    int8_t *bytes;
    float *scales;
    int32_t *starts;
    float *sums;
    int16_t *sum_pairs;  // [k / offset_group / 2][n][2]
};
constexpr int scaled_bytes = 256;
constexpr int largest_shift = 12;  // of the parts of a scale

// What a loop over a tile works on: n floats of each operand; bit i of `repeated` says that operand i is one float for all n. dst may be
// one of the operands, from the same float on. params: as many as the formula has (math/tile_ops.inc).
struct TileArgs {
    int64_t n;
    const float *src[max_tile_operands];
    unsigned repeated;
    float *dst;
    const float *params;
};

// A chain of formulas takes a few registers, a block, through all of its links before the next. Slots are where floats lie while it
// runs: those of element i at at[i & moves], so that moves is -1, or 0 where all blocks have the same max_block floats. No slot with moves
// 0 is `written` but for reading it again in the same block.
constexpr int max_block = 64, max_slots = 17;
struct ChainSlot {
    float *at;  // null: none
    int64_t moves;
    bool written;
};
// Functions of the ISA's own types, for blocks of four registers and of one.
struct LinkStep {
    void (*four)();
    void (*one)();
};
// from: the slots that a link reads besides the values that come down the chain; to: the slot that it stores to. The number of parameters
// is the formula's.
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
    // Packed product of a panel of `rows` rows and one of n columns (n <= columns): C[m, n] (+)= sum over k of A[k][rows] * B[k][n]. C is
    // column-major with `ldc` floats per column; m of the panel's rows are stored. from_memory: for a panel of A that no cache holds,
    // which is fetched ahead.
    struct Gemms {
        int rows, columns;
        Gemm f32;
        // The same of pairs: each float of the panels stands for two BF16, k counts pairs. Null where the ISA has none.
        Gemm bf16;
        // A in 16 bits, widened on the way, B in floats: F16 [k][rows], and BF16 in pairs [k][rows][2], of which k counts pairs, two
        // floats of each column. Null where the ISA has none.
        Gemm f16_by_f32, bf16_by_f32;
    } gemm;

    // k elements of `rows` rows into a panel [k][width], padded with zeros to the panel's width. Strides in bytes.
    using PackF32 = void (*)(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t row_stride, int rows, int width, float *panel);
    struct Packs {
        PackF32 f32;
        // The same of F16 and BF16; null where the ISA does not have them.
        PackF32 f16, bf16;
    } pack;

    // Dot products of rows of a and rows of b, contiguous in k: C[i + j * ldc] = a_i . b_j, one kernel per tile of
    // rows x columns. Row strides in bytes.
    using DotF32 = void (*)(int64_t k, const char *a, ptrdiff_t a_stride, const char *b, ptrdiff_t b_stride, float *c, ptrdiff_t ldc);
    struct Dots {
        int rows, columns;
        DotF32 f32[max_dot_rows][max_dot_columns];
        // The same with rows of a in F16 or BF16; null where the ISA does not have them.
        DotF32 f16[max_dot_rows][max_dot_columns], bf16[max_dot_rows][max_dot_columns];
        // The same of one column, row after row as one stream; dispatch.cpp puts them into the tables above where that is faster.
        DotF32 f16_stream[max_dot_rows], bf16_stream[max_dot_rows];
        // One row by one column, while lines of another row, `ahead` bytes from this one, are asked for. Null where the ISA lacks a type.
        using Row = float (*)(int64_t k, const char *a, ptrdiff_t ahead, const float *column);
        Row row_f32, row_f16, row_bf16;
    } dot;

    // Integer products with weights of a format: C[m, n] (+)= sum over k of weight * activation, the weights as codes. No unpack() where a
    // format has no codes.
    struct IntegerFormat {
        int scale_group, offset_group, zero;  // elements; offset_group is 0, or zero is (dtype/format.hpp)
        bool offset_steps;                    // offsets are whole steps of a unit for 256 elements
        int column_bytes;                     // of an activation: 2 where products of bytes could overflow
        bool widens;                          // sums of products are widened from 16 bits
        bool one_by_signs;                    // and then one column is kept as bytes and their magnitudes
        // k elements, whole blocks, of `rows` rows into a panel; rows up to the panel's are zeros.
        void (*unpack)(int64_t k, const char *blocks, ptrdiff_t row_stride, int rows, uint8_t *codes, float *scales, float *offsets);
        // One kernel per n; C, ldc, m and accumulate as in Gemms.
        void (*gemm[max_integer_columns])(int64_t k, const CodePanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m,
                                          bool accumulate);
        // The same of one column in 16 bits; null where a format keeps to bytes.
        void (*gemm_one)(int64_t k, const CodePanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m, bool accumulate);
        // Products with a panel of a constant's copy (panels below), over all of k; with those that lie behind it where m is more than
        // a panel's rows.
        void (*gemm_packed[max_integer_columns])(int64_t k, const PackedPanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc,
                                                 int m);
        void (*gemm_packed_one)(int64_t k, const PackedPanel &panel, const ByteColumns &columns, float *c, ptrdiff_t ldc, int m);
        // gemm_packed takes so many columns, integer_columns or more, which pays where these are all: a panel is read from memory once.
        int packed_group;
        // For more columns than packed_columns it is better to expand a panel (k elements from one on that is a multiple of 256) into an
        // unpacked one.
        int packed_columns;
        void (*expand)(int64_t from, int64_t k, const PackedPanel &panel, uint8_t *codes, float *scales, float *offsets);
        uint8_t codebook[16];  // the codes that places stand for, where the format has them
    };
    // `rows` and `columns` of the ISA's micro-kernel; 0 rows where it has none.
    struct Integer {
        int rows, columns;
        IntegerFormat formats[max_formats];
        // So many bytes before n columns meet them, lines of packed panels are asked for; 0 where the processor does better by itself
        // (cpu/dispatch).
        int64_t prefetch_distance[max_integer_columns];
        // Column j of n, k floats, for products with `format`. What is not finite becomes a scale that is NaN.
        void (*quantize_column)(int64_t k, const float *x, const IntegerFormat &format, const ByteColumns &columns, int n, int j);
        // For gemm_one and gemm_packed_one.
        void (*quantize_one)(int64_t k, const float *x, const IntegerFormat &format, const ByteColumns &column);
    } integer;

    // Panels of constants' copies, of `rows` rows each: the bytes of one with k elements (0 where such k are not packed), and how it is
    // made; rows of a copy up to the panel's are zeros. Of formats with blocks as in cpu/simd/panels_i8.hpp; F32 as gemm.f32 reads them,
    // F16 and BF16 as gemm.f16_by_f32 and gemm.bf16_by_f32 do. No rows where a format is not packed.
    struct PanelFormat {
        int rows;
        int64_t (*bytes)(int64_t k);
        void (*pack)(int64_t k, const char *src, ptrdiff_t row_stride, int rows, char *panel);
        // `rows` of a panel's rows from `row` on as they were packed from, bit for bit, one row after the other; where some block cannot be
        // had from a panel its bits are others. Null for formats whose blocks cannot be had so (dtype/format.hpp).
        void (*rebuild)(int64_t k, const char *panel, int row, int rows, char *to);
    };
    PanelFormat panels[max_formats];

    // Packed rows: copies of single rows in blocks, for products of some of a matrix's rows (cpu/simd/packed_rows_i8.hpp).
    struct PackedRowFormat {
        // One row each; no rows where an ISA or a format has none.
        PanelFormat copy;
        // Whether activations become whole numbers of 16 bits, else of 8.
        bool in_16_bits;
        // k activations in the order of packed rows, on 64 bytes. What is not finite becomes a scale that is NaN.
        int64_t (*column_bytes)(int64_t k);
        void (*prepare)(int64_t k, const float *x, char *column);
        // The product with a packed row, whose `ahead` is the distance to the one that is read next.
        float (*dot)(int64_t k, const PackedPanel &row, const char *column);
        // Up to `summed` packed rows, each times its weight, to sum_floats(k) sums in the order of packed rows; one kernel for each number
        // of them.
        int summed;
        int64_t (*sum_floats)(int64_t k);
        void (*add[max_summed_rows])(int64_t k, const PackedPanel *rows, const float *weights, float *sums, bool accumulate);
        // Sums begin..end-1, multiples of summed_unit, to where their elements are among k.
        void (*put_in_order)(int64_t k, const float *sums, int64_t begin, int64_t end, float *to);
    };
    PackedRowFormat packed_rows[max_formats];

    // The formulas of elementwise operations. A float's result depends neither on n nor on its place.
    using TileLoop = void (*)(const TileArgs &args);
    struct Tiles {
        // Chains begin with load, or a formula without operands, and end with `end`; store and stream (past the caches, to slots
        // that are aligned to 64 bytes) keep what they store.
        LinkStep load, store, stream, end;
        // By TileOp. first: what came so far is the first operand, the next ones are read. second: the other way round; null where there
        // is none, and for other than two operands.
        LinkStep first[n_tile_ops], second[n_tile_ops];
        void (*run)(const Link *chain, const ChainSlot *slots, int n_slots, int64_t n);
        // Single formulas.
        TileLoop loops[n_tile_ops];
    } tiles;

    // Passes over a row of n floats; y may be x. What norms and soft_max are made of, together with sums and comparisons.
    struct Norms {
        // The sum of (x - center)^2, in the order of Sums::sum, as all sums here.
        double (*squares)(int64_t n, const float *x, float center);
        // y = (x - center) factor; with `stream` past the caches where that can be, as Copies::stream does.
        void (*normalise)(int64_t n, const float *x, float center, float factor, float *y, bool stream);
        // y = x scale + mask slope, mask null where there is none; and the largest.
        float (*logits)(int64_t n, const float *x, float scale, const float *mask, float slope, float *y);
        // y = e ^ (x - largest), and the sum.
        double (*exponentials)(int64_t n, const float *x, float largest, float *y);
    } norms;

    // Rotations of pairs by angles, a row's or a position's: y may be x.
    struct Rotations {
        // cos[i] and sin[i] of position rate[i], times `size`. The angle is taken in double and brought to a turn before it becomes a
        // float.
        void (*angles)(int64_t n, double position, const double *rate, float size, float *cos, float *sin);
        // n pairs that lie side by side, 2 i and 2 i + 1. cos and sin hold each angle's twice, the first sine with its sign turned.
        void (*neighbours)(int64_t n, const float *x, const float *cos, const float *sin, float *y);
        // n pairs i and n + i.
        void (*halves)(int64_t n, const float *x, const float *cos, const float *sin, float *y);
    } rotations;

    // Attention of `gemm.rows` queries at a time, which lie side by side: s [n][rows] are their products with n keys.
    struct Attention {
        // Each product x becomes cap tanh(x) where cap is above 0, then slopes[q] mask[key][q] is added where there is a mask; then e ^ (x
        // - m), m the largest so far. largest, sum and factor [rows]: the sum is brought to m and these are added; factor is what all that
        // was summed before has to be multiplied with.
        void (*weights)(int64_t n, float *s, float cap, const float *mask, const float *slopes, float *largest, float *sum, float *factor);
        // y[n][rows] *= factor[rows].
        void (*rescale)(int64_t n, float *y, const float *factor);
        // y[j][n] += sum over keys of w[j][key] v[key][n], v's rows of elements of a type side by side; one kernel for each number of
        // columns j. Strides of v in bytes. Null where the ISA does not have the type.
        using Weighted = void (*)(int64_t keys, int64_t n, const char *v, ptrdiff_t v_stride, const float *w, ptrdiff_t ldw, float *y,
                                  ptrdiff_t ldy);
        int columns;
        Weighted f32[max_weighted_columns], f16[max_weighted_columns], bf16[max_weighted_columns];
    } attention;

    // Sums whose order is the same on every ISA, so that their bits are.
    struct Sums {
        // Of n floats, block after block of sum_block: in a block float i is added to part i mod 32 in F32, the parts are added pairwise
        // (0 and 16, .., then 0 and 8, ..), and the blocks in F64.
        double (*sum)(int64_t n, const float *x);
        // to[i] = before + x[0] + .. + x[i]. In runs of sum_run floats: pairs, then each next power of two, whose upper half is added to
        // the last of the lower one. Runs are added up one after the other, all in F32; from each running_block on in F64, which is added
        // as a float, last. With `stream` past the caches where that can be, as Copies::stream does.
        void (*running)(int64_t n, const float *x, double before, float *to, bool stream);
    } sums;

    // Parts of a loss, in the order of Sums::sum.
    struct Losses {
        // e^(x[i] - base), added up. base is not -infinity.
        double (*exp_sum)(int64_t n, const float *x, float base);
        // w[i] (x[i] - base), added up; 0 where w[i] is, whatever x[i] is.
        double (*weighted_sum)(int64_t n, const float *w, const float *x, float base);
    } losses;

    // Random words, and numbers made of n of them; the same bits on every ISA.
    struct Random {
        // The 4 words of each block from number `first` on; to has room for all.
        void (*words)(int64_t blocks, const RandomSource &source, uint32_t first, uint32_t *to);
        // low + span u
        void (*uniform)(int64_t n, const uint32_t *words, float low, float span, float *to);
        // mean + deviation z
        void (*normal)(int64_t n, const uint32_t *words, double mean, double deviation, float *to);
        // x[i] / share where words[i] >= least, 0 elsewhere; to may be x.
        void (*drop)(int64_t n, const uint32_t *words, uint32_t least, float share, const float *x, float *to);
    } random;

    // A step of n elements of a parameter and its state (math/optimisers.hpp); the same bits on every ISA. Nothing overlaps.
    struct Optimisers {
        void (*sgd)(int64_t n, const float *settings, const float *g, float *a);
        void (*momentum)(int64_t n, const float *settings, bool nesterov, const float *g, float *velocity, float *a);
        void (*adamw)(int64_t n, const float *settings, const float *g, float *m, float *v, float *a);
        void (*lion)(int64_t n, const float *settings, const float *g, float *m, float *a);
    } optimisers;

    struct Comparisons {
        // NaN is passed over; -infinity where there is nothing else.
        float (*largest)(int64_t n, const float *x);
        // The first i with x[i] >= limit; n where there is none.
        int64_t (*first_at_least)(int64_t n, const float *x, float limit);
        // How many i there are with a[i] == b[i], of elements of a type.
        using CountEqual = int64_t (*)(int64_t n, const void *a, const void *b);
        CountEqual equal_i8, equal_i16, equal_i32, equal_i64, equal_f32, equal_f64;
    } comparisons;

    // Of windows that slide over rows (cpu/simd/windows_f32.cpp).
    struct Windows {
        // For each of k, n elements `stride` bytes apart as floats side by side: from src on, the next k_stride bytes behind it, to `to`,
        // the next to_stride floats behind it. Of F16 and BF16 null where the ISA does not have them.
        using Runs = void (*)(int64_t k, const char *src, ptrdiff_t k_stride, ptrdiff_t stride, int n, float *to, ptrdiff_t to_stride);
        Runs runs_f32, runs_f16, runs_bf16;
        // to[i] = the sum over t of src[t][i] weights[t], and of to[i] before all others where it accumulates: in the order of t.
        void (*sum)(int64_t n, int taps, const float *const *src, const float *weights, float *to, bool accumulate);
    } windows;

    struct Copies {
        // n bytes past the caches, in order before what other threads see next only after stream_end().
        void (*stream)(int64_t n, const void *src, void *dst);
        void (*stream_end)();
    } copies;

    // The storage formats, in the order of dtype_list.inc. decode: n elements, whole blocks. encode:
    // as DTypeTraits::encode, which gives the same bytes.
    struct FormatLoops {
        void (*decode)(const void *blocks, float *values, int64_t n);
        int64_t (*encode)(const float *values, const float *weights, void *blocks, int64_t n);
    };
    FormatLoops formats[max_formats];
};

}  // namespace tensorlib::core::simd
