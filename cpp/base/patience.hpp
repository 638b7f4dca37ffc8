// How long a call waits for what another call holds: it tries, and sleeps before it tries again.
//
// Waiters and holders share nothing. Releasing a lock therefore costs nothing more, and a child that was forked while
// others waited inherits no lock of theirs. The price is that a waiter notices a free lock late, by at most an eighth
// of its waiting time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tensorlib::core {

// How many turns of backends this thread holds. If it holds any, it is inside a callback and must not wait, because it
// might wait for its own turn.
int &turns_held() noexcept;

class Patience {
public:
    using Clock = std::chrono::steady_clock;

    // A limit of 0 means none: the call does not wait, and does not read the clock.
    explicit Patience(std::uint64_t limit_ns) noexcept;

    bool is_limited() const noexcept { return limit_ns_ != 0; }
    Clock::time_point deadline() const noexcept { return deadline_; }
    // Tries until it succeeds. False if it did not within the limit, or at once if this thread may not wait.
    template <class Try>
    bool until(Try attempt) {
        for (;;) {
            if (attempt()) return true;
            if (!pause()) return false;
        }
    }
    // The part of a message after "is in use": ", for longer than the busy timeout of 100 ms", or nothing.
    std::string text() const;

private:
    // Sleeps; false if the limit has passed.
    bool pause() noexcept;

    std::uint64_t limit_ns_;
    Clock::time_point begin_{}, deadline_{};
};

}  // namespace tensorlib::core
