// ISAs: which this build has, which this CPU can run, and each one's table of SIMD kernels.
#pragma once

#include "cpu/simd/simd_table.hpp"

#include <cstddef>
#include <string>

namespace tensorlib::core {

struct Isa {
    const char *name;  // "avx512", "avx2", "baseline"
    simd::SimdTable kernels;
};

// The ISAs that this CPU can run, best first; the last is always "baseline".
std::size_t isa_count() noexcept;
const Isa &isa_at(std::size_t index) noexcept;

// The ISA that `name` asks for, whatever the case; the best one where it is empty. Throws Error(invalid_argument) for
// no ISA at all, Error(unavailable), naming those that are, for one that this CPU or this build lacks; `what` heads the message.
const Isa &choose_isa(const std::string &name, const char *what = "backend_create");

}  // namespace tensorlib::core
