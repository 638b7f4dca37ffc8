"""add: every way in which a and b are broadcast, views on either side, special values, chains, refusals."""

from .model import Case

# Shapes of b relative to a's: all ones, a row, a column, one dimension each, divisors other than 1.
BROADCASTS = [
    ("scalar", (7, 5), (1,)),
    ("scalar_4d", (3, 5, 2, 4), (1, 1, 1, 1)),
    ("row", (33, 9), (33,)),
    ("row_wide", (257, 3), (257, 1)),
    ("column", (33, 9), (1, 9)),
    ("dim2", (5, 3, 7), (1, 1, 7)),
    ("dim3", (5, 3, 2, 6), (1, 1, 1, 6)),
    ("dims01", (17, 6, 3, 2), (17, 6)),
    ("dims02", (9, 4, 5, 2), (9, 1, 5)),
    ("dims13", (8, 7, 3, 5), (1, 7, 1, 5)),
    ("dims23", (15, 2, 3, 4), (1, 1, 3, 4)),
    ("part0", (12, 5), (4, 5)),
    ("part0_odd", (63, 3), (21, 3)),
    ("part0_17", (68, 4), (17, 2)),
    ("part1", (7, 10), (7, 2)),
    ("part2", (5, 2, 9), (5, 2, 3)),
    ("part3", (3, 2, 2, 8), (3, 2, 2, 4)),
    ("part_all", (6, 4, 6, 4), (3, 2, 2, 2)),
    ("part_and_one", (16, 9, 4), (8, 1, 2)),
    ("part0_wide", (1024, 3), (256, 1)),
]

# Dimensions in which a has one element and b more.
TWO_SIDED = [
    ("one_by_row", (1,), (3,)),
    ("column_by_row", (4, 1), (1, 4)),
    ("row_by_column", (1, 5), (33, 1)),
    ("row_by_matrix", (33,), (33, 9)),
    ("column_by_matrix", (1, 9), (257, 9)),
    ("dims02_by_dims13", (5, 1, 3), (1, 7, 1, 2)),
    ("dim3_by_dims01", (1, 1, 1, 6), (17, 4)),
    ("one_by_4d", (1,), (3, 2, 2, 5)),
    ("tile_and_row", (12, 1), (4, 5)),
    ("one_by_0", (1,), (0,)),
    ("column_by_0_rows", (6, 1), (1, 0)),
    ("0_by_column", (0, 1), (1, 4)),
    ("trailing_ones", (3,), (3, 1, 1)),
    ("more_than_a_tile", (1, 3), (2100, 1)),
]

SAME = [(1,), (2,), (3,), (7,), (8,), (15,), (16,), (17,), (31,), (33,), (63,), (64,), (65,), (127,), (1000,)]
SAME += [(1, 1), (1, 9), (9, 1), (5, 7), (31, 33), (64, 64), (129, 65), (3, 5, 7), (1, 1, 5, 1), (2, 3, 4, 5)]
SAME += [(1, 2, 1, 3), (17, 1, 1, 9), (4097,), (65537,), (300, 400)]

EMPTY = [
    ("len0", (0,), (0,)),
    ("rows0", (5, 0), (5, 0)),
    ("dim2_0", (3, 4, 0), (3, 4, 0)),
    ("dim3_0", (3, 4, 2, 0), (3, 4, 2, 0)),
    ("cols0_by_0_row", (0, 4), (0, 1)),
    ("empty_by_scalar", (0, 3), (1, 1)),
    ("rows0_by_row", (6, 0), (6, 1)),
]


def name_of(ne):
    return "x".join(map(str, ne))


def values():
    for ne in SAME:
        c = Case(f"add/same_{name_of(ne)}")
        yield c.out(c.add(c.leaf(*ne), c.leaf(*ne)))
    for label, a, b in BROADCASTS:
        c = Case(f"add/{label}_{name_of(a)}_by_{name_of(b)}")
        yield c.out(c.add(c.leaf(*a), c.leaf(*b)))
    for label, a, b in TWO_SIDED:
        c = Case(f"add/two_sided_{label}")
        yield c.out(c.add(c.leaf(*a), c.leaf(*b)))
        c = Case(f"add/two_sided_{label}_then_fused")
        yield c.out(c.add(c.add(c.add(c.leaf(*a), c.leaf(*a)), c.add(c.leaf(*b), c.leaf(*b))), c.leaf(*b)))
    for label, a, b in EMPTY:
        c = Case(f"add/empty_{label}")
        yield c.out(c.add(c.leaf(*a), c.leaf(*b)))


def special():
    inf, nan = float("inf"), float("nan")
    c = Case("add/nan_and_inf")
    a = c.leaf(37, put={0: nan, 5: inf, 6: -inf, 7: inf, 8: -inf, 36: nan})
    yield c.out(c.add(a, c.leaf(37, put={1: nan, 5: inf, 6: inf, 7: -inf, 9: -inf, 36: inf})))
    c = Case("add/nan_in_broadcast_row")
    yield c.out(c.add(c.leaf(19, 5), c.leaf(19, put={3: nan, 18: inf})))
    c = Case("add/inf_scalar")
    yield c.out(c.add(c.leaf(9, 2, put={4: -inf}), c.leaf(1, put={0: inf})))
    # The largest number is 3.4028235e38; adding half a unit in the last place or more (2^103) overflows.
    top = 2.0**127 * (2 - 2.0**-23)
    c = Case("add/overflow")
    a = c.leaf(18, put={0: top, 1: top, 2: -top, 3: top, 17: top})
    yield c.out(c.add(a, c.leaf(18, put={0: top, 1: 2.0**102, 2: -(2.0**103), 3: 2.0**103, 17: -top})))
    # Denormals must neither be flushed on the way in nor on the way out.
    tiny = 2.0**-149
    c = Case("add/denormals")
    a = c.leaf(21, put={0: tiny, 1: tiny * 5, 2: 2.0**-126, 3: 2.0**-126, 16: 1e-40, 20: -1e-41})
    b = c.leaf(21, put={0: tiny, 1: -tiny * 4, 2: -tiny, 3: tiny, 16: 1e-42, 20: 1e-45})
    yield c.out(c.add(a, b))
    # Ties and near ties at 2^24: 1 is half a unit there, so the even neighbour wins.
    c = Case("add/round_to_even")
    a = c.leaf(17, put={0: 2.0**24, 1: 2.0**24 + 2, 2: 1, 3: 1, 4: 1 + 2.0**-23, 16: -(2.0**24)})
    b = c.leaf(17, put={0: 1, 1: 1, 2: 2.0**-24, 3: 2.0**-24 + 2.0**-47, 4: 2.0**-24, 16: -1})
    yield c.out(c.add(a, b))


def chains():
    c = Case("add/itself")
    a = c.leaf(35, 3)
    yield c.out(c.add(a, a))
    c = Case("add/shared_a_b_a")
    a, b = c.leaf(23, 4), c.leaf(23, 4)
    yield c.out(c.add(c.add(a, b), a))
    c = Case("add/doubled_9_times")
    t = c.leaf(40)
    for _ in range(9):
        t = c.add(t, t)
    yield c.out(t)
    c = Case("add/chain_of_24")
    a = t = c.leaf(33, 2)
    b = c.leaf(33)
    for i in range(24):
        t = c.add(t, a if i % 3 else b)
    yield c.out(t)
    c = Case("add/diamond")
    a, b = c.leaf(64, 3), c.leaf(64, 3)
    s = c.add(a, b)
    yield c.out(c.add(c.add(s, a), c.add(s, b)))
    c = Case("add/tree_of_8")
    row = [c.leaf(31) for _ in range(8)]
    while len(row) > 1:
        row = [c.add(x, y) for x, y in zip(row[::2], row[1::2])]
    yield c.out(row[0])
    # An intermediate that is read again at the end must not have been overwritten by a reused buffer.
    c = Case("add/long_lived_intermediate")
    a, b = c.leaf(50, 2), c.leaf(50, 2)
    first = t = c.add(a, b)
    for _ in range(7):
        t = c.add(t, b)
    yield c.out(c.add(t, first))


def views():
    c = Case("add/a_transposed")
    yield c.out(c.add(c.transpose(c.leaf(9, 21)), c.leaf(21, 9)))
    c = Case("add/b_transposed")
    yield c.out(c.add(c.leaf(21, 9), c.transpose(c.leaf(9, 21))))
    c = Case("add/both_transposed")
    yield c.out(c.add(c.transpose(c.leaf(5, 17)), c.transpose(c.leaf(5, 17))))
    c = Case("add/itself_transposed")
    a = c.leaf(13, 13)
    yield c.out(c.add(a, c.transpose(a)))
    for axes in [(1, 2, 0, 3), (2, 0, 1, 3), (3, 2, 1, 0), (0, 2, 1, 3), (0, 1, 3, 2), (2, 3, 0, 1)]:
        c = Case(f"add/a_permuted_{''.join(map(str, axes))}")
        a = c.permute(c.leaf(3, 4, 5, 2), *axes)
        yield c.out(c.add(a, c.leaf(*a.ne)))
    c = Case("add/b_permuted_and_broadcast")
    yield c.out(c.add(c.leaf(6, 8, 4, 3), c.permute(c.leaf(8, 6, 1, 1), 1, 0, 2, 3)))
    c = Case("add/b_transposed_column_as_row")
    yield c.out(c.add(c.leaf(11, 4), c.transpose(c.leaf(1, 11))))
    c = Case("add/rows_with_gaps")
    a, b = c.leaf(20, 6), c.leaf(32, 6)
    yield c.out(c.add(c.view(a, (17, 6), (80,), 8), c.view(b, (17, 6), (128,), 44)))
    c = Case("add/every_second_row")
    yield c.out(c.add(c.view(c.leaf(19, 10), (19, 5), (152,)), c.view(c.leaf(19, 10), (19, 5), (152,), 76)))
    c = Case("add/unaligned_offset")
    yield c.out(c.add(c.view(c.leaf(70), (65,), None, 4), c.view(c.leaf(70), (65,), None, 12)))
    # Stride 0: all rows of b are one row.
    c = Case("add/b_stride_0")
    yield c.out(c.add(c.leaf(10, 4), c.view(c.leaf(10), (10, 4), (0,))))
    c = Case("add/view_of_a_sum")
    s = c.add(c.leaf(16, 4), c.leaf(16, 4))
    yield c.out(c.add(c.view(s, (16, 2), (128,), 64), c.leaf(16, 2)))
    c = Case("add/reshaped_sum")
    s = c.add(c.leaf(12, 5), c.leaf(12, 5))
    yield c.out(c.add(c.reshape(s, 5, 12), c.leaf(5)))
    c = Case("add/transposed_sum_of_transposed")
    s = c.add(c.transpose(c.leaf(7, 9)), c.leaf(9, 7))
    yield c.out(c.add(c.transpose(s), c.leaf(7, 9)))
    c = Case("add/overlapping_views")
    a = c.leaf(40)
    yield c.out(c.add(c.view(a, (33,)), c.view(a, (33,), None, 28)))


def refusals():
    def pair(label, a, b, *words):
        c = Case(f"add/error_{label}")
        return c.fails("SHAPE_MISMATCH", ("add",) + words, "add", c.leaf(*a), c.leaf(*b))

    yield pair("row_length", (4, 3), (5,), "[4, 3]", "[5]")
    yield pair("b_longer", (4,), (8,), "[4]", "[8]")
    yield pair("a_divides_b", (4, 2), (4, 6), "dimension 1", "a 2")
    yield pair("no_divisor", (10, 3), (4, 3), "[10, 3]", "[4, 3]")
    yield pair("dim2", (2, 2, 6), (2, 2, 4), "[2, 2, 6]", "[2, 2, 4]")
    yield pair("dim3", (2, 1, 1, 5), (2, 1, 1, 2), "[2, 1, 1, 5]", "[2, 1, 1, 2]")
    yield pair("b_empty", (4, 3), (0, 3), "[4, 3]", "[0, 3]")
    yield pair("a_empty_row", (3, 1), (0, 4), "[3]", "[0, 4]")
    for dtype in ("i32", "i8", "f64"):
        c = Case(f"add/error_type_{dtype}")
        a, b = c.leaf(4), c.leaf(4, dtype=dtype)
        yield c.fails("TYPE_MISMATCH", ("add", dtype), "add", a, b)
    c = Case("add/error_both_i8")
    yield c.fails("TYPE_MISMATCH", ("add", "i8"), "add", c.leaf(4, dtype="i8"), c.leaf(4, dtype="i8"))


def cases():
    for part in (values, special, chains, views, refusals):
        yield from part()
