#!/usr/bin/env python3
"""Scans along an axis by torch and jax, as ratios to a copy of the same bytes in the same process: the figures that stand
beside those of `engine -- axis`.

What cannot be imported, or does not run, is said and left out. A slow scan is timed once.
"""

import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# As `ARRAYS` of `axis.rs`, and rows.
ARRAYS = [
    ((1 << 20, 256), 0),
    ((4096, 65536), 0),
    ((65536, 4096), 0),
    ((1 << 22, 64), 0),
    ((8, 65536, 512), 1),
    ((8, 8192, 4096), 1),
    ((64, 1 << 22), 0),
    ((4, 1 << 26), 0),
    ((4096, 65536), 1),
    ((1 << 22, 64), 1),
    ((1 << 26, 4), 1),
    ((1, 1 << 28), 1),
]
SAMPLES = 5
LONG = 0.2  # seconds


def median_time(call, wait):
    """Seconds of a call after the first, which may compile: the median of several, or of one where it takes long."""
    call()
    times = []
    while len(times) < SAMPLES and not any(taken > LONG for taken in times):
        wait()
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def line(library, name, shape, axis, scan, copy, wait):
    try:
        took, copied = median_time(scan, wait), median_time(copy, wait)
        print(f"| {library} | {name} | {shape}, {axis} | {took * 1e6:.1f} | {copied / took:.4f} |", flush=True)
    except Exception as error:  # noqa: BLE001: each line for itself
        print(f"| {library} | {name} | {shape}, {axis} | {str(error).splitlines()[0][:80]} | |", flush=True)


def with_torch(names):
    import torch
    from torch._higher_order_ops.associative_scan import associative_scan

    wait = torch.cuda.synchronize
    torch._dynamo.config.recompile_limit = 2 * len(ARRAYS)
    compiled = torch.compile(
        lambda a, b, axis: associative_scan(
            lambda f, g: (f[0] * g[0], g[0] * f[1] + g[1]), (a, b), axis, combine_mode="pointwise"
        ),
        dynamic=False,
    )
    for shape, axis in ARRAYS:
        for name, dtype in [("sum f32", torch.float32), ("sum f16", torch.float16)]:
            if name in names:
                x = torch.ones(shape, dtype=dtype, device="cuda")
                y = torch.empty_like(x)
                line("torch.cumsum", name, shape, axis, lambda: torch.cumsum(x, axis, out=y), lambda: y.copy_(x), wait)
                del x, y
        if "affine f32" in names:
            half = (shape[0] // 2, *shape[1:]) if shape[0] > 1 else (1, shape[1] // 2)
            a, b = (torch.full(half, value, device="cuda") for value in (0.5, 1.0))
            to = torch.empty((2, *half), device="cuda")

            def copy():
                to[0].copy_(a)
                to[1].copy_(b)

            line("torch associative_scan", "affine f32", half, axis, lambda: compiled(a, b, axis), copy, wait)
            del a, b, to


def with_jax(names):
    import jax
    import jax.numpy as jnp

    copy = jax.jit(lambda *arrays: [array + 0 for array in arrays])
    add = jax.jit(jnp.cumsum, static_argnums=1)

    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    scan = jax.jit(lambda a, b, axis: jax.lax.associative_scan(compose, (a, b), axis=axis), static_argnums=2)
    for shape, axis in ARRAYS:
        half = (shape[0] // 2, *shape[1:]) if shape[0] > 1 else (1, shape[1] // 2)
        for name, dtype in [("sum f32", jnp.float32), ("sum f16", jnp.float16)]:
            if name in names:
                x = jnp.ones(shape, dtype)
                call = lambda: jax.block_until_ready(add(x, axis))  # noqa: E731
                line("jax cumsum", name, shape, axis, call, lambda: jax.block_until_ready(copy(x)), lambda: None)
        if "affine f32" in names:
            a, b = (jnp.full(half, value) for value in (0.5, 1.0))
            call = lambda: jax.block_until_ready(scan(a, b, axis))  # noqa: E731
            line("jax associative_scan", "affine f32", half, axis, call, lambda: jax.block_until_ready(copy(a, b)), lambda: None)


def main():
    names = sys.argv[1:] or ["sum f32", "sum f16", "affine f32"]
    print("| library | operator | array, axis | µs | ratio to copy |\n|---|---|---|---:|---:|")
    for run in (with_torch, with_jax):
        try:
            run(names)
        except ImportError as error:
            print(f"{error}: left out")


main()
