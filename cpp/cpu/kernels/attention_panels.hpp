// The parts of attention_packed.cpp and attention_paged_packed.cpp: panels of MR queries against blocks of packed keys and
// values. Both products use the micro-kernel of mul_mat.
//
//   a block of up to KB keys     k  [KB / NR][n][NR]      v  [m / NR][KB][NR]
//   a panel of queries           [n][MR]                  packed, times the scale
//   for each block that one of the panel's queries sees:
//     s   [KB][MR] = k q               each query has a lane throughout, so nothing is transposed
//     w = e ^ (s - largest)            SimdTable::Attention::weights; earlier sums are rescaled to the new largest
//     o   [m][MR] += v w
//   o / sum                            transposed once, into rows of c
//
// MR and NR are the micro-kernel's.
#pragma once

#include "cpu/cpu_backend.hpp"
#include "cpu/kernels/attention.hpp"
#include "cpu/kernels/mul_mat.hpp"

namespace tensorlib::core::attention {

// KB: w [144][32] (18 KiB), a panel of v and its sums (7 + 1.5 KiB) stay in the L1 cache. q and o of n = m = 128 (16
// KiB each) come from the L2 cache, which also holds a block of k and v (144 KiB). The micro-kernel stores once per 144
// multiply-adds. A multiple of every ISA's NR: 12, 6.
constexpr std::int64_t block_keys = 144;
// Up to this many columns leave lanes of a panel empty. They read keys and values in place, at memory speed.
constexpr std::int64_t few_columns = 16;
constexpr const char *few_queries = "up to 16 queries for a head of keys";

// The sizes of a node, and a thread's part of the workspace, with room for some panels.
struct PanelParts {
    std::int64_t n, m, MR, NR;
    float cap;
    WorkspaceParts thread;
    // rows: MR rows of n, of m, or of block_keys floats, or block_keys rows of n or of m.
    std::size_t queries, sums, scores, mask, rows, stats;

    PanelParts(std::int64_t n_elements, std::int64_t m_elements, float softcap, std::int64_t panels, const simd::SimdTable &simd) noexcept;
};

// A thread's part of the workspace.
struct PanelWork {
    const PanelParts &parts;
    const simd::SimdTable &simd;
    std::byte *workspace;

    float *at(std::size_t part) const noexcept { return reinterpret_cast<float *>(workspace + part); }
};

// Up to MR columns.
struct Panel {
    std::int64_t columns;
    Range keys;  // from the first to the last key that one of them sees
    bool begun;  // whether there are sums yet
    float *queries, *sums, *slopes, *largest, *sum, *factor;
};

// Consecutive keys, packed together with their values.
struct KeyBlock {
    Range keys;
    const float *k, *v;
};

// Rows of k or v as floats, which a pack function reads: in place, or decoded into `to`.
struct PackedFrom {
    simd::SimdTable::PackF32 pack;
    const char *first;
    std::ptrdiff_t row, element;  // strides in bytes

    // Rows that are floats already, one after the other.
    PackedFrom(const float *rows, std::int64_t row_floats, const simd::SimdTable &simd) noexcept;
    // `count` rows from the address `from` on.
    PackedFrom(const TensorRef &t, const std::byte *from, std::int64_t count, float *to, const simd::SimdTable &simd) noexcept;
};
void pack_keys(const PanelParts &parts, const PackedFrom &from, std::int64_t count, float *to) noexcept;
void pack_values(const PanelParts &parts, const PackedFrom &from, std::int64_t count, float *to) noexcept;

// The panel at a place of the workspace, without keys or sums, and with slopes of 0. Its queries are not loaded.
Panel begin_panel(const PanelWork &w, std::int64_t place, std::int64_t columns) noexcept;
// Packs the queries that lie in `rows`.
void pack_queries(const PanelWork &w, const Panel &p) noexcept;

// The part of a block that a panel reads, relative to the block: whole panels of NR keys, as far as they exist.
Range read_by(const PanelParts &parts, const Panel &p, const KeyBlock &block) noexcept;
// The products of these keys of a block with a panel's queries, in `scores`.
void multiply_block(const PanelWork &w, const Panel &p, const KeyBlock &block, Range part) noexcept;
// Turns the products into weights and adds the values. mask: [keys][MR], times the slopes; null if it adds nothing.
void add_block(const PanelWork &w, Panel &p, const KeyBlock &block, Range part, const float *mask) noexcept;

// Transposes a panel's sums into `rows`, a row of m floats for each column: what store_result() takes.
void transpose_sums(const PanelWork &w, const Panel &p) noexcept;

}  // namespace tensorlib::core::attention
