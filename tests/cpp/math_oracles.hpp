// The formulas of cpp/math in double, as textbooks have them, which the loops over tiles are tested against. The C library's
// functions of doubles are good to 2^-52, far below half an ulp of a float.
#pragma once

#include "math/tile_op.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace oracle {

using tensorlib::core::TileOp;

// What is given: operands and parameters.
using Exact = double (*)(const double *x, const float *p);

struct Formula {
    TileOp op;
    Exact exact;
    // How far a result may be off, in units of the last place; 0: 1e-6 of the result.
    double ulps;
    std::vector<float> params{};
};

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }
inline double gelu(double x) { return x * logistic(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }
// erfc() keeps the digits of the negative tail.
inline double gelu_erf(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
inline double gelu_quick(double x) { return x * logistic(1.702 * x); }
inline double silu(double x) { return x * logistic(x); }
inline double relu(double x) { return x <= 0 ? 0 : x; }
// Where e^-x has no inverse in double x is far below what gives anything in F32.
inline double at_least(double least, double x) { return x < least ? least : x; }
inline double maximum(double a, double b) {
    return std::isnan(a) || std::isnan(b) ? a + b : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}

// e^x - 1 - x, whose digits a difference loses near 0.
inline double expm1_less(double x) {
    return std::fabs(x) > 0.01 ? std::expm1(x) - x : x * x * (1 / 2.0 + x * (1 / 6.0 + x * (1 / 24.0 + x * (1 / 120.0 + x / 720))));
}

#define TL_EXACT(expression)                        \
    [](const double *x, const float *p) -> double { \
        (void)x, (void)p;                           \
        return expression;                          \
    }

// Formulas of one operand. Exact ones are exact in double, and rounded once in F32.
inline const std::vector<Formula> &unary() {
    static const std::vector<Formula> all = {
        {TileOp::copy, TL_EXACT(x[0]), 0.5},
        {TileOp::abs, TL_EXACT(std::fabs(x[0])), 0.5},
        {TileOp::neg, TL_EXACT(-x[0]), 0.5},
        {TileOp::sqr, TL_EXACT(x[0] * x[0]), 0.5},
        {TileOp::sqrt, TL_EXACT(std::sqrt(x[0])), 0.5},
        {TileOp::log, TL_EXACT(std::log(x[0])), 2},
        {TileOp::log1p, TL_EXACT(std::log1p(x[0])), 2},
        {TileOp::exp, TL_EXACT(std::exp(x[0])), 1},
        {TileOp::expm1, TL_EXACT(std::expm1(x[0])), 2},
        {TileOp::sin, TL_EXACT(std::sin(x[0])), 2},
        {TileOp::cos, TL_EXACT(std::cos(x[0])), 2},
        {TileOp::erf, TL_EXACT(std::erf(x[0])), 2},
        {TileOp::sgn,
         TL_EXACT(x[0] > 0   ? 1
                  : x[0] < 0 ? -1
                             : x[0]),
         0.5},
        {TileOp::step,
         TL_EXACT(x[0] > 0    ? 1
                  : x[0] <= 0 ? 0
                              : x[0]),
         0.5},
        {TileOp::relu, TL_EXACT(relu(x[0])), 0.5},
        {TileOp::sigmoid, TL_EXACT(logistic(x[0])), 0},
        {TileOp::tanh, TL_EXACT(std::tanh(x[0])), 2},
        {TileOp::elu, TL_EXACT(x[0] <= 0 ? std::expm1(x[0]) : x[0]), 0},
        {TileOp::softplus, TL_EXACT((x[0] > 0 ? x[0] : 0) + std::log1p(std::exp(-std::fabs(x[0])))), 0},
        {TileOp::silu, TL_EXACT(silu(at_least(-700, x[0]))), 0},
        {TileOp::gelu, TL_EXACT(gelu(at_least(-20, x[0]))), 0},
        {TileOp::gelu_erf, TL_EXACT(gelu_erf(at_least(-50, x[0]))), 0},
        {TileOp::gelu_quick, TL_EXACT(gelu_quick(at_least(-400, x[0]))), 0},
        {TileOp::hardswish,
         TL_EXACT(x[0] <= -3  ? 0
                  : x[0] >= 3 ? x[0]
                              : x[0] * (x[0] + 3) / 6),
         0},
        {TileOp::hardsigmoid,
         TL_EXACT(x[0] <= -3  ? 0
                  : x[0] >= 3 ? 1
                              : (x[0] + 3) / 6),
         0},
        {TileOp::floor, TL_EXACT(std::floor(x[0])), 0.5},
        {TileOp::ceil, TL_EXACT(std::ceil(x[0])), 0.5},
        {TileOp::round, TL_EXACT(std::round(x[0])), 0.5},
        {TileOp::trunc, TL_EXACT(std::trunc(x[0])), 0.5},
        {TileOp::clamp,
         TL_EXACT(x[0] < p[0]   ? p[0]
                  : x[0] > p[1] ? p[1]
                                : x[0]),
         0.5,
         {-1.5f, 1e6f}},
        {TileOp::scale, TL_EXACT(static_cast<float>(p[0] * x[0]) + double{p[1]}), 0.5, {0.3f, -7.1f}},
        {TileOp::leaky_relu, TL_EXACT(x[0] <= 0 ? p[0] * x[0] : x[0]), 0.5, {0.01f}},
        // With these both terms below 0 are of one sign; other parameters have a test of their own.
        {TileOp::xielu, TL_EXACT(x[0] > 0 ? (p[1] * x[0] + p[2]) * x[0] : p[0] * expm1_less(x[0]) + p[2] * x[0]), 0, {0.8f, 0.7f, 0, 0}},
    };
    return all;
}

// Formulas of two operands. Gates round their activation to F32 before the multiplication.
inline const std::vector<Formula> &binary() {
    static const std::vector<Formula> all = {
        {TileOp::add, TL_EXACT(x[0] + x[1]), 0.5},
        {TileOp::sub, TL_EXACT(x[0] - x[1]), 0.5},
        {TileOp::mul, TL_EXACT(x[0] * x[1]), 0.5},
        {TileOp::div, TL_EXACT(x[0] / x[1]), 0.5},
        {TileOp::maximum, TL_EXACT(maximum(x[0], x[1])), 0.5},
        {TileOp::minimum, TL_EXACT(-maximum(-x[0], -x[1])), 0.5},
        {TileOp::pow, TL_EXACT(std::pow(x[0], x[1])), 2},
        {TileOp::eq, TL_EXACT(x[0] == x[1]), 0.5},
        {TileOp::ne, TL_EXACT(x[0] != x[1]), 0.5},
        {TileOp::lt, TL_EXACT(x[0] < x[1]), 0.5},
        {TileOp::le, TL_EXACT(x[0] <= x[1]), 0.5},
        {TileOp::gt, TL_EXACT(x[0] > x[1]), 0.5},
        {TileOp::ge, TL_EXACT(x[0] >= x[1]), 0.5},
        {TileOp::reglu, TL_EXACT(relu(x[0]) * x[1]), 0.5},
        {TileOp::geglu, TL_EXACT(gelu(at_least(-20, x[0])) * x[1]), 0},
        {TileOp::swiglu, TL_EXACT(silu(at_least(-700, x[0])) * x[1]), 0},
        {TileOp::geglu_erf, TL_EXACT(gelu_erf(at_least(-50, x[0])) * x[1]), 0},
        {TileOp::geglu_quick, TL_EXACT(gelu_quick(at_least(-400, x[0])) * x[1]), 0},
    };
    return all;
}

// min(a, limit) s(alpha min(a, limit)) (clamp(b) + 1), each as it is written.
inline double swiglu_oai(double a, double b, double alpha, double limit) {
    const double gate = a > limit ? limit : a, up = b > limit ? limit : b < -limit ? -limit : b;
    const double far = 700 / std::fabs(alpha);
    return (alpha * gate < -700 ? std::copysign(far, gate) * logistic(-700) : gate * logistic(alpha * gate)) * (up + 1);
}

#undef TL_EXACT

}  // namespace oracle
