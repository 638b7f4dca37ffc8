// A device with one stream, set up for a seed, and the outcome of the work given to it.
#pragma once

#include "kernels.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <simt/testing.hpp>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

namespace support {

constexpr int seeds[] = {1, 2, 3, 4, 7, 11};

// Sets TENSORLIB_SIMT_* for a scope, and resets the simulator at its beginning and end.
class Environment {
public:
    using Values = std::initializer_list<std::pair<const char *, std::string>>;
    explicit Environment(Values values = {}) {
        for (const auto &[name, value] : values) {
            setenv(name, value.c_str(), 1);
            names_.push_back(name);
        }
        simt::reset();
    }
    ~Environment() {
        for (const auto &name : names_) unsetenv(name.c_str());
        simt::reset();
    }
    Environment(const Environment &) = delete;
    Environment &operator=(const Environment &) = delete;

private:
    std::vector<std::string> names_;
};

inline Environment with_seed(int seed) { return Environment({{"TENSORLIB_SIMT_SEED", std::to_string(seed)}}); }

// A statement of its own, whatever stands around it.
#define OK(call)                                                                     \
    do {                                                                             \
        ASSERT_EQ((call), cudaSuccess) << cudaGetErrorString(cudaPeekAtLastError()); \
    } while (false)

inline cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
}
inline cudaEvent_t new_event() {
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    return event;
}
// Device memory of n floats with these values, or unwritten.
inline float *device_floats(std::size_t n) {
    float *p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, n * sizeof(float)), cudaSuccess);
    return p;
}
inline float *device_floats(const std::vector<float> &values) {
    float *p = device_floats(values.size());
    EXPECT_EQ(cudaMemcpy(p, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
    return p;
}
inline std::vector<float> floats_of(const float *p, std::size_t n) {
    std::vector<float> values(n);
    EXPECT_EQ(cudaMemcpy(values.data(), p, n * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
}
inline float *pinned_floats(std::size_t n) {
    float *p = nullptr;
    EXPECT_EQ(cudaMallocHost(&p, n * sizeof(float)), cudaSuccess);
    return p;
}

// What a run ended with: the code, and the text that every language's error would show.
struct Outcome {
    cudaError_t code;
    std::string text;
};
inline Outcome outcome(cudaError_t code) { return {code, code == cudaSuccess ? "" : cudaGetErrorString(code)}; }

inline void expect_fault(const Outcome &got, cudaError_t code, std::initializer_list<const char *> words) {
    EXPECT_EQ(got.code, code) << got.text;
    for (const char *word : words) EXPECT_NE(got.text.find(word), std::string::npos) << "\"" << word << "\" is missing in: " << got.text;
    EXPECT_NE(got.text.find("(seed "), std::string::npos) << got.text;
}

// Runs a kernel of kernels.hpp to its end.
inline Outcome run(const char *kernel, float *p, float *q, int bad, unsigned grid = 2, unsigned block = 64, std::size_t shared = 0) {
    const cudaStream_t stream = new_stream();
    cudaError_t code = cudaDeviceSynchronize();
    if (code == cudaSuccess) code = launch_kernel(kernel, p, q, bad, grid, block, shared, stream);
    if (code == cudaSuccess) code = cudaStreamSynchronize(stream);
    return outcome(code);
}

}  // namespace support
