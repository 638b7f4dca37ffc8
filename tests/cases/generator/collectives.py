"""Operations of a group of one rank: every type, dimensions, views, sizes 1 and 0, gradients, refusals."""

from .model import Case

REDUCED = ("f32", "f16", "bf16", "f64", "i32", "i64")
MOVED = (*REDUCED, "i8", "i16", "u8", "bool")
# The operations with what they take; for one rank each gives the operand.
OPS = {"all_sum": {}, "all_max": {}, "all_gather": {"dim": 1}, "sum_scatter": {"dim": 0}, "broadcast": {"root": 0}, "all_to_all": {"dim": 2},
       "copy_to_group": {}}
INF, NAN = float("inf"), float("nan")


def case(op, label):
    return Case(f"collectives/{op}_{label}")


def refused(op, label, status, words, *ne, dtype="f32", **attrs):
    c = case(op, f"error_{label}")
    a = c.zero_blocks(dtype, *ne) if dtype.startswith("q") else c.leaf(*ne, dtype=dtype)
    return c.fails(status, (op, *words), op, a, **attrs)


def of_op(op, attrs):
    for dtype in REDUCED if op in ("all_sum", "all_max", "sum_scatter") else MOVED:
        c = case(op, dtype)
        yield c.out(c.moved(op, c.leaf(7, 3, 2, dtype=dtype), **attrs))
    for label, ne in [("one", (1,)), ("empty", (4, 0, 3)), ("four_dimensions", (3, 2, 4, 5)), ("many", (1000, 33))]:
        c = case(op, label)
        yield c.out(c.moved(op, c.leaf(*ne), **attrs))
    c = case(op, "special")
    yield c.out(c.moved(op, c.leaf(6, put={0: NAN, 1: INF, 2: -INF, 3: -0.0, 4: 2.0**-149}), **attrs))
    c = case(op, "transposed")
    yield c.out(c.moved(op, c.transpose(c.leaf(3, 5)), **attrs))
    c = case(op, "part")
    yield c.out(c.moved(op, c.view(c.leaf(10, 4, dtype="f16"), (3, 2), (40,), 2), **attrs))


def cases():
    for op, attrs in OPS.items():
        yield from of_op(op, attrs)
    for dim in range(4):
        for op in ("all_gather", "sum_scatter", "all_to_all"):
            c = case(op, f"dim_{dim}")
            yield c.out(c.moved(op, c.leaf(3, 2, 4, 5), dim=dim))
            if dim == 0:
                yield refused(op, "dim", "INVALID_ARGUMENT", ("attribute dim is 4", "0 to 3"), 4, 3, dim=4)
    c = case("all_gather", "blocks")
    yield c.out(c.cast(c.moved("all_gather", c.blocks("q4_0", 64, 3), dim=1), "f32"))
    c = case("broadcast", "blocks")
    yield c.out(c.cast(c.moved("broadcast", c.blocks("q8_0", 32, 5), root=0), "f32"))
    # One rank sends itself what it receives. The sum of both makes both part of the graph.
    c = case("send", "to_itself")
    a = c.leaf(7, 3)
    yield c.out(c.add(c.moved("send", a, to=0), c.received(c.leaf(7, 3), a, **{"from": 0})))
    for op in ("all_sum", "all_max", "sum_scatter"):
        more = OPS[op]
        yield refused(op, "type", "TYPE_MISMATCH", ("u8", "f32, f16, bf16, f64, i32 or i64 is valid"), 4, dtype="u8", **more)
        yield refused(op, "blocks", "TYPE_MISMATCH", ("q4_0",), 32, dtype="q4_0", **more)
    yield refused("all_gather", "blocks", "TYPE_MISMATCH", ("q4_0", "dim is 0", "1 to 3"), 32, 2, dtype="q4_0", dim=0)
    yield refused("all_to_all", "blocks", "TYPE_MISMATCH", ("q4_0", "dim is 0"), 32, 2, dtype="q4_0", dim=0)
    yield refused("broadcast", "root", "INVALID_ARGUMENT", ("root is 1", "0 to 0"), 4, root=1)
    yield refused("broadcast", "negative", "INVALID_ARGUMENT", ("root is -1",), 4, root=-1)
    yield refused("send", "to", "INVALID_ARGUMENT", ("to is 3", "0 to 0"), 4, to=3)
    yield refused("receive", "from", "INVALID_ARGUMENT", ("from is 1", "0 to 0"), 4, **{"from": 1})
