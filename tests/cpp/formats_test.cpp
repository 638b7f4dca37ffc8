// Decoding of every storage type, on each ISA: against checksums that the format's document states for blocks of pseudo-random
// bytes, and against the reference implementation's output.
#include "dtype/codebooks.hpp"
#include "dtype/dtype.hpp"

#include "support.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <cstring>

using namespace tl::core;

namespace {

// CRC-32 (ISO-HDLC, zlib's), bit by bit.
std::uint32_t crc32(const void *data, std::size_t size) {
    std::uint32_t crc = ~0u;
    const auto *p = static_cast<const std::uint8_t *>(data);
    for (std::size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

struct Golden {
    DType type;
    std::uint32_t input, output;
    int d = -1, second = -1;  // offsets of the F16 scale and of a second F16 field
};

// formats/block-formats.md, section 10.
constexpr Golden golden[] = {
    {DType::f16, 0xedfa719f, 0x5a739688},        {DType::q4_0, 0x17970ed9, 0x03ff5d1a, 0},      {DType::q4_1, 0x916ff112, 0x02bcf42f, 0, 2},
    {DType::q5_0, 0xc05ea361, 0x1fe7fbaa, 0},    {DType::q5_1, 0x0f2ba4c5, 0xb55dff47, 0, 2},   {DType::q8_0, 0x051c2435, 0x93e487f3, 0},
    {DType::q8_1, 0x1ceb90bc, 0xa452f973, 0, 2}, {DType::q2_K, 0x83a67826, 0x99f6f7d3, 80, 82}, {DType::q3_K, 0x0c0c93b2, 0xafdbce23, 108},
    {DType::q4_K, 0xe90a48e6, 0xdd471e31, 0, 2}, {DType::q5_K, 0x95bd6f79, 0x5770659e, 0, 2},   {DType::q6_K, 0x91b9558a, 0x3165e10c, 208},
    {DType::q8_K, 0xe2a59502, 0xbf8d60b2},       {DType::iq2_xxs, 0xa078fe4b, 0x2c0d8690, 0},   {DType::iq2_xs, 0x6b252e80, 0x4ddb8734, 0},
    {DType::iq3_xxs, 0xb71194cc, 0x41cb1774, 0}, {DType::iq1_s, 0x804fd1d1, 0x362220b2, 0},     {DType::iq4_nl, 0x255e3a4a, 0xb6239b10, 0},
    {DType::iq3_s, 0x8eb1afb0, 0xdc33d493, 0},   {DType::iq2_s, 0xd2eb88d4, 0xd330a1a6, 0},     {DType::iq4_xs, 0xf85b889d, 0xe74c7828, 0},
    {DType::iq1_m, 0x4cb23e57, 0x30e77cdf},      {DType::bf16, 0x6f90fddc, 0x2c0bc8f0},         {DType::tq1_0, 0x36940a6b, 0xf5f3c8a1, 52},
    {DType::tq2_0, 0xaa82c5f2, 0x75eb3af4, 64},  {DType::mxfp4, 0x690092eb, 0x376d022b},        {DType::nvfp4, 0x04930bf7, 0x18b690f4},
    {DType::q1_0, 0x10ed9a3d, 0x2f491971, 0},    {DType::q2_0, 0x091b92fa, 0xe3b26f0d, 0},
};

void put16(std::uint8_t *p, unsigned value) {
    p[0] = static_cast<std::uint8_t>(value);
    p[1] = static_cast<std::uint8_t>(value >> 8);
}

// 64 blocks of a linear congruential generator's bytes, their scales made finite, as the document says.
std::vector<std::uint8_t> golden_blocks(const Golden &g) {
    const std::size_t size = traits(g.type).size;
    std::vector<std::uint8_t> bytes(64 * size);
    std::uint32_t x = 1000 + static_cast<std::uint32_t>(g.type);
    for (std::uint8_t &byte : bytes) {
        x = x * 1664525 + 1013904223;
        byte = static_cast<std::uint8_t>(x >> 24);
    }
    for (std::size_t k = 0; k < 64; k++) {
        std::uint8_t *block = bytes.data() + k * size;
        const unsigned d = k % 2 == 0 ? 0x2E66 : 0xB0CD;
        if (g.d >= 0) put16(block + g.d, d);
        if (g.second >= 0) put16(block + g.second, 0x2A3D);
        switch (g.type) {
            case DType::iq1_m:
                for (std::size_t i = 0; i < 4; i++) {
                    std::uint8_t &high = block[48 + 2 * i + 1];
                    high = static_cast<std::uint8_t>((high & 15) | (d >> 4 * i & 15) << 4);
                }
                break;
            case DType::mxfp4: block[0] = static_cast<std::uint8_t>(100 + k); break;
            case DType::nvfp4:
                for (std::size_t i = 0; i < 4; i++) block[i] &= 127;
                break;
            case DType::q8_K: {
                const std::uint32_t bits = k % 2 == 0 ? 0x3C4985F0 : 0xBC4985F0;
                std::memcpy(block, &bits, sizeof bits);
                break;
            }
            case DType::f16:
                if ((block[1] & 0x7c) == 0x7c) block[1] &= 0xbf;
                break;
            case DType::bf16:
                if ((block[1] & 0x7f) == 0x7f && (block[0] & 0x80)) block[1] &= 0xbf;
                break;
            default: break;
        }
    }
    return bytes;
}

// Each type's decode function by ISA: the traits' own, and every ISA's.
std::vector<std::pair<std::string, void (*)(const void *, float *, std::int64_t)>> decoders(DType type) {
    std::vector<std::pair<std::string, void (*)(const void *, float *, std::int64_t)>> all{{"traits", traits(type).decode}};
    for (const std::string &isa : support::isas()) {
        all.emplace_back(isa, choose_isa(isa).kernels.formats[dtype_index(type)].decode);
    }
    return all;
}

TEST(Decode, golden_blocks_of_every_format) {
    std::size_t n = 0;
    for (const Golden &g : golden) {
        const DTypeTraits &type = traits(g.type);
        const std::vector<std::uint8_t> blocks = golden_blocks(g);
        EXPECT_EQ(crc32(blocks.data(), blocks.size()), g.input) << type.name;
        for (const auto &[isa, decode] : decoders(g.type)) {
            std::vector<float> values(static_cast<std::size_t>(64 * type.block_size));
            decode(blocks.data(), values.data(), 64 * type.block_size);
            EXPECT_EQ(crc32(values.data(), values.size() * sizeof(float)), g.output) << type.name << " on " << isa;
        }
        n++;
    }
    // Every type but F32, F64 and the integers.
    EXPECT_EQ(n, dtype_count() - 8);
}

// Blocks one by one, each at an odd address where its type allows it, agree with blocks in a row.
TEST(Decode, one_block_at_a_time) {
    for (const Golden &g : golden) {
        const DTypeTraits &type = traits(g.type);
        const std::vector<std::uint8_t> blocks = golden_blocks(g);
        const auto n = static_cast<std::size_t>(type.block_size);
        std::vector<float> whole(64 * n), single(n);
        type.decode(blocks.data(), whole.data(), 64 * type.block_size);
        for (const auto &[isa, decode] : decoders(g.type)) {
            for (std::size_t k = 0; k < 64; k++) {
                std::fill(single.begin(), single.end(), -1.0f);
                decode(blocks.data() + k * type.size, single.data(), type.block_size);
                ASSERT_EQ(std::memcmp(single.data(), whole.data() + k * n, n * sizeof(float)), 0) << type.name << " on " << isa;
            }
            decode(blocks.data(), single.data(), 0);
        }
    }
}

TEST(Decode, agrees_with_the_reference_bit_by_bit) {
    const support::Vectors &vectors = support::quant_vectors();
    TL_SKIP_WITHOUT_VECTORS(vectors);
    std::size_t n = 0;
    for (std::size_t i = 0; i < dtype_count(); i++) {
        const DTypeTraits &type = dtype_at(i);
        const std::string name = type.name;
        if (!vectors.has(name + ".q")) continue;
        const auto blocks = vectors.get<std::uint8_t>(name + ".q");
        const auto want = vectors.get<float>(name + ".y");
        for (const auto &[isa, decode] : decoders(type.type)) {
            std::vector<float> got(want.size());
            decode(blocks.data(), got.data(), static_cast<std::int64_t>(got.size()));
            EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << name << " on " << isa;
        }
        n++;
    }
    EXPECT_EQ(n, 27u);
}

// Any bytes decode: to what, where scales are not finite, is open, but nothing outside is read or written.
TEST(Decode, any_bytes_at_all) {
    for (const Golden &g : golden) {
        const DTypeTraits &type = traits(g.type);
        std::vector<std::uint8_t> block(type.size);
        for (const unsigned fill : {0x00u, 0xffu, 0x7fu, 0x80u}) {
            std::fill(block.begin(), block.end(), static_cast<std::uint8_t>(fill));
            for (const auto &[isa, decode] : decoders(g.type)) {
                std::vector<float> values(static_cast<std::size_t>(type.block_size) + 1, 7.0f);
                decode(block.data(), values.data(), type.block_size);
                EXPECT_EQ(values.back(), 7.0f) << type.name << " on " << isa;
            }
        }
    }
}

// What integer products take weights as, against decoding. The product of a scale and a code is exact (format.hpp), in double their
// sum with an offset too for these scales, so one rounding to F32 gives the decoded value.
template <class Format>
void expect_codes(const std::vector<std::uint8_t> &blocks) {
    static_assert(HasCodes<Format>, "a weight format with blocks has codes");
    constexpr int size = static_cast<int>(Format::block_size), group = Format::scale_group, largest = Format::largest_code;
    static_assert((group == 16 || group == 32 || group == 64 || group == 128 || group == 256) && size % group == 0);
    // A group's sum of codes times bytes of activations, without or with the zero's part, is an exact F32.
    static_assert(largest <= 255 && group * largest * 127 < 1 << 24);
    for (std::size_t at = 0; at < blocks.size(); at += sizeof(typename Format::Block)) {
        typename Format::Block block;
        std::memcpy(&block, blocks.data() + at, sizeof block);
        float values[size];
        decode_block<Format>(block, values);
        for (int i = 0; i < size; i++) {
            std::uint8_t codes[run_length];
            Format::codes_run(block, i / run_length, codes);
            int code = codes[i % run_length];
            if constexpr (HasCodebook<Format>) {
                ASSERT_LT(code, 16) << Format::name << ", element " << i;
                code = static_cast<std::uint8_t>(Format::codebook[code]);
            }
            ASSERT_LE(code, largest) << Format::name << ", element " << i;
            const double scale = Format::group_scale(block, i / group);
            double value;
            if constexpr (HasOffsets<Format>) {
                static_assert(size % Format::offset_group == 0);
                value = scale * code + double{Format::group_offset(block, i / Format::offset_group)};
            } else {
                static_assert(Format::zero >= 0 && Format::zero <= largest);
                value = scale * (code - Format::zero);
            }
            ASSERT_EQ(static_cast<float>(value), values[i]) << Format::name << ", element " << i << " of the block at byte " << at;
        }
    }
}

TEST(Codes, give_the_decoded_values) {
    std::size_t n = 0, weights = 0;
    for (std::size_t i = 0; i < dtype_count(); i++) weights += dtype_at(i).kind == Kind::weight;
    for (const Golden &g : golden) {
        visit(g.type, [&](auto format) {
            using Format = decltype(format);
            if constexpr (Format::kind == Kind::weight) expect_codes<Format>(golden_blocks(g)), n++;
        });
    }
    EXPECT_EQ(n, weights);
}

// The block that a packed copy gives back for this one.
template <class Format>
typename Format::Block stored(const typename Format::Block &block) {
    constexpr int size = static_cast<int>(Format::block_size), groups = size / Format::scale_group;
    std::uint8_t codes[size];
    for (int run = 0; run < size / run_length; run++) Format::codes_run(block, run, codes + run * run_length);
    BlockScales scales{};
    for (int g = 0; g < groups; g++) {
        if constexpr (HasUnits<Format>) {
            scales.scale_steps[g] = Format::scale_steps(block, g);
            if constexpr (HasOffsets<Format>) scales.offset_steps[g] = Format::offset_steps(block, g);
        } else {
            scales.scale[g] = Format::group_scale(block, g);
            if constexpr (HasOffsets<Format>) scales.offset[g] = Format::group_offset(block, g);
        }
    }
    if constexpr (HasUnits<Format>) scales.scale[0] = Format::unit_scale(block);
    if constexpr (HasUnits<Format> && HasOffsets<Format>) scales.offset[0] = Format::unit_offset(block);
    typename Format::Block back;
    std::memset(&back, 0xa5, sizeof back);
    Format::store_codes(back, codes);
    Format::store_scales(back, scales);
    return back;
}

// Bytes that mean what another byte means come back as that one: of tq1_0 the most, of nvfp4 a few.
template <class Format>
void expect_blocks_back(const std::vector<std::uint8_t> &blocks) {
    const bool canonical = Format::name != TQ1_0::name && Format::name != NVFP4::name;
    for (std::size_t at = 0; at < blocks.size(); at += sizeof(typename Format::Block)) {
        typename Format::Block block;
        std::memcpy(&block, blocks.data() + at, sizeof block);
        const auto back = stored<Format>(block), again = stored<Format>(back);
        EXPECT_TRUE(!canonical || std::memcmp(&back, &block, sizeof block) == 0) << Format::name << ", the block at byte " << at;
        EXPECT_EQ(std::memcmp(&again, &back, sizeof block), 0) << Format::name << ", the block at byte " << at;
        float values[Format::block_size], of_back[Format::block_size];
        decode_block<Format>(block, values);
        decode_block<Format>(back, of_back);
        EXPECT_EQ(std::memcmp(values, of_back, sizeof values), 0) << Format::name << ", the block at byte " << at;
    }
}

TEST(Codes, and_scales_give_the_blocks_back) {
    std::string without;
    for (const Golden &g : golden) {
        visit(g.type, [&](auto format) {
            using Format = decltype(format);
            if constexpr (HasInverse<Format>) {
                expect_blocks_back<Format>(golden_blocks(g));
            } else if constexpr (Format::kind == Kind::weight) {
                without += std::string(Format::name) + " ";
            }
        });
    }
    EXPECT_EQ(without, "iq2_xxs iq2_xs iq3_xxs iq1_s iq3_s iq2_s iq1_m ");
}

TEST(Codebooks, are_the_formats_grids) {
    const codebooks::Grids &grids = codebooks::host_grids;
    EXPECT_EQ(crc32(grids.iq2xxs, sizeof grids.iq2xxs), 0x9924ff02u);
    EXPECT_EQ(crc32(grids.iq2xs, sizeof grids.iq2xs), 0xfa1e1bfdu);
    EXPECT_EQ(crc32(grids.iq2s, sizeof grids.iq2s), 0x25ae5bf1u);
    EXPECT_EQ(crc32(grids.iq1s, sizeof grids.iq1s), 0xb85e6ccfu);
    EXPECT_EQ(crc32(grids.iq3xxs, sizeof grids.iq3xxs), 0x07ba9ed0u);
    EXPECT_EQ(crc32(grids.iq3s, sizeof grids.iq3s), 0xf576e4f3u);
    constexpr int iq4nl[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    constexpr int fp4[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    for (int q = 0; q < 16; q++) {
        EXPECT_EQ(iq4nl_value(q), iq4nl[q]);
        EXPECT_EQ(fp4_value(q), fp4[q]);
    }
}

// GGUF's ids and names, elements and bytes per block, kinds and partners: block-formats.md, section 1.1.
TEST(Traits, are_the_formats) {
    struct Row {
        int id;
        const char *name;
        std::int64_t elements;
        std::size_t bytes;
        Kind kind;
        const char *partner;
    };
    constexpr Row rows[] = {
        {0, "f32", 1, 4, Kind::floating, "f32"},        {1, "f16", 1, 2, Kind::floating, "f16"},
        {2, "q4_0", 32, 18, Kind::weight, "q8_0"},      {3, "q4_1", 32, 20, Kind::weight, "q8_1"},
        {6, "q5_0", 32, 22, Kind::weight, "q8_0"},      {7, "q5_1", 32, 24, Kind::weight, "q8_1"},
        {8, "q8_0", 32, 34, Kind::weight, "q8_0"},      {9, "q8_1", 32, 36, Kind::activation, "q8_1"},
        {10, "q2_K", 256, 84, Kind::weight, "q8_K"},    {11, "q3_K", 256, 110, Kind::weight, "q8_K"},
        {12, "q4_K", 256, 144, Kind::weight, "q8_K"},   {13, "q5_K", 256, 176, Kind::weight, "q8_K"},
        {14, "q6_K", 256, 210, Kind::weight, "q8_K"},   {15, "q8_K", 256, 292, Kind::activation, "q8_K"},
        {16, "iq2_xxs", 256, 66, Kind::weight, "q8_K"}, {17, "iq2_xs", 256, 74, Kind::weight, "q8_K"},
        {18, "iq3_xxs", 256, 98, Kind::weight, "q8_K"}, {19, "iq1_s", 256, 50, Kind::weight, "q8_K"},
        {20, "iq4_nl", 32, 18, Kind::weight, "q8_0"},   {21, "iq3_s", 256, 110, Kind::weight, "q8_K"},
        {22, "iq2_s", 256, 82, Kind::weight, "q8_K"},   {23, "iq4_xs", 256, 136, Kind::weight, "q8_K"},
        {24, "i8", 1, 1, Kind::integer, "i8"},          {25, "i16", 1, 2, Kind::integer, "i16"},
        {26, "i32", 1, 4, Kind::integer, "i32"},        {27, "i64", 1, 8, Kind::integer, "i64"},
        {28, "f64", 1, 8, Kind::floating, "f64"},       {29, "iq1_m", 256, 56, Kind::weight, "q8_K"},
        {30, "bf16", 1, 2, Kind::floating, "bf16"},     {34, "tq1_0", 256, 54, Kind::weight, "q8_K"},
        {35, "tq2_0", 256, 66, Kind::weight, "q8_K"},   {39, "mxfp4", 32, 17, Kind::weight, "q8_0"},
        {40, "nvfp4", 64, 36, Kind::weight, "q8_0"},    {41, "q1_0", 128, 18, Kind::weight, "q8_0"},
        {42, "q2_0", 64, 18, Kind::weight, "q8_0"},     {1000, "u8", 1, 1, Kind::integer, "u8"},
        {1001, "bool", 1, 1, Kind::integer, "bool"},
    };
    EXPECT_EQ(dtype_count(), std::size(rows));
    for (std::size_t i = 0; i < std::size(rows); i++) {
        const Row &row = rows[i];
        const DTypeTraits *found = find_traits(row.id);
        ASSERT_NE(found, nullptr) << row.name;
        EXPECT_STREQ(found->name, row.name);
        EXPECT_EQ(found->block_size, row.elements) << row.name;
        EXPECT_EQ(found->size, row.bytes) << row.name;
        EXPECT_EQ(found->kind, row.kind) << row.name;
        EXPECT_STREQ(traits(found->partner).name, row.partner) << row.name;
        EXPECT_EQ(&dtype_at(dtype_index(found->type)), &dtype_at(i)) << row.name;
    }
}

// A type that a language cannot name is not there for it.
TEST(Completeness, every_type_has_a_name_in_every_language) {
    const auto text_of = [](const char *path) {
        std::ifstream in(std::string(TENSORLIB_ROOT) + "/" + path);
        return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    };
    const std::string header = text_of("capi/include/tensorlib/tensorlib.h"), cpp = text_of("cpp/include/tensorlib/tensorlib.hpp"),
                      rust = text_of("rust/tensorlib/src/dtype.rs"), go = text_of("bindings/go/types.go"),
                      zig = text_of("bindings/zig/src/types.zig");
    for (std::size_t i = 0; i < dtype_count(); i++) {
        const std::string name = dtype_at(i).name, id = std::to_string(static_cast<int>(dtype_at(i).type));
        std::string upper = name;
        for (char &c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        EXPECT_NE(header.find("#define TL_TYPE_" + upper + " " + id + "\n"), std::string::npos) << name;
        // These words are C++'s and Rust's own.
        const bool is_bool = name == "bool";
        const std::string in_cpp = is_bool ? "boolean" : name, in_rust = is_bool ? "Bool" : upper;
        EXPECT_NE(cpp.find("    " + in_cpp + " = " + id + ","), std::string::npos) << name;
        EXPECT_NE(rust.find("    " + in_rust + " = " + id + ","), std::string::npos) << name;
        EXPECT_NE(rust.find("        DType::" + in_rust + ","), std::string::npos) << name;
        EXPECT_NE(go.find("C.TL_TYPE_" + upper), std::string::npos) << name;
        EXPECT_NE(zig.find("    " + name + " = c.TL_TYPE_" + upper + ","), std::string::npos) << name;
    }
}

}  // namespace
