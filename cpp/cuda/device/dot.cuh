// A warp's dot product of a row of weights of any type and a column, multiplied in F32.
#pragma once

#include "cuda/device/convert.cuh"
#include "cuda/device/element.cuh"

namespace tensorlib::core::device {

// The lane's share: elements lane, lane + 32, .., or runs of 8 for a quantised type.
template <bool blocks>
__device__ float dot(DType a_type, const char *row, std::int64_t a_step, DType b_type, const char *column, std::int64_t b_step,
                     std::int64_t K, int lane) {
    float sum = 0;
    if constexpr (blocks) {
        for (std::int64_t run = lane; run < K / run_length; run += 32) {
            float weights[run_length];
            decode_run(a_type, row, run, weights);
#pragma unroll
            for (int i = 0; i < run_length; i++) {
                sum = fmaf(weights[i], load_element(b_type, column + (run * run_length + i) * b_step), sum);
            }
        }
    } else {
        for (std::int64_t k = lane; k < K; k += 32) {
            sum = fmaf(load_element(a_type, row + k * a_step), load_element(b_type, column + k * b_step), sum);
        }
    }
    return sum;
}

}  // namespace tensorlib::core::device
