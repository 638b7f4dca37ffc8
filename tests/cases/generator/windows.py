"""Operations with sliding windows, in plain Python: pooling, im2col, convolutions; and upscaling."""

import math
from fractions import Fraction

from .numbers import ROUND, TINY
from .tensors import U, Tensor, convert, gamma, stored

NAN = float("nan")
LOWEST = -3.4028234663852886e38  # of F32


class Windows:
    """One dimension's: n elements, windows of k with stride s, padding p and dilation d."""

    def __init__(self, n, k, s=0, p=0, d=0):
        self.n, self.k, self.s, self.p, self.d = n, k, s or 1, p, d or 1
        self.out = (n + 2 * p - (k - 1) * self.d - 1) // self.s + 1
        assert self.out > 0

    def taps(self, position):
        """Of the window at a position, the taps that meet an element, each with that."""
        for t in range(self.k):
            i = position * self.s + t * self.d - self.p
            if 0 <= i < self.n:
                yield t, i


def shares(i, n, m, mode, align_corners, antialias):
    """The pixels that pixel i of m is made of, of n, each with its weight. Fractions of the positions are exact where they are 0."""
    corners = align_corners and n > 1 and m > 1
    if mode == "nearest":
        return {(i * (n - 1) // (m - 1) if corners else i * n // m): 1.0}
    step = Fraction(n - 1, m - 1) if corners else Fraction(n, m)
    at = i * step if align_corners else (i + Fraction(1, 2)) * step - Fraction(1, 2)
    wide = max(Fraction(1), step) if antialias else Fraction(1)
    found = {}
    for j in range(math.floor(at - 2 * wide), math.ceil(at + 2 * wide) + 1):
        d = float(abs(j - at) / wide)
        if mode == "bilinear":
            part = max(0.0, 1 - d)
        else:
            part = 1.25 * d**3 - 2.25 * d**2 + 1 if d <= 1 else -0.75 * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0.0
        if antialias and not 0 <= j < n:
            continue
        place = min(max(j, 0), n - 1)
        found[place] = found.get(place, 0.0) + part
    total = sum(found.values()) if antialias else 1.0
    return {j: part / total for j, part in found.items() if part}


def upscale(ident, a, factor=0, mode="nearest", ne=None, align_corners=0, antialias=0):
    ne = ne or (a.ne[0] * factor, a.ne[1] * factor, *a.ne[2:])

    def at(index):
        x, y, *rest = index
        rest = [i * n // m for i, n, m in zip(rest, a.ne[2:], ne[2:])]
        if mode == "nearest":
            (i,), (j,) = (shares(p, n, m, mode, align_corners, 0) for p, n, m in ((x, a.ne[0], ne[0]), (y, a.ne[1], ne[1])))
            return a.get((i, j, *rest))
        total = size = 0.0
        count = 0
        for j, part_y in shares(y, a.ne[1], ne[1], mode, align_corners, antialias).items():
            for i, part_x in shares(x, a.ne[0], ne[0], mode, align_corners, antialias).items():
                value, error = a.get((i, j, *rest))
                assert error == 0
                total += part_x * part_y * value
                size += abs(part_x * part_y * value)
                count += 1
        # Weights are rounded, and products and sums between rows and between columns: of two pixels each its part, 1 - part, two
        # products and a sum.
        return stored((total, (8 if count <= 4 else count + 6) * U * size), a.dtype)

    return Tensor(ident, a.dtype, ne, [a], at)


def pooled(values, op, divisor):
    """An average is added up in F64: it is exact up to the one rounding."""
    if not values:
        return LOWEST if op == "max" else 0.0
    if op == "max":
        return NAN if any(math.isnan(v) for v in values) else max(values)
    total = 0.0
    for v in values:
        total += v
    return total / divisor


def pool_1d(ident, a, op, k, s=0, p=0, count_padding=False):
    w = Windows(a.ne[0], k, s or k, p)

    def at(index):
        values = [a.get((i, *index[1:]))[0] for _, i in w.taps(index[0])]
        return once(pooled(values, op, k if count_padding else len(values)), op, a.dtype)

    return Tensor(ident, a.dtype, (w.out, *a.ne[1:]), [a], at)


def once(value, op, dtype):
    """The maximum is an element, or none: what has no number of the type is infinite. An average is rounded to F32 and then to the type."""
    if value == LOWEST:
        return float(ROUND[dtype](value)), 0.0
    if op == "max" or not math.isfinite(value):
        return value, 0.0
    return stored((value, abs(value) * U * (1 + 1e-6)), dtype)


def pool_2d(ident, a, op, k0, k1, s0=0, s1=0, p0=0, p1=0, skip_padding=False):
    x, y = Windows(a.ne[0], k0, s0 or k0, p0), Windows(a.ne[1], k1, s1 or k1, p1)

    def at(index):
        values = [a.get((i, j, *index[2:]))[0] for _, j in y.taps(index[1]) for _, i in x.taps(index[0])]
        return once(pooled(values, op, len(values) if skip_padding else k0 * k1), op, a.dtype)

    return Tensor(ident, a.dtype, (x.out, y.out, *a.ne[2:]), [a], at)


def im2col(ident, a, b, s0=0, s1=0, p0=0, p1=0, d0=0, d1=0, is_2D=0, to="f32"):
    flat = not is_2D
    x = Windows(b.ne[0], a.ne[0], s0, p0, d0)
    y = Windows(1, 1) if flat else Windows(b.ne[1], a.ne[1], s1, p1, d1)
    channels, batch = (b.ne[1], b.ne[2]) if flat else (b.ne[2], b.ne[3])

    def at(index):
        k, column, row, n = index if not flat else (index[0], index[1], 0, index[2])
        taps_x, taps_y, c = k % x.k, k // x.k % y.k, k // (x.k * y.k)
        i, j = dict(x.taps(column)).get(taps_x), dict(y.taps(row)).get(taps_y)
        if i is None or j is None:
            return 0.0, 0.0
        return convert(*b.get((i, c, n, 0) if flat else (i, j, c, n)), to)

    taps = channels * x.k * y.k
    return Tensor(ident, to, (taps, x.out, batch) if flat else (taps, x.out, y.out, batch), [a, b], at)


def summed(products):
    """A sum in F32, in any order."""
    total = size = 0.0
    count = 0
    for (v, ev), (w, ew) in products:
        assert ev == ew == 0
        total += v * w
        size += abs(v * w)
        count += 1
    return total, gamma(max(1, count)) * size + count * TINY["f32"]


def conv_2d(ident, a, b, s0=0, s1=0, p0=0, p1=0, d0=0, d1=0):
    assert a.ne[2] == b.ne[2], ident
    x, y = Windows(b.ne[0], a.ne[0], s0, p0, d0), Windows(b.ne[1], a.ne[1], s1, p1, d1)

    def at(index):
        column, row, m, n = index
        return summed((a.get((tx, ty, c, m)), b.get((i, j, c, n))) for c in range(a.ne[2]) for ty, j in y.taps(row) for tx, i in x.taps(column))

    return Tensor(ident, "f32", (x.out, y.out, a.ne[3], b.ne[3]), [a, b], at)


def conv_1d(ident, a, b, s=0, p=0, d=0):
    assert a.ne[1] == b.ne[1], ident
    x = Windows(b.ne[0], a.ne[0], s, p, d)

    def at(index):
        column, m, n, _ = index
        return summed((a.get((t, c, m, 0)), b.get((i, c, n, 0))) for c in range(a.ne[1]) for t, i in x.taps(column))

    return Tensor(ident, "f32", (x.out, a.ne[2], b.ne[2]), [a, b], at)


def conv_2d_dw(ident, a, b, s0=0, s1=0, p0=0, p1=0, d0=0, d1=0):
    assert a.ne[2] == 1 and a.ne[3] == b.ne[2], ident
    x, y = Windows(b.ne[0], a.ne[0], s0, p0, d0), Windows(b.ne[1], a.ne[1], s1, p1, d1)

    def at(index):
        column, row, c, n = index
        return summed((a.get((tx, ty, 0, c)), b.get((i, j, c, n))) for ty, j in y.taps(row) for tx, i in x.taps(column))

    return Tensor(ident, "f32", (x.out, y.out, b.ne[2], b.ne[3]), [a, b], at)


def conv_1d_dw(ident, a, b, s=0, p=0, d=0):
    assert a.ne[1] == 1 and a.ne[2] == b.ne[1], ident
    x = Windows(b.ne[0], a.ne[0], s, p, d)

    def at(index):
        column, c, n, _ = index
        return summed((a.get((t, 0, c, 0)), b.get((i, c, n, 0))) for t, i in x.taps(column))

    return Tensor(ident, "f32", (x.out, b.ne[1], b.ne[2]), [a, b], at)


def sources(n, k, s, p, d, i):
    """Of a transposed convolution the (tap, element) that reach element i of the result."""
    return [(t, (i + p - t * d) // s) for t in range(k) if (i + p - t * d) % s == 0 and 0 <= (i + p - t * d) // s < n]


def conv_transpose_1d(ident, a, b, s=0, p=0, d=0):
    assert a.ne[2] == b.ne[1], ident
    s, d = s or 1, d or 1
    out = (b.ne[0] - 1) * s - 2 * p + (a.ne[0] - 1) * d + 1

    def at(index):
        i, m, n, _ = index
        return summed((a.get((t, m, c, 0)), b.get((j, c, n, 0))) for c in range(a.ne[2]) for t, j in sources(b.ne[0], a.ne[0], s, p, d, i))

    return Tensor(ident, "f32", (out, a.ne[1], b.ne[2]), [a, b], at)


def conv_transpose_2d(ident, a, b, stride=0, p0=0, p1=0, d0=0, d1=0):
    assert a.ne[3] == b.ne[2], ident
    s = stride or 1
    given = [(p0, d0 or 1), (p1, d1 or 1)]
    out = [(b.ne[x] - 1) * s - 2 * p + (a.ne[x] - 1) * d + 1 for x, (p, d) in enumerate(given)]

    def at(index):
        xs, ys = (sources(b.ne[x], a.ne[x], s, p, d, index[x]) for x, (p, d) in enumerate(given))
        _, _, m, n = index
        return summed((a.get((tx, ty, m, c)), b.get((i, j, c, n))) for c in range(a.ne[3]) for ty, j in ys for tx, i in xs)

    return Tensor(ident, "f32", (*out, a.ne[2], b.ne[3]), [a, b], at)


def volumes(a, b, channels, form):
    """The windows of each dimension, with the attributes' names of dimension d."""
    return [Windows(b.ne[d], a.ne[d], *(form.get(f"{key}{d}", 0) for key in "spd")) for d in range(3)], b.ne[3] // channels


def im2col_3d(ident, a, b, channels, to="f32", **form):
    (x, y, z), n_volumes = volumes(a, b, channels, form)

    def at(index):
        k, column, row, plane = index
        taps_x, taps_y, taps_z, c = k % x.k, k // x.k % y.k, k // (x.k * y.k) % z.k, k // (x.k * y.k * z.k)
        place = [dict(w.taps(position)).get(t) for w, position, t in ((x, column, taps_x), (y, row, taps_y), (z, plane % z.out, taps_z))]
        if None in place:
            return 0.0, 0.0
        return convert(*b.get((*place, c + channels * (plane // z.out))), to)

    return Tensor(ident, to, (x.k * y.k * z.k * channels, x.out, y.out, z.out * n_volumes), [a, b], at)


def conv_3d(ident, a, b, channels, **form):
    (x, y, z), n_volumes = volumes(a, b, channels, form)
    outputs = a.ne[3] // channels

    def at(index):
        column, row, plane, output = index
        m, n = output % outputs, output // outputs
        return summed(
            (a.get((tx, ty, tz, c + channels * m)), b.get((i, j, k, c + channels * n)))
            for c in range(channels)
            for tz, k in z.taps(plane)
            for ty, j in y.taps(row)
            for tx, i in x.taps(column)
        )

    return Tensor(ident, "f32", (x.out, y.out, z.out, outputs * n_volumes), [a, b], at)


def col2im_1d(ident, a, stride, padding, channels):
    """Elements of leafs have few digits, so sums of some are exact in F32."""
    k, n = a.ne[0] // channels, a.ne[1]

    def at(index):
        x, channel, _, _ = index
        total = 0.0
        for t, j in sources(n, k, stride, padding, 1, x):
            total += a.get((t + k * channel, j, 0, 0))[0]
        return convert(total, 0.0, a.dtype)

    return Tensor(ident, a.dtype, ((n - 1) * stride + k - 2 * padding, channels), [a], at)


BY_NAME = {f.__name__: f for f in (upscale, pool_1d, pool_2d, im2col, conv_1d, conv_2d, conv_1d_dw, conv_2d_dw, conv_transpose_1d, conv_transpose_2d)}
def ssm_conv(ident, a, kernel, state=None, bias=None, silu=0):
    k, before = kernel.ne[0], state.ne[0] if state else 0
    tokens = a.ne[0] + before - (k - 1)

    def element(i, channel, n):
        return state.get((i, channel, n, 0)) if i < before else a.get((i - before, channel, n, 0))

    def at(index):
        channel, t, n, _ = index
        value, bound = summed((kernel.get((j, channel, 0, 0)), element(t + j, channel, n)) for j in range(k))
        if bias:
            value += bias.get((channel, 0, 0, 0))[0]
            bound += U * (abs(value) + bound)
        if not silu or not math.isfinite(value):
            return value, bound
        # silu's derivative is at most 1.1.
        value = value / (1 + math.exp(-value)) if value > -700 else 0.0
        return value, 1.1 * bound + 1e-6 * abs(value) + TINY["f32"]

    return Tensor(ident, "f32", (kernel.ne[1], tokens, a.ne[2]), [t for t in (a, kernel, state, bias) if t], at)


BY_NAME.update(ssm_conv=ssm_conv)
BY_NAME.update(im2col_3d=im2col_3d, conv_3d=conv_3d, col2im_1d=col2im_1d)
