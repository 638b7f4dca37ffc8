// What a token does to the states of recurrent layers.
//
//   update   row: | i0 .. i(W-1) | ..: a row and its new product with the query in one pass, for up to 4 rows that share the loads of
//            decays, key and query
//   lane     row: | j0 .. |: a row whose elements belong to different sums of the result
//
// Limited by the L1 cache: a row is read and written once, for 3 to 4 multiply-adds of each element.
#include "cpu/simd/rows.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

constexpr int W = Vec::width;
using Reg = Vec::Reg;
constexpr int most = max_updated_rows;

// Elements [i, i + W) of a row. Without decays, `all` is that of each element. b: null, or a second vector that is added.
template <int count, bool each, bool second>
void update_rows(const SimdTable::Recurrences::Update &u) {
    Reg sums[count], add[count], add_b[count];
    for (int r = 0; r < count; r++) {
        sums[r] = Vec::zero();
        add[r] = Vec::broadcast(u.add[r]);
        add_b[r] = Vec::broadcast(second ? u.add_b[r] : 0);
    }
    const Reg all = Vec::broadcast(u.all);
    const int64_t whole = u.n / W * W;
    for (int64_t i = 0; i < whole; i += W) {
        const Reg k = Vec::load(u.k + i), q = Vec::load(u.q + i), decay = each ? Vec::load(u.decay + i) : all;
        for (int r = 0; r < count; r++) {
            float *at = u.rows + r * u.n + i;
            Reg x = Vec::fma(add[r], k, Vec::mul(decay, Vec::load(at)));
            if constexpr (second) x = Vec::fma(add_b[r], Vec::load(u.b + i), x);
            Vec::store(at, x);
            sums[r] = Vec::fma(x, q, sums[r]);
        }
    }
    for (int r = 0; r < count; r++) {
        float sum = Vec::sum(sums[r]);
        for (int64_t i = whole; i < u.n; i++) {
            float &at = u.rows[r * u.n + i];
            at = (each ? u.decay[i] : u.all) * at + u.add[r] * u.k[i];
            if constexpr (second) at += u.add_b[r] * u.b[i];
            sum += at * u.q[i];
        }
        u.out[r] = sum;
    }
}

template <bool each, bool second>
void update_some(const SimdTable::Recurrences::Update &u) {
    static_assert(most == 4);
    switch (u.count) {
        case 1: return update_rows<1, each, second>(u);
        case 2: return update_rows<2, each, second>(u);
        case 3: return update_rows<3, each, second>(u);
        default: return update_rows<4, each, second>(u);
    }
}

void update(const SimdTable::Recurrences::Update &u) {
    if (u.b) {
        u.decay ? update_some<true, true>(u) : update_some<false, true>(u);
    } else {
        u.decay ? update_some<true, false>(u) : update_some<false, false>(u);
    }
}

void lane(int64_t n, float *__restrict row, const float *__restrict v, float of_row, float of_v, float decay, float k,
          float *__restrict out) {
    for (int64_t i = 0; i < n; i++) {
        const float before = row[i];
        out[i] += of_row * before + of_v * v[i];
        row[i] = decay * before + k * v[i];
    }
}

}  // namespace

void fill_recurrences(SimdTable::Recurrences &table) { table = {.update = update, .lane = lane}; }

}  // namespace tensorlib::core::simd::TL_ISA
