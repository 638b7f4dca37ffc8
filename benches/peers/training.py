#!/usr/bin/env python3
"""Training steps compared with JAX, in turn.

    python3 -m venv VENV && VENV/bin/pip install 'jax[cpu]==0.10.2'
    VENV/bin/python benches/peers/training.py [--threads 1] [--only digits] [--rounds 12]

Builds and runs `cargo bench --bench training -- --serve` and a process of JAX, and asks them in turn for some steps of each network, round
by round. Both compute in float32, write the batch, read the loss, and step by AdamW. On one thread both are bound to processor 0. Prints
the least and the median milliseconds a step, the ratio of the medians (above 1: tensorlib is faster), and the GFLOP/s of a product of
1024 x 1024 matrices before and after. If `cargo xtask bench` or `cargo xtask test` has built tl_bench_micro, it also prints what
multiply-adds in registers reach on one thread.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Networks, batches, and steps that are asked for at a time.
ALL = [("digits", 32, 200), ("digits", 256, 50), ("conv", 32, 20), ("conv", 256, 4), ("transformer", 8, 2), ("gru", 32, 6)]


def serve():
    """JAX's side of the protocol in benches/training.rs."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    width, heads, tokens, characters = 256, 4, 128, 65
    units, sequence = 128, 64

    def uniform(random, shape, inputs):
        return random.uniform(-1, 1, shape).astype(np.float32) / np.sqrt(np.float32(inputs))

    def linear(random, inputs, outputs, bias=True):
        w = {"w": uniform(random, (inputs, outputs), inputs)}
        return {**w, "b": uniform(random, (outputs,), inputs)} if bias else w

    def conv(random, inputs, outputs):
        return {"w": uniform(random, (3, 3, inputs, outputs), 9 * inputs), "b": uniform(random, (outputs,), 9 * inputs)}

    def parameters(name):
        random = np.random.default_rng(1)
        if name == "digits":
            return {"hidden": linear(random, 64, 256), "output": linear(random, 256, 10)}
        if name == "conv":
            return {
                "conv1": conv(random, 1, 32),
                "conv2": conv(random, 32, 64),
                "hidden": linear(random, 1024, 128),
                "output": linear(random, 128, 10),
            }
        if name == "gru":
            gates = {part: linear(random, units, 3 * units) for part in ["input", "hidden"]}
            return {**gates, "output": linear(random, units, 10)}
        ones = np.ones(width, np.float32)
        block = lambda: {
            "norm1": ones,
            **{part: linear(random, width, width, False) for part in ["q", "k", "v", "o"]},
            "norm2": ones,
            "gate": linear(random, width, 4 * width, False),
            "up": linear(random, width, 4 * width, False),
            "down": linear(random, 4 * width, width, False),
        }
        embedding = (0.02 * random.standard_normal((characters, width))).astype(np.float32)
        blocks = [block() for _ in range(4)]
        return {"embedding": embedding, "blocks": blocks, "norm": ones, "output": linear(random, width, characters, False)}

    def apply(p, x):
        y = x @ p["w"]
        return y + p["b"] if "b" in p else y

    def digits(p, x):
        return apply(p["output"], jax.nn.relu(apply(p["hidden"], x)))

    def convolve(p, x):
        # Channels last is what XLA is fastest with.
        return jax.lax.conv_general_dilated(x, p["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["b"]

    def convolutional(p, x):
        x = jax.nn.relu(convolve(p["conv2"], jax.nn.relu(convolve(p["conv1"], x))))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return apply(p["output"], jax.nn.relu(apply(p["hidden"], x.reshape(x.shape[0], -1))))

    def norm(w, x):
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w

    size = width // heads
    angles = np.arange(tokens)[:, None] * 10000.0 ** (-2 * np.arange(size // 2) / size)
    cos, sin = (f(angles).astype(np.float32)[None, :, None, :] for f in (np.cos, np.sin))

    def rope(x):
        even, odd = x[..., 0::2], x[..., 1::2]
        return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)

    def block(p, x):
        h = norm(p["norm1"], x)
        q, k, v = (apply(p[part], h).reshape(*h.shape[:2], heads, size) for part in ["q", "k", "v"])
        mixed = jax.nn.dot_product_attention(rope(q), rope(k), v, is_causal=True)
        x = x + apply(p["o"], mixed.reshape(x.shape))
        h = norm(p["norm2"], x)
        return x + apply(p["down"], jax.nn.silu(apply(p["gate"], h)) * apply(p["up"], h))

    def transformer(p, x):
        x = p["embedding"][x]
        for of_block in p["blocks"]:
            x = block(of_block, x)
        return apply(p["output"], norm(p["norm"], x))

    def gru(p, x):
        # One product projects the inputs of all steps, and the scan goes over the first dimension.
        projected = apply(p["input"], x).transpose(1, 0, 2)

        def cell(h, of_step):
            recurrent = apply(p["hidden"], h)
            reset, update = (
                jax.nn.sigmoid(of_step[:, i * units : (i + 1) * units] + recurrent[:, i * units : (i + 1) * units])
                for i in range(2)
            )
            new = jnp.tanh(of_step[:, 2 * units :] + reset * recurrent[:, 2 * units :])
            h = new + update * (h - new)
            return h, h

        states = jax.lax.scan(cell, jnp.zeros((x.shape[0], units), np.float32), projected)[1]
        return apply(p["output"], states.transpose(1, 0, 2))

    models = {"digits": digits, "conv": convolutional, "transformer": transformer, "gru": gru}

    def loss_of(model, p, x, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(model(p, x)), labels[..., None], -1).mean()

    def step_of(model):
        def step(state, x, labels):
            p, m, v, t = state
            loss, g = jax.value_and_grad(lambda p: loss_of(model, p, x, labels))(p)
            t = t + 1
            m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
            v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
            unbias1, unbias2 = 1 / (1 - 0.9**t), 1 / (1 - 0.999**t)
            down = lambda p, m, v: p * (1 - 1e-3 * 0.1) - 1e-3 * m * unbias1 / (jnp.sqrt(v * unbias2) + 1e-8)
            return (jax.tree.map(down, p, m, v), m, v, t), loss

        return jax.jit(step, donate_argnums=0)

    def begin(name, batch):
        random = np.random.default_rng(2)
        shape, of_labels, classes = {
            "digits": ((batch, 64), (batch,), 10),
            "conv": ((batch, 8, 8, 1), (batch,), 10),
            "transformer": ((batch, tokens), (batch, tokens), characters),
            "gru": ((batch, sequence, units), (batch, sequence), 10),
        }[name]
        of_input = lambda: random.random(shape, np.float32)
        of_tokens = lambda: random.integers(0, characters, shape, np.int32)
        inputs = of_tokens if name == "transformer" else of_input
        batches = [(inputs(), random.integers(0, classes, of_labels, np.int32)) for _ in range(8)]
        p = jax.tree.map(jnp.asarray, parameters(name))
        zeros = lambda: jax.tree.map(jnp.zeros_like, p)
        return {"state": (p, zeros(), zeros(), jnp.float32(0)), "step": step_of(models[name]), "batches": batches, "count": 0}

    def timed(training):
        x, labels = training["batches"][training["count"] % 8]
        training["count"] += 1
        start = time.perf_counter()
        training["state"], loss = training["step"](training["state"], x, labels)
        float(loss)
        jax.block_until_ready(training["state"])
        return (time.perf_counter() - start) * 1e3

    opened = {}
    for line in sys.stdin:
        name, batch, _, steps = line.split()
        if (name, batch) not in opened:
            opened[name, batch] = begin(name, int(batch))
            for _ in range(3):
                timed(opened[name, batch])
        print(*(timed(opened[name, batch]) for _ in range(int(steps))), flush=True)


class Side:
    """A process that answers lines by numbers."""

    def __init__(self, command, threads, **environment):
        bound = ["taskset", "-c", "0"] if threads == 1 else []
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(bound + command, cwd=ROOT, env={**os.environ, **environment}, **pipes)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args}: ended at {words}")
        return [float(x) for x in answer.split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def print_peak():
    """The machine's limit at this moment, by the program that measures kernels."""
    programs = [os.path.join(ROOT, "target/xtask/build", build, "benches/tl_bench_micro") for build in ("bench", "tests")]
    for program in filter(os.path.exists, programs):
        command = ["taskset", "-c", "0", program, "--only", "kernels", "--seconds", "0.3"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print("best and median:", next(line for line in printed.splitlines() if "multiply-add" in line))
        return


def compare(threads, only, rounds):
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" if threads == 1 else ""
    bench = ["cargo", "bench", "--quiet", "--package", "tensorlib-benches", "--bench", "training"]
    subprocess.run(bench + ["--no-run"], cwd=ROOT, check=True)
    ours = Side(bench + ["--", "--serve"], threads)
    theirs = Side([sys.executable, os.path.abspath(__file__), "--serve"], threads, XLA_FLAGS=flags, JAX_PLATFORMS="cpu")
    rate = lambda: ours.ask("product", threads)[0]
    print_peak()
    before = rate()
    print(f"{threads} threads; load of the machine {os.getloadavg()[0]:.1f}; ms a step, least and median")
    print(f"{'network':<12} {'batch':>5} {'tensorlib':>17} {'JAX':>17} {'ratio':>6}")
    for name, batch, steps in ALL:
        if only and name not in only:
            continue
        times = [], []
        for _ in range(rounds):
            for side, found in zip((ours, theirs), times):
                found += side.ask(name, batch, threads, steps)
        (a, b), (c, d) = ((min(t), statistics.median(t)) for t in times)
        print(f"{name:<12} {batch:>5} {a:8.3f} {b:8.3f} {c:8.3f} {d:8.3f} {d / b:6.2f}", flush=True)
    print(f"a product of 1024 x 1024 matrices: {before:.0f} GFLOP/s before, {rate():.0f} after; load {os.getloadavg()[0]:.1f}")
    print_peak()
    print(flush=True)
    ours.close()
    theirs.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--only", action="append")
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    if options.serve:
        return serve()
    for threads in options.threads or [1, 2]:
        compare(threads, options.only, options.rounds)


if __name__ == "__main__":
    main()
