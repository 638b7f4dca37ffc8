// Matrices of floats to storage types and back, outside of any graph: what converts model files.
//
// Memory is streamed: a chunk of whole blocks is read, encoded and written by one thread, nothing is copied. The bytes do not
// depend on the ISA or the number of threads.
#pragma once

#include "dtype/dtype.hpp"
#include "runtime/backend.hpp"

#include <cstdint>

namespace tensorlib::core {

struct Quantization {
    DType type;
    const float *src;  // n_rows * n_per_row
    void *dst;         // as many elements as blocks of the type, at any address
    std::int64_t n_rows, n_per_row;
    const float *importance = nullptr;  // n_per_row weights of the columns' squared errors; null: ones
};

// On the calling thread, with the ISA that TENSORLIB_ISA asks for. Throws Error(invalid_argument), its message headed by `what`,
// for null pointers, sizes that do not fit, importance that is negative or not finite, and for the first value that the type
// cannot hold; after the last, dst's contents are undefined.
void quantize(const char *what, const Quantization &job);

// With a backend's threads and ISA. Also throws Error(unsupported) for backends that compute elsewhere than on the CPU.
void quantize(const char *what, Backend &backend, const Quantization &job);

// n elements, a multiple of the type's block size, on the calling thread.
void dequantize(const char *what, DType type, const void *src, float *dst, std::int64_t n);

}  // namespace tensorlib::core
