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
    for label, a, attrs in [
        ("nearest", (5, 7, 3, 2), {"ne": (13, 11, 3, 4)}),
        ("nearest_smaller", (17, 13, 3), {"ne": (7, 5, 2, 2)}),
        ("nearest_corners", (5, 4), {"ne": (9, 3, 1, 1), "align_corners": 1}),
        ("bilinear", (9, 4, 2, 2), {"ne": (4, 11, 4, 2), "mode": "bilinear"}),
        ("bilinear_corners", (5, 7, 2), {"ne": (13, 4, 2, 1), "mode": "bilinear", "align_corners": 1}),
        ("bilinear_to_1", (6, 5), {"ne": (1, 9, 1, 1), "mode": "bilinear", "align_corners": 1}),
        ("bilinear_from_1", (1, 4), {"ne": (5, 7, 1, 1), "mode": "bilinear", "align_corners": 1}),
        ("antialias", (19, 4, 2), {"ne": (7, 9, 2, 1), "mode": "bilinear", "antialias": 1}),
        ("antialias_corners", (14, 9), {"ne": (5, 16, 1, 1), "mode": "bilinear", "antialias": 1, "align_corners": 1}),
        ("bicubic", (5, 7, 3), {"ne": (13, 5, 3, 1), "mode": "bicubic"}),
        ("bicubic_corners", (11, 4), {"ne": (4, 10, 1, 1), "mode": "bicubic", "align_corners": 1}),
        ("bicubic_from_1", (1, 3), {"ne": (5, 8, 1, 1), "mode": "bicubic"}),
        ("bicubic_factor", (5, 3), {"factor": 3, "mode": "bicubic"}),
        ("whole_factor", (5, 3, 2), {"ne": (15, 9, 2, 1), "mode": "bilinear"}),
        ("empty", (0, 3), {"ne": (0, 5, 1, 1), "mode": "bicubic"}),
        ("to_empty", (4, 3), {"ne": (6, 0, 1, 1)}),
    ]:
        yield m.made(f"to_{label}", a, **attrs)
    for dtype in ("f16", "bf16"):
        yield m.made(f"to_bicubic_{dtype}", (5, 4), dtypes=(dtype,), ne=(8, 3, 1, 1), mode="bicubic")
    # A weight of 0 leaves a pixel out.
    yield m.made("to_bicubic_special", (6, 5), put=SPECIAL, ne=(6, 5, 1, 1), mode="bicubic")
    c = m.case("to_transposed")
    yield c.out(c.windowed("upscale", c.transpose(c.leaf(3, 5)), ne=(7, 4, 1, 1), mode="bicubic"))
    yield m.refused("both", "INVALID_ARGUMENT", ("factor is 2", "either a factor or ne"), (4, 3), factor=2, ne=(8, 6, 1, 1))
    yield m.refused("neither", "INVALID_ARGUMENT", ("factor is 0", "either a factor or ne"), (4, 3))
    yield m.refused("of_none", "INVALID_ARGUMENT", ("[0, 3] f32", "without pixels"), (0, 3), ne=(4, 3, 1, 1))
    yield m.refused("antialias", "INVALID_ARGUMENT", ("mode is nearest", "bilinear alone"), (4, 3), factor=2, antialias=1)
    yield m.refused("factor", "INVALID_ARGUMENT", ("attribute factor is -1", "at least 0"), (4, 3), factor=-1)
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
    for op in ("max", "avg"):
        for label, a, attrs in [("equal", (13, 5, 2), {"k": 3, "s": 2, "p": 3}), ("larger", (11, 3), {"k": 2, "s": 1, "p": 5}), ("single", (7, 4), {"k": 1, "s": 2, "p": 1})]:
            yield m.made(f"{op}_padding_{label}", a, op=op, **attrs)
        yield m.made(f"{op}_padding_f16", (7, 4), dtypes=("f16",), op=op, k=1, s=2, p=1)
    yield m.made("count_padding_equal", (9, 3), op="avg", k=2, s=1, p=2, count_padding=True)
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
    for op in ("max", "avg"):
        for label, a, attrs in [
            ("equal", (9, 7, 3), {"k0": 2, "k1": 3, "s0": 2, "s1": 1, "p0": 2, "p1": 3}),
            ("larger", (5, 6, 2, 2), {"k0": 2, "k1": 2, "s0": 1, "s1": 2, "p0": 4, "p1": 3}),
            ("window_larger_than_a", (3, 4, 3), {"k0": 5, "k1": 4, "s0": 1, "s1": 2, "p0": 2, "p1": 1}),
        ]:
            yield m.made(f"{op}_padding_{label}", a, op=op, **attrs)
    yield m.made("skip_padding_equal", (6, 5), op="avg", k0=2, k1=1, s0=1, s1=2, p0=2, p1=1, skip_padding=True)
    yield m.made("skip_padding", (6, 5), op="avg", k0=3, k1=3, s0=2, s1=2, p0=1, p1=2, skip_padding=True)
    yield m.refused("window", "INVALID_ARGUMENT", ("dimension 1", "3 elements", "windows of 4"), (4, 3), op="avg", k0=2, k1=4)


def columns():
    m = Windowed("im2col")
    for to in ("f32", "f16", "bf16"):
        yield m.made(f"to_{to}", (3, 2, 4, 2), (6, 5, 4), is_2D=1, to=to)
    for dtype in ("f16", "bf16"):
        yield m.made(dtype, (3, 2, 2, 1), (6, 5, 2), dtypes=("f32", dtype), is_2D=1, p0=1)
    for label, a, b, attrs in [
        ("padded", (3, 3, 2, 1), (5, 4, 2, 2), {"p0": 1, "p1": 2}),
        ("strided", (2, 3, 2, 1), (7, 8, 2), {"s0": 3, "s1": 2}),
        ("dilated", (3, 2, 1, 1), (8, 6), {"d0": 2, "d1": 4, "p0": 2}),
        ("one", (1, 1, 1, 1), (1, 1), {}),
        ("all", (4, 3, 2, 3), (4, 3, 2), {}),
        ("no_channels", (2, 2, 0, 1), (3, 3, 0), {}),
        ("no_images", (2, 2, 1, 1), (3, 3, 1, 0), {}),
        ("many_channels", (1, 1, 530, 1), (3, 2, 530), {}),
    ]:
        yield m.made(label, a, b, is_2D=1, **attrs)
    for label, a, b, attrs in [
        ("signals", (3, 4, 2), (9, 4, 2), {"s0": 2, "p0": 1}),
        ("signals_dilated", (2, 3, 1), (9, 3), {"d0": 3}),
        ("long_signal", (2, 1, 1), (70, 1), {}),
    ]:
        yield m.made(label, a, b, **attrs)
    yield m.made("special", (2, 2, 1, 1), (5, 4), put=SPECIAL, is_2D=1)
    c = m.case("views")
    yield c.out(c.windowed("im2col", c.leaf(2, 2, 3, 1), c.permute(c.leaf(3, 5, 4), 2, 0, 1, 3), is_2D=1, p1=1))
    yield m.refused("channels", "SHAPE_MISMATCH", ("a {kw, kh, channels, outputs} and b {w, h, channels, images}",), (3, 3, 2, 1), (5, 5, 3), is_2D=1)
    yield m.refused("window", "INVALID_ARGUMENT", ("dimension 0", "4 elements, windows of 5"), (5, 2, 1), (4, 2))


def convolutions():
    m = Windowed("conv_1d")
    for types in (("f16", "f32"), ("f32", "bf16"), ("bf16", "f16")):
        yield m.made("_".join(types), (3, 4, 5), (12, 4), dtypes=types, p=1)
    for label, a, b, attrs in [
        ("plain", (3, 4, 5), (11, 4, 2), {}),
        ("strided", (4, 3, 2), (23, 3), {"s": 3, "p": 2}),
        ("dilated", (3, 2, 4), (14, 2), {"d": 4, "p": 5}),
        ("one", (1, 1, 1), (1, 1), {}),
        ("all", (9, 2, 3), (9, 2), {}),
        ("in_padding", (3, 1, 2), (1, 1), {"p": 3}),
        ("no_channels", (3, 0, 2), (9, 0), {}),
        ("no_outputs", (3, 2, 0), (9, 2), {}),
        ("no_signals", (3, 2, 2), (9, 2, 0), {}),
        ("long", (5, 2, 2), (600, 2), {"s": 2}),
        ("many_channels", (1, 300, 2), (5, 300), {}),
    ]:
        yield m.made(label, a, b, **attrs)
    yield m.made("special", (2, 1, 1), (20, 1), put=SPECIAL)
    yield m.refused("channels", "SHAPE_MISMATCH", ("a {k, channels, outputs} and b {n, channels, signals}",), (3, 4, 5), (11, 3))
    yield m.refused("window", "INVALID_ARGUMENT", ("4 elements, windows of 3", "dilation 2", "no window of 5 elements"), (3, 4, 5), (4, 4), d=2)
    yield m.refused("empty_window", "INVALID_ARGUMENT", ("a window must have an element",), (0, 4, 5), (4, 4))
    yield m.refused("type", "TYPE_MISMATCH", ("i32", "f32, f16 or bf16"), (3, 4, 5), (9, 4), dtypes=("i32", "f32"))
    yield m.refused("stride", "INVALID_ARGUMENT", ("attribute s is -2", "at least 1"), (3, 4, 5), (9, 4), s=-2)

    m = Windowed("conv_2d")
    for types in (("f16", "f32"), ("f32", "bf16"), ("bf16", "f16")):
        yield m.made("_".join(types), (3, 2, 2, 3), (6, 5, 2), dtypes=types, p0=1)
    for label, a, b, attrs in [
        ("plain", (3, 3, 2, 4), (7, 6, 2, 2), {}),
        ("same", (3, 3, 3, 2), (8, 9, 3), {"p0": 1, "p1": 1}),
        ("strided", (3, 2, 2, 2), (11, 9, 2), {"s0": 2, "s1": 3, "p0": 1}),
        ("dilated", (2, 3, 2, 2), (8, 9, 2), {"d0": 3, "d1": 2, "p1": 1}),
        ("pointwise", (1, 1, 20, 17), (5, 4, 20), {}),
        ("one", (1, 1, 1, 1), (1, 1), {}),
        ("all", (5, 4, 2, 3), (5, 4, 2), {}),
        ("no_channels", (2, 2, 0, 2), (4, 4, 0), {}),
        ("no_images", (2, 2, 2, 2), (4, 4, 2, 0), {}),
        ("several_blocks", (3, 3, 30, 2), (5, 4, 30), {"p0": 1}),
    ]:
        yield m.made(label, a, b, **attrs)
    yield m.made("special", (2, 2, 1, 1), (6, 5), put=SPECIAL)
    c = m.case("views")
    kernel, image = c.permute(c.leaf(2, 3, 2, 3), 3, 2, 1, 0), c.permute(c.leaf(3, 6, 5), 2, 0, 1, 3)
    yield c.out(c.windowed("conv_2d", kernel, image, p1=1))
    yield m.refused("channels", "SHAPE_MISMATCH", ("a {kw, kh, channels, outputs}",), (3, 3, 2, 4), (7, 6, 3))
    yield m.refused("window", "INVALID_ARGUMENT", ("dimension 1", "2 elements, windows of 3", "stride 2, padding 0"), (3, 3, 2, 4), (7, 2, 2), s1=2)

    m = Windowed("conv_1d_dw")
    for label, a, b, attrs in [
        ("plain", (3, 1, 4), (11, 4, 2), {}),
        ("strided", (4, 1, 2), (23, 2), {"s": 3, "p": 2, "d": 2}),
        ("long", (20, 1, 2), (600, 2), {"p": 10}),
        ("no_channels", (3, 1, 0), (9, 0), {}),
        ("one", (1, 1, 1), (1, 1), {}),
    ]:
        yield m.made(label, a, b, **attrs)
    yield m.made("f16_bf16", (3, 1, 4), (11, 4), dtypes=("f16", "bf16"), p=2)
    yield m.refused("kernel", "SHAPE_MISMATCH", ("a {k, 1, channels} and b {n, channels, signals}",), (3, 4, 4), (11, 4))

    m = Windowed("conv_2d_dw")
    for label, a, b, attrs in [
        ("plain", (3, 3, 1, 4), (7, 6, 4, 2), {}),
        ("same", (3, 3, 1, 2), (20, 5, 2), {"p0": 1, "p1": 1}),
        ("strided", (3, 2, 1, 2), (11, 9, 2), {"s0": 2, "s1": 3, "p0": 1, "d1": 2}),
        ("large_kernel", (5, 5, 1, 1), (9, 8), {"p0": 2, "p1": 2}),
        ("no_images", (2, 2, 1, 2), (4, 4, 2, 0), {}),
        ("one", (1, 1, 1, 1), (1, 1), {}),
    ]:
        yield m.made(label, a, b, **attrs)
    yield m.made("bf16_f16", (3, 2, 1, 2), (8, 5, 2), dtypes=("bf16", "f16"), p1=1)
    c = m.case("views")
    yield c.out(c.windowed("conv_2d_dw", c.leaf(2, 2, 1, 3), c.permute(c.leaf(3, 6, 5), 2, 0, 1, 3), p0=1))
    yield m.refused("channels", "SHAPE_MISMATCH", ("a {kw, kh, 1, channels}",), (3, 3, 1, 2), (7, 6, 3))


def transposed():
    m = Windowed("conv_transpose_1d")
    for types in (("f16", "f32"), ("f32", "bf16"), ("bf16", "f16")):
        yield m.made("_".join(types), (3, 2, 4), (6, 4), dtypes=types, s=2)
    for label, a, b, attrs in [
        ("plain", (3, 4, 2), (7, 2, 2), {}),
        ("strided", (4, 3, 2), (6, 2), {"s": 3, "p": 1}),
        ("dilated", (3, 2, 3), (6, 3), {"s": 2, "d": 3, "p": 2}),
        ("same_factor", (3, 2, 1), (5, 1), {"s": 4, "d": 2}),
        ("gaps", (2, 2, 2), (4, 2), {"s": 5}),
        ("one", (1, 1, 1), (1, 1), {}),
        ("no_channels", (3, 2, 0), (4, 0), {}),
        ("no_signals", (3, 2, 2), (4, 2, 0), {}),
        ("long", (4, 1, 1), (300, 1), {"s": 2, "p": 1}),
    ]:
        yield m.made(label, a, b, **attrs)
    yield m.refused("channels", "SHAPE_MISMATCH", ("a {k, outputs, channels} and b {n, channels, signals}",), (3, 4, 2), (7, 3))
    yield m.refused("padding", "INVALID_ARGUMENT", ("3 positions, windows of 2 with stride 1, padding 2", "no element"), (2, 4, 3), (3, 3), p=2)

    m = Windowed("conv_transpose_2d")
    for label, a, b, attrs in [
        ("plain", (3, 2, 4, 2), (4, 5, 2, 2), {}),
        ("twice", (2, 2, 3, 2), (4, 3, 2), {"stride": 2}),
        ("overlapping", (4, 4, 2, 2), (3, 4, 2), {"stride": 2, "p0": 1, "p1": 1}),
        ("dilated", (2, 3, 2, 1), (4, 3), {"stride": 3, "d0": 2, "d1": 3, "p0": 1}),
        ("gaps", (1, 2, 2, 2), (3, 3, 2), {"stride": 3}),
        ("one", (1, 1, 1, 1), (1, 1), {}),
        ("no_images", (2, 2, 2, 1), (3, 3, 1, 0), {}),
    ]:
        yield m.made(label, a, b, **attrs)
    yield m.made("f16_bf16", (3, 3, 2, 2), (4, 3, 2), dtypes=("f16", "bf16"), stride=2)
    yield m.made("special", (2, 2, 1, 1), (6, 5), put=SPECIAL, stride=2)
    yield m.refused("channels", "SHAPE_MISMATCH", ("a {kw, kh, outputs, channels}",), (2, 2, 4, 3), (3, 3, 4))


def of_volumes():
    for op in ("conv_3d", "im2col_3d"):
        m = Windowed(op)
        for types in (("f16", "f32"), ("f32", "bf16")):
            yield m.made("_".join(types), (3, 2, 2, 4), (6, 5, 3, 2), dtypes=types, channels=2, p0=1)
        for label, a, b, attrs in [
            ("plain", (3, 2, 2, 6), (5, 4, 4, 6), {"channels": 3}),
            ("padded", (3, 2, 3, 2), (4, 3, 2, 2), {"channels": 2, "p0": 1, "p1": 2, "p2": 2}),
            ("strided", (2, 3, 2, 3), (7, 8, 9, 2), {"channels": 1, "s0": 3, "s1": 2, "s2": 4}),
            ("dilated", (2, 2, 3, 2), (6, 5, 9, 4), {"channels": 2, "d0": 3, "d1": 2, "d2": 4, "p1": 1}),
            ("point", (1, 1, 1, 6), (3, 2, 3, 3), {"channels": 3}),
            ("all", (4, 3, 2, 2), (4, 3, 2, 2), {"channels": 2}),
            ("no_outputs", (2, 2, 2, 0), (3, 3, 3, 2), {"channels": 2}),
            ("no_volumes", (2, 2, 2, 2), (3, 3, 3, 0), {"channels": 2}),
            ("many_planes", (1, 1, 23, 1), (2, 1, 25, 1), {"channels": 1}),
            ("long_stride", (2, 2, 2, 1), (3, 3, 3, 1), {"channels": 1, "s2": 1 << 62}),
        ]:
            yield m.made(label, a, b, **attrs)
        # Values are summed or copied, so none beyond the windows counts.
        yield m.made("special", (2, 2, 2, 1), (3, 3, 3), put=SPECIAL, channels=1)
        c = m.case("views")
        kernel, volume = c.permute(c.leaf(2, 3, 2, 3), 3, 2, 0, 1), c.permute(c.leaf(3, 4, 5, 2), 1, 2, 0, 3)
        yield c.out(c.windowed(op, kernel, volume, channels=1, p2=1))
        yield m.refused("channels", "SHAPE_MISMATCH", ("[3, 3, 2, 4] f32", "channels = 3"), (3, 3, 2, 4), (7, 6, 3, 3), channels=3)
        yield m.refused("volumes", "SHAPE_MISMATCH", ("[7, 6, 3, 3] f32", "channels = 2"), (3, 3, 2, 4), (7, 6, 3, 3), channels=2)
        yield m.refused("window", "INVALID_ARGUMENT", ("dimension 2", "2 elements, windows of 3"), (3, 3, 3, 1), (7, 6, 2), channels=1)
        yield m.refused("none", "INVALID_ARGUMENT", ("attribute channels is 0", "at least 1"), (3, 3, 3, 1), (7, 6, 3), channels=0)
        yield m.refused("planes", "INVALID_ARGUMENT", ("4097 planes", "up to 4096"), (1, 1, 4097, 1), (1, 1, 4097, 1), channels=1)
        yield m.refused("type", "TYPE_MISMATCH", ("i32", "f32, f16 or bf16"), (3, 3, 2, 4), (7, 6, 3), dtypes=("i32", "f32"), channels=1)
    yield Windowed("im2col_3d").made("to_bf16", (3, 2, 2, 1), (5, 4, 4), channels=1, to="bf16")


def of_sequences():
    m = Windowed("ssm_conv")
    for types in (("f16", "f32"), ("f32", "bf16")):
        yield m.made("_".join(types), (9, 6), (4, 6), dtypes=types)
    for label, a, kernel in [
        ("plain", (12, 7, 2), (4, 7)),
        ("one_token", (4, 33), (4, 33)),
        ("three_taps", (7, 17, 2), (3, 17)),
        ("one_tap", (5, 6), (1, 6)),
        ("no_channels", (5, 0), (3, 0)),
        ("no_sequences", (5, 4, 0), (3, 4)),
        ("long", (300, 5), (4, 5)),
    ]:
        yield m.made(label, a, kernel)
    yield m.made("silu", (12, 7, 2), (4, 7), silu=1)
    for label, tokens, types, attrs in [
        ("state", 5, ("f32",) * 4, {}),
        ("state_of_one_token", 1, ("f32",) * 4, {"silu": 1}),
        ("types", 3, ("f32", "bf16", "f16", "bf16"), {"silu": 1}),
    ]:
        c = m.case(label)
        a, kernel, state, bias = (c.leaf(*ne, dtype=dtype) for ne, dtype in zip([(tokens, 6, 2), (4, 6), (3, 6, 2), (6,)], types))
        yield c.out(c.windowed("ssm_conv", a, kernel, state, bias, **attrs))
    c = m.case("bias_alone")
    yield c.out(c.windowed("ssm_conv", c.leaf(8, 5), c.leaf(4, 5), None, c.leaf(5)))
    c = m.case("state_of_one_tap")
    yield c.out(c.windowed("ssm_conv", c.leaf(4, 5), c.leaf(1, 5), c.leaf(0, 5)))
    c = m.case("transposed")
    yield c.out(c.windowed("ssm_conv", c.permute(c.leaf(6, 5, 2), 1, 0, 2, 3), c.leaf(4, 6), c.permute(c.leaf(6, 3, 2), 1, 0, 2, 3)))
    c = m.case("special")
    yield c.out(c.windowed("ssm_conv", c.leaf(9, 3, put={2: NAN, 12: INF}), c.leaf(4, 3)))
    for label, *shapes in [
        ("channels", (9, 6), (4, 5)),
        ("kernel", (9, 6), (4, 6, 2)),
        ("tokens", (2, 6), (4, 6)),
        ("taps", (2, 6), (0, 6)),
        ("state", (5, 6), (4, 6), (4, 6)),
        ("bias", (9, 6), (4, 6), None, (5,)),  # the state is left out
    ]:
        c = m.case(f"error_{label}")
        yield c.fails("SHAPE_MISMATCH", ("ssm_conv", "a kernel {k, channels}"), "ssm_conv", *[ne and c.leaf(*ne) for ne in (*shapes, None, None)[:4]])
    c = m.case("error_type")
    yield c.fails("TYPE_MISMATCH", ("ssm_conv", "i32", "f32, f16 or bf16"), "ssm_conv", c.leaf(9, 6), c.leaf(4, 6, dtype="i32"), None, None)


def overlapping():
    m = Windowed("col2im_1d")
    for dtype in ("f16", "bf16"):
        yield m.made(dtype, (12, 5), dtypes=(dtype,), stride=2, padding=1, channels=3)
    for label, a, attrs in [
        ("overlap", (35, 13), {"stride": 3, "padding": 2, "channels": 5}),
        ("side_by_side", (12, 9), {"stride": 4, "padding": 0, "channels": 3}),
        ("gaps", (10, 7), {"stride": 5, "padding": 1, "channels": 5}),
        ("dense", (48, 5), {"stride": 1, "padding": 5, "channels": 3}),
        ("one", (1, 1), {"stride": 1, "padding": 0, "channels": 1}),
        ("one_window", (7, 1), {"stride": 2, "padding": 2, "channels": 1}),
        ("long", (9, 700), {"stride": 2, "padding": 0, "channels": 1}),
    ]:
        yield m.made(label, a, **attrs)
    yield m.made("special", (4, 5), put=SPECIAL, stride=2, padding=0, channels=1)
    c = m.case("transposed")
    yield c.out(c.windowed("col2im_1d", c.transpose(c.leaf(5, 6)), stride=2, padding=1, channels=2))
    yield m.refused("channels", "SHAPE_MISMATCH", ("[7, 4] f32", "{k 2, n}"), (7, 4), stride=2, padding=0, channels=2)
    yield m.refused("batch", "SHAPE_MISMATCH", ("[6, 4, 2] f32", "{k 2, n}"), (6, 4, 2), stride=2, padding=0, channels=2)
    yield m.refused("padding", "INVALID_ARGUMENT", ("padding 9", "no element"), (6, 4), stride=2, padding=9, channels=2)
    yield m.refused("empty", "INVALID_ARGUMENT", ("0 positions",), (6, 0), stride=2, padding=0, channels=2)
    yield m.refused("stride", "INVALID_ARGUMENT", ("attribute stride is 0", "at least 1"), (6, 4), stride=0, padding=0, channels=2)
    yield m.refused("windows", "INVALID_ARGUMENT", ("4097 windows", "up to 4096"), (4097, 1), stride=1, padding=0, channels=1)


def cases():
    for part in (upscales, pools, columns, convolutions, transposed, of_volumes, of_sequences, overlapping):
        yield from part()
