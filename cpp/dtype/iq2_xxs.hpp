// IQ2_XXS: 256 elements, 66 bytes: runs of 8 from a grid of 256 entries, signs in 7 bits, a 4-bit scale per 32.
//
//   off 0  f16 d
//       2  eight groups of 32 elements, each
//            u8  g[4]   grid index of run l
//            u32 w      bits 7l..7l+6 the signs of run l, bits 28..31 the scale (as bytes: words are not aligned)
//
// y = d * (0.5 + scale) * 0.25 * grid, signed
#pragma once

#include "dtype/encode/grid_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ2_XXS {
    struct Block {
        std::uint16_t d;
        struct Group {
            std::uint8_t g[4];
            std::uint8_t w[4];
        } groups[8];
    };
    static constexpr const char *name = "iq2_xxs";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 32, zero = signed_zero, largest_code = 127;
    static constexpr Table16 code_set = table16({0, -43, -25, -8, 8, 25, 43}, zero);
    static constexpr int first_place = 0, place_shift = 4;
    TL_HOST_DEVICE static std::uint64_t magnitudes(const Block &block, int run) { return iq2xxs_grid(block.groups[run / 4].g[run % 4]); }
    TL_HOST_DEVICE static unsigned signs(const Block &block, int run) {
        return even_signs(load_u32(block.groups[run / 4].w) >> 7 * (run % 4) & 127);
    }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d) * 0.125f; }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) {
        return 2 * static_cast<int>(load_u32(block.groups[group].w) >> 28) + 1;
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ2_XXS>(block, group); }
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        signed_codes(magnitudes(block, run), signs(block, run), codes);
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        decode_signed(group_scale(block, run * run_length / scale_group), magnitudes(block, run), signs(block, run), values);
    }

    struct Grid {
        static constexpr int n_entries = 256, piece = 8, sub_block = 32, n_scales = 16;
        static constexpr float unit = 8, first = 27.0f, step = 3.0f;
        static constexpr encoding::Signs signs = encoding::Signs::even;
        static constexpr encoding::Shift shift = encoding::Shift::none;
        static const float *levels() { return core::codebooks::grid_levels().iq2xxs; }
    };
    static void encode(const float *values, const float *weights, Block &block) {
        const auto best = encoding::search_grid<Grid>(values, weights);
        block.d = best.half;
        for (int b = 0; b < 8; b++) {
            std::uint32_t w = static_cast<std::uint32_t>(best.scale[b]) << 28;
            for (int l = 0; l < 4; l++) {
                block.groups[b].g[l] = static_cast<std::uint8_t>(best.entry[4 * b + l]);
                w |= static_cast<std::uint32_t>(best.signs[4 * b + l] & 127) << 7 * l;
            }
            store_u32(block.groups[b].w, w);
        }
    }
};

static_assert(sizeof(IQ2_XXS::Block) == 66);

}  // namespace TL_FORMATS
