"""Operations that change shapes, select, join and name dimensions, in plain Python: each element of the result is an element of an
operand, a number, or a sum of products."""

from itertools import product as every_combination
from math import cos, log, prod, sin

from .numbers import ROUND
from .tensors import Tensor

ONE, ZERO = (1.0, 0.0), (0.0, 0.0)
FLAT = {"q4_0", "q8_0"}


def expand(ident, a, ne):
    return Tensor(ident, a.dtype, ne, [a], lambda index: a.get(tuple(0 if n == 1 else i for i, n in zip(index, a.ne))))


def unsqueeze(ident, a, dim):
    ne = (*a.ne[:dim], 1, *a.ne[dim:3])
    return Tensor(ident, a.dtype, ne, [a], lambda index: a.get((*index[:dim], *index[dim + 1 :], 0)))


def without(index, dim, at):
    return (*index[:dim], at, *index[dim:3])


def squeeze(ident, a, dim):
    assert a.ne[dim] == 1, ident
    return select(ident, a, dim, 0)


def select(ident, a, dim, index):
    at = index % a.ne[dim]
    return Tensor(ident, a.dtype, (*a.ne[:dim], *a.ne[dim + 1 :], 1), [a], lambda i: a.get(without(i, dim, at)))


def flatten(ident, a, first, last):
    ne = (*a.ne[:first], prod(a.ne[first : last + 1]), *a.ne[last + 1 :])

    def at(index):
        rest, inner = index[first], []
        for n in a.ne[first : last + 1]:
            inner.append(rest % n)
            rest //= n
        return a.get((*index[:first], *inner, *index[first + 1 : 4 - len(inner) + 1]))

    return Tensor(ident, a.dtype, ne, [a], at)


def index(ident, a, begin, end, dropped):
    """As tl_index(): the last element of a dimension is -1, and its end None."""
    bounds = [(0, n) for n in a.ne]
    for d, (b, e) in enumerate(zip(begin, end)):
        n = a.ne[d]
        b, e = b + (n if b < 0 else 0), n if e is None else e + (n if e < 0 else 0)
        bounds[d] = (b, b + 1) if d in dropped else (b, e)
    kept = [d for d in range(4) if d not in dropped]

    def at(i):
        place = [b for b, _ in bounds]
        for d, x in zip(kept, i):
            place[d] += x
        return a.get(tuple(place))

    return Tensor(ident, a.dtype, [bounds[d][1] - bounds[d][0] for d in kept], [a], at)


def flip(ident, a, dim):
    return Tensor(ident, a.dtype, a.ne, [a], lambda i: a.get(tuple(n - 1 - x if d == dim else x for d, (x, n) in enumerate(zip(i, a.ne)))))


def index_select(ident, a, indices, dim):
    ne = tuple(indices.ne[0] if d == dim else n for d, n in enumerate(a.ne))
    dtype = "f32" if a.dtype in FLAT else a.dtype
    return Tensor(ident, dtype, ne, [a, indices], lambda i: a.get(tuple(int(indices.get((x, 0, 0, 0))[0]) if d == dim else x for d, x in enumerate(i))))


def masked_fill(ident, a, mask, value):
    filled = (float(ROUND[a.dtype](value)) if a.dtype in ("f32", "f16", "bf16") else float(value), 0.0)

    def at(i):
        return filled if mask.get(tuple(x % n for x, n in zip(i, mask.ne)))[0] != 0 else a.get(i)

    return Tensor(ident, a.dtype, a.ne, [a, mask], at)


def one_hot(ident, indices, classes):
    return Tensor(ident, "f32", (classes, *indices.ne[:3]), [indices], lambda i: ONE if indices.get((*i[1:], 0))[0] == i[0] else ZERO)


def eye(ident, n):
    return Tensor(ident, "f32", (n, n), [], lambda i: ONE if i[0] == i[1] else ZERO)


def linspace(ident, start, stop, n):
    step = (stop - start) / (n - 1) if n > 1 else 0.0

    def at(i):
        value = start + i[0] * step
        return float(ROUND["f32"](value)), abs(value) * 2**-23 + 2**-149

    return Tensor(ident, "f32", (n,), [], at)


def timestep_embedding(ident, timesteps, dim, max_period):
    """A frequency is off by 2e-7 of itself: e^x by 1e-7, and x by a rounding of up to ln(max_period) / 2 ulp. The angle has a
    rounding more, and a cosine is within 2 ulp."""
    half = dim // 2

    def at(index):
        j, t, _, _ = index
        if j >= 2 * half:
            return ZERO
        angle = timesteps.get((t, 0, 0, 0))[0] * max_period ** -(j % half / half)
        value = (cos if j < half else sin)(angle)
        return value, abs(angle) * (log(max_period) * 2**-24 + 4e-7) + 2**-22

    return Tensor(ident, "f32", (dim, timesteps.ne[0]), [timesteps], at)


def cat(ident, *tensors, dim):
    first, places = tensors[0], []
    for t in tensors:
        places += [(t, i) for i in range(t.ne[dim])]

    def at(i):
        t, place = places[i[dim]]
        return t.get(tuple(place if d == dim else x for d, x in enumerate(i)))

    return Tensor(ident, first.dtype, [len(places) if d == dim else n for d, n in enumerate(first.ne)], tensors, at)


def stack(ident, *tensors, dim):
    ne = tensors[0].ne
    return Tensor(
        ident, tensors[0].dtype, (*ne[:dim], len(tensors), *ne[dim:3]), tensors, lambda i: tensors[i[dim]].get((*i[:dim], *i[dim + 1 :], 0))
    )


def einsum(ident, *tensors, equation):
    """By the definition: for each element of the result, the sum over all other letters of the product of all tensors. Each
    product of two rounds, and so does each sum, so the bound is that of a sum of as many terms with a factor more."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "->" not in equation:
        output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    extents = {c: t.ne[d] for term, t in zip(terms, tensors) for d, c in enumerate(term)}
    summed = [c for c in extents if c not in output]

    def at(i):
        total = size = 0.0
        for values in every_combination(*(range(extents[c]) for c in summed)):
            place = {**dict(zip(output, i)), **dict(zip(summed, values))}
            term = 1.0
            for letters, t in zip(terms, tensors):
                term *= t.get((*[place[c] for c in letters], 0, 0, 0, 0)[:4])[0]
            total += term
            size += abs(term)
        n = prod(extents[c] for c in summed) + len(tensors)
        return total, n * 2**-23 * size

    return Tensor(ident, "f32", [extents[c] for c in output], tensors, at)


BY_NAME = {
    f.__name__: f
    for f in (expand, unsqueeze, squeeze, select, flatten, index, flip, index_select, masked_fill, one_hot, eye, linspace, timestep_embedding, cat, stack, einsum)
}
