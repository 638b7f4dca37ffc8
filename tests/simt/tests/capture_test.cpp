// Capture and replay.
#include "support.hpp"

#include <thread>

using namespace support;

namespace {

class Captures : public testing::TestWithParam<int> {
protected:
    Environment environment_{{{"TENSORLIB_SIMT_SEED", std::to_string(GetParam())}}};
    float *p_ = device_floats(std::vector<float>(128)), *q_ = device_floats(128);
    cudaStream_t a_ = new_stream(), b_ = new_stream();
    cudaEvent_t event_ = new_event();
    void SetUp() override { OK(cudaDeviceSynchronize()); }

    void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) { OK(cudaStreamBeginCapture(a_, mode)); }
    cudaGraphExec_t end() {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaSuccess);
        EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
        EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
        return exec;
    }
    // The capture was spoilt: ending it says so, and the stream is usable again.
    void expect_invalidated() {
        cudaStreamCaptureStatus status;
        OK(cudaStreamIsCapturing(a_, &status));
        EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
        EXPECT_EQ(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, a_), cudaErrorStreamCaptureInvalidated);
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaErrorStreamCaptureInvalidated);
        EXPECT_EQ(graph, nullptr);
        OK(cudaStreamIsCapturing(a_, &status));
        EXPECT_EQ(status, cudaStreamCaptureStatusNone);
        OK(cudaStreamSynchronize(a_));
    }
};

INSTANTIATE_TEST_SUITE_P(seeds, Captures, testing::ValuesIn(seeds));

TEST_P(Captures, replay) {
    float *pinned = pinned_floats(128);
    std::vector<float> wanted(128);
    begin();
    OK(cudaMemcpyAsync(p_, pinned, 512, cudaMemcpyHostToDevice, a_));
    OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, a_));
    OK(cudaMemcpyAsync(pinned, q_, 512, cudaMemcpyDeviceToHost, a_));
    OK(simt_mark_unwritten(q_, 512, a_));
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(a_, &graph));
    std::size_t n_nodes = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &n_nodes));
    EXPECT_EQ(n_nodes, 4u);
    cudaGraphNode_t nodes[6];
    n_nodes = 6;
    OK(cudaGraphGetNodes(graph, nodes, &n_nodes));
    EXPECT_EQ(n_nodes, 4u);
    cudaGraphExec_t exec = nullptr;
    OK(cudaGraphInstantiate(&exec, graph));
    OK(cudaGraphDestroy(graph));
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 128; i++) pinned[i] = wanted[static_cast<std::size_t>(i)] = static_cast<float>(i * round);
        OK(cudaGraphLaunch(exec, a_));
        OK(cudaStreamSynchronize(a_));
        EXPECT_EQ(std::vector<float>(pinned, pinned + 128), wanted);
    }
    // Nothing ran while it was captured, and the handle is good for no more launches.
    OK(cudaGraphLaunch(exec, b_));
    OK(cudaGraphExecDestroy(exec));
    EXPECT_EQ(cudaGraphLaunch(exec, a_), cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(b_));
}

TEST_P(Captures, launches_of_one_graph_do_not_overlap) {
    begin();
    OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, a_));
    const cudaGraphExec_t exec = end();
    OK(cudaGraphLaunch(exec, a_));
    OK(cudaGraphLaunch(exec, b_));
    OK(cudaDeviceSynchronize());
    // Other work is not ordered by that.
    OK(cudaGraphLaunch(exec, a_));
    OK(launch_kernel("write_past_end", p_, nullptr, 0, 2, 64, 0, b_));
    expect_fault(outcome(cudaDeviceSynchronize()), cudaErrorLaunchFailure, {"kernel read_all", "kernel write_past_end"});
}

TEST_P(Captures, fork_and_join) {
    for (const bool joined : {true, false}) {
        const cudaEvent_t forked = new_event(), done = new_event();
        begin();
        OK(launch_kernel("write_past_end", p_, nullptr, 0, 2, 64, 0, a_));
        OK(cudaEventRecord(forked, a_));
        OK(cudaStreamWaitEvent(b_, forked));
        OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, b_));
        OK(cudaEventRecord(done, b_));
        if (joined) OK(cudaStreamWaitEvent(a_, done));
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(a_, &graph), joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
        EXPECT_EQ(graph != nullptr, joined);
        if (!joined) continue;
        cudaGraphExec_t exec = nullptr;
        OK(cudaGraphInstantiate(&exec, graph));
        for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, a_));
        OK(launch_kernel("write_past_end", p_, nullptr, 0, 2, 64, 0, a_));
        OK(cudaStreamSynchronize(a_));
    }
}

TEST_P(Captures, a_missing_event_inside_of_a_graph) {
    const cudaEvent_t forked = new_event(), done = new_event();
    begin();
    OK(cudaEventRecord(forked, a_));
    OK(cudaStreamWaitEvent(b_, forked));
    OK(launch_kernel("write_past_end", p_, nullptr, 0, 2, 64, 0, a_));
    OK(launch_kernel("read_all", q_, p_, 0, 2, 64, 0, b_));
    OK(cudaEventRecord(done, b_));
    OK(cudaStreamWaitEvent(a_, done));
    OK(cudaGraphLaunch(end(), a_));
    expect_fault(outcome(cudaStreamSynchronize(a_)), cudaErrorLaunchFailure,
                 {"kernel read_all", "kernel write_past_end", "neither stream order nor an event"});
}

TEST_P(Captures, a_fault_in_a_replay) {
    begin();
    OK(launch_kernel("write_past_end", p_, nullptr, 1, 2, 64, 0, a_));
    OK(cudaGraphLaunch(end(), a_));
    expect_fault(outcome(cudaStreamSynchronize(a_)), cudaErrorIllegalAddress, {"kernel write_past_end, block (1,0,0), thread (3,0,0)"});
}

// Each call is refused with CUDA's code and spoils the capture.
TEST_P(Captures, refusals) {
    float *pinned = pinned_floats(1), pageable = 0;
    void *new_memory = nullptr;
    const cudaEvent_t outside = new_event(), inside = new_event();
    OK(cudaEventRecord(outside, b_));
    OK(cudaMemsetAsync(p_, 0, 4, b_));
    const std::pair<cudaError_t, std::function<cudaError_t()>> calls[] = {
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamSynchronize(a_); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamQuery(a_); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaDeviceSynchronize(); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaMalloc(&new_memory, 4); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaFree(p_); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaMallocHost(&new_memory, 4); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaFreeHost(pinned); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaEventQuery(outside); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaMemcpyAsync(p_, &pageable, 4, cudaMemcpyHostToDevice, a_); }},
        {cudaErrorStreamCaptureUnsupported, [&] { return cudaMemcpyAsync(&pageable, p_, 4, cudaMemcpyDeviceToHost, a_); }},
        {cudaErrorStreamCaptureImplicit, [&] { return cudaMemcpy(&pageable, p_, 4, cudaMemcpyDeviceToHost); }},
        {cudaErrorStreamCaptureImplicit, [&] { return cudaMemset(p_, 0, 4); }},
        {cudaErrorStreamCaptureImplicit, [&] { return cudaMemsetAsync(p_, 0, 4, nullptr); }},
        {cudaErrorStreamCaptureImplicit, [&] { return launch_kernel("read_all", q_, p_, 0, 2, 64, 0, nullptr); }},
        {cudaErrorStreamCaptureIsolation, [&] { return cudaStreamWaitEvent(a_, outside); }},
    };
    for (const auto &[code, make] : calls) {
        begin();
        EXPECT_EQ(make(), code) << cudaGetErrorString(cudaPeekAtLastError());
        expect_invalidated();
    }
    begin(cudaStreamCaptureModeRelaxed);
    OK(cudaEventRecord(inside, a_));
    EXPECT_EQ(cudaEventSynchronize(inside), cudaErrorCapturedEvent);
    expect_invalidated();
    begin(cudaStreamCaptureModeRelaxed);
    OK(cudaEventRecord(inside, a_));
    EXPECT_EQ(cudaStreamWaitEvent(nullptr, inside), cudaErrorStreamCaptureImplicit);
    expect_invalidated();
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(cudaStreamDestroy(a_), cudaErrorStreamCaptureUnsupported);
    expect_invalidated();
    EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaErrorIllegalState);
}

TEST_P(Captures, modes) {
    // Relaxed: only what conflicts with this capture is refused. Thread-local: other threads may do what they want.
    void *memory = nullptr;
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(cudaStreamBeginCapture(a_, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
    OK(cudaMalloc(&memory, 4));
    OK(cudaStreamSynchronize(b_));
    (void)end();
    begin(cudaStreamCaptureModeThreadLocal);
    std::thread([&] { EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess); }).join();
    (void)end();
    begin(cudaStreamCaptureModeGlobal);
    std::thread([&] { EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported); }).join();
    expect_invalidated();
}

TEST_P(Captures, ends_where_it_began) {
    cudaGraph_t graph = nullptr;
    const cudaEvent_t forked = new_event();
    begin();
    OK(cudaEventRecord(forked, a_));
    OK(cudaStreamWaitEvent(b_, forked));
    EXPECT_EQ(cudaStreamEndCapture(b_, &graph), cudaErrorStreamCaptureUnmatched);
    expect_invalidated();
    begin();
    std::thread([&] { EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaErrorStreamCaptureWrongThread); }).join();
    (void)end();
}

TEST_P(Captures, two_do_not_merge) {
    const cudaEvent_t other = new_event();
    begin(cudaStreamCaptureModeRelaxed);
    OK(cudaStreamBeginCapture(b_, cudaStreamCaptureModeRelaxed));
    OK(cudaEventRecord(other, b_));
    EXPECT_EQ(cudaStreamWaitEvent(a_, other), cudaErrorStreamCaptureMerge);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(b_, &graph), cudaErrorStreamCaptureInvalidated);
    expect_invalidated();
    EXPECT_EQ(cudaStreamWaitEvent(a_, other), cudaErrorCapturedEvent);
}

}  // namespace
