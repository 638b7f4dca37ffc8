"""A case: builds the statements and, from the oracle, the expected values and the tolerance."""

import math
import zlib
from itertools import product

from . import drawn, formats, masked, movements, recurrences, reduced, shaping, steps, tensors, wide, windows
from .numbers import ROUND, text
from .tensors import Tensor

CHECK_ALL = 512  # results up to here are checked whole
CHECK_MOST = 4096
# Register tiles are 4 to 32 wide, cache blocks 64 to 512: the elements on both sides of such borders.
BORDERS = (8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024)


class Case:
    def __init__(self, name):
        self.name = name
        self.lines = [f"case {name}"]
        self.count = 0

    def leaf(self, *ne, dtype="f32", put=None):
        """A leaf; `put` maps flat indices to values set after filling. The seed comes from the names, so
        that a new case changes no other."""
        ident = self._next()
        seed = zlib.crc32(f"{self.name}.{ident}".encode()) & 0xFFFF
        t = tensors.leaf(ident, dtype, ne, seed)
        self.lines.append(f"leaf {ident} {dtype} {' '.join(map(str, t.ne))} {seed}")
        for i, value in (put or {}).items():
            assert 0 <= i < t.n_elements(), f"{self.name}: {ident} has no element {i}"
            value = ROUND[dtype](float(value))
            t.storage.set(i, (value, 0.0))
            self.lines.append(f"set {ident} {i} {text(value)}")
        return t

    def blocks(self, dtype, *ne):
        """A leaf of a format with blocks, of pseudo-random bytes."""
        ident = self._next()
        seed = zlib.crc32(f"{self.name}.{ident}".encode())
        t = tensors.leaf(ident, dtype, ne, 0)
        data = formats.random_blocks(dtype, seed, t.n_elements() // formats.FORMATS[dtype][0])
        t.storage.make = lambda flat: (formats.element(dtype, data, flat), 0.0)
        self._blocks(t, data)
        return t

    def zero_blocks(self, dtype, *ne):
        """The same of zeros, for operations that will be refused."""
        t = tensors.leaf(self._next(), dtype, ne, 0)
        self._blocks(t, b"")
        return t

    def _blocks(self, t, data):
        self.lines.append(f"blocks {t.ident} {t.dtype} {' '.join(map(str, t.ne))}")
        self.lines += [f"hex {t.ident} {data[i : i + 64].hex()}" for i in range(0, len(data), 64)]

    def elementwise(self, op, *operands, **attrs):
        """An elementwise operation; where's result is like its second operand, all others' like their first."""
        ident = self._op(op, *operands, **attrs)
        return tensors.elementwise(ident, op, operands, 1 if op == "where" else 0, attrs)

    def add(self, a, b):
        return self.elementwise("add", a, b)

    def glu(self, op, a, b=None, **attrs):
        ident = self._op("glu", a, b, op=op, **attrs)
        attrs.pop("split", None)
        return tensors.glu(ident, a, b, op, **attrs)

    def by_row(self, op, a, **attrs):
        return tensors.by_row(self._op(op, a, **attrs), op, a, attrs)

    def group_norm(self, a, groups, eps):
        return tensors.group_norm(self._op("group_norm", a, groups=groups, eps=eps), a, groups, eps)

    def soft_max_ext(self, a, mask, sinks, scale=0, max_bias=0):
        """An attribute of 0 is left out."""
        ident = self._op("soft_max_ext", a, mask, sinks, scale=scale or None, max_bias=max_bias or None)
        return tensors.soft_max_ext(ident, a, mask, sinks, scale or 1.0, max_bias)

    def rope(self, a, positions, factors, **attrs):
        return tensors.rope(self._op("rope", a, positions, factors, **attrs), a, positions, factors, attrs)

    def recurrent(self, op, *operands, **attrs):
        return recurrences.BY_NAME[op](self._op(op, *operands, **attrs), *operands, **attrs)

    def recurrent_unchecked(self, op, *operands, **attrs):
        return Tensor(self._op(op, *operands, **attrs), "f32", (1,))

    def result(self, a, number):
        return tensors.result(self._op("result", a, number=number), a, number)

    def solve_tri(self, a, b, lower, unit):
        return tensors.solve_tri(self._op("solve_tri", a, b, left=1, lower=lower, unit=unit), a, b, lower, unit)

    def flash_attn_ext(self, q, k, v, mask=None, sinks=None, **attrs):
        return tensors.flash_attn_ext(self._op("flash_attn_ext", q, k, v, mask, sinks, **attrs), q, k, v, mask, sinks, attrs)

    def paged_attention(self, q, k, v, pages, positions, sequences, sinks=None, **attrs):
        ident = self._op("paged_attention", q, k, v, pages, positions, sequences, sinks, **attrs)
        return tensors.paged_attention(ident, q, k, v, pages, positions, sequences, sinks, attrs)

    def moved(self, op, *operands, **attrs):
        return movements.BY_NAME[op](self._op(op, *operands, **attrs), *operands, **attrs)

    def received(self, like, sent, **attrs):
        """What the only rank of a group receives of itself."""
        return movements.of_one_rank(self._op("receive", like, **attrs), sent)

    def shaped(self, op, *operands, **attrs):
        return shaping.BY_NAME[op](self._op(op, *operands, **attrs), *operands, **attrs)

    def shaped_unchecked(self, op, *operands, **attrs):
        """A node whose computing fails, for fails_computing()."""
        return Tensor(self._op(op, *operands, **attrs), "f32", (1,))

    def index(self, a, begin, end, dropped=()):
        """tl_index(): an end of None is that of the dimension."""
        last = tuple((1 << 63) - 1 if e is None else e for e in end)
        ident = self._op("index", a, begin=begin or None, end=last or None, dropped=tuple(dropped) or None)
        return shaping.index(ident, a, begin, end, dropped)

    def wide(self, op, *operands, **attrs):
        return wide.elementwise(self._op(op, *operands, **attrs), op, *operands, **attrs)

    def drawn(self, op, *operands, **attrs):
        return drawn.OPS[op](self._op(op, *operands, **attrs), *operands, **attrs)

    def windowed(self, op, /, *operands, **attrs):
        if op == "ssm_conv":  # with what may be left out
            operands += (None,) * (4 - len(operands))
        return windows.BY_NAME[op](self._op(op, *operands, **attrs), *operands, **attrs)

    def step(self, op, a, grad, state, settings, nesterov=None):
        return steps.step(self._op(op, a, grad, *state, settings, nesterov=nesterov), op, a, grad, state, settings, nesterov)

    def mul_mat(self, a, b):
        return tensors.mul_mat(self._op("mul_mat", a, b), a, b)

    def mul_mat_exact(self, a, b):
        return tensors.mul_mat(self._op("mul_mat_exact", a, b), a, b, exact=True)

    def mul_mat_id(self, a, b, ids):
        return tensors.mul_mat_id(self._op("mul_mat_id", a, b, ids), a, b, ids)

    def sparse(self, op, *operands, **attrs):
        """An operation of masked.py; an attribute of None is left out."""
        given = {key: value for key, value in attrs.items() if value is not None}
        return masked.BY_NAME[op](self._op(op, *operands, **given), *operands, **given)

    def reduced(self, op, *operands, **attrs):
        """An operation of reduced.py."""
        return reduced.OPS[op](self._op(op, *operands, **attrs), *operands, **attrs)

    def numbers(self, *values, dtype="i32", shape=None):
        """A leaf of these numbers: of rows, or of experts."""
        return self.leaf(*(shape or (len(values),)), dtype=dtype, put=dict(enumerate(values)))

    def cast(self, a, to):
        return tensors.cast(self._op("cast", a, to=to), a, to)

    def cont(self, a):
        return tensors.cont(self._op("cont", a), a)

    def dup(self, a):
        return tensors.cont(self._op("dup", a), a)

    def cpy(self, src, dst):
        return tensors.cpy(self._op("cpy", src, dst), src, dst)

    def stop_gradient(self, a):
        return tensors.view_of(self._op("stop_gradient", a), a, a.ne, a.nb, a.offset)

    def get_rows(self, a, rows):
        return tensors.get_rows(self._op("get_rows", a, rows), a, rows)

    def set_rows(self, a, b, rows):
        return tensors.set_rows(self._op("set_rows", a, b, rows), a, b, rows)

    def view(self, a, ne, nb=None, offset=0):
        return tensors.view(self._op("view", a, ne=ne, nb=nb, offset=offset), a, ne, nb, offset)

    def reshape(self, a, *ne):
        return tensors.reshape(self._op("reshape", a, ne=ne), a, ne)

    def permute(self, a, *axes):
        return tensors.permute(self._op("permute", a, axes=axes), a, axes)

    def transpose(self, a):
        return tensors.permute(self._op("transpose", a), a, (1, 0, 2, 3))

    def encoded(self, t, dtype, error):
        """The end of a case: t as the engine encodes it, decoded, within `error`. Which codes it chooses is its own affair;
        devices other than the CPU do not encode."""
        made = tensors.approximate(self._op("cast", t, to=dtype), t, dtype, error)
        return self.out(tensors.cast(self._op("cast", made, to="f32"), made, "f32"), cpu_only=True)

    def fails(self, status, words, name, *src, **attrs):
        """The last statement of a case whose operation must be refused."""
        self._op(name, *src, **attrs)
        self.lines.append(f"error {status}")
        self.lines += [f"word {word}" for word in words]
        self.lines.append("end")
        return self

    def fails_computing(self, t, status, words):
        """The end of a case whose computing must fail."""
        self.lines.append(f"fails {t.ident} {status}")
        self.lines += [f"word {word}" for word in words]
        self.lines.append("end")
        return self

    def out(self, t, cpu_only=False, relative=False):
        if cpu_only:
            self.lines.append("cpu_only")
        for node in post_order(t):
            node.run()
        self.lines.append(f"out {t.ident} {t.dtype} {' '.join(map(str, t.ne))}")
        places = sample(t.ne)
        found = [t.get(t.index(p)) for p in places]
        self.lines.append(tolerance(found, relative))
        exact = self.lines[-1] == EXACT
        self.lines += at_lines(places, [text(v, exact) for v, _ in found])
        self.lines.append("end")
        return self

    def _next(self):
        # a to z, then t26, t27, ...
        self.count += 1
        return chr(96 + self.count) if self.count <= 26 else f"t{self.count}"

    def _op(self, name, *src, **attrs):
        ident = self._next()
        words = [name] + ["none" if s is None else s.ident for s in src]
        for key, value in attrs.items():
            if value is None or key == "offset" and value == 0:
                continue
            value = int(value) if isinstance(value, bool) else value
            listed = value if isinstance(value, (tuple, list)) else (value,)
            words.append(f"{key}={','.join(map(str, listed))}")
        self.lines.append(f"op {ident} {' '.join(words)}")
        return ident


EXACT = "tol 0 0"


def tolerance(found, relative):
    """ABS and REL that cover the bounds of these values: one number for all, or, for those that are relative, the part that the
    bound of the largest is of it and what is left of others', or the largest part: whichever is the least times the bounds, on geometric average. One per
    mille up covers the rounding of the bound's own digits; 1e-9 covers text()'s 10 digits."""
    bounds = [(abs(v), e) for v, e in found if math.isfinite(v) and e > 0]
    if not bounds:
        return EXACT
    pairs = [(max(e for _, e in bounds), 0.0)]
    if relative:
        largest, error = max(bounds)
        parts = {max((e / v for v, e in bounds if v > 0), default=0.0), error / largest * (1 + 1e-6) if largest > 0 else 0.0}
        pairs += [(max(0.0, max(e - part * v for v, e in bounds)), part) for part in sorted(parts)]
    least, part = min(pairs, key=lambda pair: sum(math.log((pair[0] + pair[1] * v) / e) for v, e in bounds))
    return f"tol {least * 1.001:.4g} {part * 1.001 + 1e-9:.4g}" if part else f"tol {least * 1.001:.4g} 1e-9"


def post_order(out):
    """Sources before users, each once, in the order in which the engine promises to compute."""
    done, order = set(), []

    def visit(t):
        if id(t) not in done:
            done.add(id(t))
            for s in t.src:
                visit(s)
            if t.src or t.op:
                order.append(t)

    visit(out)
    return order


def sample(ne):
    """Flat positions to check: all of a small result; of a large one both ends, and every crossing of the
    elements beside a border in each dimension."""
    total = math.prod(ne)
    if total <= CHECK_ALL:
        return list(range(total))
    beside = []
    for n in ne:
        at = {0, 1, n - 2, n - 1} | {b + d for b in BORDERS for d in (-1, 0)}
        beside.append(sorted(x for x in at if 0 <= x < n))
    strides = tensors.contiguous(ne)
    crossings = [sum(i * s for i, s in zip(c, strides)) for c in product(*beside)]
    # Whole crossings would be thousands in four dimensions: every j-th, j odd so that all borders stay in.
    step = (max(1, len(crossings) // 400)) | 1
    places = set(crossings[::step]) | set(range(24)) | set(range(total - 24, total))
    assert len(places) <= CHECK_MOST
    return sorted(places)


def at_lines(places, words):
    """Runs of neighbours, 16 values a line at most."""
    lines, start = [], 0
    for i in range(1, len(places) + 1):
        if i == len(places) or places[i] != places[i - 1] + 1 or i - start == 16:
            lines.append(f"at {places[start]} {' '.join(words[start:i])}")
            start = i
    return lines
