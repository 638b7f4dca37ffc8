#include <gtest/gtest.h>
#include <chrono>
#include <vector>
#include "basic_kernels.hpp"
TEST(Basic, add) {
    cudaStream_t s;
    ASSERT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    const int n = 1000;
    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; i++) a[i] = float(i), b[i] = 1;
    float *da, *db, *dc;
    ASSERT_EQ(cudaMalloc(&da, n * 4), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&db, n * 4), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&dc, n * 4), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(da, a.data(), n * 4, cudaMemcpyHostToDevice, s), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(db, b.data(), n * 4, cudaMemcpyHostToDevice, s), cudaSuccess);
    ASSERT_EQ(launch_add_rows(da, db, dc, n, s), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(c.data(), dc, n * 4, cudaMemcpyDeviceToHost, s), cudaSuccess) << cudaGetErrorString(cudaPeekAtLastError());
    for (int i = 0; i < n; i++) EXPECT_EQ(c[i], float(i) * float(i) + 1);
    ASSERT_EQ(launch_block_sum(da, dc, 100, 10, s), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(c.data(), dc, 40, cudaMemcpyDeviceToHost, s), cudaSuccess);
    for (int i = 0; i < 10; i++) EXPECT_EQ(c[i], 100 * (i * 100) + 4950);
}
TEST(Basic, speed) {
    cudaStream_t s;
    ASSERT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    int *d;
    float *f, *g;
    ASSERT_EQ(cudaMalloc(&d, 4096), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&f, 1 << 20), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&g, 1 << 20), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(f, 0, 1 << 20, s), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    auto t0 = std::chrono::steady_clock::now();
    ASSERT_EQ(launch_many_barriers(d, 10000, s), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    auto t1 = std::chrono::steady_clock::now();
    ASSERT_EQ(launch_many_reads(f, g, 1 << 15, s), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    auto t2 = std::chrono::steady_clock::now();
    std::printf("%.1f ns per thread and barrier, %.2f ns per read\n",
                std::chrono::duration<double, std::nano>(t1 - t0).count() / 256 / 10000,
                std::chrono::duration<double, std::nano>(t2 - t1).count() / 256 / (1 << 15));
}
