"""Operations that reduce many elements to few, in plain Python: the oracle, as in tensors.py for the other operations.

A sum of n elements has the errors of its elements and of rounding. An engine adds 1024 elements in at most 36 additions
each in F32, whose bound is gamma_36 of the sum of the magnitudes. It adds these sums in F64, where errors stay below a
2^-24th, and rounds the result once: gamma_38 in all. A running sum adds all elements before each 1024 in the same way,
rounds the sum, and adds the elements after that in fewer additions: gamma_39. A mean is rounded after its division.
"""

import itertools
import math

from .numbers import INTEGERS, TINY, UNIT
from .tensors import Tensor, mul_mat, permute
from .wide import wrapped

U = UNIT["f32"]


def gamma(k):
    return k * U / (1 - k * U)


def total(elements, roundings):
    """The sum of (value, error) pairs, with its bound."""
    value = math.fsum(v for v, _ in elements) if all(math.isfinite(v) for v, _ in elements) else sum(v for v, _ in elements)
    size = sum(abs(v) + e for v, e in elements)
    assert not math.isfinite(size) or size < 2.0**127, "partial sums could overflow: no order-free answer"
    return value, sum(e for _, e in elements) + (gamma(roundings) * size if math.isfinite(size) else 0.0)


def grouped(ident, a, dims, keep, reduce, dtype="f32"):
    """What `reduce` makes of the elements of each group; each has the elements over the dimensions `dims`, or over all."""
    dims = [dims] if isinstance(dims, int) else sorted(dims) or range(4)
    kept = [d for d in range(4) if d not in dims]
    shape = [1 if d in dims else a.ne[d] for d in range(4)] if keep else [a.ne[d] for d in kept] or [1]

    def at(index):
        place = dict(zip(kept, (index[d] for d in kept) if keep else index))
        counted = itertools.product(*(range(a.ne[d]) for d in reversed(dims)))
        return reduce([a.get(tuple({**place, **dict(zip(reversed(dims), each))}[d] for d in range(4))) for each in counted])

    return Tensor(ident, dtype, shape, [a], at)


def type_of(a, whole="f64"):
    """The type of a result that is computed in floats; `whole` if a has integers."""
    return "f32" if a.dtype in ("f32", "f16", "bf16") else whole if a.dtype in INTEGERS else a.dtype


def rounded(value, error=0.0):
    return value, error + (U * abs(value) + TINY["f32"] if math.isfinite(value) else 0.0)


def sum_of(ident, a, dims=(), keep=0):
    def of(elements):
        if a.dtype in INTEGERS or a.dtype == "f64":
            value, error = total(elements, 0)
            return (value, error) if a.dtype in INTEGERS else rounded(value, error)
        return total(elements, 38)

    return grouped(ident, a, dims, keep, of, type_of(a, "i64"))


def sum_rows(ident, a):
    return sum_of(ident, a, 0, 1)


def mean(ident, a, dims=(), keep=0):
    def of(elements):
        if not elements:
            return math.nan, 0.0
        value, error = total(elements, 38)
        return rounded(value / len(elements), error / len(elements))

    return grouped(ident, a, dims, keep, of, type_of(a))


def extreme(sign):
    """NaN if there is one; 0 is larger than -0. An error changes no order by more than itself."""

    def made(ident, a, dims=(), keep=0):
        def of(elements):
            if any(math.isnan(v) for v, _ in elements):
                return math.nan, 0.0
            best = max((v for v, _ in elements), key=lambda v: (sign * v, sign * math.copysign(1, v)))
            return best, max(e for _, e in elements)

        return grouped(ident, a, dims, keep, of, type_of(a, a.dtype))

    return made


def place_of(sign):
    """The first of the best elements, without NaN; 0 if there is no other."""

    def made(ident, a, dims=(), keep=0):
        def of(elements):
            assert not any(e for _, e in elements), "an order of what is not exact"
            numbers = [(-sign * v, i) for i, (v, _) in enumerate(elements) if not math.isnan(v)]
            return (float(min(numbers)[1]) if numbers else 0.0), 0.0

        return grouped(ident, a, dims, keep, of, "i32")

    return made


def variance(elements, correction):
    """The squares and the distances of a block have some 41 roundings, and a block's mean 38 of its elements' distances, which
    changes the squares between blocks by as much. A block's float centre is off by 40 roundings of its elements."""
    values = [v for v, _ in elements]
    n, divisor = len(values), max(len(values) - correction, 0)
    if n == 0 or not all(map(math.isfinite, values)):
        return math.nan, 0.0
    centre = math.fsum(values) / n
    squares = math.fsum((v - centre) ** 2 for v in values)
    if divisor == 0:
        return (math.inf if squares > 0 else math.nan), 0.0
    carried = sum(2 * abs(v - centre) * e + e * e for v, e in elements)
    off = gamma(40) * max(abs(v) + e for v, e in elements)
    return squares / divisor, (gamma(100) * squares + carried + n * off * off) / divisor


def var(ident, a, correction, dims=(), keep=0):
    return grouped(ident, a, dims, keep, lambda elements: rounded(*variance(elements, correction)), type_of(a))


def std(ident, a, correction, dims=(), keep=0):
    def of(elements):
        value, error = variance(elements, correction)
        if not math.isfinite(value):
            return value, 0.0
        root = math.sqrt(value)
        off = max(math.sqrt(value + error) - root, root - math.sqrt(max(value - error, 0.0)))
        return rounded(root, off)

    return grouped(ident, a, dims, keep, of, type_of(a))


def prod(ident, a, dims=(), keep=0):
    def of(elements):
        value, low, high = 1.0, 1.0, 1.0
        for v, e in elements:
            value, low, high = value * v, low * max(abs(v) - e, 0.0), high * (abs(v) + e)
        return rounded(value, 1e-9 * abs(value) + (high - low if high > low else 0.0)) if math.isfinite(value) else (value, 0.0)

    return grouped(ident, a, dims, keep, of, type_of(a, "i64"))


def tested(any_of):
    def made(ident, a, dims=(), keep=0):
        def of(elements):
            assert not any(e and abs(v) <= e for v, e in elements), "a test of what is not exact"
            return float((any if any_of else all)(v != 0 for v, _ in elements)), 0.0

        return grouped(ident, a, dims, keep, of, "bool" if a.dtype == "bool" else "f32")

    return made


def log_sum_exp(ident, a, dims=(), keep=0):
    """An exponential of d is off by d u and 2 units in the last place."""

    def of(elements):
        values = [v for v, _ in elements]
        if any(map(math.isnan, values)):
            return math.nan, 0.0
        largest = max(values, default=-math.inf)
        if math.isinf(largest):
            return largest, 0.0
        powers = [math.exp(v - largest) for v in values]
        size = math.fsum(powers)
        off = sum(p * (abs(v - largest) * U + 4 * U + e) for p, (v, e) in zip(powers, elements) if p)
        return rounded(largest + math.log(size), gamma(38) + 1.01 * off / size)

    return grouped(ident, a, dims, keep, of, type_of(a))


def cumsum(ident, a):
    """Sums in F64 are rounded at most once for each element, and once for the sum before them."""
    dtype = type_of(a, "i64")

    def at(index):
        elements = a.line(index[1:])[: index[0] + 1]
        if dtype == "f32":
            return total(elements, 39)
        if dtype == "i64":
            return wrapped(sum(int(v) for v, _ in elements), "i64"), 0.0
        value, error = total(elements, 0)
        return value, error + 2.0**-52 * len(elements) * sum(abs(v) for v, _ in elements) if math.isfinite(value) else 0.0

    return Tensor(ident, dtype, a.ne, [a], at)


def rank(descends):
    """What sorted() orders the elements of a row by: NaN comes last, equal ones stay in their order."""
    return lambda value: (math.isnan(value), 0.0 if math.isnan(value) else -value if descends else value)


def places(a, rest, descends):
    values = [v for v, e in a.line(rest) if not e]
    assert len(values) == a.ne[0], "an order of what is not exact"
    return sorted(range(a.ne[0]), key=lambda i: rank(descends)(values[i]))


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


OPS = {"sum": sum_of, "sum_rows": sum_rows, "mean": mean, "cumsum": cumsum, "cross_entropy_loss": cross_entropy_loss}
OPS.update({"max": extreme(1), "min": extreme(-1), "argmax": place_of(1), "argmin": place_of(-1), "var": var, "std": std, "prod": prod})
OPS.update({"any": tested(True), "all": tested(False), "log_sum_exp": log_sum_exp, "argsort": argsort, "top_k": top_k})
OPS.update({"count_equal": count_equal, "out_prod": out_prod, "out_prod_id": out_prod_id})
