"""Gradients by jax, for operators.rs. The command that made values.json:

    pip install jax==0.10.2 && python3 values.py > values.json
"""

import json

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
LEN = 12


def affine(h, a, b):
    return a * h + b


def share(a, b):
    return jnp.where(a == b, 1.0, jnp.exp(-jnp.abs(a - b)))


def lse(c, x):
    largest = jnp.maximum(c[0], x[0])
    return jnp.array([largest, c[1] * jnp.exp(c[0] - largest) + jnp.exp(x[0] - largest)])


def attention(c, x):
    largest = jnp.maximum(c[0], x[0])
    before, after = jnp.exp(c[0] - largest), jnp.exp(x[0] - largest)
    return jnp.array([largest, c[1] * before + after, c[2] * before + x[1] * after, c[3] * before + x[2] * after])


def quaternion(a, x):
    angle = jnp.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    scale = jnp.sin(0.5 * angle) / angle
    b = [jnp.cos(0.5 * angle), scale * x[0], scale * x[1], scale * x[2]]
    return jnp.array([
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ])


def nose(q):
    return [
        1.0 - 2.0 * (q[2] ** 2 + q[3] ** 2),
        2.0 * (q[1] * q[2] + q[0] * q[3]),
        2.0 * (q[1] * q[3] - q[0] * q[2]),
    ]


def moments(c, x):
    count = c[0] + 1.0
    delta = x[0] - c[1]
    return jnp.array([count, c[1] + delta / count, c[2] + delta * delta * c[0] / count])


def newton(x):
    root = x
    for _ in range(5):
        root = 0.5 * (root + x / root)
    return (root - x) / (1.0 + x)


def choices(x, i):
    weight = [2.0, x**3, jnp.exp(x) * (i % 4), jnp.cos(i * x)][i % 4]
    return weight if i % 3 == 0 else weight + x


def pieces(x):
    return (
        jnp.abs(x)
        + jnp.clip(x, -0.5, 0.75) * jnp.floor(x)
        + jnp.minimum(x, 0.25)
        - jnp.maximum(x, -0.125) * jnp.sign(x)
        + (x - jnp.trunc(x))
    )


def decay_emit(c, x, p):
    after = p[0] * c[0] + p[1] * x[0]
    return [jnp.where(after > 0.0, jnp.sin(after * x[0]) + p[1], c[0] * after - x[0])]


# Name: first carry before two steps, components of an input, their range, parameters, step, output of the carry after a
# step or of the carry before it and the input.
OPERATORS = {
    "sum": ([0.0], 1, (-1.5, 1.5), [], lambda c, x, p, i: c + x, lambda c: [c[0]]),
    "product": ([1.0], 1, (0.5, 1.5), [], lambda c, x, p, i: c * x, lambda c: [c[0]]),
    "maximum": ([-1e300], 1, (-1.5, 1.5), [], lambda c, x, p, i: jnp.maximum(c, x), lambda c: [c[0]]),
    "recurrence": (
        [1.0, 0.0], 2, (-0.9, 0.9), [],
        lambda c, x, p, i: jnp.array([c[0] * x[0], x[0] * c[1] + x[1]]),
        lambda c: [c[1]],
    ),
    "decay": ([0.0], 1, (-1.5, 1.5), [0.8, 1.25], lambda c, x, p, i: p[0] * c + p[1] * x, decay_emit),
    "log_sum_exp": ([-1e300, 0.0], 1, (-1.5, 1.5), [], lambda c, x, p, i: lse(c, x), lambda c: [c[0] + jnp.log(c[1])]),
    "attention": (
        [-1e300, 0.0, 0.0, 0.0], 3, (-1.5, 1.5), [],
        lambda c, x, p, i: attention(c, x),
        lambda c: [c[2] / c[1], c[3] / c[1]],
    ),
    "phase": (
        [1.0, 0.0], 1, (-1.5, 1.5), [],
        lambda c, x, p, i: jnp.array([
            c[0] * jnp.cos(x[0]) - c[1] * jnp.sin(x[0]),
            c[0] * jnp.sin(x[0]) + c[1] * jnp.cos(x[0]),
        ]),
        lambda c: [c[0], c[1]],
    ),
    "attitude": ([1.0, 0.0, 0.0, 0.0], 3, (-0.9, 0.9), [], lambda c, x, p, i: quaternion(c, x), nose),
    "moments": ([0.0, 0.0, 0.0], 1, (-1.5, 1.5), [], lambda c, x, p, i: moments(c, x), lambda c: [c[1], c[2] / c[0]]),
    "oscillator": (
        [0.0, 0.0], 1, (-1.5, 1.5), [1.1, -0.6],
        lambda c, x, p, i: jnp.array([p[0] * c[0] + p[1] * c[1] + x[0], c[0]]),
        lambda c: [c[0]],
    ),
    "gate": (
        [0.0], 2, (-1.5, 1.5), [],
        lambda c, x, p, i: jax.nn.sigmoid(x[0]) * c + (1.0 - jax.nn.sigmoid(x[0])) * jnp.tanh(x[1]),
        lambda c: [c[0]],
    ),
    "powers": ([1.0], 1, (0.5, 1.5), [1.7], lambda c, x, p, i: c * x ** p[0], lambda c: [c[0] ** 0.5 + c[0] ** -3]),
    "roots": (
        [1.0], 1, (0.5, 1.5), [],
        lambda c, x, p, i: c * (jnp.sqrt(x) / x),
        lambda c: [jnp.cbrt(c[0]) - c[0] ** -2],
    ),
    "logarithms": (
        [0.0], 1, (0.5, 1.5), [],
        lambda c, x, p, i: c + jnp.log(x) + jnp.log2(x) * jnp.log10(x) - jnp.log1p(x),
        lambda c: [jnp.exp2(0.1 * c[0]) + jnp.expm1(-(c[0] * c[0]))],
    ),
    "angles": (
        [0.0], 1, (-0.9, 0.9), [],
        lambda c, x, p, i: c + jnp.arcsin(x) + jnp.arccos(x) * jnp.tan(x),
        lambda c: [jnp.arctan(c[0]) * jnp.cos(c[0]) + jnp.sin(c[0])],
    ),
    "hyperbolas": (
        [0.0], 2, (0.25, 1.25), [],
        lambda c, x, p, i: c
        + jnp.sinh(x[0]) / jnp.cosh(x[1]) + jnp.arctan2(x[0], x[1]) - jnp.hypot(x[0], x[1]),
        lambda c: [jnp.tanh(c[0]) + c[0]],
    ),
    "pieces": (
        [0.0], 1, (-1.5, 1.5), [],
        lambda c, x, p, i: c + pieces(x),
        lambda c: [jnp.fmod(c[0], 2.0) + jnp.mod(c[0], 3.0) * jnp.abs(c[0])],
    ),
    "polynomial": (
        [0.0], 1, (-1.5, 1.5), [0.3, -0.7, 0.4],
        lambda c, x, p, i: c + p[0] + p[1] * x + p[2] * x * x,
        lambda c: [c[0]],
    ),
    "max_plus": (
        [-1e300], 2, (-1.5, 1.5), [],
        lambda c, x, p, i: jnp.maximum(c + x[0], x[1]),
        lambda c: [c[0]],
    ),
    "channels": (
        [0.0, 0.0, 0.0], 6, (-0.9, 0.9), [0.9],
        lambda c, x, p, i: x[:3] * c + p[0] * x[3:],
        lambda c: [c[0] * c[1] + jnp.sin(c[2])],
    ),
    "newton": ([0.0], 1, (0.5, 1.5), [], lambda c, x, p, i: c + newton(x), lambda c: [c[0]]),
    "choices": ([0.0], 1, (-1.5, 1.5), [], lambda c, x, p, i: c + choices(x, i), lambda c: [c[0] ** 2]),
}


def outputs(emit, before, after, x, p):
    return jnp.array(emit(before, x, p) if emit is decay_emit else emit(after))


def main():
    values = []
    for seed, (name, (start, width, (low, high), parameters, step, emit)) in enumerate(OPERATORS.items()):
        draw = np.random.default_rng(seed)
        x = draw.uniform(low, high, (LEN + 2, width))
        p = jnp.array(parameters)
        # Two steps lead to the first carry.
        first = jnp.array(start)
        for i in range(LEN, LEN + 2):
            first = step(first, jnp.array(x[i]), p, i)
        x = jnp.array(x[:LEN])
        many = len(outputs(emit, first, first, x[0], p))
        weights = jnp.array(draw.uniform(-1.0, 1.0, (LEN, many)))
        of_last = jnp.array(draw.uniform(-1.0, 1.0, len(start)))

        def loss(x, c, p):
            total = 0.0
            for i in range(LEN):
                before, c = c, step(c, x[i], p, i)
                total = total + jnp.dot(weights[i], outputs(emit, before, c, x[i], p))
            return total + jnp.dot(of_last, c)

        dx, d_first, d_parameters = jax.grad(loss, (0, 1, 2))(x, first, p)
        arrays = {
            "parameters": p, "first": first, "x": x, "weights": weights, "of_last": of_last,
            "dx": dx, "d_first": d_first, "d_parameters": d_parameters,
        }
        values.append({"name": name} | {key: np.asarray(array).reshape(-1).tolist() for key, array in arrays.items()})
    print("[\n" + ",\n".join(json.dumps(value) for value in values) + "\n]")


main()
