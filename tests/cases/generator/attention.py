"""attention: rope in its modes, with YaRN, frequency factors, sections and a position for each row; F16 and BF16, views, refusals."""

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
    yield refused("odd", "INVALID_ARGUMENT", ("n_dims is 3", "even number up to 8"), n_dims=3)
    yield refused("odd_row", "INVALID_ARGUMENT", ("n_dims is 0", "even number up to 7"), a=((7, 2, 3), "f32"))
    yield refused("too_many", "INVALID_ARGUMENT", ("n_dims is 10", "even number up to 8"), n_dims=10)
    yield refused("no_sections", "INVALID_ARGUMENT", ("mode is mrope", "sections are not given"), mode="mrope", positions=((12,), "i32"))
    yield refused("sections", "INVALID_ARGUMENT", ("mode is neox", "sections are given"), mode="neox", sections=(1, 1, 1, 1))
    yield refused("yarn", "INVALID_ARGUMENT", ("n_ctx_orig is 0", "above 0"), ext_factor=1)
    yield refused("yarn_base", "INVALID_ARGUMENT", ("freq_base not 1",), ext_factor=1, n_ctx_orig=8, freq_base=1)
    yield refused("base", "INVALID_ARGUMENT", ("freq_base is -1",), freq_base=-1)
    yield refused("scale", "INVALID_ARGUMENT", ("freq_scale is NaN",), freq_scale="nan")


def cases():
    yield from ropes()
    yield from refusals()
