// The only exception type of the C++ API, and the status numbers that it shares with the C ABI.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace tensorlib {

// The numbers are those of the C ABI (TL_STATUS_...); they never change.
enum class Status : std::int32_t {
    ok = 0,
    invalid_argument = 1,
    shape_mismatch = 2,
    type_mismatch = 3,
    context_mismatch = 4,
    unsupported = 5,
    unavailable = 6,
    out_of_memory = 7,
    busy = 8,
    aborted = 9,
    io = 10,
    format = 11,
    device = 12,
    internal = 13,
    group = 14,
};

// Thrown by every function that can fail. what() names the operation, the shapes and what would be valid.
class Error : public std::exception {
public:
    Error(Status code, std::string message) : code_(code), message_(std::move(message)) {}
    Status code() const noexcept { return code_; }
    const char *what() const noexcept override { return message_.c_str(); }

private:
    Status code_;
    std::string message_;
};

}  // namespace tensorlib
