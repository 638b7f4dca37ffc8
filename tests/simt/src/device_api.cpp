// Calls on devices.
#include "state.hpp"

#include <cstdio>

using namespace simt;

namespace {

constexpr int shared_per_block = 48 << 10, shared_optin = 227 << 10, shared_per_processor = 228 << 10;
constexpr int n_processors = 132, l2_bytes = 50 << 20, max_pitch = 2147483647;
constexpr int largest_block[] = {1024, 1024, 64}, largest_grid[] = {2147483647, 65535, 65535};
constexpr int driver_version = 13000, old_driver_version = 11040;

bool is_device(int index) { return index >= 0 && static_cast<std::size_t>(index) < state().devices.size(); }

}  // namespace

cudaError_t cudaGetDeviceCount(int *count) {
    return call("cudaGetDeviceCount", works_when_dead, [&]() -> cudaError_t {
        if (!count) return cudaErrorInvalidValue;
        *count = static_cast<int>(state().devices.size());
        return cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device) {
    return call("cudaSetDevice", works_when_dead, [&]() -> cudaError_t {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        current_device_index() = device;
        return health(current_device());
    });
}

cudaError_t cudaGetDevice(int *device) {
    return call("cudaGetDevice", works_when_dead, [&]() -> cudaError_t {
        if (!device) return cudaErrorInvalidValue;
        *device = current_device().index;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    return call("cudaGetDeviceProperties", works_when_dead, [&]() -> cudaError_t {
        if (!properties) return cudaErrorInvalidValue;
        if (!is_device(device)) return cudaErrorInvalidDevice;
        cudaDeviceProp p{};
        std::snprintf(p.name, sizeof p.name, "Simulated GPU");
        p.totalGlobalMem = state().config.memory;
        p.sharedMemPerBlock = shared_per_block;
        p.sharedMemPerBlockOptin = shared_optin;
        p.sharedMemPerMultiprocessor = shared_per_processor;
        p.memPitch = max_pitch;
        p.major = 9;
        p.multiProcessorCount = n_processors;
        p.l2CacheSize = l2_bytes;
        p.warpSize = 32;
        p.maxThreadsPerBlock = 1024;
        p.maxThreadsPerMultiProcessor = 2048;
        for (int i = 0; i < 3; i++) p.maxThreadsDim[i] = largest_block[i];
        for (int i = 0; i < 3; i++) p.maxGridSize[i] = largest_grid[i];
        p.pciBusID = device;
        *properties = p;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    return call("cudaDeviceGetAttribute", works_when_dead, [&]() -> cudaError_t {
        if (!value) return cudaErrorInvalidValue;
        if (!is_device(device)) return cudaErrorInvalidDevice;
        switch (attribute) {
            case cudaDevAttrMaxThreadsPerBlock:
            case cudaDevAttrMaxBlockDimX:
            case cudaDevAttrMaxBlockDimY: *value = 1024; return cudaSuccess;
            case cudaDevAttrMaxBlockDimZ: *value = 64; return cudaSuccess;
            case cudaDevAttrMaxGridDimX: *value = 2147483647; return cudaSuccess;
            case cudaDevAttrMaxGridDimY:
            case cudaDevAttrMaxGridDimZ: *value = 65535; return cudaSuccess;
            case cudaDevAttrMaxSharedMemoryPerBlock: *value = shared_per_block; return cudaSuccess;
            case cudaDevAttrWarpSize: *value = 32; return cudaSuccess;
            case cudaDevAttrMaxPitch: *value = max_pitch; return cudaSuccess;
            case cudaDevAttrMultiProcessorCount: *value = n_processors; return cudaSuccess;
            case cudaDevAttrL2CacheSize: *value = l2_bytes; return cudaSuccess;
            case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; return cudaSuccess;
            case cudaDevAttrUnifiedAddressing: *value = 1; return cudaSuccess;
            case cudaDevAttrComputeCapabilityMajor: *value = 9; return cudaSuccess;
            case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
            case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = shared_per_processor; return cudaSuccess;
            case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_optin; return cudaSuccess;
        }
        return refuse(cudaErrorInvalidValue, "cudaDeviceGetAttribute: attribute %d is not simulated", static_cast<int>(attribute));
    });
}

cudaError_t cudaMemGetInfo(std::size_t *free, std::size_t *total) {
    return call("cudaMemGetInfo", plain, [&]() -> cudaError_t {
        if (!free || !total) return cudaErrorInvalidValue;
        const DeviceMemory &memory = current_device().memory;
        *free = memory.limit - memory.used;
        *total = memory.limit;
        return cudaSuccess;
    });
}

// Without a driver the version is 0, and that is no error.
cudaError_t cudaDriverGetVersion(int *version) {
    return call("cudaDriverGetVersion", works_without_driver, [&]() -> cudaError_t {
        if (!version) return cudaErrorInvalidValue;
        const Driver driver = state().config.driver;
        *version = driver == Driver::ok ? driver_version : driver == Driver::old ? old_driver_version : 0;
        return cudaSuccess;
    });
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    return call("cudaRuntimeGetVersion", works_without_driver, [&]() -> cudaError_t {
        if (!version) return cudaErrorInvalidValue;
        *version = CUDART_VERSION;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize() {
    return call("cudaDeviceSynchronize", unsafe_during_capture, [&]() -> cudaError_t {
        synchronise(current_device());
        return health(current_device());
    });
}
