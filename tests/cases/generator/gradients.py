"""Gradients of every operation against central differences of the float64 oracle; repetition, views, types, second order, refusals."""

import math

from . import drawn, formulas, tensors
from .model import Case, post_order
from .numbers import ROUND, UNIT

# The leafs are multiples of 1/512, and what bends (relu, maximum, clamp) bends at multiples of that, at which no element may lie: twice this
# step stays on its side.
STEP = 2.0**-11
# A gradient is a sum of products of functions that are off by a unit or two each; formulas that are wrong are off by parts of a whole.
BOUND = 64 * UNIT["f32"]


class Unrounded:
    """While the differences are taken the oracle computes in float64 throughout."""

    def __enter__(self):
        self.kept = dict(ROUND), formulas.f32, drawn.F32
        ROUND.update({name: float for name in ("f32", "f16", "bf16")})
        formulas.f32 = drawn.F32 = float

    def __exit__(self, *_):
        ROUND.update(self.kept[0])
        formulas.f32, drawn.F32 = self.kept[1:]


class Differentiated:
    """A case by a function that makes its statements: make(c) gives the output and what it is differentiated by."""

    def __init__(self, name, make):
        self.name, self.make = f"gradients/{name}", make

    def built(self, name):
        """The case, the output, its seed, and the tensors."""
        c = Case(name)
        y, *wrt = self.make(c)
        return c, y, c.leaf(*y.ne) if y.n_elements() != 1 else None, wrt

    def total(self, name, changes):
        """The sum of the seed times the output, where leafs differ by `changes`: of (leaf's place, element) by how much."""
        _, y, seed, wrt = self.built(name)
        leafs = {id(t): t for t in everything(y) + ([seed] if seed else []) if t.base is None and not t.src and not t.op}
        for t in leafs.values():
            for i in range(t.n_elements()):
                t.storage.get(i)
        for (place, i), by in changes.items():
            value, error = wrt[place].storage.get(i)
            wrt[place].storage.set(i, (value + by, error))
        with Unrounded():
            for node in post_order(y):
                node.run()
            return math.fsum(y.get(i)[0] * (seed.get(i)[0] if seed else 1.0) for i in y.indices())

    def slope(self, name, place, i, along=()):
        """The derivative by an element; `along`: of the derivative in a direction, ((place, element), part) each."""

        def by(step):
            return self.total(name, {(place, i): step}) if not along else self.directional(name, along, {(place, i): step})

        return smooth(by, 16 * STEP) if along else unbent(by, STEP, self.name)

    def directional(self, name, along, changes):
        def by(step):
            moved = dict(changes)
            for key, part in along:
                moved[key] = moved.get(key, 0.0) + step * part
            return self.total(name, moved)

        return smooth(by, 4 * STEP)

    def cases(self):
        _, _, _, wrt = self.built(self.name)
        for place in range(len(wrt)):
            name = f"{self.name}_{'abcde'[place]}" if len(wrt) > 1 else self.name
            c, y, seed, tensors_ = self.built(name)
            t = tensors_[place]
            found = [self.slope(name, place, i) for i in range(t.n_elements())]
            ident = c._op("gradient", y, seed, t)
            yield c.out(known(ident, t, [y, seed, t], found, self.bound(y, wrt)))

    def second(self):
        """The gradient of the gradient's product with a leaf, by the first tensor."""
        name = f"{self.name}_second"
        c, y, seed, (t, *_) = self.built(name)
        first = c._op("gradient", y, seed, t)
        v = c.leaf(*t.ne)
        zeros = known(first, t, [y, seed, t], [0.0] * t.n_elements(), 0.0)
        total = c.reduced("sum", c.elementwise("mul", zeros, v))
        along = [((0, i), v.storage.get(i)[0]) for i in range(t.n_elements())]
        # Differences of differences have fewer digits: a zero is not quite one.
        found = [self.slope(name, 0, i, along) for i in range(t.n_elements())]
        found = [value if abs(value) > 1e-8 else 0.0 for value in found]
        ident = c._op("gradient", total, None, t)
        return c.out(known(ident, t, [total, t], found, 4 * BOUND))

    def bound(self, y, wrt):
        """Of the largest gradient. What has 16 bits was rounded to them on the way."""
        return max([BOUND] + [4 * UNIT[t.dtype] for t in [y, *everything(y)] if t.dtype in ("f16", "bf16") and (t.src or t.op)])


def smooth(function, step):
    """A derivative by central differences of two widths, whose errors of second order cancel."""
    near, far = ((function(s) - function(-s)) / (2 * s) for s in (step, step / 2))
    return (4 * far - near) / 3


def unbent(function, step, name):
    """The same, where both sides agree."""
    found = smooth(function, step)
    sides = (function(step) - 2 * function(0.0) + function(-step)) / step
    assert abs(sides) <= 0.02 * (1 + abs(found)), f"{name}: it bends: {found}, by {sides}"
    return found


def everything(y):
    """A tensor and all that it is made of."""
    seen, found = set(), []

    def visit(t):
        if id(t) not in seen:
            seen.add(id(t))
            found.append(t)
            for s in t.src:
                visit(s)

    visit(y)
    return found


def known(ident, t, src, values, bound):
    """A result of these values, contiguous, F32."""
    off = bound * max(map(abs, values), default=0.0)
    made = tensors.Tensor(ident, "f32", t.ne, [s for s in src if s])
    nb = made.nb
    made.op = lambda index: (values[sum(i * s for i, s in zip(index, nb))], off)
    return made


def positive(c, *ne, dtype="f32"):
    t = c.leaf(*ne, dtype=dtype)
    values = {i: abs(t.storage.get(i)[0]) + 0.25 for i in range(t.n_elements())}
    for i, value in values.items():
        t.storage.set(i, (value, 0.0))
        c.lines.append(f"set {t.ident} {i} {value!r}")
    return t


SMOOTH = "sqr exp expm1 erf sin cos sigmoid tanh softplus silu gelu gelu_erf gelu_quick".split()
BENT = {"abs": {}, "neg": {}, "relu": {}, "elu": {}, "hardswish": {}, "hardsigmoid": {}, "leaky_relu": {"slope": 0.1},
        "xielu": {"alpha_n": 0.8, "alpha_p": 0.7, "beta": 0.5, "eps": -1e-6}, "clamp": {"min": -1.5013, "max": 0.7503},
        "scale": {"scale": 0.3, "bias": -7.1}}
STRAIGHT = "silu gelu gelu_erf gelu_quick hardswish softplus".split()  # far from 0: 0 below it, the element above it
GATES = "reglu geglu swiglu geglu_erf geglu_quick swiglu_oai".split()


def elementwise():
    def unary(op, attrs, label="", make=lambda c: c.leaf(7, 3)):
        def made(c):
            a = make(c)
            return c.elementwise(op, a, **attrs), a

        return Differentiated(op + label, made)

    for op, attrs in {**{name: {} for name in SMOOTH}, **BENT}.items():
        yield from unary(op, attrs).cases()
        yield from unary(op, attrs, "_f16", lambda c: c.leaf(6, dtype="f16")).cases()
    for op in ("log", "sqrt"):
        yield from unary(op, {}, make=lambda c: positive(c, 7, 3)).cases()
    for op in SMOOTH:
        yield unary(op, {}, make=lambda c: c.leaf(5)).second()
    yield unary("log", {}, make=lambda c: positive(c, 5)).second()

    def binary(op, a, b, first=Case.leaf, second=Case.leaf):
        def made(c):
            x, y = first(c, *a), second(c, *b)
            return c.elementwise(op, x, y), x, y

        return Differentiated(f"{op}_{'x'.join(map(str, a))}_by_{'x'.join(map(str, b))}", made)

    shapes = [((5, 4), (5, 4)), ((6, 4), (6,)), ((6, 4), (1, 4)), ((6, 4), (3, 2)), ((3, 2, 2, 2), (3, 1, 2)), ((4, 3), (1,))]
    two_sided = [((5, 1), (1, 4)), ((1,), (3, 2)), ((1, 3, 1, 2), (2, 1, 2))]
    shapes += two_sided
    for op in ("add", "sub", "mul", "maximum", "minimum"):
        for a, b in shapes:
            yield from binary(op, a, b).cases()
    for a, b in shapes:
        yield from binary("div", a, b, second=positive).cases()
    for a, b in shapes[:4] + two_sided:
        yield from binary("pow", a, b, first=positive).cases()
    yield binary("mul", (4, 3), (4,)).second()
    yield binary("mul", (4, 1), (1, 3)).second()
    yield binary("div", (4, 3), (4, 3), second=positive).second()
    yield from binary("add1", (4, 3), (1,)).cases()

    def where(c):
        condition, a, b = c.numbers(1, 0, 0, 2, dtype="f32"), c.leaf(4, 3), c.leaf(1, 3)
        return c.elementwise("where", condition, a, b), a, b

    yield from Differentiated("where", where).cases()

    def where_two_sided(c):
        condition, a, b = c.numbers(1, 0, 0, 2, dtype="f32"), c.leaf(1, 3), c.leaf(4, 1, 2)
        return c.elementwise("where", condition, a, b), a, b

    yield from Differentiated("where_two_sided", where_two_sided).cases()

    def gate(op, split, swapped):
        def made(c):
            if split:
                a, b = c.leaf(5, 2), c.leaf(5, 2)
                return c.glu(op, a, b, swapped=swapped or None), a, b
            a = c.leaf(6, 2)
            return c.glu(op, a, swapped=swapped or None, **({"limit": 2.3, "alpha": 1.1} if op == "swiglu_oai" else {})), a

        return Differentiated(f"glu_{op}{'_split' if split else ''}{'_swapped' if swapped else ''}", made)

    for swapped in (False, True):
        odd = {"swapped": True} if swapped else {}

        def made_of_odd(c, odd=odd):
            a = c.leaf(7, 2)
            return c.glu("swiglu", a, **odd), a

        yield from Differentiated(f"glu_odd{'_swapped' if swapped else ''}", made_of_odd).cases()
    for op in GATES:
        for split in (False, True):
            yield from gate(op, split, False).cases()
        yield from gate(op, False, True).cases()


def chain():
    """The same tensor by several ways, through views and types."""

    def used_twice(c):
        a = c.leaf(4, 3)
        return c.elementwise("mul", c.elementwise("sin", a), c.elementwise("add", a, a)), a

    yield from Differentiated("used_twice", used_twice).cases()

    def types(c):
        a, b = c.leaf(5, 2, dtype="f16"), c.leaf(5, dtype="bf16")
        return c.elementwise("mul", c.cast(c.elementwise("add", a, b), "f32"), c.leaf(5, 2)), a, b

    yield from Differentiated("types", types).cases()

    def parts(c):
        """Parts of one tensor by views, rows and all of it."""
        a = c.leaf(3, 2, 3)
        slices = [c.reshape(c.view(a, (3, 2), (12,), 24 * i), 6) for i in range(3)]
        turned = c.transpose(c.view(a, (3, 2), (12,), 24))
        rows = c.get_rows(c.reshape(a, 3, 6), c.numbers(4, 0, 4))
        total = c.reduced("sum", c.elementwise("sqr", c.permute(a, 2, 0, 1, 3)))
        for part in (*slices, turned, rows, c.get_rows(c.reshape(a, 3, 6), c.numbers(1, 4))):
            total = c.elementwise("add", total, c.reduced("sum", c.elementwise("sin", c.elementwise("mul", part, part))))
        return total, a

    yield from Differentiated("parts", parts).cases()
    yield Differentiated("parts", parts).second()

    def itself(c):
        a = c.leaf(3, 2)
        return a, a

    yield from Differentiated("itself", itself).cases()

    # By hand: a node's elements are not a leaf's.
    c = Case("gradients/of_a_node")
    left, right = c.leaf(3, 2), c.leaf(3)
    a = c.elementwise("add", left, right)
    y, seed = c.elementwise("sqr", a), c.leaf(3, 2)
    found = [2 * (left.get(i)[0] + right.get((i[0], 0, 0, 0))[0]) * seed.get(i)[0] for i in a.indices()]
    ident = c._op("gradient", y, seed, a)
    yield c.out(known(ident, a, [y, seed, a], found, BOUND))

    c = Case("gradients/nothing_depends")
    y, a = c.elementwise("sqr", c.leaf(3, 2)), c.leaf(4, 3)
    seed = c.leaf(3, 2)
    ident = c._op("gradient", y, seed, a)
    yield c.out(known(ident, a, [y, seed, a], [0.0] * 12, 0.0))

    c = Case("gradients/stopped")
    a = c.leaf(4, 2)
    y = c.elementwise("mul", c.stop_gradient(a), a)
    seed = c.leaf(4, 2)
    ident = c._op("gradient", y, seed, a)
    yield c.out(known(ident, a, [y, seed, a], [a.get(i)[0] * seed.get(i)[0] for i in a.indices()], BOUND))


def products():
    def made(label, op, a, b, exact=False):
        def make(c):
            x, y = c.leaf(*a), c.leaf(*b)
            return (c.reduced(op, x, y) if op == "out_prod" else c.mul_mat(x, y)), x, y

        return Differentiated(f"{op}_{label}", make)

    for label, a, b in [("plain", (5, 4), (5, 3)), ("slices", (4, 3, 1, 2), (4, 2, 3, 4)), ("shared", (3, 2, 2, 1), (3, 4, 4, 2)),
                        ("vector", (7, 3), (7,)), ("one", (1, 1), (1, 1))]:
        yield from made(label, "mul_mat", a, b).cases()
    for label, a, b in [("plain", (5, 4), (3, 4)), ("slices", (3, 4, 2, 1), (2, 4, 4, 2)), ("one", (1, 1), (1, 1))]:
        yield from made(label, "out_prod", a, b).cases()
    yield made("plain", "mul_mat", (4, 3), (4, 2)).second()

    def views(c):
        a, b = c.leaf(4, 5), c.leaf(2, 5)
        return c.mul_mat(c.transpose(a), c.transpose(b)), a, b

    yield from Differentiated("mul_mat_views", views).cases()

    def squared(c):
        a = c.leaf(4, 4)
        return c.mul_mat(a, a), a

    yield from Differentiated("mul_mat_by_itself", squared).cases()

    def blocks(dtype):
        def make(c):
            b = c.leaf(32 if dtype == "q8_0" else 256, 2)
            return c.mul_mat_exact(c.blocks(dtype, b.ne[0], 3), b), b

        return Differentiated(f"mul_mat_{dtype}", make)

    for dtype in ("q8_0", "q4_0"):
        yield from blocks(dtype).cases()

    def experts(c, x=1):
        a, b = c.leaf(4, 3, 3), c.leaf(4, x, 3)
        return c.mul_mat_id(a, b, c.numbers(2, 0, 0, 1, 2, 1, shape=(2, 3))), a, b

    yield from Differentiated("mul_mat_id", experts).cases()
    yield from Differentiated("mul_mat_id_of_each", lambda c: experts(c, 2)).cases()

    def some_without(c, dtype):
        a, b = c.leaf(4, 3, 3), c.leaf(4, 1, 3)
        return c.mul_mat_id(a, b, c.numbers(2, -1, 0, 1, -1, -1, dtype=dtype, shape=(2, 3))), a, b

    def by_expert(c, x):
        a, b = c.leaf(4, x, 3), c.leaf(3, 2, 3)
        return c.reduced("out_prod_id", a, b, c.numbers(2, -1, 0, 1, 2, 1, shape=(2, 3)), experts=3), a, b

    yield from Differentiated("out_prod_id", lambda c: by_expert(c, 1)).cases()
    yield from Differentiated("out_prod_id_of_each", lambda c: by_expert(c, 2)).cases()
    yield Differentiated("mul_mat_id", experts).second()

    for dtype in ("i32", "i64"):
        yield from Differentiated(f"mul_mat_id_minus_one_{dtype}", lambda c, dtype=dtype: some_without(c, dtype)).cases()


def sparse():
    """What is tested stays off the threshold by more than the differences' step, as a mask bends there."""
    scores = [0.9, -0.3, 0.8, 0.1, -0.7, 0.6, 0.2, -0.9, 0.4, 0.75]

    def scored(c, n, tokens):
        return c.leaf(n, tokens, put={i: scores[i * 3 % 10] for i in range(n * tokens)})

    def product(attrs, rows=None, dtype=None):
        def make(c):
            m = len(rows) if rows else 5
            a, b = c.blocks(dtype, 32, m) if dtype else c.leaf(4, m), c.leaf(32 if dtype else 4, 2)
            y = c.sparse("mul_mat_sparse", a, b, scored(c, 5, 2), c.numbers(*rows) if rows else None, exact=1 if dtype else None, **attrs)
            return (y, b) if dtype else (y, a, b)

        return make

    def sums(attrs, rows=None, with_scores=False, dtype=None):
        def make(c):
            m = len(rows) if rows else 5
            a = c.blocks(dtype, 32, m) if dtype else c.leaf(4, m)
            h = c.leaf(5, 2, put={i: [0.9, -1.3, 0.2, 2.1, -0.1, 0.75, 1.4, -0.3, 3.1, -2.2][i] for i in range(10)})
            y = c.sparse("axpy", a, h, scored(c, 5, 2) if with_scores else None, c.numbers(*rows) if rows else None, **attrs)
            return (y, h) if dtype else (y, a, h)

        return make

    rules = {"score": {"threshold": 0.5}, "magnitude": {"by": "magnitude", "threshold": 0.65}, "positive": {"by": "positive"}}
    for label, attrs in rules.items():
        yield from Differentiated(f"mul_mat_sparse_{label}", product(attrs)).cases()
        yield from Differentiated(f"mul_mat_sparse_{label}_rows", product(attrs, rows=(0, 2, 3))).cases()
        yield from Differentiated(f"axpy_{label}", sums(attrs)).cases()
        yield from Differentiated(f"axpy_{label}_rows", sums(attrs, rows=(1, 3, 4))).cases()
        yield from Differentiated(f"axpy_{label}_scored", sums(attrs, rows=(1, 3, 4), with_scores=True)).cases()
    yield from Differentiated("mul_mat_sparse_q8_0", product(rules["score"], dtype="q8_0")).cases()
    yield from Differentiated("axpy_q8_0", sums(rules["magnitude"], dtype="q8_0")).cases()

    def block(attrs, rows=None, with_scores=True):
        def make(c):
            m = len(rows) if rows else 5
            x, gate, up, down_t = c.leaf(3, 2), c.leaf(3, m), c.leaf(3, m), c.leaf(4, m)
            numbers = c.numbers(*rows) if rows else None
            return c.sparse("sparse_ffn", x, gate, up, down_t, scored(c, 5, 2) if with_scores else None, numbers, **attrs), x, gate, up, down_t

        return make

    yield from Differentiated("sparse_ffn_relu", block({"by": "positive"}, with_scores=False)).cases()
    yield from Differentiated("sparse_ffn_silu", block({"activation": "silu", "by": "magnitude", "threshold": 1.5}, with_scores=False)).cases()
    yield from Differentiated("sparse_ffn_up", block({"activation": "gelu", "threshold": 1.5, "first": "up"}, with_scores=False)).cases()
    yield from Differentiated("sparse_ffn_scored", block({"activation": "gelu", "threshold": 0.5})).cases()
    yield from Differentiated("sparse_ffn_rows", block({"activation": "silu", "by": "positive"}, rows=(0, 2, 3))).cases()

    def rows_alone(c):
        a, b = c.leaf(4, 3), c.leaf(4, 2)
        return c.sparse("mul_mat_sparse", a, b, None, c.numbers(1, 2, 6), n=7), a, b

    yield from Differentiated("mul_mat_sparse_rows_alone", rows_alone).cases()
    yield Differentiated("mul_mat_sparse_score", product(rules["score"])).second()
    yield Differentiated("axpy_magnitude", sums(rules["magnitude"])).second()


def movement():
    def one(label, shape, make, dtype="f32"):
        def made(c):
            a = c.leaf(*shape, dtype=dtype)
            return make(c, a), a

        return Differentiated(label, made)

    def two(label, a, b, make):
        def made(c):
            x, y = c.leaf(*a), c.leaf(*b)
            return make(c, x, y), x, y

        return Differentiated(label, made)

    all_of = [
        one("view", (6, 4), lambda c, a: c.view(a, (3, 2), (32,), 12)),
        one("view_f16", (6, 4), lambda c, a: c.cast(c.view(a, (3, 2), (24,), 4), "f32"), "f16"),
        one("view_of_rows", (4, 3, 2), lambda c, a: c.view(a, (4, 1, 2), (16, 48), 16)),
        one("view_of_a_view", (6, 4), lambda c, a: c.view(c.view(a, (6, 2), (24,), 24), (6,), None, 24)),
        one("reshape", (6, 4), lambda c, a: c.reshape(a, 3, 8)),
        one("permute", (3, 2, 4), lambda c, a: c.permute(a, 2, 0, 1, 3)),
        one("transpose", (3, 5), lambda c, a: c.transpose(a)),
        one("transpose_then_cont", (3, 5), lambda c, a: c.elementwise("sqr", c.cont(c.transpose(a)))),
        one("dup", (4, 2), lambda c, a: c.dup(a)),
        one("cast", (4, 2), lambda c, a: c.cast(a, "f16")),
        one("get_rows", (3, 4), lambda c, a: c.get_rows(a, c.numbers(2, 0, 2, 3, 2))),
        one("get_rows_slices", (2, 3, 2, 2), lambda c, a: c.get_rows(a, c.numbers(*[2, 0, 1, 1, 0, 0, 2, 2, 1, 0, 1, 2], dtype="i64", shape=(3, 2, 2)))),
        one("gather", (4, 3), lambda c, a: c.moved("gather", a, c.numbers(1, 3, 1, 0, 2, 2, shape=(2, 3)), dim=0)),
        one("gather_dim1", (3, 4), lambda c, a: c.moved("gather", a, c.numbers(1, 3, 1, 0, 2, 2, shape=(3, 2)), dim=1)),
        one("repeat", (3, 2), lambda c, a: c.moved("repeat", a, ne=(6, 4, 2, 1))),
        one("pad", (3, 2), lambda c, a: c.moved("pad", a, p=(2, 1, 0, 1))),
        one("pad_both_sides", (3, 2, 2), lambda c, a: c.moved("pad", a, p=(2, 0, 1, 0), lp=(1, 3, 0, 1))),
        one("pad_circular", (3, 2, 2), lambda c, a: c.moved("pad", a, p=(2, 0, 1, 0), lp=(4, 3, 0, 1), circular=1)),
        one("win_part", (2, 3, 5), lambda c, a: c.moved("win_part", a, w=2)),
        one("win_unpart", (2, 2, 2, 6), lambda c, a: c.moved("win_unpart", a, w0=5, h0=3, w=2)),
        one("get_rel_pos", (2, 4), lambda c, a: c.moved("get_rel_pos", a, qh=3, kh=2)),
        one("timestep_embedding", (3,), lambda c, a: c.shaped("timestep_embedding", a, dim=6, max_period=10)),
        one("col2im_1d", (10, 4), lambda c, a: c.windowed("col2im_1d", a, stride=2, padding=1, channels=2)),
        two("im2col_3d", (2, 2, 2, 2), (3, 4, 3, 2), lambda c, a, b: c.windowed("im2col_3d", a, b, channels=2, p0=1, s2=2)),
        two("conv_3d", (2, 2, 2, 4), (3, 3, 4, 2), lambda c, a, b: c.windowed("conv_3d", a, b, channels=2, p2=1, s0=2)),
        two("ssm_conv", (6, 3, 2), (4, 3), lambda c, a, b: c.windowed("ssm_conv", a, b, silu=1)),
        two("ssm_conv_state", (3, 2), (2, 2), lambda c, a, b: c.windowed("ssm_conv", a, c.leaf(3, 2), b, c.leaf(2))),
        two("add_rel_pos", (6, 4, 2), (2, 2, 2, 2), lambda c, a, b: c.moved("add_rel_pos", a, b, c.leaf(3, 2, 2, 2))),
        one("pad_reflect_1d", (5, 2), lambda c, a: c.moved("pad_reflect_1d", a, p0=3, p1=4)),
        one("roll", (4, 3), lambda c, a: c.moved("roll", a, shift=(1, -2, 0, 0))),
        one("all_sum", (4, 3), lambda c, a: c.moved("all_sum", a)),
        one("all_max", (4, 3), lambda c, a: c.moved("all_max", a)),
        one("all_gather", (4, 3), lambda c, a: c.moved("all_gather", a, dim=1)),
        one("sum_scatter", (4, 3), lambda c, a: c.moved("sum_scatter", a, dim=0)),
        one("broadcast", (4, 3), lambda c, a: c.moved("broadcast", a, root=0)),
        one("all_to_all", (4, 3), lambda c, a: c.moved("all_to_all", a, dim=1)),
        one("copy_to_group", (4, 3), lambda c, a: c.moved("copy_to_group", a)),
        one("diag", (4, 1, 2, 2), lambda c, a: c.moved("diag", a)),
        one("diag_mask_zero", (4, 3, 2), lambda c, a: c.moved("diag_mask_zero", a, n_past=1)),
        one("diag_mask_inf", (4, 3, 2), lambda c, a: c.by_row("soft_max", c.moved("diag_mask_inf", a, n_past=1))),
        one("reshape_turned", (3, 2, 4), lambda c, a: c.reshape(c.permute(a, 1, 0, 2, 3), 2, 3, 2, 2)),
        one("expand", (3, 1, 2), lambda c, a: c.elementwise("sqr", c.shaped("expand", a, ne=(3, 4, 2, 2)))),
        one("expand_of_a_view", (4, 3), lambda c, a: c.shaped("expand", c.view(a, (1, 3), (16,), 8), ne=(5, 3, 1, 1))),
        one("view_of_expand", (3, 1), lambda c, a: c.index(c.shaped("expand", a, ne=(3, 4, 1, 1)), (1, 1), (None, 3))),
        one("unsqueeze", (3, 2), lambda c, a: c.shaped("unsqueeze", a, dim=1)),
        one("squeeze", (3, 1, 2), lambda c, a: c.shaped("squeeze", a, dim=1)),
        one("flatten", (3, 2, 2), lambda c, a: c.shaped("flatten", a, first=1, last=2)),
        one("flatten_turned", (3, 2, 2), lambda c, a: c.shaped("flatten", c.transpose(a), first=0, last=1)),
        one("select", (3, 4, 2), lambda c, a: c.shaped("select", a, dim=1, index=-2)),
        one("select_dim0", (3, 4), lambda c, a: c.shaped("select", a, dim=0, index=1)),
        one("index", (5, 4, 3), lambda c, a: c.index(a, (1, 0, 2), (4, None, 0), (2,))),
        one("index_select_dim0", (4, 3), lambda c, a: c.shaped("index_select", a, c.numbers(3, 1, 3, 0, 3), dim=0)),
        one("index_select_dim1", (2, 4, 2), lambda c, a: c.shaped("index_select", a, c.numbers(3, 1, 3), dim=1)),
        one("index_select_dim2", (2, 2, 3), lambda c, a: c.shaped("index_select", a, c.numbers(2, 2, 0, 2), dim=2)),
        one("index_select_f16", (2, 3), lambda c, a: c.cast(c.shaped("index_select", a, c.numbers(2, 0), dim=1), "f32"), "f16"),
        one("flip", (4, 3), lambda c, a: c.elementwise("mul", c.shaped("flip", a, dim=0), c.shaped("flip", a, dim=1))),
        one("masked_fill", (4, 2), lambda c, a: c.shaped("masked_fill", a, c.leaf(4, put={0: 0, 2: 0}), value=3)),
        one("einsum_diagonal", (3, 3, 2), lambda c, a: c.shaped("einsum", a, equation="iik->ik")),
        one("einsum_sum", (3, 2), lambda c, a: c.shaped("einsum", a, equation="ij->j")),
        two("einsum", (3, 4), (3, 2), lambda c, a, b: c.shaped("einsum", a, b, equation="km,kn->nm")),
        two("einsum_elementwise", (3, 4), (4,), lambda c, a, b: c.shaped("einsum", a, b, equation="ij,j->ji")),
        two("einsum_dots", (3, 4), (3, 4), lambda c, a, b: c.shaped("einsum", a, b, equation="ij,ij->j")),
        two("cat", (3, 2), (3, 1), lambda c, a, b: c.shaped("cat", a, b, a, dim=1)),
        two("stack", (3, 2), (3, 2), lambda c, a, b: c.shaped("stack", a, b, b, dim=1)),
        two("concat", (3, 2), (2, 2), lambda c, a, b: c.moved("concat", a, b, dim=0)),
        two("concat_dim2", (3, 2, 1), (3, 2, 2), lambda c, a, b: c.moved("concat", a, b, dim=2)),
        two("acc", (5, 4), (2, 3), lambda c, a, b: c.moved("acc", a, b, nb1=20, offset=28)),
        two("set", (5, 4), (2, 3), lambda c, a, b: c.moved("set", a, b, nb1=20, offset=28)),
        two("add_id", (3, 2, 2), (3, 4), lambda c, a, b: c.moved("add_id", a, b, c.numbers(1, 3, 1, 0, shape=(2, 2)))),
        two("scatter_add", (3, 4), (3, 5), lambda c, a, b: c.moved("scatter_add", a, b, c.numbers(1, 3, 1, 0, 1, shape=(1, 5)), dim=1)),
        two("scatter_add_dim0", (4, 2), (3, 2), lambda c, a, b: c.moved("scatter_add", a, b, c.numbers(1, 3, 1), dim=0)),
    ]
    for type in ("lower", "lower_diag", "upper", "upper_diag"):
        all_of.append(one(f"tri_{type}", (4, 3), lambda c, a, type=type: c.moved("tri", a, type=type)))
    for case in all_of:
        yield from case.cases()

    def set_rows(c):
        b = c.leaf(3, 2)
        return c.set_rows(c.leaf(3, 4), b, c.numbers(2, 0)), b

    yield from Differentiated("set_rows", set_rows).cases()

    def dropout(c):
        a = c.leaf(5, 4)
        return c.drawn("dropout", a, c.numbers(7, 11, dtype="i64"), p=0.4, stream=3), a

    yield from Differentiated("dropout", dropout).cases()

    def cpy(c):
        a = c.leaf(3, 2)
        return c.cpy(a, c.leaf(2, 3)), a

    yield from Differentiated("cpy", cpy).cases()


def weighted(c, a, mask, sinks, **attrs):
    return c.soft_max_ext(a, mask, sinks, **attrs)


def rows():
    def one(op, shape, label="", **attrs):
        def made(c):
            a = c.leaf(*shape)
            return c.by_row(op, a, **attrs), a

        return Differentiated(op + label, made)

    for op, attrs in {"norm": {"eps": 1e-5}, "rms_norm": {"eps": 1e-5}, "l2_norm": {"eps": 1e-6}, "soft_max": {}, "log_soft_max": {}}.items():
        yield from one(op, (7, 3), **attrs).cases()
        yield from one(op, (5, 2, 2, 2), "_4d", **attrs).cases()
    yield from one("l2_norm", (3, 2), "_below_eps", eps=100.0).cases()
    yield one("rms_norm", (4, 2), eps=1e-5).second()
    yield one("soft_max", (4, 2)).second()

    def group(c, shape, groups):
        a = c.leaf(*shape)
        return c.group_norm(a, groups, 1e-5), a

    yield from Differentiated("group_norm", lambda c: group(c, (3, 2, 4, 2), 2)).cases()
    yield from Differentiated("group_norm_uneven", lambda c: group(c, (2, 2, 5, 1), 2)).cases()

    def soft_max_ext(c, heads, mask, sinks, **attrs):
        a, m, s = c.leaf(4, 2, heads, 2), c.leaf(*mask) if mask else None, c.leaf(heads) if sinks else None
        return (weighted(c, a, m, s, **attrs), *[t for t in (a, m, s) if t])

    yield from Differentiated("soft_max_ext", lambda c: soft_max_ext(c, 2, None, False, scale=0.5)).cases()
    yield from Differentiated("soft_max_ext_mask", lambda c: soft_max_ext(c, 2, (4, 3, 1, 2), False, scale=0.5)).cases()
    yield from Differentiated("soft_max_ext_alibi_sinks", lambda c: soft_max_ext(c, 3, (4, 2), True, scale=0.5, max_bias=4)).cases()

    def reduced(op, a, **attrs):
        def made(c):
            x = c.leaf(*a)
            return c.reduced(op, x, **attrs), x

        dims = "".join(map(str, attrs.get("dims", ())))
        return Differentiated(f"{op}_over_{dims}" if dims else op, made)

    for op in ("sum", "sum_rows", "mean", "cumsum"):
        yield from reduced(op, (5, 3, 2)).cases()
    for op in ("sum", "mean", "max", "min", "prod", "log_sum_exp"):
        for dims, keep in (((0,), 0), ((1,), 1), ((0, 2), 0)):
            yield from reduced(op, (3, 4, 2), dims=dims, keep=keep).cases()
    for op in ("var", "std"):
        for dims, correction in (((0,), 0), ((1, 2), 1)):
            yield from reduced(op, (3, 4, 2), correction=correction, dims=dims).cases()
    yield reduced("var", (4, 2), correction=1, dims=(0,)).second()
    yield reduced("log_sum_exp", (4, 2), dims=(1,)).second()
    yield reduced("prod", (3, 2), dims=(0,)).second()

    def loss(c):
        a, b = c.leaf(5, 3), positive(c, 5, 3)
        return c.reduced("cross_entropy_loss", a, b), a, b

    yield from Differentiated("cross_entropy_loss", loss).cases()


def attention():
    def rope(label, shape, positions, factors=False, **attrs):
        def made(c):
            a = c.leaf(*shape)
            f = positive(c, (attrs.get("n_dims") or shape[0]) // 2) if factors else None
            return c.rope(a, c.numbers(*positions), f, **attrs), a

        return Differentiated(f"rope_{label}", made)

    yield from rope("normal", (6, 2, 3), (0, 5, 2)).cases()
    yield from rope("neox", (8, 1, 2), (3, 1), mode="neox", n_dims=4, factors=True).cases()
    yield from rope("inverse", (4, 1, 2), (3, 1), inverse=1).cases()
    yield from rope("mrope", (8, 1, 2), (3, 1, 2, 5, 4, 0, 1, 1), mode="mrope", sections=(1, 1, 1, 1)).cases()
    yield from rope("yarn", (8, 1, 2), (30, 11), freq_scale=0.25, ext_factor=1, attn_factor=1.2, n_ctx_orig=64).cases()

    def attended(label, q, k, v, mask=None, sinks=False, **attrs):
        def made(c):
            a = [c.leaf(*q), c.leaf(*k), c.leaf(*v)]
            m, s = c.leaf(*mask) if mask else None, c.leaf(q[2]) if sinks else None
            return (c.flash_attn_ext(*a, m, s, **attrs), *a, *[t for t in (m, s) if t])

        return Differentiated(f"flash_attn_ext_{label}", made)

    yield from attended("plain", (4, 3, 2), (4, 5, 2), (3, 5, 2), scale=0.25).cases()
    yield from attended("shared", (4, 2, 4, 1), (4, 3, 2), (4, 3, 2), mask=(3, 3), scale=0.25).cases()
    yield from attended("all", (3, 2, 3, 2), (3, 4, 1, 1), (2, 4, 1, 1), mask=(4, 2, 1, 2), sinks=True, scale=0.3, max_bias=4.0, logit_softcap=3.0).cases()


def triangles():
    for label, lower, unit in [("lower", 1, 0), ("upper_unit", 0, 1)]:

        def make(c, lower=lower, unit=unit):
            a, b = c.leaf(3, 3, 2, put={i * 4 + 9 * j: 5 for i in range(3) for j in range(2)}), c.leaf(2, 3, 2)
            return c.solve_tri(a, b, lower=lower, unit=unit), a, b

        yield from Differentiated(f"solve_tri_{label}", make).cases()


def convolution():
    def made(label, op, a, b, **attrs):
        def make(c):
            x, y = c.leaf(*a), c.leaf(*b)
            return c.windowed(op, x, y, **attrs), x, y

        return Differentiated(f"{op}_{label}", make)

    for label, a, b, attrs in [("plain", (3, 2, 2), (6, 2, 2), {}), ("all", (3, 1, 2), (8, 1, 2), {"s": 2, "p": 2, "d": 2})]:
        yield from made(label, "conv_1d", a, b, **attrs).cases()
    yield from made("all", "conv_1d_dw", (3, 1, 2), (8, 2, 2), s=2, p=1, d=2).cases()
    yield from made("plain", "conv_1d_dw", (3, 1, 2), (6, 2, 2), p=1).cases()
    yield from made("plain", "conv_2d_dw", (2, 3, 1, 2), (5, 4, 2, 2), p0=1, p1=2, d0=2).cases()
    yield from made("all", "conv_transpose_1d", (3, 2, 2), (3, 2, 2), s=2, p=1, d=2).cases()
    for label, a, b, attrs in [("plain", (2, 3, 2, 2), (4, 4, 2, 1), {}), ("strides", (2, 2, 1, 2), (5, 6, 1, 2), {"s0": 2, "s1": 3, "p0": 1}),
                               ("all", (3, 2, 1, 2), (6, 5, 1, 1), {"s0": 2, "s1": 2, "p0": 2, "p1": 1, "d0": 2})]:
        yield from made(label, "conv_2d", a, b, **attrs).cases()
    yield from made("all", "conv_2d_dw", (2, 3, 1, 2), (5, 5, 2, 2), s0=2, s1=1, p0=1, p1=1, d1=2).cases()
    yield from made("all", "conv_transpose_2d", (2, 3, 2, 2), (3, 2, 2, 1), stride=2, p0=1, d1=2).cases()

    def im2col(label, a, b, **attrs):
        def make(c):
            y = c.leaf(*b)
            return c.windowed("im2col", c.leaf(*a), y, **attrs), y

        return Differentiated(f"im2col_{label}", make)

    yield from im2col("signals", (3, 2, 1), (6, 2, 2), s0=2, p0=1).cases()
    yield from im2col("images", (2, 3, 2, 1), (4, 5, 2, 2), s0=1, s1=2, p0=1, d1=1, is_2D=1).cases()

    def pooled(op, label, shape, /, **attrs):
        def make(c):
            a = c.leaf(*shape)
            return c.windowed(op, a, **attrs), a

        return Differentiated(f"{op}_{label}", make)

    def limited(op, label, shape, /, **attrs):
        """A maximum of no element is so large that differences of sums with it would be 0."""

        def make(c):
            a = c.leaf(*shape)
            return c.elementwise("clamp", c.windowed(op, a, **attrs), min=-5, max=5), a

        return Differentiated(f"{op}_{label}", make)

    for kind in ("max", "avg"):
        yield from pooled("pool_1d", kind, (7, 2, 2), op=kind, k=3, s=2, p=1).cases()
        yield from pooled("pool_2d", kind, (6, 5, 2), op=kind, k0=2, k1=2).cases()
        yield from pooled("pool_2d", f"{kind}_all", (5, 6, 1, 2), op=kind, k0=3, k1=2, s0=1, s1=3, p0=2, p1=1).cases()
        yield from limited("pool_1d", f"{kind}_far", (5, 2), op=kind, k=2, s=1, p=4).cases()
        yield from limited("pool_2d", f"{kind}_far", (3, 2, 2), op=kind, k0=2, k1=1, s0=1, s1=1, p0=3, p1=2).cases()
    yield from pooled("pool_1d", "avg_padding", (7, 2), op="avg", k=3, s=2, p=1, count_padding=1).cases()
    yield from pooled("pool_2d", "avg_skip", (5, 6), op="avg", k0=3, k1=2, s0=1, s1=3, p0=2, p1=1, skip_padding=1).cases()
    yield from pooled("upscale", "bicubic", (3, 4), ne=(5, 3, 1, 1), mode="bicubic", align_corners=1).cases()
    yield from pooled("upscale", "antialias", (7, 3), ne=(3, 5, 1, 1), mode="bilinear", antialias=1).cases()
    yield from pooled("upscale", "antialias_alone", (3, 3), ne=(3, 3, 1, 1), mode="bilinear", antialias=1).cases()
    for mode in ("nearest", "bilinear"):
        yield from pooled("upscale", mode, (3, 2, 2), factor=3, mode=mode).cases()
        yield from pooled("upscale", f"{mode}_to", (3, 4, 2), ne=(5, 2, 2, 2), mode=mode).cases()
        yield from pooled("upscale", f"{mode}_by_2", (4, 3, 1, 2), factor=2, mode=mode).cases()
        yield from pooled("upscale", f"{mode}_of_a_row", (4, 1), factor=4, mode=mode).cases()
        yield from pooled("upscale", f"{mode}_of_a_pixel", (1, 1, 2), factor=3, mode=mode).cases()
        yield pooled("upscale", mode, (3, 2), factor=2, mode=mode).second()


def refusals():
    def refused(label, status, words, make):
        c = Case(f"gradients/error_{label}")
        y, seed, t = make(c)
        return c.fails(status, ("gradients", *words), "gradient", y, seed, t)

    yield refused("seed", "INVALID_ARGUMENT", ("[3, 2] f32", "no seed", "one element"), lambda c: (c.elementwise("sqr", a := c.leaf(3, 2)), None, a))
    yield refused("seed_shape", "SHAPE_MISMATCH", ("[3, 2] f32", "[2, 3] f32"), lambda c: (c.elementwise("sqr", a := c.leaf(3, 2)), c.leaf(2, 3), a))
    yield refused("seed_type", "TYPE_MISMATCH", ("seed 0", "f16", "f32 is valid"), lambda c: (c.elementwise("sqr", a := c.leaf(3)), c.leaf(3, dtype="f16"), a))
    yield refused("type", "TYPE_MISMATCH", ("tensor 0", "i32", "f32, f16 or bf16"), lambda c: (c.elementwise("sqr", c.leaf(1)), None, c.leaf(3, dtype="i32")))
    yield refused("type_of_blocks", "TYPE_MISMATCH", ("tensor 0", "q4_0"), lambda c: (c.elementwise("sqr", c.leaf(1)), None, c.zero_blocks("q4_0", 32)))
    yield refused("output", "TYPE_MISMATCH", ("output 0", "i32"), lambda c: (c.reduced("argmax", a := c.leaf(5), dims=0), None, a))

    def overlapping(c):
        a = c.leaf(8)
        return c.view(a, (4, 3), (8,)), c.leaf(4, 3), a

    yield refused("f64", "UNSUPPORTED", ("2 nodes", "cast", "sqr", "f64", "f32, f16 or bf16 is valid", "stop_gradient"), lambda c: (c.elementwise("abs", c.cast(c.elementwise("sqr", c.cast(a := c.leaf(1), "f64")), "f32")), None, a))
    yield refused("overlap", "UNSUPPORTED", ("1 node", "view", "overlap"), overlapping)


def cases():
    for part in (elementwise, chain, products, sparse, movement, rows, attention, triangles, convolution, refusals):
        yield from part()
