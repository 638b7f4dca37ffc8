"""Operations that move elements, in plain Python: which element of an operand each of the result's is, or that it is 0."""

from .tensors import Tensor

ZERO = (0.0, 0.0)


def repeat(ident, a, ne):
    assert all(n == m == 0 or m and n % m == 0 for n, m in zip(ne, a.ne)), ident
    return Tensor(ident, a.dtype, ne, [a], lambda index: a.get(tuple(i % n for i, n in zip(index, a.ne))))


def concat(ident, a, b, dim):
    assert all(n == m or d == dim for d, (n, m) in enumerate(zip(a.ne, b.ne))), ident

    def at(index):
        if index[dim] < a.ne[dim]:
            return a.get(index)
        return b.get(tuple(i - a.ne[dim] if d == dim else i for d, i in enumerate(index)))

    return Tensor(ident, a.dtype, [n + (b.ne[dim] if d == dim else 0) for d, n in enumerate(a.ne)], [a, b], at)


def pad(ident, a, p):
    def at(index):
        return a.get(index) if all(i < n for i, n in zip(index, a.ne)) else ZERO

    return Tensor(ident, a.dtype, [n + more for n, more in zip(a.ne, p)], [a], at)


def pad_reflect_1d(ident, a, p0, p1):
    assert max(p0, p1) < a.ne[0], ident

    def at(index):
        i = index[0] - p0
        i = -i if i < 0 else 2 * (a.ne[0] - 1) - i if i >= a.ne[0] else i
        return a.get((i, *index[1:]))

    return Tensor(ident, a.dtype, (a.ne[0] + p0 + p1, *a.ne[1:]), [a], at)


def roll(ident, a, shift):
    return Tensor(ident, a.dtype, a.ne, [a], lambda index: a.get(tuple((i - s) % n for i, s, n in zip(index, shift, a.ne))))


BY_NAME = {f.__name__: f for f in (repeat, concat, pad, pad_reflect_1d, roll)}
