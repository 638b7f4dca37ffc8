"""mul_mat_sparse, axpy and sparse_ffn: rules and ties, masks of each token, all and no neurons, rows, every type, views, special values, refusals."""

from .formats import FORMATS
from .model import Case

INF, NAN = float("inf"), float("nan")
RULES = [("score", 0.5), ("magnitude", 1.5), ("positive", 0)]


def of(by, threshold):
    """The attributes of a rule, those that are the default left out."""
    return {"by": None if by == "score" else by, "threshold": threshold or None}


def ascending(n, step, start=0):
    return list(range(start, n, step))


def product(name, k, n, tokens, rule=("score", 0.5), rows=None, scored=True, dtype="f32", put=None, exact=None):
    c = Case(f"sparse/product_{name}")
    m = n if rows is None else len(rows)
    a = c.leaf(k, m) if dtype == "f32" else c.leaf(k, m, dtype=dtype) if dtype in ("f16", "bf16", "f64") else c.blocks(dtype, k, m)
    b, scores = c.leaf(k, tokens), c.leaf(n, tokens, put=put) if scored else None
    numbers = c.numbers(*rows) if rows is not None else None
    attrs = of(*rule) if scored else {"n": n}
    return c.out(c.sparse("mul_mat_sparse", a, b, scores, numbers, exact=exact, **attrs))


def sums(name, k, n, tokens, rule=("magnitude", 1.5), rows=None, scored=False, dtype="f32", put=None, put_scores=None):
    c = Case(f"sparse/axpy_{name}")
    m = n if rows is None else len(rows)
    a = c.leaf(k, m) if dtype == "f32" else c.leaf(k, m, dtype=dtype) if dtype in ("f16", "bf16", "f64") else c.blocks(dtype, k, m)
    h, scores = c.leaf(n, tokens, put=put), c.leaf(n, tokens, put=put_scores) if scored else None
    numbers = c.numbers(*rows) if rows is not None else None
    return c.out(c.sparse("axpy", a, h, scores, numbers, **of(*rule)))


def sizes():
    for k, n, tokens in [(1, 1, 1), (33, 7, 1), (17, 33, 2), (64, 257, 1), (65, 100, 5), (5, 40, 100), (6, 35, 129)]:
        for rule in RULES:
            yield product(f"{k}x{n}x{tokens}_{rule[0]}", k, n, tokens, rule)
            yield sums(f"{k}x{n}x{tokens}_{rule[0]}", k, n, tokens, rule)
    for k, n, tokens in [(1025, 130, 1), (1030, 129, 9)]:
        yield sums(f"{k}x{n}x{tokens}", k, n, tokens, ("positive", 0))
        yield sums(f"{k}x{n}x{tokens}_scored", k, n, tokens, ("score", 0), scored=True)
    yield product("520x70x3", 520, 70, 3)
    for make, label in ((product, "product"), (sums, "axpy")):
        yield make("all", 9, 20, 3, ("score", -4.0), scored=True)
        yield make("none", 9, 20, 3, ("score", 4.0), scored=True)
        yield make("one_of_many", 9, 300, 2, ("score", 3.9), scored=True, **{"put" if label == "product" else "put_scores": {299: 3.9375}})


def rows():
    for label, numbers in [("none", []), ("one", [17]), ("few", [0, 3, 18, 19]), ("every_second", ascending(20, 2)), ("all", ascending(20, 1))]:
        yield product(f"rows_{label}", 9, 20, 3, rows=numbers)
        yield product(f"rows_{label}_without_scores", 9, 20, 3, rows=numbers, scored=False)
        yield sums(f"rows_{label}", 9, 20, 3, rows=numbers)
        yield sums(f"rows_{label}_scored", 9, 20, 3, rows=numbers, rule=("positive", 0), scored=True)
    yield product("rows_of_many", 33, 600, 1, rows=ascending(600, 2, 1))
    yield sums("rows_of_many", 33, 600, 1, rows=ascending(600, 2, 1))
    # Two parts of the neurons, which add up to all.
    for op in ("mul_mat_sparse", "axpy"):
        c = Case(f"sparse/parts_of_{op}")
        low, high = [i for i in range(24) if i % 3 == 0], [i for i in range(24) if i % 3]
        second = c.leaf(10, 2) if op == "mul_mat_sparse" else c.leaf(24, 2)
        scores = c.leaf(24, 2)
        parts = [c.sparse(op, c.leaf(10, len(part)), second, scores, c.numbers(*part)) for part in (low, high)]
        yield c.out(c.add(*parts))


def formats():
    for name, (block, *_) in FORMATS.items():
        yield product(name, block, 40, 1, dtype=name)
        yield product(f"{name}_3", block, 6, 3, dtype=name)
        yield sums(name, block, 6, 2, dtype=name)
    for name in ("q8_0", "q4_K"):
        block = FORMATS[name][0]
        yield product(f"{name}_exact", block, 20, 2, dtype=name, exact=1)
        yield product(f"{name}_rows", 2 * block, 12, 1, dtype=name, rows=ascending(12, 5))
        yield sums(f"{name}_rows", 2 * block, 12, 1, dtype=name, rows=ascending(12, 5))
    for dtype in ("f16", "bf16", "f64"):
        for tokens in (1, 11):
            yield product(f"{dtype}_{tokens}", 34, 9, tokens, dtype=dtype)
            yield sums(f"{dtype}_{tokens}", 34, 9, tokens, dtype=dtype)
        if dtype == "f64":
            continue
        c = Case(f"sparse/product_by_{dtype}")
        yield c.out(c.sparse("mul_mat_sparse", c.leaf(34, 9), c.leaf(34, 2, dtype=dtype), c.leaf(9, 2), None))
        c = Case(f"sparse/axpy_by_{dtype}")
        yield c.out(c.sparse("axpy", c.leaf(34, 9), c.leaf(9, 2, dtype=dtype), None, None, by="positive"))


def strided():
    for op in ("mul_mat_sparse", "axpy"):
        def second(c, op=op):
            return (19, 3) if op == "mul_mat_sparse" else (8, 3)

        c = Case(f"sparse/{op}_of_transposed")
        x, y = second(c)
        yield c.out(c.sparse(op, c.transpose(c.leaf(8, 19)), c.transpose(c.leaf(y, x)), c.transpose(c.leaf(3, 8)), None, threshold=0.5))
        c = Case(f"sparse/{op}_of_views")
        numbers = c.view(c.numbers(1, 9, 4, 9, 6, 9), (3,), None, 0)
        numbers = c.view(c.numbers(1, 4, 6, 9, 9, 9), (3,), None, 0)
        a = c.view(c.leaf(19, 9), (19, 3), (3 * 76,), 76)
        yield c.out(c.sparse(op, a, c.view(c.leaf(x + 2, 3), (x, 3), (4 * (x + 2),), 8), c.view(c.leaf(12, 3), (8, 3), (48,), 12), numbers))
        c = Case(f"sparse/{op}_plus_bias")
        b = c.leaf(x, 2)
        made = c.sparse(op, c.leaf(19, 8), b, c.leaf(8, 2), None)
        yield c.out(c.elementwise("relu", c.add(made, c.leaf(made.ne[0]))))


def special():
    # Ties are active, a NaN score is not; what no active neuron has a part in is 0 whatever it holds.
    ties = {0: 0.5, 1: 0.498046875, 2: NAN, 3: INF, 4: -INF, 5: -0.5, 6: -0.0, 7: 0.0}
    for by, threshold in (("score", 0.5), ("magnitude", 0.5), ("positive", 0), ("score", 0), ("magnitude", 0)):
        yield product(f"ties_{by}_{threshold}", 6, 8, 2, (by, threshold), put=ties)
        yield sums(f"ties_{by}_{threshold}", 6, 8, 2, (by, threshold), scored=True, put_scores=ties)
    # A threshold is rounded to F32, as scores are.
    yield product("tie_of_a_tenth", 6, 3, 1, ("score", 0.1), put={0: 0.1, 1: 0.09999999403953552, 2: 0.10000000894069672})
    c = Case("sparse/product_of_nan_that_is_not_active")
    a = c.leaf(5, 4, put={5: NAN, 11: INF})
    yield c.out(c.sparse("mul_mat_sparse", a, c.leaf(5, 2), c.leaf(4, 2, put={0: 1, 1: -1, 2: -1, 3: 1, 4: 1, 5: -1, 6: 1, 7: 1}), None))
    for label, put in (("nan", {1: NAN}), ("inf", {1: INF}), ("zeros", {0: 0.0, 1: -0.0, 2: 0.0, 3: -0.0})):
        for by, threshold in RULES + [("magnitude", 0)]:
            yield sums(f"h_{label}_{by}_{threshold}", 5, 4, 2, (by, threshold), put=put)
    # 0 times infinity is left out, as is what the rule leaves out.
    c = Case("sparse/axpy_of_zeros_by_infinity")
    a = c.leaf(5, 4, put={i: INF for i in range(5, 10)})
    yield c.out(c.sparse("axpy", a, c.leaf(4, 2, put={1: 0.0, 5: -1.0}), None, None))
    c = Case("sparse/axpy_of_zeros_by_nan_scored")
    a = c.leaf(5, 4, put={i: NAN for i in range(5, 10)})
    yield c.out(c.sparse("axpy", a, c.leaf(4, 2, put={1: -0.0, 5: 2.0}), c.leaf(4, 2, put={i: 1.0 if i != 5 else -1.0 for i in range(8)}), None))


def block(name, k, n, m, tokens, rule=("positive", 0), rows=None, scored=False, dtypes=("f32",) * 3, activation=None, first=None, put=None):
    c = Case(f"sparse/ffn_{name}")
    count = n if rows is None else len(rows)

    def matrix(dtype, *ne):
        return c.leaf(*ne, dtype=dtype) if dtype in ("f32", "f16", "bf16", "f64") else c.blocks(dtype, *ne)

    x, gate, up = c.leaf(k, tokens, put=put), matrix(dtypes[0], k, count), matrix(dtypes[1], k, count)
    down_t, scores = matrix(dtypes[2], m, count), c.leaf(n, tokens) if scored else None
    numbers = c.numbers(*rows) if rows is not None else None
    return c.out(c.sparse("sparse_ffn", x, gate, up, down_t, scores, numbers, activation=activation, first=first, **of(*rule)))


def blocks_of_neurons():
    for k, n, m, tokens in [(1, 1, 1, 1), (33, 7, 5, 1), (17, 40, 9, 2), (12, 140, 17, 9), (5, 20, 4, 130), (8, 30, 1030, 1)]:
        yield block(f"{k}x{n}x{m}x{tokens}", k, n, m, tokens)
        yield block(f"{k}x{n}x{m}x{tokens}_scored", k, n, m, tokens, ("score", 0.5), scored=True)
    for activation in ("relu", "silu", "gelu"):
        named = None if activation == "relu" else activation
        for first in ("gate", "up"):
            for by, threshold in (("score", 1.5), ("magnitude", 2.5), ("positive", 0)):
                yield block(f"{activation}_{first}_{by}", 11, 20, 6, 3, (by, threshold), activation=named, first=None if first == "gate" else first)
        yield block(f"{activation}_scored", 11, 20, 6, 3, ("magnitude", 1.5), scored=True, activation=named)
    for label, numbers in [("none", []), ("one", [17]), ("every_second", ascending(20, 2)), ("all", ascending(20, 1))]:
        yield block(f"rows_{label}", 9, 20, 4, 3, ("positive", 0), rows=numbers, scored=True)
    yield block("all", 9, 20, 4, 2, ("magnitude", 0), activation="silu")
    yield block("none", 9, 20, 4, 2, ("score", 4.5), scored=True)
    for name, (size, *_) in FORMATS.items():
        # Weights of large scales make a neuron's bound reach the threshold: by score alone is left.
        yield block(f"{name}_scored", size, 12, size, 1, ("score", 0.5), scored=True, dtypes=(name,) * 3)
    for dtypes in (("q8_0", "q8_0", "q8_0"), ("q4_0", "f32", "f16"), ("f16", "q8_0", "bf16"), ("bf16", "f64", "f32")):
        for tokens in (1, 3):
            yield block(f"{'_'.join(dtypes)}_{tokens}", 32, 40, 32, tokens, dtypes=dtypes)
    # Two parts of the neurons on two devices, and an add.
    c = Case("sparse/parts_of_ffn")
    low, high = [i for i in range(24) if i % 3 == 0], [i for i in range(24) if i % 3]
    x, scores = c.leaf(10, 2), c.leaf(24, 2)
    parts = [c.sparse("sparse_ffn", x, c.leaf(10, len(p)), c.leaf(10, len(p)), c.leaf(7, len(p)), scores, c.numbers(*p), by="positive") for p in (low, high)]
    yield c.out(c.add(*parts))
    yield block("nan_in_x", 5, 9, 4, 3, put={7: NAN})
    yield block("nan_in_x_scored", 5, 9, 4, 3, ("score", 0.5), scored=True, put={7: NAN})
    for k, n, m, tokens in [(0, 5, 3, 2), (4, 0, 3, 2), (4, 5, 0, 2), (4, 5, 3, 0)]:
        yield block(f"empty_{k}x{n}x{m}x{tokens}", k, n, m, tokens)
        yield block(f"empty_{k}x{n}x{m}x{tokens}_scored", k, n, m, tokens, ("score", 0.5), scored=True)

    def wrong(label, status, words, x, gate, up, down_t, scores=None, rows=None, **attrs):
        c = Case(f"sparse/error_ffn_{label}")
        made = [c.leaf(*ne[1:], dtype=ne[0]) if ne else None for ne in (x, gate, up, down_t, scores, rows)]
        return c.fails(status, ("sparse_ffn", *words), "sparse_ffn", *made, **attrs)

    def f(*ne):
        return ("f32", *ne)

    shape, types, value = "SHAPE_MISMATCH", "TYPE_MISMATCH", "INVALID_ARGUMENT"
    good = (f(4, 2), f(4, 3), f(4, 3), f(5, 3))
    yield wrong("gate", shape, ("x is [4, 2] f32", "dimension 0 of gate must be 4"), f(4, 2), f(6, 3), f(4, 3), f(5, 3))
    yield wrong("up", shape, ("dimension 0 of up must be 4",), f(4, 2), f(4, 3), f(6, 3), f(5, 3))
    yield wrong("up_neurons", shape, ("dimension 1 of up must be 3",), f(4, 2), f(4, 3), f(4, 2), f(5, 3))
    yield wrong("down", shape, ("dimension 1 of down_t must be 3",), f(4, 2), f(4, 3), f(4, 3), f(5, 4))
    yield wrong("scores", shape, ("dimension 0 of scores must be 3",), *good, f(4, 2))
    yield wrong("tokens", shape, ("dimension 1 of scores must be 2",), *good, f(3, 3))
    yield wrong("rows", value, ("rows number neurons of scores",), *good, None, ("i32", 3))
    yield wrong("rows_of_another_number", shape, ("dimension 0 of rows must be 3",), *good, f(7, 2), ("i32", 2))
    yield wrong("x_type", types, ("x must be f32, f16 or bf16",), ("f64", 4, 2), *good[1:])
    yield wrong("down_type", types, ("down_t must be of a float type or a weight format",), *good[:3], ("i32", 5, 3))
    yield wrong("x_of_3_dimensions", shape, ("x must have 2 dimensions",), f(4, 2, 2), *good[1:])
    yield wrong("threshold", value, ("threshold is 2", "positive"), *good, by="positive", threshold=2)
    yield wrong("first", value, ("first says what is tested without scores",), *good, f(3, 2), first="up")
    for k, m in ((32, 5), (0, 5), (32, 0)):
        c = Case(f"sparse/error_rows_ffn_{k}_{m}")
        made = c.sparse("sparse_ffn", c.leaf(k, 2), c.leaf(k, 3), c.leaf(k, 3), c.leaf(m, 3), c.leaf(8, 2), c.numbers(1, 6, 6))
        yield c.fails_computing(made, "INVALID_ARGUMENT", ("sparse_ffn", "element 2 of rows is 6", "rows must ascend, each number once, from 0 to 7"))


def empty():
    for k, n, tokens in [(0, 5, 3), (6, 0, 3), (6, 5, 0), (0, 0, 0)]:
        yield product(f"empty_{k}x{n}x{tokens}", k, n, tokens)
        yield sums(f"empty_{k}x{n}x{tokens}", k, n, tokens)
    yield product("empty_rows", 6, 5, 2, rows=[])
    yield sums("empty_rows", 6, 5, 2, rows=[])


def refusals():
    shape, types, value = "SHAPE_MISMATCH", "TYPE_MISMATCH", "INVALID_ARGUMENT"

    def wrong(op, label, status, words, *operands, **attrs):
        c = Case(f"sparse/error_{op}_{label}")
        made = [c.leaf(*ne[1:], dtype=ne[0]) if ne else None for ne in operands]
        return c.fails(status, (op, *words), op, *made, **attrs)

    def f(*ne):
        return ("f32", *ne)

    def i(*ne):
        return ("i32", *ne)

    m = "mul_mat_sparse"
    yield wrong(m, "k", shape, ("a is [4, 3] f32", "dimension 0 of b must be 4"), f(4, 3), f(5, 2), f(3, 2), None)
    yield wrong(m, "tokens", shape, ("dimension 1 of scores must be 2",), f(4, 3), f(4, 2), f(3, 4), None)
    yield wrong(m, "scores", shape, ("dimension 0 of scores must be 3", "no rows"), f(4, 3), f(4, 2), f(5, 2), None)
    yield wrong(m, "score_types", types, ("scores must be f32",), f(4, 3), f(4, 2), ("f16", 3, 2), None)
    yield wrong(m, "a_of_3_dimensions", shape, ("a must have 2 dimensions",), f(4, 3, 2), f(4, 2), f(3, 2), None)
    yield wrong(m, "b_of_3_dimensions", shape, ("b must have 2 dimensions",), f(4, 3), f(4, 2, 2), f(3, 2), None)
    yield wrong(m, "rows_of_2_dimensions", shape, ("rows must have 1 dimension at most",), f(4, 3), f(4, 2), f(5, 2), i(3, 2))
    yield wrong(m, "rows_of_another_number", shape, ("dimension 0 of rows must be 3", "row of a"), f(4, 3), f(4, 2), f(5, 2), i(2))
    yield wrong(m, "rows_beyond", shape, ("3 numbers of 2 neurons",), f(4, 3), f(4, 2), f(2, 2), i(3))
    yield wrong(m, "row_types", types, ("rows must be i32",), f(4, 3), f(4, 2), f(5, 2), ("i64", 3))
    yield wrong(m, "neither", value, ("scores, rows or both", "mul_mat"), f(4, 3), f(4, 2), None, None)
    yield wrong(m, "n", value, ("attribute n", "3 or more"), f(4, 3), f(4, 2), None, i(3))
    yield wrong(m, "another_n", value, ("n is 4", "3 neurons"), f(4, 3), f(4, 2), f(3, 2), None, n=4)
    yield wrong(m, "rule_without_scores", value, ("rule for scores",), f(4, 3), f(4, 2), None, i(3), n=7, threshold=0.5)
    yield wrong(m, "threshold_of_positive", value, ("threshold is 0.5", "positive"), f(4, 3), f(4, 2), f(3, 2), None, by="positive", threshold=0.5)
    yield wrong(m, "integer_a", types, ("a must be of a float type or a weight format",), i(4, 3), f(4, 2), f(3, 2), None)
    yield wrong(m, "double_b", types, ("b must be f32, f16 or bf16",), f(4, 3), ("f64", 4, 2), f(3, 2), None)
    yield wrong("axpy", "n", shape, ("a_t is [4, 3] f32", "dimension 1 of a_t must be 5"), f(4, 3), f(5, 2), None, None)
    yield wrong("axpy", "scores", shape, ("dimension 0 of scores must be 3",), f(4, 3), f(3, 2), f(4, 2), None)
    yield wrong("axpy", "tokens", shape, ("dimension 1 of scores must be 2",), f(4, 3), f(3, 2), f(3, 1), None)
    yield wrong("axpy", "rows", shape, ("dimension 0 of rows must be 3",), f(4, 3), f(6, 2), None, i(4))
    yield wrong("axpy", "rows_beyond", shape, ("3 numbers of 2 neurons",), f(4, 3), f(2, 2), None, i(3))
    yield wrong("axpy", "integer_a", types, ("a_t must be of a float type or a weight format",), i(4, 3), f(3, 2), None, None)
    yield wrong("axpy", "double_h", types, ("h must be f32, f16 or bf16",), f(4, 3), ("f64", 3, 2), None, None)
    yield wrong("axpy", "h_of_3_dimensions", shape, ("h must have 2 dimensions",), f(4, 3), f(3, 2, 2), None, None)
    yield wrong("axpy", "threshold_of_positive", value, ("threshold is 2", "positive"), f(4, 3), f(3, 2), None, None, by="positive", threshold=2)


def numbers_that_are_none():
    for label, numbers, bad in [("beyond", (0, 2, 8), 2), ("negative", (-1, 2, 3), 0), ("twice", (1, 4, 4), 2), ("unsorted", (5, 3, 6), 1)]:
        for op in ("mul_mat_sparse", "axpy"):
            for name in ("f32", "q8_0"):
                c = Case(f"sparse/error_rows_{label}_{op}_{name}")
                a = c.leaf(32, 3) if name == "f32" else c.zero_blocks(name, 32, 3)
                made = c.sparse(op, a, c.leaf(32 if op == "mul_mat_sparse" else 8, 2), c.leaf(8, 2), c.numbers(*numbers))
                words = (op, f"element {bad} of rows is {numbers[bad]}", "rows must ascend, each number once, from 0 to 7")
                yield c.fails_computing(made, "INVALID_ARGUMENT", words)
    for k, tokens in ((0, 2), (4, 0)):
        c = Case(f"sparse/error_rows_of_nothing_{k}x{tokens}")
        made = c.sparse("mul_mat_sparse", c.leaf(k, 2), c.leaf(k, tokens), c.leaf(5, tokens), c.numbers(3, 3))
        yield c.fails_computing(made, "INVALID_ARGUMENT", ("mul_mat_sparse", "element 1 of rows is 3"))
        c = Case(f"sparse/error_rows_of_no_sums_{k}x{tokens}")
        made = c.sparse("axpy", c.leaf(k, 2), c.leaf(5, tokens), None, c.numbers(3, 3))
        yield c.fails_computing(made, "INVALID_ARGUMENT", ("axpy", "element 1 of rows is 3"))


def cases():
    for part in (sizes, rows, formats, strided, special, blocks_of_neurons, empty, refusals, numbers_that_are_none):
        yield from part()
