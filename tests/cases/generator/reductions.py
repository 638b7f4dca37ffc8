"""reductions: sums, means, running sums, orders, counts and losses; rows of any length and stride, special values, refusals."""

import math

from .model import Case

INF, NAN = float("inf"), float("nan")
SUMS = ("sum", "sum_rows", "mean", "cumsum")
ROWS = {"dims": 0, "keep": 1}


def sums(op):
    attrs = ROWS if op == "mean" else {}

    def made(label, *ne, dtype="f32", put=None):
        c = Case(f"reductions/{op}_{label}")
        return c.out(c.reduced(op, c.leaf(*ne, dtype=dtype, put=put), **attrs))

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
    yield c.out(c.reduced(op, c.transpose(c.leaf(3, 41)), **attrs))
    c = Case(f"reductions/{op}_window")
    yield c.out(c.reduced(op, c.view(c.leaf(40, 6, 2), (33, 4, 2), (160, 960), 164), **attrs))
    c = Case(f"reductions/{op}_repeated_row")
    yield c.out(c.reduced(op, c.view(c.leaf(17), (17, 3), (0,)), **attrs))
    c = Case(f"reductions/{op}_of_a_product")
    yield c.out(c.reduced(op, c.mul_mat(c.leaf(16, 9), c.leaf(16, 3)), **attrs))
    if op == "cumsum":
        for dtype in NUMBERS:
            # A run of 16, a block of 1024.
            for ne in [(1,), (37, 3), (2100, 2)]:
                yield made(f"{dtype}_{'x'.join(map(str, ne))}", *ne, dtype=dtype)
            c = Case(f"reductions/{op}_{dtype}_permuted")
            yield c.out(c.reduced(op, c.permute(c.leaf(5, 4, 18, dtype=dtype), 1, 2, 0, 3)))
        yield made("i64_0_rows", 5, 0, dtype="i64")
        yield made("i64_wraps", 20, dtype="i64", put={i: 2**62 for i in range(20)})
        yield made("i32_does_not_wrap", 20, dtype="i32", put={i: 2**30 for i in range(20)})
        yield made("f64_special", 20, 6, dtype="f64", put={0: NAN, 21: INF, 45: -INF, 61: INF, 62: -INF, 80: -0.0, 100: 2.0**-149})
        c = Case(f"reductions/{op}_error_type")
        yield c.fails("TYPE_MISMATCH", (op, "a is [32] q4_0", "a float, an integer or bool"), op, c.zero_blocks("q4_0", 32))


# What is not F32, F16 or BF16.
NUMBERS = ("i8", "i16", "i32", "i64", "u8", "bool", "f64")
# The ends of the types, and neighbours that F32 cannot tell apart.
ENDS = {
    "i32": [5, -(2**31), 2**31 - 128, 0, -1, -(2**31) + 128, 2**31 - 256],
    "i64": [5, -(2**63), 2**63 - 2**39, 0, -1, 2**32, -(2**32), 1 - 2**24, 2**63 - 2**40],
    "f64": [0, 2.0**-149, -(2.0**-149), 1, 1 - 2.0**-24, -1, 2.0**127, -(2.0**127)],
}

# Rows whose order is told by few elements, or by their places alone.
SPECIAL = {0: NAN, 1: -0.0, 2: 0.0, 3: INF, 4: -INF, 5: NAN, 6: 2.0**-149, 7: -(2.0**-149), 8: INF, 9: -INF}


def orders():
    for op, attrs in [("argmax", {"dims": 0}), ("argsort", {"order": "asc"}), ("argsort", {"order": "desc"}), ("top_k", {"k": 4})]:

        name = "_".join(map(str, (op, *(value for key, value in attrs.items() if key != "dims"))))

        def made(label, *ne, dtype="f32", put=None):
            c = Case(f"reductions/{name}_{label}")
            return c.out(c.reduced(op, c.leaf(*ne, dtype=dtype, put=put), **attrs))

        for ne in [(33, 5, 2), (4, 3, 2, 2), (300, 2)]:
            yield made("x".join(map(str, ne)), *ne)
        yield made("special", 13, 2, put={**SPECIAL, **{13 + i: NAN for i in range(13)}})
        yield made("equal", 20, 2, put={i: i // 5 % 2 for i in range(40)})
        yield made("0_rows", 5, 0)
        yield made("f16", 21, 3, dtype="f16", put={3: NAN, 25: INF})
        yield made("bf16", 300, dtype="bf16")
        c = Case(f"reductions/{name}_permuted")
        yield c.out(c.reduced(op, c.permute(c.leaf(3, 2, 29), 1, 2, 0, 3), **attrs))
        if op != "argmax":
            for dtype in NUMBERS:
                for ne in [(33, 5, 2), (300, 2)]:
                    yield made(f"{dtype}_{'x'.join(map(str, ne))}", *ne, dtype=dtype)
                c = Case(f"reductions/{name}_{dtype}_permuted")
                yield c.out(c.reduced(op, c.permute(c.leaf(3, 2, 29, dtype=dtype), 1, 2, 0, 3), **attrs))
            yield made("f64_special", 13, 2, dtype="f64", put={**SPECIAL, **{13 + i: NAN for i in range(13)}})
            for dtype, ends in ENDS.items():
                yield made(f"{dtype}_ends", len(ends), dtype=dtype, put=dict(enumerate(ends)))
            yield made("i64_equal", 20, 2, dtype="i64", put={i: i // 5 % 2 for i in range(40)})
            yield made("i64_0_rows", 5, 0, dtype="i64")
            c = Case(f"reductions/{name}_error_type")
            yield c.fails("TYPE_MISMATCH", (op, "a is [32] q4_0", "a float, an integer or bool"), op, c.zero_blocks("q4_0", 32), **attrs)
    for label, n, k in [("all", 40, 40), ("none", 7, 0), ("one", 300, 1), ("many", 1500, 400), ("of_nothing", 0, 0)]:
        c = Case(f"reductions/top_k_{label}")
        yield c.out(c.reduced("top_k", c.leaf(n, 2), k=k))
    c = Case("reductions/argsort_empty_rows")
    yield c.out(c.reduced("argsort", c.leaf(0, 3)))
    c = Case("reductions/argsort_without_order")
    yield c.out(c.reduced("argsort", c.leaf(9, 2)))
    c = Case("reductions/argsort_long")
    yield c.out(c.reduced("argsort", c.leaf(2100), order="desc"))
    c = Case("reductions/argmax_one_element")
    yield c.out(c.reduced("argmax", c.leaf(1, put={0: NAN}), dims=0))
    c = Case("reductions/argmax_long")
    yield c.out(c.reduced("argmax", c.leaf(2100, 2, put={1999: 5, 2050: 5, 2100: 5}), dims=0))
    c = Case("reductions/best_rows")
    # The rows that an order names, in that order.
    rows = c.leaf(6, 9)
    yield c.out(c.shaped("index_select", rows, c.reduced("top_k", c.leaf(9), k=3), dim=1))
    c = Case("reductions/argmax_error_empty")
    yield c.fails("SHAPE_MISMATCH", ("argmax", "a is [0, 3] f32", "at least one element"), "argmax", c.leaf(0, 3), dims=0)
    c = Case("reductions/top_k_error_beyond")
    yield c.fails("INVALID_ARGUMENT", ("top_k", "a is [4, 2] f32", "k is 5", "0 to 4"), "top_k", c.leaf(4, 2), k=5)
    c = Case("reductions/top_k_error_negative")
    yield c.fails("INVALID_ARGUMENT", ("top_k", "k is -1"), "top_k", c.leaf(4, 2), k=-1)


# Over which dimensions, of what shape.
OVER = [((), (7, 5, 3)), ((0,), (37, 3, 2)), ((1,), (6, 35, 2)), ((2,), (5, 2, 9)), ((3,), (3, 2, 2, 4)), ((0, 2), (5, 3, 4)), ((1, 2), (4, 3, 5, 2)), ((0, 1, 3), (3, 4, 2, 3))]


def over_dims(op, **attrs):
    def named(label):
        return Case(f"reductions/{'_'.join(map(str, (op, *attrs.values())))}_dims_{label}")

    # Few factors, near 1 or -1, so that the product of all is near enough to 1.
    def elements(*ne, **more):
        near = {i: (-1) ** (i // 3 % 5) * (1 + (i * 7 % 11 - 5) / 64) for i in range(math.prod(ne))}
        return {"put": near, **more} if op == "prod" else more

    def leaf(c, *ne, **more):
        return c.leaf(*ne, **elements(*ne, **more))

    for dims, ne in OVER:
        c = named("".join(map(str, dims)) or "all")
        yield c.out(c.reduced(op, leaf(c, *ne), **({"dims": dims} if dims else {}), **attrs))
    c = named("kept")
    yield c.out(c.reduced(op, leaf(c, 4, 3, 5), dims=(0, 2), keep=1, **attrs))
    c = named("kept_all")
    yield c.out(c.reduced(op, leaf(c, 4, 3), keep=1, **attrs))
    # Past a block of 32 rows and one of 1024 elements.
    c = named("many_rows")
    yield c.out(c.reduced(op, leaf(c, 3, 70), dims=1, **attrs))
    c = named("long_rows")
    yield c.out(c.reduced(op, leaf(c, 1100, 2), dims=0, **attrs))
    for dtype in ("f16", "bf16"):
        c = named(dtype)
        yield c.out(c.reduced(op, leaf(c, 9, 34, dtype=dtype), dims=1, **attrs))
    c = named("permuted")
    yield c.out(c.reduced(op, c.permute(leaf(c, 5, 4, 6), 1, 2, 0, 3), dims=(0, 1), **attrs))
    c = named("window")
    yield c.out(c.reduced(op, c.view(leaf(c, 10, 6, 2), (7, 4, 2), (40, 240), 44), dims=1, **attrs))
    c = named("special")
    special = {0: NAN, 11: INF, 22: -INF, 33: INF, 35: -INF, 44: -0.0, 45: 0.0, 46: -0.0}
    yield c.out(c.reduced(op, c.leaf(10, 5, put={**{i: 1.0 + i % 3 for i in range(50)}, **special}), dims=0, **attrs))
    c = named("special_columns")
    yield c.out(c.reduced(op, c.leaf(5, 10, put={**{i: 1.0 + i % 3 for i in range(50)}, **special}), dims=1, **attrs))
    c = named("zeros")
    yield c.out(c.reduced(op, c.leaf(3, 4, put={i: [0.0, -0.0][i % 2] for i in range(12)}), dims=0, **attrs))
    c = named("one_element")
    yield c.out(c.reduced(op, c.leaf(1, put={0: -2.5}), **attrs))
    c = named("of_no_group")
    yield c.out(c.reduced(op, c.leaf(3, 0), dims=0, **attrs))
    c = named("of_nothing")
    if op in ("max", "min", "argmax", "argmin"):
        yield c.fails("SHAPE_MISMATCH", (op, "a is [3, 0] f32", "at least one element"), op, c.leaf(3, 0), dims=1, **attrs)
    else:
        yield c.out(c.reduced(op, c.leaf(3, 0), dims=1, **attrs))
    for dtype in ("i8", "i16", "i32", "i64", "u8", "bool", "f64"):
        # Few numbers besides 1 and -1, so that F32 has their product.
        def some(c, *ne):
            values = {i: 1 if i % 7 else 3 if dtype != "bool" else 0 for i in range(math.prod(ne))}
            if dtype[0] in "if":
                values |= {i: -1 for i in range(0, math.prod(ne), 11)}
            return c.leaf(*ne, dtype=dtype, put=values if op in ("prod", "any", "all") else None)

        for dim, ne in ((0, (35, 2)), (1, (3, 35))):
            c = named(f"{dtype}_{dim}")
            yield c.out(c.reduced(op, some(c, *ne), dims=dim, **attrs))
        c = named(f"{dtype}_all_permuted")
        yield c.out(c.reduced(op, c.permute(some(c, 5, 4, 3), 1, 2, 0, 3), **attrs))
    c = named("f64_special")
    yield c.out(c.reduced(op, c.leaf(10, 5, dtype="f64", put={**{i: 1.0 + i % 3 for i in range(50)}, **special}), dims=0, **attrs))
    c = named("f64_zeros")
    yield c.out(c.reduced(op, c.leaf(3, 4, dtype="f64", put={i: [0.0, -0.0][i % 2] for i in range(12)}), dims=1, **attrs))
    c = named("error_type")
    yield c.fails("TYPE_MISMATCH", (op, "a is [32] q4_0", "a float, an integer or bool"), op, c.zero_blocks("q4_0", 32), **attrs)
    if "correction" in attrs:
        c = named("error_correction")
        yield c.fails("INVALID_ARGUMENT", (op, "correction is -1"), op, c.leaf(4), correction=-1)


def counts():
    few = {i: i % 3 for i in range(60)}
    other = {i: i % 5 for i in range(60)}
    for dtype in ("f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "bool"):
        c = Case(f"reductions/count_equal_{dtype}")
        yield c.out(c.reduced("count_equal", c.leaf(10, 3, 2, dtype=dtype, put=few), c.leaf(10, 3, 2, dtype=dtype, put=other)))
    c = Case("reductions/count_equal_special")
    some = [NAN, NAN, 0, -0.0, INF, INF, 1, 2.0**-149]
    with_ = [NAN, 1, -0.0, -0.0, INF, -INF, 1, 0]
    yield c.out(c.reduced("count_equal", c.leaf(8, put=dict(enumerate(some))), c.leaf(8, put=dict(enumerate(with_)))))
    c = Case("reductions/count_equal_views")
    a, b = c.transpose(c.leaf(3, 20, dtype="i32", put=few)), c.view(c.leaf(24, 3, dtype="i32", put=other), (20, 3), (96,), 8)
    yield c.out(c.reduced("count_equal", a, b))
    c = Case("reductions/count_equal_nothing")
    yield c.out(c.reduced("count_equal", c.leaf(4, 0), c.leaf(4, 0)))
    c = Case("reductions/count_equal_of_places")
    # How often a model is right: its best guesses and the labels.
    yield c.out(c.reduced("count_equal", c.reduced("argmax", c.leaf(7, 12), dims=0), c.numbers(*[i % 7 for i in range(12)])))
    c = Case("reductions/count_equal_error_types")
    yield c.fails("TYPE_MISMATCH", ("count_equal", "a is [4] i32", "b is [4] i64"), "count_equal", c.leaf(4, dtype="i32"), c.leaf(4, dtype="i64"))
    c = Case("reductions/count_equal_error_shapes")
    yield c.fails("SHAPE_MISMATCH", ("count_equal", "a is [4]", "b is [4, 2]"), "count_equal", c.leaf(4), c.leaf(4, 2))


def losses():
    def one_hot(n, rows):
        return {i: 1.0 if i % n == i // n * 5 % n else 0.0 for i in range(n * rows)}

    def made(label, *ne, put=None, labels=None, types=("f32", "f32")):
        c = Case(f"reductions/cross_entropy_loss_{label}")
        a = c.leaf(*ne, dtype=types[0], put=put)
        return c.out(c.reduced("cross_entropy_loss", a, c.leaf(*ne, dtype=types[1], put=labels)))

    yield made("one_hot", 23, 9, labels=one_hot(23, 9))
    yield made("spread", 10, 5, labels={i: (i % 4) / 16 for i in range(50)})
    yield made("4d", 7, 3, 2, 2, labels=one_hot(7, 12))
    # Labels that are no probabilities.
    yield made("long", 1100, 2)
    yield made("one", 1)
    yield made("f16_bf16", 19, 2, types=("f16", "bf16"), labels=one_hot(19, 2))
    # Exponentials that a float does not hold, without the largest; and what is left out of a row.
    yield made("large", 6, 2, put={i: 1e4 + i for i in range(12)}, labels=one_hot(6, 2))
    yield made("masked", 6, 2, put={1: -INF, 7: -INF, 10: -INF}, labels=one_hot(6, 2))
    yield made("impossible", 3, 2, put={1: -INF}, labels={0: 0, 1: 1, 2: 0})
    yield made("nan", 5, 2, put={3: NAN}, labels=one_hot(5, 2))
    yield made("0_rows", 5, 0)
    yield made("rows_of_0", 0, 3)
    c = Case("reductions/cross_entropy_loss_views")
    a, b = c.transpose(c.leaf(4, 15)), c.view(c.leaf(20, 4, put={i: (i % 7) / 8 for i in range(80)}), (15, 4), (80,), 8)
    yield c.out(c.reduced("cross_entropy_loss", a, b))
    c = Case("reductions/cross_entropy_loss_error_shape")
    yield c.fails("SHAPE_MISMATCH", ("cross_entropy_loss", "a is [4, 2]", "b is [4]"), "cross_entropy_loss", c.leaf(4, 2), c.leaf(4))
    c = Case("reductions/cross_entropy_loss_error_type")
    yield c.fails("TYPE_MISMATCH", ("cross_entropy_loss", "b is [4] i32"), "cross_entropy_loss", c.leaf(4), c.leaf(4, dtype="i32"))


def cases():
    for op in SUMS:
        yield from sums(op)
    yield from orders()
    for op in ("sum", "mean", "max", "min", "argmax", "argmin", "prod", "any", "all", "log_sum_exp"):
        yield from over_dims(op)
    for correction in (0, 1):
        yield from over_dims("var", correction=correction)
    yield from over_dims("std", correction=1)
    yield from counts()
    yield from losses()
