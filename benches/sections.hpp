// The sections of the report, a file each; micro.cpp calls them in this order.
#pragma once

#include "base/thread_pool.hpp"
#include "cpu/dispatch.hpp"
#include "dtype/dtype.hpp"
#include "limits.hpp"
#include "peer.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tensorlib::bench {

// What all sections measure on.
struct Bench {
    const core::Isa &isa;
    Limits limits;
    std::vector<std::unique_ptr<Peer>> peers;  // those that the system has
    std::vector<int> threads;                  // 1, and all that this process may use
    double budget;                             // seconds per row
    std::vector<std::string> types;            // those that are wanted; empty: all
    const Rows &rows;

    bool wants(const core::DTypeTraits &type) const {
        return types.empty() || std::find(types.begin(), types.end(), type.name) != types.end();
    }
};

// The limits of an ISA that this build has.
Limits limits_of(const char *isa);

// Rounds of one of the limits' chains, on all threads of a pool: 400 million operations a thread, some milliseconds, cut into chunks so
// that a thread that starts late takes fewer. Returns the number of operations.
std::int64_t run_chains(void (*chains)(std::int64_t rounds, float *sink), std::int64_t ops_per_round, core::ThreadPool &pool);
// Multiply-adds of F32.
inline std::int64_t run_multiply_add(const Limits &limits, core::ThreadPool &pool) {
    return run_chains(limits.multiply_add, limits.flops_per_round, pool);
}
// Reads n floats on all threads of a pool, in the way (one or four streams a chunk) that `four` says.
void run_read(const Limits &limits, core::ThreadPool &pool, const float *from, std::int64_t n, bool four);

void report_chain(const Bench &bench);
void report_kernels(const Bench &bench);
void report_packing(const Bench &bench);
void report_codes(const Bench &bench);
void report_products(const Bench &bench);
void report_weights(const Bench &bench);
void report_experts(const Bench &bench);
void report_sparse(const Bench &bench);
void report_add(const Bench &bench);
void report_copies(const Bench &bench);
void report_tiles(const Bench &bench);
void report_elementwise(const Bench &bench);
void report_convolutions(const Bench &bench);
void report_reductions(const Bench &bench);
void report_attention(const Bench &bench);
void report_recurrent(const Bench &bench);
void report_norms(const Bench &bench);
void report_steps(const Bench &bench);
void report_joined(const Bench &bench);
void report_threads(const Bench &bench);
void report_accuracy(const Bench &bench);
void report_formats(const Bench &bench);

}  // namespace tensorlib::bench
