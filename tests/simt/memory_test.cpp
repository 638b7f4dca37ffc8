// Memory accesses that a kernel or the host should not make.
#include "support.hpp"

#include <cstring>

using namespace support;

namespace {

class Memory : public testing::TestWithParam<int> {
protected:
    Environment environment_{{{"TENSORLIB_SIMT_SEED", std::to_string(GetParam())}}};
    float *p_ = device_floats(std::vector<float>(128));
};

INSTANTIATE_TEST_SUITE_P(seeds, Memory, testing::ValuesIn(seeds));

TEST_P(Memory, past_the_end) {
    EXPECT_EQ(run("write_past_end", p_, nullptr, 0).code, cudaSuccess);
    expect_fault(
        run("write_past_end", p_, nullptr, 1), cudaErrorIllegalAddress,
        {"kernel write_past_end, block (1,0,0), thread (3,0,0): writes 4 bytes", "0 bytes past the end of allocation #1 of 512 bytes"});
}
TEST_P(Memory, before_the_start) {
    EXPECT_EQ(run("write_before_start", p_, nullptr, 0).code, cudaSuccess);
    expect_fault(run("write_before_start", p_, nullptr, 1), cudaErrorIllegalAddress,
                 {"kernel write_before_start, block (1,0,0), thread (3,0,0): writes 4 bytes", "4 bytes before the start of allocation #1"});
}
TEST_P(Memory, far_away) {
    EXPECT_EQ(run("write_far_away", p_, nullptr, 0).code, cudaSuccess);
    expect_fault(run("write_far_away", p_, nullptr, 1), cudaErrorIllegalAddress,
                 {"kernel write_far_away, block (1,0,0), thread (3,0,0): writes 4 bytes", "4193792 bytes past the end of allocation #1"});
}
TEST_P(Memory, unwritten) {
    float *q = device_floats(128);
    OK(cudaMemset(q, 0, 67 * 4));
    OK(cudaMemset(q + 68, 0, 60 * 4));
    expect_fault(run("read_all", p_, q, 0), cudaErrorIllegalAddress,
                 {"kernel read_all, block (1,0,0), thread (3,0,0): reads 4 bytes",
                  "at byte 268 of allocation #2 of 512 bytes, which was never written"});
}
TEST_P(Memory, written_and_unwritten_bytes_of_one_word) {
    float *q = device_floats(1);
    OK(cudaMemset(q, 1, 3));
    EXPECT_EQ(run("read_one_byte", p_, q, 2).code, cudaSuccess);
    expect_fault(run("read_one_byte", p_, q, 3), cudaErrorIllegalAddress,
                 {"block (1,0,0), thread (3,0,0): reads 1 bytes", "byte 3 of allocation #2", "never written"});
}
TEST_P(Memory, unwritten_bytes_travel_within_the_device_and_not_to_the_host) {
    float *q = device_floats(128), *r = device_floats(128);
    OK(cudaMemset(q, 0, 500));
    OK(cudaMemcpy(r, q, 512, cudaMemcpyDeviceToDevice));
    std::vector<float> host(128);
    OK(cudaMemcpy(host.data(), r, 500, cudaMemcpyDeviceToHost));
    expect_fault(outcome(cudaMemcpy(host.data(), r, 512, cudaMemcpyDeviceToHost)), cudaErrorIllegalAddress,
                 {"copy of 512 bytes to the host", "at byte 500 of allocation #3", "never written"});
}
TEST_P(Memory, freed) {
    float *q = device_floats(std::vector<float>(128));
    EXPECT_EQ(run("read_all", p_, q, 0).code, cudaSuccess);
    OK(cudaFree(q));
    expect_fault(run("write_q", p_, q, 1), cudaErrorIllegalAddress,
                 {"kernel write_q, block (1,0,0), thread (3,0,0): writes 4 bytes", "allocation #2", "freed"});
}
TEST_P(Memory, freed_is_not_handed_out_again_at_once) {
    for (int i = 0; i < 100; i++) {
        float *q = device_floats(128);
        OK(cudaFree(q));
        EXPECT_NE(device_floats(128), q);
    }
}
TEST_P(Memory, host_memory) {
    float on_host = 1;
    EXPECT_EQ(run("read_q", p_, &on_host, 0).code, cudaSuccess);
    expect_fault(run("read_q", p_, &on_host, 1), cudaErrorIllegalAddress,
                 {"kernel read_q, block (1,0,0), thread (3,0,0): reads 4 bytes", "host memory"});
}
TEST_P(Memory, pinned_memory) {
    expect_fault(run("write_q", p_, pinned_floats(1), 1), cudaErrorIllegalAddress,
                 {"block (1,0,0), thread (3,0,0): writes 4 bytes", "pinned host memory"});
}
TEST_P(Memory, null_pointer) {
    expect_fault(run("read_q", p_, nullptr, 1), cudaErrorIllegalAddress, {"block (1,0,0), thread (3,0,0)", "a null pointer"});
}
TEST_P(Memory, variable_of_the_host) {
    EXPECT_EQ(run("use_global_variable", p_, nullptr, 0).code, cudaSuccess);
    EXPECT_EQ(floats_of(p_, 4), (std::vector<float>{1, 2, 3, 4}));
    expect_fault(run("use_global_variable", p_, nullptr, 1), cudaErrorIllegalAddress,
                 {"kernel use_global_variable, block (1,0,0), thread (3,0,0)", "host memory"});
}
TEST_P(Memory, another_threads_stack) {
    EXPECT_EQ(run("pass_local_array", p_, nullptr, 0, 2, 64, 8).code, cudaSuccess);
    expect_fault(run("pass_local_array", p_, nullptr, 1, 2, 64, 8), cudaErrorIllegalAddress,
                 {"thread (3,0,0): reads 4 bytes", "the stack of another thread"});
}
TEST_P(Memory, another_device) {
    Environment two({{"TENSORLIB_SIMT_DEVICES", "2"}});
    float *p = device_floats(std::vector<float>(128));
    OK(cudaSetDevice(1));
    float *q = device_floats(std::vector<float>(128));
    OK(cudaSetDevice(0));
    EXPECT_EQ(run("read_q", p, q, 0).code, cudaSuccess);
    expect_fault(run("read_q", p, q, 1), cudaErrorIllegalAddress,
                 {"block (1,0,0), thread (3,0,0): reads 4 bytes", "memory of another device"});
}
TEST_P(Memory, misaligned) {
    float *q = device_floats(std::vector<float>(128));
    for (const char *kernel : {"misaligned_float4", "misaligned_by_helper", "misaligned_float"}) {
        Environment again({{"TENSORLIB_SIMT_SEED", std::to_string(GetParam())}});
        p_ = device_floats(std::vector<float>(128));
        q = device_floats(std::vector<float>(128));
        EXPECT_EQ(run(kernel, p_, q, 0).code, cudaSuccess);
        expect_fault(run(kernel, p_, q, 1), cudaErrorMisalignedAddress, {kernel, "block (1,0,0), thread (3,0,0)", "not a multiple of"});
    }
}
TEST_P(Memory, unaligned_bytes_by_memcpy) {
    EXPECT_EQ(run("unaligned_memcpy", p_, device_floats(std::vector<float>(2)), 0).code, cudaSuccess);
}
TEST_P(Memory, struct_copies) {
    float *q = device_floats(std::vector<float>(128, 3.0f));
    EXPECT_EQ(run("copy_struct", p_, q, 0).code, cudaSuccess);
    EXPECT_EQ(floats_of(p_, 128), std::vector<float>(128, 3.0f));
    expect_fault(run("copy_struct", p_, q, 1), cudaErrorIllegalAddress,
                 {"kernel copy_struct, block (1,0,0), thread (0,0,0): reads", "past the end of allocation #2"});
}
TEST_P(Memory, memcpy_in_a_kernel) {
    float *q = device_floats(std::vector<float>(256));
    EXPECT_EQ(run("memcpy_of_any_length", p_, q, 0).code, cudaSuccess);
    expect_fault(run("memcpy_of_any_length", p_, q, 1), cudaErrorIllegalAddress,
                 {"block (0,0,0), thread (0,0,0): writes", "0 bytes past the end of allocation #1"});
}
TEST_P(Memory, memset_in_a_kernel) {
    EXPECT_EQ(run("memset_of_any_length", p_, nullptr, 0).code, cudaSuccess);
    expect_fault(run("memset_of_any_length", p_, nullptr, 1), cudaErrorIllegalAddress,
                 {"block (0,0,0), thread (0,0,0): writes", "0 bytes past the end"});
}

TEST_P(Memory, two_blocks_write_one_word) {
    EXPECT_EQ(run("two_blocks_write", p_, nullptr, 0, 4).code, cudaSuccess);
    expect_fault(run("two_blocks_write", p_, nullptr, 1, 2), cudaErrorLaunchFailure,
                 {"kernel two_blocks_write, block (", "thread (5,0,0): writes 4 bytes", "of the same kernel wrote: a race between blocks"});
}
TEST_P(Memory, one_block_reads_what_another_writes) {
    float *q = device_floats(4);
    EXPECT_EQ(run("block_reads_other", p_, q, 0, 4).code, cudaSuccess);
    expect_fault(run("block_reads_other", p_, q, 1, 4), cudaErrorLaunchFailure,
                 {"kernel block_reads_other, block (", "thread (5,0,0)", "a race between blocks", "block (0,0,0)"});
}
TEST_P(Memory, all_blocks_read_what_one_writes) {
    float *q = device_floats(std::vector<float>(1));
    EXPECT_EQ(run("all_read_one_writes", p_, q, 0, 5).code, cudaSuccess);
    expect_fault(run("all_read_one_writes", p_, q, 1, 5), cudaErrorLaunchFailure, {"thread (5,0,0)", "a race between blocks"});
}
TEST_P(Memory, blocks_share_a_word_and_no_byte) {
    EXPECT_EQ(run("blocks_write_bytes", p_, nullptr, 0, 7).code, cudaSuccess);
    expect_fault(run("blocks_write_bytes", p_, nullptr, 1, 2), cudaErrorLaunchFailure, {"thread (0,0,0)", "a race between blocks"});
}
TEST_P(Memory, atomic_updates) {
    EXPECT_EQ(run("blocks_add_atomically", p_, nullptr, 0, 3).code, cudaSuccess);
    EXPECT_EQ(floats_of(p_, 1)[0], 192);
    expect_fault(run("blocks_add_atomically", p_, nullptr, 1, 3), cudaErrorLaunchFailure,
                 {"kernel blocks_add_atomically", "a race between blocks"});
}
TEST_P(Memory, atomic_types) {
    EXPECT_EQ(run("builtin_atomics", p_, nullptr, 0, 3).code, cudaSuccess);
    unsigned long long values[3];
    OK(cudaMemcpy(values, p_, sizeof values, cudaMemcpyDeviceToHost));
    EXPECT_EQ(values[0], 192 | (384ull << 32));
    EXPECT_EQ(values[1], 576u);
    EXPECT_EQ(values[2], 768u);
}

TEST_P(Memory, marked_as_not_accessible) {
    OK(simt_mark_no_access(p_ + 67, 4));
    EXPECT_EQ(run("write_past_end", p_, nullptr, 0, 1).code, cudaSuccess);
    expect_fault(run("write_past_end", p_, nullptr, 0), cudaErrorIllegalAddress,
                 {"block (1,0,0), thread (3,0,0): writes 4 bytes", "at byte 268 of allocation #1", "marked as not accessible"});
}
TEST_P(Memory, marked_as_unwritten_at_once) {
    OK(simt_mark_no_access(p_ + 67, 8));
    OK(simt_mark_unwritten_now(p_ + 67, 8));
    EXPECT_EQ(run("write_past_end", p_, nullptr, 0).code, cudaSuccess);
    float *q = device_floats(128);
    EXPECT_EQ(run("read_all", q, p_, 0).code, cudaSuccess);
    OK(simt_mark_unwritten_now(p_ + 67, 4));
    expect_fault(run("read_all", q, p_, 0), cudaErrorIllegalAddress, {"block (1,0,0), thread (3,0,0): reads 4 bytes", "never written"});
}
TEST_P(Memory, marked_as_unwritten_in_the_streams_order) {
    const cudaStream_t stream = new_stream();
    OK(cudaDeviceSynchronize());
    float *q = device_floats(128);
    OK(launch_kernel("read_all", q, p_, 0, 2, 64, 0, stream));
    OK(simt_mark_unwritten(p_, 512, stream));
    OK(cudaStreamSynchronize(stream));
    OK(launch_kernel("read_all", q, p_, 0, 2, 64, 0, stream));
    expect_fault(outcome(cudaStreamSynchronize(stream)), cudaErrorIllegalAddress, {"kernel read_all", "never written"});
}

// The host's own accesses: the process dies, naming the allocation.
using MemoryDeathTest = Memory;
INSTANTIATE_TEST_SUITE_P(seeds, MemoryDeathTest, testing::Values(1));

TEST_P(MemoryDeathTest, host_reads_device_memory) {
    EXPECT_DEATH(
        { *static_cast<volatile float *>(p_ + 2) = 1; }, "the host touches device memory at .*, at byte 8 of allocation #1 of 512 bytes");
    OK(cudaDeviceSynchronize());
    EXPECT_DEATH((void)*static_cast<volatile float *>(p_ + 200),
                 "the host touches device memory at .*, 288 bytes past the end of allocation #1");
}
TEST_P(MemoryDeathTest, other_faults_go_on) {
    // Not ours: whatever was there before says so, not we.
    volatile std::uintptr_t nowhere = 64;
    EXPECT_DEATH({ *reinterpret_cast<volatile int *>(nowhere) = 1; }, "");
}

TEST(CopyRanges, are_checked_when_queued) {
    const auto environment = with_seed(1);
    float *p = device_floats(std::vector<float>(128)), *pinned = pinned_floats(16);
    std::vector<float> host(256);
    const auto refused = [](cudaError_t code, const char *words) {
        EXPECT_EQ(code, cudaErrorInvalidValue);
        EXPECT_NE(std::strstr(cudaGetErrorString(code), words), nullptr) << cudaGetErrorString(code);
        cudaGetLastError();
    };
    refused(cudaMemcpy(p, host.data(), 516, cudaMemcpyHostToDevice), "not inside one live allocation");
    refused(cudaMemcpy(p - 1, host.data(), 4, cudaMemcpyHostToDevice), "4 bytes before the start of allocation #1");
    refused(cudaMemcpy(host.data(), host.data(), 4, cudaMemcpyHostToDevice), "not device memory");
    refused(cudaMemcpy(p, p, 4, cudaMemcpyHostToDevice), "where host memory is wanted");
    refused(cudaMemcpy(host.data(), pinned, 4, cudaMemcpyDeviceToHost), "not device memory");
    refused(cudaMemcpy(p, pinned + 8, 36, cudaMemcpyHostToDevice), "pinned allocation of 64 bytes");
    refused(cudaMemcpy(nullptr, p, 4, cudaMemcpyDeviceToHost), "null pointer");
    refused(cudaMemset(p, 0, 513), "not inside one live allocation");
    OK(cudaFree(p));
    refused(cudaMemcpy(host.data(), p, 4, cudaMemcpyDeviceToHost), "freed");
    refused(cudaFree(p), "freed");
    refused(cudaFree(host.data()), "not device memory");
    refused(cudaFreeHost(host.data()), "not the start of pinned memory");
    EXPECT_EQ(cudaMemcpy(p, host.data(), 4, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
    OK(cudaFree(nullptr));
    OK(cudaFreeHost(pinned));
    EXPECT_EQ(simt::live_allocations(), 0u);
}

TEST(CopyRanges, rows_with_a_pitch) {
    const auto environment = with_seed(1);
    float *p = device_floats(std::vector<float>(12, 9.0f));
    const std::vector<float> from = {1, 2, 3, 4, 5, 6};
    const cudaStream_t stream = new_stream();
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy2DAsync(p + 1, 16, from.data(), 8, 8, 3, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(floats_of(p, 12), (std::vector<float>{9, 1, 2, 9, 9, 3, 4, 9, 9, 5, 6, 9}));
    std::vector<float> to(6);
    OK(cudaMemcpy2DAsync(to.data(), 8, p + 1, 16, 8, 3, cudaMemcpyDeviceToHost, stream));
    EXPECT_EQ(to, from);
    EXPECT_EQ(cudaMemcpy2DAsync(to.data(), 4, p, 16, 8, 3, cudaMemcpyDeviceToHost, stream), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaMemcpy2DAsync(to.data(), 8, p + 3, 16, 8, 3, cudaMemcpyDeviceToHost, stream), cudaErrorInvalidValue);
}

}  // namespace
