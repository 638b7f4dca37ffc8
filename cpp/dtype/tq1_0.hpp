// TQ1_0: 256 elements of -1, 0 and 1 with one scale, 54 bytes: five base-3 digits per byte.
//
//   off  0  u8  qs[48]  elements 0..159: digit e/32 of byte e%32; 160..239: digit (e-160)/16 of byte 32 + (e-160)%16
//       48  u8  qh[4]   elements 240..255: digit (e-240)/4 of byte (e-240)%4
//       52  f16 d       scale
//
// A byte is ceil(256 v / 243), where v is the number whose base-3 digits are the elements + 1, the first element
// leading. So byte * 3^n mod 256, as a fraction of 256, begins with digit n: times 3, divided by 256. y = (digit - 1) *
// d
#pragma once

#include "dtype/encode/scale_search.hpp"
#include "dtype/f16.hpp"
#include "dtype/q8_k.hpp"

namespace TL_FORMATS {

struct TQ1_0 {
    struct Block {
        std::uint8_t qs[48];
        std::uint8_t qh[4];
        std::uint16_t d;
    };
    static constexpr const char *name = "tq1_0";
    static constexpr std::int64_t block_size = 256;
    static constexpr Kind kind = Kind::weight;
    using Partner = Q8_K;

    // 3^n, n = 0..4, in a byte each.
    TL_HOST_DEVICE static constexpr int power(int n) { return static_cast<int>(0x511b090301ull >> (8 * n) & 255); }
    TL_HOST_DEVICE static constexpr int digit(int byte, int power) { return (byte * power & 255) * 3 >> 8; }

    static constexpr int scale_group = 256, zero = 1, largest_code = 2;
    TL_HOST_DEVICE static void codes_run(const Block &block, int run, std::uint8_t *codes) {
        if (run < 30) {
            // One digit of eight bytes.
            const std::uint8_t *bytes = run < 20 ? block.qs + run % 4 * run_length : block.qs + 32 + run % 2 * run_length;
            const int p = power(run < 20 ? run / 4 : run / 2 - 10);
            for (int i = 0; i < run_length; i++) codes[i] = static_cast<std::uint8_t>(digit(bytes[i], p));
        } else {
            // Two digits of four bytes.
            const int low = power(2 * (run - 30)), high = power(2 * (run - 30) + 1);
            for (int i = 0; i < 4; i++) codes[i] = static_cast<std::uint8_t>(digit(block.qh[i], low));
            for (int i = 0; i < 4; i++) codes[4 + i] = static_cast<std::uint8_t>(digit(block.qh[i], high));
        }
    }
    TL_HOST_DEVICE static float group_scale(const Block &block, int) { return from_half(block.d); }
    static void store_codes(Block &block, const std::uint8_t *codes) {
        const auto pack = [&](std::uint8_t *bytes, int n_bytes, int n_digits, const std::uint8_t *first) {
            for (int k = 0; k < n_bytes; k++) {
                int v = 0;
                for (int n = 0; n < 5; n++) v = v * 3 + (n < n_digits ? first[n * n_bytes + k] : 0);
                bytes[k] = static_cast<std::uint8_t>((v * 256 + 242) / 243);
            }
        };
        pack(block.qs, 32, 5, codes), pack(block.qs + 32, 16, 5, codes + 160), pack(block.qh, 4, 4, codes + 240);
    }
    static void store_scales(Block &block, const BlockScales &kept) { block.d = to_half(kept.scale[0]); }
    TL_HOST_DEVICE static void decode_run(const Block &block, int run, float *values) { decode_codes<TQ1_0>(block, run, values); }

    // The scale as in TQ2_0.
    static void encode(const float *values, const float *weights, Block &block) {
        const encoding::Input<256> in(values, weights);
        float levels[256];
        block.d = encoding::half_bits(in, encoding::search_levels<encoding::Uniform<-1, 1>>(in, 0.6f, 0.4f, false, levels));
        std::uint8_t codes[256];
        for (int i = 0; i < 256; i++) codes[i] = static_cast<std::uint8_t>(static_cast<int>(levels[i]) + zero);
        store_codes(block, codes);
    }
};

static_assert(sizeof(TQ1_0::Block) == 54);

}  // namespace TL_FORMATS
