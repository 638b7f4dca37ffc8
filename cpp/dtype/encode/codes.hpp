// The sets of levels that codes stand for. nearest() rounds to a level, lane by lane.
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/encode/lanes.hpp"

namespace TL_FORMATS::encoding {

// The integers low..high.
template <int low, int high>
struct Uniform {
    TL_ENCODE_INLINE static Lanes nearest(const Lanes &v) {
        return round(min(max(v, all(static_cast<float>(low))), all(static_cast<float>(high))));
    }
};

// Sixteen ascending levels: a value above the middle between two levels belongs to the upper one. A level's code is its
// index.
struct Nonlinear {
    TL_ENCODE_INLINE static Lanes nearest(const Lanes &v) {
        Lanes level = all(static_cast<float>(iq4nl_value(0)));
        for (int q = 1; q < 16; q++) {
            const auto upper = static_cast<float>(iq4nl_value(q)), middle = 0.5f * (upper + static_cast<float>(iq4nl_value(q - 1)));
            level = where_less(all(middle), v, all(upper), level);
        }
        return level;
    }
    static int code(float level) {
        int q = 0;
        while (iq4nl_value(q) < static_cast<int>(level)) q++;
        return q;
    }
};

// E2M1, doubled: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives. Steps of 1 up to 4, of 2 up to 8, then 12.
struct Fp4 {
    TL_ENCODE_INLINE static Lanes nearest(const Lanes &v) {
        const Lanes size = min(abs(v), all(12.0f));
        Lanes level = round(size);
        level = where_less(all(4.0f), size, round(size * 0.5f) * 2.0f, level);
        level = where_less(all(8.0f), size, where_less(all(10.0f), size, all(12.0f), all(8.0f)), level);
        return where_less(v, all(0), all(0) - level, level);
    }
    static int code(float level) {
        const int size = static_cast<int>(level < 0 ? -level : level);
        int q = 0;
        while (fp4_value(q) < size) q++;
        return level < 0 ? q | 8 : q;
    }
};

}  // namespace TL_FORMATS::encoding
