// Weighted sums of packed rows, in floats and in the order of packed rows:
//
//   superblock | k4 of all lanes | element 0 of each: [lane] | element 1: [lane] | ..            2 W floats each
//
//   zero:     sum += (weight * scale) * (code - zero)             a step for 16 weights: 2 shifts, a conversion, a
//                                                                 multiply-add
//   offsets:  sum += weight * (scale * code + offset)             one multiply-add more, which keeps what would cancel
//
// If a table of 16 floats can give a code's value (4 bits and fewer, stored together), a table lookup replaces the
// conversion, the subtraction and half the shifts. Several packed rows are added together, so that sums are loaded and
// stored once for them.
#include "cpu/simd/packed_rows_i8.hpp"

namespace tensorlib::core::simd::TL_ISA {

#if defined(TL_HAS_INTS)

namespace {

constexpr int W = lanes;
// The number of rows whose scales, offsets and weights fit in registers.
template <class Format>
constexpr int together = W == 16 && !HasOffsets<Format> ? max_summed_rows : 2;

#if defined(TL_HAS_CHOICE)
template <class P>
constexpr bool chooses = P::low <= 4 && P::high == 0;
#else
template <class P>
constexpr bool chooses = false;
#endif

// The values of the codes in 16 lanes, or of their low bits.
template <class Format>
struct Values {
    alignas(64) float of[16];
    constexpr Values() : of() {
        using P = PackingOf<Format>;
        for (int place = 0; place < 16; place++) {
            int code = place & ((1 << P::low) - 1);
            if constexpr (HasCodebook<Format>) code = static_cast<uint8_t>(Format::codebook[place]);
            if constexpr (HasCodeSet<Format>) code = static_cast<uint8_t>(Format::code_set[place]);
            if constexpr (!HasOffsets<Format>) code -= Format::zero;
            of[place] = static_cast<float>(code);
        }
    }
};

// The factors of a group of lanes.
template <class Format>
struct Factors {
    Vec::Reg scale[2], offset[2];
    void load(const PackedRow<PackingOf<Format>> &packed, int64_t g, Vec::Reg weight) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            scale[half] = packed.scale(half);
            if constexpr (!HasOffsets<Format>) {
                scale[half] = Vec::mul(scale[half], weight);
            } else if constexpr (PackedRow<PackingOf<Format>>::offset_steps) {
                offset[half] = Vec::mul(packed.offset_steps_of(g, half), packed.unit_offset(half));
            } else {
                offset[half] = packed.offset(half);
            }
        }
    }
    Vec::Reg add(int half, Vec::Reg code, Vec::Reg weight, Vec::Reg sum) const {
        if constexpr (HasOffsets<Format>) return Vec::fma(weight, Vec::fma(scale[half], code, offset[half]), sum);
        return Vec::fma(scale[half], code, sum);
    }
};

// Element `part` of each lane's k4 i of a chunk as floats, from the chunk's vectors.
template <class Format, class I>
inline Vec::Reg code_at(typename I::Reg codes, [[maybe_unused]] int i, int part, [[maybe_unused]] Vec::Reg values) {
#if defined(TL_HAS_CHOICE)
    using P = PackingOf<Format>;
    if constexpr (chooses<P>) return Vec::choose(values, Vec::right(codes, 8 * part + i % P::k4s_per_vector * P::low));
#endif
    return I::to_float(I::signed_byte(codes, part));
}

template <class Format, int n>
void add(int64_t k, const PackedPanel *from, const float *weights, float *sums, bool accumulate) {
    using P = PackingOf<Format>;
    static constexpr Values<Format> all_values;
    const Vec::Reg values = Vec::load(all_values.of);
    PackedRow<P> packed[n];
    Vec::Reg weight[n];
    for (int t = 0; t < n; t++) packed[t] = PackedRow<P>(from[t]), weight[t] = Vec::broadcast(weights[t]);
    for_each_superblock<P>(k, [&](int64_t, int64_t elements) {
        for (int t = 0; t < n; t++) packed[t].begin_superblock(elements / 4);
        for (int64_t g = 0; g < elements / (4 * P::group); g++) {
            Factors<Format> by[n];
#pragma GCC unroll 4
            for (int t = 0; t < n; t++) by[t].load(packed[t], g, weight[t]);
#pragma GCC unroll 1
            for (int done = 0; done < P::group; done += P::chunk) {
#pragma GCC unroll 8
                for (int i = 0; i < P::chunk; i++) {
#pragma GCC unroll 2
                    for (int half = 0; half < 2; half++) {
                        Ints::Reg codes[n];
#pragma GCC unroll 4
                        for (int t = 0; t < n; t++) {
                            if constexpr (chooses<P>) {
                                codes[t] = packed[t].vector_of(i, half);
                            } else {
                                codes[t] = packed[t].k4(i, half);
                                if constexpr (!HasOffsets<Format>) codes[t] = Ints::minus(codes[t], Format::zero);
                            }
                        }
#pragma GCC unroll 4
                        for (int part = 0; part < 4; part++) {
                            float *to = sums + (2 * part + half) * W;
                            Vec::Reg sum = accumulate ? Vec::load(to) : Vec::zero();
#pragma GCC unroll 4
                            for (int t = 0; t < n; t++)
                                sum = by[t].add(half, code_at<Format, Ints>(codes[t], i, part, values), weight[t], sum);
                            Vec::store(to, sum);
                        }
                    }
                    sums += 4 * panel_rows;
                }
                for (int t = 0; t < n; t++) packed[t].end_chunk();
            }
            for (int t = 0; t < n; t++) packed[t].end_group(g);
        }
        for (int t = 0; t < n; t++) packed[t].end_superblock();
    });
}

template <class P>
int64_t sum_floats(int64_t k) {
    int64_t all = 0;
    for_each_superblock<P>(k, [&](int64_t, int64_t n) { all += panel_rows * n; });
    return all;
}

template <class P>
void put_in_order(int64_t k, const float *sums, int64_t begin, int64_t end, float *to) {
    constexpr int64_t k4 = 4 * panel_rows;
    int64_t at = 0;
    for_each_superblock<P>(k, [&](int64_t first, int64_t n) {
        for (int64_t q = 0; q < n / 4; q++, at += k4) {
            if (at < begin || at >= end) continue;
            for (int64_t lane = 0; lane < panel_rows; lane++) {
                const int64_t element = first + lane * n + 4 * q;
                if (element >= k) break;
                for (int64_t part = 0; part < 4; part++) to[element + part] = sums[at + part * panel_rows + lane];
            }
        }
    });
}

template <class Format>
void enter(SimdTable::PackedRowFormat &format) {
    if constexpr (HasCodes<Format>) {
        format.summed = together<Format>;
        format.add[0] = add<Format, 1>, format.add[1] = add<Format, 2>;
        if constexpr (together<Format> > 2) format.add[2] = add<Format, 3>, format.add[3] = add<Format, 4>;
        format.sum_floats = sum_floats<PackingOf<Format>>;
        format.put_in_order = put_in_order<PackingOf<Format>>;
    }
}

}  // namespace

void fill_packed_row_sums(SimdTable &table) {
    SimdTable::PackedRowFormat *format = table.packed_rows;
#define TL_DTYPE(name, id, type) enter<type>(*format++);
#include "dtype/dtype_list.inc"
#undef TL_DTYPE
}

#else

void fill_packed_row_sums(SimdTable &) {}

#endif

}  // namespace tensorlib::core::simd::TL_ISA
