"""out_prod_id: sums of outer products by expert; sizes around tiles, types, repetition, views, experts without columns, special values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")


def routed(c, experts, used, tokens, dtype="i32", step=7):
    """Slot i goes to expert step * i mod experts."""
    return c.numbers(*[step * i % max(experts, 1) for i in range(used * tokens)], dtype=dtype, shape=(used, tokens))


def product(name, n, m, experts, used, tokens, columns=1, step=7, ids_dtype="i32", types=("f32", "f32")):
    c = Case(f"out_prod_id/{name}")
    a, b = c.leaf(n, columns, tokens, dtype=types[0]), c.leaf(m, used, tokens, dtype=types[1])
    return c.out(c.reduced("out_prod_id", a, b, routed(c, experts, used, tokens, ids_dtype, step), experts=experts))


def sizes():
    for n, m, experts, used, tokens in [(1, 1, 1, 1, 1), (33, 5, 4, 2, 3), (17, 13, 3, 1, 8), (65, 6, 2, 2, 5), (7, 65, 3, 2, 9), (130, 7, 2, 1, 4)]:
        yield product(f"{n}x{m}x{experts}_{used}_of_{tokens}", n, m, experts, used, tokens)
    # More columns than a block of the CPU's (192) and than the GPU reads numbers of at a time (256), for one expert and for several.
    yield product("one_expert_takes_all", 3, 2, 2, 2, 150, step=0)
    yield product("many_columns", 3, 2, 3, 2, 150)
    # Numbers of two and of three bytes.
    yield product("300_experts", 2, 3, 300, 2, 9, step=101)
    yield product("70000_experts", 1, 1, 70000, 1, 3, step=16411)
    yield product("a_column_for_each", 9, 4, 3, 4, 5, columns=4)
    yield product("columns_repeat", 9, 4, 3, 4, 5, columns=2)
    yield product("i64", 9, 4, 3, 2, 5, ids_dtype="i64")
    for types in [("f16", "f32"), ("bf16", "f16"), ("f32", "bf16")]:
        yield product("_".join(types), 13, 6, 3, 2, 5, types=types)
    # Experts 1 and 3 have none.
    yield product("experts_without_columns", 9, 5, 4, 2, 7, step=2)


def empty():
    for label, n, m, experts, used, tokens, columns in [("n", 0, 3, 2, 2, 3, 1), ("m", 3, 0, 2, 2, 3, 1), ("experts", 3, 2, 0, 2, 0, 1),
                                                        ("used", 3, 2, 2, 0, 3, 0), ("tokens", 3, 2, 2, 2, 0, 1)]:
        yield product(f"empty_{label}", n, m, experts, used, tokens, columns)


def without_an_expert():
    for dtype in ("i32", "i64"):
        c = Case(f"out_prod_id/minus_one_{dtype}")
        ids = c.numbers(2, -1, 0, 2, -1, -1, dtype=dtype, shape=(2, 3))
        yield c.out(c.reduced("out_prod_id", c.leaf(5, 1, 3), c.leaf(4, 2, 3), ids, experts=3))
    # A NaN reaches its expert's matrix, and none where there is no expert.
    c = Case("out_prod_id/nan_and_infinity")
    a, b = c.leaf(9, 2, 4, put={9 * 2 + 3: NAN, 9 * 5: INF}), c.leaf(7, 2, 4, put={7 * 6 + 1: NAN, 7 * 5 + 2: -INF})
    yield c.out(c.reduced("out_prod_id", a, b, c.numbers(0, 1, -1, 0, 2, 2, -1, 1, shape=(2, 4)), experts=4))


def strided():
    c = Case("out_prod_id/views")
    a, b = c.permute(c.leaf(9, 2, 5), 2, 1, 0, 3), c.view(c.leaf(20, 2, 9), (6, 2, 9), (80, 160), 12)
    ids = c.transpose(c.numbers(*[i * 5 % 3 for i in range(18)], shape=(9, 2)))
    yield c.out(c.reduced("out_prod_id", a, b, ids, experts=3))


def refusals():
    def refused(label, status, words, a, b, ids, experts=3, types=("f32", "f32", "i32")):
        c = Case(f"out_prod_id/error_{label}")
        operands = [c.leaf(*ne, dtype=dtype) for ne, dtype in zip((a, b, ids), types)]
        return c.fails(status, ("out_prod_id", *words), "out_prod_id", *operands, experts=experts)

    yield refused("tokens", "SHAPE_MISMATCH", ("[3, 1, 4]", "as many tokens (4 and 5)"), (3, 1, 4), (2, 2, 5), (2, 5))
    yield refused("used", "SHAPE_MISMATCH", ("[2, 3, 4]", "b {m, used, tokens}"), (3, 1, 4), (2, 3, 4), (2, 4))
    yield refused("columns", "SHAPE_MISMATCH", ("dimension 1 of a must divide dimension 0 of ids (2 and 3)",), (3, 2, 4), (2, 3, 4), (3, 4))
    yield refused("dimensions", "SHAPE_MISMATCH", ("[3, 1, 4, 2]",), (3, 1, 4, 2), (2, 3, 4), (3, 4))
    yield refused("type", "TYPE_MISMATCH", ("f32, f16 or bf16", "f64"), (3, 1, 4), (2, 3, 4), (3, 4), types=("f64", "f32", "i32"))
    yield refused("type_of_ids", "TYPE_MISMATCH", ("ids must be i32 or i64",), (3, 1, 4), (2, 3, 4), (3, 4), types=("f32", "f32", "f32"))
    yield refused("experts", "INVALID_ARGUMENT", ("experts", "-1"), (3, 1, 4), (2, 3, 4), (3, 4), experts=-1)
    for label, number, experts, words in [("number", 3, 3, "experts 0 to 2 are there"), ("number_below", -2, 3, "-1 stands for none"),
                                          ("no_experts", 0, 0, "there are no experts"), ("nothing", 5, 3, "experts 0 to 2")]:
        c = Case(f"out_prod_id/error_{label}")
        a, b, ids = c.leaf(0 if label == "nothing" else 3, 1, 2), c.leaf(2, 1, 2), c.numbers(-1, number, shape=(1, 2))
        made = c.reduced("out_prod_id", a, b, ids, experts=experts)
        yield c.fails_computing(made, "INVALID_ARGUMENT", ("out_prod_id", f"element 1 of ids is {number}", words))


def cases():
    for part in (sizes, empty, without_an_expert, strided, refusals):
        yield from part()
