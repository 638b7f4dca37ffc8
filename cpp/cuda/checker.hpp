// Tells the simulated GPU more than CUDA's own calls do, so that it can find more faults. Does nothing on a real GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>

namespace tensorlib::core::checker {

#if defined(TENSORLIB_SIMT)
// From now on, in stream order, reading these bytes before they are written is an error.
inline void mark_unwritten(void *memory, std::size_t size, cudaStream_t stream) { simt_mark_unwritten(memory, size, stream); }
// Effective at once: the first marks bytes as unwritten; the second makes any access an error.
inline void mark_unwritten_now(void *memory, std::size_t size) { simt_mark_unwritten_now(memory, size); }
inline void mark_no_access(void *memory, std::size_t size) { simt_mark_no_access(memory, size); }
#else
inline void mark_unwritten(void *, std::size_t, cudaStream_t) {}
inline void mark_unwritten_now(void *, std::size_t) {}
inline void mark_no_access(void *, std::size_t) {}
#endif

}  // namespace tensorlib::core::checker
