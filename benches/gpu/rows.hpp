// The rows of the GPU's table: each operation, its check, and the limit that it is compared with.
#pragma once

#include "copy_limit.hpp"

#include "../support.hpp"

#include <tensorlib/tensorlib.hpp>

#include <cstdint>
#include <string>

namespace tensorlib::bench {

// The device, opened as a program opens it and with cuBLASLt left out, and the limit of its memory.
struct Gpu {
    Backend as_is, built_in;
    CopyLimit copy;
    double budget;  // seconds for a row
};

// Prints the rows' head, then a row per call. A row's operation runs several times in one graph, on operands of its own
// in turn, so that starting a graph is a small part of the time and the L2 serves none of them.
void print_head();

// mul_mat [k, m] x [k, n] in F32. Up to `matvec_columns` columns it is limited by reading the weights and compared with
// the copy; with more columns it is compared with cuBLASLt.
constexpr std::int64_t matvec_columns = 8;
void mul_mat_row(Gpu &gpu, std::int64_t k, std::int64_t m, std::int64_t n, int n_weights, int n_products);

// a + b of this many F32, and cpy of as many to `to`, compared with the copy.
void add_row(Gpu &gpu, std::int64_t n);
void cpy_row(Gpu &gpu, std::int64_t n, Type to);

}  // namespace tensorlib::bench
