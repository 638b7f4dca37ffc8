#include "groups/engine.hpp"

#include <mutex>
#include <utility>

namespace tensorlib::core {

// Allocates nothing, so that it cannot fail.
void keep_for_ever(std::unique_ptr<Exchange> exchange, std::shared_ptr<const void> memory) noexcept {
    static std::mutex lock;
    static Exchange *kept = nullptr;  // never freed
    const std::lock_guard guard(lock);
    exchange->memory_ = std::move(memory);
    exchange->next_kept_.reset(std::exchange(kept, nullptr));
    kept = exchange.release();
}

std::string left_text(int rank) { return "rank " + std::to_string(rank) + " has left the group"; }

std::string ranks_text(const std::vector<int> &ranks) {
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "rank " : ", ") + std::to_string(rank);
    return text;
}

}  // namespace tensorlib::core
