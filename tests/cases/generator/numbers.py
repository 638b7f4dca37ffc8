"""Rounding to the storage types, and the notation of numbers in the case files.

A value is a Python float (float64). `ROUND[type](v)` gives the value that the type would hold, rounded to nearest,
ties to even. F32 is rounded by way of float64 results of one addition. That is harmless, because 53 significand bits
are more than 2 * 24 + 2, so rounding twice equals rounding once.
"""

import math
import struct

# Half the distance from 1 to the next number: the relative error of one rounding is at most this.
UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "f64": 2.0**-53}
# Half the smallest denormal: the absolute error of one rounding near zero is at most this.
TINY = {"f32": 2.0**-150, "f16": 2.0**-25, "bf16": 2.0**-134, "f64": 0.0}
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "bool")
SIZE = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "bool": 1}


def _by_struct(code):
    def rounded(v):
        if not math.isfinite(v):
            return v
        try:
            return struct.unpack("<" + code, struct.pack("<" + code, v))[0]
        except OverflowError:  # struct refuses what rounds past the largest number
            return math.copysign(math.inf, v)

    return rounded


def _bf16(v):
    v = _by_struct("f")(v)
    if not math.isfinite(v):
        return v
    bits = struct.unpack("<I", struct.pack("<f", v))[0]
    # 0x7FFF below a tie, plus the kept part's lowest bit: a tie goes up only where that makes it even.
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


ROUND = {"f32": _by_struct("f"), "f16": _by_struct("e"), "bf16": _bf16, "f64": float}
ROUND.update({name: float for name in INTEGERS})
ROUND["bool"] = lambda v: float(v != 0)


def element(seed, i, dtype):
    """Element i of a leaf: README.md's generator, in unsigned 32-bit arithmetic."""
    x = i ^ (seed * 0x9E3779B1 & 0xFFFFFFFF)
    x = ((x ^ x >> 16) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ x >> 15) * 0x846CA68B) & 0xFFFFFFFF
    x ^= x >> 16
    if dtype == "bool":
        return float((x >> 8) % 2)
    if dtype in INTEGERS:
        return float((x >> 8) % 200 - (0 if dtype == "u8" else 100))
    return ROUND[dtype](((x >> 8) % 4096 - 2048) / 512)


def text(v, exact=True):
    """A number as the grammar has it; 10 digits (5e-10 relative, far below F32's 6e-8) where not exact."""
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    short = "%.10g" % v
    if exact and float(short) != v:
        return repr(v)
    return short
