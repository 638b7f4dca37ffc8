"""get_rows and set_rows: every type, batches, repeated and missing rows; and integers in cast and cpy."""

from .formats import FORMATS
from .model import Case

INF, NAN = float("inf"), float("nan")
INTS = ("i8", "i16", "i32", "i64", "u8", "bool")


def gets():
    for dtype in ("f32", "f16", "bf16", "f64", *INTS):
        c = Case(f"get_rows/{dtype}")
        yield c.out(c.get_rows(c.leaf(7, 9, dtype=dtype), c.numbers(8, 0, 3, 3, 1)))
    for name in FORMATS:
        c = Case(f"get_rows/{name}")
        yield c.out(c.get_rows(c.blocks(name, FORMATS[name][0], 3), c.numbers(2, 0, 2, dtype="i64")))
    c = Case("get_rows/batched")
    yield c.out(c.get_rows(c.leaf(5, 4, 2, 3), c.numbers(*[i % 4 for i in range(18)], shape=(3, 2, 3))))
    c = Case("get_rows/of_a_transposed")
    yield c.out(c.get_rows(c.transpose(c.leaf(6, 5)), c.numbers(5, 2)))
    c = Case("get_rows/of_a_transposed_i16")
    yield c.out(c.get_rows(c.transpose(c.leaf(6, 5, dtype="i16")), c.numbers(5, 2)))
    c = Case("get_rows/strided_numbers")
    # Every other number of a leaf, as a row of its transpose.
    apart = c.view(c.numbers(0, 9, 3, 9, 1, 9, dtype="i64"), (1, 3), (16,))
    yield c.out(c.get_rows(c.leaf(4, 4), c.transpose(apart)))
    c = Case("get_rows/one_element")
    yield c.out(c.get_rows(c.leaf(1), c.numbers(0)))
    c = Case("get_rows/no_numbers")
    yield c.out(c.get_rows(c.leaf(5, 3), c.leaf(0, dtype="i32")))
    c = Case("get_rows/empty_rows")
    yield c.out(c.get_rows(c.leaf(0, 3), c.numbers(2, 1)))
    c = Case("get_rows/of_a_sum_times_a_matrix")
    taken = c.get_rows(c.add(c.leaf(33, 6), c.leaf(33)), c.numbers(5, 5, 1))
    yield c.out(c.mul_mat(taken, c.leaf(33, 4)))
    c = Case("get_rows/numbers_of_a_cast")
    yield c.out(c.get_rows(c.leaf(8, 4), c.cast(c.leaf(3, put={0: 2.4, 1: 0.5, 2: 2.5}), "i32")))
    c = Case("get_rows/many")
    yield c.out(c.get_rows(c.leaf(257, 40), c.numbers(*[(7 * i) % 40 for i in range(300)])))


def get_refusals():
    for label, rows in (("beyond", (1, 5, 2)), ("negative", (0, 2, -1)), ("far", (0, 1073741824))):
        c = Case(f"get_rows/error_{label}")
        bad = next(i for i, r in enumerate(rows) if not 0 <= r < 5)
        yield c.fails_computing(c.get_rows(c.leaf(4, 5), c.numbers(*rows)), "INVALID_ARGUMENT",
                                ("get_rows", f"element {bad} of rows is {rows[bad]}", "0 to 4"))
    c = Case("get_rows/error_of_no_rows")
    yield c.fails_computing(c.get_rows(c.leaf(4, 0), c.numbers(0)), "INVALID_ARGUMENT", ("get_rows", "no rows"))
    c = Case("get_rows/error_first_of_many")
    yield c.fails_computing(c.get_rows(c.leaf(4, 50), c.numbers(*[i % 61 for i in range(400)])), "INVALID_ARGUMENT",
                            ("element 50 of rows is 50",))
    c = Case("get_rows/error_then_used")
    # Later nodes run on zeros, and the numbers are still there for the message.
    taken = c.get_rows(c.leaf(8, 4), c.cast(c.leaf(2, put={0: 1, 1: 77}), "i32"))
    total = c.add(c.add(taken, c.leaf(8, 2)), c.leaf(8, 2))
    yield c.fails_computing(c.mul_mat(total, c.leaf(8, 3)), "INVALID_ARGUMENT", ("element 1 of rows is 77",))
    c = Case("get_rows/error_float_numbers")
    yield c.fails("TYPE_MISMATCH", ("get_rows", "f32", "i32 or i64"), "get_rows", c.leaf(4, 5), c.leaf(3))
    c = Case("get_rows/error_batch")
    yield c.fails("SHAPE_MISMATCH", ("get_rows", "[4, 5, 2]"), "get_rows", c.leaf(4, 5, 2), c.leaf(3, dtype="i32"))


def sets():
    for dtype in ("f32", "f16", "bf16", "f64"):
        c = Case(f"set_rows/f32_into_{dtype}")
        yield c.out(c.set_rows(c.leaf(6, 7, dtype=dtype), c.leaf(6, 3), c.numbers(4, 0, 6, dtype="i64")))
    for dtype in INTS:
        c = Case(f"set_rows/{dtype}")
        yield c.out(c.set_rows(c.leaf(5, 4, dtype=dtype), c.leaf(5, 2, dtype=dtype), c.numbers(3, 1)))
    c = Case("set_rows/f32_into_i32")
    yield c.out(c.set_rows(c.leaf(5, 4, dtype="i32"), c.leaf(5, 2), c.numbers(3, 1)))
    c = Case("set_rows/blocks")
    a = c.blocks("q4_0", 64, 4)
    wrote = c.set_rows(a, c.blocks("q4_0", 64, 2), c.numbers(3, 0))
    yield c.out(c.cast(wrote, "f32"))
    c = Case("set_rows/later_one_stays")
    yield c.out(c.set_rows(c.leaf(9, 4), c.leaf(9, 5), c.numbers(2, 1, 2, 2, 1)))
    c = Case("set_rows/later_one_stays_long")
    yield c.out(c.set_rows(c.leaf(700, 4), c.leaf(700, 120), c.numbers(*[i % 3 for i in range(120)])))
    c = Case("set_rows/batched")
    yield c.out(c.set_rows(c.leaf(5, 4, 2, 3), c.leaf(5, 2, 2, 3), c.numbers(*[(i * 3) % 4 for i in range(12)], shape=(2, 2, 3))))
    c = Case("set_rows/one_list_for_all_slices")
    yield c.out(c.set_rows(c.leaf(5, 4, 2, 3), c.leaf(5, 2, 2, 3), c.numbers(3, 0)))
    c = Case("set_rows/list_for_each_dim3")
    yield c.out(c.set_rows(c.leaf(5, 4, 2, 3), c.leaf(5, 2, 2, 3), c.numbers(3, 0, 1, 2, 0, 3, shape=(2, 1, 3))))
    c = Case("set_rows/into_a_view")
    d = c.leaf(10, 6)
    wrote = c.set_rows(c.view(d, (4, 3), (80,), 12), c.leaf(4, 2), c.numbers(2, 0))
    yield c.out(c.add(d, c.reshape(c.view(wrote, (1,)), 1)))
    c = Case("set_rows/into_columns")
    yield c.out(c.set_rows(c.transpose(c.leaf(6, 5)), c.leaf(5, 2), c.numbers(5, 2)))
    c = Case("set_rows/of_columns")
    yield c.out(c.set_rows(c.leaf(5, 6), c.transpose(c.leaf(2, 5)), c.numbers(5, 2)))
    c = Case("set_rows/nothing")
    yield c.out(c.set_rows(c.leaf(5, 4), c.leaf(5, 0), c.leaf(0, dtype="i32")))
    c = Case("set_rows/cache")
    # As a key-value cache: two rows are stored, all rows are used.
    d = c.leaf(16, 8, dtype="f16")
    wrote = c.set_rows(d, c.add(c.leaf(16, 2), c.leaf(16)), c.numbers(6, 7, dtype="i64"))
    yield c.out(c.mul_mat(wrote, c.leaf(16, 3)))


def set_refusals():
    c = Case("set_rows/error_beyond")
    yield c.fails_computing(c.set_rows(c.leaf(4, 5), c.leaf(4, 2), c.numbers(4, 5)), "INVALID_ARGUMENT",
                            ("set_rows", "element 1 of rows is 5", "0 to 4"))
    c = Case("set_rows/error_value")
    b = c.leaf(4, 2, put={6: 40000})
    yield c.fails_computing(c.set_rows(c.leaf(4, 5, dtype="i16"), b, c.numbers(0, 1)), "INVALID_ARGUMENT",
                            ("set_rows", "element 6 of b is 40000", "-32768 to 32767"))
    c = Case("set_rows/error_shape")
    yield c.fails("SHAPE_MISMATCH", ("set_rows", "[4, 3]"), "set_rows", c.leaf(4, 5), c.leaf(4, 3), c.leaf(2, dtype="i32"))
    c = Case("set_rows/error_row_length")
    yield c.fails("SHAPE_MISMATCH", ("set_rows",), "set_rows", c.leaf(4, 5), c.leaf(3, 2), c.leaf(2, dtype="i32"))
    c = Case("set_rows/error_lists")
    yield c.fails("SHAPE_MISMATCH", ("set_rows", "divide"), "set_rows", c.leaf(4, 5, 3), c.leaf(4, 2, 3), c.leaf(2, 2, dtype="i32"))
    c = Case("set_rows/error_numbers")
    yield c.fails("TYPE_MISMATCH", ("set_rows", "i32 or i64"), "set_rows", c.leaf(4, 5), c.leaf(4, 2), c.leaf(2, dtype="i8"))
    c = Case("set_rows/error_overlap")
    a = c.leaf(4, 6)
    yield c.fails("INVALID_ARGUMENT", ("set_rows", "overlap"), "set_rows", c.view(a, (4, 4), (16,)), c.view(a, (4, 2), (16,), 32),
                  c.leaf(2, dtype="i32"))


LIMITS = {"i8": 2.0**7, "i16": 2.0**15, "i32": 2.0**31, "i64": 2.0**63, "u8": 2.0**8}


def fits(source, to, n, put=None):
    """`put`, and no negative numbers in the n elements of a leaf if `to` lacks them."""
    if source == "u8" and to == "i8":
        return {i: 3 * i % 128 for i in range(n)}
    if to != "u8" or source in ("u8", "bool"):
        return put
    return {i: i % 9 for i in range(n)} | {i: v for i, v in (put or {}).items() if v >= -0.5}


def integers():
    for source in INTS:
        for to in (*INTS, "f32", "f16", "bf16", "f64"):
            if source != to:
                c = Case(f"cast/{source}_to_{to}")
                yield c.out(c.cast(c.leaf(19, 2, dtype=source, put=fits(source, to, 38)), to))
    ties = {0: 0.5, 1: 1.5, 2: -2.5, 3: 3.49, 4: -0.5, 5: 127.49, 6: -128.25, 7: 99.99}
    for source in ("f32", "f16", "bf16", "f64"):
        for to in INTS:
            c = Case(f"cast/{source}_to_{to}")
            yield c.out(c.cast(c.leaf(9, 3, dtype=source, put=fits(source, to, 27, ties if source in ("f32", "f64") else None)), to))
    for source in ("f32", "f64"):
        c = Case(f"cast/{source}_special_to_bool")
        yield c.out(c.cast(c.leaf(7, dtype=source, put={0: NAN, 1: INF, 2: -INF, 3: -0.0, 4: 2.0**-149, 5: 0.25, 6: 0}), "bool"))
    c = Case("cast/i64_large_to_bool")
    yield c.out(c.cast(c.leaf(3, dtype="i64", put={0: 2.0**40, 1: -(2.0**63), 2: 0}), "bool"))
    for source in ("f32", "f16", "bf16"):
        c = Case(f"cast/{source}_to_f64")
        yield c.out(c.cast(c.leaf(11, 3, dtype=source), "f64"))
        c = Case(f"cast/f64_to_{source}")
        yield c.out(c.cast(c.leaf(11, 3, dtype="f64"), source))
    c = Case("cpy/i32_to_transposed_f16")
    yield c.out(c.cpy(c.leaf(5, 7, dtype="i32"), c.transpose(c.leaf(7, 5, dtype="f16"))))
    c = Case("cpy/i64_to_i8_of_another_shape")
    yield c.out(c.cpy(c.leaf(6, 4, dtype="i64"), c.leaf(8, 3, dtype="i8")))
    for to in LIMITS:
        for label, value in (("nan", float("nan")), ("inf", float("inf")), ("beyond", LIMITS[to]), ("below", -2 * LIMITS[to])):
            c = Case(f"cast/error_{label}_to_{to}")
            a = c.leaf(13, 3, put={**(fits("f32", to, 39) or {}), 17: value, 30: value})
            yield c.fails_computing(c.cast(a, to), "INVALID_ARGUMENT", ("cast", "element 17 of a is", f"{to} holds"))
    c = Case("cast/error_i32_to_i8")
    yield c.fails_computing(c.cast(c.leaf(4, dtype="i32", put={2: -129}), "i8"), "INVALID_ARGUMENT", ("element 2 of a is -129", "-128 to 127"))
    c = Case("cast/error_i8_to_u8")
    yield c.fails_computing(c.cast(c.leaf(4, dtype="i8", put={0: 1, 1: 0, 2: -1}), "u8"), "INVALID_ARGUMENT", ("element 2 of a is -1", "0 to 255"))
    c = Case("cast/error_u8_to_i8")
    yield c.fails_computing(c.cast(c.leaf(4, dtype="u8", put={0: 1, 1: 127, 2: 128}), "i8"), "INVALID_ARGUMENT", ("element 2 of a is 128",))
    c = Case("cpy/error_value")
    a = c.transpose(c.leaf(3, 4, put={7: 1e6}))
    # Element 7 of the leaf is element 2 + 4 * 1 of its transpose.
    yield c.fails_computing(c.cpy(a, c.leaf(12, dtype="i16")), "INVALID_ARGUMENT", ("cpy", "element 6 of src is 1e+06"))


def cases():
    for part in (gets, get_refusals, sets, set_refusals, integers):
        yield from part()
