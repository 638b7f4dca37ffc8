// What every source of this folder includes: the level's vectors and its families' fill functions. The build defines
// TL_LEVEL (the level's name, a namespace) and TL_LEVEL_VEC (the header with its Vec).
#pragma once

#include "cpu/leaf/leaf_table.hpp"
#include TL_LEVEL_VEC

namespace tensorlib::core::leaf::TL_LEVEL {

void fill_gemm(LeafTable::Gemms &table);
void fill_pack(LeafTable::Packs &table);
void fill_dot(LeafTable::Dots &table);
void fill_tiles(LeafTable::Tiles &table);
void fill_norms(LeafTable::Norms &table);
void fill_rotations(LeafTable::Rotations &table);
void fill_attention(LeafTable::Attention &table);
void fill_sums(LeafTable::Sums &table);
void fill_losses(LeafTable::Losses &table);
void fill_comparisons(LeafTable::Comparisons &table);
void fill_windows(LeafTable::Windows &table);
void fill_optimisers(LeafTable::Optimisers &table);
void fill_random(LeafTable::Random &table);
void fill_copies(LeafTable::Copies &table);
void fill_integer(LeafTable::Integer &table);
void fill_columns(LeafTable::Integer &table);
// What these enter belongs to formats, in several tables.
void fill_formats(LeafTable &table);
void fill_float_panels(LeafTable &table);
void fill_panels(LeafTable &table);
void fill_strips(LeafTable &table);
void fill_strip_products(LeafTable &table);
void fill_strip_sums(LeafTable &table);

// All of them.
void fill(LeafTable &table);

}  // namespace tensorlib::core::leaf::TL_LEVEL
