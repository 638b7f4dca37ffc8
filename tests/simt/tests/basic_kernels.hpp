#pragma once
#include <cuda_runtime.h>
cudaError_t launch_add_rows(const float *a, const float *b, float *to, int n, cudaStream_t stream);
cudaError_t launch_block_sum(const float *from, float *to, int n, int rows, cudaStream_t stream);
cudaError_t launch_many_barriers(int *to, int rounds, cudaStream_t stream);
cudaError_t launch_many_reads(const float *from, float *to, int n, cudaStream_t stream);
