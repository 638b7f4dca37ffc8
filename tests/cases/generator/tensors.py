"""Tensors, views and operations in plain Python: the oracle.

Every element carries its value and a bound of the error that a correct engine may have made, so tolerances
follow from the chain of operations (model.py writes the largest bound of a case as its tolerance):

- Leafs, views, copies and additions of exact operands are exact: an engine that rounds once gives these bits.
- A dot product of k terms in F32, in any order, fused or not, is off by at most
  gamma_k * sum |a_i b_i| with gamma_k = k u / (1 - k u), u = 2^-24 (Higham, Accuracy and Stability of
  Numerical Algorithms, 3.1). For large k that worst case would hide real faults (k = 10000 lets 16 lost
  products through), so the bound for independent roundings is taken where it is smaller:
  exp(8 sqrt(k) u + k u^2 / (1 - u)) - 1, which fails with a chance below 2 k exp(-8^2 / 2) per element,
  2.5e-10 at k = 10000 (Higham, Mary: A new approach to probabilistic rounding error analysis, 2019).
  Products below 2^-126 lose up to 2^-150 more each.
- A product whose a is of a format with blocks may have rounded b to 8 bits, with a scale for each 256 elements of k,
  s = largest / 127: an element of b is then off by at most s / 2 = largest / 254. In F32 the inverse of s, the product
  with it and s itself are each off by up to 2 u, which is 4 u * 127 codes and 2 u of the largest more, below
  2^-12 of s / 2. One whose a is BF16 may have rounded b to BF16, by up to 2^-8 of an element, and may have taken
  what is below 2^-126 as zero. mul_mat_exact rounds no operand.
- An error that comes in is carried on: through products to first and second order, through sums as it is.
- Elementwise operations are in formulas.py, with their bounds.
"""

import math
from itertools import product

from . import attended, row_formulas
from .formats import FORMATS
from .formulas import Formula
from .numbers import INTEGERS, ROUND, SIZE, TINY, UNIT, element
from .rotations import Rotation

U = UNIT["f32"]


class Storage:
    """A leaf's or a node's elements, made when first asked for: only sampled positions of large results are."""

    def __init__(self, make):
        self.make = make
        self.known = {}

    def get(self, i):
        if i not in self.known:
            self.known[i] = self.make(i)
        return self.known[i]

    def set(self, i, value_and_error):
        self.known[i] = value_and_error


class Tensor:
    def __init__(self, ident, dtype, ne, src=(), op=None):
        self.ident, self.dtype, self.src, self.op = ident, dtype, list(src), op
        self.ne = tuple(ne) + (1,) * (4 - len(ne))
        self.nb = contiguous(self.ne)  # in elements
        self.offset = 0
        self.storage = None
        self.base = None  # the tensor whose storage a view looks at

    def n_elements(self):
        return math.prod(self.ne)

    def place(self, i):
        return self.offset + sum(x * s for x, s in zip(i, self.nb))

    def get(self, i):
        return self.root().storage.get(self.place(i))

    def line(self, rest):
        """The elements [0..ne[0], *rest]."""
        storage, start, step = self.root().storage, self.place((0, *rest)), self.nb[0]
        known = storage.known
        places = (start + i * step for i in range(self.ne[0]))
        return [known[place] if place in known else storage.get(place) for place in places]

    def root(self):
        t = self
        while t.base is not None:
            t = t.base
        return t

    def indices(self):
        for i3, i2, i1, i0 in product(*(range(n) for n in reversed(self.ne))):
            yield i0, i1, i2, i3

    def index(self, flat):
        out = []
        for n in self.ne:
            out.append(flat % n)
            flat //= n
        return tuple(out)

    def run(self):
        """Gives the node its elements; its sources have theirs."""
        if self.base is None and self.storage is None:
            self.storage = Storage(lambda flat: self.op(self.index(flat)))
            if self.n_elements() <= 4096:
                # Taken now, because later nodes may write into the leafs that this one reads.
                for flat in range(self.n_elements()):
                    self.storage.get(flat)
        elif self.op is not None:
            self.op()  # cpy, which writes into its base


def contiguous(ne):
    nb, step = [], 1
    for n in ne:
        nb.append(step)
        step *= n
    return tuple(nb)


def leaf(ident, dtype, ne, seed):
    t = Tensor(ident, dtype, ne)
    t.storage = Storage(lambda i: (element(seed, i, dtype), 0.0))
    return t


def view_of(ident, source, ne, nb, offset):
    t = Tensor(ident, source.dtype, ne, [source])
    t.base = source.root()
    t.nb, t.offset = tuple(nb), offset
    return t


def convert(value, error, dtype):
    """A value stored into another type: rounded where it is exact, else one rounding more in the bound."""
    if dtype in INTEGERS:
        assert error == 0.0, "a rounding to integers of what is not exact"
        if dtype == "bool":
            return float(value != 0), error
        return float(round(value)), error
    if error == 0.0 or not math.isfinite(value):
        return ROUND[dtype](value), error
    return value, error + UNIT[dtype] * (abs(value) + error) + TINY[dtype]


def stored(found, dtype):
    """A result in F32, whose rounding is in its bound, as the result's type has it."""
    if dtype == "f32":
        return found
    if math.isinf(ROUND[dtype](found[0])):
        return ROUND[dtype](found[0]), 0.0
    return convert(*found, dtype)


def broadcast_extent(extents, into):
    """The extent that a dimension's extents are broadcast to: that of operand `into`, or if it is 1, the first other one."""
    return next((n for n in (extents[into], *extents) if n != 1), 1)


def elementwise(ident, name, operands, into=0, attrs=()):
    """The operands are broadcast; the result has the type of one of them, by its place."""
    like, formula = operands[into], Formula(name, dict(attrs))
    dims = max(len(o.ne) for o in operands)
    shapes = [(*o.ne, *[1] * (dims - len(o.ne))) for o in operands]
    ne = tuple(broadcast_extent(extents, into) for extents in zip(*shapes))
    assert all(y == 0 and x == 0 or y != 0 and x % y == 0 for shape in shapes for x, y in zip(ne, shape)), ident

    def at(index):
        found = formula.at([o.get(tuple(i % n for i, n in zip(index, shape))) for o, shape in zip(operands, shapes)])
        return stored(found, like.dtype)

    return Tensor(ident, like.dtype, ne, operands, at)


def glu(ident, a, b, op, swapped=False, alpha=0, limit=0):
    half = a.ne[0] if b else a.ne[0] // 2
    formula = Formula(op, {"alpha": alpha or 1.702, "limit": limit or 7})

    def at(index):
        gate, up = a.get(index), b.get(index) if b else a.get((index[0] + half, *index[1:]))
        return stored(formula.at([up, gate] if swapped else [gate, up]), a.dtype)

    return Tensor(ident, a.dtype, (half, *a.ne[1:]), [a, b] if b else [a], at)


def gamma(k):
    worst = k * U / (1 - k * U)
    likely = math.expm1(8 * math.sqrt(k) * U + k * U * U / (1 - U))
    return min(worst, likely)


BYTES_SCALE, BYTES_LARGEST = 256, 127  # elements of b that share a scale, and the code of the largest
BYTES_SPAN = {"q2_0": 64, "q1_0": 128, "tq1_0": 256, "tq2_0": 256}  # elements that share a part of it, if not 32
BYTES_PARTS = 16  # the largest of a span counts for no less than this part of the largest that shares the scale


def dot_products(a, b, exact):
    """The dot product of a row of a (m, j2, j3) and one of b (n, i2, i3), with its bound, as a function of the two."""
    k = a.ne[0]
    rounded = a.dtype in FORMATS and not exact
    span = BYTES_SPAN.get(a.dtype, 32)
    known = {}  # of each column of b, by how much each span's elements may be off

    def roundings(column):
        if rounded and column not in known:
            sizes = [abs(y) + ey for y, ey in b.line(column)]
            known[column] = []
            for i in range(0, k, span):
                largest = max(sizes[i // BYTES_SCALE * BYTES_SCALE :][:BYTES_SCALE])
                part = max(max(sizes[i : i + span]), largest / BYTES_PARTS)
                known[column].append(min(part, largest / 2) / BYTES_LARGEST * (1 + 2.0**-12))
        return known.get(column, [0.0] * (k // span + 1))

    def dot(row, column):
        total = size = carried = 0.0
        off = roundings(column)
        for i, ((x, ex), (y, ey)) in enumerate(zip(a.line(row), b.line(column))):
            ey += off[i // span]
            if a.dtype == "bf16" and not exact:
                ey += abs(y) * 2.0**-8 + 2.0**-126
            total += x * y
            size += (abs(x) + ex) * (abs(y) + ey)
            carried += abs(x) * ey + ex * abs(y) + ex * ey
        assert not math.isfinite(size) or size < 2.0**127, "partial sums could overflow: no order-free answer"
        return total, gamma(k) * size + carried + k * TINY["f32"]

    return dot


class Rows:
    """Results that are computed by rows, or groups of elements: each once."""

    def __init__(self, compute, dtype):
        self.compute, self.dtype, self.known = compute, dtype, {}

    def at(self, key, i):
        if key not in self.known:
            self.known[key] = self.compute(key)
        return stored(self.known[key][i], self.dtype)


def exact_values(elements):
    assert all(error == 0 for _, error in elements), "of operands that are off nothing is said"
    return [value for value, _ in elements]


def by_row(ident, name, a, attrs):
    function, given = getattr(row_formulas, name), {key: ROUND["f64"](value) for key, value in attrs.items()}
    rows = Rows(lambda rest: function(exact_values(a.line(rest)), **given), a.dtype)
    return Tensor(ident, a.dtype, a.ne, [a], lambda index: rows.at(index[1:], index[0]))


def group_norm(ident, a, groups, eps):
    n0, n1, channels, _ = a.ne
    size = -(-channels // groups)

    def compute(key):
        group, i3 = key
        planes = [(i1, i2, i3) for i2 in range(group * size, min((group + 1) * size, channels)) for i1 in range(n1)]
        return row_formulas.norm([x for rest in planes for x in exact_values(a.line(rest))], eps)

    rows = Rows(compute, a.dtype)
    return Tensor(ident, a.dtype, a.ne, [a], lambda i: rows.at((i[2] // size, i[3]), i[0] + n0 * (i[1] + n1 * (i[2] % size))))


def soft_max_ext(ident, a, mask, sinks, scale, max_bias):
    def compute(rest):
        i1, head, i3 = rest
        masked = mask and exact_values(mask.line((i1, head % mask.ne[2], i3 % mask.ne[3])))
        factor = row_formulas.slope(head, a.ne[2], max_bias)
        sink = sinks.get((head, 0, 0, 0))[0] if sinks else None
        return row_formulas.weights(exact_values(a.line(rest)), ROUND["f32"](scale), masked, factor, sink)

    rows = Rows(compute, a.dtype)
    return Tensor(ident, a.dtype, a.ne, [t for t in (a, mask, sinks) if t], lambda index: rows.at(index[1:], index[0]))


def rope(ident, a, positions, factors, attrs):
    rotation = Rotation(a.ne[0], factors and exact_values(factors.line((0, 0, 0))), attrs)

    def at(index):
        i, *rest = index
        batch = rest[2] if positions.ne[1] > 1 else 0
        line = [a.get((j, *rest)) for j in range(a.ne[0])]
        found, bound = rotation.element(
            i, lambda j: line[j][0], lambda section: positions.get((rest[1] + a.ne[2] * section, batch, 0, 0))[0]
        )
        if not math.isfinite(found):
            return found, 0.0
        # What comes in is turned with its pair.
        if rotation.turns(i):
            bound += abs(rotation.size) * sum(line[j][1] for j in rotation.places(i)[1])
        return stored((found, bound), a.dtype) if rotation.turns(i) else line[i]

    return Tensor(ident, a.dtype, a.ne, [t for t in (a, positions, factors) if t], at)


def result(ident, a, number):
    """Number 0 is the tensor itself; recurrences.py keeps the others with the first."""
    if number == 0:
        return view_of(ident, a, a.ne, a.nb, a.offset)
    return a.further(ident, number)


def solve_tri(ident, a, b, lower, unit):
    """Each unknown's error: those of the ones before it times their coefficients, and a rounding of each product and sum, of the
    coefficients and of the quotient."""
    n = a.ne[0]
    solved = {}

    def column(i, i2, i3):
        if (i, i2, i3) not in solved:
            x = {}
            for r in range(n) if lower else reversed(range(n)):
                known = [k for k in (range(r) if lower else range(r + 1, n))]
                value, error = b.get((i, r, i2, i3))
                size = abs(value)
                for k in known:
                    (coefficient, off), (unknown, part) = a.get((k, r, i2, i3)), x[k]
                    value -= coefficient * unknown
                    size += abs(coefficient * unknown)
                    error += abs(coefficient) * part + off * (abs(unknown) + part)
                error += (len(known) + 1) * U * size
                if not unit:
                    pivot, off = a.get((r, r, i2, i3))
                    value /= pivot
                    error = error / abs(pivot) + abs(value) * (off / abs(pivot) * 1.01 + 2 * U)
                x[r] = value, error + TINY["f32"]
            solved[i, i2, i3] = x
        return solved[i, i2, i3]

    def at(index):
        i, r, i2, i3 = index
        value, error = column(i, i2, i3)[r]
        return (value, error * 1.01) if math.isfinite(value) else (value, 0.0)

    return Tensor(ident, "f32", b.ne, [a, b], at)


def flash_attn_ext(ident, q, k, v, mask, sinks, attrs):
    tokens, heads, batches = q.ne[1:]
    scale = ROUND["f32"](attrs.get("scale") or 1 / math.sqrt(q.ne[0]))
    rows = {}

    def lines(t, rest):
        return rows.setdefault((t.ident, rest), [exact_values(t.line((j, *rest))) for j in range(t.ne[1])])

    def compute(key):
        head, token, batch = key
        shared = (head // (heads // k.ne[2]), batch // (batches // k.ne[3]))
        masked = mask and exact_values(mask.line((token, head % mask.ne[2], batch % mask.ne[3])))
        sink = sinks.get((head, 0, 0, 0))[0] if sinks else None
        slope = row_formulas.slope(head, heads, attrs.get("max_bias", 0))
        x = attended.logits(exact_values(q.line((token, head, batch))), lines(k, shared), scale, attrs.get("logit_softcap", 0), masked, slope)
        return attended.mean(lines(v, shared), v.ne[0], *x, sink)

    found = Rows(compute, "f32")
    ne = (v.ne[0], heads, tokens, batches)
    return Tensor(ident, "f32", ne, [t for t in (q, k, v, mask, sinks) if t], lambda index: found.at(index[1:], index[0]))


def paged_attention(ident, q, k, v, pages, positions, sequences, sinks, attrs):
    tokens, heads = q.ne[1:3]
    scale, page, window = ROUND["f32"](attrs.get("scale") or 1 / math.sqrt(q.ne[0])), attrs.get("page", 64), attrs.get("window", 0)

    def compute(key):
        head, token, _ = key
        shared, (position, _), (sequence, _) = head // (heads // k.ne[1]), positions.get((token, 0, 0, 0)), sequences.get((token, 0, 0, 0))
        position, sequence = int(position), int(sequence)
        seen = range(max(0, position - window + 1) if window else 0, position + 1)
        at = [int(pages.get((j // page, sequence, 0, 0))[0]) * page + j % page for j in seen]
        sink = sinks.get((head, 0, 0, 0))[0] if sinks else None
        keys, values = ([exact_values(t.line((shared, row, 0))) for row in at] for t in (k, v))
        x = attended.logits(exact_values(q.line((token, head, 0))), keys, scale, attrs.get("logit_softcap", 0), None, 1)
        return attended.mean(values, v.ne[0], *x, sink)

    found = Rows(compute, "f32")
    operands = [t for t in (q, k, v, pages, positions, sequences, sinks) if t]
    return Tensor(ident, "f32", (v.ne[0], heads, tokens), operands, lambda index: found.at(index[1:], index[0]))


def mul_mat(ident, a, b, exact=False):
    assert a.ne[0] == b.ne[0], ident
    assert all(a.ne[d] and b.ne[d] % a.ne[d] == 0 or a.ne[d] == b.ne[d] == 0 for d in (2, 3)), ident
    dot = dot_products(a, b, exact)

    def at(index):
        m, n, i2, i3 = index
        return dot((m, i2 // (b.ne[2] // a.ne[2]), i3 // (b.ne[3] // a.ne[3])), (n, i2, i3))

    return Tensor(ident, "f32", (a.ne[1], b.ne[1], b.ne[2], b.ne[3]), [a, b], at)


def mul_mat_id(ident, a, b, ids):
    assert a.ne[0] == b.ne[0] and b.ne[2] == ids.ne[1] and ids.ne[2] == 1, ident
    assert b.ne[1] and ids.ne[0] % b.ne[1] == 0 or ids.ne[0] == 0, ident
    dot = dot_products(a, b, exact=False)

    def at(index):
        m, u, t, _ = index
        expert = int(ids.get((u, t, 0, 0))[0])
        return dot((m, expert, 0), (u % b.ne[1], t, 0)) if expert != -1 else (0.0, 0.0)

    return Tensor(ident, "f32", (a.ne[1], ids.ne[0], ids.ne[1], 1), [a, b, ids], at)


def cast(ident, a, dtype):
    return Tensor(ident, dtype, a.ne, [a], lambda index: convert(*a.get(index), dtype))


def approximate(ident, a, dtype, error):
    """a in a format with blocks: its values, off by up to `error`."""
    return Tensor(ident, dtype, a.ne, [a], lambda index: (a.get(index)[0], a.get(index)[1] + error))


def cont(ident, a):
    return Tensor(ident, a.dtype, a.ne, [a], a.get)


def cpy(ident, src, dst):
    assert src.n_elements() == dst.n_elements(), ident

    def write_all():
        values = [src.get(i) for i in src.indices()]
        for value, i in zip(values, dst.indices()):
            dst.root().storage.set(dst.place(i), value if src.dtype == dst.dtype else convert(*value, dst.dtype))

    t = view_of(ident, dst, dst.ne, dst.nb, dst.offset)
    t.src, t.op = [src, dst], write_all
    return t


def get_rows(ident, a, rows):
    assert rows.ne[1:] == (*a.ne[2:], 1), ident
    dtype = a.dtype if a.dtype in INTEGERS else "f32"

    def at(index):
        i, r, i2, i3 = index
        return convert(*a.get((i, int(rows.get((r, i2, i3, 0))[0]), i2, i3)), dtype)

    return Tensor(ident, dtype, (a.ne[0], rows.ne[0], a.ne[2], a.ne[3]), [a, rows], at)


def set_rows(ident, a, b, rows):
    assert b.ne[0] == a.ne[0] and b.ne[1] == rows.ne[0] and b.ne[2:] == a.ne[2:], ident

    def write_all():
        values = {i: b.get(i) for i in b.indices()}
        for (i, r, i2, i3), value in values.items():
            to = (i, int(rows.get((r, i2 % rows.ne[1], i3 % rows.ne[2], 0))[0]), i2, i3)
            value = value if a.dtype == b.dtype else convert(*value, a.dtype)
            a.root().storage.set(a.place(to), value)

    t = view_of(ident, a, a.ne, a.nb, a.offset)
    t.src, t.op = [a, b, rows], write_all
    return t


def view(ident, a, ne, nb_bytes, offset_bytes):
    # In elements; of a format with blocks, bytes are whole blocks.
    per_block, size = FORMATS[a.dtype][:2] if a.dtype in FORMATS else (1, SIZE.get(a.dtype, 1))
    in_elements = lambda count: count * per_block // size  # noqa: E731
    ne = tuple(ne) + (1,) * (4 - len(ne))
    nb = list(contiguous(ne))
    if nb_bytes is not None:
        for d, bytes_ in enumerate(nb_bytes, 1):
            nb[d] = in_elements(bytes_)
        for d in range(len(nb_bytes) + 1, 4):
            nb[d] = nb[d - 1] * ne[d - 1]
    return view_of(ident, a, ne, nb, a.offset + in_elements(offset_bytes))


def reshape(ident, a, ne):
    """A view with the strides that the places of its elements have: those of a's elements, in order."""
    t = view_of(ident, a, ne, contiguous(tuple(ne) + (1,) * (4 - len(ne))), a.offset)
    assert t.n_elements() == a.n_elements(), ident
    places = [a.place(i) for i in a.indices()] if t.n_elements() else []
    step = 1
    for d, n in enumerate(t.ne):
        if n > 1 and places:
            t.nb = tuple(places[step] - places[0] if e == d else s for e, s in enumerate(t.nb))
        step *= n
    assert [t.place(i) for i in t.indices()] == places or not places, ident
    return t


def is_contiguous(a):
    return all(n == 1 or have == want for n, have, want in zip(a.ne, a.nb, contiguous(a.ne)))


def permute(ident, a, axes):
    ne, nb = [0] * 4, [0] * 4
    for i, axis in enumerate(axes):
        ne[axis], nb[axis] = a.ne[i], a.nb[i]
    return view_of(ident, a, ne, nb, a.offset)
