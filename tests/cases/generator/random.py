"""Random numbers by a counter: seeds, counters and streams, shapes, sizes 1 and 0, views, types, special values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
# Each half, and both, of seed and counter. Leafs are filled by way of F32, which represents these
# values.
STATES = {"zero": (0, 0), "small": (7, 3), "negative": (-1, -2), "high": (5 << 32, 3 << 40), "far": (-(1 << 63), 1 << 62)}
STATE = STATES["small"]


def state_of(c, values=STATE):
    return c.numbers(*values, dtype="i64")


def drawn(op, label, ne, state=STATE, **attrs):
    c = Case(f"random/{op}_{label}")
    return c.out(c.drawn(op, state_of(c, state), ne=ne, **attrs))


UNIFORM = {"low": 0, "high": 1, "stream": 0}
NORMAL = {"mean": 0, "deviation": 1, "stream": 0}


def shapes(op, attrs):
    for label, state in STATES.items():
        yield drawn(op, f"state_{label}", (9, 2, 1, 1), state, **attrs)
    for stream in (1, 2147483647):
        yield drawn(op, f"stream_{stream}", (9, 1, 1, 1), **{**attrs, "stream": stream})
    for label, ne in [("one", (1, 1, 1, 1)), ("odd", (7, 5, 3, 1)), ("four", (3, 2, 2, 3)), ("columns", (1, 13, 1, 1)), ("empty", (0, 3, 1, 1)),
                      ("no_rows", (4, 0, 2, 1)), ("piece", (1024, 1, 1, 1)), ("pieces", (1023, 5, 1, 1)), ("long", (70001, 1, 1, 1))]:
        yield drawn(op, label, ne, **attrs)
    c = Case(f"random/{op}_strided_state")
    # Every second of four numbers.
    yield c.out(c.drawn(op, c.view(c.transpose(c.numbers(7, 0, 3, 0, dtype="i64", shape=(2, 2))), (2,)), ne=(5, 1, 1, 1), **attrs))
    c = Case(f"random/{op}_two_streams")
    state = state_of(c)
    other = {**attrs, "stream": attrs["stream"] + 5}
    yield c.out(c.add(c.drawn(op, state, ne=(33, 1, 1, 1), **attrs), c.drawn(op, state, ne=(33, 1, 1, 1), **other)))
    yield from state_refusals(op, lambda c, state: [state], {"ne": (4, 1, 1, 1), **attrs})
    for label, words, ne in [("negative", ("ne is -1",), (-1, 1, 1, 1)), ("many", ("up to 2^34",), (1 << 17, 1 << 17, 2, 1)),
                             ("overflow", ("more bytes",), (1 << 40, 1 << 40, 1, 1))]:
        c = Case(f"random/{op}_error_{label}")
        yield c.fails("INVALID_ARGUMENT", (op, *words), op, state_of(c), ne=ne, **attrs)
    yield from stream_refusals(op, lambda c: [state_of(c)], {"ne": (4, 1, 1, 1), **attrs})


def state_refusals(op, operands, attrs):
    for label, status, words, dtype, ne in [("state_type", "TYPE_MISMATCH", ("state is [2] i32",), "i32", (2,)),
                                            ("state_floats", "TYPE_MISMATCH", ("state is [2] f32",), "f32", (2,)),
                                            ("state_long", "SHAPE_MISMATCH", ("state is [3] i64",), "i64", (3,)),
                                            ("state_rows", "SHAPE_MISMATCH", ("state is [2, 2] i64",), "i64", (2, 2))]:
        c = Case(f"random/{op}_error_{label}")
        yield c.fails(status, (op, *words, "a state of [2] i64, a seed and a counter, is valid"), op, *operands(c, c.leaf(*ne, dtype=dtype)), **attrs)


def stream_refusals(op, operands, attrs):
    for label, stream in (("stream_negative", -1), ("stream_large", 1 << 31)):
        c = Case(f"random/{op}_error_{label}")
        yield c.fails("INVALID_ARGUMENT", (op, f"stream is {stream}", "0 to 2147483647 is valid"), op, *operands(c), **{**attrs, "stream": stream})


def uniforms():
    op = "random_uniform"
    yield from shapes(op, UNIFORM)
    for label, low, high in [("bounds", -0.1, 0.3), ("same", 2.5, 2.5), ("large", -1e38, 2e38), ("subnormal", 0, 1e-44), ("near", 1, 1 + 2**-22),
                             ("negative", -3, -1)]:
        yield drawn(op, label, (40, 1, 1, 1), low=low, high=high, stream=3)
    for label, words, low, high in [("falls", ("low is 1", "high is 0.5", "no less than low"), 1, 0.5), ("nan", ("attribute low is NaN",), "nan", 1),
                                    ("infinite", ("high is inf", "finite"), 0, "inf"), ("beyond", ("high is 1e+39", "finite"), 0, 1e39),
                                    ("wide", ("low is -3e+38", "a difference that F32 has"), -3e38, 3e38)]:
        c = Case(f"random/{op}_error_{label}")
        yield c.fails("INVALID_ARGUMENT", (op, *words), op, state_of(c), ne=(4, 1, 1, 1), low=low, high=high, stream=0)


def normals():
    op = "random_normal"
    yield from shapes(op, NORMAL)
    for label, mean, deviation in [("moved", -3.7, 0.1), ("constant", 1.25, 0), ("large", 1e38, 3e37), ("small", 0, 1e-44)]:
        yield drawn(op, label, (40, 1, 1, 1), mean=mean, deviation=deviation, stream=3)
    for label, words, mean, deviation in [("negative_deviation", ("deviation is -1", "at least 0"), 0, -1), ("nan", ("attribute mean is NaN",), "nan", 1),
                                          ("infinite", ("deviation is inf", "finite"), 0, "inf"), ("beyond", ("mean is 1e+39", "finite"), 1e39, 1),
                                          ("wide", ("deviation is 6e+37", "F32 has"), 0, 6e37)]:
        c = Case(f"random/{op}_error_{label}")
        yield c.fails("INVALID_ARGUMENT", (op, *words), op, state_of(c), ne=(4, 1, 1, 1), mean=mean, deviation=deviation, stream=0)


def dropouts():
    op = "dropout"

    def made(label, ne, p=0.3, stream=2, state=STATE, **leaf):
        c = Case(f"random/{op}_{label}")
        return c.out(c.drawn(op, c.leaf(*ne, **leaf), state_of(c, state), p=p, stream=stream))

    for dtype in ("f32", "f16", "bf16"):
        yield made(dtype, (37, 3), dtype=dtype)
        yield made(f"special_{dtype}", (8, 4), p=0.5, dtype=dtype, put={n + 8 * r: v for r in range(4) for n, v in enumerate((NAN, INF, -INF, -0.0))})
    for label, state in STATES.items():
        yield made(f"state_{label}", (9, 2), state=state)
    # The last two drop all: no word is 2^32 - 1/2 or more.
    for label, p in [("none", 0), ("half", 0.5), ("tenth", 0.1), ("most", 0.9), ("little", 2.0**-40), ("all", 1 - 2.0**-33), ("nearly_1", 1 - 2.0**-53)]:
        yield made(f"p_{label}", (40,), p=p)
    for label, ne in [("one", (1,)), ("four", (3, 5, 2, 3)), ("columns", (1, 13)), ("empty", (0, 3)), ("no_rows", (4, 0)), ("pieces", (1023, 5)),
                      ("long", (70001,))]:
        yield made(label, ne)
    yield made("stream_last", (9,), stream=2147483647)
    c = Case(f"random/{op}_transposed")
    yield c.out(c.drawn(op, c.transpose(c.leaf(5, 7)), state_of(c), p=0.3, stream=0))
    c = Case(f"random/{op}_permuted_f16")
    yield c.out(c.drawn(op, c.permute(c.leaf(5, 7, 3, dtype="f16"), 2, 0, 1, 3), state_of(c), p=0.3, stream=0))
    c = Case(f"random/{op}_part")
    yield c.out(c.drawn(op, c.view(c.leaf(10, 4), (3, 2), (80,), 8), state_of(c), p=0.3, stream=0))
    c = Case(f"random/{op}_of_a_node")
    # Whose memory the result may take.
    yield c.out(c.drawn(op, c.add(c.leaf(50, 3), c.leaf(50)), state_of(c), p=0.3, stream=0))
    c = Case(f"random/{op}_of_its_gradient")
    # The gradient's rule: the same words.
    state = state_of(c)
    yield c.out(c.drawn(op, c.drawn(op, c.leaf(40), state, p=0.5, stream=9), state, p=0.5, stream=9))
    attrs = {"p": 0.5, "stream": 0}
    yield from state_refusals(op, lambda c, state: [c.leaf(4), state], attrs)
    yield from stream_refusals(op, lambda c: [c.leaf(4), state_of(c)], attrs)
    for label, p in (("one", 1), ("negative", -0.5), ("infinite", "inf")):
        c = Case(f"random/{op}_error_p_{label}")
        yield c.fails("INVALID_ARGUMENT", (op, f"p is {p}", "0 or more and less than 1 is valid"), op, c.leaf(4), state_of(c), p=p, stream=0)
    c = Case(f"random/{op}_error_nan")
    yield c.fails("INVALID_ARGUMENT", (op, "attribute p is NaN"), op, c.leaf(4), state_of(c), p="nan", stream=0)
    c = Case(f"random/{op}_error_type")
    yield c.fails("TYPE_MISMATCH", (op, "[4] i32", "f32, f16 or bf16"), op, c.leaf(4, dtype="i32"), state_of(c), **attrs)


def cases():
    for part in (uniforms, normals, dropouts):
        yield from part()
