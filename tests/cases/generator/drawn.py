"""Random numbers by a counter, in plain Python: Philox4x32-10 in integers, and the values made of its words, each step rounded.

Python's floats are float64, whose sums, products, quotients and square roots are each rounded once, as the engine's must
be: everything is exact.
"""

import math

from .numbers import ROUND
from .tensors import Tensor, convert

MASK = 0xFFFFFFFF
F32 = ROUND["f32"]


def philox(counter, key):
    """The block of four words: J. K. Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3, 2011."""
    x, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [second >> 32 ^ x[1] ^ k[0], second & MASK, first >> 32 ^ x[3] ^ k[1], first & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return x


# The published vectors (Random123, kat_vectors).
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([MASK] * 4, [MASK] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
assert philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def halves(x):
    return [x & MASK, x >> 32 & MASK]


def word(state, stream, i):
    seed, counter = (int(state.get((n, 0, 0, 0))[0]) for n in range(2))
    return philox([i // 4, stream, *halves(counter)], halves(seed))[i % 4]


def flat(index, ne):
    i0, i1, i2, i3 = index
    return i0 + ne[0] * (i1 + ne[1] * (i2 + ne[2] * i3))


def random_uniform(ident, state, ne, low, high, stream):
    low, high = F32(low), F32(high)
    span = F32(high - low)

    def at(index):
        u = (word(state, stream, flat(index, ne)) >> 8) * 2.0**-24
        return F32(low + F32(span * u)), 0.0

    return Tensor(ident, "f32", ne, [state], at)


def polynomial(r, *coefficients):
    value = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = c + r * value
    return value


def minus_log(p):
    """By the series of artanh in (f - 1) / (f + 1), p = f 2^e with f from sqrt(1/2) to sqrt(2)."""
    f, e = math.frexp(p)  # f from 1/2 to 1
    if f < math.sqrt(0.5):
        f, e = 2 * f, e - 1
    s = (f - 1) / (f + 1)
    value = -e * 0.69314718055994531 + -2 * s * polynomial(s * s, *(1 / n for n in range(1, 19, 2)))
    assert abs(value + math.log(p)) <= 1e-15 * max(1, abs(value))
    return value


# M. J. Wichura, Algorithm AS 241, Applied Statistics 37, 1988: numerator and denominator for the middle, and for p down to e^-25.
MIDDLE = ((3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
           4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
          (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
           2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3))
TAIL = ((1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
        (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9))


def normal(x):
    """Where the standard normal distribution has (x + 1/2) 2^-32."""
    q = (x - 2**31 + 0.5) * 2.0**-32
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * polynomial(r, *MIDDLE[0]) / polynomial(r, *MIDDLE[1])
    r = math.sqrt(minus_log(0.5 - abs(q))) - 1.6
    return math.copysign(polynomial(r, *TAIL[0]) / polynomial(r, *TAIL[1]), q)


def random_normal(ident, state, ne, mean, deviation, stream):
    def at(index):
        return F32(mean + deviation * normal(word(state, stream, flat(index, ne)))), 0.0

    return Tensor(ident, "f32", ne, [state], at)


def dropout(ident, a, state, p, stream):
    share = F32(1 - p)

    def at(index):
        if word(state, stream, flat(index, a.ne)) < p * 2**32:
            return 0.0, 0.0
        return convert(F32(a.get(index)[0] / share), 0.0, a.dtype)

    return Tensor(ident, a.dtype, a.ne, [a, state], at)


OPS = {f.__name__: f for f in (random_uniform, random_normal, dropout)}
