"""Operations that reduce many elements to few, in plain Python: the oracle, as in tensors.py for the other operations.

A sum of n elements has the errors of its elements and of rounding. An engine adds 1024 elements in at most 36 additions
each in F32, whose bound is gamma_36 of the sum of the magnitudes. It adds these sums in F64, where errors stay below a
2^-24th, and rounds the result once: gamma_38 in all. A running sum adds all elements before each 1024 in the same way,
rounds the sum, and adds the elements after that in fewer additions: gamma_39. A mean is rounded after its division.
"""

import math

from .numbers import TINY, UNIT
from .tensors import Tensor, mul_mat, permute

U = UNIT["f32"]


def gamma(k):
    return k * U / (1 - k * U)


def total(elements, roundings):
    """The sum of (value, error) pairs, with its bound."""
    value = math.fsum(v for v, _ in elements) if all(math.isfinite(v) for v, _ in elements) else sum(v for v, _ in elements)
    size = sum(abs(v) + e for v, e in elements)
    assert not math.isfinite(size) or size < 2.0**127, "partial sums could overflow: no order-free answer"
    return value, sum(e for _, e in elements) + (gamma(roundings) * size if math.isfinite(size) else 0.0)


def all_summed(ident, a):
    return Tensor(ident, "f32", (1,), [a], lambda _: total([a.get(i) for i in a.indices()], 38))


def sum_rows(ident, a):
    return Tensor(ident, "f32", (1, *a.ne[1:]), [a], lambda index: total(a.line(index[1:]), 38))


def mean(ident, a):
    n = a.ne[0]

    def at(index):
        if n == 0:
            return math.nan, 0.0
        value, error = total(a.line(index[1:]), 38)
        return value / n, error / n + (U * abs(value / n) + TINY["f32"] if math.isfinite(value) else 0.0)

    return Tensor(ident, "f32", (1, *a.ne[1:]), [a], at)


def cumsum(ident, a):
    return Tensor(ident, "f32", a.ne, [a], lambda index: total(a.line(index[1:])[: index[0] + 1], 39))


def rank(descends):
    """What sorted() orders the elements of a row by: NaN comes last, equal ones stay in their order."""
    return lambda value: (math.isnan(value), 0.0 if math.isnan(value) else -value if descends else value)


def places(a, rest, descends):
    values = [v for v, e in a.line(rest) if not e]
    assert len(values) == a.ne[0], "an order of what is not exact"
    return sorted(range(a.ne[0]), key=lambda i: rank(descends)(values[i]))


def argmax(ident, a):
    return Tensor(ident, "i32", a.ne[1:], [a], lambda index: (float(places(a, index[:3], True)[0]), 0.0))


def argsort(ident, a, order="asc"):
    return Tensor(ident, "i32", a.ne, [a], lambda index: (float(places(a, index[1:], order == "desc")[index[0]]), 0.0))


def top_k(ident, a, k):
    return Tensor(ident, "i32", (k, *a.ne[1:]), [a], lambda index: (float(places(a, index[1:], True)[index[0]]), 0.0))


def count_equal(ident, a, b):
    assert a.ne == b.ne and a.dtype == b.dtype, ident
    return Tensor(ident, "i64", (1,), [a, b], lambda _: (float(sum(a.get(i)[0] == b.get(i)[0] for i in a.indices())), 0.0))


def cross_entropy_loss(ident, a, b):
    """-sum of b log(soft_max(a)), as a sum of b (m - a) and one of b log(sum of e^(a - m)), m the largest a. An exponential of
    d is off by d u and 2 units in the last place, sums and products as above."""

    def row(rest):
        x, w = [v for v, _ in a.line(rest)], [v for v, _ in b.line(rest)]
        assert not any(e for _, e in a.line(rest) + b.line(rest)), ident
        if any(map(math.isnan, x + w)):
            return math.nan, 0.0
        m = max(x, default=0.0)
        if math.isinf(m):
            return (math.nan if any(w) else 0.0), 0.0
        d = [v - m for v in x]
        powers = sum(map(math.exp, d))
        off = sum(math.exp(v) * (abs(v) * U + 4 * U) for v in d if math.isfinite(v)) / powers if powers else 0.0
        terms = [-wi * di for wi, di in zip(w, d) if wi]
        if any(map(math.isinf, terms)):
            return math.inf, 0.0
        size, log_sum = sum(map(abs, w)), math.log(powers) if powers else 0.0
        error = size * (gamma(38) + 1.01 * off) + gamma(38) * (size * abs(log_sum) + 2 * sum(map(abs, terms)))
        return sum(terms) + sum(w) * log_sum, error

    def at(_):
        rows = [row((i1, i2, i3)) for i3 in range(a.ne[3]) for i2 in range(a.ne[2]) for i1 in range(a.ne[1])]
        if not rows:
            return math.nan, 0.0
        value, error = sum(v for v, _ in rows) / len(rows), sum(e for _, e in rows) / len(rows)
        return value, error + U * abs(value) + TINY["f32"] if math.isfinite(value) else 0.0

    assert a.ne == b.ne, ident
    return Tensor(ident, "f32", (1,), [a, b], at)


def out_prod(ident, a, b):
    """The product of both operands transposed, of which none is rounded."""
    made = mul_mat(ident, permute(ident, a, (1, 0, 2, 3)), permute(ident, b, (1, 0, 2, 3)), exact=True)
    made.src = [a, b]
    return made


def out_prod_id(ident, a, b, ids, experts):
    """Sums of n products in F32: off by gamma_n of their magnitudes, and a subnormal step each."""

    def at(index):
        n, m, expert, _ = index
        slots = [(u, t) for t in range(ids.ne[1]) for u in range(ids.ne[0]) if int(ids.get((u, t, 0, 0))[0]) == expert]
        value = size = carried = 0.0
        for u, t in slots:
            (x, ex), (y, ey) = a.get((n, u % a.ne[1], t, 0)), b.get((m, u, t, 0))
            value += x * y
            size += (abs(x) + ex) * (abs(y) + ey)
            carried += abs(x) * ey + ex * abs(y) + ex * ey
        rounding = gamma(len(slots)) * size + len(slots) * TINY["f32"] if math.isfinite(size) else 0.0
        return value, rounding + (carried if math.isfinite(carried) else 0.0)

    return Tensor(ident, "f32", (a.ne[0], b.ne[0], experts, 1), [a, b, ids], at)


OPS = {"sum": all_summed, "sum_rows": sum_rows, "mean": mean, "cumsum": cumsum, "cross_entropy_loss": cross_entropy_loss}
OPS.update({"argmax": argmax, "argsort": argsort, "top_k": top_k, "count_equal": count_equal, "out_prod": out_prod, "out_prod_id": out_prod_id})
