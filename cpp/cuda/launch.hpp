// The only way to launch a kernel: <<<>>> is not C++, and the simulated GPU must see every launch.
#pragma once

#include "cuda/cuda_kernel.hpp"

#include <cuda_runtime.h>
#include <cstddef>
#include <tuple>

namespace tensorlib::core {

struct Launch {
    const char *name;  // static storage; for the simulated GPU's reports
    dim3 grid, block;
    std::size_t shared_bytes = 0;  // all shared memory is dynamic; up to 48 KiB need no opt-in
};

template <class... P, class... A>
cudaError_t launch(const CudaStream &stream, const Launch &l, void (*kernel)(P...), A... args) noexcept {
#if defined(TENSORLIB_SIMT)
    return simt::launch(l.name, kernel, l.grid, l.block, l.shared_bytes, stream.stream, args...);
#else
    std::tuple<P...> values(static_cast<P>(args)...);
    return std::apply(
        [&](auto &...value) {
            void *addresses[] = {static_cast<void *>(&value)...};
            return cudaLaunchKernel(kernel, l.grid, l.block, addresses, l.shared_bytes, stream.stream);
        },
        values);
#endif
}

}  // namespace tensorlib::core
