"""Operations that move elements, in plain Python: each element of the result is an element of an operand, or 0."""

import math

from .formats import FORMATS
from .numbers import ROUND, SIZE
from .tensors import Tensor, contiguous, convert
from .wide import wrapped

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


def pad(ident, a, p, lp=(0, 0, 0, 0), circular=False):
    def at(index):
        place = [i - before for i, before in zip(index, lp)]
        if circular:
            place = [i % n for i, n in zip(place, a.ne)]
        return a.get(tuple(place)) if all(0 <= i < n for i, n in zip(place, a.ne)) else ZERO

    return Tensor(ident, a.dtype, [before + n + behind for before, n, behind in zip(lp, a.ne, p)], [a], at)


def pad_reflect_1d(ident, a, p0, p1):
    assert max(p0, p1) < a.ne[0], ident

    def at(index):
        i = index[0] - p0
        i = -i if i < 0 else 2 * (a.ne[0] - 1) - i if i >= a.ne[0] else i
        return a.get((i, *index[1:]))

    return Tensor(ident, a.dtype, (a.ne[0] + p0 + p1, *a.ne[1:]), [a], at)


def roll(ident, a, shift):
    return Tensor(ident, a.dtype, a.ne, [a], lambda index: a.get(tuple((i - s) % n for i, s, n in zip(index, shift, a.ne))))


def diag(ident, a):
    assert a.ne[1] == 1, ident
    at = lambda i: a.get((i[0], 0, i[2], i[3])) if i[0] == i[1] else ZERO  # noqa: E731
    return Tensor(ident, a.dtype, (a.ne[0], a.ne[0], *a.ne[2:]), [a], at)


TRIANGLES = {
    "lower": lambda x, y: x < y,
    "lower_diag": lambda x, y: x <= y,
    "upper": lambda x, y: x > y,
    "upper_diag": lambda x, y: x >= y,
}


def tri(ident, a, type):
    return Tensor(ident, a.dtype, a.ne, [a], lambda i: a.get(i) if TRIANGLES[type](i[0], i[1]) else ZERO)


def diag_mask_inf(ident, a, n_past, masked=(float("-inf"), 0.0)):
    return Tensor(ident, a.dtype, a.ne, [a], lambda i: masked if i[0] > n_past + i[1] else a.get(i))


def diag_mask_zero(ident, a, n_past):
    return diag_mask_inf(ident, a, n_past, ZERO)


def in_window(ident, a, b, both, nb1=0, nb2=0, nb3=0, offset=0):
    """a, but both(a's element, b's) where b's elements lie: nb and offset are bytes, of a format with blocks whole ones."""
    per_block, size = FORMATS[a.dtype][:2] if a.dtype in FORMATS else (1, SIZE[a.dtype])
    own = contiguous(a.ne)
    nb = [1] + [given * per_block // size if given else own[d] for d, given in enumerate((nb1, nb2, nb3), 1)]
    first = offset * per_block // size
    places = {first + sum(i * s for i, s in zip(index, nb)): index for index in b.indices()}
    assert len(places) == b.n_elements() and all(place < a.n_elements() for place in places), ident

    def at(index):
        place = sum(i * s for i, s in zip(index, own))
        return both(a.get(index), b.get(places[place])) if place in places else a.get(index)

    return Tensor(ident, a.dtype, a.ne, [a, b], at)


def set_(ident, a, b, **window):
    return in_window(ident, a, b, lambda x, y: y, **window)


def acc(ident, a, b, **window):
    """Sums of elements are exact in F32 where these have few digits, as those of leafs: so they are rounded once, to a's type."""
    return in_window(ident, a, b, lambda x, y: convert(x[0] + y[0], 0.0, a.dtype), **window)


def gather(ident, a, indices, dim):
    assert all(n <= m or d == dim for d, (n, m) in enumerate(zip(indices.ne, a.ne))), ident

    def at(index):
        taken = int(indices.get(index)[0])
        return a.get(tuple(taken if d == dim else i for d, i in enumerate(index)))

    return Tensor(ident, a.dtype, indices.ne, [a, indices], at)


def add_id(ident, a, b, ids):
    """Sums are rounded once, as acc's."""
    assert a.ne[0] == b.ne[0] and a.ne[1:3] == ids.ne[:2] and a.ne[3] == 1, ident

    def at(index):
        i, u, t, _ = index
        added = b.get((i, int(ids.get((u, t, 0, 0))[0]), 0, 0))
        return convert(a.get(index)[0] + added[0], 0.0, a.dtype)

    return Tensor(ident, a.dtype, a.ne, [a, b, ids], at)


def scatter_add(ident, a, b, indices, dim):
    """Sums of elements that have few digits are exact in F32 and F64, in any order. Integers wrap around."""
    assert all(n <= m or d == dim for d, (n, m) in enumerate(zip(b.ne, a.ne))), ident

    def at(index):
        exact = int if a.dtype in ("i32", "i64") else float
        total = exact(a.get(index)[0])
        for j in range(b.ne[dim]):
            i = tuple(j if d == dim else x for d, x in enumerate(index))
            if all(x < n for x, n in zip(i, b.ne)) and int(indices.get(tuple(x % n for x, n in zip(i, indices.ne)))[0]) == index[dim]:
                total += exact(b.get(i)[0])
        return (wrapped(total, a.dtype), 0.0) if a.dtype in ("i32", "i64") else convert(total, 0.0, a.dtype)

    return Tensor(ident, a.dtype, a.ne, [a, b, indices], at)


def arange(ident, start, stop, step):
    n = math.ceil((stop - start) / step)
    return Tensor(ident, "f32", (n,), [], lambda index: (ROUND["f32"](start + index[0] * step), 0.0))


def win_part(ident, a, w):
    across, down = -(-a.ne[1] // w), -(-a.ne[2] // w)

    def at(index):
        i, x, y, window = index
        p, q, n = window % across, window // across % down, window // (across * down)
        place = (i, p * w + x, q * w + y, n)
        return a.get(place) if place[1] < a.ne[1] and place[2] < a.ne[2] else ZERO

    return Tensor(ident, a.dtype, (a.ne[0], w, w, across * down * a.ne[3]), [a], at)


def win_unpart(ident, a, w0, h0, w):
    across, down = -(-w0 // w), -(-h0 // w)
    assert a.ne[1] == a.ne[2] == w and a.ne[3] % (across * down) == 0, ident

    def at(index):
        i, x, y, n = index
        return a.get((i, x % w, y % w, x // w + across * (y // w) + across * down * n))

    return Tensor(ident, a.dtype, (a.ne[0], w0, h0, a.ne[3] // (across * down)), [a], at)


def get_rel_pos(ident, a, qh, kh):
    assert a.ne[1] == qh + kh - 1, ident
    return Tensor(ident, a.dtype, (a.ne[0], kh, qh), [a], lambda index: a.get((index[0], index[2] - index[1] + kh - 1, 0, 0)))


def add_rel_pos(ident, a, pw, ph):
    """Sums of elements are exact in F32, as acc's, and each is rounded to a's type."""

    def at(index):
        k, i, n, _ = index
        x, y, qx, qy = k % pw.ne[0], k // pw.ne[0], i % pw.ne[1], i // pw.ne[1]
        first = convert(a.get(index)[0] + pw.get((x, qx, qy, n))[0], 0.0, a.dtype)
        return convert(first[0] + ph.get((y, qx, qy, n))[0], first[1], a.dtype)

    return Tensor(ident, a.dtype, a.ne, [a, pw, ph], at)


BY_NAME = {f.__name__.rstrip("_"): f for f in (repeat, concat, pad, pad_reflect_1d, roll, diag, tri, diag_mask_inf, diag_mask_zero, acc, set_, win_part, win_unpart)}


def of_one_rank(ident, a, **_):
    """What a group of one rank gives that rank: its own tensor."""
    return Tensor(ident, a.dtype, a.ne, [a], a.get)


BY_NAME.update({op: of_one_rank for op in ("all_sum", "all_max", "all_gather", "sum_scatter", "broadcast", "all_to_all", "send", "copy_to_group")})
BY_NAME.update(gather=gather, scatter_add=scatter_add, add_id=add_id, arange=arange, get_rel_pos=get_rel_pos, add_rel_pos=add_rel_pos)
