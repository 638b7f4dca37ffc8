"""Steps of optimisers: parameter and state after one step and after two, sizes 1 and 0, types and views of gradients, special values, refusals."""

from .model import Case

INF, NAN = float("inf"), float("nan")
# The settings, and how many tensors of state; those of squares are not below 0.
OPS = {
    "opt_step_sgd": ((0.1, 0.01), 0),
    "opt_step_momentum": ((0.1, 0.01, 0.9), 1),
    "opt_step_adamw": ((0.01, 0.9, 0.999, 1e-8, 0.01, 3.69, 333.7), 2),
    "opt_step_lion": ((0.01, 0.9, 0.99, 0.1), 1),
}


class Steps:
    """Cases of one operation."""

    def __init__(self, op, **attrs):
        self.op, self.attrs = op, attrs
        self.settings, self.n_state = OPS[op]
        self.prefix = f"optimisers/{op}" + ("_nesterov" if attrs else "")

    def case(self, label):
        return Case(f"{self.prefix}_{label}")

    def state(self, c, *ne):
        made = [c.leaf(*ne) for _ in range(self.n_state)]
        if self.op == "opt_step_adamw":
            squares = made[1]
            for i in range(squares.n_elements()):
                value = abs(squares.storage.get(i)[0])
                squares.storage.set(i, (value, 0.0))
                c.lines.append(f"set {squares.ident} {i} {value!r}")
        return made

    def given(self, c):
        return c.numbers(*self.settings, dtype="f32")

    def step(self, c, a, grad, state, settings):
        return c.step(self.op, a, grad, state, settings, **self.attrs)

    def made(self, label, ne, dtype="f32", put=None, put_grad=None):
        c = self.case(label)
        a, grad = c.leaf(*ne, put=put), c.leaf(*ne, dtype=dtype, put=put_grad)
        return c.out(self.step(c, a, grad, self.state(c, *ne), self.given(c)))

    def cases(self):
        for label, ne in [("one", (1,)), ("odd", (7, 5, 3)), ("four", (3, 2, 2, 3)), ("empty", (0, 3)), ("no_rows", (4, 0)), ("piece", (1024,)),
                          ("pieces", (33, 70))]:
            yield self.made(label, ne)
        for dtype in ("f16", "bf16"):
            yield self.made(dtype, (9, 4), dtype=dtype)
        special = {0: NAN, 1: INF, 2: -INF, 3: 0, 4: -0.0, 5: 2.0**-149}
        yield self.made("special", (12, 2), put={i + 8: v for i, v in special.items()}, put_grad=special)
        for place in range(self.n_state):
            c = self.case(f"state_{place}")
            a, grad, state = c.leaf(6, 3), c.leaf(6, 3), self.state(c, 6, 3)
            # A node after the step sees what the step wrote.
            yield c.out(c.add(self.step(c, a, grad, state, self.given(c)), state[place]))
        c = self.case("twice")
        a, state = c.leaf(5, 3), self.state(c, 5, 3)
        once = self.step(c, a, c.leaf(5, 3), state, self.given(c))
        yield c.out(self.step(c, once, c.leaf(5, 3), state, self.given(c)))
        c = self.case("views")
        # Rows of a larger tensor, a transposed gradient.
        a = c.view(c.leaf(4, 6), (4, 3), (16,), 32)
        yield c.out(self.step(c, a, c.transpose(c.leaf(3, 4)), self.state(c, 4, 3), self.given(c)))
        yield from self.refusals()

    def refusals(self):
        names = {"opt_step_momentum": ("velocity",), "opt_step_adamw": ("m", "v"), "opt_step_lion": ("m",)}.get(self.op, ())

        def refused(label, status, words, a=(4, 3), grad=(4, 3), state=(4, 3), settings=None, types=("f32",) * 4):
            c = self.case(f"error_{label}")
            operands = [c.leaf(*a, dtype=types[0]), c.leaf(*grad, dtype=types[1])]
            operands += [c.leaf(*state, dtype=types[2]) for _ in range(self.n_state)]
            operands.append(c.leaf(settings or len(self.settings), dtype=types[3]))
            return c.fails(status, (self.op, *words), self.op, *operands, **{k: int(v) for k, v in self.attrs.items()})

        yield refused("grad", "SHAPE_MISMATCH", ("grad must have a's shape",), grad=(3, 4))
        yield refused("grad_type", "TYPE_MISMATCH", ("f32, f16 or bf16",), types=("f32", "i32", "f32", "f32"))
        yield refused("a_type", "TYPE_MISMATCH", ("a must be f32",), types=("f16", "f32", "f32", "f32"))
        yield refused("settings", "SHAPE_MISMATCH", (f"settings must have the shape [{len(self.settings)}]",), settings=len(self.settings) + 1)
        yield refused("settings_type", "TYPE_MISMATCH", ("settings must be f32",), types=("f32", "f32", "f32", "f64"))
        if names:
            yield refused("state", "SHAPE_MISMATCH", (f"{names[0]} must have a's shape",), state=(4, 4))
            yield refused("state_type", "TYPE_MISMATCH", (f"{names[0]} must be f32",), types=("f32", "f32", "bf16", "f32"))
        c = self.case("error_strided")
        a = c.transpose(c.leaf(3, 4))
        yield c.fails("INVALID_ARGUMENT", (self.op, "a is", "not contiguous"), self.op, a, c.leaf(4, 3), *self.state(c, 4, 3), self.given(c),
                      **{k: int(v) for k, v in self.attrs.items()})
        c = self.case("error_overlap")
        a = c.leaf(4, 3)
        state = self.state(c, 4, 3)
        operands = [a, a, *state] if not state else [a, c.leaf(4, 3), a, *state[1:]]
        yield c.fails("INVALID_ARGUMENT", (self.op, "overlap"), self.op, *operands, self.given(c), **{k: int(v) for k, v in self.attrs.items()})


def cases():
    for op in OPS:
        yield from Steps(op).cases()
    yield from Steps("opt_step_momentum", nesterov=True).cases()
