#include "cpu/leaf/level.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

void fill(LeafTable &table) {
    fill_gemm(table.gemm);
    fill_pack(table.pack);
    fill_dot(table.dot);
    fill_tiles(table.tiles);
    fill_norms(table.norms);
    fill_rotations(table.rotations);
    fill_attention(table.attention);
    fill_sums(table.sums);
    fill_losses(table.losses);
    fill_comparisons(table.comparisons);
    fill_windows(table.windows);
    fill_optimisers(table.optimisers);
    fill_random(table.random);
    fill_copies(table.copies);
    fill_integer(table.integer);
    fill_columns(table.integer);
    fill_formats(table);
    fill_float_panels(table);
    fill_panels(table);
    fill_strips(table);
    fill_strip_products(table);
    fill_strip_sums(table);
}

}  // namespace tensorlib::core::leaf::TL_LEVEL
