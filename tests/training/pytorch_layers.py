#!/usr/bin/env python3
"""Layers and losses by PyTorch, in float64: outputs, and gradients of inputs and parameters.

    python3 -m venv VENV && VENV/bin/pip install torch==2.15.0 numpy==2.4.6 safetensors==0.8.0 scikit-learn==1.9.1
    VENV/bin/python tests/training/pytorch_layers.py     # writes *.safetensors

rust/tensorlib/tests/pytorch_layers.rs makes the same layers with tensorlib::nn and compares. Each tensor is called
CASE/KIND/NAME. The kinds are in (inputs), par (parameters, under PyTorch's names), out (outputs), seed (what each
output is multiplied with before all are added up), grad (gradients of that sum), before and after (buffers before and
after the outputs are computed). Inputs, parameters, buffers and seeds are multiples of 1/64, which are exact in F32.
"""
import os
import zlib

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch
from sklearn import metrics

torch.set_default_dtype(torch.float64)

values = {}


class Case:
    """Draws inputs and records them; the case's name seeds the numbers, so cases do not depend on each other."""

    def __init__(self, name):
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.inputs = {}
        self.module = torch.nn.Module()

    def keep(self, kind, name, array):
        array = np.asarray(array)
        kept = array.astype(np.float32 if array.dtype == np.float64 else np.int32)
        values[f"{self.name}/{kind}/{name}"] = np.ascontiguousarray(kept.reshape(kept.shape or (1,)))

    def draw(self, *shape):
        return torch.tensor(self.random.integers(-64, 65, shape) / 64)

    def floats(self, name, *shape, by=lambda x: x):
        """An input with a gradient; `by` maps the numbers between -1 and 1."""
        x = by(self.draw(*shape)).clone().requires_grad_()
        self.inputs[name] = x
        self.keep("in", name, x.detach())
        return x

    def constants(self, name, array):
        """An input without a gradient."""
        self.keep("in", name, array)
        return torch.tensor(array)

    def layer(self, module):
        """Gives the module's parameters and buffers new values. Variances are positive."""
        self.module = module
        for name, buffer in module.named_buffers():
            if buffer.dtype == torch.float64:
                buffer.copy_(self.draw(*buffer.shape).abs() + 0.5)
            self.keep("before", name, buffer)
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(self.draw(*parameter.shape) / 2)
                self.keep("par", name, parameter.detach())
        return module

    def compare(self, **outputs):
        total = 0
        for name, output in outputs.items():
            seed = self.draw(*output.shape)
            total = total + (output * seed).sum()
            self.keep("out", name, output.detach())
            self.keep("seed", name, seed)
        total.backward()
        for name, buffer in self.module.named_buffers():
            self.keep("after", name, buffer)
        for name, x in list(self.inputs.items()) + list(self.module.named_parameters()):
            self.keep("grad", name, x.grad)


# Recurrent layers: 3 sequences of 4 steps, two layers, from a state and from zeros.

case = Case("lstm")
layer = case.layer(torch.nn.LSTM(5, 7, num_layers=2, batch_first=True))
start = case.floats("hidden", 2, 3, 7), case.floats("cell", 2, 3, 7)
y, (hidden, cell) = layer(case.floats("x", 3, 4, 5), start)
case.compare(y=y, hidden=hidden, cell=cell)

case = Case("lstm_from_zeros")
layer = case.layer(torch.nn.LSTM(3, 2, batch_first=True))
y, (hidden, cell) = layer(case.floats("x", 1, 5, 3))
case.compare(y=y, hidden=hidden, cell=cell)

case = Case("gru")
layer = case.layer(torch.nn.GRU(5, 7, num_layers=2, batch_first=True))
start = case.floats("hidden", 2, 3, 7)
y, hidden = layer(case.floats("x", 3, 4, 5), start)
case.compare(y=y, hidden=hidden)

case = Case("gru_from_zeros")
layer = case.layer(torch.nn.GRU(3, 2, num_layers=3, batch_first=True))
y, hidden = layer(case.floats("x", 1, 5, 3))
case.compare(y=y, hidden=hidden)

case = Case("lstm_bidirectional")
layer = case.layer(torch.nn.LSTM(5, 3, num_layers=2, batch_first=True, bidirectional=True))
start = case.floats("hidden", 4, 2, 3), case.floats("cell", 4, 2, 3)
y, (hidden, cell) = layer(case.floats("x", 2, 4, 5), start)
case.compare(y=y, hidden=hidden, cell=cell)

case = Case("gru_bidirectional")
layer = case.layer(torch.nn.GRU(5, 3, num_layers=2, batch_first=True, bidirectional=True))
y, hidden = layer(case.floats("x", 2, 4, 5))
case.compare(y=y, hidden=hidden)

# Attention and transformer layers, of 3 sequences of 5 tokens, the last of which are padding in two of them. Pre-norm
# layers have another activation.

LENGTHS = [5, 3, 4]


def causal(tokens):
    return torch.ones(tokens, tokens).triu(1).bool()


def padding(case, name, keys):
    lengths = case.constants(name, np.array(LENGTHS))
    return torch.arange(keys)[None, :] >= lengths[:, None]


case = Case("attention")
layer = case.layer(torch.nn.MultiheadAttention(6, 2, batch_first=True))
x = case.floats("x", 3, 5, 6)
case.compare(y=layer(x, x, x, attn_mask=causal(5), key_padding_mask=padding(case, "lengths", 5))[0])

case = Case("attention_to_memory")
layer = case.layer(torch.nn.MultiheadAttention(6, 3, batch_first=True))
memory = case.floats("memory", 3, 4, 6)
case.compare(y=layer(case.floats("x", 3, 5, 6), memory, memory)[0])

case = Case("attention_mask_of_heads")
layer = case.layer(torch.nn.MultiheadAttention(6, 2, batch_first=True))
x, mask = case.floats("x", 2, 3, 6), case.floats("mask", 2, 2, 3, 3)
case.compare(y=layer(x, x, x, attn_mask=mask.reshape(4, 3, 3))[0])

for name, first, activation in [("post_norm", False, "relu"), ("pre_norm", True, "gelu")]:
    options = {"dropout": 0.0, "activation": activation, "batch_first": True, "norm_first": first}
    case = Case(f"encoder_{name}")
    layer = case.layer(torch.nn.TransformerEncoderLayer(6, 2, 7, **options))
    mask = padding(case, "lengths", 5)
    case.compare(y=layer(case.floats("x", 3, 5, 6), src_key_padding_mask=mask))

    case = Case(f"decoder_{name}")
    layer = case.layer(torch.nn.TransformerDecoderLayer(6, 2, 7, **options))
    x, memory = case.floats("x", 3, 4, 6), case.floats("memory", 3, 5, 6)
    mask = padding(case, "lengths", 5)
    case.compare(y=layer(x, memory, tgt_mask=causal(4), memory_key_padding_mask=mask))

# Convolutional networks: odd sizes, strides that do not divide them, padding, dilation.

for name, module, shape in [
    ("batch_norm_rows", torch.nn.BatchNorm1d(5), (7, 5)),
    ("batch_norm_signals", torch.nn.BatchNorm1d(3), (4, 3, 5)),
    ("batch_norm_images", torch.nn.BatchNorm2d(3, momentum=0.3), (4, 3, 5, 2)),
    ("batch_norm_evaluated", torch.nn.BatchNorm2d(3).eval(), (4, 3, 5, 2)),
    ("conv_transpose_1d", torch.nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, dilation=2), (2, 3, 5)),
    ("conv_transpose_2d", torch.nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1), (2, 3, 5, 4)),
    ("max_pool_1d", torch.nn.MaxPool1d(3, stride=2, padding=1), (2, 3, 8)),
    ("max_pool_2d", torch.nn.MaxPool2d(3, stride=2, padding=1), (2, 3, 7, 6)),
    ("max_pool_2d_apart", torch.nn.MaxPool2d(2), (2, 3, 7, 5)),
    ("upsample_nearest", torch.nn.Upsample(scale_factor=3), (2, 2, 3, 4)),
    ("upsample_bilinear", torch.nn.Upsample(scale_factor=2, mode="bilinear"), (2, 2, 3, 4)),
]:
    case = Case(name)
    layer = case.layer(module)
    case.compare(y=layer(case.floats("x", *shape)))

# Losses, of rows whose number is odd; some errors lie within Huber's delta and some beyond, some triplets within the
# margin, and a probability is 0.

softmax, log_softmax = torch.nn.functional.softmax, torch.nn.functional.log_softmax
signs = [1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0]


def loss(name, compute):
    case = Case(name)
    case.compare(loss=compute(case).reshape(1))


def labels(case):
    return case.constants("labels", case.random.integers(0, 5, 7)).long()


loss("mse", lambda c: torch.nn.functional.mse_loss(c.floats("x", 7, 5), c.floats("t", 7, 5)))
loss("huber", lambda c: torch.nn.functional.huber_loss(c.floats("x", 7, 5), c.floats("t", 7, 5), delta=0.6))
loss(
    "bce",
    lambda c: torch.nn.functional.binary_cross_entropy_with_logits(
        c.floats("x", 7, 5, by=lambda x: 8 * x), c.floats("t", 7, 5, by=lambda t: (t + 1) / 2)
    ),
)
loss("cross_entropy", lambda c: torch.nn.functional.cross_entropy(c.floats("x", 7, 5, by=lambda x: 4 * x), labels(c)))
loss("nll", lambda c: torch.nn.functional.nll_loss(c.floats("x", 7, 5), labels(c)))


def kl_divergence(case):
    # Sixteenths that add up to 1; the first is 0.
    target = torch.tensor([[0, 1, 2, 5, 8], [3, 3, 3, 3, 4], [16, 0, 0, 0, 0]]) / 16.0
    case.keep("in", "t", target)
    logits = case.floats("x", 3, 5, by=lambda x: 4 * x)
    return torch.nn.functional.kl_div(log_softmax(logits, -1), target, reduction="batchmean")


loss("kl_divergence", kl_divergence)
loss(
    "cosine_embedding",
    lambda c: torch.nn.functional.cosine_embedding_loss(
        c.floats("a", 7, 5), c.floats("b", 7, 5), c.constants("signs", np.array(signs)), margin=0.1
    ),
)
loss(
    "triplet",
    lambda c: torch.nn.functional.triplet_margin_loss(
        c.floats("a", 7, 5), c.floats("p", 7, 5), c.floats("n", 7, 5), margin=0.3
    ),
)

# Metrics, with ties among the scores and a class that is never predicted; scikit-learn's are an independent reference.

case = Case("metrics")
outputs = case.draw(37, 5)
outputs[:, 4] = -2
case.keep("in", "outputs", outputs)
classes = case.constants("labels", case.random.integers(0, 5, 37))
guesses = outputs.argmax(-1)
case.keep("out", "predicted", guesses)
case.keep("out", "accuracy", (guesses == classes).double().mean())
for average in ["macro", "micro", "weighted"]:
    case.keep("out", average, metrics.f1_score(classes, guesses, average=average))
scores = case.constants("scores", case.random.integers(0, 8, 37) / 8)
binary = case.constants("binary", case.random.integers(0, 2, 37))
case.keep("out", "binary", metrics.f1_score(binary, (scores > 0.4).int()))
case.keep("out", "auc", metrics.roc_auc_score(binary, scores))

# Initialisers, of 150 inputs and 400 outputs: the deviation and the largest of many numbers.

case = Case("initialisers")
init = torch.nn.init
for name, fill in {
    "kaiming": lambda w: init.kaiming_normal_(w, nonlinearity="relu"),
    "kaiming_uniform": lambda w: init.kaiming_uniform_(w, nonlinearity="relu"),
    "xavier": init.xavier_uniform_,
    "xavier_normal": init.xavier_normal_,
    "xavier_tanh": lambda w: init.xavier_uniform_(w, init.calculate_gain("tanh")),
    "truncated": lambda w: init.trunc_normal_(w, std=0.5, a=-1, b=1),
    "orthogonal": lambda w: init.orthogonal_(w, 1.5),
}.items():
    torch.manual_seed(1)
    weight = fill(torch.empty(400, 150))
    case.keep("out", f"{name}_deviation", weight.std())
    case.keep("out", f"{name}_largest", weight.abs().max())

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_layers.safetensors")
safetensors.numpy.save_file(values, path, {"torch": torch.__version__.split("+")[0]})

# A state as PyTorch writes it, whose count of batches has no dimensions.

module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).float()
module(torch.tensor(np.random.default_rng(1).integers(-64, 65, (5, 2)) / 64).float())
safetensors.torch.save_file(module.state_dict(), path.replace("pytorch_layers", "pytorch_batch_norm"))

print(f"{len(values)} tensors, {os.path.getsize(path)} bytes")
