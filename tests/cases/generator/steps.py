"""Optimiser steps in plain Python, by their formulas, each operation rounded to F32: everything is exact.

Python's floats have more than twice F32's digits, so an operation rounded to F64 and then to F32 is rounded once.
"""

import math

from .numbers import ROUND
from .tensors import view_of

F32 = ROUND["f32"]


def plus(a, b):
    return F32(a + b)


def times(a, b):
    return F32(a * b)


def over(a, b):
    return F32(a / b) if b else F32(math.nan if not a or math.isnan(a) else math.copysign(math.inf, a))


def mixed(part, x, y):
    return plus(times(part, x), times(plus(1.0, -part), y))


def decayed(a, rate, decay):
    return times(a, plus(1.0, -times(rate, decay)))


def sgd(settings, nesterov, a, g):
    rate, decay = settings
    return [plus(decayed(a, rate, decay), -times(rate, g))]


def momentum(settings, nesterov, a, g, velocity):
    rate, decay, part = settings
    velocity = plus(times(part, velocity), g)
    step = plus(g, times(part, velocity)) if nesterov else velocity
    return [plus(decayed(a, rate, decay), -times(rate, step)), velocity]


def adamw(settings, nesterov, a, g, m, v):
    rate, beta1, beta2, eps, decay, unbias1, unbias2 = settings
    m, v = mixed(beta1, m, g), mixed(beta2, v, times(g, g))
    square = times(v, unbias2)
    size = plus(math.nan if math.isnan(square) or square < 0 else F32(math.sqrt(square)), eps)
    return [plus(decayed(a, rate, decay), -over(times(rate, times(m, unbias1)), size)), m, v]


def lion(settings, nesterov, a, g, m):
    rate, beta1, beta2, decay = settings
    direction = mixed(beta1, m, g)
    sign = math.copysign(1.0, direction) if abs(direction) > 0 else direction
    return [plus(decayed(a, rate, decay), -times(rate, sign)), mixed(beta2, m, g)]


STEPS = {"opt_step_sgd": sgd, "opt_step_momentum": momentum, "opt_step_adamw": adamw, "opt_step_lion": lion}


def step(ident, op, a, grad, state, settings, nesterov=False):
    """Writes into a and its state."""

    def write_all():
        given = [settings.get((i, 0, 0, 0))[0] for i in range(settings.ne[0])]
        for i in a.indices():
            found = STEPS[op](given, nesterov, *[t.get(i)[0] for t in (a, grad, *state)])
            for t, value in zip((a, *state), found):
                t.root().storage.set(t.place(i), (value, 0.0))

    t = view_of(ident, a, a.ne, a.nb, a.offset)
    t.src, t.op = [a, grad, *state, settings], write_all
    return t
