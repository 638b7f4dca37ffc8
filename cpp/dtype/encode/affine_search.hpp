// Codes with a scale and an offset: x ~ s * level + o, levels 0..top.
//
// As with one scale (scale_search.hpp), but with two unknowns: for given levels, the best (s, o) solve two linear
// equations; for given (s, o), the nearest levels are best. Sixteen starts alternate at once, one per lane. They are
// ranges that leave out a little at either end.
#pragma once

#include "dtype/encode/scale_search.hpp"

namespace TL_FORMATS::encoding {

// Some elements, and the sums that do not depend on levels.
struct Values {
    const float *x, *w, *wx;
    int n;
    float sum_w = 0, sum_wx = 0;

    TL_ENCODE_INLINE Values(const float *x_, const float *w_, const float *wx_, int n_) : x(x_), w(w_), wx(wx_), n(n_) {
        for (int i = 0; i < n; i++) sum_w += w[i], sum_wx += wx[i];
    }
};

struct Line {
    Lanes s, o;
};

struct AffineFit {
    Lanes l, ll, xl;  // sums of w * level, w * level^2, w * x * level

    // What (s, o) adds to sum w x^2.
    TL_ENCODE_INLINE Lanes error(const Values &run, const Line &a) const {
        const Lanes from_scale = a.s * (a.s * ll - (xl + xl)), from_offset = a.o * (a.o * run.sum_w - (run.sum_wx + run.sum_wx));
        return from_scale + from_offset + a.s * a.o * (l + l);
    }
    // The best scale for an offset; `otherwise` if all levels are zero.
    TL_ENCODE_INLINE Lanes scale(const Lanes &o, const Lanes &otherwise) const {
        return where_less(all(0), ll, (xl - o * l) / ll, otherwise);
    }
    // The best offset for a scale.
    TL_ENCODE_INLINE Lanes offset(const Values &run, const Lanes &s) const { return (all(run.sum_wx) - s * l) / all(run.sum_w); }
    // Both; a's own if the levels do not distinguish them (all are equal).
    TL_ENCODE_INLINE Line line(const Values &run, const Line &a) const {
        const Lanes determinant = ll * run.sum_w - l * l;
        const Lanes s = where_less(ll * (run.sum_w * 1e-6f), determinant, (xl * run.sum_w - l * run.sum_wx) / determinant, a.s);
        return {s, offset(run, s)};
    }
};

template <int top>
TL_ENCODE_INLINE AffineFit fit(const Values &run, const Line &a) {
    const Lanes inverse = where_less(all(0), abs(a.s), all(1) / a.s, all(0));
    AffineFit f{all(0), all(0), all(0)};
    for (int i = 0; i < run.n; i++) {
        const Lanes level = Uniform<0, top>::nearest((all(run.x[i]) - a.o) * inverse);
        const Lanes weighted = level * run.w[i];
        f.l = f.l + weighted;
        f.ll = f.ll + weighted * level;
        f.xl = f.xl + level * run.wx[i];
    }
    return f;
}

// With weights, an end may matter little and be cut off: starts again with these insets.
constexpr float wide_inset = 0.75f;

// Sixteen lines from `low` to `high`, with each end moved inwards by up to `inset` of the way.
TL_ENCODE_INLINE Line starting_lines(float low, float high, float inset, float top) {
    static constexpr float lows[n_lanes] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    static constexpr float highs[n_lanes] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    const float step = (high - low) * inset / 3.0f;
    const Lanes o = load(lows) * step + low, end = all(high) - load(highs) * step;
    return {(end - o) * (1.0f / top), o};
}

struct Extremes {
    float low, high;
};
TL_ENCODE_INLINE Extremes extremes(const float *x, int n) {
    Extremes e{x[0], x[0]};
    for (int i = 1; i < n; i++) e.low = x[i] < e.low ? x[i] : e.low, e.high = x[i] > e.high ? x[i] : e.high;
    return e;
}

// Q4_1, Q5_1: x ~ d * level + m, both F16. The minimum is subtracted first: the rest is as small as the steps, and its
// squares lose no digits to a large offset.
struct ScaleAndOffset {
    float d, m;
};

template <int top, int n>
inline ScaleAndOffset search_line(const Input<n> &in, float inset, float *levels) {
    const Extremes ends = extremes(in.x, n);
    float y[n], wy[n];
    for (int i = 0; i < n; i++) y[i] = in.x[i] - ends.low, wy[i] = in.w[i] * y[i];
    const Values run(y, in.w, wy, n);
    Line a{};
    Lanes best_error = all(0), best_d = all(0), best_o = all(0);
    for (int round = 0; round < (in.weighted ? 8 : 4); round++) {
        if (round % 4 == 0) a = starting_lines(0, ends.high - ends.low, round == 0 ? inset : wide_inset, static_cast<float>(top));
        // Rounds to storable values. An offset may be zero.
        const Lanes m = a.o + ends.low;
        const Lanes half = where_less(abs(m) * in.up, all(0x1p-25f), all(0), round_to_half(in, m));
        a = {round_to_half(in, a.s), half - ends.low};
        const AffineFit f = fit<top>(run, a);
        const Lanes error = f.error(run, a);
        if (round == 0) {
            best_error = error, best_d = a.s, best_o = a.o;
        } else {
            best_d = where_less(error, best_error, a.s, best_d);
            best_o = where_less(error, best_error, a.o, best_o);
            best_error = min(error, best_error);
        }
        a = f.line(run, a);
    }
    const int j = smallest(best_error);
    const float d = lane(best_d, j), o = lane(best_o, j);
    for (int i = 0; i < n; i++) y[i] -= o;
    choose_levels<Uniform<0, top>>(y, n, d, levels);
    return {d, o + ends.low};
}

// A super-block of 256: x ~ (d * scale) * level - dmin * min with integers scale and min for each `sub` elements.
template <int sub>
struct AffineLevels {
    float d = 0, dmin = 0;
    int scale[256 / sub] = {}, min[256 / sub] = {};
    float levels[256];
};

// The line that would be best for a sub-block if any with o <= 0 could be stored, and how much errors in s and o cost.
struct FreeLine {
    float s, m, cost_s, cost_m;
};

template <int top>
inline FreeLine free_line(const Values &run, float inset, bool weighted) {
    const Extremes ends = extremes(run.x, run.n);
    const float low = ends.low < 0 ? ends.low : 0;
    if (!(ends.high > low)) return {0, -low, 0, run.sum_w};  // all equal and not positive
    Line a{}, best{all(0), all(0)};
    Lanes best_error = all(0), best_ll = all(0);
    for (int round = 0; round < (weighted ? 6 : 3); round++) {
        if (round % 3 == 0) a = starting_lines(low, ends.high, round == 0 ? inset : wide_inset, static_cast<float>(top));
        const AffineFit f = fit<top>(run, a);
        Line next = f.line(run, a);
        next.s = where_less(all(0), next.o, f.scale(all(0), a.s), next.s);
        // A few large negative values may require o > 0, and then s < 0: they keep their s.
        a.s = where_less(all(0), next.s, next.s, a.s);
        a.o = min(f.offset(run, a.s), all(0));
        const Lanes error = f.error(run, a);
        best.s = where_less(error, best_error, a.s, best.s);
        best.o = where_less(error, best_error, a.o, best.o);
        best_ll = where_less(error, best_error, f.ll, best_ll);
        best_error = encoding::min(error, best_error);
    }
    const int j = smallest(best_error);
    return {lane(best.s, j), -lane(best.o, j), lane(best_ll, j), run.sum_w};
}

// The unit, out of sixteen, whose multiples 0..largest come closest to non-negative values.
template <int count>
inline float common_unit(const Input<256> &in, const float *values, const float *costs, int largest) {
    float extreme = 0;
    for (int b = 0; b < count; b++) extreme = values[b] > extreme ? values[b] : extreme;
    if (extreme == 0) return 0;
    const auto top = static_cast<float>(largest);
    const Lanes d = round_to_half(in, all(extreme) / (all(top + 0.4f) - lane_numbers() * (0.02f * top))), inverse = all(1) / d;
    Lanes error = all(0);
    for (int b = 0; b < count; b++) {
        const Lanes off = d * round(min(inverse * values[b], all(top))) - values[b];
        error = error + off * off * costs[b];
    }
    return lane(d, smallest(error));
}

// The levels for out's scales and mins, and their cost: sum w (x - (d * scale * level - dmin * min))^2.
template <int top, int sub>
inline float take_levels(const Input<256> &in, AffineLevels<sub> &out) {
    Lanes sums = all(0);
    for (int b = 0; b < 256 / sub; b++) {
        const float s = out.d * static_cast<float>(out.scale[b]), m = out.dmin * static_cast<float>(out.min[b]);
        float y[sub];
        for (int i = 0; i < sub; i++) y[i] = in.x[b * sub + i] + m;
        choose_levels<Uniform<0, top>>(y, sub, s, out.levels + b * sub);
        for (int i = 0; i < sub; i += n_lanes) {
            const Lanes off = load(y + i) - load(out.levels + b * sub + i) * s;
            sums = sums + load(in.w + b * sub + i) * off * off;
        }
    }
    return sum(sums);
}

// The plain rule: each sub-block from its least value, or zero, to its greatest; d and dmin from the greatest scale and
// min.
template <int top, int sub>
inline void take_extremes(const Input<256> &in, float largest, AffineLevels<sub> &out) {
    constexpr int count = 256 / sub;
    float scale[count], min[count], greatest_scale = 0, greatest_min = 0;
    for (int b = 0; b < count; b++) {
        const Extremes ends = extremes(in.x + b * sub, sub);
        min[b] = fmaxf(-ends.low, 0);
        scale[b] = (fmaxf(ends.high, 0) + min[b]) / static_cast<float>(top);
        greatest_scale = fmaxf(greatest_scale, scale[b]), greatest_min = fmaxf(greatest_min, min[b]);
    }
    out.d = lane(round_to_half(in, all(greatest_scale / largest)), 0);
    out.dmin = greatest_min > 0 ? lane(round_to_half(in, all(greatest_min / largest)), 0) : 0;
    for (int b = 0; b < count; b++) {
        out.scale[b] = static_cast<int>(lane(round(all(fminf(scale[b] / out.d, largest))), 0));
        out.min[b] = out.dmin > 0 ? static_cast<int>(lane(round(all(fminf(min[b] / out.dmin, largest))), 0)) : 0;
    }
}

struct Units {
    float d, dmin;
};

// A sub-block's integers, their error, and the sums over their levels: see AffineFit.
struct Integers {
    float scale, min, error, l, ll, xl;
};

// The best integers for the line (s, -m): sixteen scales at once, and the min that follows from each.
template <int top>
inline Integers best_integers(const Values &run, float s, float m, const Units &units, float largest) {
    const float inverse_d = units.d > 0 ? 1.0f / units.d : 0, inverse_dmin = units.dmin > 0 ? 1.0f / units.dmin : 0;
    const Lanes near = round(min(all(s * inverse_d), all(largest))) + (lane_numbers() - 8.0f);
    const Lanes scale = max(min(near, all(largest)), all(0));
    Lanes min_code = round(min(all(m * inverse_dmin), all(largest)));
    Lanes kept_error = all(1e30f), kept_min = all(0), kept_l = all(0), kept_ll = all(0), kept_xl = all(0);
    for (int turn = 0; turn < 2; turn++) {
        const Line line{scale * units.d, all(0) - min_code * units.dmin};
        const AffineFit f = fit<top>(run, line);
        const Lanes e = f.error(run, line);
        kept_min = where_less(e, kept_error, min_code, kept_min);
        kept_l = where_less(e, kept_error, f.l, kept_l);
        kept_ll = where_less(e, kept_error, f.ll, kept_ll);
        kept_xl = where_less(e, kept_error, f.xl, kept_xl);
        kept_error = min(e, kept_error);
        const Lanes o = min(f.offset(run, line.s), all(0));
        min_code = round(min((all(0) - o) * inverse_dmin, all(largest)));
    }
    const int j = smallest(kept_error);
    return {lane(scale, j), lane(kept_min, j), lane(kept_error, j), lane(kept_l, j), lane(kept_ll, j), lane(kept_xl, j)};
}

// Normal equations of (d, dmin) over all sub-blocks, for levels * scale and -min.
struct UnitEquations {
    float a11 = 0, a12 = 0, a22 = 0, b1 = 0, b2 = 0;

    TL_ENCODE_INLINE void add(const Values &run, const Integers &own) {
        a11 += own.scale * own.scale * own.ll;
        a12 -= own.scale * own.min * own.l;
        a22 += own.min * own.min * run.sum_w;
        b1 += own.scale * own.xl;
        b2 -= own.min * run.sum_wx;
    }
    // Both if they can be distinguished, otherwise d for itself. What the equations leave open stays as it is in `old`.
    TL_ENCODE_INLINE Units solution(const Units &old) const {
        const float determinant = a11 * a22 - a12 * a12;
        if (determinant > 1e-6f * a11 * a22) return {(b1 * a22 - b2 * a12) / determinant, (b2 * a11 - b1 * a12) / determinant};
        return {a11 > 0 ? b1 / a11 : old.d, old.dmin};
    }
};

// Codes 0..top in sub-blocks with scales and mins 0..largest. First the free lines, then units d and dmin for all, then
// for these the best integers. The units are fitted to the choice, and the search repeats. The plain rule's block is
// taken if it is better.
template <int top, int sub>
inline void search_super_block(const Input<256> &in, int largest, float inset, AffineLevels<sub> &out) {
    constexpr int count = 256 / sub;
    const auto limit = static_cast<float>(largest);
    const auto values = [&](int b) { return Values(in.x + b * sub, in.w + b * sub, in.wx + b * sub, sub); };
    float s[count], m[count], cost_s[count], cost_m[count];
    for (int b = 0; b < count; b++) {
        const FreeLine line = free_line<top>(values(b), inset, in.weighted);
        s[b] = line.s, m[b] = line.m, cost_s[b] = line.cost_s, cost_m[b] = line.cost_m;
    }
    Units units{common_unit<count>(in, s, cost_s, largest), common_unit<count>(in, m, cost_m, largest)};
    float best_error = 0;
    for (int round_number = 0; round_number < 3; round_number++) {
        Integers integers[count];
        UnitEquations equations;
        float error = 0;
        for (int b = 0; b < count; b++) {
            const Values run = values(b);
            integers[b] = best_integers<top>(run, s[b], m[b], units, limit);
            error += integers[b].error;
            equations.add(run, integers[b]);
        }
        if (error < best_error) {
            best_error = error;
            out.d = units.d, out.dmin = units.dmin;
            for (int b = 0; b < count; b++) {
                out.scale[b] = static_cast<int>(integers[b].scale), out.min[b] = static_cast<int>(integers[b].min);
            }
        }
        Units next = equations.solution(units);
        // Neither becomes negative.
        if (!(next.d > 0) || !(next.dmin >= 0)) break;
        next.d = units.d > 0 ? lane(round_to_half(in, all(next.d)), 0) : 0;
        next.dmin = units.dmin > 0 ? lane(round_to_half(in, all(next.dmin)), 0) : 0;
        if (next.d == units.d && next.dmin == units.dmin) break;
        units = next;
    }
    const float error = take_levels<top>(in, out);
    AffineLevels<sub> plain;
    take_extremes<top>(in, limit, plain);
    if (take_levels<top>(in, plain) < error) out = plain;
}

}  // namespace TL_FORMATS::encoding
