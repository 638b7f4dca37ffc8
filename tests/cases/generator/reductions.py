"""reductions: sums, means and running sums; rows of any length and stride, special values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
SUMS = ("sum", "sum_rows", "mean", "cumsum")


def sums(op):
    def made(label, *ne, dtype="f32", put=None):
        c = Case(f"reductions/{op}_{label}")
        return c.out(c.reduced(op, c.leaf(*ne, dtype=dtype, put=put)))

    for ne in [(1,), (33, 5, 2), (7, 3, 2, 4), (256, 2), (1, 9)]:
        yield made("x".join(map(str, ne)), *ne)
    # Past a block of 1024.
    yield made("2100", 2100)
    yield made("0_rows", 5, 0)
    yield made("rows_of_0", 0, 3)
    for dtype in ("f16", "bf16"):
        yield made(dtype, 37, 3, dtype=dtype)
    yield made("special", 20, 6, put={0: NAN, 21: INF, 45: -INF, 61: INF, 62: -INF, 80: -0.0, 100: 2.0**-149, 119: 2.0**-140})
    yield made("zeros_below", 3, put={0: -0.0, 1: -0.0, 2: -0.0})
    c = Case(f"reductions/{op}_transposed")
    yield c.out(c.reduced(op, c.transpose(c.leaf(3, 41))))
    c = Case(f"reductions/{op}_window")
    yield c.out(c.reduced(op, c.view(c.leaf(40, 6, 2), (33, 4, 2), (160, 960), 164)))
    c = Case(f"reductions/{op}_repeated_row")
    yield c.out(c.reduced(op, c.view(c.leaf(17), (17, 3), (0,))))
    c = Case(f"reductions/{op}_of_a_product")
    yield c.out(c.reduced(op, c.mul_mat(c.leaf(16, 9), c.leaf(16, 3))))
    for dtype in ("i32", "f64"):
        c = Case(f"reductions/{op}_error_{dtype}")
        yield c.fails("TYPE_MISMATCH", (op, f"a is [4] {dtype}", "f32, f16 or bf16"), op, c.leaf(4, dtype=dtype))


def cases():
    for op in SUMS:
        yield from sums(op)
