"""Attention of one query in float64, by the textbook formula, with a bound of an engine's error: u = 2^-24 is a rounding of F32.

A product of n elements is off by at most (n + 3) u of the sum of the magnitudes: its additions, and the query's two factors. e^x is off by
its logit's error, an ulp, and a rounding of the difference to the largest. An engine adds up to 256 keys one after the other and continues
block by block. All blocks but the last have at least 144 keys, and each may cost an exponential and three roundings of the previous sum.
"""

import math

from .row_formulas import INF, MORE, NAN, STEP, U


def logits(query, keys, scale, cap, mask, slope):
    """What the soft_max is of, and by how much each may be off."""
    values, offs = [], []
    for j, key in enumerate(keys):
        terms = [a * b for a, b in zip(query, key)]
        if not all(map(math.isfinite, terms)):
            # Infinity and NaN are NaN in the end, whatever becomes of them here.
            values.append(NAN)
            offs.append(0.0)
            continue
        x, off = scale * math.fsum(terms), (len(terms) + 3) * U * abs(scale) * math.fsum(map(abs, terms))
        if cap:
            x = cap * math.tanh(x / cap)
            off += 5 * U * abs(x)
        if mask is not None:
            x += mask[j] * slope
            off += U * (2 * abs(mask[j] * slope) + abs(x)) if math.isfinite(x) else 0.0
        values.append(x)
        offs.append(off if math.isfinite(x) else 0.0)
    return values, offs


def mean(rows, m, x, offs, sink):
    """The m elements of the rows' mean, weighted by the soft_max of x, each with its bound."""
    given = x + [sink] if sink is not None else x
    if not given or any(math.isnan(value) or value == INF for value in given) or max(given) == -INF:
        return [(NAN, 0.0)] * m
    most, off_most = max(given), max(offs, default=0.0)
    blocks = len(x) // 144 + 1

    def power(value, off):
        if value == -INF:
            return 0.0, 0.0
        return math.exp(value - most), (2 + 6 * blocks) * U + 2 * U * (most - value) + off + off_most

    powers = [power(value, off) for value, off in zip(x, offs)]
    everything = powers + ([power(sink, 0.0)] if sink is not None else [])
    total = math.fsum(p for p, _ in everything)
    relative = math.fsum(p * e for p, e in everything) / total + (min(len(x), 256) + min(len(x), 36) + 6 * blocks + 4) * U
    found = []
    for d in range(m):
        terms = [(p * row[d], e) for (p, e), row in zip(powers, rows) if p or not math.isfinite(row[d])]
        value = math.fsum(term for term, _ in terms) / total
        found.append((value, MORE * math.fsum(abs(term) * (e + relative) for term, e in terms) / total + 4 * STEP))
    return found
