// What is done to a product's result before it leaves the cache (runtime/epilogue.hpp), on the CPU.
#pragma once

#include "cpu/cpu_kernel.hpp"

namespace tensorlib::core {

// Rows [row, row + rows) of columns [column, column + columns) of a batch's matrix are products now: turns them into the step's result.
// Nothing where the step has no epilogue.
void finish_tile(const Step &step, const leaf::LeafTable &leaf, std::int64_t batch, std::int64_t row, std::int64_t rows,
                 std::int64_t column, std::int64_t columns) noexcept;

}  // namespace tensorlib::core
