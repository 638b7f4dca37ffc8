// The part of layout.cu that is shared with operations that copy an operand and then change the copy.
#pragma once

#include "cuda/cuda_kernel.hpp"

namespace tensorlib::core {

// Moves units into the step's result, as its Movement says.
cudaError_t launch_move(const Step &step, const CudaStream &stream) noexcept;

}  // namespace tensorlib::core
