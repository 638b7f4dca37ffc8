"""Rotary positions in float64, by the formula of the operation's documentation, with a bound of an engine's error.

u = 2^-24 is a rounding of F32. An angle brought to [-pi, pi] is rounded by 2 u at most. Sine and cosine are within 2 units in the last place,
which are 2 u below 1. Then the factor, two products and their sum are rounded: 8 u of the pair's elements in all.
"""

import math

U = 2.0**-24

DEFAULTS = {
    "mode": "normal",
    "n_dims": 0,
    "offset": 0,
    "sections": None,
    "n_ctx_orig": 0,
    "freq_base": 10000,
    "freq_scale": 1,
    "ext_factor": 0,
    "attn_factor": 1,
    "beta_fast": 32,
    "beta_slow": 1,
    "inverse": 0,
}


class Rotation:
    def __init__(self, n0, factors, given):
        attrs = {**DEFAULTS, **given}
        vision = attrs["mode"] == "vision"
        turned = (2 if vision else 1) * attrs["n_dims"] or n0 - attrs["offset"]
        self.pairs = turned // 2
        self.offset, self.turned = attrs["offset"], turned
        self.n = self.pairs if vision else turned
        self.neighbours = attrs["mode"] == "normal"
        self.sections = attrs["sections"]
        self.factors = factors or [1.0] * self.pairs
        self.attrs = attrs
        self.size = attrs["attn_factor"] * (1 + 0.1 * math.log(1 / attrs["freq_scale"]) if attrs["ext_factor"] else 1)

    def rate(self, k):
        a = self.attrs
        own = a["freq_base"] ** (-2 * self.exponent(k) / self.n) / self.factors[k]
        if not a["ext_factor"]:
            return own * a["freq_scale"]

        def pair_with(turns):
            return self.n * math.log(a["n_ctx_orig"] / (2 * math.pi * turns)) / (2 * math.log(a["freq_base"]))

        low, high = max(0, math.floor(pair_with(a["beta_fast"]))), min(self.n - 1, math.ceil(pair_with(a["beta_slow"])))
        part = min(1.0, max(0.0, (k - low) / max(high - low, 0.001)))
        mix = a["ext_factor"] * (1 - part)
        return own * (a["freq_scale"] * (1 - mix) + mix)

    def section(self, k):
        if not self.sections:
            return 0
        at = k % sum(self.sections)
        if self.attrs["mode"] == "imrope":
            return at % 3 if at // 3 < self.sections[at % 3] else 3
        return next(i for i in range(4) if at < sum(self.sections[: i + 1]))

    def exponent(self, k):
        """In vision, it begins anew in each section."""
        if self.attrs["mode"] != "vision":
            return k
        at = k % sum(self.sections)
        return at - sum(self.sections[: self.section(k)])

    def places(self, i):
        """The pair of an element, and where its two are."""
        i -= self.offset
        k = i // 2 if self.neighbours else i % self.pairs
        first, second = (2 * k, 2 * k + 1) if self.neighbours else (k, k + self.pairs)
        return k, (first + self.offset, second + self.offset)

    def turns(self, i):
        return 0 <= i - self.offset < self.turned

    def element(self, i, row, position_of):
        """Element i of a row; position_of(section) is the token's."""
        if not self.turns(i):
            return row(i), 0.0
        k, (first, second) = self.places(i)
        x, y = row(first), row(second)
        angle = position_of(self.section(k)) * self.rate(k) * (-1 if self.attrs["inverse"] else 1)
        cosine, sine = math.cos(angle) * self.size, math.sin(angle) * self.size
        value = x * cosine - y * sine if i == first else x * sine + y * cosine
        return value, 8 * U * abs(self.size) * (abs(x) + abs(y))
