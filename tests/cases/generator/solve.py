"""solve_tri: sizes around blocks, both triangles, types, views, special values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")


def diagonal(n, value=4):
    """Of a matrix: elements of leafs below 4 in size would let unknowns grow."""
    return {i * (n + 1): value if i % 2 else -value - 1 for i in range(n)}


def solved(label, n, m, *batches, types=("f32", "f32"), lower=1, unit=0, small=True, put=None):
    """Coefficients are divided by 32, so that unknowns neither grow nor shrink much."""
    c = Case(f"solve/{label}")
    a, b = c.leaf(n, n, *batches, dtype=types[0], put=diagonal(n, 90) if not batches else None), c.leaf(m, n, *batches, dtype=types[1], put=put)
    if small:
        a = c.elementwise("scale", a, scale=1 / 32, bias=0.75 if batches else 0)
    return c.out(c.solve_tri(a, b, lower=lower, unit=unit))


def cases():
    for n, m in [(1, 5), (2, 1), (5, 3), (17, 64), (33, 1), (40, 65), (64, 19), (9, 130)]:
        yield solved(f"{n}x{m}", n, m)
    for lower in (0, 1):
        for unit in (0, 1):
            yield solved(f"{'lower' if lower else 'upper'}{'_unit' if unit else ''}", 11, 6, lower=lower, unit=unit)
    yield solved("batches", 6, 4, 3, 2)
    yield solved("batches_upper", 5, 7, 1, 3, lower=0)
    for types in [("f16", "f32"), ("bf16", "f16"), ("f32", "bf16")]:
        yield solved("_".join(types), 7, 5, types=types)
    for n, m in [(0, 3), (3, 0)]:
        yield solved(f"empty_{n}x{m}", n, m, small=False)
    # What is not read does not count, and a column's values reach no other column.
    c = Case("solve/other_triangle")
    a = c.leaf(4, 4, put={**diagonal(4), 1: NAN, 2: INF, 3: -INF, 6: NAN, 7: INF, 11: NAN})
    yield c.out(c.solve_tri(a, c.leaf(3, 4), lower=1, unit=0))
    c = Case("solve/unit_diagonal")
    yield c.out(c.solve_tri(c.leaf(3, 3, put={0: NAN, 4: 0, 8: INF}), c.leaf(2, 3), lower=1, unit=1))
    c = Case("solve/special_columns")
    yield c.out(c.solve_tri(c.leaf(3, 3, put=diagonal(3)), c.leaf(4, 3, put={1: NAN, 6: INF}), lower=1, unit=0))
    c = Case("solve/views")
    a = c.transpose(c.elementwise("scale", c.leaf(9, 9, put=diagonal(9, 90)), scale=1 / 32))
    yield c.out(c.solve_tri(a, c.transpose(c.leaf(9, 6)), lower=0, unit=0))
    c = Case("solve/error_left")
    yield c.fails("INVALID_ARGUMENT", ("solve_tri", "left is 0", "both operands transposed"), "solve_tri", c.leaf(3, 3), c.leaf(2, 3), left=0, lower=1, unit=0)
    for label, a, b in [("square", (3, 4), (2, 4)), ("rows", (3, 3), (2, 4)), ("batches", (3, 3, 2), (2, 3, 3))]:
        c = Case(f"solve/error_{label}")
        yield c.fails("SHAPE_MISMATCH", ("solve_tri", "a {n, n, x, y} and b {m, n, x, y}"), "solve_tri", c.leaf(*a), c.leaf(*b), left=1, lower=1, unit=0)
    c = Case("solve/error_type")
    yield c.fails("TYPE_MISMATCH", ("solve_tri", "i32", "f32, f16 or bf16"), "solve_tri", c.leaf(3, 3), c.leaf(2, 3, dtype="i32"), left=1, lower=1, unit=0)
