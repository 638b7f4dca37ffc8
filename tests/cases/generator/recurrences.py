"""Recurrent layers in float64, token after token, by the formulas of the operations' documentation, with a bound of F32's errors.

u = 2^-24 is a rounding of F32. A token's new state is a sum of 2 to 3 products with the state's error before it, and the result is a sum over a
row. e^x is off by 1e-6 of itself. All that is added up as magnitudes.
"""

import math

from .tensors import U, Tensor, gamma

EXP = 1e-6


class Value:
    """A number and its error."""

    __slots__ = ("v", "e")

    def __init__(self, v, e=0.0):
        self.v, self.e = v, e

    def __mul__(self, other):
        v = self.v * other.v
        return Value(v, abs(self.v) * other.e + abs(other.v) * self.e + self.e * other.e + U * abs(v))

    def __add__(self, other):
        v = self.v + other.v
        return Value(v, self.e + other.e + U * (abs(self.v) + abs(other.v)))

    def minus(self, other):
        return self + Value(-other.v, other.e)


def exp(x):
    v = math.exp(x.v)
    return Value(v, v * (EXP + math.expm1(x.e)))


def total(products):
    """A sum in any order, of products that may be fused."""
    v = e = size = 0.0
    count = 0
    for x, y in products:
        v += x.v * y.v
        e += abs(x.v) * y.e + abs(y.v) * x.e
        size += abs(x.v * y.v)
        count += 1
    return Value(v, e + gamma(max(1, count)) * size)


class Layer:
    """Both results, computed when the first element is asked for."""

    def __init__(self, compute, states_ne):
        self.compute, self.states_ne, self.made = compute, states_ne, None

    def results(self):
        if self.made is None:
            self.made = self.compute()
        return self.made

    def tensor(self, ident, ne, src):
        first = Tensor(ident, "f32", ne, src, lambda index: self.element(0, index))
        first.further = lambda name, number: Tensor(name, "f32", self.states_ne, [first], lambda index: self.element(number, index))
        return first

    def element(self, number, index):
        value = self.results()[number].get(index, Value(0.0))
        return value.v, value.e


def number(t, *index):
    return Value(*t.get((*index, 0, 0, 0)[:4]))


def gated_delta_net(ident, q, k, v, g, beta, state, n_states=1):
    size, heads, tokens, sequences = v.ne

    def compute():
        outputs, states = {}, {}
        for n in range(sequences):
            other = n * q.ne[3] // sequences
            for h in range(heads):
                shared = h % q.ne[1]
                rows = [[number(state, i, j, h, n) for i in range(size)] for j in range(size)]
                if tokens == 0:
                    states.update({(i, j, h, n): rows[j][i] for j in range(size) for i in range(size)})
                for t in range(tokens):
                    keys = [number(k, i, shared, t, other) for i in range(size)]
                    queries = [number(q, i, shared, t, other) for i in range(size)]
                    decay = [exp(number(g, i if g.ne[0] > 1 else 0, h, t, n)) for i in range(size)]
                    for j in range(size):
                        old = [d * x for d, x in zip(decay, rows[j])]
                        difference = number(v, j, h, t, n).minus(total(zip(old, keys)))
                        add = number(beta, 0, h, t, n) * difference
                        rows[j] = [x + add * key for x, key in zip(old, keys)]
                        outputs[j, h, t, n] = total(zip(rows[j], queries)) * Value(1 / math.sqrt(size), 2 * U)
                    slot = tokens - 1 - t
                    if slot < n_states:
                        states.update({(i, j, h, n + sequences * slot): rows[j][i] for j in range(size) for i in range(size)})
        return outputs, states

    return Layer(compute, (size, size, heads, sequences * n_states)).tensor(ident, v.ne, [q, k, v, g, beta, state])


def ssm_scan(ident, state, x, dt, a, b, c, ids, n_states=1):
    size, (dim, heads, tokens, sequences) = state.ne[0], x.ne

    def compute():
        outputs, states = {}, {}
        for n in range(sequences):
            first = int(ids.get((n, 0, 0, 0))[0])
            for h in range(heads):
                group = h // (heads // b.ne[1])
                rows = [[number(state, i, j, h, first) for i in range(size)] for j in range(dim)]
                if tokens == 0:
                    states.update({(i, j, h, n): rows[j][i] for j in range(dim) for i in range(size)})
                for t in range(tokens):
                    step = number(dt, h, t, n)
                    value = math.log1p(math.exp(step.v))
                    d = Value(value, step.e + EXP * value)
                    decay = [exp(d * number(a, i if a.ne[0] > 1 else 0, h)) for i in range(size)]
                    for j in range(dim):
                        add = d * number(x, j, h, t, n)
                        rows[j] = [e * old + add * number(b, i, group, t, n) for i, (e, old) in enumerate(zip(decay, rows[j]))]
                        outputs[j, h, t, n] = total((new, number(c, i, group, t, n)) for i, new in enumerate(rows[j]))
                    slot = tokens - 1 - t
                    if slot < n_states:
                        states.update({(i, j, h, n + sequences * slot): rows[j][i] for j in range(dim) for i in range(size)})
        return outputs, states

    return Layer(compute, (size, dim, heads, sequences * n_states)).tensor(ident, x.ne, [state, x, dt, a, b, c, ids])


def time_mixing(ident, operands, state, token):
    """token(rows, vectors) returns a head's outputs and its new state: rows of the state as it lies."""
    size, heads, tokens = operands[0].ne[:3]
    sequences = state.ne[1]

    def compute():
        outputs, states = {}, {}
        for n in range(sequences):
            for h in range(heads):
                base = h * size * size
                rows = [[number(state, base + r * size + i, n) for i in range(size)] for r in range(size)]
                for t in range(n * tokens // sequences, (n + 1) * tokens // sequences):
                    vectors = [[number(o, i, h, t if o.ne[2] == tokens and o.ne[2] > 1 else 0) for i in range(size)] for o in operands]
                    made, rows = token(rows, vectors)
                    outputs.update({(h * size + j, t, 0, 0): value for j, value in enumerate(made)})
                states.update({(base + r * size + i, n, 0, 0): rows[r][i] for r in range(size) for i in range(size)})
        return outputs, states

    return Layer(compute, state.ne).tensor(ident, (size * heads, tokens), [*operands, state])


def rwkv_wkv6(ident, k, v, r, tf, td, state):
    def token(rows, vectors):
        key, value, query, bonus, decay = vectors
        size = range(len(key))
        added = [[key[i] * value[j] for j in size] for i in size]
        outputs = [total((query[i], rows[i][j] + bonus[i] * added[i][j]) for i in size) for j in size]
        # The engine multiplies query, bonus and key first.
        outputs = [Value(o.v, 2 * o.e) for o in outputs]
        return outputs, [[decay[i] * rows[i][j] + added[i][j] for j in size] for i in size]

    return time_mixing(ident, [k, v, r, tf, td], state, token)


def rwkv_wkv7(ident, r, w, k, v, a, b, state):
    def token(rows, vectors):
        query, decay, key, value, read, write = vectors
        size = range(len(key))
        new = []
        for j in size:
            product = total(zip(rows[j], read))
            new.append([decay[i] * rows[j][i] + value[j] * key[i] + product * write[i] for i in size])
        return [total(zip(row, query)) for row in new], new

    return time_mixing(ident, [r, w, k, v, a, b], state, token)


def gated_linear_attn(ident, k, v, q, g, state, scale):
    def token(rows, vectors):
        key, value, query, gate = vectors
        size = range(len(key))
        new = [[gate[i] * rows[i][j] + key[i] * value[j] for j in size] for i in size]
        factor = Value(scale, abs(scale) * U)
        outputs = [factor * total((query[i], new[i][j]) for i in size) for j in size]
        # The engine multiplies scale, query, gate and key first.
        return [Value(o.v, 2 * o.e) for o in outputs], new

    return time_mixing(ident, [k, v, q, g], state, token)


BY_NAME = {f.__name__: f for f in (gated_delta_net, ssm_scan, rwkv_wkv6, rwkv_wkv7, gated_linear_attn)}
