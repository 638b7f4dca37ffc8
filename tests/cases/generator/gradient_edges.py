"""Gradients where functions end, bend or leave the range of floats: the expected values are written here, because differences say nothing there."""

import math

from .gradients import BOUND, STRAIGHT, known, weighted
from .model import Case

INF = math.inf
LARGEST = 3.4028234663852886e38


def edge(name, make, *wanted):
    """make(c) gives the output, its seed (None: the output is one element), and the tensors that it is differentiated by."""
    for place, values in enumerate(wanted):
        c = Case(f"gradient_edges/{name}" + (f"_{'abcde'[place]}" if len(wanted) > 1 else ""))
        y, seed, *wrt = make(c)
        t = wrt[place]
        # The bound is of the largest finite gradient; those that are not finite are exact.
        finite = [abs(v) for v in values if math.isfinite(v)]
        made = known(c._op("gradient", y, seed, t), t, [y, seed, t], values, 0.0)
        off = BOUND * max(finite, default=0.0)
        flat = made.op
        made.op = lambda index, flat=flat, off=off: (flat(index)[0], off if math.isfinite(flat(index)[0]) else 0.0)
        yield c.out(made)


def values(c, *numbers, shape=None):
    return c.leaf(*(shape or (len(numbers),)), put=dict(enumerate(numbers)))


def with_ones(c, y):
    """The output and a seed, which is that of its sum. (The sum of large elements would have no order-free answer.)"""
    return y, values(c, *[1.0] * y.n_elements(), shape=y.ne)


def unary():
    def of(op, points, wanted, **attrs):
        def make(c):
            a = values(c, *points)
            return *with_ones(c, c.elementwise(op, a, **attrs)), a

        return edge(f"{op}_{len(points)}", make, wanted)

    far = (-INF, -LARGEST, -2e19, -200.0, 200.0, 2e19, 2.5e38, LARGEST)
    for op in STRAIGHT:
        yield from of(op, far, [0.0] * 4 + [1.0] * 4)
    for op in ("sigmoid", "tanh", "erf"):
        yield from of(op, (*far, INF), [0.0] * 9)
    yield from of("elu", far, [0.0] * 4 + [1.0] * 4)
    yield from of("abs", (0.0, -0.0, -2.0, INF), [0.0, 0.0, -1.0, 1.0])
    yield from of("relu", (0.0, -0.0, -INF, INF), [0.0, 0.0, 0.0, 1.0])
    yield from of("clamp", (-1.5, 0.75, -1.75, 1.0, INF, -INF), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0], min=-1.5, max=0.75)
    yield from of("leaky_relu", (2.0, -2.0, 0.0), [1.0, 1e9, 1e9], slope=1e9)
    yield from of("hardsigmoid", (-3.0, 3.0, -INF, INF), [0.0] * 4)

    def masked(op, wanted):
        def make(c):
            a, keep, nothing = values(c, 0.0, 4.0, 0.0), values(c, 0.0, 1.0, 1.0), values(c, 0.0)
            return *with_ones(c, c.elementwise("where", keep, c.elementwise(op, a), nothing)), a

        return edge(f"{op}_masked", make, wanted)

    yield from masked("sqrt", [0.0, 0.25, INF])
    yield from masked("log", [0.0, 0.25, INF])


def powers():
    def make(a, b):
        def made(c):
            x, y = values(c, *a), values(c, *b)
            return *with_ones(c, c.elementwise("pow", x, y)), x, y

        return made

    yield from edge("pow", make((0.0, 0.0, 2.0, 2.0, INF, INF), (0.0, 1.0, 0.0, 1.0, 0.0, -1.0)),
                    [0.0, 1.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, math.log(2), 2 * math.log(2), INF, 0.0])
    yield from edge("pow_of_negative", make((-2.0, -2.0), (0.0, 3.0)), [0.0, 12.0])


def gates():
    for limit in (2.5, 1e38):
        def make(c, limit=limit):
            gate, up = values(c, limit, -INF, limit, -200.0), values(c, 0.5, 0.5, -0.25, 3.0)
            return *with_ones(c, c.glu("swiglu_oai", gate, up, split=True, alpha=1.0, limit=limit)), gate

        s = 1 / (1 + math.exp(-limit)) if limit < 100 else 1.0
        slope = s + (limit * s * (1 - s) if limit < 100 else 0.0)
        yield from edge(f"swiglu_oai_{limit:g}", make, [slope * 1.5, 0.0, slope * 0.75, 0.0])


def rows():
    def l2_norm(c):
        a = values(c, 0.0, 0.0, 0.25, 0.0, shape=(2, 2))
        return c.by_row("l2_norm", a, eps=0.25), values(c, 3.0, 1.0, 3.0, 1.0, shape=(2, 2)), a

    yield from edge("l2_norm", l2_norm, [12.0, 4.0, 12.0, 4.0])

    def rms_norm(c):
        a = values(c, 0.0, 0.0)
        return c.by_row("rms_norm", a, eps=0.25), values(c, 3.0, 1.0), a

    yield from edge("rms_norm", rms_norm, [6.0, 2.0])

    def masked(c):
        a, sinks = values(c, 1.0, 2.0, 3.0, 4.0, shape=(2, 2, 1)), values(c, 1.0)
        mask = values(c, 0.0, -INF, -INF, -INF, shape=(2, 2))
        return weighted(c, a, mask, sinks), values(c, 3.0, 1.0, 2.0, 5.0, shape=(2, 2, 1)), a, mask, sinks

    def loss(c):
        """The first row is masked altogether and has no labels."""
        a, b = values(c, -INF, -INF, 1.0, 1.0, -INF, 0.0, shape=(2, 3)), values(c, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, shape=(2, 3))
        return c.reduced("cross_entropy_loss", a, b), None, a

    yield from edge("cross_entropy_loss", loss, [0.0, 0.0, -1 / 6, 1 / 6, 0.0, 0.0])

    yield from edge("masked_rows", masked, [0.75, 0.0, 0.0, 0.0], [0.75, 0.0, 0.0, 0.0], [-0.75])


def windows():
    def flat(c):
        a = values(c, -INF, -INF, 1.0, 2.0)
        return c.windowed("pool_1d", a, op="max", k=3, s=1, p=1), values(c, 1.0, 10.0, 100.0, 1000.0), a

    yield from edge("pool_1d_max", flat, [1.0, 0.0, 10.0, 1100.0])

    def image(c):
        a = values(c, -INF, -INF, -5.0, -INF, -INF, -INF, shape=(3, 2))
        return c.windowed("pool_2d", a, op="max", k0=3, k1=2, s0=2, s1=2, p0=1, p1=1), values(c, 1.0, 2.0, 4.0, 8.0, shape=(2, 2)), a

    yield from edge("pool_2d_max", image, [1.0, 0.0, 2.0, 4.0, 8.0, 0.0])

    def tiles(c):
        a = values(c, 1.0, 2.0, -INF, -INF)
        return c.windowed("pool_1d", a, op="max", k=2), values(c, INF, 3.0), a

    yield from edge("pool_1d_max_of_tiles", tiles, [0.0, INF, 3.0, 0.0])


def experts():
    """What a column without an expert holds is not looked at, and a NaN stays with its expert."""

    def make(numbers):
        def made(c):
            a, b = c.leaf(2, 2, 2), values(c, math.nan, 1.0, 3.0, 1.0, shape=(2, 1, 2))
            y = c.mul_mat_id(a, b, c.numbers(*numbers, shape=(1, 2)))
            return *with_ones(c, y), a

        return made

    yield from edge("mul_mat_id_minus_one", make((-1, 1)), [0.0] * 4 + [3.0, 1.0, 3.0, 1.0])
    yield from edge("mul_mat_id_nan", make((0, 1)), [math.nan, 1.0, math.nan, 1.0, 3.0, 1.0, 3.0, 1.0])


def cases():
    for part in (experts, unary, powers, gates, rows, windows):
        yield from part()
