// Converts matrices of floats to storage types and back, outside of any graph, for converting model files.
//
// Memory is streamed: one thread reads, encodes and writes a chunk of whole blocks, and nothing is copied. The bytes do
// not depend on the ISA or the number of threads.
#pragma once

#include "dtype/dtype.hpp"
#include "runtime/backend.hpp"

#include <cstdint>

namespace tensorlib::core {

struct Quantization {
    DType type;
    const float *src;  // n_rows * n_per_row
    void *dst;         // that many elements as blocks of the type, at any address
    std::int64_t n_rows, n_per_row;
    const float *importance = nullptr;  // n_per_row weights of the columns' squared errors; null for ones
};

// On the calling thread, with the ISA that TENSORLIB_ISA selects. Throws Error(invalid_argument), with a message headed
// by `what`, for null pointers, sizes that do not fit, and importance that is negative or not finite. Also throws it
// for the first value that the type cannot hold; dst's contents are then undefined.
void quantize(const char *what, const Quantization &job);

// With a backend's threads and ISA. Also throws Error(unsupported) for backends that do not compute on the CPU.
void quantize(const char *what, Backend &backend, const Quantization &job);

// Decodes n elements, a multiple of the type's block size, on the calling thread.
void dequantize(const char *what, DType type, const void *src, float *dst, std::int64_t n);

}  // namespace tensorlib::core
