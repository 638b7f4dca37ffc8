// The sections of the report, a file each; micro.cpp calls them in this order.
#pragma once

#include "base/thread_pool.hpp"
#include "cpu/dispatch.hpp"
#include "limits.hpp"
#include "openblas.hpp"

#include <cstdint>
#include <vector>

namespace tensorlib::bench {

// What all sections measure on.
struct Bench {
    const core::IsaLevel &isa;
    Limits limits;
    OpenBlas blas;
    std::vector<int> threads;  // 1, and all that this process may use
    double budget;             // seconds per row
};

// The limits of a level that this build has.
Limits limits_of(const char *level);

// Multiply-adds in registers, on all threads of a pool: about 2 ms of work, cut into chunks so that a thread that
// starts late takes fewer. Returns the number of floating-point operations.
std::int64_t run_multiply_add(const Limits &limits, core::ThreadPool &pool);
// Reads n floats on all threads of a pool, in the way (one or four streams a chunk) that `four` says.
void run_read(const Limits &limits, core::ThreadPool &pool, const float *from, std::int64_t n, bool four);

void report_chain(const Bench &bench);
void report_kernels(const Bench &bench);
void report_products(const Bench &bench);
void report_add(const Bench &bench);
void report_formats(const Bench &bench);

}  // namespace tensorlib::bench
