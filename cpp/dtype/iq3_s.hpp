// IQ3_S: 256 elements, 110 bytes: runs of 4 from a grid of 512 entries, a sign bit each, a 4-bit scale per 32.
//
//   off   0  f16 d
//         2  u8  qs[64]     low eight bits of the grid index of the 4 elements t = e/4
//        66  u8  qh[8]      bit t%8 of byte t/8: the index's bit 8
//        74  u8  signs[32]  of 8 elements each: bit j set where element j is negative
//       106  u8  scales[4]  per 32: nibble b%2 of byte b/2, b = e/32
//
// y = d * (1 + 2 * scale) * grid, signed
#pragma once

#include "dtype/encode/grid_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ3_S {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[64];
        std::uint8_t qh[8];
        std::uint8_t signs[32];
        std::uint8_t scales[4];
    };
    static constexpr const char *name = "iq3_s";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    static constexpr int scale_group = 32, zero = signed_zero, largest_code = 127;
    static constexpr Table16 code_set = table16({-15, -13, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 13, 15}, zero);
    static constexpr int first_place = 48, place_shift = 1;
    TL_HOST_DEVICE static std::uint64_t magnitudes(const Block &block, int run) {
        const int high = block.qh[run / 4] >> run % 4 * 2;
        return join(iq3s_grid(block.qs[2 * run] | (high & 1) << 8), iq3s_grid(block.qs[2 * run + 1] | (high & 2) << 7));
    }
    TL_HOST_DEVICE static unsigned signs(const Block &block, int run) { return block.signs[run]; }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d); }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return 1 + 2 * (block.scales[group / 2] >> group % 2 * 4 & 15); }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ3_S>(block, group); }
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        signed_codes(magnitudes(block, run), signs(block, run), codes);
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        decode_signed(group_scale(block, run * run_length / scale_group), magnitudes(block, run), signs(block, run), values);
    }

    struct Grid {
        static constexpr int n_entries = 512, piece = 4, sub_block = 32, n_scales = 16;
        static constexpr float unit = 1, first = 12.0f, step = 0.5f;
        static constexpr encoding::Signs signs = encoding::Signs::free;
        static constexpr encoding::Shift shift = encoding::Shift::none;
        static const float *levels() { return core::codebooks::grid_levels().iq3s; }
    };
    static void encode(const float *values, const float *weights, Block &block) {
        const auto best = encoding::search_grid<Grid>(values, weights);
        block.d = best.half;
        for (int b = 0; b < 8; b++) {
            int high = 0;
            for (int i = 0; i < 8; i++) high |= best.entry[8 * b + i] >> 8 << i;
            block.qh[b] = static_cast<std::uint8_t>(high);
        }
        for (int t = 0; t < 64; t++) block.qs[t] = static_cast<std::uint8_t>(best.entry[t] & 255);
        for (int run = 0; run < 32; run++) block.signs[run] = best.signs[run];
        for (int k = 0; k < 4; k++) block.scales[k] = static_cast<std::uint8_t>(best.scale[2 * k] | best.scale[2 * k + 1] << 4);
    }
};

static_assert(sizeof(IQ3_S::Block) == 110);

}  // namespace TL_FORMATS
