// A kernel launch: the one door through which kernels reach the simulator.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <tuple>

namespace simt {

// A kernel with its arguments, copied at the launch as a GPU does.
struct KernelCall {
    const char *name;                  // static storage
    const void *function;              // identifies the kernel for cudaFuncSetAttribute
    void (*run_thread)(const void *);  // calls the kernel once, as one thread
    std::shared_ptr<const void> arguments;
    std::size_t arguments_size;
};

cudaError_t queue_kernel(KernelCall call, dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream);

// Queues a kernel; `name` has static storage. Returns cudaErrorInvalidConfiguration for a grid or block that CUDA
// refuses, cudaErrorInvalidValue for more shared memory than the kernel was allowed.
template <class... P, class... A>
cudaError_t launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                   A... args) {
    static_assert(sizeof...(P) == sizeof...(A), "the kernel takes another number of arguments");
    using Arguments = std::tuple<void (*)(P...), P...>;
    const auto run = [](const void *arguments) {
        std::apply([](void (*f)(P...), const P &...values) { f(values...); }, *static_cast<const Arguments *>(arguments));
    };
    return queue_kernel({name, reinterpret_cast<const void *>(kernel), run, std::make_shared<Arguments>(kernel, static_cast<P>(args)...),
                         sizeof(Arguments)},
                        grid, block, shared_bytes, stream);
}

}  // namespace simt
