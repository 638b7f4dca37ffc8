// What layout.cpp lends to operations that copy an operand and then change the copy.
#pragma once

#include "cpu/cpu_kernel.hpp"

namespace tensorlib::core {

// Chunks for moving units into a result.
std::int64_t move_chunks(const Problem &problem) noexcept;

// A chunk of the stage that moves units into the step's result, as its Movement says.
void run_move_stage(const Step &step, const Slice &slice, Stage stage) noexcept;

}  // namespace tensorlib::core
