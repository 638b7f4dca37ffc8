"""Pooling, upscaling, im2col and convolutions: types, strides, padding, dilation, views, size 1 and 0, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
SPECIAL = {1: NAN, 5: INF, 9: -INF, 12: -0.0}


class Windowed:
    """Cases of one operation."""

    def __init__(self, op):
        self.op = op

    def case(self, label):
        return Case(f"convolution/{self.op}_{label}")

    def made(self, label, *shapes, dtypes=("f32", "f32"), put=None, **attrs):
        """put is of the last operand."""
        c = self.case(label)
        leafs = [c.leaf(*ne, dtype=dtype, put=put if i + 1 == len(shapes) else None) for i, (ne, dtype) in enumerate(zip(shapes, dtypes))]
        return c.out(c.windowed(self.op, *leafs, **attrs))

    def refused(self, label, status, words, *shapes, dtypes=("f32", "f32"), **attrs):
        c = self.case(f"error_{label}")
        operands = [c.zero_blocks(dtype, *ne) if dtype.startswith("q") else c.leaf(*ne, dtype=dtype) for ne, dtype in zip(shapes, dtypes)]
        return c.fails(status, (self.op, *words), self.op, *operands, **attrs)


def upscales():
    m = Windowed("upscale")
    for mode in ("nearest", "bilinear"):
        for dtype in ("f16", "bf16"):
            yield m.made(f"{mode}_{dtype}", (4, 3), dtypes=(dtype,), factor=2, mode=mode)
        for label, a, factor in [
            ("twice", (5, 3, 2), 2),
            ("three_times", (3, 4, 1, 2), 3),
            ("five_times", (4, 2), 5),
            ("once", (5, 4), 1),
            ("one", (1,), 4),
            ("row", (6,), 2),
            ("column", (1, 5), 3),
            ("empty", (0, 3), 2),
            ("no_images", (4, 3, 0), 2),
            ("long", (700, 1), 2),
        ]:
            yield m.made(f"{mode}_{label}", a, factor=factor, mode=mode)
        c = m.case(f"{mode}_transposed")
        yield c.out(c.windowed("upscale", c.transpose(c.leaf(3, 5)), factor=2, mode=mode))
    yield m.made("nearest_special", (5, 3), put=SPECIAL, factor=2)
    yield m.refused("factor", "INVALID_ARGUMENT", ("attribute factor is -1", "at least 1"), (4, 3), factor=-1)
    yield m.refused("large", "INVALID_ARGUMENT", ("[4, 3] f32", "factor is", "2^63 - 1"), (4, 3), factor=1 << 62)
    yield m.refused("type", "TYPE_MISMATCH", ("i32", "f32, f16 or bf16"), (4, 3), dtypes=("i32",), factor=2)


def pools():
    m = Windowed("pool_1d")
    for op in ("max", "avg"):
        for dtype in ("f16", "bf16"):
            yield m.made(f"{op}_{dtype}", (9, 3), dtypes=(dtype,), op=op, k=3, s=2, p=1)
        for label, a, attrs in [
            ("side_by_side", (11, 2, 2), {"k": 3}),
            ("overlapping", (10, 3), {"k": 4, "s": 1, "p": 3}),
            ("far_apart", (17, 2), {"k": 2, "s": 5}),
            ("all", (7, 2), {"k": 7}),
            ("one", (1,), {"k": 1}),
            ("one_and_padding", (1, 2), {"k": 3, "s": 1, "p": 1}),
            ("no_rows", (4, 0), {"k": 2}),
            ("long", (2600,), {"k": 1300, "s": 500, "p": 20}),
        ]:
            yield m.made(f"{op}_{label}", a, op=op, **attrs)
        yield m.made(f"{op}_special", (20,), op=op, put=SPECIAL, k=3, s=1)
    yield m.made("count_padding", (9, 3), op="avg", k=4, s=2, p=2, count_padding=True)
    yield m.refused("window", "INVALID_ARGUMENT", ("[4, 3] f32", "4 elements", "windows of 7", "padding 1", "no window"), (4, 3), op="max", k=7, s=1, p=1)
    yield m.refused("padding", "INVALID_ARGUMENT", ("window of 2 and padding 2", "less padding"), (4, 3), op="max", k=2, p=2)
    yield m.refused("k", "INVALID_ARGUMENT", ("attribute k is -1", "at least 1"), (4, 3), op="max", k=-1)
    yield m.refused("empty", "INVALID_ARGUMENT", ("0 elements",), (0, 3), op="max", k=2, p=1)

    m = Windowed("pool_2d")
    for op in ("max", "avg"):
        for dtype in ("f16", "bf16"):
            yield m.made(f"{op}_{dtype}", (7, 6, 2), dtypes=(dtype,), op=op, k0=3, k1=2, s0=2, s1=1, p0=1, p1=1)
        for label, a, attrs in [
            ("side_by_side", (8, 7, 2, 2), {"k0": 2, "k1": 3}),
            ("overlapping", (6, 5), {"k0": 3, "k1": 4, "s0": 1, "s1": 1, "p0": 2, "p1": 3}),
            ("all", (5, 4, 3), {"k0": 5, "k1": 4}),
            ("wide", (1100, 3), {"k0": 3, "k1": 2, "s0": 2, "s1": 1}),
            ("one", (1,), {"k0": 1, "k1": 1}),
            ("no_images", (4, 3, 0), {"k0": 2, "k1": 2}),
        ]:
            yield m.made(f"{op}_{label}", a, op=op, **attrs)
        c = m.case(f"{op}_transposed")
        yield c.out(c.windowed("pool_2d", c.transpose(c.leaf(5, 6)), op=op, k0=2, k1=2))
    yield m.made("max_special", (6, 4), op="max", put=SPECIAL, k0=2, k1=2, s0=1, s1=1)
    yield m.made("skip_padding", (6, 5), op="avg", k0=3, k1=3, s0=2, s1=2, p0=1, p1=2, skip_padding=True)
    yield m.refused("window", "INVALID_ARGUMENT", ("dimension 1", "3 elements", "windows of 4"), (4, 3), op="avg", k0=2, k1=4)


def cases():
    for part in (upscales, pools):
        yield from part()
