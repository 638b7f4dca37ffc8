"""elementwise: functions of one operand, arithmetic with broadcasting, activations and gates; F16 and BF16, views, special values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
TOP = 2.0**127 * (2 - 2.0**-23)

# Attributes that are there in every case of the operation.
UNARY = {name: {} for name in "abs neg sqr sqrt log exp expm1 erf sin cos sgn step floor ceil round trunc".split()}
UNARY.update({name: {} for name in "relu sigmoid tanh elu softplus silu gelu gelu_erf gelu_quick hardswish hardsigmoid".split()})
UNARY["leaky_relu"] = {"slope": 0.1}
UNARY["xielu"] = {"alpha_n": 0.8, "alpha_p": 0.7, "beta": 0.5, "eps": -1e-6}
UNARY["clamp"] = {"min": -1.5, "max": 0.75}
UNARY["scale"] = {"scale": 0.3, "bias": -7.1}
UNARY["fill"] = {"value": 0.1}

BINARY = "sub mul div maximum minimum pow eq ne lt le gt ge".split()
GATES = "reglu geglu swiglu geglu_erf geglu_quick swiglu_oai".split()

# 1e-6 is about the last element where the tails of activations are normal numbers; halves round in either direction.
SPECIAL = [0, -0.0, INF, -INF, NAN, TOP, -TOP, 2.0**-149, -(2.0**-149), 1e-40, 2.0**-126, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-6, -1e-6]
SPECIAL += [2.0**23 + 1, -(2.0**22 + 0.5), 20, -20, 88, -88, 100, -100, 1, -1, 3, -3, 6, 1e6]


def values(name, attrs):
    def made(label, *ne, dtype="f32", put=None):
        c = Case(f"elementwise/{name}_{label}")
        return c.out(c.elementwise(name, c.leaf(*ne, dtype=dtype, put=put), **attrs), relative=True)

    yield made("special", len(SPECIAL) + 3, put=dict(enumerate(SPECIAL)))
    yield made("1", 1)
    yield made("empty", 5, 0)
    # More than a tile of 4 KiB or of 8 KiB.
    yield made("2100", 2100)
    yield made("f16", 19, 2, dtype="f16", put={3: INF, 4: NAN, 5: -INF, 6: 60000, 7: 2.0**-24})
    yield made("bf16", 19, 2, dtype="bf16", put={3: INF, 4: NAN, 5: -INF, 6: 1e38, 7: 2.0**-133})
    c = Case(f"elementwise/{name}_transposed")
    yield c.out(c.elementwise(name, c.transpose(c.leaf(3, 11)), **attrs), relative=True)
    c = Case(f"elementwise/{name}_error_type")
    yield c.fails("TYPE_MISMATCH", (name, "a is [4] i8", "f32, f16 or bf16"), name, c.leaf(4, dtype="i8"), **attrs)


def repeated(name):
    def made(label, a, b, put=None, put_b=None, types=("f32", "f32")):
        c = Case(f"elementwise/{name}_{label}")
        a, b = c.leaf(*a, dtype=types[0], put=put), c.leaf(*b, dtype=types[1], put=put_b)
        return c.out(c.elementwise(name, a, b), relative=True)

    some = SPECIAL[:16]
    yield made("special", (16, 16), (1, 16), {i + 16 * k: v for k in range(16) for i, v in enumerate(some)}, dict(enumerate(some)))
    # A period inside of dimension 0, rows, columns, dimensions 2 and 3.
    for a, b in [((1,), (1,)), ((7, 3), (1,)), ((12, 5), (4, 1)), ((9, 4, 3, 2), (9, 1, 3)), ((5, 3, 2, 4), (1, 3, 1, 2)), ((2100,), (3,))]:
        yield made("x".join(map(str, a)) + "_by_" + "x".join(map(str, b)), a, b)
    for a, b in [((1,), (5,)), ((7, 1), (1, 3)), ((3, 1, 2), (1, 4, 1, 2))]:
        yield made("x".join(map(str, a)) + "_and_" + "x".join(map(str, b)), a, b)
    yield made("empty", (0, 3), (1, 1))
    for types in [("f16", "f32"), ("f32", "bf16"), ("bf16", "f16")]:
        yield made("_".join(types), (13, 3), (13,), types=types)
    c = Case(f"elementwise/{name}_views")
    a, b = c.permute(c.leaf(3, 4, 5, 2), 1, 2, 0, 3), c.view(c.leaf(20, 6), (5, 1, 4), (80, 80), 8)
    yield c.out(c.elementwise(name, a, b), relative=True)
    c = Case(f"elementwise/{name}_error_shape")
    yield c.fails("SHAPE_MISMATCH", (name, "[6, 2]", "[4]", "divides that of a"), name, c.leaf(6, 2), c.leaf(4))
    c = Case(f"elementwise/{name}_error_type")
    yield c.fails("TYPE_MISMATCH", (name, "[6] i8", "f32, f16 or bf16"), name, c.leaf(6), c.leaf(6, dtype="i8"))


def add1():
    for label, a, b in [("row", (9, 4), (1,)), ("4d", (3, 2, 2, 2), (1, 1, 1, 1)), ("empty", (4, 0), (1,))]:
        c = Case(f"elementwise/add1_{label}")
        yield c.out(c.elementwise("add1", c.leaf(*a), c.leaf(*b)))
    c = Case("elementwise/add1_f16_nan")
    yield c.out(c.elementwise("add1", c.leaf(5, dtype="f16"), c.leaf(1, put={0: NAN})))
    for b in [(2,), (0,)]:
        c = Case(f"elementwise/add1_error_{b[0]}")
        yield c.fails("SHAPE_MISMATCH", ("add1", "one element"), "add1", c.leaf(4), c.leaf(*b))
    c = Case("elementwise/add1_error_type")
    yield c.fails("TYPE_MISMATCH", ("add1", "f64"), "add1", c.leaf(4), c.leaf(1, dtype="f64"))


def where():
    condition = {0: 0, 1: -0.0, 2: NAN, 3: INF, 4: 2.0**-149, 5: 0, 6: 1}
    for label, shapes in {
        "same": [(21,)] * 3,
        "rows": [(7, 3), (7, 3), (7,)],
        "condition_column": [(1, 6), (5, 6), (5, 6)],
        "condition_period": [(7,), (21, 2), (1,)],
        "one": [(1,)] * 3,
        "2100": [(2100,), (2100,), (1,)],
        "dims23": [(9, 1, 3), (9, 2, 3, 4), (1, 1, 1, 4)],
        "empty": [(1,), (0, 2), (1,)],
        "condition_of_more": [(5, 3), (1,), (1,)],
        "b_of_more": [(1,), (1, 4), (6, 1)],
        "all_of_more": [(1, 1, 5), (1, 4), (6,)],
    }.items():
        c = Case(f"elementwise/where_{label}")
        count = shapes[0][0]
        picked = c.leaf(*shapes[0], put={i: v for i, v in condition.items() if i < count})
        yield c.out(c.elementwise("where", picked, c.leaf(*shapes[1], put={0: NAN} if count > 1 and label != "empty" else None), c.leaf(*shapes[2])))
    c = Case("elementwise/where_types")
    zeros = {i: 0 for i in range(0, 17, 3)}
    yield c.out(c.elementwise("where", c.leaf(17, dtype="bf16", put=zeros), c.leaf(17, dtype="f16"), c.leaf(17, put={0: 1e6, 3: 1 + 2.0**-20})))
    c = Case("elementwise/where_compared")
    a = c.leaf(13, 3)
    yield c.out(c.elementwise("where", c.elementwise("gt", a, c.leaf(13)), a, c.elementwise("neg", c.transpose(c.leaf(3, 13)))))
    c = Case("elementwise/where_error_condition")
    yield c.fails("SHAPE_MISMATCH", ("where", "[8]", "condition", "of a"), "where", c.leaf(8), c.leaf(4), c.leaf(4))
    c = Case("elementwise/where_error_b")
    yield c.fails("SHAPE_MISMATCH", ("where", "b has 3", "of a"), "where", c.leaf(4), c.leaf(4), c.leaf(3, 2))
    c = Case("elementwise/where_error_type")
    yield c.fails("TYPE_MISMATCH", ("where", "condition must be a float, an integer or bool"), "where", c.zero_blocks("q4_0", 32), c.leaf(32), c.leaf(32))
    c = Case("elementwise/where_error_types")
    yield c.fails("TYPE_MISMATCH", ("where", "a and b must be of one type"), "where", c.leaf(4, dtype="i32"), c.leaf(4), c.leaf(4, dtype="f16"))


def attributes():
    """What attributes that are left out, 0 or extreme make."""

    def made(label, name, **attrs):
        c = Case(f"elementwise/{name}_{label}")
        return c.out(c.elementwise(name, c.leaf(11, put={0: NAN, 1: INF, 2: -INF}), **attrs), relative=True)

    yield made("without_bias", "scale", scale=-2.5)
    yield made("of_0", "scale", scale=0, bias=0.125)
    yield made("by_inf", "scale", scale="inf")
    yield made("to_one_value", "clamp", min=0.5, max=0.5)
    yield made("open", "clamp", min="-inf", max=0)
    for value in ("nan", "inf", "-inf", 0, 1e-45, 65536):
        yield made(f"of_{value}", "fill", value=value)
    yield made("of_0", "leaky_relu", slope=0)
    yield made("above_1", "leaky_relu", slope=3)
    yield made("plain", "xielu", alpha_n=0.5, alpha_p=1.25, beta=0, eps=0)
    c = Case("elementwise/fill_f16_beyond")
    yield c.out(c.elementwise("fill", c.leaf(3, dtype="f16"), value=70000))

    def refused(label, name, words, **attrs):
        c = Case(f"elementwise/{name}_error_{label}")
        return c.fails("INVALID_ARGUMENT", (name, *words), name, c.leaf(4), **attrs)

    yield refused("nan", "scale", ("attribute scale is NaN",), scale="nan")
    yield refused("bias_nan", "scale", ("attribute bias is NaN",), scale=1, bias="nan")
    yield refused("min_nan", "clamp", ("attribute min is NaN",), min="nan", max=1)
    yield refused("max_nan", "clamp", ("attribute max is NaN",), min=0, max="nan")
    yield refused("crossed", "clamp", ("min is 2, max is 1",), min=2, max=1)
    yield refused("infinite", "clamp", ("min is inf",), min="inf", max="-inf")
    yield refused("nan", "leaky_relu", ("attribute slope is NaN",), slope="nan")
    for key in UNARY["xielu"]:
        yield refused(key, "xielu", (f"attribute {key} is NaN",), **{**UNARY["xielu"], key: "nan"})


def gates():
    for op in GATES:
        c = Case(f"elementwise/glu_{op}_split")
        yield c.out(c.glu(op, c.leaf(17, 3, put={0: NAN, 1: INF, 2: -INF}), c.leaf(17, 3, put={3: NAN, 4: INF}), split=True), relative=True)
        c = Case(f"elementwise/glu_{op}_halves")
        yield c.out(c.glu(op, c.leaf(26, 3, 2)), relative=True)
        c = Case(f"elementwise/glu_{op}_swapped")
        yield c.out(c.glu(op, c.leaf(26, 3), swapped=True), relative=True)
        c = Case(f"elementwise/glu_{op}_split_swapped")
        yield c.out(c.glu(op, c.leaf(7, 3), c.leaf(7, 3), swapped=True), relative=True)
    for label, a in [("2", (2,)), ("empty", (0, 3)), ("rows_0", (4, 0)), ("wide", (4200,)), ("4d", (6, 2, 3, 2))]:
        c = Case(f"elementwise/glu_{label}")
        yield c.out(c.glu("swiglu", c.leaf(*a)), relative=True)
    for types in [("f16", "f16"), ("bf16", "f32"), ("f32", "bf16")]:
        c = Case(f"elementwise/glu_{'_'.join(types)}")
        a, b = (c.leaf(9, 2, dtype=dtype) for dtype in types)
        yield c.out(c.glu("geglu", a, b), relative=True)
    for label, n, swapped in [("odd", 27, False), ("odd_swapped", 33, True), ("odd_one", 1, False)]:
        c = Case(f"elementwise/glu_{label}")
        yield c.out(c.glu("swiglu", c.leaf(n, 3, put={n - 1: NAN}), swapped=swapped), relative=True)
    c = Case("elementwise/glu_halves_bf16")
    yield c.out(c.glu("geglu_erf", c.leaf(18, 2, dtype="bf16")), relative=True)
    c = Case("elementwise/glu_halves_permuted")
    yield c.out(c.glu("swiglu", c.permute(c.leaf(3, 10, 2), 1, 0, 2, 3)), relative=True)
    c = Case("elementwise/glu_views")
    rows = c.leaf(30, 4)
    yield c.out(c.glu("reglu", c.view(rows, (10, 4), (120,)), c.view(rows, (10, 4), (120,), 60)), relative=True)
    c = Case("elementwise/glu_alpha_and_limit")
    yield c.out(c.glu("swiglu_oai", c.leaf(31, put={0: INF, 1: -INF, 2: 9}), c.leaf(31, put={3: INF, 4: -9}), alpha=-0.7, limit=2.5), relative=True)

    def refused(label, status, words, a, b=None, **attrs):
        c = Case(f"elementwise/glu_error_{label}")
        src = [c.leaf(*given[0], dtype=given[1]) if given else None for given in (a, b)]
        return c.fails(status, ("glu", *words), "glu", *src, **attrs)

    one, other, whole = ((6, 2), "f32"), ((6, 3), "f32"), ((6, 2), "i16")
    yield refused("split", "INVALID_ARGUMENT", ("b is left out", "split is 1"), one, op="reglu", split=1)
    yield refused("shape", "SHAPE_MISMATCH", ("[6, 2]", "[6, 3]", "one shape"), one, other, op="swiglu")
    yield refused("type", "TYPE_MISMATCH", ("i16",), whole, op="swiglu")
    yield refused("type_b", "TYPE_MISMATCH", ("i16", "each must be"), one, whole, op="swiglu")
    yield refused("alpha", "INVALID_ARGUMENT", ("swiglu", "alpha is 2", "swiglu_oai alone"), one, op="swiglu", alpha=2)
    yield refused("limit", "INVALID_ARGUMENT", ("geglu", "limit is 5", "swiglu_oai alone"), one, op="geglu", limit=5)
    yield refused("limit_range", "INVALID_ARGUMENT", ("limit is -1",), one, op="swiglu_oai", limit=-1)
    yield refused("alpha_nan", "INVALID_ARGUMENT", ("alpha is NaN",), one, op="swiglu_oai", alpha="nan")


def chains():
    """Programs of several operations: inner results used twice, repeated operands, types between."""
    c = Case("elementwise/chain_of_5")
    a, b = c.leaf(33, 3), c.leaf(33)
    t = c.elementwise("mul", c.add(a, b), b)
    t = c.elementwise("relu", c.elementwise("scale", t, scale=0.5, bias=1))
    yield c.out(c.elementwise("sub", t, a))
    c = Case("elementwise/inner_result_twice")
    a, b = c.leaf(40, 2), c.leaf(1, 2)
    t = c.elementwise("div", a, b)
    yield c.out(c.elementwise("maximum", c.elementwise("sqr", t), c.elementwise("abs", t)))
    c = Case("elementwise/f16_inside")
    a, b = c.leaf(29, dtype="f16"), c.leaf(29)
    t = c.elementwise("mul", a, b)
    yield c.out(c.elementwise("sub", b, c.elementwise("mul", t, t)))
    c = Case("elementwise/residual")
    weights, tokens = c.leaf(16, 9), c.leaf(16, 5)
    product = c.mul_mat(weights, tokens)
    yield c.out(c.add(c.elementwise("relu", c.add(product, c.leaf(9))), c.leaf(9, 5)))
    c = Case("elementwise/gate_of_a_product")
    product = c.mul_mat(c.leaf(16, 10), c.leaf(16, 3))
    yield c.out(c.glu("swiglu", product))


def cases():
    for name, attrs in UNARY.items():
        yield from values(name, attrs)
    for name in BINARY:
        yield from repeated(name)
    for part in (add1, where, attributes, gates, chains):
        yield from part()
