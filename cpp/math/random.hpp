// Counter-based random numbers: words of Philox4x32-10, and numbers made of them. There is no state, so any element can
// be computed without the others.
//
// All steps are integer operations, or sums, products, quotients and square roots that are each rounded (IEEE 754),
// which gives identical bits everywhere (math/rounded.hpp).
#pragma once

#include "math/rounded.hpp"

namespace tensorlib::core {

// What determines a word. The key is the seed. The lowest 32 bits of the counter are the number of a block of 4 words;
// the others are the stream and the state's counter. No two streams, counters or blocks of a seed therefore share a
// counter of 128 bits.
struct RandomSource {
    uint32_t key[2];
    uint32_t stream;
    uint32_t counter[2];
};

}  // namespace tensorlib::core

namespace TL_MATH {

TL_MATH_INLINE RandomSource random_source(int64_t seed, int64_t counter, int64_t stream) {
    const auto s = static_cast<uint64_t>(seed), c = static_cast<uint64_t>(counter);
    return {{static_cast<uint32_t>(s), static_cast<uint32_t>(s >> 32)},
            static_cast<uint32_t>(stream),
            {static_cast<uint32_t>(c), static_cast<uint32_t>(c >> 32)}};
}

// Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, 2011.
// A round multiplies two words, and mixes the products' upper halves with the other two words and the key, which then
// advances.
constexpr int philox_rounds = 10;
constexpr uint32_t golden = 0x9e3779b9, root3 = 0xbb67ae85;  // the steps of the key: the golden ratio and sqrt(3) - 1,
                                                             // times 2^32

TL_MATH_INLINE void philox_round(uint32_t key0, uint32_t key1, uint32_t &c0, uint32_t &c1, uint32_t &c2, uint32_t &c3) {
    constexpr uint32_t factor0 = 0xd2511f53, factor1 = 0xcd9e8d57;
    const uint64_t product0 = uint64_t{factor0} * c0, product1 = uint64_t{factor1} * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<uint32_t>(product1);
    c3 = static_cast<uint32_t>(product0);
}

TL_MATH_INLINE void philox(uint32_t key0, uint32_t key1, uint32_t &c0, uint32_t &c1, uint32_t &c2, uint32_t &c3) {
    for (int round = 0; round < philox_rounds; round++) {
        philox_round(key0, key1, c0, c1, c2, c3);
        key0 += golden;
        key1 += root3;
    }
}

// Words 4 block to 4 block + 3.
TL_MATH_INLINE void random_words(const RandomSource &source, uint32_t block, uint32_t *to) {
    uint32_t c0 = block, c1 = source.stream, c2 = source.counter[0], c3 = source.counter[1];
    philox(source.key[0], source.key[1], c0, c1, c2, c3);
    to[0] = c0, to[1] = c1, to[2] = c2, to[3] = c3;
}

// low + span u, where u is the word's upper 24 bits times 2^-24; all of these are floats.
TL_MATH_INLINE float uniform(uint32_t word, float low, float span) {
    return plus(low, times(span, times(static_cast<float>(static_cast<int32_t>(word >> 8)), 0x1p-24f)));
}

// (word + 1/2) 2^-32 - 1/2, exact: never 0, and -x as often as x.
TL_MATH_INLINE double centred(uint32_t word) {
    return times(plus(static_cast<double>(static_cast<int32_t>(word ^ 0x80000000u)), 0.5), 0x1p-32);
}

// a + r (b + r ( .. )), each step rounded.
TL_MATH_INLINE double polynomial(double, double a) { return a; }
template <class... More>
TL_MATH_INLINE double polynomial(double r, double a, More... more) {
    return plus(a, times(r, polynomial(r, more...)));
}

// -log(p) for a positive normal number p. p = f 2^e, f in [sqrt(1/2), sqrt(2)), and log(f) = 2 artanh(s) = 2 (s + s^3 /
// 3 + s^5 / 5 + ..), s = (f - 1) / (f + 1). |s| is at most 0.1716, so the terms after s^17 are less than 1e-15 of it.
TL_MATH_INLINE double minus_log(double p) {
    constexpr uint64_t root_half = 0x3fe6a09e667f3bcd, exponent = uint64_t{0xfff} << 52;
    const auto bits = __builtin_bit_cast(uint64_t, p), above = bits - root_half;
    const auto e = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(above) >> 52));
    const auto f = __builtin_bit_cast(double, bits - (above & exponent));
    const double s = over(plus(f, -1.0), plus(f, 1.0));
    const double series = polynomial(times(s, s), 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17);
    return plus(times(-e, 0.69314718055994531), times(times(-2.0, s), series));
}

// Where the standard normal distribution reaches q + 1/2: M. J. Wichura, Algorithm AS 241: The Percentage Points of the
// Normal Distribution, Applied Statistics 37, 1988. It uses rational functions of q^2 in the middle and of sqrt(-log p)
// in the tails, where p is the smaller of q + 1/2 and 1/2 - q. The relative error is 1e-15. The third function, for p
// below e^-25, is not needed: the least p of a word is 2^-33.
constexpr double central = 0.425;
TL_MATH_INLINE double normal_centre(double q) {
    const double r = plus(0.180625, times(-q, q));
    const double above = polynomial(r, 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                                    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3);
    const double below = polynomial(r, 1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                                    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3);
    return over(times(q, above), below);
}
TL_MATH_INLINE double normal_tail(double q) {
    const double r = plus(root(minus_log(plus(0.5, q < 0 ? q : -q))), -1.6);
    const double above =
        polynomial(r, 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
                   1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4);
    const double below =
        polynomial(r, 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
                   1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9);
    const double z = over(above, below);
    return q < 0 ? -z : z;
}
TL_MATH_INLINE bool is_central(double q) { return q >= -central && q <= central; }

// From a standard normal z, rounded to F32 at the end.
TL_MATH_INLINE float moved_normal(double z, double mean, double deviation) { return static_cast<float>(plus(mean, times(deviation, z))); }

TL_MATH_INLINE float normal(uint32_t word, double mean, double deviation) {
    const double q = centred(word);
    return moved_normal(is_central(q) ? normal_centre(q) : normal_tail(q), mean, deviation);
}

// What dropout keeps: words from `least` up, if any. p below 1 may be so near to it that `least` would be 2^32.
struct DropoutThreshold {
    uint32_t least;
    bool any;
    float share;  // 1 - p
};
TL_MATH_INLINE DropoutThreshold dropout_threshold(double p) {
    const double exact = p * 0x1p32;
    auto least = static_cast<uint64_t>(exact);
    least += static_cast<double>(least) < exact;
    return {static_cast<uint32_t>(least), least >> 32 == 0, static_cast<float>(1 - p)};
}
TL_MATH_INLINE float dropped(uint32_t word, const DropoutThreshold &threshold, float x) {
    return threshold.any && word >= threshold.least ? over(x, threshold.share) : 0.0f;
}

}  // namespace TL_MATH
