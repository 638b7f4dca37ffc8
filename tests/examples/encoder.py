#!/usr/bin/env python3
"""Writes small models of the architecture bert, and an encoder's output for them.

    python3 encoder.py FOLDER

FOLDER receives encoder.gguf, incomplete files, and expected.json: `vectors`, each with `arguments` and the `vector`
that they give, and `refused`, each with `arguments` and a `word` that the message has. The first argument names a file
in FOLDER, the others are tokens.

Needs only Python 3.8's standard library, and nothing of tensorlib: vectors are computed in float64 by plain loops,
files are written as the format's description says.
"""

import json
import math
import random
import struct
import sys
from pathlib import Path

LAYERS, WIDTH, HEADS, INNER, VOCABULARY, POSITIONS, EPS = 2, 32, 4, 64, 50, 20, 1e-3
LINEARS = {"attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, WIDTH), "attn_v": (WIDTH, WIDTH), "attn_output": (WIDTH, WIDTH),
           "ffn_up": (WIDTH, INNER), "ffn_down": (INNER, WIDTH)}
METADATA = {
    "general.architecture": "bert",
    "bert.block_count": LAYERS,
    "bert.embedding_length": WIDTH,
    "bert.attention.head_count": HEADS,
    "bert.feed_forward_length": INNER,
    "bert.context_length": POSITIONS,
    "bert.attention.layer_norm_epsilon": EPS,
}


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def make_tensors():
    """Lists of rows by name; a vector is one row. Large enough weights that an operation left out is seen."""
    draw = random.Random(1)

    def rows(inputs, outputs, center=0.0, spread=None):
        spread = spread or 2 / math.sqrt(inputs)
        return [[f32(center + spread * (2 * draw.random() - 1)) for _ in range(inputs)] for _ in range(outputs)]

    tensors = {"token_embd.weight": rows(WIDTH, VOCABULARY), "position_embd.weight": rows(WIDTH, POSITIONS),
               "token_types.weight": rows(WIDTH, 2)}
    norms = ["token_embd_norm"]
    for layer in range(LAYERS):
        norms += [f"blk.{layer}.attn_output_norm", f"blk.{layer}.layer_output_norm"]
        for name, (inputs, outputs) in LINEARS.items():
            tensors[f"blk.{layer}.{name}.weight"] = rows(inputs, outputs)
            tensors[f"blk.{layer}.{name}.bias"] = rows(outputs, 1, spread=0.3)
    for name in norms:
        tensors[name + ".weight"] = rows(WIDTH, 1, center=1.0, spread=0.3)
        tensors[name + ".bias"] = rows(WIDTH, 1, spread=0.3)
    return tensors


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def write_gguf(path, metadata, tensors):
    """Version 3. A tensor's head has its extents, the contiguous one first, and where its data are, in multiples of 32 bytes."""
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        out += text(key)
        if isinstance(value, str):
            out += struct.pack("<I", 8) + text(value)
        else:
            out += struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value)
    data = b""
    for name, rows in tensors.items():
        extents = [len(rows[0])] + ([len(rows)] if len(rows) > 1 else [])
        out += text(name) + struct.pack(f"<I{len(extents)}Q", len(extents), *extents) + struct.pack("<IQ", 0, len(data))
        data += b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
        data += bytes(-len(data) % 32)
    path.write_bytes(out + bytes(-len(out) % 32) + data)


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def plus(a, b):
    return [x + y for x, y in zip(a, b)]


def gelu(x):
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def encode(tensors, tokens):
    """The mean of the tokens' vectors, of length 1."""

    def linear(name, x):
        return plus([dot(row, x) for row in tensors[name + ".weight"]], tensors[name + ".bias"][0])

    def norm(name, x):
        mean = math.fsum(x) / WIDTH
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / WIDTH + f32(EPS))
        return [(v - mean) / deviation * w + b for v, w, b in zip(x, tensors[name + ".weight"][0], tensors[name + ".bias"][0])]

    def attention(query, keys, values):
        logits = [dot(query, key) / math.sqrt(len(query)) for key in keys]
        powers = [math.exp(logit - max(logits)) for logit in logits]
        return [dot(powers, column) / math.fsum(powers) for column in zip(*values)]

    words, places, types = (tensors[name + ".weight"] for name in ("token_embd", "position_embd", "token_types"))
    xs = [norm("token_embd_norm", plus(plus(words[token], places[i]), types[0])) for i, token in enumerate(tokens)]
    for layer in range(LAYERS):
        blk = f"blk.{layer}."
        q, k, v = ([linear(blk + name, x) for x in xs] for name in ("attn_q", "attn_k", "attn_v"))
        parts = [slice(i, i + WIDTH // HEADS) for i in range(0, WIDTH, WIDTH // HEADS)]
        attended = [sum((attention(query[p], [key[p] for key in k], [value[p] for value in v]) for p in parts), []) for query in q]
        xs = [norm(blk + "attn_output_norm", plus(linear(blk + "attn_output", a), x)) for a, x in zip(attended, xs)]
        inner = [[gelu(value) for value in linear(blk + "ffn_up", x)] for x in xs]
        xs = [norm(blk + "layer_output_norm", plus(linear(blk + "ffn_down", i), x)) for i, x in zip(inner, xs)]
    mean = [math.fsum(column) / len(xs) for column in zip(*xs)]
    return [value / math.sqrt(dot(mean, mean)) for value in mean]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder, tensors = Path(arguments[0]), make_tensors()

    def without(table, *names):
        return {name: value for name, value in table.items() if name not in names}

    write_gguf(folder / "encoder.gguf", METADATA, tensors)
    write_gguf(folder / "llama.gguf", {**METADATA, "general.architecture": "llama"}, tensors)
    write_gguf(folder / "heads.gguf", {**METADATA, "bert.attention.head_count": 5}, tensors)
    write_gguf(folder / "no_heads.gguf", {**METADATA, "bert.attention.head_count": 0}, tensors)
    write_gguf(folder / "word.gguf", {**METADATA, "bert.attention.head_count": "four"}, tensors)
    write_gguf(folder / "no_key.gguf", without(METADATA, "bert.attention.layer_norm_epsilon"), tensors)
    for name in ("token_embd.weight", "position_embd.weight", "blk.1.ffn_down.bias"):
        write_gguf(folder / f"no_{name}.gguf", METADATA, without(tensors, name))
    narrow = {"blk.0.attn_k.weight": [row[1:] for row in tensors["blk.0.attn_k.weight"]]}
    write_gguf(folder / "narrow.gguf", METADATA, {**tensors, **narrow})
    (folder / "text.gguf").write_text("no model\n", encoding="utf-8")

    lists = [[7], [3, 49, 0, 17, 17, 21, 8], [(i * i * 7 + 1) % VOCABULARY for i in range(POSITIONS)]]
    vectors = [{"arguments": ["encoder.gguf", *map(str, tokens)], "vector": encode(tensors, tokens)} for tokens in lists]
    refused = [
        (["none.gguf", "1"], "none.gguf"), (["text.gguf", "1"], "text.gguf"), (["llama.gguf", "1"], "'llama'"),
        (["no_key.gguf", "1"], "bert.attention.layer_norm_epsilon"), (["word.gguf", "1"], "bert.attention.head_count"),
        (["no_heads.gguf", "1"], "bert.attention.head_count"), (["heads.gguf", "1"], "5 heads"),
        (["no_token_embd.weight.gguf", "1"], "token_embd.weight"), (["no_position_embd.weight.gguf", "1"], "position_embd.weight"),
        (["no_blk.1.ffn_down.bias.gguf", "1"], "'blk.1.ffn_down.bias'"), (["narrow.gguf", "1"], "blk.0.attn_k.weight"),
        (["encoder.gguf", "1", "50"], "token 50: 0 to 49 are valid"), (["encoder.gguf", "-1"], "token -1"),
        (["encoder.gguf", "4294967297"], "token 4294967297"), (["encoder.gguf", "99999999999999999999"], "token 9999999999"),
        (["encoder.gguf", "two"], "token two"), (["encoder.gguf", "1x"], "token 1x"), (["encoder.gguf", ""], "token "),
        (["encoder.gguf", *["1"] * (POSITIONS + 1)], str(POSITIONS + 1)), (["encoder.gguf"], "usage"), ([], "usage"),
    ]
    refused = [{"arguments": arguments, "word": word} for arguments, word in refused]
    (folder / "expected.json").write_text(json.dumps({"vectors": vectors, "refused": refused}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
