"""out_prod: the product of both operands transposed; odd sizes, types, repetition, views, special values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")


def cases():
    for m, n, k in [(33, 6, 5), (1, 1, 1), (7, 13, 1), (1, 9, 17), (40, 1, 20), (17, 12, 200), (65, 31, 16)]:
        c = Case(f"out_prod/{m}x{n}x{k}")
        yield c.out(c.reduced("out_prod", c.leaf(m, k), c.leaf(n, k)))
    for m, n, k in [(0, 3, 4), (3, 0, 4), (3, 2, 0)]:
        c = Case(f"out_prod/empty_{m}x{n}x{k}")
        yield c.out(c.reduced("out_prod", c.leaf(m, k), c.leaf(n, k)))
    c = Case("out_prod/slices")
    yield c.out(c.reduced("out_prod", c.leaf(9, 7, 2, 1), c.leaf(5, 7, 4, 3)))
    for types in [("f16", "f32"), ("bf16", "f16"), ("f32", "bf16"), ("f64", "f32")]:
        c = Case(f"out_prod/{'_'.join(types)}")
        yield c.out(c.reduced("out_prod", c.leaf(13, 10, dtype=types[0]), c.leaf(9, 10, dtype=types[1])))
    for dtype in ("q4_0", "q8_0", "q6_K"):
        c = Case(f"out_prod/{dtype}")
        yield c.out(c.reduced("out_prod", c.blocks(dtype, 256, 3), c.leaf(5, 3)))
    c = Case("out_prod/views")
    yield c.out(c.reduced("out_prod", c.transpose(c.leaf(6, 21)), c.view(c.leaf(20, 6), (11, 6), (80,), 12)))
    c = Case("out_prod/nan_and_infinity")
    yield c.out(c.reduced("out_prod", c.leaf(9, 7, put={4: NAN, 9 * 6 + 8: INF}), c.leaf(13, 7, put={12: -INF})))
    c = Case("out_prod/plus_bias")
    yield c.out(c.add(c.reduced("out_prod", c.leaf(20, 9), c.leaf(11, 9)), c.leaf(20)))
    c = Case("out_prod/error_k")
    yield c.fails("SHAPE_MISMATCH", ("out_prod", "[3, 4]", "[2, 5]", "second dimensions"), "out_prod", c.leaf(3, 4), c.leaf(2, 5))
    c = Case("out_prod/error_slices")
    yield c.fails("SHAPE_MISMATCH", ("out_prod", "[3, 4, 2]", "[2, 4, 3]"), "out_prod", c.leaf(3, 4, 2), c.leaf(2, 4, 3))
    c = Case("out_prod/error_type")
    yield c.fails("TYPE_MISMATCH", ("out_prod", "i32"), "out_prod", c.leaf(3, 4), c.leaf(2, 4, dtype="i32"))
