// Which items must precede which, and an order that respects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace tensorlib::core {

class Precedence {
public:
    explicit Precedence(std::size_t n) : followers_(n), waits_(n, 0) {}

    void follows(std::size_t first, std::size_t second) {
        followers_[first].push_back(static_cast<std::uint32_t>(second));
        waits_[second]++;
    }

    // The items that `wanted` accepts, each after the items that it must follow, which must all be accepted too. Among
    // the items that may come next, the one with the least key is taken. The result is shorter if there is a circle;
    // stuck() then lists the items in it or after it.
    template <class Key, class Wanted>
    std::vector<std::uint32_t> sorted(Key key, Wanted wanted) {
        using Entry = std::pair<decltype(key(std::uint32_t{0})), std::uint32_t>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
        const auto count = static_cast<std::uint32_t>(waits_.size());
        for (std::uint32_t i = 0; i < count; i++) {
            if (waits_[i] == 0 && wanted(i)) ready.push({key(i), i});
        }
        std::vector<std::uint32_t> order;
        while (!ready.empty()) {
            const std::uint32_t next = ready.top().second;
            ready.pop();
            order.push_back(next);
            for (const std::uint32_t follower : followers_[next]) {
                if (--waits_[follower] == 0) ready.push({key(follower), follower});
            }
        }
        return order;
    }
    template <class Key>
    std::vector<std::uint32_t> sorted(Key key) {
        return sorted(key, [](std::uint32_t) { return true; });
    }
    bool stuck(std::size_t i) const noexcept { return waits_[i] != 0; }

private:
    std::vector<std::vector<std::uint32_t>> followers_;
    std::vector<std::uint32_t> waits_;
};

}  // namespace tensorlib::core
