// What a token does to the states of recurrent layers.
//
//   advance  row: | i0 .. i(W-1) | ..: a row and its new products with two vectors in one pass, for 4 rows that share the loads of
//            the other vectors (3 with a second vector that is added)
//   columns  row: | j0 .. j(W-1) | ..: up to 4 registers of sums, one for each column, stay while all rows go by
//
// Limited by multiply-adds: a row is read and written once, for 3 to 5 operations of each element.
#include "cpu/simd/rows.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
using Reg = Vec::Reg;
using Advance = SimdTable::Recurrences::Advance;
using Columns = SimdTable::Recurrences::Columns;

// What of Advance is not null.
struct Parts {
    bool to, decay, b;
    int products;
};

// Rows [at, at + count).
template <int count, Parts parts>
void advance_rows(const Advance &a, int at) {
    const int64_t n = a.n, whole = n / W * W, from_stride = a.stride;
    const float *from = a.from + at * a.stride, *k = a.k, *b = a.b, *decay = a.decay, *first = a.first, *second = a.second;
    float *to = a.to + (parts.to ? at * n : 0);
    // Unrolled, or the compiler clears the arrays in memory first.
    Reg firsts[count], seconds[count], add[count], add_b[count];
#pragma GCC unroll 4
    for (int r = 0; r < count; r++) {
        firsts[r] = seconds[r] = Vec::zero();
        add[r] = Vec::broadcast(parts.to ? a.add[at + r] : 0);
        add_b[r] = Vec::broadcast(parts.b ? a.add_b[at + r] : 0);
    }
    const Reg all = Vec::broadcast(a.all);
    // Elements [i, i + m); the lanes of a part beyond its m are 0 in all vectors and in x.
    const auto pass = [&](int64_t i, auto load, auto store) __attribute__((always_inline)) {
        const Reg of_k = parts.to ? load(k + i) : all, of_b = parts.b ? load(b + i) : all, kept = parts.decay ? load(decay + i) : all,
                  of_first = parts.products > 1 ? load(first + i) : all, of_second = parts.products > 0 ? load(second + i) : all;
#pragma GCC unroll 4
        for (int r = 0; r < count; r++) {
            Reg x = load(from + r * from_stride + i);
            if constexpr (parts.to) {
                x = Vec::fma(add[r], of_k, Vec::mul(kept, x));
                if constexpr (parts.b) x = Vec::fma(add_b[r], of_b, x);
                x = store(to + r * n + i, x);
            }
            if constexpr (parts.products > 1) firsts[r] = Vec::fma(x, of_first, firsts[r]);
            if constexpr (parts.products > 0) seconds[r] = Vec::fma(x, of_second, seconds[r]);
        }
    };
    const auto store_all = [](float *p, Reg x) {
        Vec::store(p, x);
        return x;
    };
    for (int64_t i = 0; i < whole; i += W) pass(i, [](const float *p) { return Vec::load(p); }, store_all);
    if (const int rest = static_cast<int>(n - whole); rest > 0) {
        // What was stored is loaded again, because an infinity times the 0 of a lane beyond the part is NaN.
        const auto store_part = [&](float *p, Reg x) {
            Vec::store_part(p, x, rest);
            return Vec::load_part(p, rest);
        };
        pass(whole, [&](const float *p) { return Vec::load_part(p, rest); }, store_part);
    }
#pragma GCC unroll 4
    for (int r = 0; r < count; r++) {
        if constexpr (parts.products > 1) a.firsts[at + r] = Vec::sum(firsts[r]);
        if constexpr (parts.products > 0) a.seconds[at + r] = Vec::sum(seconds[r]);
    }
}

// A row's bits do not depend on the other rows of its group.
template <Parts parts>
void advance_all(const Advance &a) {
    constexpr int together = parts.b ? 3 : 4;
    int at = 0;
    for (; at + together <= a.count; at += together) advance_rows<together, parts>(a, at);
    for (; at < a.count; at++) advance_rows<1, parts>(a, at);
}

template <bool decay, bool b>
void advance_to(const Advance &a) {
    if (a.first) return advance_all<Parts{true, decay, b, 2}>(a);
    a.second ? advance_all<Parts{true, decay, b, 1}>(a) : advance_all<Parts{true, decay, b, 0}>(a);
}

void advance(const Advance &a) {
    if (!a.to) return advance_all<Parts{false, false, false, 2}>(a);
    if (a.b) return advance_to<true, true>(a);
    a.decay ? advance_to<true, false>(a) : advance_to<false, false>(a);
}

// Columns [at, at + count W), or one part of a register.
template <int count>
void columns_at(const Columns &c, int64_t at, auto load, auto store) {
    const float *from = c.from + at;
    float *to = c.to + at;
    Reg sums[count], v[count];
#pragma GCC unroll 4
    for (int j = 0; j < count; j++) {
        v[j] = load(c.v + at + j * W);
        sums[j] = Vec::mul(Vec::broadcast(c.of_v), v[j]);
    }
    for (int64_t row = 0; row < c.rows; row++, from += c.from_stride, to += c.to_stride) {
        const Reg of_row = Vec::broadcast(c.of_row[row]), decay = Vec::broadcast(c.decay[row]), k = Vec::broadcast(c.k[row]);
#pragma GCC unroll 4
        for (int j = 0; j < count; j++) {
            const Reg x = load(from + j * W);
            sums[j] = Vec::fma(x, of_row, sums[j]);
            store(to + j * W, Vec::fma(k, v[j], Vec::mul(decay, x)));
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < count; j++) store(c.out + at + j * W, sums[j]);
}

void columns(const Columns &c) {
    constexpr int together = 4;
    const auto load = [](const float *p) { return Vec::load(p); };
    const auto store = [](float *p, Reg x) { Vec::store(p, x); };
    int64_t at = 0;
    for (; at + together * W <= c.width; at += together * W) columns_at<together>(c, at, load, store);
    for (; at + W <= c.width; at += W) columns_at<1>(c, at, load, store);
    if (const int rest = static_cast<int>(c.width - at); rest > 0) {
        columns_at<1>(
            c, at, [=](const float *p) { return Vec::load_part(p, rest); }, [=](float *p, Reg x) { Vec::store_part(p, x, rest); });
    }
}

}  // namespace

void fill_recurrences(SimdTable::Recurrences &table) { table = {.advance = advance, .columns = columns}; }

}  // namespace tensorlib::core::simd::TL_ISA
