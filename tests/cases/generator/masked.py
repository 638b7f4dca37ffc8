"""Sparse products in plain Python: only the neurons that a rule calls active take part. A result without active neurons is exactly 0; all
others have the bounds of tensors.py: axpy's sums have as many terms as there are neurons, and one partial sum for each 128 of them."""

import math

from . import tensors
from .formulas import Formula
from .numbers import ROUND, TINY


def is_active(value, by, threshold, of_itself=False):
    """By the value and its bound, which may not leave it open."""
    s, error = value
    if math.isnan(s):
        return of_itself
    t = ROUND["f32"](threshold)
    assert error == 0 or by == "positive" and abs(s) > error or by != "positive" and abs((abs(s) if by == "magnitude" else s) - t) > error
    return s > 0 if by == "positive" else (abs(s) if by == "magnitude" else s) >= t


def places_of(rows, n):
    """The row of the weights that a neuron has, none where it has none."""
    if rows is None:
        return {i: i for i in range(n)}
    return {int(rows.get((i, 0, 0, 0))[0]): i for i in range(rows.ne[0])}


def mul_mat_sparse(ident, a, b, scores, rows, by="score", threshold=0.0, n=0, exact=False):
    n = scores.ne[0] if scores else n
    places, dot = places_of(rows, n), tensors.dot_products(a, b, exact)

    def at(index):
        i, t, _, _ = index
        if i not in places or scores and not is_active(scores.get((i, t, 0, 0)), by, threshold):
            return 0.0, 0.0
        return dot((places[i], 0, 0), (t, 0, 0))

    return tensors.Tensor(ident, "f32", (n, b.ne[1], 1, 1), [x for x in (a, b, scores, rows) if x], at)


def weighted_sum(terms, n):
    """The sum of weights times elements, each with its bound, n neurons' at most."""
    total = size = carried = 0.0
    for (w, ew), (x, ex) in terms:
        total += w * x
        size += (abs(w) + ew) * (abs(x) + ex)
        carried += abs(w) * ex + ew * abs(x) + ew * ex
    return total, tensors.gamma(n + n // 128 + 2) * size + carried + n * TINY["f32"] if terms else 0.0


def axpy(ident, a_t, h, scores, rows, by="score", threshold=0.0):
    n = h.ne[0]
    places = places_of(rows, n)

    def at(index):
        k, t, _, _ = index
        terms = []
        for i, place in places.items():
            weight = h.get((i, t, 0, 0))
            tested = scores.get((i, t, 0, 0)) if scores else weight
            if is_active(tested, by, threshold, scores is None) and weight[0] != 0:
                terms.append((weight, a_t.get((k, place, 0, 0))))
        return weighted_sum(terms, n)

    return tensors.Tensor(ident, "f32", (a_t.ne[0], h.ne[1], 1, 1), [x for x in (a_t, h, scores, rows) if x], at)


def times(x, y):
    """A product of two floats that are off, rounded once."""
    size = (abs(x[0]) + x[1]) * (abs(y[0]) + y[1])
    value = x[0] * y[0]
    return value, abs(x[0]) * y[1] + x[1] * abs(y[0]) + x[1] * y[1] + size * 2.0**-23 + TINY["f32"] if math.isfinite(size) else 0.0


def is_open(found, by, threshold):
    """Whether the bound of what is tested leaves it open if it is active."""
    s, error = found
    if math.isnan(s) or error == 0:
        return False
    return abs((abs(s) if by == "magnitude" else s) - (0.0 if by == "positive" else ROUND["f32"](threshold))) <= error


def sparse_ffn(ident, x, gate, up, down_t, scores, rows, activation="relu", by="score", threshold=0.0, first="gate"):
    n = scores.ne[0] if scores else gate.ne[1]
    places = places_of(rows, n)
    dots = [tensors.dot_products(matrix, x, exact=False) for matrix in (gate, up)]
    known = {}

    def neurons(t):
        """Of a token: what each active neuron's row is multiplied by, its row, and whether it may as well be none."""
        if t not in known:
            known[t] = []
            for i, place in places.items():
                g, u = (dot((place, 0, 0), (t, 0, 0)) for dot in dots)
                a = Formula(activation, {}).at([g])
                tested = scores.get((i, t, 0, 0)) if scores else u if first == "up" else a
                maybe = is_open(tested, by, threshold)
                if maybe or is_active(tested, by, threshold, scores is None):
                    known[t].append((times(a, u), place, maybe))
        return known[t]

    def at(index):
        j, t, _, _ = index
        terms = [(z, down_t.get((j, place, 0, 0)), maybe) for z, place, maybe in neurons(t)]
        total, bound = weighted_sum([term[:2] for term in terms if term[0] != (0.0, 0.0)], n)
        return total, bound + sum((abs(z) + ez) * (abs(w) + ew) for (z, ez), (w, ew), maybe in terms if maybe)

    return tensors.Tensor(ident, "f32", (down_t.ne[0], x.ne[1], 1, 1), [s for s in (x, gate, up, down_t, scores, rows) if s], at)


BY_NAME = {"mul_mat_sparse": mul_mat_sparse, "axpy": axpy, "sparse_ffn": sparse_ffn}
