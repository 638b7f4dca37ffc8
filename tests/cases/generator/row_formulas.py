"""Norms and soft_max of one row in float64, by the textbook formulas, with a bound of an engine's error.

u = 2^-24 is a rounding of F32. A sum of n elements is off by at most 37 u, or n u where that is less, of the sum of their magnitudes:
36 additions in F32 of 1024 elements, the rest in F64. The bounds of the following steps are first-order sums of roundings, increased by 1 %
for the higher orders.
"""

import math

U = 2.0**-24
MORE = 1.01
STEP = 2.0**-149
NAN, INF = math.nan, math.inf


def sum_bound(n):
    return min(n, 37) * U


def finite(row):
    return all(map(math.isfinite, row))


def norm(row, eps):
    n = len(row)
    if not finite(row):
        return [(NAN, 0.0)] * n
    mean = math.fsum(row) / n
    off = sum_bound(n) * math.fsum(map(abs, row)) / n + U * abs(mean)  # of the mean
    squares = math.fsum((x - mean) ** 2 for x in row) / n
    if squares + eps == 0:
        return [(NAN, 0.0)] * n
    # About another center the mean square is larger by the square of the distance.
    relative = ((sum_bound(n) + 3 * U) * squares + off * off) / (squares + eps) / 2 + 2 * U
    factor = 1 / math.sqrt(squares + eps)
    return [((x - mean) * factor, MORE * (off * factor + abs(x - mean) * factor * (relative + 2 * U)) + STEP) for x in row]


def scaled(row, factor):
    """Each element times a factor made of the sum of squares."""
    if any(map(math.isnan, row)):
        return [(NAN, 0.0)] * len(row)
    if not finite(row):  # the factor is 0
        return [(NAN if math.isinf(x) else 0.0 * x, 0.0) for x in row]
    of_squares = factor(math.fsum(x * x for x in row))
    relative = (sum_bound(len(row)) + U) / 2 + 3 * U
    return [(x * of_squares if x or math.isfinite(of_squares) else NAN, MORE * relative * abs(x) * of_squares + STEP if x else 0.0) for x in row]


def inverse(x):
    return 1 / x if x else INF


def rms_norm(row, eps):
    return scaled(row, lambda squares: inverse(math.sqrt(squares / len(row) + eps)))


def l2_norm(row, eps):
    return scaled(row, lambda squares: inverse(max(math.sqrt(squares), eps)))


def soft_max(row, offs=None, sink=None):
    """`offs`: by how much each logit may be off."""
    offs = offs or [0.0] * len(row)
    given = row + [sink] if sink is not None else row
    if not given or any(math.isnan(x) or x == INF for x in given) or max(given) == -INF:
        return [(NAN, 0.0)] * len(row)
    most = max(given)
    off_most = max(offs)

    def power(x, off):
        if x == -INF:
            return 0.0, 0.0
        # e^x within an ulp of a difference that is rounded.
        return math.exp(x - most), 2 * U + U * (most - x) + off + off_most

    powers = [power(x, off) for x, off in zip(row, offs)]
    everything = powers + ([power(sink, 0.0)] if sink is not None else [])
    total = math.fsum(p for p, _ in everything)
    relative = math.fsum(p * e for p, e in everything) / total + sum_bound(len(row)) + 3 * U
    return [(p / total, MORE * p / total * (e + relative) + (2 * STEP if p else 0.0)) for p, e in powers]


def log_soft_max(row):
    if not row or any(math.isnan(x) or x == INF for x in row) or max(row) == -INF:
        return [(NAN, 0.0)] * len(row)
    differences = [x - max(row) for x in row]
    powers = [math.exp(d) for d in differences]
    total = math.fsum(powers)
    log_sum = math.log(total)
    # The sum is off by its additions and by each power, within an ulp of a difference that is rounded; its logarithm by as much as the
    # sum relative to itself. Then a rounding each of the logarithm, the difference and the result, which has the magnitudes of both.
    relative = sum_bound(len(row)) + math.fsum(p * (2 * U - U * d) for p, d in zip(powers, differences) if p) / total
    return [(d - log_sum, MORE * (relative + 2 * U * (log_sum - d)) if math.isfinite(d) else 0.0) for d in differences]


def slope(head, heads, max_bias):
    if max_bias == 0:
        return 1.0
    n = 2 ** int(math.log2(heads))
    return 2 ** (-max_bias * (head + 1) / n) if head < n else 2 ** (-max_bias * (2 * (head - n) + 1) / (2 * n))


def logits(row, scale, mask, factor):
    """scale row + factor mask and by how much they may be off: a rounding of each product, the factor and the sum."""
    if mask is None:
        return [x * scale for x in row], [U * abs(x * scale) if math.isfinite(x) else 0.0 for x in row]
    sums = [x * scale + m * factor for x, m in zip(row, mask)]
    return sums, [U * (abs(x * scale) + 2 * abs(m * factor) + abs(s)) if math.isfinite(s) else 0.0 for x, m, s in zip(row, mask, sums)]


def weights(row, scale, mask, factor, sink):
    return soft_max(*logits(row, scale, mask, factor), sink)
