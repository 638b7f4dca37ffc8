// Numbers for tests that draw their cases: the same seed gives the same cases on every machine.
#pragma once

#include <cstdint>
#include <iterator>

namespace support {

// splitmix64
class Draw {
public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits() {
        std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
        return x ^ (x >> 31);
    }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
    bool percent(int n) { return below(100) < n; }
    template <class Range>
    const auto &of(const Range &range) {
        return range[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(range))))];
    }

private:
    std::uint64_t state_;
};

}  // namespace support
