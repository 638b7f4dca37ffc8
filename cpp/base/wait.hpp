// How to wait for another thread: spin a while, then park. What is waited for is the caller's business.
#pragma once

#include <chrono>

#if (defined(__x86_64__) || defined(__i386__)) && !defined(TL_PORTABLE)
#include <immintrin.h>
#endif

namespace tensorlib::core {

// Tells the core that this is a spin loop: it saves power and gives the sibling thread room.
inline void cpu_relax() noexcept {
#if (defined(__x86_64__) || defined(__i386__)) && !defined(TL_PORTABLE)
    _mm_pause();
#elif defined(__aarch64__) && !defined(TL_PORTABLE)
    asm volatile("yield");
#endif
}

// Long enough to bridge the gap between two operations of a graph (a few microseconds), short enough that a
// worker whose core is wanted elsewhere wastes little of it: parking and waking cost about as much.
constexpr std::chrono::microseconds spin_time{50};

// Spins until ready() or until spin_time is over; returns ready()'s last answer. The clock costs 20-40 ns, so
// it is read once in 64 rounds.
template <class Ready>
bool spin_until(Ready ready) noexcept {
    const auto deadline = std::chrono::steady_clock::now() + spin_time;
    do {
        for (int i = 0; i < 64; i++) {
            if (ready()) return true;
            cpu_relax();
        }
    } while (std::chrono::steady_clock::now() < deadline);
    return ready();
}

}  // namespace tensorlib::core
