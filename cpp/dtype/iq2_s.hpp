// IQ2_S: 256 elements, 82 bytes: runs of 8 from a grid of 1024 entries, a sign bit each, a 4-bit scale per 16.
//
//   off  0  f16 d
//        2  u8  qs[32]     low eight bits of the grid index of run e/8
//       34  u8  signs[32]  of run e/8: bit j set where element j is negative
//       66  u8  qh[8]      per 32: bits 2l, 2l + 1 the index's bits 8, 9 of run l
//       74  u8  scales[8]  as in IQ2_XS
//
// y = d * (0.5 + scale) * 0.25 * grid, signed
#pragma once

#include "dtype/encode/grid_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ2_S {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[32];
        std::uint8_t signs[32];
        std::uint8_t qh[8];
        std::uint8_t scales[8];
    };
    static constexpr const char *name = "iq2_s";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 16, zero = signed_zero, largest_code = 127;
    static constexpr Table16 code_set = table16({0, -43, -25, -8, 8, 25, 43}, zero);
    static constexpr int first_place = 0, place_shift = 4;
    TL_HOST_DEVICE static std::uint64_t magnitudes(const Block &block, int run) {
        return iq2s_grid(block.qs[run] | (block.qh[run / 4] >> run % 4 * 2 & 3) << 8);
    }
    TL_HOST_DEVICE static unsigned signs(const Block &block, int run) { return block.signs[run]; }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d) * 0.125f; }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return 2 * (block.scales[group / 2] >> group % 2 * 4 & 15) + 1; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ2_S>(block, group); }
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        signed_codes(magnitudes(block, run), signs(block, run), codes);
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        decode_signed(group_scale(block, run * run_length / scale_group), magnitudes(block, run), signs(block, run), values);
    }

    struct Grid {
        static constexpr int n_entries = 1024, piece = 8, sub_block = 16, n_scales = 16;
        static constexpr float unit = 8, first = 27.0f, step = 3.0f;
        static constexpr encoding::Signs signs = encoding::Signs::free;
        static constexpr encoding::Shift shift = encoding::Shift::none;
        static const float *levels() { return core::codebooks::grid_levels().iq2s; }
    };
    static void encode(const float *values, const float *weights, Block &block) {
        const auto best = encoding::search_grid<Grid>(values, weights);
        block.d = best.half;
        for (int k = 0; k < 8; k++) {
            int high = 0;
            for (int l = 0; l < 4; l++) high |= best.entry[4 * k + l] >> 8 << 2 * l;
            block.qh[k] = static_cast<std::uint8_t>(high);
            block.scales[k] = static_cast<std::uint8_t>(best.scale[2 * k] | best.scale[2 * k + 1] << 4);
        }
        for (int run = 0; run < 32; run++) {
            block.qs[run] = static_cast<std::uint8_t>(best.entry[run] & 255);
            block.signs[run] = best.signs[run];
        }
    }
};

static_assert(sizeof(IQ2_S::Block) == 82);

}  // namespace TL_FORMATS
