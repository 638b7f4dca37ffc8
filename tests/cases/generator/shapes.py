"""Operations that change shapes, select and join parts, and sum products of named dimensions: views, every dimension, sizes 1 and 0, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
TYPES = ("f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "bool")
SHAPE = (3, 2, 4, 2)


def made(label, op, *shapes, dtype="f32", put=None, **attrs):
    c = Case(f"shapes/{op}_{label}")
    return c.out(c.shaped(op, *[c.leaf(*ne, dtype=dtype, put=put) for ne in shapes], **attrs))


def refused(label, op, status, words, *shapes, dtype="f32", **attrs):
    c = Case(f"shapes/{op}_error_{label}")
    operands = [c.zero_blocks(dtype, *ne) if dtype.startswith("q") else c.leaf(*ne, dtype=dtype) for ne in shapes]
    return c.fails(status, (op, *words), op, *operands, **attrs)


def of_turned(label, op, *axes, shape=SHAPE, **attrs):
    """Of a tensor that is not contiguous."""
    c = Case(f"shapes/{op}_{label}")
    return c.out(c.shaped(op, c.permute(c.leaf(*shape), *axes), **attrs))


def dimensions():
    for dim in range(4):
        yield made(f"dim{dim}", "unsqueeze", (3, 2, 4), dim=dim)
        yield made(f"dim{dim}", "squeeze", tuple(1 if d == dim else n for d, n in enumerate(SHAPE)), dim=dim)
        yield made(f"dim{dim}", "select", SHAPE, dim=dim, index=1)
        yield made(f"dim{dim}_last", "select", SHAPE, dim=dim, index=-1)
        yield of_turned(f"turned_dim{dim}", "select", 2, 0, 3, 1, dim=dim, index=-2)
        yield of_turned(f"turned_dim{dim}", "unsqueeze", 2, 0, 1, 3, shape=(3, 2, 4), dim=dim)
        for last in range(dim, 4):
            yield made(f"{dim}_to_{last}", "flatten", SHAPE, first=dim, last=last)
            yield of_turned(f"turned_{dim}_to_{last}", "flatten", 2, 0, 3, 1, first=dim, last=last)
    yield made("beyond_the_shape", "unsqueeze", (5,), dim=3)
    yield made("of_a_vector", "squeeze", (1,), dim=0)
    yield made("beyond_the_shape", "squeeze", (5, 2), dim=3)
    yield made("of_a_vector", "select", (5,), dim=0, index=2)
    yield made("empty", "flatten", (0, 3, 2), first=0, last=1)
    yield made("of_a_vector", "flatten", (6,), first=0, last=3)
    for dtype in TYPES:
        yield made(dtype, "select", (5, 3), dtype=dtype, dim=1, index=1)
        yield made(dtype, "flatten", (5, 3), dtype=dtype, first=0, last=1)
    for op, attrs in [("select", {"dim": 1, "index": 1}), ("unsqueeze", {"dim": 1}), ("flatten", {"first": 1, "last": 2})]:
        c = Case(f"shapes/{op}_blocks")
        yield c.out(c.cast(c.shaped(op, c.blocks("q4_0", 64, 3, 2), **attrs), "f32"))
    yield refused("4_dimensions", "unsqueeze", "SHAPE_MISMATCH", ("[3, 2, 4, 2]", "at most 3 dimensions"), SHAPE, dim=1)
    yield refused("blocks", "unsqueeze", "TYPE_MISMATCH", ("q4_0", "dim is 0"), (32, 2), dtype="q4_0", dim=0)
    yield refused("size", "squeeze", "SHAPE_MISMATCH", ("[4, 3]", "3 elements in dimension 1", "1 element"), (4, 3), dim=1)
    yield refused("dim", "squeeze", "INVALID_ARGUMENT", ("attribute dim is 4", "0 to 3"), (4, 3), dim=4)
    yield refused("order", "flatten", "INVALID_ARGUMENT", ("first is 2, last is 1",), (4, 3), first=2, last=1)
    for at in (3, -4, 1 << 62, -(1 << 62)):
        yield refused(f"index_{at}".replace("-", "minus_"), "select", "INVALID_ARGUMENT", (f"index {at} of dimension 1", "[4, 3]", "0 to 2"), (4, 3), dim=1, index=at)
    yield refused("of_none", "select", "INVALID_ARGUMENT", ("index 0", "0 to -1"), (4, 0), dim=1, index=0)
    yield refused("blocks", "select", "TYPE_MISMATCH", ("q4_0", "dim is 0"), (32, 2), dtype="q4_0", dim=0, index=3)


def indices():
    def part(label, shape, begin, end, dropped=(), axes=None):
        c = Case(f"shapes/index_{label}")
        a = c.leaf(*shape)
        return c.out(c.index(c.permute(a, *axes) if axes else a, begin, end, dropped))

    yield part("nothing", SHAPE, (), ())
    yield part("ranges", (5, 4, 3), (1, 0, 2), (4, None, 3))
    yield part("from_the_end", (5, 4, 3), (-3, 1, -1), (-1, -1, None))
    yield part("element", (5, 4), (-1, 2), (0, 0), (0, 1))
    yield part("row", (5, 4), (0, 2), (None, 0), (1,))
    yield part("column", (5, 4), (2, 0), (0, None), (0,))
    yield part("range_and_element", (5, 4, 3), (0, 3, 1), (None, 4, 0), (2,))
    yield part("some_dimensions", (5, 4, 3, 2), (1, 2), (3, 0), (1,))
    yield part("empty", (5, 4), (2, 0), (2, None))
    yield part("beyond_the_shape", (5, 4), (1, 0, 0, 0), (3, None, None, 0), (3,))
    for dim in range(4):
        bounds = [(0, None)] * 4
        bounds[dim] = (1, 0)
        yield part(f"turned_dim{dim}", SHAPE, [b for b, _ in bounds], [e for _, e in bounds], (dim,), (2, 0, 3, 1))
    c = Case("shapes/index_blocks")
    yield c.out(c.cast(c.index(c.blocks("q4_0", 64, 3), (32, 1), (None, 0), (1,)), "f32"))
    for label, begin, end, dropped, words in [
        ("range", (0, 2), (1, 4), (), ("elements 2 to 4 of dimension 1", "0 to 2")),
        ("backwards", (3, 0), (1, 3), (), ("elements 3 to 1 of dimension 0", "0 to 3")),
        ("element", (0, 3), (1, 0), (1,), ("index 3 of dimension 1", "0 to 2")),
        ("far", (-(1 << 63), 0), (1, 1), (), ("dimension 0",)),
    ]:
        c = Case(f"shapes/index_error_{label}")
        a = c.leaf(4, 3)
        yield c.fails("INVALID_ARGUMENT", ("index", "[4, 3]", *words), "index", a, begin=begin, end=end, dropped=dropped or None)


def repetitions():
    for label, shape, ne in [
        ("rows", (3, 1), (3, 4, 1, 1)),
        ("columns", (1, 3), (5, 3, 1, 1)),
        ("all", (1,), (2, 3, 2, 2)),
        ("new_dimensions", (3, 2), (3, 2, 2, 3)),
        ("nothing", (3, 2), (3, 2, 1, 1)),
        ("to_empty", (3, 1), (3, 0, 1, 1)),
        ("of_empty", (0, 1), (0, 4, 1, 1)),
    ]:
        yield made(label, "expand", shape, ne=ne)
    yield of_turned("turned", "expand", 1, 0, 2, 3, shape=(3, 1), ne=(5, 3, 1, 1))
    c = Case("shapes/expand_then_mean")
    yield c.out(c.reduced("mean", c.shaped("expand", c.leaf(1, 3), ne=(7, 3, 2, 1)), dims=(0,)))
    c = Case("shapes/expand_then_mul_mat")
    yield c.out(c.mul_mat(c.shaped("expand", c.leaf(1, 3), ne=(7, 3, 1, 1)), c.leaf(7, 2)))
    c = Case("shapes/expand_then_reshape")
    yield c.out(c.reshape(c.shaped("expand", c.leaf(3, 1), ne=(3, 4, 2, 1)), 3, 8))
    c = Case("shapes/expand_then_add")
    yield c.out(c.add(c.shaped("expand", c.leaf(1, 3), ne=(5, 3, 1, 1)), c.leaf(5, 3)))
    yield refused("size", "expand", "SHAPE_MISMATCH", ("[4, 3]", "ne[1] is 6", "3 is valid"), (4, 3), ne=(4, 6, 1, 1))
    yield refused("negative", "expand", "INVALID_ARGUMENT", ("-4",), (1, 3), ne=(-4, 3, 1, 1))
    yield refused("overflow", "expand", "INVALID_ARGUMENT", ("more bytes",), (1,), ne=(1 << 40, 1 << 40, 1, 1))


def reversals():
    for dim in range(4):
        yield made(f"dim{dim}", "flip", SHAPE, dim=dim)
        yield of_turned(f"turned_dim{dim}", "flip", 2, 0, 3, 1, dim=dim)
    for dtype in TYPES:
        yield made(dtype, "flip", (7, 3), dtype=dtype, dim=0)
    yield made("special", "flip", (7, 3), put={0: NAN, 1: INF, 2: -INF, 3: -0.0, 4: 2.0**-149}, dim=0)
    yield made("one", "flip", (1,), dim=0)
    yield made("empty", "flip", (4, 0), dim=1)
    yield made("long", "flip", (1030, 3), dim=0)
    yield made("long_rows", "flip", (1030, 5), dim=1)
    yield made("beyond_the_shape", "flip", (4, 3), dim=3)
    c = Case("shapes/flip_blocks")
    yield c.out(c.cast(c.shaped("flip", c.blocks("q8_0", 64, 3), dim=1), "f32"))
    yield refused("blocks", "flip", "TYPE_MISMATCH", ("q4_0",), (32, 2), dtype="q4_0", dim=0)


def selections():
    for dim in range(4):
        c = Case(f"shapes/index_select_dim{dim}")
        yield c.out(c.shaped("index_select", c.leaf(3, 4, 3, 5), c.numbers(2, 0, 1, 2, dtype="i64"), dim=dim))
        c = Case(f"shapes/index_select_turned_dim{dim}")
        yield c.out(c.shaped("index_select", c.permute(c.leaf(3, 4, 3, 5), 2, 0, 3, 1), c.numbers(2, 0, 1, 2), dim=dim))
        for dtype in TYPES:
            c = Case(f"shapes/index_select_{dtype}_dim{dim}")
            yield c.out(c.shaped("index_select", c.leaf(3, 3, 3, 3, dtype=dtype), c.numbers(2, 2, 0), dim=dim))
    c = Case("shapes/index_select_nothing")
    yield c.out(c.shaped("index_select", c.leaf(3, 4), c.leaf(0, dtype="i32"), dim=1))
    c = Case("shapes/index_select_beyond_the_shape")
    yield c.out(c.shaped("index_select", c.leaf(3, 4), c.numbers(0, 0), dim=2))
    c = Case("shapes/index_select_blocks")
    yield c.out(c.shaped("index_select", c.blocks("q4_0", 64, 3, 2), c.numbers(1, 0, 1), dim=2))
    c = Case("shapes/index_select_strided_indices")
    yield c.out(c.shaped("index_select", c.leaf(3, 5), c.index(c.numbers(1, 4, 0, 2, 3, 3, shape=(2, 3)), (1,), (0,), (0,)), dim=1))
    for dim in (0, 2):
        c = Case(f"shapes/index_select_out_of_range_dim{dim}")
        made_ = c.shaped_unchecked("index_select", c.leaf(3, 4, 3), c.numbers(1, 3), dim=dim)
        yield c.fails_computing(made_, "INVALID_ARGUMENT", ("is 3",))
    c = Case("shapes/index_select_error_shape")
    yield c.fails("SHAPE_MISMATCH", ("index_select", "one dimension"), "index_select", c.leaf(3, 4), c.numbers(0, 1, 2, 3, shape=(2, 2)), dim=1)
    yield refused("type", "index_select", "TYPE_MISMATCH", ("indices must be i32 or i64",), (3, 4), (2,), dim=1)
    c = Case("shapes/index_select_error_blocks")
    yield c.fails("TYPE_MISMATCH", ("index_select", "q4_0", "dim is 0"), "index_select", c.zero_blocks("q4_0", 32, 2), c.numbers(0), dim=0)


def values():
    for label, shape, mask in [("same", (4, 3), (4, 3)), ("row", (4, 3), (4,)), ("column", (4, 3), (1, 3)), ("one", (4, 3), (1,)), ("empty", (4, 0), (4, 1))]:
        for value in (2.5, -INF, NAN):
            c = Case(f"shapes/masked_fill_{label}_{value}".replace("-", "minus_").replace(".", "_"))
            yield c.out(c.shaped("masked_fill", c.leaf(*shape), c.leaf(*mask, put={0: 0, 2: NAN} if len(mask) > 0 and mask[0] > 2 else None), value=value))
    for dtype in ("f16", "bf16"):
        yield made(dtype, "masked_fill", (5, 3), (5, 3), dtype=dtype, put={1: 0, 3: 0}, value=0.1)
    yield refused("shape", "masked_fill", "SHAPE_MISMATCH", ("[4, 3]", "[2, 3]", "that of a, or 1"), (4, 3), (2, 3), value=1)
    yield refused("larger", "masked_fill", "SHAPE_MISMATCH", ("[4]", "[4, 3]"), (4,), (4, 3), value=1)
    for dtype, of in [("i32", "i8"), ("i64", "f32"), ("f64", "i64"), ("f32", "bool"), ("f16", "i32"), ("bf16", "u8"), ("i8", "bool"), ("i16", "u8")]:
        c = Case(f"shapes/masked_fill_{dtype}_{of}")
        yield c.out(c.shaped("masked_fill", c.leaf(5, 3, dtype=dtype), c.leaf(5, dtype=of, put={1: 0, 3: 0}), value=-7))
    # The least and the largest number of each type without arithmetic; a mask that repeats, an `a` that is not contiguous or is empty.
    for dtype, least, most in [("u8", 0, 255), ("bool", 0, 1), ("i8", -128, 127), ("i16", -32768, 32767)]:
        for value in (least, most):
            c = Case(f"shapes/masked_fill_{dtype}_with_{value}".replace("-", "minus_"))
            yield c.out(c.shaped("masked_fill", c.leaf(5, 3, dtype=dtype), c.leaf(5, dtype="bool", put={1: 0, 3: 1}), value=value))
        c = Case(f"shapes/masked_fill_{dtype}_strided")
        yield c.out(c.shaped("masked_fill", c.transpose(c.leaf(5, 3, dtype=dtype)), c.leaf(1, 5, put={1: 0, 2: NAN}), value=1))
        c = Case(f"shapes/masked_fill_{dtype}_empty")
        yield c.out(c.shaped("masked_fill", c.leaf(4, 0, dtype=dtype), c.leaf(4, 1), value=1))
        for value in (least - 1, most + 1, 0.5, NAN):
            label = str(value).replace("-", "minus_").replace(".", "_")
            yield refused(f"{dtype}_{label}", "masked_fill", "INVALID_ARGUMENT", (f"{least} to {most}",), (4, 3), (4, 3), dtype=dtype, value=value)
    c = Case("shapes/masked_fill_error_type")
    yield c.fails("TYPE_MISMATCH", ("masked_fill", "q4_0", "a must be a float, an integer or bool"), "masked_fill", c.zero_blocks("q4_0", 32), c.leaf(32), value=1)
    c = Case("shapes/masked_fill_error_mask")
    yield c.fails("TYPE_MISMATCH", ("masked_fill", "mask must be a float, an integer or bool"), "masked_fill", c.leaf(32), c.zero_blocks("q4_0", 32), value=1)
    for dtype in ("i8", "i16", "i32", "i64", "u8", "bool"):
        c = Case(f"shapes/one_hot_{dtype}")
        yield c.out(c.shaped("one_hot", c.numbers(*((0, 3, -1, 5, 1, 4) if dtype[0] == "i" else (0, 1, 0, 0, 1, 1)), dtype=dtype, shape=(3, 2)), classes=5))
    c = Case("shapes/one_hot_none")
    yield c.out(c.shaped("one_hot", c.numbers(0, 1), classes=0))
    c = Case("shapes/one_hot_of_none")
    yield c.out(c.shaped("one_hot", c.leaf(0, dtype="i32"), classes=3))
    c = Case("shapes/one_hot_large_indices")
    yield c.out(c.shaped("one_hot", c.numbers(16777217, 4294967296, 2, dtype="i64"), classes=4))
    yield refused("type", "one_hot", "TYPE_MISMATCH", ("f32", "i8, i16, i32, i64, u8 or bool"), (4,), classes=3)
    yield refused("4_dimensions", "one_hot", "SHAPE_MISMATCH", ("at most 3",), SHAPE, dtype="i32", classes=3)
    yield refused("classes", "one_hot", "INVALID_ARGUMENT", ("classes is -1",), (4,), dtype="i32", classes=-1)
    for n in (0, 1, 7):
        yield made(str(n), "eye", n=n)
    for label, start, stop, n in [
        ("unit", 0, 1, 11),
        ("down", 3, -5, 33),
        ("one", 7, 9, 1),
        ("none", 7, 9, 0),
        ("two", -2, 0.5, 2),
        ("same", 4, 4, 5),
        ("thirds", 0, 1, 4),
        ("tiny", 0, 1e-44, 3),
        ("huge", -1e38, 1e38, 5),
        ("beyond_the_resolution", 1e18, 1e18 + 256, 1001),
    ]:
        yield made(label, "linspace", start=start, stop=stop, n=n)
    yield refused("infinite", "linspace", "INVALID_ARGUMENT", ("stop is inf", "finite"), start=0, stop=INF, n=3)
    yield refused("negative", "linspace", "INVALID_ARGUMENT", ("n is -1",), start=0, stop=1, n=-1)


def lists():
    for dim in range(4):
        yield made(f"dim{dim}", "cat", *[tuple(n if d == dim else m for d, m in enumerate(SHAPE)) for n in (2, 1, 3)], dim=dim)
        yield made(f"dim{dim}", "stack", (3, 2, 4), (3, 2, 4), (3, 2, 4), dim=dim)
    yield made("one", "cat", (3, 2), dim=0)
    yield made("ten", "cat", *[(2, 1 + i % 3) for i in range(10)], dim=1)
    yield made("twelve", "cat", *[(2, 1 + i % 3) for i in range(12)], dim=1)
    yield made("twenty_one", "cat", *[(1 + i % 2,) for i in range(21)], dim=0)
    yield made("empty_ones", "cat", (3, 0), (3, 2), (3, 0), (3, 1), dim=1)
    yield made("one", "stack", (3, 2), dim=2)
    yield made("vectors", "stack", (4,), (4,), (4,), dim=1)
    yield made("vectors_dim0", "stack", (4,), (4,), (4,), dim=0)
    yield made("eleven", "stack", *[(3,)] * 11, dim=0)
    for dtype in TYPES:
        yield made(dtype, "cat", (5, 2), (5, 1), (5, 3), dtype=dtype, dim=1)
        yield made(dtype, "stack", (3, 2), (3, 2), dtype=dtype, dim=0)
    c = Case("shapes/cat_blocks")
    yield c.out(c.cast(c.shaped("cat", c.blocks("q4_0", 32, 2), c.blocks("q4_0", 64, 2), c.blocks("q4_0", 32, 2), dim=0), "f32"))
    c = Case("shapes/cat_turned")
    yield c.out(c.shaped("cat", c.transpose(c.leaf(2, 3)), c.leaf(3, 1), c.transpose(c.leaf(4, 3)), dim=1))
    c = Case("shapes/cat_itself")
    a = c.leaf(3, 2)
    yield c.out(c.shaped("cat", a, a, a, dim=0))
    c = Case("shapes/stack_turned")
    yield c.out(c.shaped("stack", c.transpose(c.leaf(2, 3)), c.leaf(3, 2), dim=1))
    yield refused("shape", "cat", "SHAPE_MISMATCH", ("tensor 3 is [4, 2]", "dimension 1 has 3 and 2"), (4, 3), (1, 3), (4, 2), dim=0)
    yield refused("dim", "cat", "INVALID_ARGUMENT", ("attribute dim is 4",), (4, 3), (4, 3), dim=4)
    yield refused("shape", "stack", "SHAPE_MISMATCH", ("tensor 2 is [4, 2]", "dimension 1 has 3 and 2"), (4, 3), (4, 2), dim=0)
    yield refused("4_dimensions", "stack", "SHAPE_MISMATCH", ("at most 3",), SHAPE, SHAPE, dim=0)
    c = Case("shapes/cat_error_type")
    yield c.fails("TYPE_MISMATCH", ("cat", "tensor 2", "f16", "one type"), "cat", c.leaf(4), c.leaf(4, dtype="f16"), dim=0)


def sums():
    for label, equation, *shapes in [
        ("mul_mat", "km,kn->mn", (7, 3), (7, 5)),
        ("numpy_order", "ji,kj->ki", (3, 4), (5, 3)),
        ("batches", "kmx,knx->mnx", (5, 3, 4), (5, 2, 4)),
        ("two_batches", "kmxy,knxy->mnxy", (5, 3, 2, 2), (5, 2, 2, 2)),
        ("batches_first", "xkm,xkn->xmn", (4, 5, 3), (4, 5, 2)),
        ("two_sums", "jkm,jkn->mn", (3, 4, 5), (3, 4, 2)),
        ("sums_turned", "jkm,kjn->nm", (3, 4, 5), (4, 3, 2)),
        ("four_dimensions", "abk,kcd->abcd", (2, 3, 5), (5, 4, 2)),
        ("four_dimensions_turned", "abk,kcd->dacb", (2, 3, 5), (5, 4, 2)),
        ("attention", "dqh,dkh->kqh", (8, 3, 2), (8, 5, 2)),
        ("outer", "i,j->ij", (3,), (4,)),
        ("outer_turned", "i,j->ji", (3,), (4,)),
        ("elementwise", "ij,ij->ij", (3, 4), (3, 4)),
        ("elementwise_turned", "ij,ji->ij", (3, 4), (4, 3)),
        ("broadcast", "ij,j->ij", (3, 4), (4,)),
        ("dots", "ij,ij->j", (6, 4), (6, 4)),
        ("dot", "i,i->", (9,), (9,)),
        ("matrix_vector", "km,k->m", (6, 4), (6,)),
        ("sum", "ij->", (3, 4)),
        ("row_totals", "ij->j", (3, 4)),
        ("transpose", "ij->ji", (3, 4)),
        ("permute", "abcd->dbac", (2, 3, 4, 5)),
        ("nothing", "ij->ij", (3, 4)),
        ("implicit", "jk,ij", (3, 4), (5, 3)),
        ("implicit_transpose", "ba", (3, 4)),
        ("summed_first", "ijk,j->j", (2, 3, 4), (3,)),
        ("unused_letter", "km,kn->n", (5, 3), (5, 4)),
        ("three", "ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
        ("three_turned", "ij,jk,kl->li", (2, 3), (3, 4), (4, 5)),
        ("bilinear", "i,ijk,k->j", (3,), (3, 2, 4), (4,)),
        ("four", "a,b,c,d->abcd", (2,), (3,), (2,), (2,)),
        ("trace", "ii->", (5, 5)),
        ("diagonal", "ii->i", (4, 4)),
        ("diagonal_of_batches", "xii->xi", (3, 4, 4)),
        ("diagonal_product", "iik,kn->in", (3, 3, 5), (5, 2)),
        ("upper_case", "Ka,Kb->ab", (4, 3), (4, 2)),
        ("empty_sum", "km,kn->mn", (0, 3), (0, 2)),
        ("empty_result", "km,kn->mn", (4, 0), (4, 2)),
        ("missing_dimensions", "ijk->kji", (4,)),
    ]:
        yield made(label, "einsum", *shapes, equation=equation)
    c = Case("shapes/einsum_of_views")
    yield c.out(c.shaped("einsum", c.transpose(c.leaf(3, 7)), c.index(c.leaf(7, 5), (0, 1), (None, 4)), equation="km,kn->nm"))
    c = Case("shapes/einsum_f16")
    yield c.out(c.shaped("einsum", c.leaf(7, 3, dtype="f16"), c.leaf(7, 5), equation="km,kn->mn"))
    c = Case("shapes/einsum_f16_transposed")
    yield c.out(c.shaped("einsum", c.leaf(7, 3, dtype="f16"), equation="ij->ji"))
    yield refused("integers", "einsum", "TYPE_MISMATCH", ("tensor 1 is [4, 3] i32", "f32, f16, bf16"), (4, 3), dtype="i32", equation="ij->ji")
    c = Case("shapes/einsum_f16_elementwise")
    yield c.out(c.shaped("einsum", c.leaf(7, 3, dtype="f16"), c.leaf(7, 3), equation="km,km->km"))
    for label, status, words, equation, *shapes in [
        ("too_few", "INVALID_ARGUMENT", ("km,kn->mn", "1 tensors are given"), "km,kn->mn", (4, 3)),
        ("too_many", "INVALID_ARGUMENT", ("2 tensors are given",), "km->mk", (4, 3), (4, 2)),
        ("extents", "INVALID_ARGUMENT", ("tensor 2 is [5, 2]", "'k' has 5 elements, and 4 elsewhere"), "km,kn->mn", (4, 3), (5, 2)),
        ("letters", "INVALID_ARGUMENT", ("tensor 1 is [4, 3]", "with 1 letters"), "k,kn->n", (4, 3), (4, 2)),
        ("unknown", "INVALID_ARGUMENT", ("'z'",), "km,kn->mz", (4, 3), (4, 2)),
        ("twice", "INVALID_ARGUMENT", ("'m' twice",), "km,kn->mm", (4, 3), (4, 2)),
        ("ellipsis", "INVALID_ARGUMENT", ("letters for dimensions",), "...m->m", (4, 3)),
        ("five_letters", "INVALID_ARGUMENT", ("at most 4 letters",), "abcde->a", (4, 3)),
        ("five_dimensions", "INVALID_ARGUMENT", ("5 dimensions",), "abc,de->abcde", (2, 2, 2), (2, 2)),
        ("product", "UNSUPPORTED", ("more than 4 dimensions",), "abpq,cdrs,prtx,qsty,xyab->abcd", *[(2, 2, 2, 2)] * 5),
    ]:
        yield refused(label, "einsum", status, words, *shapes, equation=equation)


def waves():
    for label, times, attrs in [
        ("even", (0, 1, 2.5, -3, 100), {"dim": 34, "max_period": 10000}),
        ("odd", (0.5, 1, 7), {"dim": 33, "max_period": 10000}),
        ("period", (0, 1, 2, 3), {"dim": 20, "max_period": 100}),
        ("one_wave", (0, 1.5), {"dim": 2, "max_period": 10000}),
        ("three", (0, 1.5), {"dim": 3, "max_period": 10000}),
        ("nothing", (2,), {"dim": 1, "max_period": 10000}),
        ("no_period", (2,), {"dim": 6, "max_period": 1}),
        ("late", (999, 1000), {"dim": 320, "max_period": 10000}),
    ]:
        c = Case(f"shapes/timestep_embedding_{label}")
        yield c.out(c.shaped("timestep_embedding", c.leaf(len(times), put=dict(enumerate(times))), **attrs))
    c = Case("shapes/timestep_embedding_f16")
    yield c.out(c.shaped("timestep_embedding", c.leaf(3, dtype="f16"), dim=8, max_period=10000))
    yield made("none", "timestep_embedding", (0,), dim=8, max_period=10000)
    yield refused("shape", "timestep_embedding", "SHAPE_MISMATCH", ("[3, 2] f32", "one dimension"), (3, 2), dim=8, max_period=100)
    yield refused("dim", "timestep_embedding", "INVALID_ARGUMENT", ("attribute dim is 0", "1 to"), (3,), dim=0, max_period=100)
    yield refused("type", "timestep_embedding", "TYPE_MISMATCH", ("i32", "f32, f16 or bf16"), (3,), dtype="i32", dim=8, max_period=100)


def cases():
    for part in (dimensions, indices, repetitions, reversals, selections, values, lists, sums, waves):
        yield from part()
