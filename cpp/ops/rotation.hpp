// The constants that a rope's attributes determine, for its kernels. ops/attention.toml has the formula.
#pragma once

#include "dtype/host_device.hpp"
#include "graph/tensor.hpp"

#include <cstdint>

namespace tensorlib::core::ops {

struct Rotation {
    std::int64_t pairs = 0;
    std::int64_t first = 0;   // the first element that is rotated
    bool neighbours = false;  // pairs 2 k with 2 k + 1; otherwise k with k + pairs
    double direction = 1;     // 1, or -1 for the inverse rotation
    float size = 1;           // m
    // The numbers of pairs that use the first position, the second position and so on; all 0 if each pair uses the only
    // position. Not a std::array, because its operator[] cannot be called from device code.
    std::int64_t sections[4] = {};
    bool interleaved = false;  // the sections take turns, pair by pair
    bool restarts = false;     // exponents begin at 0 in each section
    double step = 1;           // freq_base^(-2 / n_dims)
    double scale = 1, extended = 0, low = 0, high = 0;

    // w(k) with the direction's sign, for a pair with this power of step (its frequency) and this factor of
    // freq_factors.
    TL_HOST_DEVICE double rate(std::int64_t pair, double frequency, double factor) const noexcept {
        double mix = 0;
        if (extended > 0) {
            const double width = high - low, ratio = (static_cast<double>(pair) - low) / (width > 0.001 ? width : 0.001);
            mix = extended * (1 - (ratio < 0 ? 0 : ratio > 1 ? 1 : ratio));
        }
        return direction * (frequency / factor) * (scale * (1 - mix) + mix);
    }
    // The pairs after which the sections begin again; 0 without sections.
    TL_HOST_DEVICE std::int64_t period() const noexcept { return sections[0] + sections[1] + sections[2] + sections[3]; }
    // Which of the token's positions a pair uses, and the power of step that is its frequency.
    struct Use {
        int position;
        std::int64_t exponent;
    };
    TL_HOST_DEVICE Use use_of(std::int64_t pair) const noexcept {
        if (period() == 0) return {0, pair};
        std::int64_t at = pair % period();
        if (interleaved) {
            const int turn = static_cast<int>(at % 3);
            return {at / 3 < sections[turn] ? turn : 3, pair};
        }
        int section = 0;
        while (at >= sections[section]) at -= sections[section++];
        return {section, restarts ? at : pair};
    }
};

Rotation rotation_of(const Tensor &node) noexcept;

}  // namespace tensorlib::core::ops
