// The order of queued work: how late it runs, what orders it, what does not.
#include "support.hpp"

using namespace support;

namespace {

class Streams : public testing::TestWithParam<int> {
protected:
    Environment environment_{{{"TENSORLIB_SIMT_SEED", std::to_string(GetParam())}}};
    float *p_ = device_floats(std::vector<float>(128)), *q_ = device_floats(128);
    cudaStream_t a_ = new_stream(), b_ = new_stream();
    void SetUp() override { OK(cudaDeviceSynchronize()); }
};

INSTANTIATE_TEST_SUITE_P(seeds, Streams, testing::ValuesIn(seeds));

TEST_P(Streams, pageable_memory_is_read_at_once_and_pinned_memory_late) {
    float pageable = 1, *pinned = pinned_floats(1);
    *pinned = 1;
    OK(cudaMemcpyAsync(p_, &pageable, 4, cudaMemcpyHostToDevice, a_));
    OK(cudaMemcpyAsync(p_ + 1, pinned, 4, cudaMemcpyHostToDevice, a_));
    pageable = 2;
    *pinned = 2;
    OK(cudaStreamSynchronize(a_));
    EXPECT_EQ(floats_of(p_, 2), (std::vector<float>{1, 2}));
}

TEST_P(Streams, copies_to_pinned_memory_arrive_late) {
    float *pinned = pinned_floats(1), pageable = 7;
    *pinned = 7;
    OK(cudaMemsetAsync(p_, 0, 4, a_));
    OK(cudaMemcpyAsync(pinned, p_, 4, cudaMemcpyDeviceToHost, a_));
    EXPECT_EQ(*pinned, 7);
    OK(cudaStreamSynchronize(a_));
    EXPECT_EQ(*pinned, 0);
    OK(cudaMemsetAsync(p_, 0, 4, a_));
    OK(cudaMemcpyAsync(&pageable, p_, 4, cudaMemcpyDeviceToHost, a_));
    EXPECT_EQ(pageable, 0);
}

TEST_P(Streams, pinned_memory_must_outlive_its_copies) {
    float *pinned = pinned_floats(1);
    *pinned = 1;
    OK(cudaMemcpyAsync(p_, pinned, 4, cudaMemcpyHostToDevice, a_));
    EXPECT_EQ(cudaFreeHost(pinned), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(a_));
    OK(cudaFreeHost(pinned));
}

TEST_P(Streams, queries_end) {
    const cudaEvent_t event = new_event();
    OK(cudaEventQuery(event));
    OK(cudaMemsetAsync(p_, 0, 4, a_));
    OK(cudaEventRecord(event, a_));
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(a_), cudaErrorNotReady);
    OK(cudaEventQuery(event));
    OK(cudaStreamQuery(a_));
    OK(cudaMemsetAsync(p_, 0, 4, a_));
    EXPECT_EQ(cudaStreamQuery(a_), cudaErrorNotReady);
    OK(cudaStreamQuery(a_));
}

TEST_P(Streams, work_of_a_destroyed_stream_still_runs) {
    OK(cudaMemsetAsync(p_, 1, 4, a_));
    OK(cudaStreamDestroy(a_));
    OK(cudaDeviceSynchronize());
    EXPECT_NE(floats_of(p_, 1)[0], 0);
}

TEST_P(Streams, freeing_waits_for_all_work) {
    OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, a_));
    OK(cudaFree(p_));
    EXPECT_EQ(floats_of(q_, 128), std::vector<float>(128));
}

TEST_P(Streams, elapsed_time) {
    cudaEvent_t start, end;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    float milliseconds = -1;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(start, a_));
    OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, a_));
    OK(cudaEventRecord(end, a_));
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, new_event(), end), cudaErrorInvalidResourceHandle);
}

// Stream a writes p, stream b reads it, and something orders the two or does not.
enum class Order { none, event, event_of_before, host_stream, host_event, host_device, host_query, other_host_stream, third_stream };

cudaError_t write_then_read(Order order, float *p, float *q, cudaStream_t a, cudaStream_t b) {
    const cudaEvent_t event = new_event();
    const auto record = [&] { EXPECT_EQ(cudaEventRecord(event, a), cudaSuccess); };
    if (order == Order::event_of_before) record();
    EXPECT_EQ(launch_kernel("write_past_end", p, nullptr, 0, 2, 64, 0, a), cudaSuccess);
    if (order != Order::event_of_before) record();
    switch (order) {
        case Order::none: break;
        case Order::event:
        case Order::event_of_before: EXPECT_EQ(cudaStreamWaitEvent(b, event), cudaSuccess); break;
        case Order::host_stream: EXPECT_EQ(cudaStreamSynchronize(a), cudaSuccess); break;
        case Order::host_event: EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess); break;
        case Order::host_device: EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); break;
        case Order::host_query:
            while (cudaEventQuery(event) == cudaErrorNotReady) {
            }
            break;
        case Order::other_host_stream: EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess); break;
        case Order::third_stream: {
            const cudaStream_t c = new_stream();
            const cudaEvent_t second = new_event();
            EXPECT_EQ(cudaStreamWaitEvent(c, event), cudaSuccess);
            EXPECT_EQ(cudaEventRecord(second, c), cudaSuccess);
            EXPECT_EQ(cudaStreamWaitEvent(b, second), cudaSuccess);
            break;
        }
    }
    EXPECT_EQ(launch_kernel("read_all", q, p, 0, 2, 64, 0, b), cudaSuccess);
    return cudaDeviceSynchronize();
}

TEST_P(Streams, what_orders_a_read_after_a_write) {
    for (const Order order :
         {Order::event, Order::host_stream, Order::host_event, Order::host_device, Order::host_query, Order::third_stream}) {
        const Outcome got = outcome(write_then_read(order, p_, q_, a_, b_));
        EXPECT_EQ(got.code, cudaSuccess) << static_cast<int>(order) << ": " << got.text;
    }
}

class Unordered : public testing::TestWithParam<std::tuple<int, Order>> {};
INSTANTIATE_TEST_SUITE_P(all, Unordered,
                         testing::Combine(testing::ValuesIn(seeds),
                                          testing::Values(Order::none, Order::event_of_before, Order::other_host_stream)));

TEST_P(Unordered, read_after_write) {
    const auto &[seed, order] = GetParam();
    const auto environment = with_seed(seed);
    float *p = device_floats(std::vector<float>(128)), *q = device_floats(128);
    const cudaStream_t a = new_stream(), b = new_stream();
    OK(cudaDeviceSynchronize());
    const Outcome got = outcome(write_then_read(order, p, q, a, b));
    // Whichever ran first, the other is named with both streams.
    expect_fault(got, cudaErrorLaunchFailure,
                 {"kernel read_all", "kernel write_past_end", "stream #1", "stream #2", "neither stream order nor an event nor the host"});
}

TEST_P(Streams, write_after_read) {
    for (const bool ordered : {true, false}) {
        const cudaEvent_t event = new_event();
        OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, a_));
        OK(cudaEventRecord(event, a_));
        if (ordered) OK(cudaStreamWaitEvent(b_, event));
        OK(cudaMemsetAsync(p_ + 3, 0, 8, b_));
        const Outcome got = outcome(cudaDeviceSynchronize());
        if (ordered) {
            EXPECT_EQ(got.code, cudaSuccess) << got.text;
        } else {
            expect_fault(got, cudaErrorLaunchFailure, {"memset of 8 bytes", "kernel read_all", "stream #1", "stream #2"});
        }
    }
}

TEST_P(Streams, two_uploads) {
    float *pinned = pinned_floats(128);
    for (int i = 0; i < 128; i++) pinned[i] = 1;
    // Neighbours in one word are no conflict.
    OK(cudaMemcpyAsync(reinterpret_cast<char *>(p_), pinned, 5, cudaMemcpyHostToDevice, a_));
    OK(cudaMemcpyAsync(reinterpret_cast<char *>(p_) + 5, pinned, 5, cudaMemcpyHostToDevice, b_));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyAsync(p_, pinned, 8, cudaMemcpyHostToDevice, a_));
    OK(cudaMemcpyAsync(p_ + 1, pinned, 8, cudaMemcpyHostToDevice, b_));
    expect_fault(outcome(cudaDeviceSynchronize()), cudaErrorLaunchFailure,
                 {"copy of 8 bytes to the device", "stream #1", "stream #2", "at byte 4 of allocation #1"});
}

TEST_P(Streams, a_download_of_what_another_stream_writes) {
    std::vector<float> host(128);
    OK(launch_kernel("write_past_end", p_, nullptr, 0, 2, 64, 0, a_));
    OK(cudaMemcpyAsync(host.data(), p_, 512, cudaMemcpyDeviceToHost, a_));
    OK(launch_kernel("write_past_end", p_, nullptr, 0, 2, 64, 0, a_));
    Outcome got = outcome(cudaMemcpyAsync(host.data(), p_, 512, cudaMemcpyDeviceToHost, b_));
    if (got.code == cudaSuccess) got = outcome(cudaDeviceSynchronize());
    expect_fault(got, cudaErrorLaunchFailure, {"copy of 512 bytes to the host", "kernel write_past_end"});
}

TEST_P(Streams, reads_beside_reads) {
    float *r = device_floats(128);
    OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, a_));
    OK(launch_kernel("read_all", r, p_, 0, 2, 64, 0, b_));
    OK(cudaDeviceSynchronize());
}

}  // namespace
