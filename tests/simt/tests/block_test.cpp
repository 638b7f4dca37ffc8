// Faults among the threads of a block.
#include "support.hpp"

using namespace support;

namespace {

struct Fault {
    const char *kernel;
    int bad;
    std::size_t shared;
    cudaError_t code;
    std::vector<const char *> words;
};

const Fault faults[] = {
    {"pass_on", 1, 256, cudaErrorIllegalAddress, {}},
    {"reuse_without_barrier",
     1,
     256,
     cudaErrorLaunchFailure,
     {"4 bytes of shared memory", "since the last barrier: a race within the block"}},
    {"all_write_one",
     1,
     256,
     cudaErrorLaunchFailure,
     {"writes 4 bytes of shared memory at byte 0", "wrote since the last barrier: a race"}},
    {"warp_passes_on", 1, 256, cudaErrorLaunchFailure, {"a race within the block"}},
    {"warps_pass_on", 1, 256, cudaErrorIllegalAddress, {}},
    {"own_bytes", 1, 256, cudaErrorLaunchFailure, {}},
    {"shared_atomics", 1, 4, cudaErrorLaunchFailure, {"a race within the block"}},
    {"shared_unwritten",
     1,
     256,
     cudaErrorIllegalAddress,
     {"block (1,0,0)", "reads 4 bytes of shared memory", "never written by this block"}},
    {"shared_past_end",
     1,
     256,
     cudaErrorIllegalAddress,
     {"thread (63,0,0): writes 4 bytes of shared memory at byte 256, past the block's 256 bytes"}},
    {"shared_before_start", 1, 256, cudaErrorIllegalAddress, {"thread (7,0,0): writes 4 bytes of shared memory at byte -4, before"}},
    {"copy_async", 1, 256, cudaErrorLaunchFailure, {"an asynchronous copy is under way"}},
    {"copy_async", 2, 256, cudaErrorLaunchFailure, {}},
    {"copy_async_groups", 1, 2048, cudaErrorLaunchFailure, {"an asynchronous copy is under way: no wait has completed it"}},
    {"copy_async_misaligned", 1, 1024, cudaErrorMisalignedAddress, {"copies 16 bytes asynchronously", "multiples of 16"}},
    {"copy_async_past_end", 1, 1024, cudaErrorIllegalAddress, {"reads 4 bytes", "0 bytes past the end of allocation #2"}},
    {"barrier_after_exit", 1, 0, cudaErrorLaunchFailure, {"a divergent barrier", "thread (40,0,0)"}},
    {"two_barriers", 1, 0, cudaErrorLaunchFailure, {"block_kernels.cu:", "a divergent barrier"}},
    {"barrier_and_shuffle",
     1,
     0,
     cudaErrorLaunchFailure,
     {"__shfl_sync with mask 0xffffffff, in which lanes 0x00000100 are missing", "waits at __syncthreads: a deadlock"}},
    {"shuffle_in_a_branch", 1, 0, cudaErrorLaunchFailure, {"__shfl_sync with mask 0xffffffff"}},
    {"masks_of_two_kinds", 1, 0, cudaErrorLaunchFailure, {"a vote with mask 0x0000"}},
    {"own_lane_missing", 1, 0, cudaErrorLaunchFailure, {"mask 0xfffffff7"}},
    {"source_not_in_mask", 1, 0, cudaErrorLaunchFailure, {"thread (3,0,0): shuffles from lane 20, which mask 0x0000ffff does not name"}},
    {"wrong_width", 1, 0, cudaErrorLaunchFailure, {"thread (3,0,0): shuffles with width 12"}},
    {"two_collectives", 1, 0, cudaErrorLaunchFailure, {"a vote with mask 0xffffffff"}},
    {"two_shuffles", 1, 0, cudaErrorLaunchFailure, {"another shuffle"}},
};

class Block : public testing::TestWithParam<std::tuple<Fault, int>> {};

std::string test_name(const testing::TestParamInfo<std::tuple<Fault, int>> &info) {
    const Fault &fault = std::get<0>(info.param);
    return std::string(fault.kernel) + "_" + std::to_string(fault.bad) + "_seed" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(all, Block, testing::Combine(testing::ValuesIn(faults), testing::ValuesIn(seeds)), test_name);

TEST_P(Block, fault_is_found_and_its_twin_is_clean) {
    const auto &[fault, seed] = GetParam();
    const auto environment = with_seed(seed);
    float *p = device_floats(std::vector<float>(128)), *q = device_floats(std::vector<float>(128, 1.0f));
    const Outcome clean = run(fault.kernel, p, q, 0, 2, 64, fault.shared);
    EXPECT_EQ(clean.code, cudaSuccess) << clean.text;
    const Outcome got = run(fault.kernel, p, q, fault.bad, 2, 64, fault.shared);
    // A reader that comes before the writer meets unwritten bytes, one that comes after it a race: by the seed.
    const bool either = fault.words.empty() && (got.code == cudaErrorIllegalAddress || got.code == cudaErrorLaunchFailure);
    expect_fault(got, either ? got.code : fault.code, {fault.kernel, "block (", "thread ("});
    for (const char *word : fault.words)
        EXPECT_NE(got.text.find(word), std::string::npos) << "\"" << word << "\" is missing in: " << got.text;
}

TEST(BlockShape, a_mask_names_lanes_that_the_warp_lacks) {
    const auto environment = with_seed(1);
    float *p = device_floats(128);
    EXPECT_EQ(run("full_mask", p, nullptr, 0, 1, 64).code, cudaSuccess);
    expect_fault(run("full_mask", p, nullptr, 0, 1, 40), cudaErrorLaunchFailure,
                 {"mask 0xffffffff, but its warp has only lanes 0x000000ff"});
}

TEST(BlockShape, shared_memory_needs_leave_beyond_48_KiB) {
    const auto environment = with_seed(1);
    float *p = device_floats(128);
    const cudaStream_t stream = new_stream();
    EXPECT_EQ(launch_kernel("pass_on", p, nullptr, 0, 2, 64, 48 << 10, stream), cudaSuccess);
    EXPECT_EQ(launch_kernel("pass_on", p, nullptr, 0, 2, 64, (48 << 10) + 1, stream), cudaErrorInvalidValue);
    EXPECT_EQ(allow_shared_memory("pass_on", (227 << 10) + 1), cudaErrorInvalidValue);
    OK(allow_shared_memory("pass_on", 227 << 10));
    EXPECT_EQ(launch_kernel("pass_on", p, nullptr, 0, 2, 64, 227 << 10, stream), cudaSuccess);
    EXPECT_EQ(launch_kernel("pass_on", p, nullptr, 0, 2, 64, (227 << 10) + 1, stream), cudaErrorInvalidConfiguration);
    OK(cudaStreamSynchronize(stream));
}

TEST(BlockShape, grids_and_blocks_that_cuda_refuses) {
    const auto environment = with_seed(1);
    float *p = device_floats(128);
    const cudaStream_t stream = new_stream();
    const auto launch = [&](dim3 grid, dim3 block) { return launch_kernel("full_mask", p, nullptr, 0, grid, block, 0, stream); };
    EXPECT_EQ(launch(0, 32), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(1, 0), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(1, 1025), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(1, dim3(32, 33)), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(1, dim3(1, 1, 65)), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(dim3(1, 65536), 32), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(dim3(1, 1, 65536), 32), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(1, 32), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    OK(cudaStreamSynchronize(stream));
}

TEST(BlockDeathTest, stack_overflow) {
    // In a program of its own: after a fork the device is gone.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto environment = with_seed(1);
    float *p = device_floats(128);
    EXPECT_EQ(run("overflow_stack", p, nullptr, 3).code, cudaSuccess);
    EXPECT_DEATH((void)run("overflow_stack", p, nullptr, 100000), "kernel overflow_stack, block .*, thread .* overflows its stack");
}

}  // namespace
