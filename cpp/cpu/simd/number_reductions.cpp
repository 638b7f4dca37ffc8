// Reductions of I32, I64 and F64, in the order of those of floats (reductions.cpp): along a group, blocks of 1024 elements
// in 32 parts, which are joined pairwise; across groups, row after row. Sums and products are in I64 or F64, and integers
// wrap around. Compilers turn these loops into vectors. Memory is the limit, except for exponentials.
#include "cpu/simd/isa.hpp"

#include "math/numbers.hpp"
#include "math/reduced.hpp"

#include <limits>
#include <type_traits>

namespace tensorlib::core::simd::TL_ISA {

namespace {

using math::Deviations, math::Exponentials;

template <class T>
using N = math::Numbers<T>;

// A state's numbers.
template <class E>
using V = std::conditional_t<std::is_integral_v<E>, int64_t, double>;

// Calls f(block, count, the block's index) for blocks of sum_block.
template <class E, class F>
[[gnu::always_inline]] inline void for_blocks(int64_t n, const E *x, F f) {
    for (int64_t from = 0; from < n; from += sum_block) f(x + from, n - from < sum_block ? n - from : sum_block, from);
}

// Joins all elements of a block: element i to part i mod 32, then parts pairwise. of(x) makes a part of an element.
template <class P, class E, class Of, class Join>
[[gnu::always_inline]] inline P joined(const E *x, int64_t n, P none, Of of, Join join) {
    P parts[sum_parts];
    for (int p = 0; p < sum_parts; p++) parts[p] = none;
    int64_t i = 0;
    for (; i + sum_parts <= n; i += sum_parts) {
        for (int p = 0; p < sum_parts; p++) parts[p] = join(parts[p], of(x[i + p]));
    }
    for (int p = 0; i < n; p++, i++) parts[p] = join(parts[p], of(x[i]));
    for (int half = sum_parts / 2; half > 0; half /= 2) {
        for (int p = 0; p < half; p++) parts[p] = join(parts[p], parts[p + half]);
    }
    return parts[0];
}

template <class E>
[[gnu::always_inline]] inline V<E> wide(E x) {
    return static_cast<V<E>>(x);
}

template <class E>
void sum_along(int64_t n, const E *x, int64_t, V<E> *state) {
    for_blocks(n, x, [&](const E *block, int64_t count, int64_t) {
        state[0] = N<V<E>>::add(state[0], joined(block, count, V<E>{0}, wide<E>, N<V<E>>::add));
    });
}

template <class E>
void product_along(int64_t n, const E *x, int64_t, V<E> *state) {
    for_blocks(n, x, [&](const E *block, int64_t count, int64_t) {
        state[0] = N<V<E>>::mul(state[0], joined(block, count, V<E>{1}, wide<E>, N<V<E>>::mul));
    });
}

template <class T>
[[gnu::always_inline]] inline T same(T x) {
    return x;
}

// What every element is at least as good as.
template <class E, bool least>
constexpr E worst() {
    if constexpr (std::is_integral_v<E>) {
        return least ? std::numeric_limits<E>::max() : std::numeric_limits<E>::min();
    } else {
        return least ? __builtin_inf() : -__builtin_inf();
    }
}

// The best element without NaN, regardless of the sign of 0.
template <class E, bool least>
[[gnu::always_inline]] inline E best_number(const E *x, int64_t n) {
    return joined(
        x, n, worst<E, least>(), same<E>,
        [](E best, E v) __attribute__((always_inline)) { return (least ? v < best : v > best) ? v : best; });
}

template <class E, bool least>
void extreme_along(int64_t n, const E *x, int64_t, V<E> *state) {
    const auto better = [](V<E> a, V<E> b) { return least ? N<V<E>>::minimum(a, b) : N<V<E>>::maximum(a, b); };
    for_blocks(n, x, [&](const E *block, int64_t count, int64_t) {
        E best = best_number<E, least>(block, count);
        if constexpr (!std::is_integral_v<E>) {
            // Zeros need all signs, and infinity may be where only NaN is.
            // Counted as wide as the elements are, because compilers turn that into vectors.
            int64_t unordered = 0;
            for (int64_t i = 0; i < count; i++) unordered += block[i] != block[i];
            if (unordered != 0 || best == 0) {
                best = block[0];
                for (int64_t i = 1; i < count; i++) best = better(best, block[i]);
            }
        }
        state[0] = better(state[0], best);
    });
}

// Skips a block whose best element is no better; otherwise finds it.
template <class E, bool least>
void place_along(int64_t n, const E *x, int64_t first, V<E> *state) {
    for_blocks(n, x, [&](const E *block, int64_t count, int64_t from) {
        const E best = best_number<E, least>(block, count);
        if (state[1] >= 0 && !(least ? best < state[0] : best > state[0])) return;
        int64_t at = 0;
        while (at < count && block[at] != best) at++;
        if (at == count) return;  // only NaN
        state[0] = best;
        state[1] = static_cast<V<E>>(first + from + at);
    });
}

// any: whether an element is not 0; otherwise, whether one is 0.
template <class E, bool any>
void test_along(int64_t n, const E *x, int64_t, V<E> *state) {
    constexpr V<E> decided = any ? 1 : 0;
    for_blocks(n, x, [&](const E *block, int64_t count, int64_t) {
        if (state[0] == decided) return;
        bool found = false;
        for (int64_t i = 0; i < count; i++) found |= (block[i] != 0) == any;
        if (found) state[0] = decided;
    });
}

void deviations_along(int64_t n, const double *x, int64_t, double *state) {
    for_blocks(n, x, [&](const double *block, int64_t count, int64_t) {
        const auto add = N<double>::add;
        const double number = static_cast<double>(count), mean = joined(block, count, 0.0, same<double>, add) / number;
        const double sum = joined(block, count, 0.0, [mean](double v) { return v - mean; }, add);
        const double squares = joined(block, count, 0.0, [mean](double v) { return (v - mean) * (v - mean); }, add);
        Deviations all{state[0], state[1], state[2]};
        all.join(Deviations::around(number, mean, sum, squares));
        state[0] = all.n, state[1] = all.mean, state[2] = all.squares;
    });
}

double exponential(double x) { return __builtin_exp(x); }

void exponentials_along(int64_t n, const double *x, int64_t, double *state) {
    for_blocks(n, x, [&](const double *block, int64_t count, int64_t) {
        double largest = -math::infinity;
        extreme_along<double, false>(count, block, 0, &largest);
        const double base = Exponentials::base(largest);
        const double sum = joined(block, count, 0.0, [base](double v) { return exponential(v - base); }, N<double>::add);
        Exponentials all{state[0], state[1]};
        all.join(Exponentials::around(largest, sum), exponential);
        state[0] = all.largest, state[1] = all.sum;
    });
}

// ---- Across groups: columns j of rows.

// Rows of as many elements are folded four at a time, so that states are loaded and stored once for four elements.
constexpr int64_t long_row = 4096;

// state[j] = fold(state[j], rows[r][j]), row after row.
template <class E, class S, class Fold>
[[gnu::always_inline]] inline void fold_rows(int64_t n, int64_t count, const E *const *rows, S *state, Fold fold) {
    int64_t r = 0;
    for (; n >= long_row && r + 4 <= count; r += 4) {
        const E *a = rows[r], *b = rows[r + 1], *c = rows[r + 2], *d = rows[r + 3];
        for (int64_t j = 0; j < n; j++) state[j] = fold(fold(fold(fold(state[j], a[j]), b[j]), c[j]), d[j]);
    }
    for (; r < count; r++) {
        const E *x = rows[r];
        for (int64_t j = 0; j < n; j++) state[j] = fold(state[j], x[j]);
    }
}

template <class E>
void sum_across(int64_t n, int64_t count, const E *const *rows, int64_t, V<E> *state, E *) {
    fold_rows(n, count, rows, state, [](V<E> sum, E x) __attribute__((always_inline)) { return N<V<E>>::add(sum, wide(x)); });
}

template <class E>
void product_across(int64_t n, int64_t count, const E *const *rows, int64_t, V<E> *state, E *) {
    fold_rows(n, count, rows, state, [](V<E> product, E x) __attribute__((always_inline)) { return N<V<E>>::mul(product, wide(x)); });
}

template <class E, bool least>
void extreme_across(int64_t n, int64_t count, const E *const *rows, int64_t, V<E> *state, E *room) {
    const auto better = [](E best, E x) __attribute__((always_inline)) { return least ? N<E>::minimum(best, x) : N<E>::maximum(best, x); };
    if constexpr (std::is_same_v<E, V<E>>) {
        fold_rows(n, count, rows, state, better);
    } else {
        for (int64_t j = 0; j < n; j++) room[j] = static_cast<E>(state[j]);
        fold_rows(n, count, rows, room, better);
        for (int64_t j = 0; j < n; j++) state[j] = room[j];
    }
}

// The states of all groups have a place, or none has one, unless a column has had only NaN, whose value is NaN here.
template <class E, bool least>
void place_across(int64_t n, int64_t count, const E *const *rows, int64_t first, V<E> *state, E *room) {
    V<E> *value = state, *place = state + n;
    E *best = room, *at = room + n;
    int64_t r = 0;
    if constexpr (std::is_integral_v<E>) {
        const bool starts = n > 0 && place[0] < 0;
        for (int64_t j = 0; j < n; j++) best[j] = starts ? rows[0][j] : static_cast<E>(value[j]), at[j] = starts ? 0 : -1;
        r = starts ? 1 : 0;
    } else {
        for (int64_t j = 0; j < n; j++) best[j] = place[j] < 0 ? math::not_a_number : value[j], at[j] = -1;
    }
    for (; r < count; r++) {
        const E *x = rows[r];
        const auto row = static_cast<E>(r);
        for (int64_t j = 0; j < n; j++) {
            const bool better = !(least ? x[j] >= best[j] : x[j] <= best[j]) && x[j] == x[j];
            best[j] = better ? x[j] : best[j];
            at[j] = better ? row : at[j];
        }
    }
    for (int64_t j = 0; j < n; j++) {
        if (at[j] < 0) continue;
        value[j] = best[j];
        place[j] = static_cast<V<E>>(first) + static_cast<V<E>>(at[j]);
    }
}

template <class E, bool any>
void test_across(int64_t n, int64_t count, const E *const *rows, int64_t, V<E> *state, E *) {
    constexpr V<E> decided = any ? 1 : 0;
    fold_rows(n, count, rows, state, [](V<E> so_far, E x) __attribute__((always_inline)) { return (x != 0) == any ? decided : so_far; });
}

void deviations_across(int64_t n, int64_t count, const double *const *rows, int64_t, double *state, double *room) {
    // The mean of the rows, and the sums of the distances from it and of their squares.
    double *mean = room, *sum = room + n, *squares = room + 2 * n;
    const double before = state[0], number = static_cast<double>(count);
    for (int64_t j = 0; j < n; j++) mean[j] = sum[j] = squares[j] = 0;
    fold_rows(n, count, rows, mean, N<double>::add);
    for (int64_t j = 0; j < n; j++) mean[j] /= number;
    for (int64_t r = 0; r < count; r++) {
        for (int64_t j = 0; j < n; j++) {
            const double d = rows[r][j] - mean[j];
            sum[j] += d;
            squares[j] += d * d;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        Deviations all{before, state[n + j], state[2 * n + j]};
        all.join(Deviations::around(number, mean[j], sum[j], squares[j]));
        state[j] = all.n, state[n + j] = all.mean, state[2 * n + j] = all.squares;
    }
}

void exponentials_across(int64_t n, int64_t count, const double *const *rows, int64_t, double *state, double *room) {
    double *largest = room, *sum = room + n;
    for (int64_t j = 0; j < n; j++) largest[j] = -math::infinity, sum[j] = 0;
    fold_rows(n, count, rows, largest, N<double>::maximum);
    for (int64_t r = 0; r < count; r++) {
        for (int64_t j = 0; j < n; j++) sum[j] += exponential(rows[r][j] - Exponentials::base(largest[j]));
    }
    for (int64_t j = 0; j < n; j++) {
        Exponentials all{state[j], state[n + j]};
        all.join(Exponentials::around(largest[j], sum[j]), exponential);
        state[j] = all.largest, state[n + j] = all.sum;
    }
}

template <class E>
void fill_type(SimdTable::Reductions<E> &table) {
    table = {.along = {sum_along<E>, product_along<E>, extreme_along<E, false>, extreme_along<E, true>, place_along<E, false>,
                       place_along<E, true>, test_along<E, true>, test_along<E, false>, nullptr, nullptr},
             .across = {sum_across<E>, product_across<E>, extreme_across<E, false>, extreme_across<E, true>, place_across<E, false>,
                        place_across<E, true>, test_across<E, true>, test_across<E, false>, nullptr, nullptr}};
}

}  // namespace

void fill_number_reductions(SimdTable &table) {
    fill_type(table.reductions_i32);
    fill_type(table.reductions_i64);
    fill_type(table.reductions_f64);
    constexpr auto deviations = static_cast<int>(Reduced::deviations), exponentials = static_cast<int>(Reduced::exponentials);
    table.reductions_f64.along[deviations] = deviations_along;
    table.reductions_f64.across[deviations] = deviations_across;
    table.reductions_f64.along[exponentials] = exponentials_along;
    table.reductions_f64.across[exponentials] = exponentials_across;
}

}  // namespace tensorlib::core::simd::TL_ISA
