// How to wait for another thread: spin a while, then park. What is waited for is the caller's business.
#pragma once

#include <chrono>
#include <thread>

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

// After this the core may be somebody else's who is ready to run: the very thread that is waited for, if the system put
// both on one. Most gaps are shorter.
constexpr std::chrono::microseconds polite_after{5};

enum class Spin {
    keep_core,   // for who has work again as soon as it is ready
    offer_core,  // for who is only of use if the core is free
};

// Spins until ready() or until spin_time is over; returns ready()'s last answer. The clock costs 20-40 ns, so
// it is read once in 64 rounds; a yield with nobody waiting some 500 ns.
template <class Ready>
bool spin_until(Spin spin, Ready ready) noexcept {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
        for (int i = 0; i < 64; i++) {
            if (ready()) return true;
            cpu_relax();
        }
        const auto spun = std::chrono::steady_clock::now() - begin;
        if (spun >= spin_time) return ready();
        if (spin == Spin::offer_core && spun >= polite_after) std::this_thread::yield();
    }
}

}  // namespace tensorlib::core
