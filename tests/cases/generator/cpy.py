"""cpy and cast: conversions to the bit, scattered targets, and what later nodes see of a target."""

from .model import Case

FLOATS = ("f32", "f16", "bf16")
# What rounding to F16 and BF16 can get wrong. Ties: 1 + 2^-11 and 1 + 3 * 2^-11 lie between F16's neighbours
# of 1, 1 + 2^-8 and 1 + 3 * 2^-8 between BF16's. 65519.996 is the last that F16 rounds to 65504, 65520 the
# first that becomes infinite; 2^-24 is F16's smallest, 2^-25 the tie to 0 below it.
HARD = [
    1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-23, 1 + 2.0**-8, 1 + 3 * 2.0**-8,
    1 + 2.0**-8 + 2.0**-23, 1 + 2.0**-8 - 2.0**-23, 65504, 65519.99609375, 65520, -65520, 1e6,
    2.0**-24, 2.0**-25, 2.0**-25 * (1 + 2.0**-23), 3 * 2.0**-25, 2.0**-14 - 2.0**-25, 2.0**-14,
    -(2.0**-14) + 2.0**-24, 1023.5 * 2.0**-24, 3.4028234663852886e38, 3.3895313892515355e38, 3.396e38,
    2.0**-149, 2.0**-133, 2.0**-134, 3 * 2.0**-134, 2.0**-126, 1e-40, -1e-42, 0.1, -0.1, 1 / 3, 1e-5, 3e4,
    float("inf"), float("-inf"), float("nan"), -0.0, 0.0, 2049, 2051, 4098, 257, 259,
]  # fmt: skip


def casts():
    for to in FLOATS:
        c = Case(f"cast/f32_to_{to}_hard")
        yield c.out(c.cast(c.leaf(len(HARD), put=dict(enumerate(HARD))), to))
        # Repeats the case with a strided source, which another loop may convert.
        c = Case(f"cast/f32_to_{to}_hard_transposed")
        a = c.leaf(3, len(HARD), put={3 * i + 1: v for i, v in enumerate(HARD)})
        yield c.out(c.cast(c.transpose(a), to))
    for source in FLOATS:
        for to in FLOATS:
            c = Case(f"cast/{source}_to_{to}_67x3")
            yield c.out(c.cast(c.leaf(67, 3, dtype=source), to))
            c = Case(f"cast/{source}_to_{to}_permuted")
            yield c.out(c.cast(c.permute(c.leaf(5, 6, 7, dtype=source), 1, 2, 0, 3), to))
    inf, nan = float("inf"), float("nan")
    odd = {0: nan, 1: inf, 2: -inf, 3: 2.0**-24, 4: -(2.0**-14) + 2.0**-24, 5: 65504, 6: 2.0**-100, 17: 1e30}
    for source in ("f16", "bf16"):
        for to in FLOATS:
            c = Case(f"cast/{source}_to_{to}_special")
            yield c.out(c.cast(c.leaf(18, dtype=source, put=odd), to))
    c = Case("cast/there_and_back")
    yield c.out(c.cast(c.cast(c.leaf(50, put={0: 0.1, 1: 1e-7, 49: 7e4}), "f16"), "f32"))
    c = Case("cast/sum_to_bf16")
    yield c.out(c.cast(c.add(c.leaf(40, 2), c.leaf(40)), "bf16"))
    c = Case("cast/product_to_f16")
    yield c.out(c.cast(c.mul_mat(c.leaf(9, 8), c.leaf(9, 5)), "f16"))
    c = Case("cast/rows_with_gaps")
    yield c.out(c.cast(c.view(c.leaf(20, 5), (17, 5), (80,), 4), "f16"))
    c = Case("cast/empty")
    yield c.out(c.cast(c.leaf(0, 3), "f16"))
    c = Case("cast/long")
    yield c.out(c.cast(c.leaf(5000), "bf16"))


def whole():
    for source in FLOATS:
        for to in FLOATS:
            c = Case(f"cpy/{source}_to_{to}")
            yield c.out(c.cpy(c.leaf(35, 2, dtype=source), c.leaf(35, 2, dtype=to)))
    for dtype in ("f64", "i8", "i16", "i32", "i64"):
        c = Case(f"cpy/{dtype}")
        yield c.out(c.cpy(c.transpose(c.leaf(7, 9, dtype=dtype)), c.leaf(9, 7, dtype=dtype)))
    c = Case("cpy/other_shape")
    yield c.out(c.cpy(c.leaf(12, 5), c.leaf(4, 15)))
    c = Case("cpy/transposed_into_other_shape")
    yield c.out(c.cpy(c.transpose(c.leaf(12, 5)), c.leaf(6, 5, 2)))
    c = Case("cpy/into_transposed")
    yield c.out(c.cpy(c.leaf(5, 12), c.transpose(c.leaf(12, 5))))
    c = Case("cpy/permuted_into_permuted")
    yield c.out(c.cpy(c.permute(c.leaf(3, 4, 5), 1, 2, 0, 3), c.permute(c.leaf(4, 3, 5), 2, 0, 1, 3)))
    c = Case("cpy/f16_into_rows_with_gaps")
    yield c.out(c.cpy(c.leaf(9, 4), c.view(c.leaf(16, 4, dtype="f16"), (9, 4), (32,), 6)))
    c = Case("cpy/empty")
    yield c.out(c.cpy(c.leaf(0, 5), c.leaf(5, 0)))
    c = Case("cpy/onto_itself")
    a = c.leaf(14, 2)
    yield c.out(c.cpy(a, a))
    c = Case("cpy/sum")
    yield c.out(c.cpy(c.add(c.leaf(30), c.leaf(30)), c.leaf(30)))
    c = Case("cpy/scalar")
    yield c.out(c.cpy(c.leaf(1), c.view(c.leaf(9), (1,), None, 16)))


def aliasing():
    """The target's other elements stay, and whoever comes later in post-order sees what was written."""
    c = Case("cpy/whole_leaf_seen_through_a_sum")
    d = c.leaf(10, 6)
    wrote = c.cpy(c.leaf(10, 2), c.view(d, (10, 2), (40,), 80))
    yield c.out(c.add(c.view(d, (10, 6)), c.view(wrote, (1,))))
    c = Case("cpy/leaf_read_after")
    d = c.leaf(16)
    wrote = c.cpy(c.leaf(8), c.view(d, (8,), None, 12))
    yield c.out(c.add(d, wrote))
    c = Case("cpy/read_before_and_after")
    # Post-order computes `before` first: it must hold the old values although d changes afterwards.
    d, zero = c.leaf(12), c.leaf(12)
    before = c.add(d, zero)
    wrote = c.cpy(c.leaf(12), d)
    yield c.out(c.add(before, c.add(wrote, wrote)))
    c = Case("cpy/two_writers")
    d = c.leaf(20)
    one = c.cpy(c.leaf(10), c.view(d, (10,)))
    two = c.cpy(c.leaf(10), c.view(d, (10,), None, 20))
    yield c.out(c.add(c.add(one, two), c.view(d, (10,), None, 40)))
    c = Case("cpy/write_then_copy_on")
    d = c.leaf(6, 4)
    wrote = c.cpy(c.leaf(6), c.view(d, (6,), None, 24))
    yield c.out(c.add(c.cpy(wrote, c.view(d, (6,), None, 72)), c.view(d, (6,), None, 24)))
    c = Case("cpy/cache_of_rows")
    # As a key-value cache: two rows are appended, then all rows are used.
    d = c.leaf(8, 6)
    wrote = c.cpy(c.leaf(8, 2), c.view(d, (8, 2), (32,), 4 * 32))
    old = c.mul_mat(c.view(d, (8, 4), (32,)), c.leaf(8, 1))
    yield c.out(c.add(c.add(c.mul_mat(wrote, c.leaf(8, 1)), c.leaf(2)), c.view(old, (2,), None, 8)))
    c = Case("cpy/into_column_of_f16")
    d = c.leaf(7, 5, dtype="f16")
    wrote = c.cpy(c.leaf(5), c.view(d, (1, 5), (14,), 6))
    yield c.out(c.cast(wrote, "f32"))
    c = Case("cpy/target_of_sum_of_itself")
    # In place: d = d + x, then used.
    d = c.leaf(25)
    wrote = c.cpy(c.add(d, c.leaf(25)), d)
    yield c.out(c.add(wrote, d))


def refusals():
    c = Case("cpy/error_count")
    yield c.fails("SHAPE_MISMATCH", ("cpy", "[4, 3]", "[11]"), "cpy", c.leaf(4, 3), c.leaf(11))
    c = Case("cpy/error_count_empty")
    yield c.fails("SHAPE_MISMATCH", ("cpy", "[4]", "[0]"), "cpy", c.leaf(4), c.leaf(0))
    c = Case("cpy/error_overlap")
    # Elements 0 to 9 onto 3 to 12: what is read depends on the order of writing.
    a = c.leaf(16)
    yield c.fails("INVALID_ARGUMENT", ("cpy",), "cpy", c.view(a, (10,)), c.view(a, (10,), None, 12))


def cases():
    for part in (casts, whole, aliasing, refusals):
        yield from part()
