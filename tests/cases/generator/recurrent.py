"""Recurrent layers: one token and many, shared heads, states, gates of every kind, views, refusals."""

from .model import Case

# The operands' scales keep states near 1 in size: those of leafs are below 4.
SMALL = 1 / 8


class Recurrent:
    def __init__(self, op):
        self.op = op

    def case(self, label):
        return Case(f"recurrent/{self.op}_{label}")

    def operands(self, c, shapes, decays):
        """Leafs scaled to below 1/2; decays are between 1/2 and 1, or below 0 as logarithms of such."""
        made = []
        for i, ne in enumerate(shapes):
            t = c.elementwise("scale", c.leaf(*ne), scale=SMALL)
            made.append(c.elementwise("scale", t, scale=0.5, bias=decays[i]) if i in decays else t)
        return made

    def made(self, label, shapes, decays, ids=None, result=0, **attrs):
        c = self.case(f"{label}{'_after' if result else ''}")
        operands = self.operands(c, shapes, decays)
        if ids:
            operands.append(c.numbers(*ids[0], dtype=ids[1]))
        first = c.recurrent(self.op, *operands, **attrs)
        return c.out(c.result(first, result) if result else first)

    def both(self, label, *arguments, **attrs):
        for result in (0, 1):
            yield self.made(label, *arguments, result=result, **attrs)

    def refused(self, label, status, words, *shapes, types=(), **attrs):
        c = self.case(f"error_{label}")
        types = {**dict.fromkeys(range(len(shapes)), "f32"), **dict(types)}
        return c.fails(status, (self.op, *words), self.op, *[c.leaf(*ne, dtype=types[i]) for i, ne in enumerate(shapes)], **attrs)


def delta(size, heads, shared, tokens, sequences=1, shared_sequences=None, gates=1):
    q = (size, shared, tokens, shared_sequences or sequences)
    return [q, q, (size, heads, tokens, sequences), (gates, heads, tokens, sequences), (1, heads, tokens, sequences), (size, size, heads, sequences)]


def deltas():
    m = Recurrent("gated_delta_net")
    gate = {3: -0.3, 4: 0.5}
    for label, shapes, attrs in [
        ("one_token", delta(20, 2, 2, 1), {}),
        ("many", delta(33, 3, 1, 9, 2), {}),
        ("repeated_heads", delta(8, 6, 2, 5, 3), {}),
        ("each", delta(19, 3, 3, 9, 2, gates=19), {}),
        ("each_one_token", delta(40, 2, 2, 1, 2, gates=40), {}),
        ("states", delta(12, 2, 2, 8, 2), {"n_states": 3}),
        ("each_states", delta(11, 2, 1, 4, 2, gates=11), {"n_states": 4}),
        ("few_tokens", delta(5, 2, 2, 2, 2), {"n_states": 4}),
        ("shared_sequences", delta(9, 2, 2, 4, 4, 2), {}),
        ("one_element", delta(1, 2, 1, 3), {}),
        ("rows_of_several_units", delta(70, 1, 1, 3), {}),
        ("no_tokens", delta(4, 2, 1, 0), {"n_states": 2}),
        ("no_heads", delta(4, 0, 0, 3), {}),
        ("no_sequences", delta(4, 2, 2, 3, 0), {}),
    ]:
        yield from m.both(label, shapes, gate, **attrs)
    c = m.case("permuted")
    q, k, v = (c.permute(c.elementwise("scale", c.leaf(6, 7, n, 2), scale=SMALL), 0, 2, 1, 3) for n in (2, 2, 4))
    rest = m.operands(c, [(1, 4, 7, 2), (1, 4, 7, 2), (6, 6, 4, 2)], {0: -0.3, 1: 0.5})
    yield c.out(c.recurrent("gated_delta_net", q, k, v, *rest))
    good = delta(4, 2, 1, 3)
    for i, what in enumerate(("q", "k", "v", "g", "beta", "state")):
        shapes = list(good)
        shapes[i] = (*shapes[i][:1], shapes[i][1] + 1, *shapes[i][2:])
        if what != "q":
            yield m.refused(what, "SHAPE_MISMATCH", ("state {S, S, H, N}",), *shapes)
    yield m.refused("heads", "SHAPE_MISMATCH", ("h divides H",), *delta(4, 3, 2, 3))
    yield m.refused("type", "TYPE_MISMATCH", ("v must be f32",), *good, types={2: "f16"})
    yield m.refused("n_states", "INVALID_ARGUMENT", ("attribute n_states is -1", "1 to"), *good, n_states=-1)


def scan(state, dim, heads, groups, tokens, sequences, states, own=1):
    b = (state, groups, tokens, sequences)
    return [(state, dim, heads, states), (dim, heads, tokens, sequences), (heads, tokens, sequences), (own, heads), b, b]


def scans():
    m = Recurrent("ssm_scan")
    rate = {3: -0.5}
    for label, shapes, ids, attrs in [
        ("mamba", scan(16, 1, 7, 1, 5, 2, 3, 16), ((2, 0), "i32"), {}),
        ("mamba_one_token", scan(16, 1, 9, 1, 1, 3, 3, 16), ((1, 0, 2), "i64"), {}),
        ("mamba_heads", scan(5, 3, 6, 2, 7, 2, 2, 5), ((0, 1), "i32"), {}),
        ("mamba2", scan(20, 7, 6, 2, 9, 2, 4), ((3, 1), "i32"), {}),
        ("mamba2_one_token", scan(40, 4, 6, 3, 1, 3, 3), ((0, 1, 2), "i32"), {}),
        ("mamba2_wide", scan(70, 9, 4, 1, 3, 1, 2), ((1,), "i32"), {}),
        ("same_state", scan(11, 6, 4, 4, 5, 3, 2), ((1, 1, 0), "i32"), {}),
        ("states", scan(8, 5, 4, 2, 6, 2, 2), ((0, 1), "i32"), {"n_states": 3}),
        ("few_tokens", scan(6, 3, 4, 2, 2, 2, 2), ((0, 1), "i32"), {"n_states": 4}),
        ("no_tokens", scan(6, 3, 4, 2, 0, 2, 2), ((1, 0), "i32"), {}),
    ]:
        yield from m.both(label, shapes, rate, ids=ids, **attrs)
    good = scan(4, 3, 4, 2, 3, 2, 2)
    for i, what in enumerate(("state", "x", "dt", "a", "b", "c")):
        shapes = list(good)
        shapes[i] = (shapes[i][0] + 1, *shapes[i][1:])
        yield m.refused(what, "SHAPE_MISMATCH", ("ids {N}",), *shapes, (2,), types={6: "i32"})
    yield m.refused("ids", "SHAPE_MISMATCH", ("ids {N}",), *good, (3,), types={6: "i32"})
    yield m.refused("groups", "SHAPE_MISMATCH", ("G divides H",), *scan(4, 3, 4, 3, 3, 2, 2), (2,), types={6: "i32"})
    yield m.refused("type", "TYPE_MISMATCH", ("ids must be i32 or i64",), *good, (2,))
    c = m.case("wrong_id")
    operands = m.operands(c, good, rate)
    yield c.fails_computing(c.recurrent_unchecked("ssm_scan", *operands, c.numbers(0, 2)), "INVALID_ARGUMENT", ("ssm_scan", "element 1 of ids is 2", "states 0 to 1"))


def mixing(n, size, heads, tokens, sequences, first=None):
    shapes = [(size, heads, tokens)] * n
    if first is not None:
        shapes[first] = (size, heads)
    return [*shapes, (size * size * heads, sequences)]


def mixings():
    for op, n, first, decays, attrs in [
        ("rwkv_wkv6", 5, 3, {4: 0.7}, {}),
        ("rwkv_wkv7", 6, None, {1: 0.7}, {}),
        ("gated_linear_attn", 4, None, {3: 0.7}, {"scale": 0.37}),
    ]:
        m = Recurrent(op)
        for label, sizes in [
            ("one_token", (20, 3, 1, 1)),
            ("one_token_each", (19, 2, 3, 3)),
            ("many", (33, 3, 10, 2)),
            ("wide", (64, 1, 4, 1)),
            ("one_element", (1, 2, 5, 1)),
            ("no_tokens", (3, 2, 0, 2)),
            ("no_sequences", (3, 2, 0, 0)),
        ]:
            yield from m.both(label, mixing(n, *sizes, first), decays, **attrs)
        good = mixing(n, 4, 2, 6, 2, first)
        yield m.refused("state", "SHAPE_MISMATCH", ("state {S S heads, sequences}",), *good[:-1], (31, 2), **attrs)
        yield m.refused("tokens", "SHAPE_MISMATCH", ("state {S S heads, sequences}",), *good[:-1], (32, 4), **attrs)
        yield m.refused("heads", "SHAPE_MISMATCH", ("others {S, heads, tokens}",), good[0], (4, 3, 6), *good[2:], **attrs)
        yield m.refused("type", "TYPE_MISMATCH", ("must be f32",), *good, types={1: "bf16"}, **attrs)


def results():
    c = Case("recurrent/result_error_number")
    made = c.recurrent_unchecked("rwkv_wkv7", *[c.leaf(*ne) for ne in mixing(6, 2, 1, 2, 1)])
    yield c.fails("INVALID_ARGUMENT", ("result", "rwkv_wkv7 has the results 0 to 1"), "result", made, number=2)
    c = Case("recurrent/result_error_of_one")
    yield c.fails("INVALID_ARGUMENT", ("result", "relu has the results 0 to 0"), "result", c.elementwise("relu", c.leaf(3)), number=1)
    c = Case("recurrent/result_itself")
    yield c.out(c.elementwise("scale", c.result(c.elementwise("relu", c.leaf(3, 2)), 0), scale=2))


def cases():
    for part in (deltas, scans, mixings, results):
        yield from part()
