// How to wait for another thread: spin a while, then park. The caller defines what it waits for.
#pragma once

#include <chrono>
#include <thread>

#if (defined(__x86_64__) || defined(__i386__)) && !defined(TL_PORTABLE)
#include <immintrin.h>
#endif

namespace tensorlib::core {

// Tells the core that this is a spin loop, which saves power and leaves the sibling thread room.
inline void cpu_relax() noexcept {
#if (defined(__x86_64__) || defined(__i386__)) && !defined(TL_PORTABLE)
    _mm_pause();
#elif defined(__aarch64__) && !defined(TL_PORTABLE)
    asm volatile("yield");
#endif
}

// Long enough to bridge the gap between two operations of a graph (a few microseconds), short enough that a worker
// wastes little of a core that is needed elsewhere: parking and waking cost about as much.
constexpr std::chrono::microseconds spin_time{50};

// After this time, another thread that is ready may need the core: the very thread that is waited for, if the system
// put both on one core. Most gaps are shorter.
constexpr std::chrono::microseconds polite_after{5};

enum class Spin {
    keep_core,   // for a thread that has work again as soon as it is ready
    offer_core,  // for a thread that is useful only if the core is free
};

// Spins until ready() or until spin_time is over, and returns ready()'s last answer. The clock costs 20-40 ns, so it is
// read once per 64 rounds; a yield with no other thread waiting costs some 500 ns.
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

// For a thread that asks again and again for what another process, or a thread that is not ours, does. They may share cores, so
// it offers its own. It sleeps only after some 100 ms: where asking is what moves data, 64 MiB take four times as long with sleeps.
constexpr int rounds_before_sleep = 1 << 18;
inline void back_off(int round) {
    if (round < 64) {
        cpu_relax();
    } else if (round < rounds_before_sleep) {
        std::this_thread::yield();
    } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

}  // namespace tensorlib::core
