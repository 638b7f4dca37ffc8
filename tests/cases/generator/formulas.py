"""The textbook formulas of elementwise operations in float64, and the error that an engine may make.

Each is a function of the operands' elements and the attributes. Its bound is relative to the result, or to the size of
the terms that the result is a sum of. Exact operations are computed in F32 with one rounding; float64 has enough digits
that rounding its result gives the same value. cpp/math/README.md has the engine's bounds: exp 1 ulp, the other
functions 2, activations 1e-6.
"""

import math

from .numbers import ROUND

ULP = 2.0**-23  # at most this of a result, whose unit in the last place it is
ACTIVATION = 1e-6
INF, NAN = math.inf, math.nan
f32 = ROUND["f32"]


def total(function):
    """The function where Python raises errors: NaN outside of its domain, infinity where float64 has no more."""

    def at(*x):
        if any(map(math.isnan, x)):
            return NAN
        try:
            return function(*x)
        except ValueError:
            return NAN
        except OverflowError:
            return INF

    return at


exp, expm1 = total(math.exp), total(math.expm1)
log = total(lambda x: -INF if x == 0 else math.log(x))


def logistic(x):
    return 1 / (1 + exp(-x)) if x > -700 else exp(x)


def gated(x, s):
    """x s, where s is 0 faster than x grows."""
    return 0.0 if s == 0 else x * s


def silu(x):
    return gated(x, logistic(x))


def gelu(x):
    # (1 + tanh y) / 2 is the logistic function of 2 y, without the difference that loses digits below 0.
    return gated(x, logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_erf(x):
    return gated(x, math.erfc(-x / math.sqrt(2)) / 2)


def gelu_quick(x):
    return gated(x, logistic(1.702 * x))


def relu(x):
    return 0.0 if x <= 0 else x


def hardsigmoid(x):
    return x if math.isnan(x) else min(max(x + 3, 0.0), 6.0) / 6


def divided(a, b):
    if b != 0:
        return a / b
    return NAN if a == 0 or math.isnan(a) else math.copysign(INF, a) * math.copysign(1, b)


def power(a, b):
    try:
        return math.pow(a, b)
    except ValueError:  # 0 to a power below 0, whose sign is a's for odd ones; else no real number
        if a != 0:
            return NAN
        return math.copysign(INF, a) if b % 2 == 1 else INF
    except OverflowError:
        return -INF if a < 0 and b % 2 == 1 else INF


def chosen(best):
    return lambda a, b: NAN if math.isnan(a) or math.isnan(b) else best(a, b)


def whole(function):
    return lambda x: float(function(x)) if math.isfinite(x) else x


def xielu(x, alpha_n, alpha_p, beta, eps):
    """The summands: an engine may be off by a part of each. At the infinities what the sum goes to."""
    if x > 0:
        return (alpha_p * x * x, beta * x) if x < INF else (alpha_p * x + beta) * x
    if x == -INF:
        return gated(x, beta - alpha_n) - alpha_n
    # e^x - 1 - x near 0 without the difference, which has no digits there.
    near = x <= eps and abs(x) < 1e-4
    return alpha_n * (x * x / 2 + x**3 / 6 if near else expm1(min(x, eps)) - x), beta * x


def swiglu_oai(gate, up, alpha, limit):
    if math.isnan(gate) or math.isnan(up):
        return NAN
    g = min(gate, limit)
    return gated(g, logistic(alpha * g)) * (max(-limit, min(limit, up)) + 1)


# name: function, bound, attributes in the order of the function's parameters
FUNCTIONS = {
    "add": (lambda a, b: a + b, 0),
    "sub": (lambda a, b: a - b, 0),
    "mul": (lambda a, b: a * b, 0),
    "div": (divided, 0),
    "maximum": (chosen(max), 0),
    "minimum": (chosen(min), 0),
    "pow": (power, 2 * ULP),
    "eq": (lambda a, b: float(a == b), 0),
    "ne": (lambda a, b: float(a != b), 0),
    "lt": (lambda a, b: float(a < b), 0),
    "le": (lambda a, b: float(a <= b), 0),
    "gt": (lambda a, b: float(a > b), 0),
    "ge": (lambda a, b: float(a >= b), 0),
    "add1": (lambda a, b: a + b, 0),
    "where": (lambda condition, a, b: a if condition != 0 else b, 0),
    "scale": (lambda x, scale, bias: f32(x * scale) + bias, 0, "scale", "bias"),
    "clamp": (lambda x, least, most: x if math.isnan(x) else min(most, max(least, x)), 0, "min", "max"),
    "fill": (lambda x, value: value, 0, "value"),
    "abs": (abs, 0),
    "neg": (lambda x: -x, 0),
    "sqr": (lambda x: x * x, 0),
    "sqrt": (total(math.sqrt), 0),
    "log": (log, 2 * ULP),
    "exp": (exp, ULP),
    "expm1": (expm1, 2 * ULP),
    "erf": (total(math.erf), 2 * ULP),
    "sin": (total(math.sin), 2 * ULP),
    "cos": (total(math.cos), 2 * ULP),
    "sgn": (lambda x: math.copysign(1, x) if abs(x) > 0 else x, 0),
    "step": (lambda x: x if math.isnan(x) else float(x > 0), 0),
    "floor": (whole(math.floor), 0),
    "ceil": (whole(math.ceil), 0),
    "round": (whole(lambda x: math.copysign(math.floor(abs(x) + 0.5), x)), 0),
    "trunc": (whole(math.trunc), 0),
    "relu": (relu, 0),
    "sigmoid": (logistic, ACTIVATION),
    "tanh": (total(math.tanh), 2 * ULP),
    "elu": (lambda x: expm1(x) if x <= 0 else x, ACTIVATION),
    "softplus": (lambda x: max(x, 0.0) + math.log1p(exp(-abs(x))) if not math.isnan(x) else x, ACTIVATION),
    "silu": (silu, ACTIVATION),
    "gelu": (gelu, ACTIVATION),
    "gelu_erf": (gelu_erf, ACTIVATION),
    "gelu_quick": (gelu_quick, ACTIVATION),
    "hardswish": (lambda x: gated(x, hardsigmoid(x)), ACTIVATION),
    "hardsigmoid": (hardsigmoid, ACTIVATION),
    "leaky_relu": (lambda x, slope: slope * x if x <= 0 else x, 0, "slope"),
    "xielu": (xielu, ACTIVATION, "alpha_n", "alpha_p", "beta", "eps"),
    # Gates: functions of gate and up.
    "reglu": (lambda a, b: relu(a) * b, 0),
    "geglu": (lambda a, b: gelu(a) * b, ACTIVATION),
    "swiglu": (lambda a, b: silu(a) * b, ACTIVATION),
    "geglu_erf": (lambda a, b: gelu_erf(a) * b, ACTIVATION),
    "geglu_quick": (lambda a, b: gelu_quick(a) * b, ACTIVATION),
    "swiglu_oai": (swiglu_oai, ACTIVATION, "alpha", "limit"),
}


class Formula:
    """A function with its attributes, as F32 has them."""

    def __init__(self, name, attrs):
        self.function, self.bound, *names = FUNCTIONS[name]
        self.given = [f32(float(attrs.get(key) or 0)) for key in names]

    def value(self, x):
        """The result for these operands in float64, and by how much an engine may be off that rounds nowhere but where a bound says so."""
        found = self.function(*x, *self.given)
        summands = found if isinstance(found, tuple) else (found,)
        result = sum(summands)
        if self.bound == 0 or not abs(result) < 2.0**128:
            return result, 0.0
        # A rounding more where a result is below 2^-126, and its unit is no part of it.
        return result, self.bound * sum(map(abs, summands)) + 2.0**-149

    def at(self, operands):
        """The same in F32, and for operands that may be off themselves: by what the result changes when each of them is."""
        x = [value for value, _ in operands]
        result, error = self.value(x)
        if not abs(result) < 2.0**128 or error == 0 and not any(off for _, off in operands):
            return f32(result), 0.0
        for i, (value, off) in enumerate(operands):
            changed = [self.value(x[:i] + [other] + x[i + 1 :])[0] for other in (value - off, value + off)]
            error += max(abs(c - result) for c in changed)
        if self.bound == 0:
            error += ULP / 2 * (abs(result) + error)
        return result, error
