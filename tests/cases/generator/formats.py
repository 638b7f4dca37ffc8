"""The quantised types, element by element, as their document describes them.

`FORMATS[name]` has the elements and bytes of a block and `value(block, e)`, an element in float64, rounded once to F32.
All products are exact, so that is the engine's value to the bit. The grids are data, read from the engine's table of
codes, which tests/cpp/formats_test.cpp checks against their checksums.
"""

import re
import struct
from pathlib import Path

from .numbers import ROUND

IQ4 = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
FP4 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
MAGNITUDES, TERNARY = (8, 25, 43), (-1, 0, 1)
FOURS, ODD = (4, 12, 20, 28, 36, 44, 52, 62), (1, 3, 5, 7, 9, 11, 13, 15)


def _grid_codes():
    text = (Path(__file__).resolve().parents[3] / "cpp/dtype/grid_codes.inc").read_text(encoding="utf-8")
    parts = re.split(r"#define TL_(\w+)_CODES", text)[1:]
    return {n.lower(): [int(x, 16) for x in re.findall(r"0x[0-9a-f]+", t)] for n, t in zip(parts[::2], parts[1::2])}


CODES = _grid_codes()


def f16(b, at):
    return struct.unpack_from("<e", b, at)[0]


def u16(b, at):
    return struct.unpack_from("<H", b, at)[0]


def u32(b, at):
    return struct.unpack_from("<I", b, at)[0]


def i8(b, at):
    return struct.unpack_from("<b", b, at)[0]


def bits(v, k, n):
    return v >> k & (1 << n) - 1


def nibble(b, at, e, n=32):
    """Code e of n that are two a byte: the first half in the low nibbles."""
    return bits(b[at + e % (n // 2)], e // (n // 2) * 4, 4)


def sign(mask, j):
    return -1 if mask >> j & 1 else 1


def even(code):
    """Seven bits of signs and their parity."""
    return code | bin(code).count("1") % 2 << 7


def grid(name, index, j, width, levels):
    return levels[bits(CODES[name][index], width * j, width)]


def pair_of_k(b, at, s):
    """Q4_K's and Q5_K's scale and minimum of sub-block s."""
    k = b[at : at + 12]
    if s < 4:
        return k[s] & 63, k[s + 4] & 63
    return (k[s + 4] & 15) + 16 * (k[s - 4] >> 6), (k[s + 4] >> 4) + 16 * (k[s] >> 6)


def two_bits(b, at, e):
    """Q2_K's arrangement of 2-bit codes."""
    return bits(b[at + 32 * (e // 128) + e % 32], 2 * (e % 128 // 32), 2)


def q3_K(b, e):
    s = e // 16
    low = bits(b[96 + s % 8], s // 8 * 4, 4)
    scale = low + 16 * bits(b[104 + s % 4], 2 * (s // 4), 2) - 32
    return f16(b, 108) * scale * (two_bits(b, 32, e) - (0 if bits(b[e % 32], e // 32, 1) else 4))


def q5_K(b, e):
    scale, least = pair_of_k(b, 4, e // 32)
    q = nibble(b, 48 + e // 64 * 32, e % 64, 64) + 16 * bits(b[16 + e % 32], e // 32, 1)
    return f16(b, 0) * scale * q - f16(b, 2) * least


def q4_K(b, e):
    scale, least = pair_of_k(b, 4, e // 32)
    return f16(b, 0) * scale * nibble(b, 16 + e // 64 * 32, e % 64, 64) - f16(b, 2) * least


def q6_K(b, e):
    n, r, l = e // 128, e % 128 // 32, e % 32
    low = bits(b[64 * n + 32 * (r % 2) + l], r // 2 * 4, 4)
    return f16(b, 208) * i8(b, 192 + e // 16) * (low + 16 * bits(b[128 + 32 * n + l], 2 * r, 2) - 32)


def iq2_xxs(b, e):
    at, l = 2 + 8 * (e // 32), e % 32 // 8
    w = u32(b, at + 4)
    value = grid("iq2xxs", b[at + l], e % 8, 2, MAGNITUDES) * sign(even(bits(w, 7 * l, 7)), e % 8)
    return f16(b, 0) * (0.5 + bits(w, 28, 4)) * 0.25 * value


def half_scale(b, at, e):
    """IQ2_XS's and IQ2_S's scale of 16 elements."""
    return (0.5 + bits(b[at + e // 32], e % 32 // 16 * 4, 4)) * 0.25


def iq2_xs(b, e):
    q = u16(b, 2 + e // 8 * 2)
    return f16(b, 0) * half_scale(b, 66, e) * grid("iq2xs", q & 511, e % 8, 2, MAGNITUDES) * sign(even(q >> 9), e % 8)


def iq2_s(b, e):
    g = e // 8
    index = b[2 + g] + 256 * bits(b[66 + g // 4], 2 * (g % 4), 2)
    return f16(b, 0) * half_scale(b, 74, e) * grid("iq2s", index, e % 8, 2, MAGNITUDES) * sign(b[34 + g], e % 8)


def iq3_xxs(b, e):
    w = u32(b, 66 + 4 * (e // 32))
    value = grid("iq3xxs", b[2 + e // 4], e % 4, 3, FOURS) * sign(even(bits(w, 7 * (e % 32 // 8), 7)), e % 8)
    return f16(b, 0) * (0.5 + bits(w, 28, 4)) * 0.5 * value


def iq3_s(b, e):
    t = e // 4
    index = b[2 + t] + 256 * bits(b[66 + t // 8], t % 8, 1)
    scale = 1 + 2 * bits(b[106 + e // 64], e // 32 % 2 * 4, 4)
    return f16(b, 0) * scale * grid("iq3s", index, e % 4, 3, ODD) * sign(b[74 + e // 8], e % 8)


def iq1_s(b, e):
    h, l = u16(b, 34 + 2 * (e // 32)), e % 32 // 8
    index = b[2 + e // 8] + 256 * bits(h, 3 * l, 3)
    delta = -0.125 if h >> 15 else 0.125
    return f16(b, 0) * (2 * bits(h, 12, 3) + 1) * (grid("iq1s", index, e % 8, 2, TERNARY) + delta)


def iq1_m(b, e):
    sc = [u16(b, 48 + 2 * i) for i in range(4)]
    d = struct.unpack("<e", struct.pack("<H", sum(sc[i] >> 12 << 4 * i for i in range(4))))[0]
    u, g = e // 16, e // 8
    h = bits(b[32 + g // 2], 4 * (g % 2), 4)
    index = b[g] + 256 * (h & 7)
    delta = -0.125 if h & 8 else 0.125
    return d * (2 * bits(sc[u // 4], 3 * (u % 4), 3) + 1) * (grid("iq1s", index, e % 8, 2, TERNARY) + delta)


def iq4_xs(b, e):
    s = e // 32
    scale = bits(b[4 + s // 2], s % 2 * 4, 4) + 16 * bits(u16(b, 2), 2 * s, 2) - 32
    return f16(b, 0) * scale * IQ4[nibble(b, 8 + 16 * s, e % 32)]


def tq1_0(b, e):
    if e < 160:
        byte, n = b[e % 32], e // 32
    elif e < 240:
        byte, n = b[32 + (e - 160) % 16], (e - 160) // 16
    else:
        byte, n = b[48 + (e - 240) % 4], (e - 240) // 4
    return ((byte * 3**n % 256 * 3 >> 8) - 1) * f16(b, 52)


def ue4m3(x):
    exponent, fraction = bits(x, 3, 4), x & 7
    if x & 127 == 127:
        return 0.0
    return fraction * 2.0**-10 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 11)


# name: elements, bytes, where the F16 fields are, value(block, e)
FORMATS = {
    "q4_0": (32, 18, (0,), lambda b, e: (nibble(b, 2, e) - 8) * f16(b, 0)),
    "q4_1": (32, 20, (0, 2), lambda b, e: nibble(b, 4, e) * f16(b, 0) + f16(b, 2)),
    "q5_0": (32, 22, (0,), lambda b, e: (nibble(b, 6, e) + 16 * bits(u32(b, 2), e, 1) - 16) * f16(b, 0)),
    "q5_1": (32, 24, (0, 2), lambda b, e: (nibble(b, 8, e) + 16 * bits(u32(b, 4), e, 1)) * f16(b, 0) + f16(b, 2)),
    "q8_0": (32, 34, (0,), lambda b, e: i8(b, 2 + e) * f16(b, 0)),
    "q2_K": (256, 84, (80, 82), lambda b, e: f16(b, 80) * bits(b[e // 16], 0, 4) * two_bits(b, 16, e)
             - f16(b, 82) * bits(b[e // 16], 4, 4)),
    "q3_K": (256, 110, (108,), q3_K),
    "q4_K": (256, 144, (0, 2), q4_K),
    "q5_K": (256, 176, (0, 2), q5_K),
    "q6_K": (256, 210, (208,), q6_K),
    "iq1_s": (256, 50, (0,), iq1_s),
    "iq1_m": (256, 56, (), iq1_m),
    "iq2_xxs": (256, 66, (0,), iq2_xxs),
    "iq2_xs": (256, 74, (0,), iq2_xs),
    "iq2_s": (256, 82, (0,), iq2_s),
    "iq3_xxs": (256, 98, (0,), iq3_xxs),
    "iq3_s": (256, 110, (0,), iq3_s),
    "iq4_nl": (32, 18, (0,), lambda b, e: f16(b, 0) * IQ4[nibble(b, 2, e)]),
    "iq4_xs": (256, 136, (0,), iq4_xs),
    "tq1_0": (256, 54, (52,), tq1_0),
    "tq2_0": (256, 66, (64,), lambda b, e: (two_bits(b, 0, e) - 1) * f16(b, 64)),
    "mxfp4": (32, 17, (), lambda b, e: FP4[nibble(b, 1, e)] * 2.0 ** (b[0] - 128)),
    "nvfp4": (64, 36, (), lambda b, e: FP4[nibble(b, 4 + e // 16 * 8, e % 16, 16)] * ue4m3(b[e // 16])),
    "q1_0": (128, 18, (0,), lambda b, e: f16(b, 0) if bits(b[2 + e // 8], e % 8, 1) else -f16(b, 0)),
    "q2_0": (64, 18, (0,), lambda b, e: (bits(b[2 + e // 4], 2 * (e % 4), 2) - 1) * f16(b, 0)),
}  # fmt: skip


def random_blocks(name, seed, n_blocks):
    """Blocks of pseudo-random bytes (a linear congruential generator's) with finite scales, +-0.1 or so."""
    _, size, fields, _ = FORMATS[name]
    data, x = bytearray(), seed
    for _ in range(n_blocks * size):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        data.append(x >> 24)
    for k in range(n_blocks):
        at = k * size
        d = 0x2E66 if k % 2 == 0 else 0xB0CD
        for i, field in enumerate(fields):
            struct.pack_into("<H", data, at + field, d if i == 0 else 0x2A3D)
        if name == "iq1_m":
            for i in range(4):
                data[at + 49 + 2 * i] = data[at + 49 + 2 * i] & 15 | (d >> 4 * i & 15) << 4
        elif name == "mxfp4":
            data[at] = 123 + k % 5
        elif name == "nvfp4":
            for i in range(4):
                data[at + i] &= 0x3F
    return bytes(data)


def element(name, data, flat):
    """Element `flat` of a contiguous tensor of these bytes."""
    elements, size, _, value = FORMATS[name]
    block = flat // elements * size
    return ROUND["f32"](value(data[block : block + size], flat % elements))
