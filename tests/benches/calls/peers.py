#!/usr/bin/env python3
"""What the first call and every later one cost with what Python has: the figures that stand beside `calls`.

Each library makes its first calls in a process of its own, once with empty caches and once with those that the first process
left. Host time is what the calling thread spends, the total ends when the result is there. What cannot be imported is
skipped, and said.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

FIRST = 1 << 20
LATER = (10, 20, 24)
BATCH, BATCHES, TOTALS = 64, 9, 100


def torch_cumsum_into():
    import torch

    def make(power):
        x = torch.ones(1 << power, device="cuda")
        y = torch.empty_like(x)

        def call():
            torch.cumsum(x, 0, out=y)
            return y

        return call

    return make, torch.cuda.synchronize, lambda y: float(y[-1])


def torch_compiled(scan_of):
    import torch

    scan = torch.compile(scan_of(torch), dynamic=False)

    def make(power):
        x = torch.ones(1 << power, device="cuda")
        return lambda: scan(x)

    return make, torch.cuda.synchronize, lambda y: float(y[-1])


def torch_compiled_cumsum():
    return torch_compiled(lambda torch: lambda x: torch.cumsum(x, 0))


def torch_associative_scan():
    def scan_of(torch):
        from torch._higher_order_ops.associative_scan import associative_scan

        return lambda x: associative_scan(lambda a, b: a + b, x, 0, combine_mode="pointwise")

    return torch_compiled(scan_of)


def jax_of(operator):
    import jax
    import jax.numpy as jnp

    last = None

    def make(power):
        x = jnp.ones(1 << power, dtype=jnp.float32)
        scan = jax.jit(operator(jax, jnp))

        def call():
            nonlocal last
            last = scan(x)
            return last

        return call

    return make, lambda: last is None or last.block_until_ready(), lambda y: float(y[-1])


def jax_cumsum():
    return jax_of(lambda jax, jnp: jnp.cumsum)


def jax_associative_scan():
    return jax_of(lambda jax, jnp: lambda x: jax.lax.associative_scan(lambda a, b: a + b, x))


def cupy_cumsum():
    import cupy

    def make(power):
        x = cupy.ones(1 << power, dtype=cupy.float32)
        y = cupy.empty_like(x)
        return lambda: cupy.cumsum(x, out=y)

    return make, cupy.cuda.runtime.deviceSynchronize, lambda y: float(y[-1])


def cuda_compute_of(operator, prepared):
    import cupy
    import numpy
    import cuda.compute as compute

    def make(power):
        x = cupy.ones(1 << power, dtype=cupy.float32)
        y = cupy.empty_like(x)
        h = numpy.zeros(1, dtype=numpy.float32)
        op = operator(compute)
        if not prepared:

            def call():
                compute.inclusive_scan(d_in=x, d_out=y, op=op, init_value=h, num_items=x.size)
                return y

            return call
        scan = compute.make_inclusive_scan(d_in=x, d_out=y, op=op, init_value=h)

        def arguments(temporary):
            try:
                return scan(temp_storage=temporary, d_in=x, d_out=y, op=op, num_items=x.size, init_value=h)
            except TypeError:
                return scan(temporary, x, y, x.size, h)

        temporary = cupy.empty(arguments(None), dtype=cupy.uint8)

        def call():
            arguments(temporary)
            return y

        return call

    return make, cupy.cuda.runtime.deviceSynchronize, lambda y: float(y[-1])


def cuda_compute():
    return cuda_compute_of(lambda compute: compute.OpKind.PLUS, False)


def cuda_compute_own_operator():
    def add(a, b):
        return a + b

    return cuda_compute_of(lambda compute: add, False)


def cuda_compute_prepared():
    return cuda_compute_of(lambda compute: compute.OpKind.PLUS, True)


PEERS = {
    "cuda.compute.inclusive_scan, PLUS": cuda_compute,
    "cuda.compute.make_inclusive_scan, PLUS": cuda_compute_prepared,
    "torch.compile(cumsum)": torch_compiled_cumsum,
    "torch.compile(associative_scan)": torch_associative_scan,
    "jax.jit(lax.associative_scan)": jax_associative_scan,
    "jax.jit(jnp.cumsum)": jax_cumsum,
    "torch.cumsum(out=)": torch_cumsum_into,
    "cupy.cumsum(out=)": cupy_cumsum,
    "cuda.compute.inclusive_scan, a Python operator": cuda_compute_own_operator,
}


def child(name, later):
    """Makes the calls of one library, and prints what they took: seconds, and microseconds for later calls."""
    start = time.perf_counter()
    make, wait, last = PEERS[name]()
    told = {"import": time.perf_counter() - start}
    call = None

    # The context and the input are there before the clock starts; where a library compiles when it prepares, that counts.
    import importlib

    for library in ("torch", "cupy", "jax"):
        if library in sys.modules:
            module = importlib.import_module(library)
            if library == "torch":
                module.ones(1, device="cuda").sum().item()
            elif library == "cupy":
                module.cuda.runtime.free(0)
            else:
                module.numpy.ones(4).block_until_ready()
    wait()
    start = time.perf_counter()
    call = make(20)
    result = call()
    wait()
    told["first"] = time.perf_counter() - start
    start = time.perf_counter()
    call()
    wait()
    told["second"] = time.perf_counter() - start
    assert last(result) == FIRST, f"the last sum is {last(result)}"
    told["later"] = {}
    for power in LATER if later else ():
        call = make(power)
        for _ in range(10):
            result = call()
        wait()
        assert last(result) == 1 << power
        hosts, totals = [], []
        for _ in range(BATCHES):
            start = time.perf_counter()
            for _ in range(BATCH):
                call()
            hosts.append((time.perf_counter() - start) / BATCH)
            wait()
        for _ in range(TOTALS):
            start = time.perf_counter()
            call()
            wait()
            totals.append(time.perf_counter() - start)
        told["later"][str(power)] = [statistics.median(hosts) * 1e6, statistics.median(totals) * 1e6]
    print("\ntold " + json.dumps(told))


def start(name, caches, later, seconds):
    environment = dict(os.environ)
    for variable in (
        "TORCHINDUCTOR_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "CUPY_CACHE_DIR",
        "CUDA_CACHE_PATH",
        "CCCL_PCH_CACHE_DIR",
    ):
        environment[variable] = os.path.join(caches, variable)
    environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    command = [sys.executable, os.path.abspath(__file__), "--child", name] + (["--later"] if later else [])
    try:
        outcome = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"took more than {seconds:.0f} s"
    for line in outcome.stdout.splitlines():
        if line.startswith("told "):
            return json.loads(line[5:])
    return (outcome.stderr.strip().splitlines() or ["said nothing"])[-1][:200]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--later", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=100, help="for all peers together")
    parser.add_argument("--only", default="", help="peers whose name has this in it")
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child, arguments.later)
    end = time.monotonic() + arguments.seconds
    print("\nPeers: first calls of 2^20 `f32`, milliseconds to the result; later calls of 2^10, 2^20, 2^24, microseconds\n")
    columns = [f"host, 2^{p} | total, 2^{p}" for p in LATER]
    print("| peer | import | first, cold | first, on disk | second | " + " | ".join(columns) + " |")
    print("|---|" + "--:|" * (4 + 2 * len(LATER)))
    skipped = []
    for name in (name for name in PEERS if arguments.only in name):
        with tempfile.TemporaryDirectory() as caches:
            left = end - time.monotonic()
            cold = start(name, caches, True, left) if left > 3 else "no time was left"
            if isinstance(cold, str):
                skipped.append(f"{name}: {cold}")
                continue
            left = end - time.monotonic()
            disk = start(name, caches, False, left) if left > 3 else "no time was left"
            disk = disk if isinstance(disk, str) else f"{disk['first'] * 1e3:.1f}"
            figures = [f"{host:.1f} | {total:.1f}" for host, total in cold["later"].values()]
            ms = [f"{cold[phase] * 1e3:.1f}" for phase in ("import", "first", "second")]
            print(f"| {name} | {ms[0]} | {ms[1]} | {disk} | {ms[2]} | " + " | ".join(figures) + " |", flush=True)
    for reason in skipped:
        print("skipped:", reason)


if __name__ == "__main__":
    main()
