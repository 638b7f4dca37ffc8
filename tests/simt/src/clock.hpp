// Vector clocks: what happens before what.
//
// Each stream owns a slot and numbers its work 1, 2, ... there. A clock holds, per slot, the number up to which that
// slot's work is known to have happened. Work with number n of slot s happens before work with clock c iff c[s] >= n.
// Clocks are known when work is queued: stream order, events and the host's synchronisation are all fixed then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace simt {

class Clock {
public:
    std::uint32_t at(int slot) const noexcept { return static_cast<std::size_t>(slot) < counts_.size() ? counts_[slot] : 0; }
    bool includes(int slot, std::uint32_t number) const noexcept { return at(slot) >= number; }
    void raise(int slot, std::uint32_t number) {
        if (static_cast<std::size_t>(slot) >= counts_.size()) counts_.resize(static_cast<std::size_t>(slot) + 1);
        counts_[slot] = std::max(counts_[slot], number);
    }
    void join(const Clock &other) {
        if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
        for (std::size_t i = 0; i < other.counts_.size(); i++) counts_[i] = std::max(counts_[i], other.counts_[i]);
    }

private:
    std::vector<std::uint32_t> counts_;
};

// A point in a slot's order.
struct Point {
    int slot = -1;
    std::uint32_t number = 0;
};

}  // namespace simt
