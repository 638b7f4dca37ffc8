#include "cpu/leaf/level.hpp"

namespace tensorlib::core::leaf::TL_LEVEL {

void fill(LeafTable &table) {
    fill_gemm(table);
    fill_pack(table);
    fill_float_panels(table);
    fill_dot(table);
    fill_elementwise(table);
    fill_formats(table);
    fill_panels(table);
    fill_integer(table);
    fill_columns(table);
}

}  // namespace tensorlib::core::leaf::TL_LEVEL
