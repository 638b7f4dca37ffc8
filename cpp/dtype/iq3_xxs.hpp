// IQ3_XXS: 256 elements, 98 bytes: runs of 4 from a grid of 256 entries, signs in 7 bits per 8, a 4-bit scale per 32.
//
//   off  0  f16 d
//        2  u8  qs[64]   grid index of the 4 elements e/4
//       66  u32 w[8]     per 32: bits 7l..7l+6 the signs of run l of 8, bits 28..31 the scale (as bytes: not aligned)
//
// y = d * (0.5 + scale) * 0.5 * grid, signed
#pragma once

#include "dtype/encode/grid_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ3_XXS {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[64];
        std::uint8_t w[8][4];
    };
    static constexpr const char *name = "iq3_xxs";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 32, zero = signed_zero, largest_code = 127;
    static constexpr Table16 code_set = table16({-62, -52, -44, -36, -28, -20, -12, -4, 4, 12, 20, 28, 36, 44, 52, 62}, zero);
    static constexpr int first_place = 0, place_shift = 3;
    TL_HOST_DEVICE static std::uint64_t magnitudes(const Block &block, int run) {
        return join(iq3xxs_grid(block.qs[2 * run]), iq3xxs_grid(block.qs[2 * run + 1]));
    }
    TL_HOST_DEVICE static unsigned signs(const Block &block, int run) {
        return even_signs(load_u32(block.w[run / 4]) >> 7 * (run % 4) & 127);
    }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d) * 0.25f; }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) {
        return 2 * static_cast<int>(load_u32(block.w[group]) >> 28) + 1;
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ3_XXS>(block, group); }
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        signed_codes(magnitudes(block, run), signs(block, run), codes);
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        decode_signed(group_scale(block, run * run_length / scale_group), magnitudes(block, run), signs(block, run), values);
    }

    struct Grid {
        static constexpr int n_entries = 256, piece = 4, sub_block = 32, n_scales = 16;
        static constexpr float unit = 4, first = 50.0f, step = 2.0f;
        static constexpr encoding::Signs signs = encoding::Signs::even;
        static constexpr encoding::Shift shift = encoding::Shift::none;
        static const float *levels() { return core::codebooks::grid_levels().iq3xxs; }
    };
    static void encode(const float *values, const float *weights, Block &block) {
        const auto best = encoding::search_grid<Grid>(values, weights);
        block.d = best.half;
        for (int t = 0; t < 64; t++) block.qs[t] = static_cast<std::uint8_t>(best.entry[t]);
        for (int b = 0; b < 8; b++) {
            std::uint32_t w = static_cast<std::uint32_t>(best.scale[b]) << 28;
            for (int l = 0; l < 4; l++) w |= static_cast<std::uint32_t>(best.signs[4 * b + l] & 127) << 7 * l;
            store_u32(block.w[b], w);
        }
    }
};

static_assert(sizeof(IQ3_XXS::Block) == 98);

}  // namespace TL_FORMATS
