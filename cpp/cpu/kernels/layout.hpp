// The part of layout.cpp that is shared with operations that copy an operand and then change the copy.
#pragma once

#include "cpu/cpu_kernel.hpp"

namespace tensorlib::core {

// The number of chunks for moving units into a result.
std::int64_t move_chunks(const Problem &problem) noexcept;

// Runs a chunk of the stage that moves units into the step's result, as its Movement says.
void run_move_stage(const Step &step, const Slice &slice, Stage stage) noexcept;

}  // namespace tensorlib::core
