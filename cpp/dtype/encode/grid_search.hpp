// Codes of whole pieces of 8 or 4 elements: x ~ d * (2 * scale + 1) * entry, where the entry is one of a grid's 256 to
// 2048.
//
// With P = sum w x g and Q = sum w g^2 over a piece, entry g at scale s adds s (s Q - 2 P) to sum w x^2. Neither P nor
// Q depends on s. They are computed once for all entries of a piece, sixteen at a time. The best entry for any scale is
// then the smallest s Q - 2 P, which costs five operations for sixteen entries. The search over entries is therefore
// exact; only scales are sampled. The steps:
//
//   1. For each sub-block sixteen scales; for each of them and each piece the best entry. These entries are the piece's
//      shortlist.
//   2. d: of several candidates the best, and for it each sub-block's best scale, over shortlists, sixteen scales at
//      once.
//   3. d is fitted to the choice, and the search repeats.
//
// Signs: pieces consist of magnitudes, except in IQ1. If eight signs must have an even number of negatives, an odd run
// gives up the sign that matters least, that of the smallest w |x|.
#pragma once

#include "dtype/encode/borrowed.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/grid_runs.hpp"

namespace TL_FORMATS::encoding {

enum class Signs { free, even, in_entries };
enum class Shift { none, per_sub_block, per_piece };  // IQ1: entries shifted by 1/8 up or down

// The sixteen candidates of a piece.
struct Shortlist {
    float p[n_lanes], q[n_lanes], index[n_lanes];
};

// The choice for a super-block. Entries from n_entries on (Shift::per_piece) are shifted down.
template <class Grid>
struct GridChoice {
    float d = 0;
    std::uint16_t half = 0;  // d as the block stores it
    int scale[256 / Grid::sub_block] = {};
    int entry[256 / Grid::piece] = {};
    bool down[256 / Grid::sub_block] = {};
    std::uint8_t signs[32] = {};
};

template <class Grid>
class GridSearch {
public:
    static constexpr int sub_blocks = 256 / Grid::sub_block, pieces = Grid::sub_block / Grid::piece;
    static constexpr int variants = Grid::shift == Shift::per_sub_block ? 2 : 1;
    static constexpr int n_table = Grid::n_entries * (Grid::shift == Shift::per_piece ? 2 : 1);

    // 2 P and Q of each entry for a piece, and the pieces' shortlists: up to 44 KiB.
    struct Tables {
        float p[n_table], q[n_table];
        Shortlist lists[variants][256 / Grid::piece];
    };

    GridSearch(const Input<256> &in, Tables &tables, GridChoice<Grid> &out)
        : in_(in), out_(out), p_(tables.p), q_(tables.q), lists_(tables.lists) {
        take_signs();
        for (int b = 0; b < sub_blocks; b++) {
            free_[b] = {0, 0};
            float best = 0;
            for (int v = 0; v < variants; v++) list(b, v, best);
        }
        float extreme = 0;
        for (int b = 0; b < sub_blocks; b++) extreme = fmaxf(extreme, free_[b].s);
        if (extreme == 0) return;
        float best_error = 0, start = 0;
        const Lanes d = round_to_half(in, all(extreme * Grid::unit) / (lane_numbers() * (0.035f * top) + 0.62f * top));
        for (int j = 0; j < n_lanes; j++) {
            const float error = evaluate(lane(d, j));
            if (error < best_error) best_error = error, start = lane(d, j);
        }
        if (start == 0) return;
        float next = start;
        best_error = 0;
        for (int round_number = 0; round_number < 4; round_number++) {
            const float now = next, error = choose(now, best_error, next);
            if (!(error < best_error) || next == now) break;
            best_error = error;
        }
    }

private:
    static constexpr float top = 2 * Grid::n_scales - 1;

    void take_signs() {
        if constexpr (Grid::signs == Signs::in_entries) {
            for (int i = 0; i < 256; i++) x_[i] = in_.x[i];
        } else {
            for (int run = 0; run < 32; run++) {
                const float *x = in_.x + 8 * run, *w = in_.w + 8 * run;
                unsigned signs = 0, odd = 0;
                int least = 0;
                for (int i = 0; i < 8; i++) {
                    const bool negative = x[i] < 0;
                    signs |= static_cast<unsigned>(negative) << i;
                    odd ^= negative;
                    x_[8 * run + i] = negative ? -x[i] : x[i];
                    if (w[i] * x_[8 * run + i] < w[least] * x_[8 * run + least]) least = i;
                }
                if (Grid::signs == Signs::even && odd) {
                    signs ^= 1u << least;
                    x_[8 * run + least] = -x_[8 * run + least];
                }
                out_.signs[run] = static_cast<std::uint8_t>(signs);
            }
        }
        for (int i = 0; i < 256; i++) wx_[i] = in_.w[i] * x_[i];
    }

    // 2 P and Q of every entry for a piece.
    void tabulate(int begin, float shift) {
        const float *levels = Grid::levels(), *wx = wx_ + begin, *w = in_.w + begin;
        float sum_w = 0, sum_wx = 0;
        for (int i = 0; i < Grid::piece; i++) sum_w += w[i], sum_wx += wx[i];
        for (int k = 0; k < Grid::n_entries; k += n_lanes) {
            Lanes p = all(0), q = all(0), l = all(0);
            for (int i = 0; i < Grid::piece; i++) {
                const Lanes level = load(levels + i * Grid::n_entries + k), weighted = level * w[i];
                p = p + level * wx[i];
                q = q + weighted * level;
                if constexpr (Grid::shift != Shift::none) l = l + weighted;
            }
            if constexpr (Grid::shift == Shift::none) {
                store(p_ + k, p + p), store(q_ + k, q);
            } else {
                const auto shifted = [&](float by, int at) {
                    const Lanes moved = p + by * sum_wx;
                    store(p_ + at, moved + moved), store(q_ + at, q + (l * (2 * by) + by * by * sum_w));
                };
                shifted(shift, k);
                if constexpr (Grid::shift == Shift::per_piece) shifted(-shift, Grid::n_entries + k);
            }
        }
    }

    // The best entry for each of sixteen scales, four scales a pass. It processes parts of lanes one after the other: a
    // pass has 8 permanent registers, 3 loaded and 4 broadcast, and processors have 16 or 32.
    void find(const float *scales, Shortlist &shortlist) {
        for (int j = 0; j < n_lanes; j += 4) {
            Lanes best[4], at[4];
            for (int part = 0; part < n_parts; part++) {
                Part lowest[4], place[4];
                for (int c = 0; c < 4; c++) lowest[c] = 1e30f - Part{}, place[c] = Part{};
                const float *p = p_ + part * part_lanes, *q = q_ + part * part_lanes;
                for (int k = 0; k < n_table; k += n_lanes) {
                    const Part p_here = load_part(p + k), q_here = load_part(q + k), here = static_cast<float>(k) - Part{};
                    for (int c = 0; c < 4; c++) {
                        const Part e = q_here * scales[j + c] - p_here;
                        place[c] = e < lowest[c] ? here : place[c];
                        lowest[c] = e < lowest[c] ? e : lowest[c];
                    }
                }
                for (int c = 0; c < 4; c++) best[c].part[part] = lowest[c], at[c].part[part] = place[c];
            }
            for (int c = 0; c < 4; c++) {
                const int l = smallest(best[c]), k = static_cast<int>(lane(at[c], l)) + l;
                shortlist.p[j + c] = 0.5f * p_[k], shortlist.q[j + c] = q_[k], shortlist.index[j + c] = static_cast<float>(k);
            }
        }
    }

    // Step 1 for a sub-block and a shift. `best` is the best error so far of any shift.
    void list(int b, int variant, float &best) {
        const float *x = x_ + b * Grid::sub_block;
        const float largest = float_of(largest_bits(x, Grid::sub_block));
        float scales[n_lanes];
        // For zeros, any scale shows which entries are smallest.
        store(scales, all(largest == 0 ? 1 : largest) / (lane_numbers() * Grid::step + Grid::first));
        Lanes p = all(0), q = all(0);
        for (int i = 0; i < pieces; i++) {
            tabulate(b * Grid::sub_block + i * Grid::piece, variant ? -0.125f : 0.125f);
            Shortlist &shortlist = lists_[variant][b * pieces + i];
            find(scales, shortlist);
            p = p + load(shortlist.p);
            q = q + load(shortlist.q);
        }
        if (largest == 0) return;
        const Lanes error = where_less(all(0), p, (all(0) - p) * p / q, all(0));
        const int j = smallest(error);
        if (lane(error, j) < best) best = lane(error, j), free_[b] = {lane(p, j) / lane(q, j), lane(q, j)};
    }

    // A sub-block's error at each scale code, one a lane.
    Lanes errors(int b, int variant, const Lanes &scale) const {
        Lanes sum = all(0);
        for (int i = 0; i < pieces; i++) {
            const Shortlist &shortlist = lists_[variant][b * pieces + i];
            Lanes best = all(1e30f);
            for (int m = 0; m < n_lanes; m++) best = min(scale * shortlist.q[m] - 2 * shortlist.p[m], best);
            sum = sum + best;
        }
        const Lanes error = sum * scale;
        if constexpr (Grid::n_scales == n_lanes) return error;
        return where_less(lane_numbers(), all(static_cast<float>(Grid::n_scales)), error, all(1e30f));
    }

    static Lanes all_scales(float d) { return (lane_numbers() * 2.0f + 1.0f) * (d * (1.0f / Grid::unit)); }

    // Step 2: what d adds to sum w x^2, with everything else at its best.
    float evaluate(float d) const {
        const Lanes scale = all_scales(d);
        float sum = 0;
        for (int b = 0; b < sub_blocks; b++) {
            float best = 1e30f;
            for (int v = 0; v < variants; v++) {
                const Lanes error = errors(b, v, scale);
                best = fminf(best, lane(error, smallest(error)));
            }
            sum += best;
        }
        return sum;
    }

    // As evaluate(), and stores the choice if it is better than `best_error`; `next` becomes the d that fits it best.
    float choose(float d, float best_error, float &next) {
        const Lanes scale = all_scales(d);
        GridChoice<Grid> choice = out_;
        float sum = 0, p = 0, q = 0;
        for (int b = 0; b < sub_blocks; b++) {
            float best = 1e30f;
            for (int v = 0; v < variants; v++) {
                const Lanes error = errors(b, v, scale);
                const int j = smallest(error);
                if (lane(error, j) < best) best = lane(error, j), choice.scale[b] = j, choice.down[b] = v == 1;
            }
            const auto factor = static_cast<float>(2 * choice.scale[b] + 1);
            const float s = d * (1.0f / Grid::unit) * factor;
            for (int i = 0; i < pieces; i++) {
                const Shortlist &shortlist = lists_[choice.down[b]][b * pieces + i];
                const int m = smallest(load(shortlist.q) * s - load(shortlist.p) * 2.0f);
                choice.entry[b * pieces + i] = static_cast<int>(shortlist.index[m]);
                p += factor * shortlist.p[m];
                q += factor * factor * shortlist.q[m];
            }
            sum += best;
        }
        next = p > 0 ? lane(round_to_half(in_, all(p / q * Grid::unit)), 0) : d;
        if (sum < best_error) choice.d = d, out_ = choice;
        return sum;
    }

    const Input<256> &in_;
    GridChoice<Grid> &out_;
    float x_[256], wx_[256];
    float *const p_, *const q_;
    Shortlist (*const lists_)[256 / Grid::piece];
    FreeScale free_[sub_blocks];
};

template <class Grid>
inline GridChoice<Grid> search_grid(const float *values, const float *weights) {
    const Input<256> in(values, weights);
    GridChoice<Grid> best;
    if (!in.zero) {
        const Borrowed<typename GridSearch<Grid>::Tables> tables;
        GridSearch<Grid>(in, *tables, best);
    }
    best.half = half_bits(in, best.d);
    return best;
}

}  // namespace TL_FORMATS::encoding
