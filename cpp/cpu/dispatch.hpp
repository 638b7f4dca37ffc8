// ISAs: those that this build has, those that this CPU can run, and the table of SIMD kernels of each.
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

// The ISA of that name, ignoring case; the best one if the name is empty. Throws Error(invalid_argument) if there is no
// such ISA, and Error(unavailable), naming the available ones, if this CPU or this build lacks it. `what` heads the
// message.
const Isa &choose_isa(const std::string &name, const char *what = "backend_create");

}  // namespace tensorlib::core
