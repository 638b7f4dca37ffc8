// The settings of the environment, and a repeatable random generator.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

enum class Driver { ok, none, old };

// One entry of TENSORLIB_SIMT_FAIL: the n-th call of this name (from 1) fails with this code.
struct PlannedFailure {
    std::string call;
    std::uint64_t n;
    cudaError_t code;
};

struct Config {
    std::uint64_t seed = 1;
    int devices = 1;
    std::size_t memory = std::size_t{1} << 30;
    Driver driver = Driver::ok;
    std::vector<PlannedFailure> failures;
};

// Reads TENSORLIB_SIMT_*. A malformed value ends the process with a message: a run with other settings than the
// ones asked for would prove nothing.
Config read_config();

// Small and fast, the same everywhere (xorshift64*).
class Random {
public:
    explicit Random(std::uint64_t seed = 1) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {
        if (state_ == 0) state_ = 1;
    }
    std::uint32_t next() noexcept {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1du) >> 32);
    }
    // 0 to n - 1.
    std::uint32_t below(std::uint32_t n) noexcept { return static_cast<std::uint32_t>((std::uint64_t{next()} * n) >> 32); }

private:
    std::uint64_t state_;
};

}  // namespace simt
