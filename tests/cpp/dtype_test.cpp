// Storage types against definitions written here: every half, and floats around every rounding boundary.
#include "dtype/dtype.hpp"

#include "support.hpp"

#include <cstring>
#include <limits>

using namespace tl::core;

namespace {

float from_bits(std::uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// A small float format's value by its definition: sign, exponent with a bias, fraction.
double defined_value(std::uint32_t bits, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
    const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    const int exponent = static_cast<int>(bits >> fraction_bits) & top;
    const double fraction = bits & ((1u << fraction_bits) - 1);
    if (exponent == top) return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign * std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - bias);
}

template <class Format>
void check_decode(int exponent_bits, int fraction_bits) {
    for (std::uint32_t bits = 0; bits < 65536; bits++) {
        const auto half = static_cast<std::uint16_t>(bits);
        float got;
        Format::decode(half, &got);
        const double want = defined_value(bits, exponent_bits, fraction_bits);
        if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(got)) << bits;
        } else {
            ASSERT_EQ(static_cast<double>(got), want) << bits;
        }
        ASSERT_EQ(std::signbit(got), bits >> 15 != 0) << bits;
    }
}

// The nearest of all values of the format, ties to the even one: found by comparing, not by computing.
template <class Format>
void check_encode(float x, int exponent_bits, int fraction_bits) {
    std::uint16_t got;
    ASSERT_TRUE(Format::encode(&x, got));
    if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(defined_value(got, exponent_bits, fraction_bits)));
        return;
    }
    // Neighbours in magnitude; the one above the largest finite value counts as the next power of two.
    const double sign = std::signbit(x) ? -1 : 1, magnitude = std::fabs(static_cast<double>(x));
    const auto value = [&](std::uint32_t bits) {
        const double v = std::fabs(defined_value(bits, exponent_bits, fraction_bits));
        return std::isinf(v) ? std::ldexp(1.0, 1 << (exponent_bits - 1)) : v;
    };
    const std::uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits, bits = got & 0x7fffu;
    ASSERT_LE(bits, infinity);
    EXPECT_EQ(std::signbit(x), got >> 15 != 0) << sign;
    if (std::isinf(x)) {
        EXPECT_EQ(bits, infinity);
        return;
    }
    const double error = std::fabs(value(bits) - magnitude);
    for (const int step : {-1, 1}) {
        if ((step < 0 && bits == 0) || (step > 0 && bits == infinity)) continue;
        const double other = std::fabs(value(bits + static_cast<std::uint32_t>(step)) - magnitude);
        EXPECT_TRUE(error < other || (error == other && bits % 2 == 0) ||
                    (bits == infinity && error >= other && magnitude >= value(infinity)))
            << x << " became " << got;
    }
}

template <class Format>
void check_all_encodes(int exponent_bits, int fraction_bits) {
    for (std::uint32_t bits = 0; bits < 65536; bits++) {
        float x;
        Format::decode(static_cast<std::uint16_t>(bits), &x);
        if (std::isnan(x)) continue;
        std::uint16_t again;
        Format::encode(&x, again);
        ASSERT_EQ(again, bits);
        // Half way to the next value, and one float to either side of that.
        float next;
        Format::decode(static_cast<std::uint16_t>(bits + 1), &next);
        if (std::isnan(next) || std::isinf(x) || std::isinf(next)) continue;
        const auto middle = static_cast<float>((static_cast<double>(x) + static_cast<double>(next)) / 2);
        for (const float y : {std::nextafter(middle, -INFINITY), middle, std::nextafter(middle, INFINITY)})
            check_encode<Format>(y, exponent_bits, fraction_bits);
    }
    // Floats all over the range: an odd stride visits 2^32 / 21475 of them, or every 431st.
    const auto stride = static_cast<std::uint64_t>(support::repeats(21475, 431));
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += stride) {
        check_encode<Format>(from_bits(static_cast<std::uint32_t>(bits)), exponent_bits, fraction_bits);
    }
}

TEST(F16, every_value_decodes) { check_decode<F16>(5, 10); }
TEST(F16, encodes_to_nearest_even) {
    check_all_encodes<F16>(5, 10);
    for (const float x : {65519.99f, 65520.0f, 70000.0f, -70000.0f, 5.9e-8f, 2.98023224e-8f, 2.9e-8f, INFINITY, -INFINITY, NAN})
        check_encode<F16>(x, 5, 10);
}
TEST(BF16, every_value_decodes) { check_decode<BF16>(8, 7); }
TEST(BF16, encodes_to_nearest_even) {
    check_all_encodes<BF16>(8, 7);
    for (const float x : {3.3895314e38f, 3.4e38f, INFINITY, -INFINITY, NAN}) check_encode<BF16>(x, 8, 7);
}

TEST(Integers, round_to_even_and_refuse_the_rest) {
    const auto encode = [](DType type, float x, std::int64_t &out) {
        std::int64_t raw = 0;
        const bool fits = traits(type).encode(&x, nullptr, &raw, 1) < 0;
        // The low bytes, with the sign of the type's own width.
        const int unused = 64 - static_cast<int>(traits(type).size) * 8;
        out = static_cast<std::int64_t>(static_cast<std::uint64_t>(raw) << unused) >> unused;
        return fits;
    };
    std::int64_t got;
    for (const DType type : {DType::i8, DType::i16, DType::i32, DType::i64}) {
        for (const auto &[x, want] : {std::pair{2.5f, 2}, {3.5f, 4}, {-2.5f, -2}, {-0.4f, 0}, {100.49f, 100}, {-128.0f, -128}}) {
            EXPECT_TRUE(encode(type, x, got));
            EXPECT_EQ(got, want) << x;
        }
        const double end = std::ldexp(1.0, static_cast<int>(traits(type).size * 8 - 1));
        EXPECT_TRUE(encode(type, static_cast<float>(-end), got));
        EXPECT_EQ(static_cast<double>(got), -end);
        for (const float x : {NAN, INFINITY, -INFINITY, static_cast<float>(end), static_cast<float>(-end * 1.01)})
            EXPECT_FALSE(encode(type, x, got)) << x;
    }
    EXPECT_TRUE(encode(DType::i8, 127.4f, got));
    EXPECT_FALSE(encode(DType::i8, 127.6f, got));
}

TEST(Integers, u8_and_bool) {
    const auto encode = [](DType type, float x, std::uint8_t &out) { return traits(type).encode(&x, nullptr, &out, 1) < 0; };
    std::uint8_t got = 77;
    for (const auto &[x, want] : {std::pair{-0.5f, 0}, {0.5f, 0}, {1.5f, 2}, {254.5f, 254}, {255.0f, 255}, {255.49f, 255}}) {
        EXPECT_TRUE(encode(DType::u8, x, got));
        EXPECT_EQ(got, want) << x;
    }
    for (const float x : {-0.51f, 255.5f, -1.0f, INFINITY, NAN}) EXPECT_FALSE(encode(DType::u8, x, got)) << x;
    for (const auto &[x, want] : {std::pair{0.0f, 0}, {-0.0f, 0}, {1.0f, 1}, {0x1p-149f, 1}, {-3.0f, 1}, {INFINITY, 1}, {NAN, 1}}) {
        EXPECT_TRUE(encode(DType::boolean, x, got));
        EXPECT_EQ(got, want) << x;
    }
    float value;
    for (const std::uint8_t byte : {0, 1, 2, 255}) {
        traits(DType::boolean).decode(&byte, &value, 1);
        EXPECT_EQ(value, byte != 0 ? 1.0f : 0.0f);
        EXPECT_EQ(integer_value(DType::boolean, &byte), byte != 0);
        traits(DType::u8).decode(&byte, &value, 1);
        EXPECT_EQ(value, static_cast<float>(byte));
    }
    for (std::size_t i = 0; i < dtype_count(); i++)
        EXPECT_EQ(in_gguf(dtype_at(i).type), dtype_at(i).type != DType::u8 && dtype_at(i).type != DType::boolean);
}

TEST(Traits, by_name_and_number) {
    EXPECT_STREQ(find_traits("BF16")->name, "bf16");
    EXPECT_STREQ(find_traits("Q4_k")->name, "q4_K");
    for (const int retired : {-1, 4, 5, 31, 32, 33, 36, 37, 38, 999, 1002}) EXPECT_EQ(find_traits(retired), nullptr);
    EXPECT_EQ(find_traits("q9_9"), nullptr);
    EXPECT_EQ(find_traits(""), nullptr);
    // The visitor reaches the same format.
    for (std::size_t i = 0; i < dtype_count(); i++) {
        const char *name = visit(dtype_at(i).type, [](auto format) { return decltype(format)::name; });
        EXPECT_STREQ(name, dtype_at(i).name);
    }
}

}  // namespace
