// Every source in this folder includes this: the ISA's vectors and the fill functions of its families. The build
// defines TL_ISA (the ISA's name, a namespace) and TL_ISA_VEC (the header with its Vec).
#pragma once

#include "cpu/simd/simd_table.hpp"
#include TL_ISA_VEC

namespace tensorlib::core::simd::TL_ISA {

void fill_gemm(SimdTable::Gemms &table);
void fill_pack(SimdTable::Packs &table);
void fill_dot(SimdTable::Dots &table);
void fill_tiles(SimdTable::Tiles &table);
void fill_norms(SimdTable::Norms &table);
void fill_rotations(SimdTable::Rotations &table);
void fill_attention(SimdTable::Attention &table);
void fill_sums(SimdTable::Sums &table);
void fill_reductions(SimdTable::Reductions<float> &table);
void fill_losses(SimdTable::Losses &table);
void fill_comparisons(SimdTable::Comparisons &table);
void fill_numbers(SimdTable::Numbers &table);
void fill_windows(SimdTable::Windows &table);
void fill_optimisers(SimdTable::Optimisers &table);
void fill_recurrences(SimdTable::Recurrences &table);
void fill_random(SimdTable::Random &table);
void fill_copies(SimdTable::Copies &table);
void fill_integer(SimdTable::Integer &table);
void fill_columns(SimdTable::Integer &table);
// These fill entries per type, in several tables.
void fill_formats(SimdTable &table);
void fill_number_reductions(SimdTable &table);
void fill_float_panels(SimdTable &table);
void fill_panels(SimdTable &table);
void fill_packed_rows(SimdTable &table);
void fill_packed_row_products(SimdTable &table);
void fill_packed_row_sums(SimdTable &table);

// Calls all of them.
void fill(SimdTable &table);

}  // namespace tensorlib::core::simd::TL_ISA
