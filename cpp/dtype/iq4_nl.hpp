// IQ4_NL: 32 elements, 18 bytes: 4-bit codes into a table of 16 values that lie closer together around zero.
//
//   off 0  f16 d        scale, may be negative
//       2  u8  qs[16]   nibbles as in Q4_0
//
// y = d * table[q]
#pragma once

#include "dtype/codebooks.hpp"
#include "dtype/encode/rules.hpp"
#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/nibbles.hpp"
#include "dtype/q8_0.hpp"

namespace TL_FORMATS {

struct IQ4_NL {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[16];
    };
    static constexpr const char *name = "iq4_nl";
    static constexpr std::int64_t block_size = 32;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_0;

    static constexpr int scale_group = 32, zero = 128, largest_code = 241;
    static constexpr Table16 codebook = table16({TL_IQ4NL_VALUES}, zero);
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        const Nibbles q = nibbles<32>(block.qs, run);
        store_eight(codes, q.all());
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) { store_nibbles<32>(block.qs, codes); }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        const float d = from_half(block.d);
        const Nibbles q = nibbles<32>(block.qs, run);
        for (int i = 0; i < run_length; i++) values[i] = d * iq4nl_level(q[i]);
    }

    // Scales that map the largest magnitude to 95 .. 155 of the table's -127 .. 113.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<32> in(values, weights);
        float levels[32];
        block.d = encoding::half_bits(in, encoding::search_levels<encoding::Nonlinear>(in, 95.0f, 4.0f, true, levels));
        int codes[32];
        for (int i = 0; i < 32; i++) codes[i] = block.d == 0 ? 0 : encoding::Nonlinear::code(levels[i]);
        store_nibbles<32>(block.qs, codes);
    }
    // At first the largest magnitude is -127 of the table; then, three times, levels are the nearest ones, and the scale is the best one
    // for them.
    static bool encode_by_rule(const float *values, float largest, Block &block) {
        float scale = (encoding::has_value(values, -largest) ? largest : -largest) / 127;
        constexpr int table[] = {TL_IQ4NL_VALUES};
        int codes[32];
        for (int turn = 0; turn < 3; turn++) {
            if (!encoding::keeps_digits_as_half(scale)) return false;
            const float inverse = 1.0f / scale;
            float levels[32];
            for (int i = 0; i < 32; i++) {
                const float at = values[i] * inverse;
                int code = 0, level = table[0];
                for (int k = 1; k < 16; k++) {
                    const bool beyond = at > static_cast<float>(table[k - 1] + table[k]) * 0.5f;
                    code += beyond;
                    level += beyond ? table[k] - table[k - 1] : 0;
                }
                codes[i] = code;
                levels[i] = static_cast<float>(level);
            }
            encoding::Lanes products = encoding::all(0), squares = encoding::all(0);
            for (int i = 0; i < 32; i += encoding::n_lanes) {
                const encoding::Lanes level = encoding::load(levels + i);
                products = products + encoding::load(values + i) * level;
                squares = squares + level * level;
            }
            scale = encoding::sum(products) / encoding::sum(squares);
        }
        if (!encoding::keeps_digits_as_half(scale)) return false;
        F16::encode(&scale, block.d);
        store_nibbles<32>(block.qs, codes);
        return true;
    }
};

static_assert(sizeof(IQ4_NL::Block) == 18);

}  // namespace TL_FORMATS
