// The loops over storage types for the ISA baseline: those of cpp/dtype, which are compiled for the same processor.
// They are the slowest objects of a build, and compiling cpu/simd/formats.cpp for it too would give identical machine
// code.
#include "cpu/simd/simd_table.hpp"
#include "dtype/dtype.hpp"

namespace tensorlib::core::simd::baseline {

void fill_formats(SimdTable &table);

void fill_formats(SimdTable &table) {
    for (std::size_t i = 0; i < dtype_count(); i++) table.formats[i] = {dtype_at(i).decode, dtype_at(i).encode, dtype_at(i).encode_by_rule};
}

}  // namespace tensorlib::core::simd::baseline
