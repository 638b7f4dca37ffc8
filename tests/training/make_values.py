#!/usr/bin/env python3
"""Small networks by JAX, in float64: losses, gradients, and parameters after five steps of each optimiser.

    python3 -m venv VENV && VENV/bin/pip install 'jax[cpu]==0.10.2'
    VENV/bin/python tests/training/make_values.py        # writes tests/training/values.json

rust/tensorlib/tests/training_values.rs builds the same networks with tensorlib::nn and compares. Optimiser steps are
written out here from their papers. Shapes are tensorlib's reversed, so that values lie in the same order. Both sides
start from multiples of 1/256, which are exact in F32.
"""
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")

VERSION = "0.10.2"
STEPS = 5
RATE = 0.02
DECAY = 0.05


# Layers: of samples along the first dimension, with parameters by name.


def linear(p, name, x):
    y = x @ p[name + ".weight"].T
    return y + p[name + ".bias"] if name + ".bias" in p else y


def gelu(x):
    return x / 2 * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + jnp.exp(-x))


def relu(x):
    return jnp.where(x > 0, x, 0)


def layer_norm(p, name, x):
    centred = x - x.mean(-1, keepdims=True)
    normed = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return normed * p[name + ".weight"] + p[name + ".bias"]


def rms_norm(p, name, x):
    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * p[name + ".weight"]


def group_norm(p, name, x, groups):
    n, channels, h, w = x.shape
    grouped = x.reshape(n, groups, channels // groups * h * w)
    centred = grouped - grouped.mean(-1, keepdims=True)
    normed = (centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    return normed * p[name + ".weight"][:, None, None] + p[name + ".bias"][:, None, None]


def convolution(p, name, x):
    y = jax.lax.conv_general_dilated(x, p[name + ".weight"], (1, 1), ((1, 1), (1, 1)))
    return y + p[name + ".bias"][:, None, None]


def windows(x):
    """The 2 x 2 windows of images, without a last row or column of their own."""
    n, channels, h, w = x.shape
    x = x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, channels, h // 2, 2, w // 2, 2)
    return x.transpose(0, 1, 2, 4, 3, 5).reshape(n, channels, h // 2, w // 2, 4)


def rope(x):
    """Of [n, tokens, heads, size]: neighbouring elements are turned together, by angles of base 10,000."""
    size = x.shape[-1]
    angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-2 * jnp.arange(size // 2) / size)
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


def attention(p, name, x, heads, kv_heads, turned):
    """Causal, with heads of keys and values that several heads of queries share."""
    n, tokens, width = x.shape
    size = width // heads
    q = linear(p, name + ".query", x).reshape(n, tokens, heads, size)
    k = linear(p, name + ".key", x).reshape(n, tokens, kv_heads, size)
    v = linear(p, name + ".value", x).reshape(n, tokens, kv_heads, size)
    if turned:
        q, k = rope(q), rope(k)
    k, v = (jnp.repeat(t, heads // kv_heads, axis=2) for t in (k, v))
    scores = jnp.einsum("nqhd,nkhd->nhqk", q, k) / jnp.sqrt(size)
    scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("nhqk,nkhd->nqhd", jax.nn.softmax(scores, -1), v)
    return linear(p, name + ".output", mixed.reshape(n, tokens, width))


# Losses: means over the targets.


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits, -1), labels[..., None], -1).mean()


def mse(y, target):
    return ((y - target) ** 2).mean()


def huber(y, target, delta):
    r = jnp.abs(y - target)
    return jnp.where(r <= delta, r**2 / 2, delta * (r - delta / 2)).mean()


def binary_cross_entropy(logits, target):
    return (jnp.logaddexp(0, logits) - target * logits).mean()


def hinge(y, signs):
    return jnp.maximum(0, 1 - signs * y).mean()


# Networks: a loss as a function of parameters and inputs, and the shapes of both. A shape of integers ends with their
# upper bound.


def weights(name, inputs, outputs, bias=True):
    shapes = {name + ".weight": (outputs, inputs)}
    return {**shapes, name + ".bias": (outputs,)} if bias else shapes


def weights_of_attention(name, width, kv_width):
    parts = [("query", width), ("key", kv_width), ("value", kv_width), ("output", width)]
    return {f"{name}.{part}.weight": (outputs, width) for part, outputs in parts}


def norm_of(name, width):
    return {name + ".weight": (width,), name + ".bias": (width,)}


def mlp_classes(p, d):
    return cross_entropy(linear(p, "output", relu(linear(p, "hidden", d["x"]))), d["labels"])


def mlp_values(p, d):
    x = gelu(linear(p, "a", d["x"]))
    x = jnp.tanh(linear(p, "b", x))
    return mse(linear(p, "d", silu(linear(p, "c", x))), d["target"])


def convolutional(p, d):
    x = windows(relu(convolution(p, "conv", d["x"]))).max(-1)
    return cross_entropy(linear(p, "output", x.reshape(x.shape[0], -1)), d["labels"])


def attentive(p, d):
    x = d["x"] + attention(p, "attention", layer_norm(p, "norm", d["x"]), 4, 2, False)
    return mse(linear(p, "output", layer_norm(p, "last", x)), d["target"])


def language(p, d):
    x = p["embedding.weight"][d["tokens"]]
    x = x + attention(p, "attention", rms_norm(p, "norm1", x), 2, 1, True)
    y = rms_norm(p, "norm2", x)
    x = x + linear(p, "down", silu(linear(p, "gate", y)) * linear(p, "up", y))
    return cross_entropy(linear(p, "output", rms_norm(p, "norm3", x)), d["labels"])


def grouped(p, d):
    x = silu(convolution(p, "conv", group_norm(p, "norm", d["x"], 2)))
    y = linear(p, "output", windows(x).mean(-1).reshape(x.shape[0], -1))
    return binary_cross_entropy(y, d["part"]) + huber(y, d["target"], 0.5) + hinge(y, d["signs"])


NETWORKS = {
    "mlp_classes": (mlp_classes, {**weights("hidden", 7, 11), **weights("output", 11, 5)}, {"x": (9, 7), "labels": (9, "below 5")}),
    "mlp_values": (
        mlp_values,
        {**weights("a", 5, 7), **weights("b", 7, 6), **weights("c", 6, 5), **weights("d", 5, 3)},
        {"x": (8, 5), "target": (8, 3)},
    ),
    "convolutional": (
        convolutional,
        {"conv.weight": (3, 2, 3, 3), "conv.bias": (3,), **weights("output", 18, 4)},
        {"x": (3, 2, 7, 5), "labels": (3, "below 4")},
    ),
    "attentive": (
        attentive,
        {**norm_of("norm", 12), **weights_of_attention("attention", 12, 6), **norm_of("last", 12), **weights("output", 12, 3)},
        {"x": (2, 5, 12), "target": (2, 5, 3)},
    ),
    "language": (
        language,
        {
            "embedding.weight": (11, 8),
            "norm1.weight": (8,),
            **weights_of_attention("attention", 8, 4),
            "norm2.weight": (8,),
            **weights("gate", 8, 6, False),
            **weights("up", 8, 6, False),
            **weights("down", 6, 8, False),
            "norm3.weight": (8,),
            **weights("output", 8, 11, False),
        },
        {"tokens": (2, 7, "below 11"), "labels": (2, 7, "below 11")},
    ),
    "grouped": (
        grouped,
        {**norm_of("norm", 4), "conv.weight": (3, 4, 3, 3), "conv.bias": (3,), **weights("output", 18, 2)},
        {"x": (3, 4, 4, 6), "part": (3, 2, "from 0 to 1"), "target": (3, 2), "signs": (3, 2, "-1 or 1")},
    ),
}


# Optimisers: what a step makes of a parameter and its state. Each begins with zeros.


def sgd(w, g, state, t):
    return w * (1 - RATE * DECAY) - RATE * g, state


def momentum(w, g, state, t, ahead=False):
    velocity = 0.9 * state[0] + g
    return w * (1 - RATE * DECAY) - RATE * (g + 0.9 * velocity if ahead else velocity), (velocity, state[1])


def nesterov(w, g, state, t):
    return momentum(w, g, state, t, ahead=True)


def adam(w, g, state, t):
    """Kingma, Ba, 2015; the decay is the gradient of DECAY / 2 w^2."""
    return down(w, g + DECAY * w, state, t)


def adamw(w, g, state, t):
    """Loshchilov, Hutter, 2019."""
    return down(w * (1 - RATE * DECAY), g, state, t)


def down(w, g, state, t):
    m = 0.9 * state[0] + 0.1 * g
    v = 0.999 * state[1] + 0.001 * g**2
    return w - RATE * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), (m, v)


def lion(w, g, state, t):
    """Chen and others, 2023."""
    direction = jnp.sign(0.9 * state[0] + 0.1 * g)
    return w * (1 - RATE * DECAY) - RATE * direction, (0.99 * state[0] + 0.01 * g, state[1])


OPTIMISERS = [sgd, momentum, nesterov, adam, adamw, lion]


def draw(shape, random):
    """Multiples of 1/256, or the integers that the shape asks for."""
    kind = shape[-1]
    if kind == "from 0 to 1":
        return random.integers(0, 257, shape[:-1]) / 256
    if kind == "-1 or 1":
        return 2.0 * random.integers(0, 2, shape[:-1]) - 1
    if isinstance(kind, str):
        return random.integers(0, int(kind.split()[-1]), shape[:-1])
    return random.integers(-256, 257, shape) / 256


def first_parameter(name, shape, random):
    """Weights are smaller where there are more inputs, factors of norms around 1."""
    values = draw(shape, random)
    if len(shape) == 1:
        return 1 + values / 4 if name.endswith("weight") else values / 2
    inputs = np.prod(shape[1:])
    return np.round(256 * values * min(1, 2 / np.sqrt(inputs))) / 256


def trained(optimiser, gradients_of, parameters):
    """The parameters after the steps, and the least magnitude other than 0 of what decides a direction, by element."""
    state = {name: (jnp.zeros_like(w), jnp.zeros_like(w)) for name, w in parameters.items()}
    least = {name: np.full(w.shape, np.inf) for name, w in parameters.items()}
    for t in range(1, STEPS + 1):
        gradients, after = gradients_of(parameters), {}
        for name, w in parameters.items():
            g = gradients[name]
            if optimiser is lion:
                deciding = 0.9 * state[name][0] + 0.1 * g
            else:
                deciding = g + DECAY * w if optimiser is adam else g
            size = np.abs(np.asarray(deciding))
            least[name] = np.minimum(least[name], np.where(size == 0, np.inf, size))
            after[name], state[name] = optimiser(w, g, state[name], t)
        parameters = after
    return parameters, least


def numbers(array, digits=12):
    """12 digits are far more than F32 has."""
    return [float(f"{x:.{digits - 1}e}") for x in np.asarray(array, np.float64).ravel()]


def values_of(name, seed, gradients_of, gradient_of_x):
    loss_of, shapes, shapes_of_data = NETWORKS[name]
    random = np.random.default_rng(seed)
    parameters = {n: jnp.asarray(first_parameter(n, shape, random)) for n, shape in shapes.items()}
    data = {n: jnp.asarray(draw(shape, random)) for n, shape in shapes_of_data.items()}
    gradients = gradients_of(parameters, data)
    after, least = {}, {n: np.inf for n in parameters}
    for optimiser in OPTIMISERS:
        after[optimiser.__name__], of_this = trained(optimiser, lambda p: gradients_of(p, data), parameters)
        least = {n: np.minimum(least[n], of_this[n]) for n in parameters}
    result = {
        "loss": float(loss_of(parameters, data)),
        "parameters": {n: numbers(w) for n, w in parameters.items()},
        "data": {n: np.asarray(x).ravel().tolist() for n, x in data.items()},
        "gradients": {n: numbers(g) for n, g in gradients.items()},
        # 0 where it was 0 in all steps.
        "least": {n: numbers(np.where(np.isinf(x), 0, x), 2) for n, x in least.items()},
        "after": {o: {n: numbers(w) for n, w in p.items()} for o, p in after.items()},
    }
    if "x" in data:
        result["gradients"]["x"] = numbers(gradient_of_x(data["x"], parameters, data))
    return result, min(float(np.min(x)) for x in least.values())


def main():
    if jax.__version__ != VERSION:
        sys.exit(f"JAX {jax.__version__}: the values are of {VERSION}")
    networks = {}
    for name in NETWORKS:
        # Where an element of a gradient is next to 0, rounding decides the direction of Lion's and Adam's steps. Of some seeds the one
        # whose least element is largest.
        loss_of = NETWORKS[name][0]
        gradients_of = jax.jit(jax.grad(loss_of))
        gradient_of_x = jax.jit(jax.grad(lambda x, p, d, loss_of=loss_of: loss_of(p, {**d, "x": x})))
        tried = (values_of(name, seed, gradients_of, gradient_of_x) for seed in range(24))
        networks[name], least = max(tried, key=lambda result: result[1])
        print(f"{name}: loss {networks[name]['loss']:.6f}, the least element that decides a direction is {least:.1e}")
    values = {
        "made_by": f"tests/training/make_values.py, JAX {VERSION}, float64",
        "steps": STEPS,
        "rate": RATE,
        "decay": DECAY,
        "networks": networks,
    }
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(values, file, separators=(",", ":"))
        file.write("\n")
    print(f"{path}: {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
