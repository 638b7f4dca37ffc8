// MXFP4: 32 elements, 17 bytes: 4-bit floats (E2M1) with a power of two as their scale. OCP Microscaling Formats 1.0.
//
//   off 0  u8 e        scale 2^(e - 127); 255, NaN there, decodes as a power of two too
//       1  u8 qs[16]   nibbles as in Q4_0: bit 3 the sign, bits 0..2 one of 0, 0.5, 1, 1.5, 2, 3, 4, 6
//
// y = table[q] * 2^(e - 128); the table's values are doubled. Code 8, minus zero, decodes to +0.
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct MXFP4 {
    struct Block {
        std::uint8_t e;
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "mxfp4";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    // 2^(e - 128), which is subnormal below e = 2.
    TL_HOST_DEVICE static float half_power(unsigned e) {
        const std::uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    static constexpr int scale_group = 32, zero = 12, largest_code = 24;
    static constexpr bool wide_scales = true;
    static constexpr Table16 codebook = table16({TL_FP4_VALUES}, zero);
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<32>(block.qs, run);
        store_eight(codes, q.all());
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return half_power(block.e); }
    static void store_codes(Block &block, const std::uint8_t *codes) { store_nibbles<32>(block.qs, codes); }
    // The inverse of half_power().
    static void store_scales(Block &block, const BlockScales &kept) {
        std::uint32_t bits;
        std::memcpy(&bits, kept.scale, sizeof bits);
        const std::uint32_t exponent = bits >> 23;
        block.e = static_cast<std::uint8_t>(exponent == 0 ? bits >> 22 : exponent + 1);
    }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float scale = half_power(block.e);
        const Nibbles q = nibbles<32>(block.qs, run);
        for (int i = 0; i < run_length; i++) values[i] = fp4_level(q[i]) * scale;
    }

    // Tries every power of two that maps the largest magnitude to 12 / 256 .. 12 * 256 and no level beyond F32's range,
    // and takes the best.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<32> in(values, weights);
        float levels[32];
        block.e = 0;
        float best = 0;
        if (!in.zero) {
            // Twice the largest over 16, at first; 252 because 12 * 2^(253 - 128) is beyond F32.
            float powers[encoding::n_lanes];
            int e[encoding::n_lanes];
            for (int j = 0; j < encoding::n_lanes; j++) {
                const int wanted = in.exponent + 125 + j - 8;
                e[j] = wanted < 0 ? 0 : wanted > 252 ? 252 : wanted;
                powers[j] = half_power(static_cast<unsigned>(e[j])) * in.down;
            }
            const encoding::Lanes scale = encoding::load(powers);
            const encoding::Lanes error = encoding::fit<encoding::Fp4>(in.x, in.w, in.wx, 32, encoding::all(1) / scale).error(scale);
            const int j = encoding::smallest(error);
            if (encoding::lane(error, j) < 0) block.e = static_cast<std::uint8_t>(e[j]), best = powers[j];
        }
        encoding::choose_levels<encoding::Fp4>(in.x, 32, best, levels);
        int codes[32];
        for (int i = 0; i < 32; i++) codes[i] = encoding::Fp4::code(levels[i]);
        store_nibbles<32>(block.qs, codes);
    }
};

static_assert(sizeof(MXFP4::Block) == 17);

}  // namespace TL_FORMATS
