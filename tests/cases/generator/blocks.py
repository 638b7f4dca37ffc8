"""Quantised types: products, rows by number, copies and casts to plain types, of every type."""

from .formats import FORMATS
from .model import Case


def rows_of(name, n):
    """A row length of n blocks."""
    return FORMATS[name][0] * n


def products():
    yield from either(Case.mul_mat, "mul_mat")
    yield from either(Case.mul_mat_exact, "mul_mat_exact")
    inf, nan = float("inf"), float("nan")
    c = Case("mul_mat/q8_0_of_nan")
    yield c.out(c.mul_mat(c.blocks("q8_0", 32, 4), c.leaf(32, 3, put={40: nan})))
    c = Case("mul_mat_exact/q8_0_of_infinity_and_nan")
    b = c.leaf(32, 3, put={5: inf, 40: nan})
    # Column 0 is infinite or, where the weight is zero, NaN: 0 * infinity.
    yield c.out(c.mul_mat_exact(c.blocks("q8_0", 32, 4), b))
    for op in ("mul_mat", "mul_mat_exact"):
        for name in ("q8_1", "q8_K"):
            c = Case(f"{op}/error_{name}")
            yield c.fails("TYPE_MISMATCH", ("mul_mat", name, "weight"), op, c.zero_blocks(name, 256, 2), c.leaf(256, 2))
        c = Case(f"{op}/error_blocks_of_b")
        yield c.fails("TYPE_MISMATCH", ("mul_mat", "q4_0"), op, c.leaf(32, 2), c.zero_blocks("q4_0", 32, 2))
    c = Case("mul_mat_exact/error_unequal_k")
    yield c.fails("SHAPE_MISMATCH", ("mul_mat", "[32, 2]", "[64]"), "mul_mat_exact", c.zero_blocks("q4_0", 32, 2), c.leaf(64))


def either(product, op):
    """Cases of the product that may round b, and of the one that may not."""
    for name in FORMATS:
        # 5 rows: more than a tile of dot products; 3 and 11 columns: either way of multiplying.
        for n in (1, 3, 11):
            c = Case(f"{op}/{name}_n{n}")
            yield c.out(product(c, c.blocks(name, rows_of(name, 1), 5), c.leaf(rows_of(name, 1), n)))
    for name in ("q4_0", "q4_K", "q6_K", "iq2_xs", "mxfp4", "q1_0"):
        c = Case(f"{op}/{name}_batched")
        yield c.out(product(c, c.blocks(name, rows_of(name, 2), 3, 2), c.leaf(rows_of(name, 2), 2, 4)))
        c = Case(f"{op}/{name}_rows_of_a_view")
        a = c.blocks(name, rows_of(name, 2), 4)
        row = FORMATS[name][1] * 2
        yield c.out(product(c, c.view(a, (rows_of(name, 1), 2), (2 * row,), row), c.leaf(rows_of(name, 1), 4)))
        for dtype in ("f16", "bf16"):
            for n in (2, 9):
                c = Case(f"{op}/{name}_by_{dtype}_n{n}")
                yield c.out(product(c, c.blocks(name, rows_of(name, 1), 4), c.leaf(rows_of(name, 1), n, dtype=dtype)))
        c = Case(f"{op}/{name}_by_columns")
        # b's elements lie apart.
        yield c.out(product(c, c.blocks(name, rows_of(name, 1), 3), c.transpose(c.leaf(3, rows_of(name, 1)))))
        c = Case(f"{op}/{name}_no_rows")
        yield c.out(product(c, c.blocks(name, rows_of(name, 1), 0), c.leaf(rows_of(name, 1), 3)))
    # Whole pairs and not, few columns and many, past the blocks of k and m.
    for dtype in ("f16", "bf16"):
        for k, m, n in ((34, 5, 2), (34, 5, 11), (35, 5, 11), (1100, 37, 14)):
            c = Case(f"{op}/{dtype}_k{k}_n{n}")
            yield c.out(product(c, c.leaf(k, m, dtype=dtype), c.leaf(k, n)))
    c = Case(f"{op}/q4_0_long")
    # Past the blocks of k and m, and with a remainder.
    yield c.out(product(c, c.blocks("q4_0", 1056, 37), c.leaf(1056, 21)))


def casts():
    for name in FORMATS:
        c = Case(f"cast/{name}_to_f32")
        yield c.out(c.cast(c.blocks(name, rows_of(name, 1), 2), "f32"))
    for name in ("q4_0", "q4_K", "iq3_s", "nvfp4"):
        for to in ("f16", "bf16", "f64"):
            c = Case(f"cast/{name}_to_{to}")
            yield c.out(c.cast(c.blocks(name, rows_of(name, 1), 2), to))
        c = Case(f"cpy/{name}_to_f32_of_another_shape")
        n = rows_of(name, 1)
        yield c.out(c.cpy(c.blocks(name, n, 3), c.leaf(3, n)))
        c = Case(f"cpy/{name}_to_transposed_f16")
        yield c.out(c.cpy(c.blocks(name, n, 2), c.transpose(c.leaf(2, n, dtype="f16"))))
        # Equal types: whole blocks move.
        c = Case(f"dup/{name}_of_a_view")
        a = c.blocks(name, n, 4)
        size = FORMATS[name][1]
        yield c.out(c.dup(c.view(a, (n, 2), (2 * size,), size)))
        c = Case(f"cont/{name}_permuted")
        yield c.out(c.cont(c.permute(c.blocks(name, n, 2, 3), 0, 2, 1, 3)))
    c = Case("cpy/q4_0_onto_rows_of_a_view")
    b = c.blocks("q4_0", 64, 3)
    wrote = c.cpy(c.blocks("q4_0", 64), c.view(b, (64, 1), (36,), 36))
    # The product's first row reads what was written, the second one of those that stay.
    yield c.out(c.add(c.mul_mat(wrote, c.leaf(64)), c.mul_mat(c.view(b, (64, 1), (36,), 72), c.leaf(64))))
    c = Case("transpose/error_of_blocks")
    yield c.fails("TYPE_MISMATCH", ("transpose", "q4_0"), "transpose", c.zero_blocks("q4_0", 32, 2))
    c = Case("view/error_inside_a_block")
    yield c.fails("INVALID_ARGUMENT", ("view", "32"), "view", c.zero_blocks("q4_0", 64, 2), ne=(33,))


# How far an element of values in [-4, 4) may be from what it is stored as. A format whose codes are L steps from the largest
# magnitude to zero has steps of 4 / L; the search for the least square error may cut off an extreme by a step or two, so two
# steps, or all of 4 where there are few.
ERRORS = {
    "q4_0": 8 / 7, "q4_1": 16 / 15, "q5_0": 8 / 15, "q5_1": 16 / 31, "q8_0": 8 / 127, "q2_K": 4, "q3_K": 8 / 3, "q4_K": 16 / 15,
    "q5_K": 16 / 31, "q6_K": 8 / 31, "iq4_nl": 4 / 3, "iq4_xs": 4 / 3, "mxfp4": 2, "nvfp4": 2, "iq3_s": 4, "iq2_xs": 4, "tq2_0": 4,
}  # fmt: skip


def encoded():
    for name, error in ERRORS.items():
        c = Case(f"cast/f32_to_{name}")
        yield c.encoded(c.leaf(rows_of(name, 2), 3), name, error)
        c = Case(f"cast/zeros_to_{name}")
        n = rows_of(name, 1)
        yield c.encoded(c.leaf(n, put={i: 0 for i in range(n)}), name, 0)
    for source in ("f16", "i16", "f64"):
        c = Case(f"cast/{source}_to_q8_0")
        yield c.encoded(c.leaf(64, 2, dtype=source), "q8_0", 8 / 127 if source != "i16" else 200 / 127)
    c = Case("cast/transposed_to_q8_0")
    yield c.encoded(c.transpose(c.leaf(5, 64)), "q8_0", 8 / 127)


def cases():
    for part in (products, casts, encoded):
        yield from part()
