// IQ1_S: 256 elements, 50 bytes: runs of 8 from a grid of 2048 entries of -1, 0 and 1, all shifted by 1/8 up or down; a 3-bit
// scale per 32.
//
//   off  0  f16 d
//        2  u8  qs[32]  low eight bits of the grid index of run e/8
//       34  u16 qh[8]   per 32: bits 3l..3l+2 the index's bits 8..10 of run l, bits 12..14 the scale, bit 15 the shift's sign
//
// y = d * (2 * scale + 1) * (grid +- 0.125)
#pragma once

#include "dtype/encode/grid_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ1_S {
    struct Block {
        std::uint16_t d;
        std::uint8_t qs[32];
        std::uint16_t qh[8];
    };
    static constexpr const char *name = "iq1_s";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    // value = (scale / 8) * (8 v + 8 delta), and 8 delta is 1 or -1.
    static constexpr int scale_group = 32, zero = shifted_zero, largest_code = 18;
    static constexpr Table16 code_set = table16({-9, -7, 0, 0, -1, 1, 0, 0, 7, 9}, zero);
    static constexpr int first_place = 0, place_shift = 1;
    TL_HOST_DEVICE static std::uint64_t entry(const Block &block, int run) {
        return iq1s_grid(block.qs[run] | (block.qh[run / 4] >> 3 * (run % 4) & 7) << 8);
    }
    TL_HOST_DEVICE static bool negative(const Block &block, int run) { return (block.qh[run / 4] & 0x8000) != 0; }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(block.d) * 0.125f; }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return 2 * (block.qh[group] >> 12 & 7) + 1; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ1_S>(block, group); }
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        shifted_codes(entry(block, run), negative(block, run), codes);
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        decode_shifted(8 * group_scale(block, run * run_length / scale_group), entry(block, run), negative(block, run), values);
    }

    struct Grid {
        static constexpr int n_entries = 2048, piece = 8, sub_block = 32, n_scales = 8;
        static constexpr float unit = 1, first = 1.0f, step = 0.25f;
        static constexpr encoding::Signs signs = encoding::Signs::in_entries;
        static constexpr encoding::Shift shift = encoding::Shift::per_sub_block;
        static const float *levels() { return core::codebooks::grid_levels().iq1s; }
    };
    static void encode(const float *values, const float *weights, Block &block) {
        const auto best = encoding::search_grid<Grid>(values, weights);
        block.d = best.half;
        for (int b = 0; b < 8; b++) {
            int h = best.scale[b] << 12 | (best.down[b] ? 0x8000 : 0);
            for (int l = 0; l < 4; l++) {
                block.qs[4 * b + l] = static_cast<std::uint8_t>(best.entry[4 * b + l] & 255);
                h |= best.entry[4 * b + l] >> 8 << 3 * l;
            }
            block.qh[b] = static_cast<std::uint16_t>(h);
        }
    }
};

static_assert(sizeof(IQ1_S::Block) == 50);

}  // namespace TL_FORMATS
