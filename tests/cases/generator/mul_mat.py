"""mul_mat: odd sizes around tile borders, skinny and deep products, broadcasts, views, special values."""

from .model import Case

SIZES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130)


def product(name, m, n, k, a_batch=(), b_batch=()):
    c = Case(f"mul_mat/{name}")
    return c.out(c.mul_mat(c.leaf(k, m, *a_batch), c.leaf(k, n, *b_batch)))


def sizes():
    # 17 is prime: with steps 5 and 7, and 11 and 3, each size meets m, n and k twice, combined with
    # other sizes each time, in 34 cases instead of 4,913.
    for n_step, k_step, shift in ((5, 7, 3), (11, 3, 8)):
        for i, m in enumerate(SIZES):
            n, k = SIZES[(n_step * i + shift) % 17], SIZES[(k_step * i + 2 * shift) % 17]
            yield product(f"odd_{m}x{n}x{k}", m, n, k)
    for n in range(1, 17):
        yield product(f"skinny_m33_n{n}_k65", 33, n, 65)
    for m, n, k in [(1, 1, 1), (1, 1, 33), (1, 17, 1), (17, 1, 1), (33, 31, 1), (1, 65, 7), (65, 1, 7)]:
        yield product(f"ones_{m}x{n}x{k}", m, n, k)
    for m, n, k in [(127, 1, 130), (130, 4, 127), (64, 8, 64), (257, 9, 100)]:
        yield product(f"tall_{m}x{n}x{k}", m, n, k)


def blocks():
    # Past the cache blocks: more than one block in k, in m, in n, and a remainder in each.
    for m, n, k in [(200, 3, 1000), (97, 65, 513), (257, 129, 300), (3000, 2, 5), (3, 3000, 5), (6, 4100, 3)]:
        yield product(f"blocks_{m}x{n}x{k}", m, n, k)
    for m, n, k in [(5, 1, 4096), (7, 3, 4096), (19, 8, 4099), (4, 2, 10000), (3, 17, 10000)]:
        yield product(f"deep_{m}x{n}x{k}", m, n, k)


def empty():
    for m, n, k in [(0, 4, 3), (5, 0, 3), (0, 0, 7), (3, 2, 0), (1, 1, 0), (33, 17, 0), (0, 3, 0), (0, 0, 0)]:
        yield product(f"empty_{m}x{n}x{k}", m, n, k)
    yield product("empty_batch_2", 3, 2, 4, (1,), (0,))
    yield product("empty_batch_3", 3, 2, 4, (2, 1), (2, 0))
    yield product("empty_batch_of_both", 3, 2, 4, (0,), (0,))
    yield product("empty_k_batched", 3, 2, 0, (2,), (4,))
    c = Case("mul_mat/empty_k_then_add")
    yield c.out(c.add(c.mul_mat(c.leaf(0, 5), c.leaf(0, 3)), c.leaf(5, 3)))


def batches():
    for label, a, b in [
        ("same_2", (3,), (3,)),
        ("same_3", (1, 4), (1, 4)),
        ("same_23", (2, 3), (2, 3)),
        ("one_to_5", (), (5,)),
        ("one_to_2x3", (), (2, 3)),
        ("2_to_6", (2,), (6,)),
        ("3_to_6_dim3", (1, 3), (1, 6)),
        ("2x2_to_4x6", (2, 2), (4, 6)),
        ("3_to_3x2", (3,), (3, 2)),
        ("2x3_to_2x6", (2, 3), (2, 6)),
    ]:
        yield product(f"batch_{label}", 9, 5, 17, a, b)
    yield product("batch_skinny", 33, 1, 40, (2,), (8, 2))
    yield product("batch_heads", 16, 7, 64, (2,), (8,))
    yield product("batch_tiny", 1, 1, 3, (2, 2), (6, 4))


def strided():
    c = Case("mul_mat/a_transposed")
    yield c.out(c.mul_mat(c.transpose(c.leaf(19, 33)), c.leaf(33, 7)))
    c = Case("mul_mat/b_transposed")
    yield c.out(c.mul_mat(c.leaf(33, 19), c.transpose(c.leaf(7, 33))))
    c = Case("mul_mat/both_transposed")
    yield c.out(c.mul_mat(c.transpose(c.leaf(18, 35)), c.transpose(c.leaf(9, 35))))
    c = Case("mul_mat/a_transposed_n1")
    yield c.out(c.mul_mat(c.transpose(c.leaf(65, 31)), c.leaf(31)))
    c = Case("mul_mat/b_transposed_n1")
    yield c.out(c.mul_mat(c.leaf(31, 65), c.transpose(c.leaf(1, 31))))
    c = Case("mul_mat/a_transposed_large")
    yield c.out(c.mul_mat(c.transpose(c.leaf(130, 300)), c.leaf(300, 33)))
    c = Case("mul_mat/gram")
    a = c.leaf(21, 14)
    yield c.out(c.mul_mat(a, a))
    c = Case("mul_mat/gram_of_transposed")
    a = c.transpose(c.leaf(14, 21))
    yield c.out(c.mul_mat(a, a))
    for axes in [(0, 2, 1, 3), (2, 1, 0, 3), (1, 2, 0, 3), (3, 1, 2, 0), (2, 3, 1, 0)]:
        label = "".join(map(str, axes))
        # A leaf of another order whose permuted shape is {11, 6, 3, 2}.
        want = (11, 6, 3, 2)
        shape = tuple(want[axis] for axis in axes)
        c = Case(f"mul_mat/a_permuted_{label}")
        yield c.out(c.mul_mat(c.permute(c.leaf(*shape), *axes), c.leaf(11, 5, 3, 2)))
        c = Case(f"mul_mat/b_permuted_{label}")
        yield c.out(c.mul_mat(c.leaf(11, 9, 3), c.permute(c.leaf(*shape), *axes)))
    c = Case("mul_mat/a_rows_with_gaps")
    yield c.out(c.mul_mat(c.view(c.leaf(40, 9), (33, 9), (160,)), c.leaf(33, 6)))
    c = Case("mul_mat/b_rows_with_gaps")
    yield c.out(c.mul_mat(c.leaf(33, 9), c.view(c.leaf(36, 6), (33, 6), (144,), 12)))
    c = Case("mul_mat/every_second_row")
    a, b = c.leaf(17, 20), c.leaf(17, 10)
    yield c.out(c.mul_mat(c.view(a, (17, 10), (136,), 68), c.view(b, (17, 5), (136,))))
    c = Case("mul_mat/offset_window")
    a = c.leaf(24, 20)
    yield c.out(c.mul_mat(c.view(a, (15, 12), (96,), 4 * (24 * 5 + 3)), c.leaf(15, 8)))
    c = Case("mul_mat/window_of_transposed")
    # {20, 24}, strides 96 and 4 bytes; a view ignores them and describes the memory itself
    a = c.transpose(c.leaf(24, 20))
    yield c.out(c.mul_mat(c.view(a, (20, 10), (96,), 8), c.leaf(20, 3)))
    c = Case("mul_mat/slices_with_gaps")
    a = c.view(c.leaf(16, 6, 8), (16, 6, 4), (64, 768), 384)
    yield c.out(c.mul_mat(a, c.leaf(16, 3, 4)))
    c = Case("mul_mat/stride_0_rows")
    yield c.out(c.mul_mat(c.view(c.leaf(12), (12, 5), (0,)), c.leaf(12, 4)))
    c = Case("mul_mat/reshaped")
    yield c.out(c.mul_mat(c.reshape(c.leaf(6, 10), 15, 4), c.reshape(c.leaf(45), 15, 3)))


def chained():
    c = Case("mul_mat/of_sums")
    a, b = c.add(c.leaf(33, 8), c.leaf(33)), c.add(c.leaf(33, 5), c.leaf(1))
    yield c.out(c.mul_mat(a, b))
    c = Case("mul_mat/plus_bias")
    yield c.out(c.add(c.mul_mat(c.leaf(31, 17), c.leaf(31, 6)), c.leaf(17)))
    c = Case("mul_mat/two_layers")
    hidden = c.add(c.mul_mat(c.leaf(20, 33), c.leaf(20, 4)), c.leaf(33))
    yield c.out(c.add(c.mul_mat(c.leaf(33, 10), hidden), c.leaf(10)))
    c = Case("mul_mat/residual")
    x = c.leaf(24, 5)
    yield c.out(c.add(x, c.mul_mat(c.leaf(24, 24), x)))
    c = Case("mul_mat/result_as_a")
    yield c.out(c.mul_mat(c.mul_mat(c.leaf(9, 17), c.leaf(9, 6)), c.leaf(17, 4)))
    c = Case("mul_mat/result_transposed_as_b")
    yield c.out(c.mul_mat(c.leaf(6, 7), c.transpose(c.mul_mat(c.leaf(9, 5), c.leaf(9, 6)))))
    c = Case("mul_mat/attention_shape")
    q, k, v = (c.permute(c.leaf(16, 4, 6), 0, 2, 1, 3) for _ in range(3))
    scores = c.mul_mat(k, q)
    yield c.out(c.mul_mat(c.cont(c.transpose(v)), scores))
    # Squared distances as in the digits example: |x|^2 + |y|^2 - 2 x.y by two broadcasts.
    c = Case("mul_mat/distances")
    dots = c.mul_mat(c.leaf(64, 20), c.leaf(64, 7))
    yield c.out(c.add(c.add(dots, c.leaf(20)), c.leaf(1, 7)))
    # A cpy into a view of a leaf that the product then reads, all in one graph.
    c = Case("mul_mat/reads_what_cpy_wrote")
    cache = c.leaf(16, 12)
    wrote = c.cpy(c.leaf(16, 4), c.view(cache, (16, 4), (64,), 5 * 64))
    total = c.add(c.mul_mat(wrote, c.leaf(16, 3)), c.leaf(1))
    yield c.out(c.add(c.mul_mat(c.view(cache, (16, 4), (64,), 7 * 64), c.leaf(16, 3)), total))


def special():
    inf, nan = float("inf"), float("nan")

    def pair(label, m, n, k, a_put, b_put):
        c = Case(f"mul_mat/{label}")
        return c.out(c.mul_mat(c.leaf(k, m, put=a_put), c.leaf(k, n, put=b_put)))

    # Only the row or the column of the result that reads the special value is affected.
    yield pair("nan_in_a", 9, 7, 13, {4 * 13 + 12: nan}, {})
    yield pair("nan_in_b", 9, 7, 13, {}, {2 * 13: nan})
    yield pair("nan_in_both", 18, 17, 16, {0: nan}, {17 * 16 - 1: nan})
    yield pair("inf_in_a", 17, 5, 19, {16 * 19 + 18: inf}, {})
    yield pair("inf_in_b", 17, 5, 19, {}, {4 * 19: -inf})
    # In the last column of an odd k: zeros that fill up a vector or a panel must not meet it (inf * 0).
    yield pair("inf_at_ragged_end", 33, 9, 17, {32 * 17 + 16: inf, 16: -inf}, {8 * 17 + 16: inf})
    yield pair("inf_times_0", 4, 3, 5, {7: inf}, {2: 0.0, 5 + 2: 1.0, 10 + 2: -1.0})
    yield pair("inf_minus_inf", 3, 3, 6, {1: inf, 2: inf}, {1: 1.0, 2: -1.0, 7: 1.0, 8: 1.0})
    yield pair("nan_n1", 40, 1, 70, {39 * 70 + 69: nan, 3 * 70: inf}, {})
    yield pair("nan_k1", 5, 6, 1, {2: nan}, {5: inf, 0: 0.0})
    # 2^100 * 2^26 stays below 2^127 even summed with the rest; the other rows stay small.
    yield pair("large", 6, 5, 7, {0: 2.0**100, 8: -(2.0**60)}, {0: 2.0**20, 7: -(2.0**26), 8: 2.0**30})
    # Products of 2^-140 and 2^-10 are half the smallest denormal; 2^-130 * 1 is one.
    tiny = {i: 2.0 ** -(130 + i) for i in range(11)}
    yield pair("denormals_a", 3, 4, 11, tiny, {i: 1.0 for i in range(11)})
    yield pair("denormals_product", 1, 1, 3, {0: 2.0**-70, 1: 0.0, 2: 0.0}, {0: 2.0**-70})
    c = Case("mul_mat/nan_beside_a_window")
    # NaN all around the window that is read: gaps of a view are not its elements.
    put = {r * 20 + i: nan for r in range(6) for i in (0, 18, 19)}
    yield c.out(c.mul_mat(c.view(c.leaf(20, 6, put=put), (17, 6), (80,), 4), c.leaf(17, 3)))


def refusals():
    def pair(label, a, b, *words):
        c = Case(f"mul_mat/error_{label}")
        return c.fails("SHAPE_MISMATCH", ("mul_mat",) + words, "mul_mat", c.leaf(*a), c.leaf(*b))

    yield pair("unequal_k", (2, 4), (7,), "[2, 4]", "[7]")
    yield pair("transposed", (3, 5), (5, 2), "[3, 5]", "[5, 2]")
    yield pair("k_0_and_1", (0, 4), (1, 4), "[0, 4]", "[1, 4]")
    yield pair("batch_2", (3, 2, 2), (3, 2, 3), "[3, 2, 2]", "[3, 2, 3]")
    yield pair("batch_3", (3, 2, 1, 4), (3, 2, 1, 6), "[3, 2, 1, 4]", "[3, 2, 1, 6]")
    yield pair("batch_a_larger", (3, 2, 4), (3, 2), "[3, 2, 4]", "[3, 2]")
    yield pair("batch_a_empty", (3, 2, 0), (3, 2, 2), "[3, 2, 0]", "[3, 2, 2]")
    for dtype in ("i32", "i64"):
        c = Case(f"mul_mat/error_a_{dtype}")
        yield c.fails("TYPE_MISMATCH", ("mul_mat", dtype), "mul_mat", c.leaf(4, 3, dtype=dtype), c.leaf(4))
        c = Case(f"mul_mat/error_b_{dtype}")
        yield c.fails("TYPE_MISMATCH", ("mul_mat", dtype), "mul_mat", c.leaf(4, 3), c.leaf(4, dtype=dtype))


def cases():
    for part in (sizes, blocks, empty, batches, strided, chained, special, refusals):
        yield from part()
