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

// mul_mat [k, m] x [k, n] of weights of a type, from 8 weights in turn. Up to `matvec_columns` columns it is compared
// with the copy.
void weights_row(Gpu &gpu, Type type, std::int64_t k, std::int64_t m, std::int64_t n);

// Attention of n queries to `keys` keys and values in F16, with 32 heads of 128 elements and 8 heads of keys. One query
// is limited by reading keys and values.
void attention_row(Gpu &gpu, std::int64_t n, std::int64_t keys);

// gated_delta_net of a sequence, with 32 heads of `size` elements. One token is limited by reading and writing the state.
void delta_row(Gpu &gpu, std::int64_t tokens, std::int64_t size);

// rms_norm, soft_max and sum over rows of `row` F32, `elements` in all, compared with the copy.
void row_rows(Gpu &gpu, std::int64_t row, std::int64_t elements);

// a + b of this many F32, and cpy of as many to `to`, compared with the copy.
void add_row(Gpu &gpu, std::int64_t n);
void cpy_row(Gpu &gpu, std::int64_t n, Type to);

// silu(a) * b of this many F32, one program of two operations.
void program_row(Gpu &gpu, std::int64_t n);

}  // namespace tensorlib::bench
