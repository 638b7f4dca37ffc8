"""Operations that move elements: every type, each dimension, views, size 1 and 0, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
TYPES = ("f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "bool")
SPECIAL = {0: NAN, 1: INF, 2: -INF, 3: -0.0, 4: 2.0**-149}


class Moved:
    """Cases of one operation."""

    def __init__(self, op):
        self.op = op

    def case(self, label):
        return Case(f"layout/{self.op}_{label}")

    def made(self, label, *shapes, dtype="f32", put=None, **attrs):
        c = self.case(label)
        return c.out(c.moved(self.op, *[c.leaf(*ne, dtype=dtype, put=put) for ne in shapes], **attrs))

    def of_blocks(self, *shapes, **attrs):
        c = self.case("blocks")
        return c.out(c.cast(c.moved(self.op, *[c.blocks("q4_0", *ne) for ne in shapes], **attrs), "f32"))

    def every_type(self, *shapes, **attrs):
        for dtype in TYPES:
            yield self.made(dtype, *shapes, dtype=dtype, **attrs)
        yield self.made("special", *shapes, put=SPECIAL, **attrs)

    def refused(self, label, status, words, *shapes, dtype="f32", **attrs):
        c = self.case(f"error_{label}")
        operands = [c.zero_blocks(dtype, *ne) if dtype.startswith("q") else c.leaf(*ne, dtype=dtype) for ne in shapes]
        return c.fails(status, (self.op, *words), self.op, *operands, **attrs)


def repeats():
    m = Moved("repeat")
    yield from m.every_type((7, 2), ne=(14, 2, 1, 1))
    for label, a, ne in [
        ("once", (5, 2), (5, 2, 1, 1)),
        ("one", (1,), (1, 1, 1, 1)),
        ("one_element", (1,), (19, 2, 2, 1)),
        ("every_dimension", (3, 2, 1, 2), (6, 4, 2, 4)),
        ("columns", (1, 9), (4, 9, 1, 1)),
        ("rows", (9, 1), (9, 5, 1, 1)),
        ("slices", (5, 3, 1, 2), (5, 3, 3, 2)),
        ("batches", (5, 3, 2), (5, 3, 2, 3)),
        # A period is made longer up to 4 KiB before it is copied; one of more than 2 KiB is not.
        ("short_period_long_row", (3,), (4200, 1, 1, 1)),
        ("long_period", (700,), (2100, 2, 1, 1)),
        ("empty", (0, 3), (0, 6, 1, 1)),
        ("to_empty", (4, 3), (8, 0, 1, 1)),
    ]:
        yield m.made(label, a, ne=ne)
    yield m.of_blocks((32, 3), ne=(96, 6, 1, 1))
    c = m.case("transposed")
    yield c.out(c.moved("repeat", c.transpose(c.leaf(3, 5)), ne=(10, 6, 1, 1)))
    c = m.case("part")
    yield c.out(c.moved("repeat", c.view(c.leaf(10, 4, dtype="i16"), (3, 2), (40,), 2), ne=(9, 2, 2, 1)))
    yield m.refused("multiple", "SHAPE_MISMATCH", ("[4, 3]", "ne[1] is 4", "a multiple of 3"), (4, 3), ne=(8, 4, 1, 1))
    yield m.refused("negative", "INVALID_ARGUMENT", ("attribute ne is -8", "at least 0"), (4, 3), ne=(-8, 3, 1, 1))
    yield m.refused("of_none", "SHAPE_MISMATCH", ("ne[0] is 4", "a multiple of 0"), (0, 3), ne=(4, 3, 1, 1))
    yield m.refused("overflow", "INVALID_ARGUMENT", ("more bytes",), (1,), ne=(1 << 40, 1 << 40, 1, 1))


def concats():
    m = Moved("concat")
    yield from m.every_type((5, 3), (4, 3), dim=0)
    shape = [3, 2, 2, 3]
    for dim in range(4):
        for n in (1, 3):
            other = shape[:dim] + [n] + shape[dim + 1 :]
            yield m.made(f"dim{dim}_{n}", tuple(shape), tuple(other), dim=dim)
    yield m.made("beyond_the_last", (6,), (6,), dim=2)
    yield m.made("one", (1,), (1,), dim=0)
    yield m.made("empty_first", (0, 3), (4, 3), dim=0)
    yield m.made("empty_second", (4, 3), (4, 0), dim=1)
    yield m.made("empty_both", (0, 3), (0, 2), dim=1)
    yield m.made("long", (1030, 2), (2050, 2), dim=0)
    yield m.of_blocks((64, 1), (32, 1), dim=0)
    c = m.case("views")
    yield c.out(c.moved("concat", c.transpose(c.leaf(3, 5)), c.view(c.leaf(10, 4), (4, 3), (40,), 8), dim=0))
    c = m.case("blocks_of_rows")
    yield c.out(c.cast(c.moved("concat", c.view(c.blocks("q8_0", 64, 2), (32, 2), (68,), 34), c.blocks("q8_0", 32, 1), dim=1), "f32"))
    c = m.case("itself")
    a = c.leaf(7, 2)
    yield c.out(c.moved("concat", a, a, dim=1))
    yield m.refused("shape", "SHAPE_MISMATCH", ("[4, 3]", "[4, 2]", "dim is 0", "dimension 1 has 3 and 2"), (4, 3), (4, 2), dim=0)
    yield m.refused("dim", "INVALID_ARGUMENT", ("attribute dim is 4", "0 to 3"), (4, 3), (4, 3), dim=4)
    c = m.case("error_type")
    yield c.fails("TYPE_MISMATCH", ("concat", "f32", "f16", "one type"), "concat", c.leaf(4), c.leaf(4, dtype="f16"), dim=0)


def pads():
    m = Moved("pad")
    yield from m.every_type((5, 3), p=(3, 2, 0, 0))
    for label, a, p in [
        ("nothing", (5, 3), (0, 0, 0, 0)),
        ("every_dimension", (3, 2, 2, 2), (2, 1, 1, 1)),
        ("dim1", (5, 3, 2), (0, 2, 0, 0)),
        ("dim2", (5, 3, 2), (0, 0, 2, 0)),
        ("dim3", (5, 3, 2), (0, 0, 0, 2)),
        ("one", (1,), (1, 0, 0, 0)),
        ("empty", (0, 3), (4, 0, 0, 0)),
        ("nothing_of_empty", (4, 0), (2, 0, 1, 0)),
        ("long", (1500, 2), (2600, 1, 0, 0)),
    ]:
        yield m.made(label, a, p=p)
    yield m.of_blocks((32, 2), p=(64, 1, 0, 0))
    c = m.case("transposed")
    yield c.out(c.moved("pad", c.transpose(c.leaf(3, 5)), p=(2, 0, 1, 0)))
    for label, a, before, behind in [
        ("before", (9, 5, 2), (3, 0, 0, 0), (0, 0, 0, 0)),
        ("both_sides", (7, 5, 3, 2), (2, 1, 3, 1), (4, 0, 1, 2)),
        ("slices", (3, 2, 2), (0, 0, 2, 1), (0, 1, 0, 0)),
        ("far", (1,), (40, 0, 0, 0), (30, 0, 0, 0)),
        ("long_before", (900, 2), (1300, 1, 0, 0), (5, 0, 0, 0)),
    ]:
        yield m.made(label, a, p=behind, lp=before)
        yield m.made(f"circular_{label}", a, p=behind, lp=before, circular=1)
    yield m.made("circular", (9, 5, 3, 2), p=(3, 2, 1, 1), circular=1)
    yield m.made("circular_special", (5, 3), put=SPECIAL, p=(6, 2, 0, 0), lp=(7, 4, 0, 0), circular=1)
    yield m.made("circular_empty", (0, 3), p=(0, 2, 0, 0), circular=1)
    c = m.case("blocks_before")
    yield c.out(c.cast(c.moved("pad", c.blocks("q4_0", 64, 2), p=(32, 0, 0, 0), lp=(96, 1, 0, 0), circular=1), "f32"))
    c = m.case("circular_transposed")
    yield c.out(c.moved("pad", c.transpose(c.leaf(3, 5)), p=(2, 0, 1, 0), lp=(4, 5, 0, 0), circular=1))
    yield m.refused("negative", "INVALID_ARGUMENT", ("attribute p is 1, -1, 0, 0", "at least 0"), (4, 3), p=(1, -1, 0, 0))
    yield m.refused("blocks", "INVALID_ARGUMENT", ("lp[0] is 0, p[0] is 1", "32"), (32, 3), dtype="q4_0", p=(1, 0, 0, 0))
    yield m.refused("blocks_before", "INVALID_ARGUMENT", ("lp[0] is 16, p[0] is 16", "32"), (32, 3), dtype="q4_0", p=(16, 0, 0, 0), lp=(16, 0, 0, 0))
    yield m.refused("of_none", "SHAPE_MISMATCH", ("circular", "p[0] is 1", "a dimension with an element"), (0, 3), p=(1, 0, 0, 0), circular=1)
    yield m.refused("overflow", "INVALID_ARGUMENT", ("more bytes",), (4, 3), p=(1 << 40, 1 << 40, 0, 0))


def image_windows():
    m = Moved("win_part")
    yield from m.every_type((2, 5, 4), w=3)
    for label, a, w in [
        ("edges", (5, 10, 7), 4),
        ("exact", (3, 9, 6), 3),
        ("larger", (6, 4, 3), 7),
        ("pixels", (2, 3, 2), 1),
        ("images", (2, 5, 4, 3), 2),
        ("empty", (0, 5, 4), 2),
        ("no_images", (2, 5, 4, 0), 2),
    ]:
        yield m.made(label, a, w=w)
    c = m.case("permuted")
    yield c.out(c.moved("win_part", c.permute(c.leaf(4, 3, 5), 1, 2, 0, 3), w=2))
    yield m.refused("blocks", "TYPE_MISMATCH", ("q4_0", "without blocks"), (32, 4, 4), dtype="q4_0", w=2)
    yield m.refused("size", "INVALID_ARGUMENT", ("attribute w is 0", "1 to 1048576"), (2, 4, 4), w=0)

    m = Moved("win_unpart")
    yield from m.every_type((2, 3, 3, 4), w0=5, h0=4, w=3)
    for label, a, attrs in [
        ("edges", (5, 4, 4, 6), {"w0": 10, "h0": 7, "w": 4}),
        ("exact", (3, 3, 3, 6), {"w0": 9, "h0": 6, "w": 3}),
        ("larger", (6, 7, 7), {"w0": 4, "h0": 3, "w": 7}),
        ("images", (2, 2, 2, 18), {"w0": 5, "h0": 4, "w": 2}),
        ("empty", (0, 2, 2, 6), {"w0": 5, "h0": 4, "w": 2}),
    ]:
        yield m.made(label, a, **attrs)
    yield m.refused("window", "SHAPE_MISMATCH", ("[2, 3, 3, 6] f32", "w = 2"), (2, 3, 3, 6), w0=5, h0=4, w=2)
    yield m.refused("count", "SHAPE_MISMATCH", ("[2, 2, 2, 7] f32", "6 images"), (2, 2, 2, 7), w0=5, h0=4, w=2)

    m = Moved("get_rel_pos")
    for dtype in ("f32", "f16", "bf16", "f64", "i32", "i64"):
        yield m.made(dtype, (7, 9), dtype=dtype, qh=5, kh=5)
    for label, a, attrs in [
        ("one", (10, 1), {"qh": 1, "kh": 1}),
        ("large", (3, 27), {"qh": 14, "kh": 14}),
        ("more_keys", (2, 8), {"qh": 3, "kh": 6}),
        ("more_queries", (2, 8), {"qh": 6, "kh": 3}),
        ("empty", (0, 3), {"qh": 2, "kh": 2}),
    ]:
        yield m.made(label, a, **attrs)
    yield m.made("special", (3, 3), put=SPECIAL, qh=2, kh=2)
    c = m.case("transposed")
    yield c.out(c.moved("get_rel_pos", c.transpose(c.leaf(5, 3)), qh=3, kh=3))
    yield m.refused("rows", "SHAPE_MISMATCH", ("[7, 8] f32", "{n, 9}"), (7, 8), qh=5, kh=5)
    yield m.refused("blocks", "TYPE_MISMATCH", ("[32, 9] q4_0", "f32, f16 or bf16"), (32, 9), dtype="q4_0", qh=5, kh=5)
    yield m.refused("size", "INVALID_ARGUMENT", ("attribute kh is 0", "1 to 1048576"), (7, 4), qh=5, kh=0)

    m = Moved("add_rel_pos")
    for label, *shapes in [
        ("square", (16, 16, 3), (4, 4, 4, 3), (4, 4, 4, 3)),
        ("oblong", (15, 18, 2), (5, 3, 6, 2), (3, 3, 6, 2)),
        ("one", (81, 1, 4), (9, 1, 1, 4), (9, 1, 1, 4)),
        ("empty", (6, 4, 0), (2, 2, 2, 0), (3, 2, 2, 0)),
    ]:
        yield m.made(label, *shapes)
    yield m.made("special", (6, 4, 1), (2, 2, 2, 1), (3, 2, 2, 1), put=SPECIAL)
    c = m.case("types")
    yield c.out(c.moved("add_rel_pos", c.leaf(6, 4, 1, dtype="f16"), c.leaf(2, 2, 2, 1), c.leaf(3, 2, 2, 1, dtype="bf16")))
    yield m.refused("keys", "SHAPE_MISMATCH", ("[15, 4] f32", "a {kw kh, qw qh, batch}"), (15, 4), (4, 2, 2), (4, 2, 2))
    yield m.refused("queries", "SHAPE_MISMATCH", ("[16, 5] f32",), (16, 5), (4, 2, 2), (4, 2, 2))
    yield m.refused("type", "TYPE_MISMATCH", ("i32", "f32, f16 or bf16"), (16, 4), (4, 2, 2), (4, 2, 2), dtype="i32")


def reflections():
    m = Moved("pad_reflect_1d")
    yield from m.every_type((6, 3), p0=2, p1=3)
    for label, a, p0, p1 in [
        ("nothing", (5, 2), 0, 0),
        ("before", (5, 2), 4, 0),
        ("behind", (5, 2), 0, 4),
        ("most", (5, 2, 2, 2), 4, 4),
        ("two", (2,), 1, 1),
        ("one", (1, 3), 0, 0),
        ("no_rows", (4, 0), 3, 3),
        ("long", (2000,), 1999, 1200),
    ]:
        yield m.made(label, a, p0=p0, p1=p1)
    c = m.case("transposed")
    yield c.out(c.moved("pad_reflect_1d", c.transpose(c.leaf(3, 5)), p0=1, p1=4))
    yield m.refused("p0", "INVALID_ARGUMENT", ("[4, 3]", "p0 is 4", "less than 4"), (4, 3), p0=4, p1=0)
    yield m.refused("p1", "INVALID_ARGUMENT", ("p1 is 5", "less than 4"), (4, 3), p0=0, p1=5)
    yield m.refused("empty", "INVALID_ARGUMENT", ("less than 0",), (0, 3), p0=0, p1=0)
    yield m.refused("negative", "INVALID_ARGUMENT", ("attribute p0 is -1",), (4, 3), p0=-1, p1=0)
    yield m.refused("blocks", "TYPE_MISMATCH", ("q4_0", "without blocks"), (32, 3), dtype="q4_0", p0=1, p1=0)


def rolls():
    m = Moved("roll")
    yield from m.every_type((7, 3), shift=(2, -1, 0, 0))
    for label, a, shift in [
        ("nothing", (5, 3), (0, 0, 0, 0)),
        ("every_dimension", (5, 3, 2, 3), (-2, 1, 1, 2)),
        ("dim1", (5, 3, 2), (0, 1, 0, 0)),
        ("dim2", (5, 3, 4), (0, 0, -1, 0)),
        ("dim3", (5, 1, 2, 3), (0, 0, 0, 1)),
        ("round_and_round", (5, 3), (17, -16, 5, -5)),
        ("farthest", (5, 3), ((1 << 63) - 1, -(1 << 63), 0, 0)),
        ("one", (1,), (3, 0, 0, 0)),
        ("empty", (0, 3), (1, 1, 0, 0)),
        ("long", (3001,), (-1000, 0, 0, 0)),
    ]:
        yield m.made(label, a, shift=shift)
    yield m.of_blocks((96,), shift=(-32, 0, 0, 0))
    c = m.case("transposed")
    yield c.out(c.moved("roll", c.transpose(c.leaf(3, 5)), shift=(1, 1, 0, 0)))
    yield m.refused("blocks", "INVALID_ARGUMENT", ("shift[0] is 5", "32"), (64, 3), dtype="q4_0", shift=(5, 0, 0, 0))


def diagonals():
    m = Moved("diag")
    yield from m.every_type((5, 1, 2))
    for label, a in [("one", (1,)), ("4d", (3, 1, 2, 2)), ("empty", (0,)), ("no_batches", (3, 1, 0)), ("long", (30,))]:
        yield m.made(label, a)
    c = m.case("of_columns")
    yield c.out(c.moved("diag", c.permute(c.leaf(3, 5, dtype="i16"), 2, 0, 1, 3)))
    yield m.refused("matrix", "SHAPE_MISMATCH", ("[4, 3]", "dimension 1 must have one element"), (4, 3))
    yield m.refused("blocks", "TYPE_MISMATCH", ("q4_0", "without blocks"), (32,), dtype="q4_0")


def triangles():
    m = Moved("tri")
    yield from m.every_type((5, 4), type="upper")
    for kind in ("lower", "lower_diag", "upper", "upper_diag"):
        for label, a in [("square", (5, 5, 2)), ("wide", (7, 3, 1, 2)), ("tall", (3, 7)), ("one", (1,)), ("empty", (0, 3))]:
            yield m.made(f"{kind}_{label}", a, type=kind)
        c = m.case(f"{kind}_of_a_sum")
        yield c.out(c.moved("tri", c.add(c.leaf(8, 8), c.leaf(8)), type=kind))
    yield m.made("long", (1500, 3), type="lower_diag")
    c = m.case("transposed")
    yield c.out(c.moved("tri", c.transpose(c.leaf(4, 5, dtype="i16")), type="lower"))
    yield m.refused("blocks", "TYPE_MISMATCH", ("q4_0", "without blocks"), (32, 3), dtype="q4_0", type="lower")


def masks():
    for op in ("diag_mask_inf", "diag_mask_zero"):
        m = Moved(op)
        for dtype in ("f16", "bf16"):
            yield m.made(dtype, (7, 4, 2), dtype=dtype, n_past=1)
        yield m.made("special", (6, 3), put={**SPECIAL, 4: NAN, 5: INF}, n_past=0)
        for label, a, n_past in [
            ("none", (5, 3), 4),
            ("far", (5, 3), (1 << 63) - 1),
            ("batches", (5, 3, 2, 2), 1),
            ("tall", (3, 6), 0),
            ("one", (1,), 0),
            ("empty", (0, 3), 0),
            ("long", (2100, 2), 1024),
        ]:
            yield m.made(label, a, n_past=n_past)
        c = m.case("transposed")
        yield c.out(c.moved(op, c.transpose(c.leaf(4, 5)), n_past=1))
        c = m.case("of_a_product")
        yield c.out(c.moved(op, c.mul_mat(c.leaf(8, 6), c.leaf(8, 5)), n_past=1))
        yield m.refused("n_past", "INVALID_ARGUMENT", ("attribute n_past is -1",), (3, 3), n_past=-1)
        yield m.refused("type", "TYPE_MISMATCH", ("a is [3, 3] i32", "f32, f16 or bf16"), (3, 3), dtype="i32", n_past=0)


# a, b, the window.
WINDOWS = [
    ("all", (5, 3, 2), (5, 3, 2), {}),
    ("corner", (4, 3, 3), (2, 2, 2), {"offset": 4 * (1 + 4 + 12)}),
    ("one", (1,), (1,), {}),
    ("last", (4, 3), (1,), {"offset": 44}),
    ("every_other_row", (3, 6), (3, 3), {"nb1": 24, "offset": 12}),
    ("every_stride", (3, 3, 4, 2), (2, 2, 2, 2), {"nb1": 24, "nb2": 72, "nb3": 144, "offset": 4}),
    ("across_rows", (4, 4), (6,), {"offset": 8}),
    ("strides_of_one", (4, 4), (2, 1, 2), {"nb1": 0, "nb2": 16, "nb3": 8}),
    ("of_nothing", (4, 3), (0, 2), {"offset": 48}),
    ("in_nothing", (0, 3), (0,), {}),
    ("long", (1300,), (1100,), {"offset": 400}),
]


def windows():
    for op in ("acc", "set"):
        m = Moved(op)
        for label, a, b, window in WINDOWS:
            yield m.made(label, a, b, **window)
        c = m.case("views")
        yield c.out(c.moved(op, c.transpose(c.leaf(4, 5)), c.transpose(c.leaf(2, 3)), nb1=20, offset=24))
        c = m.case("of_a_sum")
        # a dies here: the result may lie on it.
        total = c.add(c.leaf(9, 4), c.leaf(9))
        yield c.out(c.add(c.moved(op, total, c.leaf(4, 2), offset=40), c.leaf(9)))
        c = m.case("itself")
        a = c.add(c.leaf(4, 2), c.leaf(4))
        yield c.out(c.moved(op, a, a))
        yield m.refused("stride", "INVALID_ARGUMENT", ("strides are 6, 48, 48", "multiples of f32's size 4"), (4, 3), (2, 2), nb1=6)
        yield m.refused("offset", "INVALID_ARGUMENT", ("offset is 2", "multiples"), (4, 3), (2, 2), offset=2)
        yield m.refused("negative", "INVALID_ARGUMENT", ("attribute offset is -4",), (4, 3), (2, 2), offset=-4)
        yield m.refused("end", "INVALID_ARGUMENT", ("ends past the result", "48 bytes"), (4, 3), (2, 3), offset=12)
        yield m.refused("far", "INVALID_ARGUMENT", ("ends past",), (4, 3), (2, 2), nb1=1 << 62, offset=1 << 61)
        yield m.refused("overlap", "INVALID_ARGUMENT", ("share memory",), (4, 3), (2, 2), nb1=4)
    yield Moved("acc").made("bf16", (6, 3), (2, 2), dtype="bf16", offset=14)
    for types in (("f16", "f32"), ("f32", "f16"), ("bf16", "f16")):
        c = Moved("acc").case("_".join(types))
        yield c.out(c.moved("acc", c.leaf(5, 3, dtype=types[0]), c.leaf(3, 2, dtype=types[1])))
    c = Moved("acc").case("special")
    a, b = c.leaf(8, put={0: NAN, 1: INF, 2: -INF, 3: INF, 4: 1}), c.leaf(8, put={0: 1, 1: -INF, 2: -INF, 3: 1, 4: NAN})
    yield c.out(c.moved("acc", a, b))
    yield Moved("acc").refused("type", "TYPE_MISMATCH", ("[4] i32", "f32, f16 or bf16"), (4,), (4,), dtype="i32")
    m = Moved("set")
    for dtype in TYPES:
        yield m.made(dtype, (6, 3), (2, 2), dtype=dtype, offset=8)
    yield m.made("special", (4, 3), (4, 2), put=SPECIAL, offset=16)
    c = m.case("blocks")
    yield c.out(c.cast(c.moved("set", c.blocks("q4_0", 64), c.blocks("q4_0", 32), offset=18), "f32"))
    c = m.case("error_blocks")
    yield c.fails("INVALID_ARGUMENT", ("set", "multiples of q4_0's size 18"), "set", c.zero_blocks("q4_0", 64, 2), c.zero_blocks("q4_0", 32), offset=4)
    c = m.case("error_type")
    yield c.fails("TYPE_MISMATCH", ("set", "f32", "f16", "one type"), "set", c.leaf(4), c.leaf(4, dtype="f16"))


def gathers():
    m = Moved("gather")

    def made(label, a, shape, dim, numbers, dtype="f32", index="i32", put=None):
        c = m.case(label)
        return c.out(c.moved("gather", c.leaf(*a, dtype=dtype, put=put), c.numbers(*numbers, dtype=index, shape=shape), dim=dim))

    def some(count, end):
        return [(7 * i + i // 3) % end for i in range(count)]

    for dtype in TYPES:
        yield made(dtype, (5, 3), (4, 3), 0, some(12, 5), dtype=dtype, index="i64" if dtype == "i8" else "i32")
    yield made("special", (5, 2), (5, 2), 0, some(10, 5), put=SPECIAL)
    for dim in range(4):
        shape = [3, 2, 2, 2]
        shape[dim] = 4
        extent = (3, 2, 2, 2)[dim]
        yield made(f"dim{dim}", (3, 2, 2, 2), tuple(shape), dim, some(4 * 24 // extent, extent))
    yield made("fewer", (5, 4, 3), (2, 1, 2), 1, some(4, 4))
    yield made("beyond_the_last", (5,), (5,), 3, [0] * 5)
    yield made("one", (1,), (1,), 0, [0])
    yield made("none", (4, 3), (0, 3), 0, [])
    yield made("of_nothing", (0, 3), (0, 2), 0, [])
    c = m.case("views")
    yield c.out(c.moved("gather", c.transpose(c.leaf(4, 5)), c.transpose(c.numbers(*some(8, 5), dtype="i64", shape=(4, 2))), dim=0))
    c = m.case("one_index_for_all_columns")
    # Strides of 0, as other frameworks expand their indices.
    indices = c.view(c.numbers(2, 0, 1), (1, 4, 3), (0, 4))
    yield c.out(c.moved("gather", c.leaf(3, 4, 3), indices, dim=0))
    for label, numbers in (("beyond", (1, 5, 2)), ("negative", (0, 2, -1)), ("far", (0, 1 << 40))):
        c = m.case(f"error_{label}")
        bad = next(i for i, n in enumerate(numbers) if not 0 <= n < 5)
        yield c.fails_computing(c.moved("gather", c.leaf(5), c.numbers(*numbers, dtype="i64"), dim=0), "INVALID_ARGUMENT",
                                ("gather", f"element {bad} of indices is {numbers[bad]}", "indices 0 to 4 are there"))
    c = m.case("error_of_nothing")
    yield c.fails_computing(c.moved("gather", c.leaf(4, 0), c.numbers(0, 0, shape=(2, 1)), dim=1), "INVALID_ARGUMENT", ("gather", "no indices"))
    yield m.refused("shape", "SHAPE_MISMATCH", ("[3, 4] i32", "in dimension 1", "no more elements than a, 3"), (5, 3), (3, 4), dtype="i32", dim=0)
    c = m.case("error_type")
    yield c.fails("TYPE_MISMATCH", ("gather", "indices must be i32 or i64"), "gather", c.leaf(4), c.leaf(4), dim=0)
    c = m.case("error_blocks")
    yield c.fails("TYPE_MISMATCH", ("gather", "without blocks"), "gather", c.zero_blocks("q4_0", 32), c.leaf(4, dtype="i32"), dim=0)


def scatters():
    m = Moved("scatter_add")

    def made(label, a, b, indices, dim, numbers, dtype="f32", index="i32", put=None):
        c = m.case(label)
        return c.out(c.moved("scatter_add", c.leaf(*a), c.leaf(*b, dtype=dtype, put=put), c.numbers(*numbers, dtype=index, shape=indices), dim=dim))

    def some(count, end):
        return [(7 * i + i // 3) % end for i in range(count)]

    yield made("rows", (9, 4), (9, 6), (1, 6), 1, some(6, 4))
    yield made("i64", (5, 3), (5, 4), (1, 4), 1, some(4, 3), index="i64")
    for dtype in ("f16", "bf16"):
        yield made(dtype, (5, 3), (5, 4), (1, 4), 1, some(4, 3), dtype=dtype)
    yield made("special", (4, 2), (4, 3), (1, 3), 1, [1, 0, 1], put={0: NAN, 1: INF, 5: -INF, 9: -INF})
    for dtype in ("i32", "i64", "f64"):

        def numbers(label, a, b, indices, dim, which, put=None, added=None):
            c = m.case(f"{dtype}_{label}")
            return c.out(c.moved("scatter_add", c.leaf(*a, dtype=dtype, put=put), c.leaf(*b, dtype=dtype, put=added), c.numbers(*which, shape=indices), dim=dim))

        # Past a piece of 128 elements; along the first dimension, and with an index for each element.
        yield numbers("rows", (9, 4), (9, 6), (1, 6), 1, some(6, 4))
        yield numbers("wide_rows", (300, 3), (300, 4), (1, 4), 1, some(4, 3))
        yield numbers("first", (5, 3), (140, 3), (140, 1), 0, some(140, 5))
        yield numbers("each", (4, 3), (4, 5), (4, 5), 1, some(20, 3))
        yield numbers("none", (4, 3), (4, 0), (1, 0), 1, [])
        # Sums that wrap around, and that F32 has.
        ends = {"i32": {0: 2**31 - 128, 1: -(2**31)}, "i64": {0: 2**63 - 2**39, 1: -(2**63)}, "f64": {0: INF, 1: NAN}}[dtype]
        added = {i: {"i32": 2**29, "i64": 2**61, "f64": -INF}[dtype] * (1 - i % 2 * 2) for i in range(6)}
        yield numbers("ends", (2, 2), (2, 3), (1, 3), 1, [0, 0, 0], put=ends, added=added)
        c = m.case(f"{dtype}_views")
        a, b = c.transpose(c.leaf(4, 5, dtype=dtype)), c.transpose(c.leaf(3, 5, dtype=dtype))
        yield c.out(c.moved("scatter_add", a, b, c.transpose(c.numbers(2, 0, 2, shape=(3, 1))), dim=1))
    for dim in range(4):
        shape, extent = [3, 2, 2, 2], (3, 2, 2, 2)[dim]
        shape[dim] = 5
        yield made(f"dim{dim}", (3, 2, 2, 2), tuple(shape), tuple(shape), dim, some(5 * 24 // extent, extent))
    yield made("repeated", (6, 3, 2), (6, 4, 2), (3, 2, 1), 1, some(6, 3))
    yield made("all_to_one", (4, 2), (4, 50), (1, 50), 1, [1] * 50)
    yield made("fewer", (5, 4, 3), (2, 3, 1), (1, 3), 1, [3, 0, 3])
    yield made("long_rows", (1100, 2), (1100, 3), (1, 3), 1, [1, 0, 1])
    yield made("one_row", (7,), (300,), (300,), 0, some(300, 7))
    yield made("one", (1,), (1,), (1,), 0, [0])
    yield made("none", (4, 3), (4, 0), (1, 0), 1, [])
    yield made("empty_rows", (0, 3), (0, 2), (1, 2), 1, [0, 1])
    c = m.case("views")
    yield c.out(c.moved("scatter_add", c.transpose(c.leaf(4, 5)), c.transpose(c.leaf(3, 5)), c.transpose(c.numbers(2, 0, 2, shape=(3, 1))), dim=1))
    c = m.case("of_a_sum")
    # a dies here: the result may lie on it.
    total = c.add(c.leaf(9, 4), c.leaf(9))
    yield c.out(c.add(c.moved("scatter_add", total, c.leaf(9, 2), c.numbers(3, 3, shape=(1, 2)), dim=1), c.leaf(9)))
    for label, numbers in (("beyond", (1, 5, 2)), ("negative", (0, 2, -1)), ("far", (0, 1, 1 << 40))):
        c = m.case(f"error_{label}")
        bad = next(i for i, n in enumerate(numbers) if not 0 <= n < 5)
        node = c.moved("scatter_add", c.leaf(4, 5), c.leaf(4, 3), c.numbers(*numbers, dtype="i64", shape=(1, 3)), dim=1)
        yield c.fails_computing(node, "INVALID_ARGUMENT", ("scatter_add", f"element {bad} of indices is {numbers[bad]}", "indices 0 to 4 are there"))

    def refused(label, status, words, a, b, indices, types=("f32", "f32", "i32")):
        c = m.case(f"error_{label}")
        leafs = [c.leaf(*ne, dtype=dtype) for ne, dtype in zip((a, b, indices), types)]
        return c.fails(status, ("scatter_add", *words), "scatter_add", *leafs, dim=1)

    yield refused("shape", "SHAPE_MISMATCH", ("[5, 2] f32", "in dimension 0", "no more elements than a, 4"), (4, 3), (5, 2), (1, 2))
    yield refused("indices", "SHAPE_MISMATCH", ("[1, 3] i32", "dimension 1 of indices must be 1 or divide"), (4, 3), (4, 2), (1, 3))
    yield refused("no_indices", "SHAPE_MISMATCH", ("dimension 1 of indices",), (4, 3), (4, 2), (1, 0))
    for types in (("f16", "f32", "i32"), ("i32", "i64", "i32"), ("f32", "f64", "i32"), ("f64", "f32", "i32"), ("i8", "i8", "i32")):
        yield refused(f"types_{types[0]}_{types[1]}", "TYPE_MISMATCH", (types[0], types[1], "a f32 and b f32, f16 or bf16, or both i32, i64 or f64"), (4, 3), (4, 2), (1, 2), types)
    yield refused("index_type", "TYPE_MISMATCH", ("indices must be i32 or i64",), (4, 3), (4, 2), (1, 2), ("f32", "f32", "f32"))


def add_ids():
    m = Moved("add_id")

    def made(label, a, experts, numbers, types=("f32", "f32"), index="i32", **put):
        c = m.case(label)
        ids = c.numbers(*numbers, dtype=index, shape=(*a[1:],))
        return c.out(c.moved("add_id", c.leaf(*a, dtype=types[0]), c.leaf(a[0], experts, dtype=types[1], **put), ids))

    yield made("plain", (9, 2, 3), 4, (3, 0, 1, 1, 2, 0))
    yield made("i64", (5, 2, 2), 3, (2, 0, 1, 1), index="i64")
    for types in (("f16", "f32"), ("f32", "bf16"), ("bf16", "f16")):
        yield made("_".join(types), (7, 2, 2), 3, (2, 0, 1, 1), types=types)
    yield made("one", (1, 1, 1), 1, (0,))
    yield made("special", (6, 1, 2), 2, (1, 0), put={0: NAN, 1: INF, 2: -INF, 7: INF})
    yield made("no_tokens", (4, 2, 0), 3, ())
    yield made("empty_rows", (0, 2, 1), 3, (0, 1))
    yield made("long", (1100, 1, 2), 2, (1, 0))
    c = m.case("views")
    ids = c.transpose(c.numbers(2, 0, 1, 1, shape=(2, 2)))
    yield c.out(c.moved("add_id", c.permute(c.leaf(2, 5, 2), 1, 0, 2, 3), c.transpose(c.leaf(3, 5)), ids))
    c = m.case("of_products")
    # As in a mixture of experts: the products of experts, then their biases.
    ids = c.numbers(1, 0, 1, 1, shape=(2, 2))
    yield c.out(c.moved("add_id", c.add(c.leaf(6, 2, 2), c.leaf(6)), c.leaf(6, 2), ids))
    for label, number in (("beyond", 3), ("negative", -1)):
        c = m.case(f"error_{label}")
        yield c.fails_computing(c.moved("add_id", c.leaf(4, 2, 1), c.leaf(4, 3), c.numbers(0, number, shape=(2, 1))), "INVALID_ARGUMENT",
                                ("add_id", f"element 1 of ids is {number}", "rows of b 0 to 2 are there"))

    def refused(label, status, words, a, b, ids, types=("f32", "f32", "i32")):
        c = m.case(f"error_{label}")
        leafs = [c.leaf(*ne, dtype=dtype) for ne, dtype in zip((a, b, ids), types)]
        return c.fails(status, ("add_id", *words), "add_id", *leafs)

    for label, a, b, ids in [("b", (4, 2, 3), (5, 3), (2, 3)), ("used", (4, 2, 3), (4, 3), (3, 3)), ("tokens", (4, 2, 3), (4, 3), (2, 4)),
                             ("b_matrices", (4, 2, 3), (4, 3, 2), (2, 3)), ("batches", (4, 2, 3, 2), (4, 3), (2, 3))]:
        yield refused(label, "SHAPE_MISMATCH", ("a {n, used, tokens}", "b {n, experts}", "ids {used, tokens}"), a, b, ids)
    yield refused("ids", "TYPE_MISMATCH", ("ids must be i32 or i64",), (4, 2, 3), (4, 3), (2, 3), ("f32", "f32", "f32"))
    yield refused("type", "TYPE_MISMATCH", ("f64", "f32, f16 or bf16"), (4, 2, 3), (4, 3), (2, 3), ("f32", "f64", "i32"))


def aranges():
    m = Moved("arange")
    for label, start, stop, step in [("whole", 0, 10, 1), ("part_of_a_step", 0.5, 9, 1.5), ("falling", 3, -2.25, -0.5), ("tenths", 0, 1, 0.1),
                                     ("one", 7, 8, 100), ("none", 2, 2, -1), ("beyond_f32", 16777216, 16777220, 1), ("large", 1e300, 2e300, 3e299),
                                     ("long", -3, 4200, 1.0625)]:
        yield m.made(label, start=start, stop=stop, step=step)
    c = m.case("used")
    yield c.out(c.add(c.leaf(5, 3), c.moved("arange", start=0, stop=5, step=1)))
    yield m.refused("still", "INVALID_ARGUMENT", ("step is 0", "from start to stop"), start=0, stop=5, step=0)
    yield m.refused("away", "INVALID_ARGUMENT", ("step is -1", "from start to stop"), start=0, stop=5, step=-1)
    yield m.refused("nan", "INVALID_ARGUMENT", ("attribute step is NaN",), start=0, stop=5, step="nan")
    yield m.refused("endless", "INVALID_ARGUMENT", ("stop is inf", "finite"), start=0, stop="inf", step=1)
    yield m.refused("many", "INVALID_ARGUMENT", ("fewer than 2^53",), start=0, stop=1e300, step=1)


def cases():
    for part in (repeats, concats, pads, image_windows, reflections, rolls, diagonals, triangles, masks, windows, gathers, scatters, add_ids, aranges):
        yield from part()
