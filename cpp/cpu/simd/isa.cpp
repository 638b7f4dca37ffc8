#include "cpu/simd/isa.hpp"

namespace tensorlib::core::simd::TL_ISA {

void fill(SimdTable &table) {
    fill_gemm(table.gemm);
    fill_pack(table.pack);
    fill_dot(table.dot);
    fill_tiles(table.tiles);
    fill_norms(table.norms);
    fill_rotations(table.rotations);
    fill_attention(table.attention);
    fill_sums(table.sums);
    fill_reductions(table.reductions);
    fill_losses(table.losses);
    fill_comparisons(table.comparisons);
    fill_numbers(table.numbers);
    fill_windows(table.windows);
    fill_optimisers(table.optimisers);
    fill_recurrences(table.recurrences);
    fill_random(table.random);
    fill_copies(table.copies);
    fill_integer(table.integer);
    fill_columns(table.integer);
    fill_formats(table);
    fill_number_reductions(table);
    fill_float_panels(table);
    fill_panels(table);
    fill_packed_rows(table);
    fill_packed_row_products(table);
    fill_packed_row_sums(table);
}

}  // namespace tensorlib::core::simd::TL_ISA
