"""norms: norm, rms_norm, l2_norm, group_norm, soft_max, log_soft_max and soft_max_ext; odd rows, F16 and BF16, views, special values, what follows, refusals."""

import math

from .model import Case

INF, NAN = float("inf"), float("nan")

EPS = {"norm": 1e-5, "rms_norm": 1e-6, "l2_norm": 1e-6}
ROWS = {**{name: {"eps": eps} for name, eps in EPS.items()}, "soft_max": {}, "log_soft_max": {}}


def rows(name, attrs):
    def made(label, *ne, dtype="f32", put=None):
        c = Case(f"norms/{name}_{label}")
        return c.out(c.by_row(name, c.leaf(*ne, dtype=dtype, put=put), **attrs), relative=True)

    yield made("1", 1)
    yield made("17x3x2", 17, 3, 2)
    yield made("64x5", 64, 5)
    # More than a block of 4,096.
    yield made("4200x2", 4200, 2)
    yield made("empty_rows", 0, 3)
    yield made("no_rows", 5, 0)
    yield made("f16", 33, 2, dtype="f16")
    yield made("bf16", 33, 2, dtype="bf16")
    # A row each of zeros, one number, infinity, -infinity, NaN.
    put = {i: 0 for i in range(7)} | {7 + i: 2.5 for i in range(7)} | {15: INF, 22: -INF, 29: NAN}
    yield made("special", 7, 6, put=put)
    yield made("all_inf", 3, 1, put={0: -INF, 1: -INF, 2: -INF})
    c = Case(f"norms/{name}_transposed")
    yield c.out(c.by_row(name, c.transpose(c.leaf(3, 11)), **attrs), relative=True)
    c = Case(f"norms/{name}_part")
    yield c.out(c.by_row(name, c.view(c.leaf(20, 6), (9, 5), (80,), 8), **attrs), relative=True)
    c = Case(f"norms/{name}_then")
    found = c.by_row(name, c.leaf(40, 3), **attrs)
    yield c.out(c.add(c.elementwise("mul", found, c.leaf(40)), c.leaf(40)))
    c = Case(f"norms/{name}_error_type")
    yield c.fails("TYPE_MISMATCH", (name, "a is [4] i32", "f32, f16 or bf16"), name, c.leaf(4, dtype="i32"), **attrs)


def epsilons():
    for name in EPS:
        c = Case(f"norms/{name}_large_eps")
        yield c.out(c.by_row(name, c.leaf(12, 2), eps=100), relative=True)
        c = Case(f"norms/{name}_eps_0")
        yield c.out(c.by_row(name, c.leaf(12, 2, put={i: 0 for i in range(12)}), eps=0), relative=True)
        for label, eps in {"negative": -1e-5, "inf": "inf", "nan": "nan"}.items():
            c = Case(f"norms/{name}_error_eps_{label}")
            yield c.fails("INVALID_ARGUMENT", (name, "eps is"), name, c.leaf(4), eps=eps)


def groups():
    def made(label, ne, n, dtype="f32", view=None, **put):
        c = Case(f"norms/group_norm_{label}")
        a = c.leaf(*ne, dtype=dtype, **put)
        return c.out(c.group_norm(view(c, a) if view else a, n, 1e-5), relative=True)

    yield made("2_of_4", (5, 3, 4, 2), 2)
    # Three channels a group, the last with one.
    yield made("3_of_7", (3, 2, 7), 3)
    # Two channels a group: the fourth has none.
    yield made("4_of_5", (3, 2, 5), 4)
    yield made("each", (9, 2, 3), 3)
    yield made("all", (33, 5, 4), 1)
    yield made("one_channel", (6,), 1)
    yield made("f16", (5, 2, 4), 2, dtype="f16")
    yield made("permuted", (4, 5, 3, 2), 2, view=lambda c, a: c.permute(a, 2, 0, 1, 3))
    yield made("part", (8, 4, 4), 2, view=lambda c, a: c.view(a, (5, 3, 4), (32, 128), 4))
    yield made("nan", (3, 1, 4), 2, put={2: NAN})
    yield made("empty", (3, 0, 4), 2)
    yield made("no_channels", (3, 2, 0), 1)
    c = Case("norms/group_norm_then")
    yield c.out(c.elementwise("relu", c.elementwise("mul", c.group_norm(c.leaf(4, 3, 6), 3, 1e-5), c.leaf(1, 1, 6))))
    for n, word in ((0, "groups is 0"), (-1, "groups is -1"), (5, "1 to 4")):
        c = Case(f"norms/group_norm_error_{n}")
        yield c.fails("INVALID_ARGUMENT", ("group_norm", word), "group_norm", c.leaf(3, 2, 4), groups=n, eps=1e-5)
    c = Case("norms/group_norm_error_type")
    yield c.fails("TYPE_MISMATCH", ("group_norm", "f64"), "group_norm", c.leaf(3, 2, 4, dtype="f64"), groups=2, eps=1e-5)


def attention():
    masked = {i: -INF for i in (0, 3, 4, 9, 10)}

    def made(label, ne, mask=None, sinks=None, dtype="f32", mask_type="f32", put=None, **attrs):
        c = Case(f"norms/soft_max_ext_{label}")
        a = c.leaf(*ne, dtype=dtype)
        some = {i: v for i, v in masked.items() if i < math.prod(mask or ())}
        m = c.leaf(*mask, dtype=mask_type, put=some if put is None else put) if mask else None
        return c.out(c.soft_max_ext(a, m, c.leaf(*sinks) if sinks else None, **attrs), relative=True)

    yield made("plain", (13, 3))
    yield made("scale", (13, 3, 2), scale=0.125)
    yield made("mask", (11, 4, 3), (11, 4), scale=0.5)
    yield made("mask_f16", (11, 4, 3), (11, 4), mask_type="f16")
    yield made("longer_mask", (9, 2, 2, 2), (9, 5, 1, 2), scale=0.25)
    yield made("mask_of_heads", (6, 2, 4, 3), (6, 2, 2, 1))
    yield made("alibi", (10, 2, 4), (10, 2), scale=0.125, max_bias=8)
    yield made("alibi_of_6", (5, 2, 6), (5, 2), max_bias=4)
    yield made("sinks", (7, 3, 2), None, (2,), scale=0.7)
    yield made("mask_and_sinks", (8, 2, 3, 2), (8, 2), (3,), scale=0.3)
    yield made("all_masked_but_sinks", (4, 2, 1), (4, 2), (1,), put={i: -INF for i in range(8)})
    yield made("all_masked", (4, 2, 1), (4, 2), put={i: -INF for i in range(4)})
    yield made("f16", (20, 3, 2), (20, 3), dtype="f16", scale=0.125)
    yield made("bf16", (20, 3, 2), (20, 3), dtype="bf16", mask_type="bf16")
    yield made("empty", (0, 3, 2), (0, 3))
    yield made("no_rows", (4, 0, 2), (4, 2), scale=2)
    c = Case("norms/soft_max_ext_views")
    a, mask = c.permute(c.leaf(3, 9, 2), 1, 0, 2, 3), c.transpose(c.leaf(3, 9, put=masked))
    yield c.out(c.soft_max_ext(a, mask, None, scale=0.4), relative=True)
    c = Case("norms/soft_max_ext_then")
    yield c.out(c.add(c.soft_max_ext(c.leaf(12, 3), c.leaf(12, 3), None, scale=0.4), c.leaf(12)))

    def refused(label, status, words, mask=None, sinks=None, a=((6, 3, 4), "f32"), **attrs):
        c = Case(f"norms/soft_max_ext_error_{label}")
        src = [c.leaf(*given[0], dtype=given[1]) if given else None for given in (a, mask, sinks)]
        return c.fails(status, ("soft_max_ext", *words), "soft_max_ext", *src, **attrs)

    yield refused("type", "TYPE_MISMATCH", ("a is [6] i8",), a=((6,), "i8"))
    yield refused("mask_type", "TYPE_MISMATCH", ("mask is [6, 3] i32",), ((6, 3), "i32"))
    yield refused("mask_row", "SHAPE_MISMATCH", ("[5, 3]", "{6, 3 or more"), ((5, 3), "f32"))
    yield refused("mask_rows", "SHAPE_MISMATCH", ("[6, 2]", "{6, 3 or more"), ((6, 2), "f32"))
    yield refused("mask_heads", "SHAPE_MISMATCH", ("[6, 3, 3]", "x dividing 4"), ((6, 3, 3), "f32"))
    yield refused("sinks", "SHAPE_MISMATCH", ("mask is left out", "sinks is [3]", "{4}"), None, ((3,), "f32"))
    yield refused("sinks_type", "TYPE_MISMATCH", ("sinks must be f32",), None, ((4,), "f16"))
    yield refused("bias_without_mask", "INVALID_ARGUMENT", ("mask is left out", "max_bias is 8"), max_bias=8)
    yield refused("bias", "INVALID_ARGUMENT", ("max_bias is -1",), ((6, 3), "f32"), max_bias=-1)
    yield refused("scale", "INVALID_ARGUMENT", ("scale is NaN",), scale="nan")


def cases():
    for name, attrs in ROWS.items():
        yield from rows(name, attrs)
    for part in (epsilons, groups, attention):
        yield from part()
