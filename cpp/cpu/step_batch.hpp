// Steps that run as one: consecutive steps of a kernel that allows it (CpuKernel::batchable), none of which writes what
// another one touches. Their chunks are handed to the threads together, so that many small steps, each too small for a
// second thread, use all threads.
#pragma once

#include "cpu/cpu_kernel.hpp"
#include "runtime/backend.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tensorlib::core {

// The batches of a plan, found once.
class StepBatches final : public Backend::Recording {
public:
    explicit StepBatches(std::span<const Step> steps);

    // Steps [begin, end), and the numbers of their chunks, one step after the other.
    struct Batch {
        std::size_t begin, end;
        std::vector<std::int64_t> first_chunk;  // of each step, and one more for the end
        double bytes = 0;

        std::int64_t n_chunks() const noexcept { return first_chunk.back(); }
    };
    std::span<const Batch> batches() const noexcept { return batches_; }

private:
    std::vector<Batch> batches_;
};

}  // namespace tensorlib::core
