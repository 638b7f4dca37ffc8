// Reductions of floats. Along a group, its elements are consecutive: blocks of 1024 floats as in parts.hpp, each joined
// to the group's state in F64. Across groups, each element of a row belongs to another group: up to 32 rows are added
// element by element in F32, then joined to the states.
//
//   row 0   x0 x1 x2 ..   short rows are read one after the other, so that addresses only rise: anything else took twice
//   row 1   x0 x1 x2 ..   as long on Zen 4. Four long rows are read together, and an accumulator is loaded and stored
//   ..                    once for four floats. Accumulators of up to four registers stay in registers.
//
// Memory is the limit, except for exponentials: some 20 operations per register.
#include "cpu/simd/extremes.hpp"
#include "cpu/simd/parts.hpp"

#include "math/exponential.hpp"
#include "math/formulas.hpp"
#include "math/reduced.hpp"

#include <utility>

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
using Number = math::Real<Vec>;
using math::Deviations, math::Exponentials;

using math::infinity;

double exp_f64(double x) { return __builtin_exp(x); }

Vec::Reg part_of(const float *x, int left, float fill) { return left == W ? Vec::load(x) : load_rest(x, left, fill); }

// Calls f(from, count) for blocks of sum_block.
template <class F>
[[gnu::always_inline]] inline void for_blocks(int64_t n, F f) {
    for (int64_t from = 0; from < n; from += sum_block) f(from, n - from < sum_block ? n - from : sum_block);
}

// ---- Along a group.

void sum_along(int64_t n, const float *x, int64_t, double *state) {
    state[0] += sum_of(
        n, [x](int64_t i, int left) __attribute__((always_inline)) { return left == W ? Vec::load(x + i) : Vec::load_part(x + i, left); });
}

// As sums: 32 parts, multiplied pairwise.
void product_along(int64_t n, const float *x, int64_t, double *state) {
    for_blocks(n, [&](int64_t from, int64_t count) {
        double parts[sum_parts];
        for (int p = 0; p < sum_parts; p++) parts[p] = 1;
        int64_t i = from;
        for (; i + sum_parts <= from + count; i += sum_parts) {
            for (int p = 0; p < sum_parts; p++) parts[p] *= static_cast<double>(x[i + p]);
        }
        for (int p = 0; i < from + count; p++, i++) parts[p] *= static_cast<double>(x[i]);
        for (int half = sum_parts / 2; half > 0; half /= 2) {
            for (int p = 0; p < half; p++) parts[p] *= parts[p + half];
        }
        state[0] *= parts[0];
    });
}

// The largest element, or the smallest one negated.
template <bool negated>
[[gnu::always_inline]] inline float extreme_of(int64_t n, const float *x) {
    // Zeros need the slow way too, because 0 is larger than -0.
    const Largest fast = largest_number<negated, true>(n, x);
    if (fast.number != 0 && fast.all_finite) return fast.number;
    const auto at = [x](int64_t i, int left) __attribute__((always_inline)) {
        const Number v = Number::of(part_of(x + i, left, negated ? infinity : -infinity));
        return negated ? v.negated() : v;
    };
    Number most[4] = {-infinity, -infinity, -infinity, -infinity};
    int64_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) most[r] = math::maximum<Vec>(most[r], at(i + r * W, W));
    }
    for (; i < n; i += W) most[0] = math::maximum<Vec>(most[0], at(i, n - i < W ? static_cast<int>(n - i) : W));
    float lanes[W], all = -infinity;
    Vec::store(lanes, math::maximum<Vec>(math::maximum<Vec>(most[0], most[1]), math::maximum<Vec>(most[2], most[3])).reg);
    for (const float lane : lanes) all = math::larger(all, lane);
    return all;
}

template <bool negated>
void extreme_along(int64_t n, const float *x, int64_t, double *state) {
    const auto before = static_cast<float>(state[0]);
    const float all = math::larger(negated ? -before : before, extreme_of<negated>(n, x));
    state[0] = static_cast<double>(negated ? -all : all);
}

// Skips a block whose best element is no better; otherwise finds it.
template <bool negated>
void place_along(int64_t n, const float *x, int64_t first, double *state) {
    for_blocks(n, [&](int64_t from, int64_t count) {
        const float best = largest_number<negated>(count, x + from).number;
        const double value = static_cast<double>(negated ? -best : best);
        if (state[1] >= 0 && !(negated ? value < state[0] : value > state[0])) return;
        const int64_t at = first_at_least<negated>(count, x + from, best);
        if (at == count) return;  // only NaN
        state[0] = value;
        state[1] = static_cast<double>(first + from + at);
    });
}

// any: whether an element is not 0; otherwise, whether one is 0.
template <bool any>
[[gnu::always_inline]] inline Number found(Number so_far, Number x) {
    return any ? Number::select(x == 0.0f, so_far, 1.0f) : Number::select(x == 0.0f, 1.0f, so_far);
}

template <bool any>
void test_along(int64_t n, const float *x, int64_t, double *state) {
    for_blocks(n, [&](int64_t from, int64_t count) {
        constexpr double decided = any ? 1 : 0;
        if (state[0] == decided) return;
        Number there[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        int64_t i = from;
        for (; i + 4 * W <= from + count; i += 4 * W) {
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++) there[r] = found<any>(there[r], Number::of(Vec::load(x + i + r * W)));
        }
        for (; i < from + count; i += W) {
            const int64_t left = from + count - i;
            there[0] = found<any>(there[0], Number::of(part_of(x + i, left < W ? static_cast<int>(left) : W, any ? 0 : 1)));
        }
        if (Vec::sum(((there[0] + there[1]) + (there[2] + there[3])).reg) > 0) state[0] = decided;
    });
}

void deviations_along(int64_t n, const float *x, int64_t, double *state) {
    for_blocks(n, [&](int64_t from, int64_t count) {
        const float *block = x + from;
        const auto plain = [=](int64_t i, int left) __attribute__((always_inline)) { return Number::of(part_of(block + i, left, 0)); };
        const float mean = sum_of_block(
                               0, count, [&](int64_t i, int left) __attribute__((always_inline)) { return plain(i, left).reg; }) /
                           static_cast<float>(count);
        const auto distance = [=](int64_t i, int left) __attribute__((always_inline)) {
            return Number::of(part_of(block + i, left, mean)) - Number(mean);
        };
        const float sum = sum_of_block(0, count, [&](int64_t i, int left) __attribute__((always_inline)) { return distance(i, left).reg; });
        const float squares = sum_of_block(
            0, count, [&](int64_t i, int left) __attribute__((always_inline)) {
                const Number d = distance(i, left);
                return (d * d).reg;
            });
        Deviations all{state[0], state[1], state[2]};
        all.join(Deviations::around(static_cast<double>(count), mean, static_cast<double>(sum), static_cast<double>(squares)));
        state[0] = all.n, state[1] = all.mean, state[2] = all.squares;
    });
}

void exponentials_along(int64_t n, const float *x, int64_t, double *state) {
    for_blocks(n, [&](int64_t from, int64_t count) {
        const float *block = x + from, largest = extreme_of<false>(count, block);
        const Number base = Exponentials::base(largest);
        const float sum = sum_of_block(
            0, count, [=](int64_t i, int left) __attribute__((always_inline)) {
                return exp(Number::of(part_of(block + i, left, -infinity)) - base).reg;
            });
        Exponentials all{state[0], state[1]};
        all.join(Exponentials::around(largest, static_cast<double>(sum)), exp_f64);
        state[0] = all.largest, state[1] = all.sum;
    });
}

// ---- Across groups.

// Rows of as many floats are read four at a time.
constexpr int64_t long_row = 4096;
// Prefetching this number of floats ahead costs nothing where the hardware does it already.
constexpr int64_t ahead = 128;

// Up to three accumulators for each column, in the caller's memory.
class Columns {
public:
    Columns(int64_t n, float *room) : room_(room), n_(n), stride_((n + W - 1) / W * W) {}

    float *operator[](int i) const { return room_ + i * stride_; }
    int64_t count() const { return n_; }
    void fill(int i, float value) const {
        for (int64_t j = 0; j < n_; j += W) Vec::store((*this)[i] + j, Vec::broadcast(value));
    }

private:
    float *room_;
    int64_t n_, stride_;
};

// The accumulators of a register of columns.
template <int N>
struct Accumulators {
    Number at[N];

    [[gnu::always_inline]] Accumulators(const Columns &columns, int64_t j) {
#pragma GCC unroll 4
        for (int k = 0; k < N; k++) at[k] = Number::of(Vec::load(columns[k] + j));
    }
    [[gnu::always_inline]] void store(const Columns &columns, int64_t j) const {
#pragma GCC unroll 4
        for (int k = 0; k < N; k++) Vec::store(columns[k] + j, at[k].reg);
    }
};

// Folds rows of more than `registers` - 1 and up to `registers` registers.
template <int N, int registers, class Fold>
[[gnu::always_inline]] inline void fold_narrow(const Columns &columns, int64_t count, const float *const *rows, Fold fold) {
    const int rest = static_cast<int>(columns.count()) - (registers - 1) * W;
    const auto fold_all = [&]<std::size_t... q>(std::index_sequence<q...>) __attribute__((always_inline)) {
        Accumulators<N> a[] = {{columns, static_cast<int>(q) * W}...};
        for (int64_t r = 0; r < count; r++) {
            const float *x = rows[r];
#pragma GCC unroll 4
            for (int i = 0; i < registers; i++) {
                __builtin_prefetch(x + i * W + ahead);
                const bool whole = i < registers - 1 || rest == W;
                fold(a[i].at, Number::of(whole ? Vec::load(x + i * W) : Vec::load_part(x + i * W, rest)), r);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < registers; i++) a[i].store(columns, i * W);
    };
    fold_all(std::make_index_sequence<registers>());
}

// Folds rows [r, r + together).
template <int N, int together, class Fold>
[[gnu::always_inline]] inline void fold_wide(const Columns &columns, int64_t r, const float *const *rows, Fold fold) {
    const auto at = [&](int64_t j, int left) __attribute__((always_inline)) {
        Accumulators<N> a(columns, j);
#pragma GCC unroll 4
        for (int i = 0; i < together; i++) {
            const float *x = rows[r + i] + j;
            __builtin_prefetch(x + ahead);
            fold(a.at, Number::of(left == W ? Vec::load(x) : Vec::load_part(x, left)), r + i);
        }
        a.store(columns, j);
    };
    const int64_t n = columns.count();
    int64_t j = 0;
    for (; j + W <= n; j += W) at(j, W);
    if (j < n) at(j, static_cast<int>(n - j));
}

// Folds rows into N accumulators of each column: fold(a, x, row) updates a[N].
template <int N, class Fold>
[[gnu::always_inline]] inline void fold_rows(const Columns &columns, int64_t count, const float *const *rows, Fold fold) {
    switch ((columns.count() + W - 1) / W) {
        case 0: return;
        case 1: return fold_narrow<N, 1>(columns, count, rows, fold);
        case 2: return fold_narrow<N, 2>(columns, count, rows, fold);
        case 3: return fold_narrow<N, 3>(columns, count, rows, fold);
        case 4: return fold_narrow<N, 4>(columns, count, rows, fold);
        default: break;
    }
    int64_t r = 0;
    if (columns.count() >= long_row) {
        for (; r + 4 <= count; r += 4) fold_wide<N, 4>(columns, r, rows, fold);
    }
    for (; r < count; r++) fold_wide<N, 1>(columns, r, rows, fold);
}

void sum_across(int64_t n, int64_t count, const float *const *rows, int64_t, double *state, float *room) {
    const Columns sums(n, room);
    sums.fill(0, 0);
    fold_rows<1>(sums, count, rows, [](Number * a, Number x, int64_t) __attribute__((always_inline)) { a[0] = a[0] + x; });
    for (int64_t j = 0; j < n; j++) state[j] += static_cast<double>(sums[0][j]);
}

void product_across(int64_t n, int64_t count, const float *const *rows, int64_t, double *state, float *) {
    int64_t r = 0;
    for (; n >= long_row && r + 4 <= count; r += 4) {
        const float *a = rows[r], *b = rows[r + 1], *c = rows[r + 2], *d = rows[r + 3];
        for (int64_t j = 0; j < n; j++)
            state[j] =
                state[j] * static_cast<double>(a[j]) * static_cast<double>(b[j]) * static_cast<double>(c[j]) * static_cast<double>(d[j]);
    }
    for (; r < count; r++) {
        for (int64_t j = 0; j < n; j++) state[j] *= static_cast<double>(rows[r][j]);
    }
}

template <bool negated>
void extreme_across(int64_t n, int64_t count, const float *const *rows, int64_t, double *state, float *room) {
    const Columns most(n, room);
    for (int64_t j = 0; j < n; j++) most[0][j] = static_cast<float>(negated ? -state[j] : state[j]);
    fold_rows<1>(
        most, count, rows,
        [](Number * a, Number x, int64_t) __attribute__((always_inline)) { a[0] = math::maximum<Vec>(a[0], negated ? x.negated() : x); });
    for (int64_t j = 0; j < n; j++) state[j] = static_cast<double>(negated ? -most[0][j] : most[0][j]);
}

// A column without a number so far has NaN, which no comparison keeps.
template <bool negated>
void place_across(int64_t n, int64_t count, const float *const *rows, int64_t first, double *state, float *room) {
    double *value = state, *place = state + n;
    const Columns best(n, room);
    for (int64_t j = 0; j < n; j++) {
        const auto so_far = static_cast<float>(negated ? -value[j] : value[j]);
        best[0][j] = place[j] < 0 ? math::not_a_number : so_far;
    }
    best.fill(1, -1);
    fold_rows<2>(
        best, count, rows, [](Number * a, Number x, int64_t row) __attribute__((always_inline)) {
            x = negated ? x.negated() : x;
            const auto no_better = x <= a[0], is_number = x == x;
            const Number found = Number::select(is_number, x, a[0]), at = Number::select(is_number, static_cast<float>(row), a[1]);
            a[0] = Number::select(no_better, a[0], found);
            a[1] = Number::select(no_better, a[1], at);
        });
    for (int64_t j = 0; j < n; j++) {
        const bool is_new = best[1][j] >= 0;
        value[j] = is_new ? static_cast<double>(negated ? -best[0][j] : best[0][j]) : value[j];
        place[j] = is_new ? static_cast<double>(first) + static_cast<double>(best[1][j]) : place[j];
    }
}

template <bool any>
void test_across(int64_t n, int64_t count, const float *const *rows, int64_t, double *state, float *room) {
    const Columns there(n, room);
    there.fill(0, 0);
    fold_rows<1>(there, count, rows, [](Number * a, Number x, int64_t) __attribute__((always_inline)) { a[0] = found<any>(a[0], x); });
    for (int64_t j = 0; j < n; j++) state[j] = there[0][j] > 0 ? (any ? 1 : 0) : state[j];
}

// The count of each column is the same.
void deviations_across(int64_t n, int64_t count, const float *const *rows, int64_t, double *state, float *room) {
    // The mean of the rows, and the sums of the distances from it and of their squares.
    const Columns sums(n, room);
    for (int i = 0; i < 3; i++) sums.fill(i, 0);
    fold_rows<1>(sums, count, rows, [](Number * a, Number x, int64_t) __attribute__((always_inline)) { a[0] = a[0] + x; });
    const auto rows_f32 = static_cast<float>(count);
    for (int64_t j = 0; j < n; j++) sums[0][j] /= rows_f32;
    fold_rows<3>(
        sums, count, rows, [](Number * a, Number x, int64_t) __attribute__((always_inline)) {
            const Number d = x - a[0];
            a[1] = a[1] + d;
            a[2] = a[2] + d * d;
        });
    const double before = state[0], number = static_cast<double>(count);
    for (int64_t j = 0; j < n; j++) {
        Deviations all{before, state[n + j], state[2 * n + j]};
        all.join(Deviations::around(number, sums[0][j], static_cast<double>(sums[1][j]), static_cast<double>(sums[2][j])));
        state[j] = all.n, state[n + j] = all.mean, state[2 * n + j] = all.squares;
    }
}

void exponentials_across(int64_t n, int64_t count, const float *const *rows, int64_t, double *state, float *room) {
    // What exponentials are relative to, and their sums.
    const Columns largest(n, room), sums(n, largest[1]);
    largest.fill(0, -infinity);
    fold_rows<1>(
        largest, count, rows, [](Number * a, Number x, int64_t) __attribute__((always_inline)) { a[0] = math::maximum<Vec>(a[0], x); });
    for (int64_t j = 0; j < n; j++) sums[0][j] = Exponentials::base(largest[0][j]);
    sums.fill(1, 0);
    fold_rows<2>(sums, count, rows, [](Number * a, Number x, int64_t) __attribute__((always_inline)) { a[1] = a[1] + exp(x - a[0]); });
    for (int64_t j = 0; j < n; j++) {
        Exponentials all{state[j], state[n + j]};
        all.join(Exponentials::around(largest[0][j], static_cast<double>(sums[1][j])), exp_f64);
        state[j] = all.largest, state[n + j] = all.sum;
    }
}

}  // namespace

void fill_reductions(SimdTable::Reductions<float> &table) {
    table = {.along = {sum_along, product_along, extreme_along<false>, extreme_along<true>, place_along<false>, place_along<true>,
                       test_along<true>, test_along<false>, deviations_along, exponentials_along},
             .across = {sum_across, product_across, extreme_across<false>, extreme_across<true>, place_across<false>, place_across<true>,
                        test_across<true>, test_across<false>, deviations_across, exponentials_across}};
}

}  // namespace tensorlib::core::simd::TL_ISA
