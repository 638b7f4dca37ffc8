// IQ2_XS: 256 elements, 74 bytes: runs of 8 from a grid of 512 entries, signs in 7 bits, a 4-bit scale per 16.
//
//   off  0  f16 d
//        2  u16 qs[32]     of run e/8: bits 0..8 the grid index, bits 9..15 the signs
//       66  u8  scales[8]  per 32: low nibble for the first 16, high nibble for the second
//
// y = d * (0.5 + scale) * 0.25 * grid, signed
#pragma once

#include "dtype/encode/grid_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ2_XS {
    struct Block {
        std::uint16_t d;
        std::uint16_t qs[32];
        std::uint8_t scales[8];
    };
    static constexpr const char *name = "iq2_xs";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 16, zero = signed_zero, largest_code = 127;
    static constexpr Table16 code_set = table16({0, -43, -25, -8, 8, 25, 43}, zero);
    static constexpr int first_place = 0, place_shift = 4;
    TL_HOST_DEVICE static std::uint64_t magnitudes(const Block &block, int run) { return iq2xs_grid(block.qs[run] & 511); }
    TL_HOST_DEVICE static unsigned signs(const Block &block, int run) { return even_signs(static_cast<unsigned>(block.qs[run]) >> 9); }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d) * 0.125f; }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return 2 * (block.scales[group / 2] >> group % 2 * 4 & 15) + 1; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ2_XS>(block, group); }
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        signed_codes(magnitudes(block, run), signs(block, run), codes);
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        decode_signed(group_scale(block, run * run_length / scale_group), magnitudes(block, run), signs(block, run), values);
    }

    struct Grid {
        static constexpr int n_entries = 512, piece = 8, sub_block = 16, n_scales = 16;
        static constexpr float unit = 8, first = 27.0f, step = 3.0f;
        static constexpr encoding::Signs signs = encoding::Signs::even;
        static constexpr encoding::Shift shift = encoding::Shift::none;
        static const float *levels() { return core::codebooks::grid_levels().iq2xs; }
    };
    static void encode(const float *values, const float *weights, Block &block) {
        const auto best = encoding::search_grid<Grid>(values, weights);
        block.d = best.half;
        for (int run = 0; run < 32; run++) block.qs[run] = static_cast<std::uint16_t>(best.entry[run] | (best.signs[run] & 127) << 9);
        for (int k = 0; k < 8; k++) block.scales[k] = static_cast<std::uint8_t>(best.scale[2 * k] | best.scale[2 * k + 1] << 4);
    }
};

static_assert(sizeof(IQ2_XS::Block) == 74);

}  // namespace TL_FORMATS
