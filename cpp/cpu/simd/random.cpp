// Words of Philox, and random numbers made of them: the steps of cpp/math/random.hpp in loops that the compiler
// vectorises. Every ISA gives identical bits.
//
// A block of 4 words takes 20 products of 32 by 32 bits, and a register computes half as many of these as it has words.
// That is some 100 instructions for as many blocks as a register has words, so it is limited by arithmetic and not by
// the 4 bytes per element.
#include "cpu/simd/isa.hpp"

#include "math/random.hpp"

namespace tensorlib::core::simd::TL_ISA {

namespace {

// Blocks that go through a round together. Each of their words fills two registers or more of any ISA. With loops of
// 16, the compiler unrolls them completely and then finds no vectors.
constexpr int together = 32;

void words_together(const RandomSource &source, uint32_t first, uint32_t *to) {
    uint32_t c0[together], c1[together], c2[together], c3[together];
    for (int b = 0; b < together; b++) {
        c0[b] = first + static_cast<uint32_t>(b);
        c1[b] = source.stream;
        c2[b] = source.counter[0];
        c3[b] = source.counter[1];
    }
    uint32_t key0 = source.key[0], key1 = source.key[1];
    for (int round = 0; round < math::philox_rounds; round++) {
        for (int b = 0; b < together; b++) math::philox_round(key0, key1, c0[b], c1[b], c2[b], c3[b]);
        key0 += math::golden;
        key1 += math::root3;
    }
    for (int b = 0; b < together; b++) to[4 * b] = c0[b], to[4 * b + 1] = c1[b], to[4 * b + 2] = c2[b], to[4 * b + 3] = c3[b];
}

void words(int64_t blocks, const RandomSource &source, uint32_t first, uint32_t *to) {
    int64_t b = 0;
    for (; b + together <= blocks; b += together) words_together(source, first + static_cast<uint32_t>(b), to + 4 * b);
    for (; b < blocks; b++) math::random_words(source, first + static_cast<uint32_t>(b), to + 4 * b);
}

void uniform(int64_t n, const uint32_t *words, float low, float span, float *to) {
    for (int64_t i = 0; i < n; i++) to[i] = math::uniform(words[i], low, span);
}

// Computes all elements with the central function first, then the 15 in 100 that are in the tails once more.
void normal(int64_t n, const uint32_t *words, double mean, double deviation, float *to) {
    for (int64_t i = 0; i < n; i++) to[i] = math::moved_normal(math::normal_centre(math::centred(words[i])), mean, deviation);
    for (int64_t i = 0; i < n; i++) {
        const double q = math::centred(words[i]);
        if (!math::is_central(q)) to[i] = math::moved_normal(math::normal_tail(q), mean, deviation);
    }
}

void drop(int64_t n, const uint32_t *words, uint32_t least, float share, const float *x, float *to) {
    const math::DropoutThreshold threshold{least, true, share};
    for (int64_t i = 0; i < n; i++) to[i] = math::dropped(words[i], threshold, x[i]);
}

}  // namespace

void fill_random(SimdTable::Random &table) { table = {.words = words, .uniform = uniform, .normal = normal, .drop = drop}; }

}  // namespace tensorlib::core::simd::TL_ISA
