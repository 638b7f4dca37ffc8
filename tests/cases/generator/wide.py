"""Elementwise operations in I32, I64 and F64, in plain Python: integers wrap around, and quotients are rounded towards 0."""

import math

from .numbers import ROUND
from .tensors import Tensor

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "bool": 1}


def wrapped(value, dtype):
    if dtype in ("u8", "bool"):
        return value % (1 << BITS[dtype])
    half = 1 << (BITS[dtype] - 1)
    return (value + half) % (2 * half) - half


def quotient(a, b, dtype):
    if dtype == "f64":
        return a / b if b != 0 else math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b, dtype):
    if dtype != "f64":
        return pow(a, b, 1 << 64)
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
    except ValueError:  # a root of a number below 0, or 0 to a power below 0
        if a != 0:
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def larger(a, b):
    if a != a or b != b:
        return math.nan
    return a if a > b or (a == b and math.copysign(1, a) >= math.copysign(1, b)) else b


def rounded(a):
    return math.copysign(math.floor(abs(a) + 0.5), a) if math.isfinite(a) else a


VALUES = {
    "add": lambda a, b, t: a + b,
    "sub": lambda a, b, t: a - b,
    "mul": lambda a, b, t: a * b,
    "div": quotient,
    "pow": power,
    "maximum": lambda a, b, t: larger(a, b),
    "minimum": lambda a, b, t: -larger(-a, -b) if t == "f64" else min(a, b),
    "eq": lambda a, b, t: a == b,
    "ne": lambda a, b, t: a != b,
    "lt": lambda a, b, t: a < b,
    "le": lambda a, b, t: a <= b,
    "gt": lambda a, b, t: a > b,
    "ge": lambda a, b, t: a >= b,
    "abs": lambda a, t: abs(a),
    "neg": lambda a, t: -a,
    "sqr": lambda a, t: a * a,
    "sgn": lambda a, t: a if a != a or a == 0 else 1 if a > 0 else -1,
    "sqrt": lambda a, t: math.sqrt(a) if a >= 0 else a if a == 0 else math.nan,
    "floor": lambda a, t: float(math.floor(a)) if math.isfinite(a) else a,
    "ceil": lambda a, t: float(math.ceil(a)) if math.isfinite(a) else a,
    "trunc": lambda a, t: float(math.trunc(a)) if math.isfinite(a) else a,
    "round": lambda a, t: rounded(a),
}


def shifted(a, count, dtype, left):
    """A count that is none of the type's bits moves all of them out."""
    if not 0 <= count < BITS[dtype]:
        return 0 if left or a >= 0 else -1
    return a << count if left else a >> count


VALUES |= {
    "bitwise_and": lambda a, b, t: a & b,
    "bitwise_or": lambda a, b, t: a | b,
    "bitwise_xor": lambda a, b, t: a ^ b,
    "bitwise_not": lambda a, t: ~a,
    "shift_left": lambda a, b, t: shifted(a, b, t, True),
    "shift_right": lambda a, b, t: shifted(a, b, t, False),
    "logical_and": lambda a, b, t: a != 0 and b != 0,
    "logical_or": lambda a, b, t: a != 0 or b != 0,
    "logical_xor": lambda a, b, t: (a != 0) != (b != 0),
    "logical_not": lambda a, t: a == 0,
}
LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def elementwise(ident, op, *operands, **attrs):
    """The operands are broadcast: an extent of the result is the largest, or 0."""
    numbers = operands[1:] if op == "where" else operands
    dtype = numbers[0].dtype
    ne = [0 if 0 in extents else max(extents) for extents in zip(*(t.ne for t in operands))]

    def value(t, index):
        v = t.get(tuple(i % n for i, n in zip(index, t.ne)))[0]
        return int(v) if t.dtype in BITS else v

    def at(index):
        values = [value(t, index) for t in operands]
        if op == "where":
            result = values[1] if values[0] != 0 else values[2]
        elif op == "clamp":
            result = values[0] if values[0] != values[0] else min(max(values[0], attrs["min"]), attrs["max"])
        elif op == "fill":
            result = attrs["value"]
        elif op == "scale":
            result = values[0] * attrs["scale"] + attrs.get("bias", 0)
        else:
            result = VALUES["add" if op == "add1" else op](*values, dtype)
        if op in COMPARISONS + LOGICAL:
            return float(result), 0.0
        # Results are read as F32. 2 ulp of F64 may change which one is next.
        read = float(ROUND["f32"](float(wrapped(int(result), dtype) if dtype in BITS else result)))
        return read, abs(read) * 2**-23 if op == "pow" and dtype == "f64" and math.isfinite(read) else 0.0

    bools = all(t.dtype == "bool" for t in operands)
    tests = op in COMPARISONS or (op in LOGICAL and dtype not in ("f16", "bf16") and not bools)
    return Tensor(ident, "f32" if tests else dtype, ne, list(operands), at)
