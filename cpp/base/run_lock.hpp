// A shared/exclusive lock that never waits: a second caller gets an error (TL_STATUS_BUSY).
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorlib::core {

class RunLock {
public:
    bool try_shared() noexcept {
        std::int32_t n = state_.load(std::memory_order_relaxed);
        // acquire pairs with unlock's release, so this reader sees what the last writer wrote.
        while (n >= 0) {
            if (state_.compare_exchange_weak(n, n + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
        }
        return false;
    }
    bool try_exclusive() noexcept {
        std::int32_t free = 0;
        return state_.compare_exchange_strong(free, -1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void unlock_shared() noexcept { state_.fetch_sub(1, std::memory_order_release); }
    void unlock_exclusive() noexcept { state_.store(0, std::memory_order_release); }

private:
    // -1: one writer; n >= 0: n readers. Every lock and unlock writes it.
    std::atomic<std::int32_t> state_{0};
};

}  // namespace tensorlib::core
