"""mul_mat_id: every type, experts with many, few and no columns, shared columns, views, special values, numbers that are none."""

from .formats import FORMATS
from .model import Case


def product(name, k, m, experts, used, tokens, columns=None, dtype="i32", step=7):
    """Plain floats; slot i goes to expert step * i mod experts."""
    c = Case(f"mul_mat_id/{name}")
    a, b = c.leaf(k, m, experts), c.leaf(k, used if columns is None else columns, tokens)
    return c.out(c.mul_mat_id(a, b, routed(c, experts, used, tokens, dtype, step)))


def routed(c, experts, used, tokens, dtype="i32", step=7):
    return c.numbers(*[step * i % max(experts, 1) for i in range(used * tokens)], dtype=dtype, shape=(used, tokens))


def sizes():
    for k, m, experts, used, tokens in [(1, 1, 1, 1, 1), (33, 5, 4, 2, 1), (17, 33, 3, 1, 7), (64, 10, 4, 2, 5), (65, 31, 8, 3, 11),
                                        (7, 130, 2, 2, 13), (520, 17, 3, 2, 16)]:
        yield product(f"{k}x{m}x{experts}_{used}_of_{tokens}", k, m, experts, used, tokens)
    # Numbers of two and of three bytes.
    yield product("16x4x300_2_of_9", 16, 4, 300, 2, 9, step=101)
    yield product("3x2x70000_1_of_6", 3, 2, 70000, 1, 6, step=16411)
    # One column for all experts of a token, and one for every second.
    yield product("one_column_a_token", 33, 9, 4, 3, 6, columns=1)
    yield product("columns_repeat", 33, 9, 4, 6, 5, columns=3)
    yield product("i64", 20, 6, 5, 2, 4, dtype="i64")
    # All columns to one expert: more than tiles of dot products take, in groups that do not come out even.
    yield product("one_expert_takes_all", 40, 33, 4, 2, 29, step=0)
    yield product("one_expert_is_there", 40, 9, 1, 2, 6)
    # Experts 1 and 3 have none.
    yield product("experts_without_columns", 19, 12, 4, 2, 14, step=2)
    c = Case("mul_mat_id/uneven")
    # 20 columns, 9, 8, 1: both ways of multiplying in one product.
    ids = [0] * 20 + [3] * 9 + [1] * 8 + [4]
    yield c.out(c.mul_mat_id(c.leaf(35, 21, 5), c.leaf(35, 1, 38), c.numbers(*ids[::-1], shape=(1, 38))))
    c = Case("mul_mat_id/the_same_expert_twice")
    yield c.out(c.mul_mat_id(c.leaf(9, 4, 3), c.leaf(9, 2, 2), c.numbers(2, 2, 0, 0, shape=(2, 2))))


def empty():
    for label, k, m, experts, used, tokens, columns in [
        ("k", 0, 5, 3, 2, 4, None), ("m", 6, 0, 3, 2, 4, None), ("used", 6, 5, 3, 0, 4, None), ("used_of_columns", 6, 5, 3, 0, 4, 2),
        ("tokens", 6, 5, 3, 2, 0, None), ("experts_and_tokens", 6, 5, 0, 2, 0, None), ("all", 0, 0, 0, 0, 0, None),
    ]:  # fmt: skip
        yield product(f"empty_{label}", k, m, experts, used, tokens, columns)


def formats():
    for name, (block, *_) in FORMATS.items():
        c = Case(f"mul_mat_id/{name}")
        # 13 columns for expert 2, one for 0, none for 1.
        ids = c.numbers(*[0 if i == 5 else 2 for i in range(14)], shape=(2, 7))
        yield c.out(c.mul_mat_id(c.blocks(name, block, 5, 3), c.leaf(block, 1, 7), ids))
    for name in ("q4_0", "q4_K", "iq2_xs"):
        block, size = FORMATS[name][:2]
        for dtype in ("f16", "bf16"):
            c = Case(f"mul_mat_id/{name}_by_{dtype}")
            yield c.out(c.mul_mat_id(c.blocks(name, block, 4, 2), c.leaf(block, 2, 3, dtype=dtype), routed(c, 2, 2, 3)))
        c = Case(f"mul_mat_id/{name}_of_views")
        # Every second row of a, and b's elements apart.
        a = c.view(c.blocks(name, 2 * block, 6, 2), (block, 3, 2), (4 * size, 12 * size), size)
        yield c.out(c.mul_mat_id(a, c.transpose(c.leaf(2, block, 3)), routed(c, 2, 2, 3)))
    c = Case("mul_mat_id/q4_0_long")
    yield c.out(c.mul_mat_id(c.blocks("q4_0", 1056, 37, 2), c.leaf(1056, 2, 9), routed(c, 2, 2, 9, step=1)))
    for dtype in ("f16", "bf16", "f64"):
        for tokens in (3, 24):
            c = Case(f"mul_mat_id/{dtype}_{tokens}")
            yield c.out(c.mul_mat_id(c.leaf(34, 5, 2, dtype=dtype), c.leaf(34, 1, tokens), routed(c, 2, 1, tokens)))
    c = Case("mul_mat_id/f32_by_bf16")
    yield c.out(c.mul_mat_id(c.leaf(34, 5, 2), c.leaf(34, 2, 11, dtype="bf16"), routed(c, 2, 2, 11)))


def strided():
    for tokens in (2, 21):
        c = Case(f"mul_mat_id/a_transposed_{tokens}")
        yield c.out(c.mul_mat_id(c.permute(c.leaf(6, 19, 3), 1, 0, 2, 3), c.leaf(19, 1, tokens), routed(c, 3, 1, tokens)))
        c = Case(f"mul_mat_id/a_of_experts_interleaved_{tokens}")
        yield c.out(c.mul_mat_id(c.permute(c.leaf(19, 3, 6), 0, 2, 1, 3), c.leaf(19, 1, tokens), routed(c, 3, 1, tokens)))
        c = Case(f"mul_mat_id/b_of_tokens_first_{tokens}")
        yield c.out(c.mul_mat_id(c.leaf(19, 6, 3), c.permute(c.leaf(19, tokens, 2), 0, 2, 1, 3), routed(c, 3, 2, tokens)))
        c = Case(f"mul_mat_id/b_transposed_{tokens}")
        yield c.out(c.mul_mat_id(c.leaf(19, 6, 3), c.transpose(c.leaf(2, 19, tokens)), routed(c, 3, 2, tokens)))
    c = Case("mul_mat_id/ids_transposed")
    yield c.out(c.mul_mat_id(c.leaf(8, 4, 5), c.leaf(8, 2, 3), c.transpose(c.numbers(4, 0, 3, 1, 2, 4, shape=(3, 2)))))
    c = Case("mul_mat_id/ids_of_a_view")
    # The first two of each token's four: what a sort leaves.
    ids = c.numbers(4, 0, 9, 9, 3, 1, 9, 9, 2, 4, 9, 9, dtype="i64", shape=(4, 3))
    yield c.out(c.mul_mat_id(c.leaf(8, 4, 5), c.leaf(8, 1, 3), c.view(ids, (2, 3), (32,))))
    c = Case("mul_mat_id/a_of_one_expert_for_all_numbers")
    yield c.out(c.mul_mat_id(c.view(c.leaf(12, 5), (12, 5, 4), (48, 0)), c.leaf(12, 1, 6), routed(c, 4, 1, 6)))


def without_an_expert():
    for label, dtype in (("i32", "i32"), ("i64", "i64")):
        for tokens in (1, 6, 21):
            c = Case(f"mul_mat_id/minus_one_{label}_{tokens}")
            ids = c.numbers(*[i * 3 % 5 - 1 for i in range(2 * tokens)], dtype=dtype, shape=(2, tokens))
            yield c.out(c.mul_mat_id(c.leaf(35, 9, 4), c.leaf(35, 2, tokens), ids))
    c = Case("mul_mat_id/minus_one_everywhere")
    yield c.out(c.mul_mat_id(c.leaf(12, 6, 3), c.leaf(12, 1, 4), c.numbers(*[-1] * 8, shape=(2, 4))))
    c = Case("mul_mat_id/minus_one_without_experts")
    yield c.out(c.mul_mat_id(c.leaf(12, 6, 0), c.leaf(12, 1, 2), c.numbers(-1, -1, shape=(1, 2))))
    c = Case("mul_mat_id/minus_one_of_nan")
    # What a column without an expert holds is not looked at.
    b = c.leaf(13, 1, 3, put={13: float("nan"), 14: float("inf")})
    yield c.out(c.mul_mat_id(c.leaf(13, 7, 2), b, c.numbers(1, -1, 0, shape=(1, 3))))
    for name in ("q8_0", "q4_K"):
        block = FORMATS[name][0]
        c = Case(f"mul_mat_id/minus_one_{name}")
        yield c.out(c.mul_mat_id(c.blocks(name, block, 5, 2), c.leaf(block, 1, 7), c.numbers(*[i % 3 - 1 for i in range(14)], shape=(2, 7))))
    c = Case("mul_mat_id/minus_one_halves_add_up")
    # Experts 0 and 1 in one tensor, 2 and 3 in another: each has the numbers of its own, and -1 for the other's.
    b, ids = c.leaf(12, 1, 5), [i * 3 % 4 for i in range(10)]
    low = c.numbers(*[i if i < 2 else -1 for i in ids], shape=(2, 5))
    high = c.numbers(*[i - 2 if i >= 2 else -1 for i in ids], shape=(2, 5))
    yield c.out(c.add(c.mul_mat_id(c.leaf(12, 8, 2), b, low), c.mul_mat_id(c.leaf(12, 8, 2), b, high)))


def chained():
    c = Case("mul_mat_id/two_layers")
    ids = routed(c, 4, 2, 6)
    hidden = c.mul_mat_id(c.leaf(12, 20, 4), c.leaf(12, 1, 6), ids)
    yield c.out(c.mul_mat_id(c.leaf(20, 7, 4), hidden, ids))
    c = Case("mul_mat_id/plus_bias")
    yield c.out(c.add(c.mul_mat_id(c.leaf(12, 20, 4), c.leaf(12, 1, 6), routed(c, 4, 2, 6)), c.leaf(20)))
    c = Case("mul_mat_id/numbers_of_a_cast")
    ids = c.cast(c.leaf(2, 2, put={0: 2.4, 1: 0.0, 2: 0.6, 3: 1.5}), "i32")
    yield c.out(c.mul_mat_id(c.leaf(12, 5, 3), c.leaf(12, 2, 2), ids))


def special():
    inf, nan = float("inf"), float("nan")
    # In a: one row of the slots of one expert. In b: the column's slots.
    for label, a_put, b_put in [("nan_in_a", {9 * 13 + 12: nan}, {}), ("inf_in_b", {}, {2 * 13: -inf}), ("nan_in_b", {}, {5 * 13 + 12: nan})]:
        for tokens in (3, 20):
            c = Case(f"mul_mat_id/{label}_{tokens}")
            yield c.out(c.mul_mat_id(c.leaf(13, 7, 3, put=a_put), c.leaf(13, 2, tokens, put=b_put), routed(c, 3, 2, tokens)))
    c = Case("mul_mat_id/q8_0_of_nan")
    yield c.out(c.mul_mat_id(c.blocks("q8_0", 32, 4, 2), c.leaf(32, 1, 3, put={40: nan}), routed(c, 2, 2, 3)))
    c = Case("mul_mat_id/nan_in_an_expert_that_is_not_used")
    yield c.out(c.mul_mat_id(c.leaf(13, 2, 3, put={26 + i: nan for i in range(26)}), c.leaf(13, 1, 4), routed(c, 3, 1, 4, step=2)))


def refusals():
    def wrong(label, status, words, a, b, ids):
        c = Case(f"mul_mat_id/error_{label}")
        made = [c.leaf(*ne, dtype=dtype) for dtype, *ne in (a, b, ids)]
        return c.fails(status, ("mul_mat_id", *words), "mul_mat_id", *made)

    shape, types = "SHAPE_MISMATCH", "TYPE_MISMATCH"
    f = ("f32",)
    yield wrong("unequal_k", shape, ("[4, 3, 2]", "[5, 1, 6]"), (*f, 4, 3, 2), (*f, 5, 1, 6), ("i32", 1, 6))
    yield wrong("tokens", shape, ("tokens", "6 and 7"), (*f, 4, 3, 2), (*f, 4, 1, 6), ("i32", 1, 7))
    yield wrong("columns", shape, ("divide", "2 and 3"), (*f, 4, 3, 2), (*f, 4, 2, 6), ("i32", 3, 6))
    yield wrong("no_columns", shape, ("divide", "0 and 3"), (*f, 4, 3, 2), (*f, 4, 0, 6), ("i32", 3, 6))
    yield wrong("a_of_4_dimensions", shape, ("experts",), (*f, 4, 3, 2, 2), (*f, 4, 1, 6), ("i32", 1, 6))
    yield wrong("b_of_4_dimensions", shape, ("experts",), (*f, 4, 3, 2), (*f, 4, 1, 6, 2), ("i32", 1, 6))
    yield wrong("ids_of_3_dimensions", shape, ("experts",), (*f, 4, 3, 2), (*f, 4, 1, 6), ("i32", 1, 6, 2))
    yield wrong("float_numbers", types, ("i32 or i64",), (*f, 4, 3, 2), (*f, 4, 1, 6), (*f, 1, 6))
    yield wrong("short_numbers", types, ("i32 or i64",), (*f, 4, 3, 2), (*f, 4, 1, 6), ("i16", 1, 6))
    yield wrong("integer_a", types, ("float type or a weight format",), ("i32", 4, 3, 2), (*f, 4, 1, 6), ("i32", 1, 6))
    yield wrong("double_b", types, ("f32, f16 or bf16",), (*f, 4, 3, 2), ("f64", 4, 1, 6), ("i32", 1, 6))


def numbers_that_are_none():
    def fails(label, c, a, b, ids, words):
        return c.fails_computing(c.mul_mat_id(a, b, ids), "INVALID_ARGUMENT", ("mul_mat_id", *words))

    for label, experts, ids, bad in [("beyond", 5, (1, 5, 2, 4), 1), ("negative", 5, (0, -1, -2, -7), 2), ("far", 5, (0, 1, 2, 1073741824), 3)]:
        words = (f"element {bad} of ids is {ids[bad]}", "experts 0 to 4")
        c = Case(f"mul_mat_id/error_{label}")
        yield fails(label, c, c.leaf(12, 6, experts), c.leaf(12, 2, 2), c.numbers(*ids, shape=(2, 2)), words)
        c = Case(f"mul_mat_id/error_{label}_of_blocks")
        yield fails(label, c, c.zero_blocks("q4_0", 32, 6, experts), c.leaf(32, 2, 2), c.numbers(*ids, shape=(2, 2)), words)
    for label, k, m in (("no_k", 0, 6), ("no_rows", 12, 0)):
        c = Case(f"mul_mat_id/error_{label}")
        yield fails(label, c, c.leaf(k, m, 3), c.leaf(k, 1, 4), c.numbers(0, 2, 3, 1, shape=(1, 4)), ("element 2 of ids is 3", "experts 0 to 2"))
    c = Case("mul_mat_id/error_no_experts")
    yield fails("", c, c.leaf(12, 6, 0), c.leaf(12, 1, 2), c.numbers(0, 1, shape=(1, 2)), ("element 0 of ids is 0", "no experts"))
    c = Case("mul_mat_id/error_first_of_many")
    ids = [i % 61 for i in range(400)]
    yield fails("", c, c.leaf(4, 3, 50), c.leaf(4, 1, 200), c.numbers(*ids, shape=(2, 200)), ("element 50 of ids is 50",))
    c = Case("mul_mat_id/error_all_numbers")
    yield fails("", c, c.leaf(4, 3, 2), c.leaf(4, 1, 30), c.numbers(*[2] * 30, shape=(1, 30)), ("element 0 of ids is 2",))
    c = Case("mul_mat_id/error_then_used")
    # Later nodes run on zeros, because a NaN there would be an error of its own.
    product_ = c.mul_mat_id(c.leaf(12, 6, 2), c.leaf(12, 1, 3), c.numbers(0, 9, 1, shape=(1, 3)))
    yield c.fails_computing(c.cast(product_, "i32"), "INVALID_ARGUMENT", ("mul_mat_id", "element 1 of ids is 9"))


def cases():
    for part in (sizes, empty, formats, strided, without_an_expert, chained, special, refusals, numbers_that_are_none):
        yield from part()
