// NVFP4: 64 elements, 36 bytes: 4-bit floats (E2M1) with an 8-bit float (UE4M3) as the scale of each 16.
//
//   off 0  u8 d[4]     scales: bits 3..6 the exponent, bias 7, bits 0..2 the fraction; 0x7f counts as 0; bit 7 is
//                      ignored
//       4  u8 qs[32]   eight bytes a sub-block: byte i holds its elements i (low nibble) and i + 8 (high)
//
// y = table[q] * (scale / 2); the table's values are doubled as in MXFP4
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct NVFP4 {
    struct Block {
        std::uint8_t d[4];
        std::uint8_t qs[32];
    };
    static constexpr const char *name = "nvfp4";
    static constexpr std::int64_t block_size = 64;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    // Half of the byte's value: fraction * 2^-10 for exponent 0, otherwise (8 + fraction) * 2^(exponent - 11).
    TL_HOST_DEVICE static float half_scale(unsigned byte) {
        const unsigned exponent = byte >> 3 & 15, fraction = byte & 7;
        if (exponent == 0) return static_cast<float>(fraction) * (1.0f / 1024.0f);
        if ((byte & 127) == 127) return 0;
        // (1 + fraction / 8) * 2^(exponent - 8): 119 = 127 - 8.
        const std::uint32_t bits = (exponent + 119) << 23 | fraction << 20;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    // The byte with the next scale below or equal, from a float's upper bits: 952 = 119 * 8. Below 2^-7, scales are
    // multiples of 2^-10.
    static int byte_below(float scale) {
        std::uint32_t bits;
        std::memcpy(&bits, &scale, sizeof bits);
        const int normal = static_cast<int>(bits >> 20) - 952;
        return scale >= 0x1p-7f ? (normal < 126 ? normal : 126) : static_cast<int>(scale * 1024.0f);
    }

    static constexpr int scale_group = 16, zero = 12, largest_code = 24;
    static constexpr Table16 codebook = table16({TL_FP4_VALUES}, zero);
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<16>(block.qs + run / 2 * 8, run);
        store_eight(codes, q.all());
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return half_scale(block.d[group]); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        for (int s = 0; s < 4; s++) store_nibbles<16>(block.qs + 8 * s, codes + 16 * s);
    }
    static void store_scales(Block &block, const BlockScales &kept) {
        for (int s = 0; s < 4; s++) block.d[s] = static_cast<std::uint8_t>(byte_below(kept.scale[s]));
    }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float scale = half_scale(block.d[run / 2]);
        const Nibbles q = nibbles<16>(block.qs + run / 2 * 8, run);
        for (int i = 0; i < run_length; i++) values[i] = fp4_level(q[i]) * scale;
    }

    // For each 16 elements, takes the best of the sixteen scales around the one that maps the largest magnitude to 12.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<64> in(values, weights);
        for (int s = 0; s < 4; s++) {
            const float *x = in.x + 16 * s, *w = in.w + 16 * s, *wx = in.wx + 16 * s;
            const float wanted = encoding::float_of(encoding::largest_bits(x, 16)) * in.up * (1.0f / 12);
            const int middle = byte_below(wanted);
            float scales[encoding::n_lanes];
            unsigned bytes[encoding::n_lanes];
            for (int j = 0; j < encoding::n_lanes; j++) {
                const int byte = middle + j - 7;
                bytes[j] = static_cast<unsigned>(byte < 1 ? 1 : byte > 126 ? 126 : byte);
                scales[j] = half_scale(bytes[j]) * in.down;
            }
            const encoding::Lanes scale = encoding::load(scales);
            const encoding::Lanes error = encoding::fit<encoding::Fp4>(x, w, wx, 16, encoding::all(1) / scale).error(scale);
            const int j = encoding::smallest(error);
            const bool better = encoding::lane(error, j) < 0;
            block.d[s] = static_cast<std::uint8_t>(better ? bytes[j] : 0);
            float levels[16];
            encoding::choose_levels<encoding::Fp4>(x, 16, better ? scales[j] : 0, levels);
            int codes[16];
            for (int i = 0; i < 16; i++) codes[i] = encoding::Fp4::code(levels[i]);
            store_nibbles<16>(block.qs + 8 * s, codes);
        }
    }
};

static_assert(sizeof(NVFP4::Block) == 36);

}  // namespace TL_FORMATS
