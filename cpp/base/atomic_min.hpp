// The minimum of values that several threads find.
#pragma once

#include <atomic>

namespace tensorlib::core {

// `least`, a std::atomic or std::atomic_ref, becomes the smaller of both. It orders nothing else: readers of the result
// wait for the threads first.
template <class Atomic, class T>
void atomic_min(Atomic &&least, T value) noexcept {
    T seen = least.load(std::memory_order_relaxed);
    while (value < seen && !least.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
}

}  // namespace tensorlib::core
