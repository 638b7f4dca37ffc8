#include "dtype/codebooks.hpp"

#include "dtype/grid_expansion.hpp"

namespace tensorlib::core::codebooks {

constexpr Grids expanded = expand();
const Grids host_grids = expanded;

namespace {

template <class Word, int n>
void spread(const Word (&grid)[n], float *levels) {
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < static_cast<int>(sizeof(Word)); i++) levels[i * n + k] = static_cast<std::int8_t>(grid[k] >> (8 * i));
    }
}

GridLevels spread_all() noexcept {
    GridLevels levels;
    spread(host_grids.iq2xxs, levels.iq2xxs);
    spread(host_grids.iq2xs, levels.iq2xs);
    spread(host_grids.iq2s, levels.iq2s);
    spread(host_grids.iq1s, levels.iq1s);
    spread(host_grids.iq3xxs, levels.iq3xxs);
    spread(host_grids.iq3s, levels.iq3s);
    return levels;
}

}  // namespace

const GridLevels &grid_levels() noexcept {
    static const GridLevels levels = spread_all();
    return levels;
}

}  // namespace tensorlib::core::codebooks
