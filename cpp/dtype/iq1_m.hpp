// IQ1_M: 256 elements, 56 bytes: as IQ1_S, with a 3-bit scale per 16 and a shift per run. The scale d has no field of its own:
// its four nibbles are the high nibbles of sc.
//
//   off  0  u8  qs[32]  low eight bits of the grid index of run e/8
//       32  u8  qh[16]  nibble g%2 of byte g/2 for run g: bits 0..2 the index's bits 8..10, bit 3 the shift's sign
//       48  u16 sc[4]   bits 0..11: four 3-bit scales; bits 12..15: nibble i of d
//
// y = d * (2 * scale + 1) * (grid +- 0.125)
#pragma once

#include "dtype/encode/grid_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/grid_runs.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct IQ1_M {
    struct Block {
        std::uint8_t qs[32];
        std::uint8_t qh[16];
        std::uint16_t sc[4];
    };
    static constexpr const char *name = "iq1_m";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    // d, an F16.
    TL_HOST_DEVICE static std::uint16_t scale_bits(const Block &block) {
        const unsigned d = block.sc[0] >> 12 | block.sc[1] >> 12 << 4 | block.sc[2] >> 12 << 8 | block.sc[3] >> 12 << 12;
        return static_cast<std::uint16_t>(d);
    }

    // value = (scale / 8) * (8 v + 8 delta), and 8 delta is 1 or -1.
    static constexpr int scale_group = 16, zero = shifted_zero, largest_code = 18;
    static constexpr Table16 code_set = table16({-9, -7, 0, 0, -1, 1, 0, 0, 7, 9}, zero);
    static constexpr int first_place = 0, place_shift = 1;
    TL_HOST_DEVICE static std::uint64_t entry(const Block &block, int run) {
        return iq1s_grid(block.qs[run] | (block.qh[run / 2] >> run % 2 * 4 & 7) << 8);
    }
    TL_HOST_DEVICE static bool negative(const Block &block, int run) { return (block.qh[run / 2] >> run % 2 * 4 & 8) != 0; }
    TL_HOST_DEVICE static float unit_scale(const Block &block) { return from_half(scale_bits(block)) * 0.125f; }
    TL_HOST_DEVICE static int scale_steps(const Block &block, int group) { return 2 * (block.sc[group / 4] >> 3 * (group % 4) & 7) + 1; }
    TL_HOST_DEVICE static float group_scale(const Block &block, int group) { return scale_by_steps<IQ1_M>(block, group); }
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        shifted_codes(entry(block, run), negative(block, run), codes);
    }

    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) {
        decode_shifted(8 * group_scale(block, run * run_length / scale_group), entry(block, run), negative(block, run), values);
    }

    struct Grid {
        static constexpr int n_entries = 2048, piece = 8, sub_block = 16, n_scales = 8;
        static constexpr float unit = 1, first = 1.0f, step = 0.25f;
        static constexpr encoding::Signs signs = encoding::Signs::in_entries;
        static constexpr encoding::Shift shift = encoding::Shift::per_piece;
        static const float *levels() { return core::codebooks::grid_levels().iq1s; }
    };
    static void encode(const float *values, const float *weights, Block &block) {
        const auto best = encoding::search_grid<Grid>(values, weights);
        for (int k = 0; k < 16; k++) {
            int nibbles = 0;
            for (int l = 0; l < 2; l++) {
                // Entries from 2048 are shifted down: bit 11 is stored as the nibble's bit 3.
                const int entry = best.entry[2 * k + l];
                block.qs[2 * k + l] = static_cast<std::uint8_t>(entry & 255);
                nibbles |= entry >> 8 << 4 * l;
            }
            block.qh[k] = static_cast<std::uint8_t>(nibbles);
        }
        const unsigned d = best.half;
        for (int k = 0; k < 4; k++) {
            unsigned scales = 0;
            for (int i = 0; i < 4; i++) scales |= static_cast<unsigned>(best.scale[4 * k + i]) << 3 * i;
            block.sc[k] = static_cast<std::uint16_t>(scales | (d >> 4 * k & 15) << 12);
        }
    }
};

static_assert(sizeof(IQ1_M::Block) == 56);

}  // namespace TL_FORMATS
