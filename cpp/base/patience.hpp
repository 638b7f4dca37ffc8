// How long a call waits for what another call holds: it tries, and sleeps before it tries again.
//
// Nothing is shared between who waits and who holds: giving a lock back costs nothing more, and a child that was forked while others
// waited has no lock of theirs. The price is that a free lock is noticed late, by an eighth of what was waited at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tensorlib::core {

// How many turns of backends this thread holds. With any it is inside of a callback and must not wait: what it waits for may be its own.
int &turns_held() noexcept;

class Patience {
public:
    using Clock = std::chrono::steady_clock;

    // A limit of 0 is none: nothing is waited for, and the clock is not read.
    explicit Patience(std::uint64_t limit_ns) noexcept;

    bool is_limited() const noexcept { return limit_ns_ != 0; }
    Clock::time_point deadline() const noexcept { return deadline_; }
    // Tries until it succeeds; false where it did not within the limit, at once where this thread may not wait.
    template <class Try>
    bool until(Try attempt) {
        for (;;) {
            if (attempt()) return true;
            if (!pause()) return false;
        }
    }
    // What a message says behind "is in use": ", for longer than the busy timeout of 100 ms", or nothing.
    std::string text() const;

private:
    // Sleeps; false where the limit is over.
    bool pause() noexcept;

    std::uint64_t limit_ns_;
    Clock::time_point begin_{}, deadline_{};
};

}  // namespace tensorlib::core
