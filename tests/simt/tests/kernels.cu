#include "kernels.hpp"

#include "kernel_table.hpp"

#include <cstring>

namespace {

const Kernel *find(const char *name) {
    for (const auto &table : {memory_kernels(), block_kernels(), builtin_kernels()}) {
        for (const Kernel &kernel : table) {
            if (std::strcmp(kernel.name, name) == 0) return &kernel;
        }
    }
    return nullptr;
}

}  // namespace

cudaError_t launch_kernel(const char *name, float *p, float *q, int bad, dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
    const Kernel *kernel = find(name);
    return kernel ? simt::launch(kernel->name, kernel->function, grid, block, shared, stream, p, q, bad) : cudaErrorInvalidDeviceFunction;
}

cudaError_t allow_shared_memory(const char *name, int bytes) {
    const Kernel *kernel = find(name);
    return kernel ? cudaFuncSetAttribute(kernel->function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)
                  : cudaErrorInvalidDeviceFunction;
}
