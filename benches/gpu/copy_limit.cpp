#include "copy_limit.hpp"

#include "../support.hpp"

#include <cuda_runtime.h>

#include <string>

namespace tensorlib::bench {
namespace {

void ok(cudaError_t error, const char *call) {
    if (error != cudaSuccess) die(std::string(call) + ": " + cudaGetErrorString(error));
}

}  // namespace

CopyLimit::CopyLimit(int device, std::size_t bytes, int n_buffers) : bytes_(bytes) {
    ok(cudaSetDevice(device), "cudaSetDevice");
    for (int i = 0; i < n_buffers; i++) {
        for (std::vector<void *> *side : {&from_, &to_}) {
            void *buffer = nullptr;
            ok(cudaMalloc(&buffer, bytes), "cudaMalloc");
            side->push_back(buffer);
            ok(cudaMemset(buffer, static_cast<int>(side == &from_), bytes), "cudaMemset");
        }
    }
}

CopyLimit::~CopyLimit() {
    for (const std::vector<void *> *side : {&from_, &to_}) {
        for (void *buffer : *side) cudaFree(buffer);
    }
}

void CopyLimit::run() const {
    for (std::size_t i = 0; i < from_.size(); i++) {
        ok(cudaMemcpyAsync(to_[i], from_[i], bytes_, cudaMemcpyDeviceToDevice, nullptr), "cudaMemcpyAsync");
    }
    ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace tensorlib::bench
