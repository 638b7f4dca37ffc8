"""attention: rope in its modes, with YaRN, frequency factors, sections and a position for each row; flash_attn_ext of many queries and of few,
grouped heads, masks, biases, caps, sinks, caches of all kinds of types; paged_attention of several sequences; F16 and BF16, views, special
values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")


def ropes():
    def made(label, ne, positions=None, dtype="f32", factors=None, types="i32", shape=None, view=None, put=None, **attrs):
        c = Case(f"attention/rope_{label}")
        a = c.leaf(*ne, dtype=dtype, put=put)
        a = view(c, a) if view else a
        positions = c.numbers(*(positions or [3 * i + 1 for i in range(a.ne[2])]), dtype=types, shape=shape)
        factors = c.leaf(len(factors), put=dict(enumerate(factors))) if factors else None
        return c.out(c.rope(a, positions, factors, **attrs), relative=False)

    for mode in ("normal", "neox"):
        yield made(f"{mode}", (8, 3, 4), mode=mode)
        yield made(f"{mode}_part", (13, 2, 3), mode=mode, n_dims=6)
        yield made(f"{mode}_34", (34, 2, 2), mode=mode)
        # Positions far away, and below 0.
        yield made(f"{mode}_far", (16, 1, 4), [100000, 2000000, -5, 0], mode=mode)
        yield made(f"{mode}_f16", (20, 2, 2), dtype="f16", mode=mode)
        yield made(f"{mode}_bf16", (20, 2, 2), dtype="bf16", mode=mode)
        yield made(f"{mode}_permuted", (6, 3, 5), mode=mode, view=lambda c, a: c.permute(a, 0, 2, 1, 3))
        yield made(f"{mode}_transposed", (3, 12, 2), mode=mode, view=lambda c, a: c.transpose(a))
        yield made(f"{mode}_inverse", (10, 2, 3), mode=mode, inverse=1)
        yield made(f"{mode}_factors", (12, 2, 3), mode=mode, factors=[1, 1.5, 2, 4, 8, 0.25])
        yield made(f"{mode}_yarn", (32, 1, 3), [1, 40, 1000], mode=mode, n_ctx_orig=64, freq_scale=0.5, ext_factor=1)
        yield made(f"{mode}_special", (4, 1, 3), mode=mode, put={1: NAN, 4: INF, 8: 0})
        yield made(f"{mode}_empty", (8, 0, 3), mode=mode)
    yield made("options", (16, 2, 2), mode="neox", freq_base=500000, freq_scale=0.25, attn_factor=1.25)
    yield made("yarn_options", (64, 1, 2), [7, 3000], n_ctx_orig=4096, freq_base=1e6, freq_scale=0.125, ext_factor=0.5, attn_factor=0.9, beta_fast=16, beta_slow=2)
    yield made("yarn_factors", (16, 2, 2), mode="neox", n_ctx_orig=128, freq_scale=0.5, ext_factor=1, factors=[1, 2, 1, 3, 1, 4, 1, 5])
    yield made("i64", (4, 1, 2), types="i64")
    yield made("batches", (6, 2, 3, 2), [0, 1, 2, 7, 9, 11], shape=(3, 2))
    yield made("same_in_batches", (6, 2, 3, 2))
    yield made("no_tokens", (6, 2, 0))
    yield made("part_of_none", (5, 2, 2), n_dims=2)
    # Two tokens: of four sections the first position of each, then the second, ...
    mrope = [5, 6, 50, 60, 500, 600, 5000, 6000]
    yield made("mrope", (24, 2, 2), mrope, mode="mrope", sections=(4, 3, 3, 2))
    yield made("mrope_again", (24, 1, 2), mrope, mode="mrope", sections=(2, 1, 1, 0))
    yield made("mrope_part", (20, 1, 2), mrope, mode="mrope", sections=(3, 2, 2, 0), n_dims=16, freq_base=1e6)
    yield made("mrope_batches", (8, 1, 1, 2), list(range(8)), mode="mrope", sections=(1, 1, 1, 1), shape=(4, 2))
    same = [5, 6] * 4  # as for text
    yield made("imrope", (40, 2, 2), mrope, mode="imrope", sections=(6, 6, 6, 0), n_dims=36)
    yield made("imrope_leftover", (64, 1, 2), mrope, mode="imrope", sections=(12, 10, 10, 0), freq_base=50)
    yield made("imrope_again", (52, 1, 2), mrope, mode="imrope", sections=(4, 3, 3, 2), n_dims=48)
    yield made("imrope_of_text", (64, 2, 2), same, mode="imrope", sections=(11, 11, 10, 0))
    yield made("imrope_yarn", (36, 1, 2), mrope, mode="imrope", sections=(6, 6, 6, 0), n_ctx_orig=64, freq_scale=0.5, ext_factor=1, attn_factor=1.1)
    yield made("vision", (40, 2, 2), mrope, mode="vision", sections=(10, 10, 10, 10), n_dims=20)
    yield made("vision_two_sections", (36, 1, 2), mrope, mode="vision", sections=(7, 11, 0, 0))
    yield made("vision_again", (48, 1, 2), mrope, mode="vision", sections=(7, 5, 0, 0), freq_base=100)
    yield made("vision_odd_pairs", (6, 2, 2), mrope, mode="vision", sections=(1, 2, 0, 0))
    yield made("vision_factors", (8, 1, 2), mrope, mode="vision", sections=(2, 2, 0, 0), factors=[1, 2, 4, 0.5])
    for mode in ("normal", "neox"):
        yield made(f"{mode}_offset", (38, 2, 3), mode=mode, n_dims=20, offset=8)
        yield made(f"{mode}_offset_rest", (12, 1, 3), mode=mode, offset=4)
        yield made(f"{mode}_offset_end", (12, 1, 3), mode=mode, n_dims=6, offset=6)
    yield made("imrope_offset", (46, 1, 2), mrope, mode="imrope", sections=(4, 4, 4, 0), n_dims=24, offset=14)
    yield made("mrope_offset", (42, 1, 2), mrope, mode="mrope", sections=(4, 3, 3, 0), n_dims=20, offset=10)
    yield made("vision_offset", (13, 1, 2), mrope, mode="vision", sections=(2, 3, 0, 0), n_dims=5, offset=2)
    yield made("nothing_behind_offset", (8, 1, 3), offset=8)
    c = Case("attention/rope_strided_positions")
    apart = c.transpose(c.view(c.numbers(4, 9, 5, 9, 6, 9), (1, 3), (8,)))
    yield c.out(c.rope(c.leaf(6, 2, 3), apart, None))
    c = Case("attention/rope_then")
    yield c.out(c.elementwise("scale", c.rope(c.leaf(8, 2, 3), c.numbers(1, 2, 3), None), scale=0.125))
    c = Case("attention/rope_and_back")
    there = c.rope(c.leaf(8, 2, 2), c.numbers(1, 200), None, mode="neox")
    yield c.out(c.rope(there, c.numbers(1, 200), None, mode="neox", inverse=1))


def refusals():
    def refused(label, status, words, a=((8, 2, 3), "f32"), positions=((3,), "i32"), factors=None, **attrs):
        c = Case(f"attention/rope_error_{label}")
        src = [c.leaf(*given[0], dtype=given[1]) if given else None for given in (a, positions, factors)]
        return c.fails(status, ("rope", *words), "rope", *src, **attrs)

    yield refused("type", "TYPE_MISMATCH", ("a is [8, 2, 3] i32", "f32, f16 or bf16"), a=((8, 2, 3), "i32"))
    yield refused("position_type", "TYPE_MISMATCH", ("positions is [3] f32", "i32 or i64"), positions=((3,), "f32"))
    yield refused("positions", "SHAPE_MISMATCH", ("positions is [4]", "{3} or {3, 1}"), positions=((4,), "i32"))
    yield refused("batches", "SHAPE_MISMATCH", ("positions is [3, 2]", "{3} or {3, 1}"), positions=((3, 2), "i32"))
    yield refused("mrope_positions", "SHAPE_MISMATCH", ("{12}", "four for each"), mode="mrope", sections=(1, 1, 1, 1))
    yield refused("factors", "SHAPE_MISMATCH", ("freq_factors is [3]", "{4}"), factors=((3,), "f32"))
    yield refused("factor_type", "TYPE_MISMATCH", ("freq_factors must be f32",), factors=((4,), "f16"))
    yield refused("odd", "INVALID_ARGUMENT", ("n_dims is 3", "even number", "up to 8"), n_dims=3)
    yield refused("odd_row", "INVALID_ARGUMENT", ("n_dims is 0", "even number", "up to 7"), a=((7, 2, 3), "f32"))
    yield refused("too_many", "INVALID_ARGUMENT", ("n_dims is 10", "even number", "up to 8"), n_dims=10)
    yield refused("no_sections", "INVALID_ARGUMENT", ("mode is mrope", "sections are not given"), mode="mrope", positions=((12,), "i32"))
    yield refused("sections", "INVALID_ARGUMENT", ("mode is neox", "sections are given"), mode="neox", sections=(1, 1, 1, 1))
    yield refused("vision_sections", "INVALID_ARGUMENT", ("mode is vision", "sections are not given"), mode="vision", positions=((12,), "i32"))
    yield refused("vision_row", "INVALID_ARGUMENT", ("mode is vision", "n_dims is 8", "up to 8"), mode="vision", n_dims=8, sections=(1, 1, 0, 0), positions=((12,), "i32"))
    yield refused("offset", "INVALID_ARGUMENT", ("n_dims is 6", "offset is 4", "up to 4"), n_dims=6, offset=4)
    yield refused("far_offset", "INVALID_ARGUMENT", ("offset is 10", "up to 0"), offset=10)
    yield refused("yarn", "INVALID_ARGUMENT", ("n_ctx_orig is 0", "above 0"), ext_factor=1)
    yield refused("yarn_base", "INVALID_ARGUMENT", ("freq_base not 1",), ext_factor=1, n_ctx_orig=8, freq_base=1)
    yield refused("base", "INVALID_ARGUMENT", ("freq_base is -1",), freq_base=-1)
    yield refused("scale", "INVALID_ARGUMENT", ("freq_scale is NaN",), freq_scale="nan")


def causal(tokens, keys, past=0):
    """A mask's elements: a query sees the keys up to its own place."""
    return {j + keys * i: 0 if j <= i + past else -INF for i in range(tokens) for j in range(keys)}


def attentions():
    def made(label, q, kv, mask=None, put_mask=None, sinks=None, types=("f32", "f32", "f32"), mask_type="f32", m=None, views=None, put=None, **attrs):
        """q (n, tokens, heads[, batch]), kv (keys, heads[, batch])."""
        c = Case(f"attention/flash_{label}")
        view = views or (lambda c, t: t)
        query = view(c, c.leaf(*q, dtype=types[0], put=put))
        k, v = (
            view(c, c.blocks(dtype, n, *kv) if dtype.startswith("q") else c.leaf(n, *kv, dtype=dtype))
            for n, dtype in ((q[0], types[1]), (m or q[0], types[2]))
        )
        masked = c.leaf(*mask, dtype=mask_type, put=put_mask) if mask else None
        sink = c.leaf(q[2], put=sinks) if sinks is not None else None
        return c.out(c.flash_attn_ext(query, k, v, masked, sink, **attrs), relative=True)

    # 16 queries of a group or fewer read keys where they are; more are computed in panels.
    for label, tokens in {"few": 3, "many": 20}.items():
        yield made(f"{label}", (8, tokens, 2), (11, 2))
        yield made(f"{label}_grouped", (8, tokens, 6), (7, 2), m=5)
        yield made(f"{label}_batches", (4, tokens, 2, 2), (5, 1, 1))
        yield made(f"{label}_causal", (8, tokens, 2), (tokens, 2), mask=(tokens, tokens), put_mask=causal(tokens, tokens), mask_type="f16")
        yield made(f"{label}_mask", (6, tokens, 4), (9, 2), mask=(9, tokens + 2, 2), scale=0.5)
        yield made(f"{label}_alibi", (6, tokens, 6), (9, 3), mask=(9, tokens), mask_type="bf16", max_bias=8)
        yield made(f"{label}_cap", (8, tokens, 2), (12, 1), logit_softcap=2.5, scale=1)
        yield made(f"{label}_sinks", (8, tokens, 3), (10, 3), sinks={0: 0.5, 1: -INF, 2: 4})
        yield made(f"{label}_all", (10, tokens, 4, 2), (13, 2, 2), mask=(13, tokens, 2, 2), sinks={}, m=3, max_bias=4, logit_softcap=20, scale=0.75)
        yield made(f"{label}_one_key", (5, tokens, 2), (1, 1))
        yield made(f"{label}_no_keys", (5, tokens, 2), (0, 1))
        yield made(f"{label}_no_keys_sinks", (5, tokens, 2), (0, 1), sinks={})
        # The first query sees no key.
        yield made(f"{label}_blind", (4, tokens, 1), (6, 1), mask=(6, tokens), put_mask={j: -INF for j in range(6)})
        yield made(f"{label}_special", (4, tokens, 2), (6, 2), put={1: NAN, 4: INF, 8: 0})
        for types in (("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("f32", "f32", "f16"), ("f32", "q8_0", "q8_0"), ("f32", "q4_0", "f16")):
            yield made(f"{label}_{'_'.join(types)}", (32, tokens, 2), (5, 1), types=types)
        # Heads side by side in a token, as projections leave them.
        yield made(f"{label}_permuted", (8, 2, tokens), (2, 9), views=lambda c, t: c.permute(t, 0, 2, 1, 3))
    # Blocks of 144 and of 256 keys.
    yield made("few_long", (4, 2, 1), (300, 1), m=3)
    yield made("many_long", (4, 17, 1), (300, 1), m=3)
    yield made("many_causal_long", (4, 17, 1), (160, 1), m=3, mask=(160, 17), put_mask=causal(17, 160, 140))
    # A cache of 16 places, of which three tokens fill some: read whole, the rest of it masked.
    for dtype in ("f32", "f16", "q8_0"):
        c = Case(f"attention/flash_cache_{dtype}")
        places = c.numbers(9, 2, 5)
        # Encoding rows to a quantised type has no exact result to compare with, so blocks are moved.
        rows = c.blocks("q8_0", 32, 3) if dtype == "q8_0" else c.leaf(32, 3)
        empty = lambda: c.blocks("q8_0", 32, 16) if dtype == "q8_0" else c.leaf(32, 16, dtype=dtype, put=dict.fromkeys(range(512), 0))  # noqa: E731
        keys, values = c.set_rows(empty(), rows, places), c.set_rows(empty(), rows, places)
        mask = c.leaf(16, 2, put={j + 16 * i: 0 if j in ((9, 2, 5) if i else (9, 2)) else -INF for i in range(2) for j in range(16)})
        yield c.out(c.flash_attn_ext(c.leaf(32, 2, 1), keys, values, mask), relative=True)


def attention_refusals():
    def refused(label, status, words, q=((8, 3, 4), "f32"), k=((8, 5, 2), "f32"), v=((6, 5, 2), "f32"), mask=None, sinks=None, **attrs):
        c = Case(f"attention/flash_error_{label}")
        made = lambda ne, dtype: c.zero_blocks(dtype, *ne) if dtype.startswith("q") else c.leaf(*ne, dtype=dtype)  # noqa: E731
        src = [made(*given) if given else None for given in (q, k, v, mask, sinks)]
        return c.fails(status, ("flash_attn_ext", *words), "flash_attn_ext", *src, **attrs)

    yield refused("q_type", "TYPE_MISMATCH", ("q must be f32, f16 or bf16",), q=((32, 3, 4), "q8_0"))
    yield refused("k_type", "TYPE_MISMATCH", ("k must be of a float type or a format with blocks",), k=((8, 5, 2), "i32"))
    yield refused("mask_type", "TYPE_MISMATCH", ("mask must be f32, f16 or bf16",), mask=((5, 3), "i32"))
    yield refused("n", "SHAPE_MISMATCH", ("k is [7, 5, 2]", "dimension 0"), k=((7, 5, 2), "f32"))
    yield refused("keys", "SHAPE_MISMATCH", ("v is [6, 4, 2]", "v {m, 5, 2, 1}"), v=((6, 4, 2), "f32"))
    yield refused("heads", "SHAPE_MISMATCH", ("must divide q's, 4 and 1",), k=((8, 5, 3), "f32"), v=((6, 5, 3), "f32"))
    yield refused("mask", "SHAPE_MISMATCH", ("mask is [5, 2]", "{5, 3 or more, x, y}"), mask=((5, 2), "f32"))
    yield refused("sinks", "SHAPE_MISMATCH", ("sinks is [2]", "{4}"), sinks=((2,), "f32"))
    yield refused("sinks_type", "TYPE_MISMATCH", ("sinks must be f32",), sinks=((4,), "f16"))
    yield refused("bias", "INVALID_ARGUMENT", ("max_bias is 8", "mask"), max_bias=8)
    yield refused("cap", "INVALID_ARGUMENT", ("logit_softcap is -1",), logit_softcap=-1)
    yield refused("scale", "INVALID_ARGUMENT", ("scale is NaN",), scale="nan")


def paged():
    def made(label, n, heads, shared, pages, positions, sequences, *, rows=None, page=4, m=None, types=("f32", "f32", "f32"), numbers="i32", sinks=None, view=None, **attrs):
        """pages: the table of each sequence."""
        c = Case(f"attention/paged_{label}")
        tokens, rows = len(positions), rows or page * (1 + max(max(table, default=0) for table in pages))
        query = c.leaf(n, tokens, heads, dtype=types[0])
        query = view(c, query) if view else query
        k, v = (
            c.blocks(dtype, size, shared, rows) if dtype.startswith("q") else c.leaf(size, shared, rows, dtype=dtype)
            for size, dtype in ((n, types[1]), (m or n, types[2]))
        )
        table = c.numbers(*[number for row in pages for number in row], dtype=numbers, shape=(len(pages[0]), len(pages)))
        sink = c.leaf(heads, put=sinks) if sinks is not None else None
        at = (c.numbers(*positions, dtype=numbers), c.numbers(*sequences, dtype=numbers))
        return c.out(c.paged_attention(query, k, v, table, *at, sink, page=page, **attrs), relative=True)

    two = [[2, 0, 3], [1, 4, -1]]
    yield made("one", 8, 2, 2, [[0]], [0], [0])
    yield made("several", 8, 2, 2, two, [9, 3, 4, 5, 0], [0, 1, 1, 1, 0])
    yield made("grouped", 8, 6, 2, two, [2, 3, 11, 7], [0, 0, 0, 1], m=5)
    yield made("many_heads", 4, 10, 1, two, [2, 7], [0, 1])
    yield made("shared_pages", 6, 2, 1, [[0, 1], [0, 2]], [5, 6, 5, 6], [0, 0, 1, 1])
    yield made("window", 8, 2, 1, two, [1, 9, 10, 6, 7], [0, 0, 0, 1, 1], window=3)
    yield made("window_of_one", 4, 1, 1, two, [0, 5, 7], [0, 0, 1], window=1)
    yield made("cap", 8, 2, 1, two, [9, 3], [0, 1], logit_softcap=2.5, scale=1)
    yield made("sinks", 8, 3, 3, two, [9, 3], [0, 1], sinks={0: 0.5, 1: -INF, 2: 4})
    yield made("i64", 8, 2, 2, two, [9, 3], [0, 1], numbers="i64")
    yield made("pages_of_one", 4, 2, 1, [[5, 2, 0, 3]], [3, 1], [0, 0], page=1)
    yield made("pages_of_64", 4, 2, 1, [[3, 1, 0, 4, 2, 5]], [300, 62, 63, 64], [0, 0, 0, 0], page=64, m=3)
    yield made("prompt", 4, 2, 1, [[1, 0, 2, 4, 3]], list(range(20)), [0] * 20)
    for types in (("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("f32", "q8_0", "q8_0"), ("f32", "q4_0", "f16")):
        yield made(f"{'_'.join(types)}", 32, 2, 1, two, [9, 3, 4], [0, 1, 1], types=types)
    # Heads side by side in a token, as projections leave them.
    yield made("permuted", 8, 4, 2, two, [9, 3], [0, 1], view=lambda c, t: c.permute(c.reshape(t, 8, 4, 2), 0, 2, 1, 3))
    # A table with numbers of pages that no token needs.
    yield made("unused_pages", 8, 2, 2, [[1, 99, -7]], [3, 2], [0, 0], rows=8)
    # A cache: rows of two sequences that new tokens are set into.
    for dtype in ("f32", "f16"):
        c = Case(f"attention/paged_cache_{dtype}")
        places = c.numbers(9, 4)
        empty = lambda: c.leaf(32, 16, dtype=dtype, put=dict.fromkeys(range(512), 0))  # noqa: E731
        keys, values = (c.reshape(c.set_rows(empty(), c.leaf(32, 2), places), 16, 2, 16) for _ in range(2))
        at = (c.numbers(2, 0, 3, 1, shape=(2, 2)), c.numbers(1, 4), c.numbers(0, 1))
        yield c.out(c.paged_attention(c.leaf(16, 2, 4), keys, values, *at, None, page=4), relative=True)


def paged_refusals():
    def refused(label, status, words, q=((8, 3, 4), "f32"), k=((8, 2, 12), "f32"), v=((6, 2, 12), "f32"), pages=((3, 2), "i32"), positions=((3,), "i32"), sequences=((3,), "i32"), sinks=None, page=4, **attrs):
        c = Case(f"attention/paged_error_{label}")
        made = lambda ne, dtype: c.zero_blocks(dtype, *ne) if dtype.startswith("q") else c.leaf(*ne, dtype=dtype)  # noqa: E731
        src = [made(*given) if given else None for given in (q, k, v, pages, positions, sequences, sinks)]
        return c.fails(status, ("paged_attention", *words), "paged_attention", *src, page=page, **attrs)

    yield refused("q_type", "TYPE_MISMATCH", ("q must be f32, f16 or bf16",), q=((32, 3, 4), "q8_0"))
    yield refused("k_type", "TYPE_MISMATCH", ("k must be of a float type or a format with blocks",), k=((8, 2, 12), "i32"))
    yield refused("pages_type", "TYPE_MISMATCH", ("pages must be i32 or i64",), pages=((3, 2), "f32"))
    yield refused("positions_type", "TYPE_MISMATCH", ("positions must be i32 or i64",), positions=((3,), "f32"))
    yield refused("sequences_type", "TYPE_MISMATCH", ("sequences must be i32 or i64",), sequences=((3,), "i16"))
    yield refused("q", "SHAPE_MISMATCH", ("q {n, tokens, heads} is valid",), q=((8, 3, 4, 2), "f32"))
    yield refused("n", "SHAPE_MISMATCH", ("k is [7, 2, 12]", "k {8, heads', rows}"), k=((7, 2, 12), "f32"))
    yield refused("v", "SHAPE_MISMATCH", ("v is [6, 2, 8]", "v {m, 2, 12} is valid, of any m"), v=((6, 2, 8), "f32"))
    yield refused("heads", "SHAPE_MISMATCH", ("dimension 1 must divide q's heads, 4",), k=((8, 3, 12), "f32"), v=((6, 3, 12), "f32"))
    yield refused("page", "SHAPE_MISMATCH", ("page is 5", "divide the rows of k"), page=5)
    yield refused("pages", "SHAPE_MISMATCH", ("pages {most, n_sequences}",), pages=((3, 2, 2), "i32"))
    yield refused("positions", "SHAPE_MISMATCH", ("positions {3} are valid, one for each token",), positions=((4,), "i32"))
    yield refused("sequences", "SHAPE_MISMATCH", ("sequences {3} are valid",), sequences=((3, 2), "i32"))
    yield refused("sinks", "SHAPE_MISMATCH", ("sinks {4}",), sinks=((2,), "f32"))
    yield refused("no_page", "INVALID_ARGUMENT", ("page is -1", "1 to 65536"), page=-1)
    yield refused("window", "INVALID_ARGUMENT", ("window is -1",), window=-1)

    def fails(label, words, pages, positions, sequences):
        c = Case(f"attention/paged_error_{label}")
        at = (c.numbers(*pages, shape=(2, 2)), c.numbers(*positions), c.numbers(*sequences))
        taken = c.paged_attention(c.leaf(4, 2, 2), c.leaf(4, 1, 8), c.leaf(4, 1, 8), *at, None, page=4)
        return c.fails_computing(taken, "INVALID_ARGUMENT", ("paged_attention", *words))

    yield fails("of_a_page", ("element 1 of pages is 2", "pages 0 to 1 are there"), (0, 2, 1, 1), (5, 0), (0, 1))
    yield fails("of_a_missing_page", ("element 3 of pages is -1", "pages 0 to 1"), (0, 2, 1, -1), (3, 7), (0, 1))
    yield fails("of_a_position", ("element 1 of positions is 8", "positions 0 to 7"), (0, 1, 1, 0), (5, 8), (0, 1))
    yield fails("of_a_sequence", ("element 0 of sequences is 2", "sequences 0 to 1"), (0, 1, 1, 0), (5, 7), (2, 1))


def cases():
    yield from ropes()
    yield from refusals()
    yield from attentions()
    yield from attention_refusals()
    yield from paged()
    yield from paged_refusals()
