"""view, reshape, permute, transpose, cont, dup: movement only, so every result is exact."""

from itertools import permutations

from .model import Case

TYPES = ("f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "bool")
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "bool": 1}


def windows():
    c = Case("view/whole")
    yield c.out(c.view(c.leaf(7, 3), (7, 3)))
    c = Case("view/row")
    yield c.out(c.view(c.leaf(9, 5), (9,), None, 2 * 36))
    c = Case("view/last_element")
    yield c.out(c.view(c.leaf(9, 5), (1,), None, 44 * 4))
    c = Case("view/column")
    yield c.out(c.view(c.leaf(9, 5), (1, 5), (36,), 8))
    c = Case("view/window")
    yield c.out(c.view(c.leaf(16, 10), (7, 5), (128,), 12))
    c = Case("view/3d_of_1d")
    yield c.out(c.view(c.leaf(100), (3, 4, 5), (20, 80), 4))
    c = Case("view/4d_gaps_everywhere")
    yield c.out(c.view(c.leaf(400), (3, 2, 4, 3), (20, 60, 400), 16))
    c = Case("view/stride_0")
    yield c.out(c.view(c.leaf(6), (6, 3), (0,)))
    c = Case("view/overlapping_rows")
    yield c.out(c.view(c.leaf(20), (5, 8), (8,)))
    c = Case("view/empty")
    yield c.out(c.view(c.leaf(8), (0, 4)))
    c = Case("view/empty_at_the_end")
    yield c.out(c.view(c.leaf(8), (0,), None, 32))
    c = Case("view/of_a_view")
    a = c.view(c.leaf(12, 8), (10, 6), (48,), 48 + 4)
    yield c.out(c.view(a, (4, 3), (96,), 8))
    c = Case("view/of_a_view_beyond_its_own_end")
    # A view may reach past the view that it starts from, as long as it stays in the root's memory.
    yield c.out(c.view(c.view(c.leaf(20), (3,), None, 8), (10,), None, 16))
    c = Case("view/of_a_permutation")
    yield c.out(c.view(c.permute(c.leaf(6, 5, 4), 2, 0, 1, 3), (5,), None, 20))
    c = Case("view/of_a_sum")
    yield c.out(c.view(c.add(c.leaf(12, 4), c.leaf(12)), (5, 2), (96,), 8))
    for dtype in TYPES:
        size = BYTES[dtype]
        c = Case(f"view/type_{dtype}")
        yield c.out(c.view(c.leaf(11, 6, dtype=dtype), (5, 3), (22 * size,), 3 * size))


def shapes():
    for label, a, b in [
        ("flat", (3, 4, 5), (60,)),
        ("up", (60,), (5, 4, 3)),
        ("4d", (6, 10), (2, 3, 5, 2)),
        ("ones", (7,), (1, 7, 1, 1)),
        ("same", (4, 5), (4, 5)),
        ("empty", (0, 4), (7, 0, 2)),
        ("prime", (31, 2), (2, 31)),
    ]:
        c = Case(f"reshape/{label}")
        yield c.out(c.reshape(c.leaf(*a), *b))
    c = Case("reshape/of_a_reshape")
    yield c.out(c.reshape(c.reshape(c.leaf(24), 4, 6), 3, 8))
    c = Case("reshape/of_a_contiguous_view")
    yield c.out(c.reshape(c.view(c.leaf(12, 8), (12, 4), None, 96), 6, 8))
    c = Case("reshape/of_cont_of_transposed")
    yield c.out(c.reshape(c.cont(c.transpose(c.leaf(5, 6))), 3, 10))
    # Not contiguous, but with strides that express the shape.
    for label, axes, ne in [
        ("turned_joined", (2, 0, 1, 3), (12, 2)),
        ("turned_split", (2, 0, 1, 3), (3, 2, 2, 2)),
        ("turned_ones", (1, 0, 2, 3), (3, 1, 2, 4)),
        ("turned_same", (2, 1, 0, 3), (4, 3, 2)),
    ]:
        c = Case(f"reshape/{label}")
        yield c.out(c.reshape(c.permute(c.leaf(2, 3, 4), *axes), *ne))
    c = Case("reshape/of_a_window")
    yield c.out(c.reshape(c.view(c.leaf(12, 4, 3), (6, 4, 3), (48, 192), 8), 2, 3, 12))
    c = Case("reshape/of_a_column")
    yield c.out(c.reshape(c.view(c.leaf(6, 8), (1, 8), (24,), 8), 4, 2))
    c = Case("reshape/of_equal_rows")
    yield c.out(c.reshape(c.view(c.leaf(6), (6, 4), (0,)), 3, 2, 2, 2))
    c = Case("reshape/blocks_of_rows")
    yield c.out(c.cast(c.reshape(c.view(c.blocks("q4_0", 64, 4), (32, 4), (36,)), 32, 2, 2), "f32"))
    c = Case("reshape/i32")
    yield c.out(c.reshape(c.leaf(10, 3, dtype="i32"), 6, 5))


def permutes():
    for axes in permutations(range(4)):
        c = Case(f"permute/{''.join(map(str, axes))}")
        yield c.out(c.permute(c.leaf(2, 3, 4, 5), *axes))
    c = Case("permute/twice")
    yield c.out(c.permute(c.permute(c.leaf(3, 5, 4, 2), 1, 2, 0, 3), 3, 0, 2, 1))
    c = Case("permute/empty")
    yield c.out(c.permute(c.leaf(3, 0, 2), 2, 0, 1, 3))
    c = Case("permute/f16")
    yield c.out(c.permute(c.leaf(6, 7, 3, dtype="f16"), 2, 1, 0, 3))
    for label, ne in [("7x5", (7, 5)), ("1x9", (1, 9)), ("9x1", (9, 1)), ("33x17", (33, 17)), ("3d", (4, 6, 3))]:
        c = Case(f"transpose/{label}")
        yield c.out(c.transpose(c.leaf(*ne)))
    c = Case("transpose/twice")
    yield c.out(c.transpose(c.transpose(c.leaf(6, 4))))
    c = Case("transpose/of_a_window")
    yield c.out(c.transpose(c.view(c.leaf(10, 8), (5, 6), (40,), 84)))


def copies():
    for op in ("cont", "dup"):

        def copy(c, a, op=op):
            return c.cont(a) if op == "cont" else c.dup(a)

        c = Case(f"{op}/contiguous")
        yield c.out(copy(c, c.leaf(33, 3)))
        c = Case(f"{op}/transposed")
        yield c.out(copy(c, c.transpose(c.leaf(17, 12))))
        c = Case(f"{op}/permuted")
        yield c.out(copy(c, c.permute(c.leaf(5, 6, 7, 2), 3, 1, 0, 2)))
        c = Case(f"{op}/rows_with_gaps")
        yield c.out(copy(c, c.view(c.leaf(20, 9), (13, 9), (80,), 12)))
        c = Case(f"{op}/stride_0")
        yield c.out(copy(c, c.view(c.leaf(9), (9, 4), (0,))))
        c = Case(f"{op}/empty")
        yield c.out(copy(c, c.leaf(4, 0)))
        c = Case(f"{op}/of_a_sum_transposed")
        yield c.out(copy(c, c.transpose(c.add(c.leaf(8, 5), c.leaf(8)))))
        c = Case(f"{op}/special_values")
        inf, nan = float("inf"), float("nan")
        put = {0: nan, 1: inf, 2: -inf, 3: 2.0**-149, 4: -0.0, 11: 2.0**-126}
        yield c.out(copy(c, c.transpose(c.leaf(4, 3, put=put))))
        for dtype in TYPES[1:]:
            c = Case(f"{op}/transposed_{dtype}")
            yield c.out(copy(c, c.transpose(c.leaf(9, 7, dtype=dtype))))
    c = Case("cont/large_transposed")
    yield c.out(c.cont(c.transpose(c.leaf(300, 257))))
    c = Case("cont/large_permuted")
    yield c.out(c.cont(c.permute(c.leaf(33, 20, 17, 3), 2, 0, 1, 3)))


def refusals():
    def one(label, status, words, op, *ne, **attrs):
        c = Case(f"{op}/error_{label}")
        return c.fails(status, (op,) + words, op, c.leaf(*ne), **attrs)

    yield one("past_the_end", "INVALID_ARGUMENT", ("[4, 3]",), "view", 4, 3, ne=(4, 4))
    yield one("offset_past_the_end", "INVALID_ARGUMENT", ("[8]",), "view", 8, ne=(4,), offset=20)
    yield one("offset_far_away", "INVALID_ARGUMENT", (), "view", 8, ne=(1,), offset=1 << 40)
    yield one("stride_past_the_end", "INVALID_ARGUMENT", (), "view", 16, ne=(4, 3), nb=(32,))
    # 2^31 rows, 2^33 bytes apart: the last offset is 2^64 and must not wrap around to 0.
    yield one("stride_overflow", "INVALID_ARGUMENT", (), "view", 8, ne=(1, (1 << 31) + 1), nb=(1 << 33,))
    yield one("ne_overflow", "INVALID_ARGUMENT", (), "view", 8, ne=(1 << 31, 1 << 31, 4))
    yield one("count_smaller", "SHAPE_MISMATCH", ("[4, 3]", "[11]"), "reshape", 4, 3, ne=(11,))
    yield one("count_larger", "SHAPE_MISMATCH", ("[4, 3]", "[5, 5]"), "reshape", 4, 3, ne=(5, 5))
    # (2^61 + 1) * 8 is 8 in 64 bits, which would be the right count.
    yield one("ne_overflow", "INVALID_ARGUMENT", (), "reshape", 8, ne=((1 << 61) + 1, 8))
    yield one("axis_twice", "INVALID_ARGUMENT", (), "permute", 4, 3, axes=(0, 1, 1, 3))
    yield one("axis_4", "INVALID_ARGUMENT", (), "permute", 4, 3, axes=(0, 1, 2, 4))
    for label, make in [
        ("of_transposed", lambda c: c.transpose(c.leaf(4, 3))),
        ("of_a_window", lambda c: c.view(c.leaf(6, 4), (4, 3), (24,))),
        ("of_permuted", lambda c: c.permute(c.leaf(2, 3, 2), 0, 2, 1, 3)),
    ]:
        c = Case(f"reshape/error_{label}")
        yield c.fails("INVALID_ARGUMENT", ("reshape", "contiguous"), "reshape", make(c), ne=(12,))


def cases():
    for part in (windows, shapes, permutes, copies, refusals):
        yield from part()
