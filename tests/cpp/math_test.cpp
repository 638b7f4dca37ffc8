// The loops over tiles on every ISA that this CPU has: accuracy and special values of each formula, and the promises that all loops share.
#include "math_oracles.hpp"
#include "support.hpp"

#include "cpu/simd/simd_table.hpp"

#include <bit>
#include <cstring>
#include <map>

namespace {

using tl::core::isa_at;
using tl::core::isa_count;
using tl::core::n_tile_ops;
using tl::core::tile_op_traits;
using tl::core::TileOp;
using tl::core::simd::TileArgs;

constexpr float inf = std::numeric_limits<float>::infinity(), nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float most = std::numeric_limits<float>::max(), normal = std::numeric_limits<float>::min();
constexpr float least = std::numeric_limits<float>::denorm_min();

void run(std::size_t isa, TileOp op, const TileArgs &args) { isa_at(isa).kernels.tiles.loops[static_cast<std::size_t>(op)](args); }

// Parameters that every formula can be run with.
std::vector<float> some_params(TileOp op) {
    switch (op) {
        case TileOp::fill: return {2.5f};
        case TileOp::clamp: return {-1.5f, 2.0f};
        case TileOp::scale: return {0.3f, -7.1f};
        case TileOp::leaky_relu: return {0.01f};
        case TileOp::xielu: return {0.8f, 0.7f, 0.5f, -1e-6f};
        case TileOp::swiglu_oai: return {1.702f, 7.0f};
        default: return {};
    }
}

// The float whose bits are an order's number: 0, 1, ... are all floats from 0 up to infinity and NaNs, and then the negative ones.
float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// A mixture of bits in which no pattern is left.
std::uint32_t mixed(std::uint32_t i) {
    i = (i ^ (i >> 16)) * 0x7FEB352Du;
    i = (i ^ (i >> 15)) * 0x846CA68Bu;
    return i ^ (i >> 16);
}

// ---- Accuracy

// An ulp of F32 at x: a step between floats, that of subnormals below 2^-126.
double ulp_at(double x) {
    const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023;
    return std::bit_cast<double>(static_cast<std::uint64_t>(std::max(exponent, -126) - 23 + 1023) << 52);
}

// How far `got` is from `exact`, as a share of what is allowed, which is `more` in any case. From 2^128 on, where the floats would go on,
// all is 2^128, and so is infinity. Results that half an ulp is allowed for are the nearest float: rounding to double first changes none of
// a sum, product, quotient or root.
double distance(float got, double exact, double ulps, double more) {
    if (std::isnan(exact)) return std::isnan(got) ? 0 : inf;
    if (std::isnan(got)) return inf;
    if (ulps == 0.5) return got == static_cast<float>(exact) ? 0 : inf;
    const auto limited = [](double x) { return std::fabs(x) > 0x1p128 ? std::copysign(0x1p128, x) : x; };
    const double off = std::fabs(limited(got) - limited(exact)), size = std::min(std::fabs(exact), double{most});
    if (off == 0) return 0;
    if (ulps != 0) return off / (ulps * ulp_at(size));
    return off / (std::max(double{least}, 1e-6 * size) + more);
}

struct Worst {
    double distance = -1;
    float x[2] = {0, 0}, got = 0;
    double exact = 0;
};

std::string text(const Worst &w) {
    char line[200];
    std::snprintf(line, sizeof line, "f(%a, %a) is %a, exactly %.17g; its error is %.3f of what is allowed", w.x[0], w.x[1], w.got, w.exact,
                  w.distance);
    return line;
}

// The formula over blocks of inputs, which `fill` writes (false after the last one), on all ISAs against one oracle.
template <class Fill>
void expect_accurate(const oracle::Formula &formula, int operands, Fill fill) {
    constexpr int block = 1 << 14;
    std::vector<float> x[2] = {std::vector<float>(block), std::vector<float>(block)}, got(block);
    std::vector<double> exact(block);
    std::vector<Worst> worst(isa_count());
    for (std::uint64_t b = 0; fill(b, x); b++) {
        for (int i = 0; i < block; i++) {
            const double of[2] = {x[0][static_cast<std::size_t>(i)], x[1][static_cast<std::size_t>(i)]};
            exact[static_cast<std::size_t>(i)] = formula.exact(of, formula.params.data());
        }
        for (std::size_t isa = 0; isa < isa_count(); isa++) {
            run(isa, formula.op,
                {block, {x[0].data(), operands > 1 ? x[1].data() : nullptr, nullptr}, 0, got.data(), formula.params.data()});
            for (std::size_t i = 0; i < block; i++) {
                // A gate's activation is rounded before it is multiplied: below 2^-126 by up to a step.
                const double more = operands > 1 ? std::fabs(double{x[1][i]}) * least : 0;
                const double d = distance(got[i], exact[i], formula.ulps, more);
                if (d > worst[isa].distance) worst[isa] = {d, {x[0][i], operands > 1 ? x[1][i] : 0}, got[i], exact[i]};
            }
        }
    }
    for (std::size_t isa = 0; isa < isa_count(); isa++) {
        EXPECT_LE(worst[isa].distance, 1) << isa_at(isa).name << ' ' << text(worst[isa]);
        testing::Test::RecordProperty(isa_at(isa).name, text(worst[isa]));
        // What it is, not only that it is enough.
        if (support::repeats(0, 1) != 0) {
            std::printf("  %-12s %-9s %.3f %s\n", traits(formula.op).name, isa_at(isa).name,
                        worst[isa].distance * (formula.ulps != 0 ? formula.ulps : 1e-6 / 0x1p-24), formula.ulps != 0 ? "ulp" : "2^-24");
        }
    }
}

std::string name_of(const testing::TestParamInfo<oracle::Formula> &info) { return traits(info.param.op).name; }

struct Unary : testing::TestWithParam<oracle::Formula> {};

// All floats in turns of 256, of which a run takes one each, a long run 16, and one with TENSORLIB_ALL_FLOATS=1, which goes on for an hour,
// all of them.
TEST_P(Unary, is_accurate_over_all_floats) {
    const bool primitive = GetParam().ulps != 0;
    const std::uint64_t each = !primitive ? 1 : std::getenv("TENSORLIB_ALL_FLOATS") ? 256 : support::repeats(1, 16);
    const std::uint64_t floats = (primitive ? 1 << 24 : 1 << 22) * each, width = (std::uint64_t{1} << 32) / floats;
    expect_accurate(GetParam(), 1, [&](std::uint64_t block, std::vector<float> *x) {
        const std::uint64_t size = x[0].size();
        if (block * size == floats) return false;
        for (std::uint64_t i = 0; i < size; i++) {
            const std::uint64_t at = block * size + i;
            const std::uint64_t bits = at * width + mixed(static_cast<std::uint32_t>(at)) % width;
            x[0][i] = of_bits(static_cast<std::uint32_t>(bits));
        }
        return true;
    });
}

// Where most inputs of networks are.
TEST_P(Unary, is_accurate_near_0) {
    expect_accurate(GetParam(), 1, [&](std::uint64_t block, std::vector<float> *x) {
        if (block == 16) return false;
        for (std::size_t i = 0; i < x[0].size(); i++)
            x[0][i] = (static_cast<float>(mixed(static_cast<std::uint32_t>(block * x[0].size() + i))) * 0x1p-31f - 1) * 20;
        return true;
    });
}

INSTANTIATE_TEST_SUITE_P(formulas, Unary, testing::ValuesIn(oracle::unary()), name_of);

struct Binary : testing::TestWithParam<oracle::Formula> {};

// Any two floats; and two whose sum, product and power are no limits.
TEST_P(Binary, is_accurate) {
    const bool is_pow = GetParam().op == TileOp::pow;
    const auto blocks = static_cast<std::uint64_t>(support::repeats(is_pow ? 512 : 64, 16384));
    expect_accurate(GetParam(), 2, [&](std::uint64_t block, std::vector<float> *x) {
        if (block == blocks) return false;
        for (std::size_t i = 0; i < x[0].size(); i++) {
            const auto at = static_cast<std::uint32_t>(2 * (block * x[0].size() + i));
            const std::uint32_t first = mixed(at), second = mixed(at + 1);
            if (block % 4 == 0) {
                x[0][i] = of_bits(first);
                x[1][i] = of_bits(second);
            } else if (is_pow && block % 4 == 1) {
                // Near 1, to powers that take it to where results end: of e^-t / 2^24 to e^t / 2^24 for t to 2^23.
                x[0][i] = 1 + static_cast<float>(static_cast<int>(first % 0x4000) - 0x2000) * 0x1p-24f;
                x[1][i] = static_cast<float>(static_cast<int>(second % 0x8000000) - 0x4000000) * 0x1p-8f;
            } else if (is_pow) {
                // b log a up to 110.
                x[0][i] = of_bits(first & 0x7fffffff);
                const double log = std::log(double{x[0][i]});
                x[1][i] = static_cast<float>((second * 0x1p-31 - 1) * 110 / (log == 0 || std::isnan(log) ? 1 : log));
            } else {
                x[0][i] = (static_cast<float>(first) * 0x1p-31f - 1) * 20;
                x[1][i] = (static_cast<float>(second) * 0x1p-31f - 1) * 20;
            }
        }
        return true;
    });
}

INSTANTIATE_TEST_SUITE_P(formulas, Binary, testing::ValuesIn(oracle::binary()), name_of);

// ---- Special values

struct Special {
    TileOp op;
    float x[3], expected;
    std::vector<float> params{};
};

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

const float pi_2 = 0x1.921fb6p0f;

namespace specials {

using enum TileOp;

const std::vector<Special> all = {
    {fill, {}, -0.0f, {-0.0f}},
    {fill, {}, inf, {inf}},
    {copy, {-0.0f}, -0.0f},
    {copy, {-least}, -least},
    {abs, {-0.0f}, 0},
    {abs, {-inf}, inf},
    {neg, {0}, -0.0f},
    {neg, {-inf}, inf},
    {sqr, {-0.0f}, 0},
    {sqr, {-inf}, inf},
    {sqr, {0x1p-75f}, 0},
    {sqrt, {-0.0f}, -0.0f},
    {sqrt, {-1}, nan_value},
    {sqrt, {-inf}, nan_value},
    {sqrt, {inf}, inf},
    {sqrt, {0x1p-148f}, 0x1p-74f},
    {log, {0}, -inf},
    {log, {-0.0f}, -inf},
    {log, {1}, 0},
    {log, {-1}, nan_value},
    {log, {-least}, nan_value},
    {log, {-inf}, nan_value},
    {log, {inf}, inf},
    {log, {least}, -0x1.9d1dap6f},
    {log1p, {0}, 0},
    {log1p, {-0.0f}, -0.0f},
    {log1p, {-1}, -inf},
    {log1p, {-1.5f}, nan_value},
    {log1p, {-inf}, nan_value},
    {log1p, {inf}, inf},
    {log1p, {-least}, -least},
    {exp, {0}, 1},
    {exp, {-0.0f}, 1},
    {exp, {inf}, inf},
    {exp, {-inf}, 0},
    {exp, {89}, inf},
    {exp, {-104}, 0},
    {exp, {most}, inf},
    {exp, {-most}, 0},
    {exp, {least}, 1},
    {expm1, {0}, 0},
    {expm1, {-0.0f}, -0.0f},
    {expm1, {least}, least},
    {expm1, {-least}, -least},
    {expm1, {inf}, inf},
    {expm1, {-inf}, -1},
    {expm1, {-most}, -1},
    {expm1, {most}, inf},
    {sin, {0}, 0},
    {sin, {-0.0f}, -0.0f},
    {sin, {least}, least},
    {sin, {inf}, nan_value},
    {sin, {-inf}, nan_value},
    {sin, {pi_2}, 1},
    // An independent reduction of the largest float modulo 2 pi: the C library's sin.
    {sin, {most}, static_cast<float>(std::sin(double{most}))},
    {cos, {0}, 1},
    {cos, {-0.0f}, 1},
    {cos, {least}, 1},
    {cos, {inf}, nan_value},
    {cos, {-inf}, nan_value},
    {cos, {2 * pi_2}, -1},
    {erf, {0}, 0},
    {erf, {-0.0f}, -0.0f},
    {erf, {least}, least},
    {erf, {inf}, 1},
    {erf, {-inf}, -1},
    {erf, {4}, 1},
    {sgn, {0}, 0},
    {sgn, {-0.0f}, -0.0f},
    {sgn, {least}, 1},
    {sgn, {-least}, -1},
    {sgn, {-inf}, -1},
    {TileOp::step, {0}, 0},
    {TileOp::step, {-0.0f}, 0},
    {TileOp::step, {least}, 1},
    {TileOp::step, {-least}, 0},
    {TileOp::step, {inf}, 1},
    {relu, {-0.0f}, 0},
    {relu, {-inf}, 0},
    {relu, {inf}, inf},
    {relu, {-least}, 0},
    {sigmoid, {0}, 0.5f},
    {sigmoid, {inf}, 1},
    {sigmoid, {-inf}, 0},
    {sigmoid, {-most}, 0},
    {tanh, {0}, 0},
    {tanh, {-0.0f}, -0.0f},
    {tanh, {least}, least},
    {tanh, {inf}, 1},
    {tanh, {-inf}, -1},
    {elu, {-0.0f}, -0.0f},
    {elu, {inf}, inf},
    {elu, {-inf}, -1},
    {softplus, {inf}, inf},
    {softplus, {-inf}, 0},
    {softplus, {most}, most},
    {silu, {0}, 0},
    {silu, {-0.0f}, -0.0f},
    {silu, {inf}, inf},
    {silu, {-inf}, -0.0f},
    {silu, {most}, most},
    {silu, {-most}, -0.0f},
    {gelu, {0}, 0},
    {gelu, {-0.0f}, -0.0f},
    {gelu, {inf}, inf},
    {gelu, {-inf}, -0.0f},
    {gelu, {most}, most},
    {gelu, {-most}, -0.0f},
    {gelu_erf, {0}, 0},
    {gelu_erf, {-0.0f}, -0.0f},
    {gelu_erf, {inf}, inf},
    {gelu_erf, {-inf}, -0.0f},
    {gelu_erf, {most}, most},
    {gelu_erf, {-most}, -0.0f},
    {gelu_quick, {0}, 0},
    {gelu_quick, {-0.0f}, -0.0f},
    {gelu_quick, {inf}, inf},
    {gelu_quick, {-inf}, -0.0f},
    {gelu_quick, {most}, most},
    {gelu_quick, {-most}, -0.0f},
    {hardswish, {inf}, inf},
    {hardswish, {-inf}, -0.0f},
    {hardswish, {most}, most},
    {hardswish, {-3}, -0.0f},
    {hardsigmoid, {inf}, 1},
    {hardsigmoid, {-inf}, 0},
    {hardsigmoid, {3}, 1},
    {hardsigmoid, {-3}, 0},
    {floor, {-0.0f}, -0.0f},
    {floor, {0.7f}, 0},
    {floor, {-0.3f}, -1},
    {floor, {-least}, -1},
    {floor, {-inf}, -inf},
    {floor, {8388607.5f}, 8388607},
    {ceil, {-0.7f}, -0.0f},
    {ceil, {-0.0f}, -0.0f},
    {ceil, {least}, 1},
    {ceil, {inf}, inf},
    {ceil, {8388607.5f}, 8388608},
    {round, {-0.4f}, -0.0f},
    {round, {-0.5f}, -1},
    {round, {0.5f}, 1},
    {round, {2.5f}, 3},
    {round, {-1.5f}, -2},
    {round, {0.49999997f}, 0},
    {round, {8388607.5f}, 8388608},
    {round, {-inf}, -inf},
    {trunc, {-0.9f}, -0.0f},
    {trunc, {1.9f}, 1},
    {trunc, {-inf}, -inf},
    {trunc, {8388607.5f}, 8388607},
    {clamp, {inf}, 2, {-1.5f, 2}},
    {clamp, {-inf}, -1.5f, {-1.5f, 2}},
    {clamp, {-inf}, -inf, {-inf, 2}},
    {scale, {inf}, inf, {2, 1}},
    {scale, {-0.0f}, -0.0f, {2, -0.0f}},
    // 1 - 2^-24 rounds to 1 - 2^-24; squared and less 1 it is -2^-23 after two roundings, -2^-23 + 2^-48 after one.
    {scale, {1 - 0x1p-24f}, -0x1p-23f, {1 - 0x1p-24f, -1}},
    {leaky_relu, {-0.0f}, -0.0f, {0.01f}},
    {leaky_relu, {-inf}, -inf, {0.01f}},
    {xielu, {0}, 0, {0.8f, 0.7f, 0.5f, 0}},
    {xielu, {inf}, inf, {0.8f, 0.7f, 0.5f, -1e-6f}},
    {xielu, {inf}, inf, {0.8f, 0.7f, -0.5f, -1e-6f}},
    {xielu, {-inf}, inf, {0.8f, 0.7f, 0.5f, -1e-6f}},
    {xielu, {-inf}, -inf, {0.8f, 0.7f, 1.0f, -1e-6f}},
    {xielu, {-inf}, -0.5f, {0.5f, 0.7f, 0.5f, -1e-6f}},
    {add, {inf, -inf}, nan_value},
    {add, {-0.0f, -0.0f}, -0.0f},
    {add, {-0.0f, 0}, 0},
    {sub, {inf, inf}, nan_value},
    {sub, {0, 0}, 0},
    {mul, {inf, 0}, nan_value},
    {mul, {-0.0f, 3}, -0.0f},
    {div, {1, -0.0f}, -inf},
    {div, {0, 0}, nan_value},
    {div, {inf, inf}, nan_value},
    {div, {1, -inf}, -0.0f},
    {maximum, {-0.0f, 0}, 0},
    {maximum, {0, -0.0f}, 0},
    {maximum, {-0.0f, -0.0f}, -0.0f},
    {maximum, {-inf, -most}, -most},
    {minimum, {-0.0f, 0}, -0.0f},
    {minimum, {0, -0.0f}, -0.0f},
    {minimum, {0, 0}, 0},
    {minimum, {inf, most}, most},
    {eq, {-0.0f, 0}, 1},
    {eq, {inf, inf}, 1},
    {ne, {-0.0f, 0}, 0},
    {lt, {-inf, inf}, 1},
    {lt, {-0.0f, 0}, 0},
    {le, {0, -0.0f}, 1},
    {gt, {least, 0}, 1},
    {ge, {-0.0f, 0}, 1},
    {eq, {nan_value, nan_value}, 0},
    {ne, {nan_value, nan_value}, 1},
    {lt, {nan_value, 1}, 0},
    {le, {1, nan_value}, 0},
    {gt, {nan_value, 1}, 0},
    {ge, {nan_value, nan_value}, 0},
    {reglu, {-inf, 1}, 0},
    {reglu, {-1, -2}, -0.0f},
    {geglu, {-inf, 1}, -0.0f},
    {swiglu, {-inf, 2}, -0.0f},
    {swiglu, {inf, 2}, inf},
    {geglu_erf, {-inf, -1}, 0},
    {geglu_quick, {-inf, 1}, -0.0f},
    {swiglu_oai, {-inf, 1}, -0.0f, {1.702f, 7}},
    {swiglu_oai, {-inf, inf}, -0.0f, {1.702f, 7}},
    // The gate is at the limit, and e^-170 is negligible compared with 1; b is at the limit too.
    {swiglu_oai, {inf, inf}, 170.0f * 171.0f, {1.702f, 170}},
    {swiglu_oai, {inf, -inf}, 170.0f * -169.0f, {1.702f, 170}},
    // alpha = 0: the half.
    {swiglu_oai, {-inf, 1}, -inf, {0, 7}},
    {swiglu_oai, {3, 1}, 3, {0, 7}},
    {swiglu_oai, {-inf, 1}, -inf, {-1.702f, 7}},
    {where, {0, 1, 2}, 2},
    {where, {-0.0f, 1, 2}, 2},
    {where, {least, 1, 2}, 1},
    {where, {nan_value, 1, 2}, 1},
    {where, {inf, -0.0f, 2}, -0.0f},
    {where, {0, nan_value, 2}, 2},
    {where, {1, 2, nan_value}, 2},
};

}  // namespace specials

// Zeros with their signs; of NaNs one is as good as another.
void expect_same(float got, float expected, const std::string &what) {
    if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << what << " is " << got;
    } else {
        EXPECT_EQ(bits_of(got), bits_of(expected)) << what << " is " << got << ", expected " << expected;
    }
}

float one(std::size_t isa, TileOp op, const float *x, const float *params) {
    float got = 77;
    run(isa, op, {1, {x, x + 1, x + 2}, 0, &got, params});
    return got;
}

std::string called(std::size_t isa, TileOp op, const float *x) {
    return std::string(isa_at(isa).name) + ' ' + traits(op).name + '(' + std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " +
           std::to_string(x[2]) + ')';
}

TEST(Tiles, special_values) {
    std::map<TileOp, int> count;
    for (const Special &s : specials::all) {
        count[s.op]++;
        ASSERT_EQ(static_cast<int>(s.params.size()), traits(s.op).parameters) << traits(s.op).name;
        for (std::size_t isa = 0; isa < isa_count(); isa++)
            expect_same(one(isa, s.op, s.x, s.params.data()), s.expected, called(isa, s.op, s.x));
    }
    // pow's are below.
    for (std::size_t op = 0; op < n_tile_ops; op++)
        EXPECT_TRUE(count[static_cast<TileOp>(op)] > 0 || static_cast<TileOp>(op) == TileOp::pow) << tile_op_traits[op].name;
}

// As the C library has them, whose pow follows the standard.
TEST(Tiles, special_values_of_pow) {
    const float values[] = {0,      1,    2,      3,     0.5f, 1.5f,      1e10f,        0x1p24f + 2, 0x1.fffffep23f, 0x1.fffffep22f,
                            1e-30f, most, normal, least, inf,  nan_value, 1 + 0x1p-23f, 1 - 0x1p-24f};
    for (const float a : values) {
        for (const float b : values) {
            for (int signs = 0; signs < 4; signs++) {
                const float x[3] = {(signs & 1) != 0 ? -a : a, (signs & 2) != 0 ? -b : b, 0};
                const double exact = std::pow(double{x[0]}, double{x[1]});
                for (std::size_t isa = 0; isa < isa_count(); isa++) {
                    const float got = one(isa, TileOp::pow, x, nullptr);
                    EXPECT_LE(distance(got, exact, 2, 0), 1) << called(isa, TileOp::pow, x) << " is " << got << " in place of " << exact;
                    EXPECT_TRUE(std::isnan(got) || std::signbit(got) == std::signbit(exact))
                        << called(isa, TileOp::pow, x) << " is " << got;
                }
            }
        }
    }
}

TEST(Tiles, nan_in_is_nan_out) {
    using enum TileOp;
    for (std::size_t i = 0; i < n_tile_ops; i++) {
        const auto op = static_cast<TileOp>(i);
        const bool own = op == pow || op == where || (op >= eq && op <= ge);
        if (own) continue;
        for (int k = 0; k < traits(op).operands; k++) {
            for (const float other : {-inf, -2.0f, 0.0f, 3.0f, inf}) {
                float x[3] = {other, other, other};
                x[k] = nan_value;
                const std::vector<float> params = some_params(op);
                for (std::size_t isa = 0; isa < isa_count(); isa++)
                    EXPECT_TRUE(std::isnan(one(isa, op, x, params.data()))) << called(isa, op, x);
            }
        }
    }
}

// In both signs, quiet and signalling: the bits that nothing computes with stay.
TEST(Tiles, moves_and_signs_keep_the_bits_of_nan) {
    for (const std::uint32_t bits : {0x7fc00001u, 0xffc12345u, 0x7f812345u, 0xff800001u}) {
        const float x[3] = {of_bits(bits), of_bits(bits), 1};
        for (std::size_t isa = 0; isa < isa_count(); isa++) {
            EXPECT_EQ(bits_of(one(isa, TileOp::copy, x, nullptr)), bits);
            EXPECT_EQ(bits_of(one(isa, TileOp::neg, x, nullptr)), bits ^ 0x80000000u);
            EXPECT_EQ(bits_of(one(isa, TileOp::abs, x, nullptr)), bits & 0x7fffffffu);
            EXPECT_EQ(bits_of(one(isa, TileOp::where, x, nullptr)), bits);
        }
    }
}

// ---- Where an oracle of one formula does not say it all

TEST(Tiles, swiglu_oai_is_accurate) {
    const std::vector<float> alphas = {1.702f, 1, -1.702f, 0.01f, 40}, limits = {7, 1e30f, 0.5f};
    for (const float alpha : alphas) {
        for (const float limit : limits) {
            const float params[] = {alpha, limit};
            for (std::uint32_t i = 0; i < 20000; i++) {
                const float wide = (static_cast<float>(mixed(i)) * 0x1p-31f - 1) * 130;
                const float x[3] = {i % 2 != 0 ? wide : of_bits(mixed(i)), (static_cast<float>(mixed(~i)) * 0x1p-31f - 1) * 9, 0};
                const double exact = std::isnan(x[0]) ? nan_value : oracle::swiglu_oai(x[0], x[1], alpha, limit);
                // b + 1 is rounded, and the gate before it is multiplied.
                const double more = (std::fabs(double{x[1]}) + 1) * least;
                for (std::size_t isa = 0; isa < isa_count(); isa++) {
                    const float got = one(isa, TileOp::swiglu_oai, x, params);
                    ASSERT_LE(distance(got, exact, 0, more), 1) << called(isa, TileOp::swiglu_oai, x) << " is " << got << " in place of "
                                                                << exact << " with alpha " << alpha << ", limit " << limit;
                }
            }
        }
    }
}

// Its terms may cancel: the error is measured by them; and e^m - 1 - x is rounded before alpha_n multiplies it.
TEST(Tiles, xielu_is_accurate) {
    const std::vector<std::vector<float>> all = {
        {0.8f, 0.7f, 0.5f, -1e-6f}, {0.3f, 0.9f, 0.5f, -1e-6f}, {2, 1, -0.5f, 0}, {1, 1, 1, -0.1f}, {0.5f, 0, 2, 3}};
    for (const std::vector<float> &p : all) {
        for (std::uint32_t i = 0; i < 60000; i++) {
            const float x[3] = {i % 2 != 0 ? (static_cast<float>(mixed(i)) * 0x1p-31f - 1) * 25 : of_bits(mixed(i)), 0, 0};
            if (std::isnan(x[0]) || std::fabs(x[0]) > 1e18f) continue;
            const double v = x[0], m = std::fmin(std::fmin(v, double{p[3]}), 0);
            const double first = v > 0 ? p[1] * v * v : p[0] * oracle::expm1_less(m), second = v > 0 ? 0 : p[0] * (m - v), third = p[2] * v;
            const double terms = std::fabs(first) + std::fabs(second) + std::fabs(third);
            for (std::size_t isa = 0; isa < isa_count(); isa++) {
                const float got = one(isa, TileOp::xielu, x, p.data());
                ASSERT_LE(std::fabs(got - (first + second + third)), 1e-6 * terms + (1 + p[0]) * least)
                    << called(isa, TileOp::xielu, x) << " is " << got;
            }
        }
    }
}

// Floats nearest to multiples of pi/2 that a search over all finds have results down to 1e-10 or so: a reduction that loses digits shows.
TEST(Tiles, sin_and_cos_near_their_zeros) {
    for (int k = 1; k < 60000; k++) {
        const double at = k * 1.5707963267948966;
        const float nearest = static_cast<float>(at * (k % 3 == 0 ? 1 : std::ldexp(1.0, k % 100)));
        const float x[3] = {nearest, 0, 0};
        for (std::size_t isa = 0; isa < isa_count(); isa++) {
            const float s = one(isa, TileOp::sin, x, nullptr), c = one(isa, TileOp::cos, x, nullptr);
            ASSERT_LE(distance(s, std::sin(double{nearest}), 2, 0), 1) << called(isa, TileOp::sin, x) << " is " << s;
            ASSERT_LE(distance(c, std::cos(double{nearest}), 2, 0), 1) << called(isa, TileOp::cos, x) << " is " << c;
        }
    }
}

// ---- What all loops promise

// Operands of all kinds: numbers of the size of activations, any bits, special ones.
std::vector<float> operand(std::uint32_t seed, std::size_t n) {
    const float special[] = {0, -0.0f, inf, -inf, nan_value, least, -most, 1, -1, 70000};
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; i++) {
        const std::uint32_t bits = mixed(static_cast<std::uint32_t>(i) + seed * 0x9E3779B1u);
        x[i] = bits % 4 == 0    ? of_bits(mixed(bits))
               : bits % 16 == 1 ? special[bits / 16 % 10]
                                : (static_cast<float>(bits) * 0x1p-31f - 1) * 8;
    }
    return x;
}

// The processor returns the first of two NaN that are added. In code without vectors of its own the compiler decides which one is first,
// and may decide differently for a loop's tail and body: their signs may differ there.
#if defined(__SSE2__) && !defined(TL_PORTABLE)
constexpr bool any_nan = false;
#else
constexpr bool any_nan = true;
#endif

bool same_bits(const float *a, const float *b, std::size_t n) {
    const auto same = [](float x, float y) { return std::memcmp(&x, &y, sizeof x) == 0 || (any_nan && std::isnan(x) && std::isnan(y)); };
    return std::equal(a, a + n, b, same);
}

struct Loop : testing::TestWithParam<std::size_t> {
    TileOp op = static_cast<TileOp>(GetParam());
    std::vector<float> params = some_params(op);
    static constexpr std::size_t n = 100;
    std::vector<float> x[3] = {operand(1, n), operand(2, n), operand(3, n)};

    std::vector<float> whole(std::size_t isa) {
        std::vector<float> y(n);
        run(isa, op, {n, {x[0].data(), x[1].data(), x[2].data()}, 0, y.data(), params.data()});
        return y;
    }
};

// Any part of the operands gives that part of the result, and nothing before or after it is written. 100 elements are more than three
// registers of the widest ISA.
TEST_P(Loop, an_elements_result_does_not_depend_on_its_place) {
    for (std::size_t isa = 0; isa < isa_count(); isa++) {
        const std::vector<float> all = whole(isa);
        for (std::size_t begin : {0, 1, 2, 3, 7, 16, 21}) {
            for (std::size_t count = 0; begin + count <= n; count++) {
                std::vector<float> y(n, 77.0f);
                run(isa, op,
                    {static_cast<std::int64_t>(count),
                     {x[0].data() + begin, x[1].data() + begin, x[2].data() + begin},
                     0,
                     y.data() + begin,
                     params.data()});
                ASSERT_TRUE(same_bits(y.data() + begin, all.data() + begin, count)) << isa_at(isa).name << ' ' << begin << ' ' << count;
                for (std::size_t i = 0; i < n; i++) ASSERT_TRUE((i >= begin && i < begin + count) || y[i] == 77.0f) << i;
            }
        }
    }
}

TEST_P(Loop, may_write_into_an_operand) {
    for (std::size_t isa = 0; isa < isa_count(); isa++) {
        const std::vector<float> all = whole(isa);
        for (int k = 0; k < traits(op).operands; k++) {
            std::vector<float> y = x[k];
            const float *src[3] = {x[0].data(), x[1].data(), x[2].data()};
            src[k] = y.data();
            run(isa, op, {n, {src[0], src[1], src[2]}, 0, y.data(), params.data()});
            EXPECT_TRUE(same_bits(y.data(), all.data(), n)) << isa_at(isa).name << ' ' << k;
        }
    }
}

TEST_P(Loop, repeats_operands) {
    for (std::size_t isa = 0; isa < isa_count(); isa++) {
        for (unsigned repeated = 1; repeated < 1u << traits(op).operands; repeated++) {
            std::vector<float> full[3] = {x[0], x[1], x[2]}, y(n), expected(n);
            for (unsigned k = 0; k < 3; k++) {
                if ((repeated >> k & 1) != 0) std::fill(full[k].begin(), full[k].end(), x[k][5 + k]);
            }
            run(isa, op, {n, {full[0].data(), full[1].data(), full[2].data()}, 0, expected.data(), params.data()});
            const float *src[3];
            for (unsigned k = 0; k < 3; k++) src[k] = (repeated >> k & 1) != 0 ? &x[k][5 + k] : x[k].data();
            for (const std::size_t count : {n, n - 3, std::size_t{1}, std::size_t{0}}) {
                std::fill(y.begin(), y.end(), 77.0f);
                run(isa, op, {static_cast<std::int64_t>(count), {src[0], src[1], src[2]}, repeated, y.data(), params.data()});
                EXPECT_TRUE(same_bits(y.data(), expected.data(), count)) << isa_at(isa).name << ' ' << repeated << ' ' << count;
            }
        }
    }
}

// The ISAs with fused multiply-adds do the same operations in the same order; the baseline has none, and differs in last places.
TEST_P(Loop, isas_with_fused_multiply_adds_agree) {
    constexpr std::size_t many = 1 << 16;
    const std::vector<float> a = operand(4, many), b = operand(5, many), c = operand(6, many);
    std::vector<float> first;
    for (std::size_t isa = 0; isa + 1 < isa_count(); isa++) {
        std::vector<float> y(many);
        run(isa, op, {many, {a.data(), b.data(), c.data()}, 0, y.data(), params.data()});
        if (isa == 0) first = y;
        for (std::size_t i = 0; i < many; i++) {
            ASSERT_TRUE(bits_of(y[i]) == bits_of(first[i]) || (std::isnan(y[i]) && std::isnan(first[i])))
                << isa_at(isa).name << ' ' << a[i] << ' ' << b[i] << ' ' << c[i] << ": " << y[i] << " and " << first[i];
        }
    }
}

INSTANTIATE_TEST_SUITE_P(formulas, Loop, testing::Range(std::size_t{0}, n_tile_ops),
                         [](const auto &info) { return std::string(tile_op_traits[info.param].name); });

}  // namespace
