// Codes with one scale: x ~ d * level.
//
// The error of levels l is sum w (x - d l)^2 = sum w x^2 - 2 d p + d^2 q with p = sum w x l and q = sum w l^2. For
// given levels, d = p / q is best and reduces sum w x^2 by p^2 / q; for a given d, the nearest levels are best.
// Alternating between them descends into one of many valleys, so sixteen scales start at once, one per lane, and the
// deepest valley wins. Scales are rounded to storable values before levels are chosen for them, so that nothing is lost
// afterwards.
#pragma once

#include "dtype/encode/codes.hpp"
#include "dtype/encode/input.hpp"

namespace TL_FORMATS::encoding {

struct Fit {
    Lanes p, q;

    // What scale d adds to sum w x^2.
    TL_ENCODE_INLINE Lanes error(const Lanes &d) const { return d * (d * q - (p + p)); }
    // The best scale for these levels; `otherwise` if all are zero.
    TL_ENCODE_INLINE Lanes scale(const Lanes &otherwise) const { return where_less(all(0), q, p / q, otherwise); }
};

// Fits n elements for sixteen inverses of scales.
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

// Starting scales: those that map the largest magnitude to `first`, `first` + `step`, ..
TL_ENCODE_INLINE Lanes starts(float largest, float first, float step) { return all(largest) / (lane_numbers() * step + first); }

// With weights, the largest may matter little and be cut off: continues where starts() ends, in steps of 2^(-1/5).
TL_ENCODE_INLINE Lanes smaller_starts(float largest, float first, float step) {
    static constexpr float fifths[n_lanes] = {0.870551f, 0.757858f, 0.659754f, 0.574349f, 0.500000f, 0.435275f, 0.378929f, 0.329877f,
                                              0.287175f, 0.250000f, 0.217638f, 0.189465f, 0.164938f, 0.143587f, 0.125000f, 0.108819f};
    return load(fifths) * (largest / (first + 15 * step));
}

// Descends from sixteen scales: rounds them to storable values, chooses levels for these, then the best scale for
// those.
template <class Codes, int n>
TL_ENCODE_INLINE void descend(const Input<n> &in, Lanes d, int rounds, Best &best) {
    for (int round = 0; round < rounds; round++) {
        d = round_to_half(in, d);
        const Fit f = fit<Codes>(in.x, in.w, in.wx, n, all(1) / d);
        best.offer(f.error(d), d);
        d = f.scale(d);
    }
}

// The best storable scale of a block, 0 if none is better than zeros. `first` and `step` are positive. With
// `both_signs`, negative scales are tried as well, which matters for levels that extend further on one side.
template <class Codes, int n>
inline float search_scale(const Input<n> &in, float first, float step, bool both_signs) {
    Best best;
    for (int sign = 0; sign < (both_signs ? 2 : 1); sign++) {
        const float extreme = sign ? -in.largest : in.largest;
        descend<Codes>(in, starts(extreme, first, step), 3, best);
        if (in.weighted) descend<Codes>(in, smaller_starts(extreme, first, step), 3, best);
    }
    // A few heavy elements make narrow valleys: searches again around the deepest, in steps of 1 %.
    if (in.weighted) descend<Codes>(in, all(lane(best.d, smallest(best.error))) * ((lane_numbers() - 7.5f) * 0.01f + 1.0f), 2, best);
    return lane(best.d, smallest(best.error));
}

// The levels of n elements, a multiple of 16, for scale d.
template <class Codes>
TL_ENCODE_INLINE void choose_levels(const float *x, int n, float d, float *levels) {
    const Lanes inverse = all(d == 0 ? 0.0f : 1.0f / d);
    for (int i = 0; i < n; i += n_lanes) store(levels + i, Codes::nearest(load(x + i) * inverse));
}

// The levels of a whole block, for its best scale.
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

// The scale that would be best for a sub-block if any could be stored, and how much an error in it costs: q.
struct FreeScale {
    float s, q;
};

template <class Codes>
TL_ENCODE_INLINE FreeScale free_scale(const Input<256> &in, int begin, int n, float first, float step) {
    const float largest = float_of(largest_bits(in.x + begin, n));
    if (largest == 0) return {0, 0};
    Best best;
    Lanes best_q = all(0);
    for (int turn = 0; turn < (in.weighted ? 4 : 2); turn++) {
        const float extreme = turn % 2 != 0 ? -largest : largest;
        Lanes d = turn < 2 ? starts(extreme, first, step) : smaller_starts(extreme, first, step);
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

// The d, out of sixteen, for which d * (an integer of low..high) come closest to the free scales. d ranges from the
// value that maps the extreme scale to low (lanes 0..7) or high (8..15) to a quarter more.
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

// The first value of the largest magnitude.
inline float extreme_of(const float *x, int n) {
    float extreme = 0;
    for (int i = 0; i < n; i++) extreme = fabsf(x[i]) > fabsf(extreme) ? x[i] : extreme;
    return extreme;
}

// Finds a super-block's scales for one d after the other, and keeps the best.
template <class Codes, int sub>
struct SuperBlockSearch {
    static constexpr int count = 256 / sub;

    const Input<256> &in;
    const FreeScale *free;
    float low, high;
    ScaledLevels<sub> &out;
    float best_error = 0, next = 0;  // how much out is better than zeros, and the d that fits its levels best

    // For d, finds the best integer of sixteen for each sub-block, with its own nearest levels.
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

// The levels for out's scales, and their cost: sum w (x - d * scale * level)^2.
template <class Codes, int sub>
inline float take_levels(const Input<256> &in, ScaledLevels<sub> &out) {
    for (int b = 0; b < 256 / sub; b++) {
        choose_levels<Codes>(in.x + b * sub, sub, out.d * static_cast<float>(out.scale[b]), out.levels + b * sub);
    }
    Lanes sums = all(0);
    for (int i = 0; i < 256; i += n_lanes) {
        const Lanes off = load(in.x + i) - load(out.levels + i) * (out.d * static_cast<float>(out.scale[i / sub]));
        sums = sums + load(in.w + i) * off * off;
    }
    return sum(sums);
}

// The plain rule: each sub-block's extreme at the lowest level, and the extreme of these scales at the lowest scale.
template <class Codes, int sub>
inline void take_extremes(const Input<256> &in, float low, float high, ScaledLevels<sub> &out) {
    constexpr int count = 256 / sub;
    const float lowest = lane(Codes::nearest(all(-1e6f)), 0);
    float scale[count], extreme = 0;
    for (int b = 0; b < count; b++) {
        scale[b] = extreme_of(in.x + b * sub, sub) / lowest;
        extreme = fabsf(scale[b]) > fabsf(extreme) ? scale[b] : extreme;
    }
    out.d = lane(round_to_half(in, all(extreme / low)), 0);
    for (int b = 0; b < count; b++) {
        const Lanes code = round(all(fminf(fmaxf(scale[b] / out.d, low), high)));
        out.scale[b] = static_cast<int>(lane(code, 0));
    }
}

// Levels of `Codes` and scales low..high; `first`, `step` as in search_scale(). First each sub-block's scale is found
// freely, then a d for all. Smaller d are tried too, because they suit small sub-blocks next to an outlier that can use
// a larger level instead. So is the d that makes the extreme the lowest level at the lowest scale. d is fitted to the
// best, and the search repeats. The plain rule's block is taken if it is better, which happens where hardly any F16 is
// small enough for d.
template <class Codes, int sub>
inline void search_super_block(const Input<256> &in, int low, int high, float first, float step, ScaledLevels<sub> &out) {
    constexpr int count = 256 / sub;
    FreeScale free[count];
    for (int b = 0; b < count; b++) free[b] = free_scale<Codes>(in, b * sub, sub, first, step);
    SuperBlockSearch<Codes, sub> search{in, free, static_cast<float>(low), static_cast<float>(high), out};
    const float d = in.zero ? 0 : common_scale<count>(in, free, low, high);
    if (d != 0) {
        const float extreme = extreme_of(in.x, 256);
        const float lowest = lane(Codes::nearest(all(-1e6f)), 0);
        const float starts[] = {d, 0.7f * d, 0.5f * d, extreme / (lowest * static_cast<float>(low))};
        for (const float start : starts) search.offer(lane(round_to_half(in, all(start)), 0));
        for (int turn = 0; turn < 2 && search.next != out.d; turn++) search.offer(search.next);
    }
    const float error = take_levels<Codes>(in, out);
    if (in.zero) return;
    ScaledLevels<sub> plain;
    take_extremes<Codes>(in, search.low, search.high, plain);
    if (take_levels<Codes>(in, plain) < error) out = plain;
}

}  // namespace TL_FORMATS::encoding
