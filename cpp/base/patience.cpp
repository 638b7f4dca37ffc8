#include "base/patience.hpp"

#include "base/fail.hpp"

#include <algorithm>
#include <thread>

namespace tensorlib::core {

int &turns_held() noexcept {
    thread_local int held = 0;
    return held;
}

Patience::Patience(std::uint64_t limit_ns) noexcept : limit_ns_(turns_held() == 0 ? limit_ns : 0) {
    if (!is_limited()) return;
    begin_ = Clock::now();
    const auto most = static_cast<std::uint64_t>((Clock::time_point::max() - begin_).count());
    deadline_ = begin_ + std::chrono::nanoseconds(std::min(limit_ns_, most));
}

bool Patience::pause() noexcept {
    using std::chrono::microseconds;
    if (!is_limited()) return false;
    const auto now = Clock::now();
    if (now >= deadline_) return false;
    const auto length = std::clamp<Clock::duration>((now - begin_) / 8, microseconds(20), microseconds(1000));
    std::this_thread::sleep_for(std::min<Clock::duration>(length, deadline_ - now));
    return true;
}

std::string Patience::text() const {
    if (!is_limited()) return {};
    return format_text(", for longer than the busy timeout of %g ms", static_cast<double>(limit_ns_) * 1e-6);
}

}  // namespace tensorlib::core
