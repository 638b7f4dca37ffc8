// Codes with one scale: x ~ d * level.
//
// The error of levels l is sum w (x - d l)^2 = sum w x^2 - 2 d p + d^2 q with p = sum w x l and q = sum w l^2. For given levels
// d = p / q is best and takes p^2 / q off sum w x^2; for a given d the nearest levels are best. Taking turns goes downhill to one
// of many valleys, so sixteen scales start at once, one a lane, and the deepest wins. Scales are rounded to what a block can
// store before levels are chosen for them, so that nothing is lost afterwards.
#pragma once

#include "dtype/encode/codes.hpp"
#include "dtype/encode/input.hpp"

namespace TL_FORMATS::encoding {

struct Fit {
    Lanes p, q;

    // What scale d adds to sum w x^2.
    TL_ENCODE_INLINE Lanes error(const Lanes &d) const { return d * (d * q - (p + p)); }
    // The best scale for these levels; `otherwise` where all are zero.
    TL_ENCODE_INLINE Lanes scale(const Lanes &otherwise) const { return where_less(all(0), q, p / q, otherwise); }
};

// n elements against sixteen inverses of scales.
template <class Codes>
TL_ENCODE_INLINE Fit fit(const float *x, const float *w, const float *wx, int n, const Lanes &inverse) {
    Fit f{all(0), all(0)};
    for (int i = 0; i < n; i++) {
        const Lanes level = Codes::nearest(inverse * x[i]);
        f.p = f.p + level * wx[i];
        f.q = f.q + level * w[i] * level;
    }
    return f;
}

// Keeps the better of two candidates in each lane.
struct Best {
    Lanes error = all(0), d = all(0);

    TL_ENCODE_INLINE void offer(const Lanes &new_error, const Lanes &new_d) {
        d = where_less(new_error, error, new_d, d);
        error = min(new_error, error);
    }
};

// Starting scales: largest / (first + step * lane).
template <int n>
TL_ENCODE_INLINE Lanes starts(const Input<n> &in, float first, float step) {
    return all(in.largest) / (lane_numbers() * step + first);
}

// The best storable scale of a block, 0 where none is better than zeros. `first` and `step` are positive; with `both_signs`
// negative scales are tried as well, which matters for levels that reach further on one side.
template <class Codes, int n>
inline float search_scale(const Input<n> &in, float first, float step, bool both_signs, int rounds = 3) {
    Best best;
    for (int sign = 0; sign <= (both_signs ? 1 : 0); sign++) {
        Lanes d = starts(in, first, step);
        if (sign) d = all(0) - d;
        for (int round = 0; round < rounds; round++) {
            d = round_to_half(in, d);
            const Fit f = fit<Codes>(in.x, in.w, in.wx, n, all(1) / d);
            best.offer(f.error(d), d);
            d = f.scale(d);
        }
    }
    return lane(best.d, smallest(best.error));
}

// The levels of n elements, a multiple of 16, for scale d.
template <class Codes>
TL_ENCODE_INLINE void choose_levels(const float *x, int n, float d, float *levels) {
    const Lanes inverse = all(d == 0 ? 0.0f : 1.0f / d);
    for (int i = 0; i < n; i += n_lanes) store(levels + i, Codes::nearest(load(x + i) * inverse));
}

// The same over a whole block, out of its best scale.
template <class Codes, int n>
inline float search_levels(const Input<n> &in, float first, float step, bool both_signs, float *levels) {
    const float d = in.zero ? 0 : search_scale<Codes>(in, first, step, both_signs);
    choose_levels<Codes>(in.x, n, d, levels);
    return d;
}

// A super-block of 256: x ~ d * scale * level with an integer scale for each `sub` elements.
template <int sub>
struct ScaledLevels {
    float d = 0;
    int scale[256 / sub] = {};
    float levels[256];
};

// The scale of a sub-block that would be best if any could be stored, and how much an error in it costs: q.
struct FreeScale {
    float s, q;
};

template <class Codes>
TL_ENCODE_INLINE FreeScale free_scale(const Input<256> &in, int begin, int n, float first, float step) {
    const std::uint32_t bits = largest_bits(in.x + begin, n);
    if (bits == 0) return {0, 0};
    Best best;
    Lanes best_q = all(0);
    for (int sign = 0; sign < 2; sign++) {
        Lanes d = all(sign ? -float_of(bits) : float_of(bits)) / (lane_numbers() * step + first);
        for (int round = 0; round < 2; round++) {
            const Fit f = fit<Codes>(in.x + begin, in.w + begin, in.wx + begin, n, all(1) / d);
            d = f.scale(d);
            const Lanes error = f.error(d);
            best_q = where_less(error, best.error, f.q, best_q);
            best.offer(error, d);
        }
    }
    const int j = smallest(best.error);
    return {lane(best.d, j), lane(best_q, j)};
}

// The d of sixteen for which d * (an integer of low..high) come closest to the free scales. d reaches from what maps the extreme
// scale to low (lanes 0..7) or high (8..15) to a quarter more.
template <int count>
inline float common_scale(const Input<256> &in, const FreeScale *free, int low, int high) {
    float extreme = 0;
    for (int b = 0; b < count; b++) extreme = fabsf(free[b].s) > fabsf(extreme) ? free[b].s : extreme;
    const Lanes k = lane_numbers();
    const Lanes reach = where_less(k, all(8), all(static_cast<float>(low)) * (all(1) - k * 0.03f),
                                   all(static_cast<float>(high)) * (all(1) - (k - 8.0f) * 0.03f));
    const Lanes d = round_to_half(in, all(extreme) / reach), inverse = all(1) / d;
    Lanes error = all(0);
    for (int b = 0; b < count; b++) {
        const Lanes code = round(max(min(inverse * free[b].s, all(static_cast<float>(high))), all(static_cast<float>(low))));
        const Lanes off = d * code - free[b].s;
        error = error + off * off * free[b].q;
    }
    return lane(d, smallest(error));
}

// A super-block's scales for one d after the other; the best are kept.
template <class Codes, int sub>
struct SuperBlockSearch {
    static constexpr int count = 256 / sub;

    const Input<256> &in;
    const FreeScale *free;
    float low, high;
    ScaledLevels<sub> &out;
    float best_error = 0, next = 0;  // what out has won over zeros, and the d that fits its levels best

    // For d the best integer of sixteen for each sub-block, with its own nearest levels.
    void offer(float d) {
        float p = 0, q = 0, error = 0, codes[count];
        for (int b = 0; b < count; b++) {
            const float middle = fminf(fmaxf(free[b].s / d, low), high);
            const Lanes code = min(max(round(all(middle)) + (lane_numbers() - 8.0f), all(low)), all(high));
            const Lanes scale = code * d, inverse = where_less(all(0), abs(code), all(1) / scale, all(0));
            const Fit f = fit<Codes>(in.x + b * sub, in.w + b * sub, in.wx + b * sub, sub, inverse);
            const Lanes errors = f.error(scale);
            const int j = smallest(errors);
            codes[b] = lane(code, j);
            error += lane(errors, j);
            p += codes[b] * lane(f.p, j);
            q += codes[b] * codes[b] * lane(f.q, j);
        }
        if (!(error < best_error)) return;
        best_error = error;
        out.d = d;
        for (int b = 0; b < count; b++) out.scale[b] = static_cast<int>(codes[b]);
        next = q > 0 ? lane(round_to_half(in, all(p / q)), 0) : d;
    }
};

// Levels of `Codes` and scales low..high; `first`, `step` as in search_scale(). Scales are found free of each other, then a d for
// all; smaller ones are tried too, which suit small sub-blocks beside an outlier that can as well be a larger level, and the one
// that makes the extreme the lowest level at the lowest scale. d is fitted to the best, and again.
template <class Codes, int sub>
inline void search_super_block(const Input<256> &in, int low, int high, float first, float step, ScaledLevels<sub> &out) {
    constexpr int count = 256 / sub;
    FreeScale free[count];
    for (int b = 0; b < count; b++) free[b] = free_scale<Codes>(in, b * sub, sub, first, step);
    SuperBlockSearch<Codes, sub> search{in, free, static_cast<float>(low), static_cast<float>(high), out};
    const float d = in.zero ? 0 : common_scale<count>(in, free, low, high);
    if (d != 0) {
        float extreme = 0;
        for (int i = 0; i < 256; i++) extreme = fabsf(in.x[i]) > fabsf(extreme) ? in.x[i] : extreme;
        const float lowest = lane(Codes::nearest(all(-1e6f)), 0);
        const float starts[] = {d, 0.7f * d, 0.5f * d, extreme / (lowest * static_cast<float>(low))};
        for (const float start : starts) search.offer(lane(round_to_half(in, all(start)), 0));
        for (int turn = 0; turn < 2 && search.next != out.d; turn++) search.offer(search.next);
    }
    for (int b = 0; b < count; b++) {
        choose_levels<Codes>(in.x + b * sub, sub, out.d * static_cast<float>(out.scale[b]), out.levels + b * sub);
    }
}

}  // namespace TL_FORMATS::encoding
