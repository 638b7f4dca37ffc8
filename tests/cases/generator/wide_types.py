"""Elementwise operations in I32, I64 and F64, on bits and on truth values: every operation, wrapping, division, special values, broadcasts, views, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge")
UNARY = ("abs", "neg", "sqr", "sgn")
F64_ALONE = ("sqrt", "floor", "ceil", "round", "trunc")
# The ends of the types, as far as F32 has them.
EXTREME = {
    "i32": {0: -(2**31), 1: 2**31 - 128, 2: 0, 3: 1, 4: -1, 5: 2**30, 6: -(2**30)},
    "i64": {0: -(2**63), 1: 2**63 - 2**39, 2: 0, 3: 1, 4: -1, 5: 2**62, 6: 2**32},
    "f64": {0: INF, 1: -INF, 2: 0, 3: -0.0, 4: NAN, 5: 2.5, 6: -0.5},
}
OTHER = {
    "i32": {0: -(2**31), 1: 128, 2: -(2**31), 3: -1, 4: 2**30, 5: 4, 6: 3},
    "i64": {0: -(2**63), 1: 2**39, 2: -(2**63), 3: -1, 4: 2**62, 5: 4, 6: 2**32},
    "f64": {0: -INF, 1: -INF, 2: -0.0, 3: 0, 4: 1, 5: NAN, 6: 0.25},
}


def made(label, op, dtype, *shapes, puts=(), **attrs):
    c = Case(f"wide_types/{op}_{dtype}_{label}")
    puts = list(puts) + [None] * (len(shapes) - len(puts))
    return c.out(c.wide(op, *[c.leaf(*ne, dtype=dtype, put=put) for ne, put in zip(shapes, puts)], **attrs))


def operations():
    for dtype in ("i32", "i64", "f64"):
        for op in BINARY:
            yield made("values", op, dtype, (37, 3), (37, 3))
            yield made("extremes", op, dtype, (7,), (7,), puts=(EXTREME[dtype], OTHER[dtype]))
        yield made("values", "div", dtype, (9, 4), (9, 1), puts=(None, {i: i - 4.0 or 7 for i in range(9)}))
        for op in UNARY + (F64_ALONE if dtype == "f64" else ()):
            yield made("values", op, dtype, (37, 3), puts=({i: i * 0.5 for i in range(20)},) if op == "sqrt" else ())
            yield made("extremes", op, dtype, (7,), puts=(EXTREME[dtype],))
        yield made("values", "clamp", dtype, (37, 3), min=-7, max=2)
        yield made("extremes", "clamp", dtype, (7,), puts=(EXTREME[dtype],), min=-1, max=1)
        yield made("values", "fill", dtype, (5, 3), value=-17)
        yield made("values", "scale", dtype, (37, 3), scale=-3)
        yield made("bias", "scale", dtype, (37, 3), scale=2, bias=5)
        yield made("one", "add1", dtype, (5, 2), (1,))
    exponents = {i: i % 11 for i in range(37)}
    for dtype, largest in [("i32", 2**31 - 128), ("i64", 2**63 - 2**39)]:
        yield made("values", "pow", dtype, (37, 3), (37,), puts=(None, exponents))
        # Squares that wrap, odd and even powers of numbers below 0, 0 to 0, and the largest exponent.
        bases, powers = {0: -3, 1: -3, 2: 0, 3: 0, 4: 7, 5: -1, 6: 2, 7: 3, 8: -(2**31)}, {0: 5, 1: 4, 2: 0, 3: 9, 4: 40, 5: largest, 6: 31, 7: largest, 8: 2}
        yield made("extremes", "pow", dtype, (9,), (9,), puts=(bases, powers))
        yield made("both_sides", "pow", dtype, (1, 4), (5, 1), puts=(None, {i: i for i in range(5)}))
    yield made("values", "pow", "f64", (37, 3), (37,), puts=({i: 0.25 + i * 0.5 for i in range(111)}, None))
    special = [(0, 0), (-0.0, -1), (-0.0, -2), (0, -3), (NAN, 0), (1, NAN), (-8, 1 / 3), (-2, 3), (INF, -1), (-INF, 3), (2, 2000), (-2, 2001), (-1, INF), (0.5, INF)]
    yield made("special", "pow", "f64", (len(special),), (len(special),), puts=tuple(dict(enumerate(one)) for one in zip(*special)))
    yield made("extremes", "scale", "i32", (7,), puts=(EXTREME["i32"],), scale=2, bias=1 << 30)
    yield made("fractions", "scale", "f64", (37,), scale=0.5, bias=-0.25)
    yield made("fraction", "fill", "f64", (5,), value=0.1)
    yield made("nan", "fill", "f64", (5,), value=NAN)
    yield made("no_bounds", "clamp", "i64", (7,), puts=(EXTREME["i64"],), min=-1e300, max=1e300)
    yield made("fractions", "clamp", "i32", (37,), min=-2.5, max=2.5)
    yield made("halves", "round", "f64", (6,), puts=({0: 0.5, 1: -0.5, 2: 1.5, 3: 2.5, 4: 2.0**52 + 1, 5: -2.5},))
    yield made("of_0", "div", "f64", (4,), (4,), puts=({0: 1, 1: -1, 2: 0, 3: INF}, {0: 0, 1: 0, 2: 0, 3: INF}))
    yield made("towards_0", "div", "i32", (4,), (4,), puts=({0: 7, 1: -7, 2: 7, 3: -7}, {0: 2, 1: 2, 2: -2, 3: -2}))
    for dtype in ("i32", "i64"):
        yield made("smallest", "div", dtype, (1,), (1,), puts=({0: EXTREME[dtype][0]}, {0: -1}))


def bits():
    binary = ("bitwise_and", "bitwise_or", "bitwise_xor")
    for dtype in ("i8", "i16", "i32", "i64", "u8", "bool"):
        for op in binary:
            yield made("values", op, dtype, (37, 3), (37, 3))
        yield made("values", "bitwise_not", dtype, (37, 3))
        if dtype == "bool":
            continue
        size = {"u8": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64}[dtype]
        # Below 2^24 where they stay, so that F32 has them.
        counts = {0: 0, 1: 1, 2: 2, 3: size - 1, 4: size, 5: -1, 6: 100, 7: 3, 8: -128}
        values = {0: 5, 1: -5, 2: -1, 3: -1, 4: 1, 5: -7, 6: -7, 7: 9, 8: 3}
        if dtype == "u8":
            values, counts = ({i: v % 256 for i, v in one.items()} for one in (values, counts))
        for op in ("shift_left", "shift_right"):
            yield made("counts", op, dtype, (9,), (9,), puts=(values, counts))
            yield made("by_one", op, dtype, (37, 3), (1,), puts=(None, {0: 2}))
    yield made("row", "bitwise_and", "i32", (9, 4), (9,))
    yield made("both_sides", "bitwise_or", "i8", (1, 4), (5, 1))
    yield made("empty", "bitwise_xor", "i16", (0, 4), (0, 1))
    c = Case("wide_types/bitwise_xor_i64_views")
    yield c.out(c.wide("bitwise_xor", c.transpose(c.leaf(3, 5, dtype="i64")), c.leaf(5, dtype="i64")))
    truths = {0: 0, 1: -0.0, 2: NAN, 3: 1, 4: 0, 5: -2, 6: INF}
    for dtype in ("f32", "f16", "bf16", "i32", "i64", "f64", "i8", "u8", "bool"):
        whole = dtype[0] in "iu" or dtype == "bool"
        put = {i: abs(v) if dtype == "u8" else v for i, v in truths.items() if not whole or (v == v and abs(v) != INF)}
        for op in ("logical_and", "logical_or", "logical_xor"):
            yield made("values", op, dtype, (9, 3), (9,), puts=({2: 0, 4: 0, 9: 0, 13: 0}, put))
        yield made("values", "logical_not", dtype, (9,), puts=(put,))
    c = Case("wide_types/logical_and_bool_f16")
    yield c.out(c.wide("logical_and", c.leaf(7, dtype="bool"), c.leaf(7, dtype="f16", put={0: 0, 1: 0})))
    c = Case("wide_types/logical_or_mixed")
    yield c.out(c.wide("logical_or", c.leaf(7, put={0: 0, 1: 0}), c.leaf(7, dtype="i64", put={0: 0, 2: 0})))
    for op, *operands in [("bitwise_and", "i32", "i64"), ("bitwise_or", "f32", "f32"), ("bitwise_not", "f64"), ("shift_left", "i32", "i8"), ("shift_right", "bool", "bool")]:
        c = Case(f"wide_types/{op}_error_type")
        yield c.fails("TYPE_MISMATCH", (op, "i8, i16, i32, i64"), op, *[c.leaf(4, dtype=dtype) for dtype in operands])
    c = Case("wide_types/bitwise_and_error_shape")
    yield c.fails("SHAPE_MISMATCH", ("bitwise_and", "[4]", "[3]"), "bitwise_and", c.leaf(4, dtype="i8"), c.leaf(3, dtype="i8"))
    c = Case("wide_types/logical_and_error_type")
    yield c.fails("TYPE_MISMATCH", ("logical_and", "q4_0"), "logical_and", c.zero_blocks("q4_0", 32), c.leaf(32, dtype="i8"))


def shapes():
    for dtype in ("i32", "f64"):
        for label, a, b in [
            ("row", (9, 4), (9,)),
            ("column", (9, 4), (1, 4)),
            ("one", (9, 4), (1,)),
            ("from_one", (1,), (9, 4)),
            ("both_sides", (1, 4), (5, 1)),
            ("tiles", (6, 4), (2, 2)),
            ("4d", (3, 2, 2, 2), (3, 1, 2, 1)),
            ("empty", (0, 4), (0, 1)),
            ("long", (1300, 2), (1300,)),
        ]:
            yield made(label, "sub", dtype, a, b)
    c = Case("wide_types/sub_i64_views")
    a = c.permute(c.leaf(3, 4, 5, 2, dtype="i64"), 1, 2, 0, 3)
    yield c.out(c.wide("sub", a, c.shaped("expand", c.leaf(1, 3, 4, dtype="i64"), ne=(5, 3, 4, 2))))
    c = Case("wide_types/mul_f64_itself")
    a = c.leaf(7, 3, dtype="f64")
    yield c.out(c.wide("mul", a, a))
    c = Case("wide_types/chain_i32")
    a, b = c.leaf(17, 3, dtype="i32"), c.leaf(17, dtype="i32")
    yield c.out(c.wide("sub", c.wide("mul", c.wide("add", a, b), a), c.wide("neg", b)))
    c = Case("wide_types/into_floats")
    a, b = c.leaf(17, 3, dtype="i32"), c.leaf(17, dtype="i32")
    yield c.out(c.elementwise("mul", c.wide("lt", a, b), c.elementwise("sqr", c.cast(a, "f32"))))
    condition = {0: 0, 1: 1, 2: 0}
    for dtype, of in [("i32", "f32"), ("i64", "f16"), ("f64", "i8"), ("i32", "i64"), ("f64", "f64"), ("f32", "bool"), ("f16", "u8"), ("bf16", "i32"),
                      ("u8", "f32"), ("bool", "bool"), ("i8", "f64"), ("i16", "i64")]:
        c = Case(f"wide_types/where_{dtype}_{of}")
        yield c.out(c.wide("where", c.leaf(9, dtype=of, put=condition), c.leaf(9, 3, dtype=dtype), c.leaf(1, 3, dtype=dtype)))
    c = Case("wide_types/where_nan_stays")
    yield c.out(c.wide("where", c.leaf(4, dtype="bool"), c.leaf(4, put={0: NAN, 1: INF, 2: -0.0, 3: NAN}), c.leaf(4, put={0: NAN, 1: NAN, 2: 0, 3: -INF})))
    c = Case("wide_types/where_f64_special")
    yield c.out(c.wide("where", c.leaf(5, put={0: NAN, 1: -0.0, 2: 0, 3: INF}), c.leaf(5, dtype="f64"), c.leaf(5, dtype="f64")))


def refusals():
    def refused(label, op, status, words, *operands, **attrs):
        c = Case(f"wide_types/{op}_error_{label}")
        return c.fails(status, (op, *words), op, *[c.leaf(*ne, dtype=dtype) for ne, dtype in operands], **attrs)

    yield refused("types", "add", "TYPE_MISMATCH", ("i32", "i64", "all must be i32, i64 or f64"), ((4,), "i32"), ((4,), "i64"))
    yield refused("float", "mul", "TYPE_MISMATCH", ("f32", "f64"), ((4,), "f32"), ((4,), "f64"))
    yield refused("integer", "sqrt", "TYPE_MISMATCH", ("i32", "or f64"), ((4,), "i32"))
    yield refused("function", "exp", "TYPE_MISMATCH", ("f64", "f32, f16 or bf16"), ((4,), "f64"))
    yield refused("shape", "add", "SHAPE_MISMATCH", ("[4]", "[3]"), ((4,), "i32"), ((3,), "i32"))
    yield refused("fraction", "fill", "INVALID_ARGUMENT", ("value is 0.5", "i32"), ((4,), "i32"), value=0.5)
    yield refused("beyond", "fill", "INVALID_ARGUMENT", ("value is 2147483648", "i32"), ((4,), "i32"), value=2**31)
    yield refused("nan", "fill", "INVALID_ARGUMENT", ("value is", "i64"), ((4,), "i64"), value=NAN)
    yield refused("fraction", "scale", "INVALID_ARGUMENT", ("scale is 0.5", "i64"), ((4,), "i64"), scale=0.5)
    yield refused("bias", "scale", "INVALID_ARGUMENT", ("bias is 0.5", "i64"), ((4,), "i64"), scale=1, bias=0.5)
    yield refused("bounds", "clamp", "INVALID_ARGUMENT", ("no integer",), ((4,), "i32"), min=0.25, max=0.75)
    for dtype, at in [("i32", 3), ("i64", 1)]:
        c = Case(f"wide_types/div_{dtype}_by_0")
        b = c.leaf(5, dtype=dtype, put={**{i: i + 1 for i in range(5)}, at: 0})
        yield c.fails_computing(c.wide("div", c.leaf(5, 2, dtype=dtype), b), "INVALID_ARGUMENT", ("div", f"element {at} of b is 0", "other than 0"))
    for dtype, at in [("i32", 4), ("i64", 0)]:
        c = Case(f"wide_types/pow_{dtype}_below_0")
        b = c.leaf(5, dtype=dtype, put={**{i: i for i in range(5)}, at: -1})
        yield c.fails_computing(c.shaped_unchecked("pow", c.leaf(5, 2, dtype=dtype), b), "INVALID_ARGUMENT", ("pow", f"element {at} of b is -1", "0 and more"))
    yield refused("types", "pow", "TYPE_MISMATCH", ("i32", "f64", "all must be i32, i64 or f64"), ((4,), "i32"), ((4,), "f64"))


def cases():
    for part in (operations, bits, shapes, refusals):
        yield from part()
