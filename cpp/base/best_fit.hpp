// Best fit: the smallest of several gaps that is large enough, so that the remainder is smallest.
#pragma once

#include <cstddef>

namespace tensorlib::core {

// Gaps are anything with a `size`. Returns end() if none is large enough.
template <class Gaps>
auto best_fit(Gaps &gaps, std::size_t size) {
    auto best = gaps.end();
    for (auto it = gaps.begin(); it != gaps.end(); ++it) {
        if (it->size >= size && (best == gaps.end() || it->size < best->size)) best = it;
    }
    return best;
}

}  // namespace tensorlib::core
