#!/usr/bin/env python3
"""The recurrence h[t] = a[t]·h[t−1] + x[t] forward and backward by other libraries, as ratios to a copy of the bytes
that each must move: the figures that stand beside those of `engine -- training`, in its shapes and types.

Forward reads two arrays and writes one, backward reads three and writes two. A gate that several channels share
counts once for all of them. A peer that must repeat it, or has other arrays in between, is held to the same bytes.

- `torch associative_scan` and `jax associative_scan` are compiled. `reversed` is the gradient as a user would write
  it, the reversed recurrence by the same function and the products. `vjp` and `autograd` are what the library
  derives; it keeps what it needs of the forward pass, which is not timed. `f32 states` computes in f32 between arrays
  of bf16.
- `accelerated-scan` is `accelerated_scan.scalar` (Triton) and `accelerated_scan.warp` (CUDA C++, which `nvcc` and
  `ninja` compile on the spot), both on contiguous rows: where time is not the last axis, the array is transposed
  beforehand, which is not timed, and printed as the peer has it. A shared gate is repeated beforehand.
- `mamba_ssm` is its selective scan with one state, which computes a = exp(−delta) and x = delta·u besides; rows as
  above.

Times are the median of five after the first call. Those of torch and of what rests on it are between CUDA events,
behind a wait on the device that hides the launch. Jax has no stream to record events on: the time of a call is the
host's for several calls in a row. Results of six channels are compared with a loop in float64: the error is relative
to the largest value. What is absent, fails, or takes too long is a line with the reason. Folders in `PEERS` are
searched for packages; what the libraries print goes to the file `PEERS_LOG`.
"""

import argparse
import ctypes
import dataclasses
import gc
import json
import math
import os
import queue
import signal
import statistics
import subprocess
import sys
import threading
import time

SAMPLES = 5
LONG = 0.2  # seconds
START = 90  # seconds to import a library and, where it is C++, to compile it


@dataclasses.dataclass(frozen=True)
class Layer:
    """As `LAYERS` of `training.rs`: the shape, its time axis, and the channels that share a gate."""

    shape: tuple
    axis: int
    shared: int = 1

    @property
    def full(self):
        *outer, width = self.shape
        return self.shape if self.shared == 1 else (*outer, width // self.shared, self.shared)

    @property
    def gates(self):
        return self.shape if self.shared == 1 else (*self.full[:-1], 1)

    def rows(self):
        """Contiguous rows of time, few enough to fit a grid whose second extent is 16 bits."""
        batch, steps, width = self.shape if self.axis == 1 else (self.shape[0], self.shape[2], self.shape[1])
        split = self.shared if self.shared > 1 else width
        return Layer((batch * width // split, split, steps), 2)

    def places(self, gates=False):
        """Indices of the series that are checked."""
        width = self.shape[3 - self.axis]
        for b in (0, self.shape[0] - 1):
            for c in (0, width // 2 - 1, width - 1):
                if self.shared > 1:
                    yield b, slice(None), c // self.shared, 0 if gates else c % self.shared
                else:
                    yield (b, slice(None), c) if self.axis == 1 else (b, c, slice(None))

    def __str__(self):
        return f"{list(self.shape)}, {self.axis}"


LAYERS = [
    Layer((8, 8192, 1536), 1),
    Layer((8, 65536, 256), 1),
    Layer((32, 2048, 1024), 1),
    Layer((8, 1536, 65536), 2),
    # Eight heads of 64 channels and 128 states.
    Layer((2, 2048, 65536), 1, 8192),
]
SMALL = [
    Layer((2, 128, 8), 1),
    Layer((2, 256, 6), 1),
    Layer((3, 64, 4), 1),
    Layer((2, 6, 512), 2),
    Layer((2, 64, 32), 1, 8),
]


def compose(f, g):
    return f[0] * g[0], g[0] * f[1] + g[1]


def median_time(sample):
    """Seconds, of several samples or of one that takes long."""
    times = []
    while len(times) < SAMPLES and not any(taken > LONG for taken in times):
        times.append(sample())
    return statistics.median(times)


def host_time(call, wait):
    """Seconds of a call, by the host: several in a row, of 20 ms together."""
    call()
    wait(call())

    def sample(calls):
        wait(None)
        start = time.perf_counter()
        for _ in range(calls):
            last = call()
        wait(last)
        return (time.perf_counter() - start) / calls

    calls = max(1, min(50, math.ceil(0.02 / max(sample(1), 1e-6))))
    return median_time(lambda: sample(calls))


def driver_copy(size):
    """Seconds of a copy of `size` bytes from device to device, by the driver, in the context that the library has."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def checked(name, *arguments):
        code = getattr(cuda, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} returned {code}")

    device, context = ctypes.c_int(), ctypes.c_void_p()
    checked("cuInit", ctypes.c_uint(0))
    checked("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
    checked("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    checked("cuCtxPushCurrent_v2", context)
    buffers, events = (ctypes.c_uint64(), ctypes.c_uint64()), (ctypes.c_void_p(), ctypes.c_void_p())
    try:
        for buffer, event in zip(buffers, events):
            checked("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(size))
            checked("cuMemsetD8_v2", buffer, ctypes.c_ubyte(0), ctypes.c_size_t(size))
            checked("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))

        def sample():
            took = ctypes.c_float()
            checked("cuCtxSynchronize")
            checked("cuEventRecord", events[0], None)
            checked("cuMemcpyDtoDAsync_v2", buffers[1], buffers[0], ctypes.c_size_t(size), None)
            checked("cuEventRecord", events[1], None)
            checked("cuEventSynchronize", events[1])
            checked("cuEventElapsedTime", ctypes.byref(took), *events)
            return took.value / 1e3

        sample()
        return median_time(sample)
    finally:
        for buffer, event in zip(buffers, events):
            if buffer.value:
                cuda.cuMemFree_v2(buffer)
            if event.value:
                cuda.cuEventDestroy_v2(event)
        cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
        cuda.cuDevicePrimaryCtxRelease_v2(device)


class Torch:
    """Arrays and times of torch."""

    def __init__(self, small):
        import torch

        self.torch, self.small = torch, small
        if not small and not torch.cuda.is_available():
            raise RuntimeError("torch sees no GPU")
        self.device = "cpu" if small else "cuda"
        torch.manual_seed(1)
        torch.ones(1, device=self.device).sum().item()

    def type(self, name):
        return {"f32": self.torch.float32, "bf16": self.torch.bfloat16}[name]

    def random(self, shape, name):
        return self.torch.rand(shape, dtype=self.type(name), device=self.device)

    def series(self, array, places):
        return self.torch.stack([array[place].detach().double().cpu() for place in places]).numpy()

    def wait(self, _=None):
        if not self.small:
            self.torch.cuda.synchronize()

    def time(self, call):
        if self.small:
            return host_time(call, self.wait)
        cuda = self.torch.cuda
        start, end = (cuda.Event(enable_timing=True) for _ in range(2))

        def sample():
            cuda.synchronize()
            cuda._sleep(2_000_000)
            start.record()
            call()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) / 1e3

        call()
        call()
        return median_time(sample)

    def copy(self, layer, name):
        x = self.random(layer.shape, name)
        to = self.torch.empty_like(x)
        return self.time(lambda: to.copy_(x))

    def clear(self):
        gc.collect()
        if not self.small:
            self.torch.cuda.empty_cache()


class Jax:
    """Arrays and times of jax."""

    def __init__(self, small):
        if small:
            os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax
        import numpy

        self.jax, self.numpy, self.small, self.seed = jax, numpy, small, 0
        if not small and jax.default_backend() == "cpu":
            raise RuntimeError("jax sees no GPU")
        jax.numpy.ones(1).block_until_ready()

    def type(self, name):
        return {"f32": self.jax.numpy.float32, "bf16": self.jax.numpy.bfloat16}[name]

    def random(self, shape, name):
        self.seed += 1
        return self.jax.random.uniform(self.jax.random.key(self.seed), shape, dtype=self.type(name))

    def series(self, array, places):
        rows = [self.numpy.asarray(array[place].astype("float32"), dtype="float64") for place in places]
        return self.numpy.stack(rows)

    def wait(self, result=None):
        self.jax.block_until_ready(result)

    def time(self, call):
        return host_time(call, self.wait)

    def copy(self, layer, name):
        if not self.small:
            try:
                return driver_copy(math.prod(layer.shape) * (4 if name == "f32" else 2))
            except (OSError, AttributeError, RuntimeError) as error:
                print(f"the copy is jax's: {error}", file=sys.stderr)
        x = self.random(layer.shape, name)
        copy = self.jax.jit(lambda x: x + self.jax.numpy.ones((), x.dtype))
        return self.time(lambda: copy(x))

    def clear(self):
        self.jax.clear_caches()
        gc.collect()


def torch_scan(library, layer, name, form, backward):
    torch = library.torch
    from torch._higher_order_ops.associative_scan import associative_scan

    torch._dynamo.reset()
    axis, typed = layer.axis, library.type(name)
    mode = "generic" if library.small else "pointwise"
    inside = torch.float32 if form == "f32 states" else typed
    gates, x = library.random(layer.gates, name), library.random(layer.full, name)

    def forward(a, x):
        a, x = a.to(inside).expand(x.shape), x.to(inside)
        return associative_scan(compose, (a, x), axis, combine_mode=mode)[1].to(typed)

    def gradient(a, h, dy):
        a, h, dy = a.to(inside).expand(dy.shape), h.to(inside), dy.to(inside)
        steps = dy.shape[axis]
        none = torch.zeros_like(dy.narrow(axis, 0, 1))
        next_a = torch.cat([a.narrow(axis, 1, steps - 1), none], axis)
        before = torch.cat([none, h.narrow(axis, 0, steps - 1)], axis)
        dx = associative_scan(compose, (next_a, dy), axis, reverse=True, combine_mode=mode)[1]
        return (before * dx).to(typed), dx.to(typed)

    if not backward:
        run = torch.compile(forward, dynamic=False)
        return (lambda: run(gates, x)), dict(a=gates, x=x), layer
    dy = library.random(layer.full, name)
    if form == "autograd":
        torch._functorch.config.donated_buffer = False
        a = gates.expand(layer.full).detach().requires_grad_()
        x.requires_grad_()
        h = torch.compile(forward, dynamic=False)(a, x)
        return (lambda: torch.autograd.grad(h, (a, x), dy, retain_graph=True)), dict(a=gates, x=x, dy=dy), layer
    # Any array does for the states.
    run = torch.compile(gradient, dynamic=False)
    return (lambda: run(gates, x, dy)), dict(a=gates, h=x, dy=dy), layer


def jax_scan(library, layer, name, form, backward):
    jax, jnp, axis, typed = library.jax, library.jax.numpy, layer.axis, library.type(name)
    inside = jnp.float32 if form == "f32 states" else typed
    gates, x = library.random(layer.gates, name), library.random(layer.full, name)

    def forward(a, x):
        a, x = jnp.broadcast_to(a.astype(inside), x.shape), x.astype(inside)
        return jax.lax.associative_scan(compose, (a, x), axis=axis)[1].astype(typed)

    def gradient(a, h, dy):
        a, h, dy = jnp.broadcast_to(a.astype(inside), dy.shape), h.astype(inside), dy.astype(inside)
        none = jnp.zeros_like(jax.lax.slice_in_dim(dy, 0, 1, axis=axis))
        next_a = jnp.concatenate([jax.lax.slice_in_dim(a, 1, None, axis=axis), none], axis)
        before = jnp.concatenate([none, jax.lax.slice_in_dim(h, 0, -1, axis=axis)], axis)
        dx = jax.lax.associative_scan(compose, (next_a, dy), reverse=True, axis=axis)[1]
        return (before * dx).astype(typed), dx.astype(typed)

    if not backward:
        run = jax.jit(forward)
        return (lambda: run(gates, x)), dict(a=gates, x=x), layer
    dy = library.random(layer.full, name)
    if form == "vjp":
        _, back = jax.vjp(jax.jit(forward), jnp.broadcast_to(gates, layer.full), x)
        run = jax.jit(lambda back, dy: back(dy))
        return (lambda: run(back, dy)), dict(a=gates, x=x, dy=dy), layer
    run = jax.jit(gradient)
    return (lambda: run(gates, x, dy)), dict(a=gates, h=x, dy=dy), layer


def accelerated_scan(module):
    def make(library, layer, name, form, backward):
        layer = layer.rows()
        a, x = (library.random(layer.full, name) for _ in range(2))
        if not backward:
            return (lambda: module.scan(a, x)), dict(a=a, x=x), layer
        dy, h = library.random(layer.full, name), module.scan(a.requires_grad_(), x.requires_grad_())
        call = lambda: library.torch.autograd.grad(h, (a, x), dy, retain_graph=True)  # noqa: E731
        return call, dict(a=a, x=x, dy=dy), layer

    return make


def accelerated_scalar(library):
    from accelerated_scan import scalar

    return accelerated_scan(scalar)


def accelerated_warp(library):
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "{}.{}".format(*library.torch.cuda.get_device_capability()))
    from accelerated_scan import warp

    return accelerated_scan(warp)


def mamba(library):
    from mamba_ssm.ops.selective_scan_interface import selective_scan_fn

    def make(library, layer, name, form, backward):
        torch, layer = library.torch, layer.rows()
        delta, u = library.random(layer.full, name) + 0.01, library.random(layer.full, name)
        batch, width, steps = layer.shape
        decay = -torch.ones(width, 1, device=library.device)
        ones = torch.ones(batch, 1, steps, device=library.device, dtype=library.type(name))
        given = dict(delta=delta, u=u)
        if not backward:
            return (lambda: selective_scan_fn(u, delta, decay, ones, ones)), given, layer
        dy = library.random(layer.full, name)
        h = selective_scan_fn(u.requires_grad_(), delta.requires_grad_(), decay, ones, ones)
        call = lambda: torch.autograd.grad(h, (delta, u), dy, retain_graph=True)  # noqa: E731
        return call, dict(given, dy=dy), layer

    return make


# What a peer is made of. Peers of the same library and a row of `order` share a process.
PEERS = {
    "torch": (Torch, lambda library: torch_scan),
    "jax": (Jax, lambda library: jax_scan),
    "scalar": (Torch, accelerated_scalar),
    "warp": (Torch, accelerated_warp),
    "mamba": (Torch, mamba),
}
NAMES = {
    "torch": "torch associative_scan",
    "jax": "jax associative_scan",
    "scalar": "accelerated-scan scalar, contiguous rows",
    "warp": "accelerated-scan warp, contiguous rows",
    "mamba": "mamba_ssm selective scan, contiguous rows",
}


def order():
    """Peer, form of the forward and of the backward pass (or neither), types, layers: the most important first."""
    first, shared, both = [0, 1, 2, 3], [4], ["f32", "bf16"]
    yield "torch", [("", False), ("reversed", True)], ["f32"], first
    yield "jax", [("", False), ("vjp", True), ("reversed", True)], ["f32"], first
    yield "torch", [("", False), ("reversed", True)], ["bf16"], first
    yield "torch", [("", False), ("reversed", True)], both, shared
    yield "scalar", [("", False), ("", True)], both, first
    yield "mamba", [("", False), ("", True)], both, first
    yield "jax", [("", False), ("vjp", True), ("reversed", True)], ["bf16"], first
    yield "jax", [("", False), ("vjp", True), ("reversed", True)], both, shared
    yield "torch", [("autograd", True)], ["f32"], first
    yield "torch", [("f32 states", False), ("f32 states", True)], ["bf16"], first + shared
    yield "scalar", [("", False), ("", True)], both, shared
    yield "warp", [("", False), ("", True)], both, first
    yield "torch", [("autograd", True)], ["bf16"], first
    yield "torch", [("autograd", True)], both, shared
    yield "jax", [("f32 states", False), ("f32 states", True)], ["bf16"], first + shared
    yield "mamba", [("", False), ("", True)], both, shared


@dataclasses.dataclass(frozen=True)
class Cell:
    peer: str
    form: str
    backward: bool
    type: str
    layer: int

    def line(self, layers, result, error=""):
        layer = layers[self.layer]
        name = f"{NAMES[self.peer]}, {self.form}" if self.form else NAMES[self.peer]
        name += ", the gate repeated" if layer.shared > 1 and PEERS[self.peer][1] not in COMPILED else ""
        shape = layer.rows() if PEERS[self.peer][1] not in COMPILED else layer
        way = "backward" if self.backward else "forward"
        return f"| {name} | {self.type} | {shape} | {layer.shared} | {way} | {result} | {error} |"


COMPILED = [PEERS["torch"][1], PEERS["jax"][1]]


def relative_error(library, layer, given, results):
    """The largest difference from a loop in float64, by the largest value of each result."""
    import numpy

    if not isinstance(results, (tuple, list)):
        results = (results,)
    values = {key: library.series(array, layer.places(key == "a")) for key, array in given.items()}
    delta = values.get("delta")
    if delta is not None:
        values["a"], values["x"] = numpy.exp(-delta), delta * values["u"]
    a, steps = values["a"], values["a"].shape[1]
    h = values.get("h")
    if h is None:
        h, state = numpy.empty_like(a), numpy.zeros(a.shape[0])
        for t in range(steps):
            state = a[:, t] * state + values["x"][:, t]
            h[:, t] = state
    wanted = [h]
    if "dy" in values:
        da, dx, carried = numpy.empty_like(a), numpy.empty_like(a), numpy.zeros(a.shape[0])
        for t in reversed(range(steps)):
            state = values["dy"][:, t] + carried
            dx[:, t] = state
            da[:, t] = state * h[:, t - 1] if t else 0
            carried = a[:, t] * state
        wanted = [da, dx]
        if delta is not None:
            wanted = [values["u"] * dx - a * da, delta * dx]
    worst = 0.0
    for result, right in zip(results, wanted):
        difference = numpy.abs(library.series(result, layer.places()) - right).max()
        worst = max(worst, float(difference / numpy.abs(right).max()))
        if not math.isfinite(difference):
            return math.inf
    return worst


def measured(library, make, cell, layers, copies):
    layer = layers[cell.layer]
    call, given, own = make(library, layer, cell.type, cell.form, cell.backward)
    error = relative_error(library, own, given, call())
    took = library.time(call)
    if (layer, cell.type) not in copies:
        copies[layer, cell.type] = library.copy(layer, cell.type)
    arrays = (4 if cell.backward else 2) + 1 / layer.shared
    return copies[layer, cell.type] / 2 * arrays / took, error


def reason(error):
    text = " ".join(str(error).split()) or type(error).__name__
    return (text if len(text) < 120 else text[:117] + "...").replace("|", "/")


def worker(peer, cells, small):
    """Measures cells and tells each to the process that started this one."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**told):
        print(json.dumps(told), file=out, flush=True)

    sys.path[:0] = [os.path.abspath(folder) for folder in os.environ.get("PEERS", "").split(os.pathsep) if folder]
    try:
        kind, setup = PEERS[peer]
        library = kind(small)
        make = setup(library)
        if make is torch_scan:
            # The compiler starts here rather than within the limit of the first array.
            library.torch.compile(lambda x: x + 1)(library.random((64,), "f32"))
    except BaseException as error:  # noqa: BLE001: said in a line
        return tell(absent=reason(error))
    tell(ready=True)
    layers, copies = SMALL if small else LAYERS, {}
    for cell in cells:
        try:
            ratio, error = measured(library, make, cell, layers, copies)
            tell(ratio=ratio, error=error)
        except Exception as error:  # noqa: BLE001: said in a line
            # What a failure leaves in the memory or in the context of the device goes with the process.
            ends = any(word in str(error).lower() for word in ("cuda", "memory", "exhausted", "illegal"))
            tell(failed=reason(error), ends=ends)
            if ends:
                return None
        library.clear()
    return None


class Worker:
    """A process of its own, which ends with all that it started where it takes too long."""

    def __init__(self, peer, cells, small):
        command = [sys.executable, os.path.abspath(__file__), "--worker", peer]
        command += ["--cells", json.dumps([dataclasses.astuple(cell) for cell in cells])] + ["--small"] * small
        self.log = open(os.environ.get("PEERS_LOG", os.devnull), "ab")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True
        )
        self.told = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.told.put(json.loads(line))
        self.told.put(None)

    def next(self, seconds):
        """What it tells next; nothing where it ended."""
        return self.told.get(timeout=max(seconds, 0.001))

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()


def group(peer, cells, small, seconds, end, say):
    """Measures the cells of a peer in as few processes as it takes; false where the peer is absent."""
    cells = list(cells)
    while cells:
        if time.monotonic() > end:
            say(None, f"no time was left for {len(cells)} lines")
            return True
        process, began = Worker(peer, cells, small), False
        try:
            start = process.next(min(START, end - time.monotonic()))
            began = True
            if start is None or "absent" in start:
                say(None, start["absent"] if start else "its process ended")
                return False
            while cells:
                told = process.next(min(seconds, end - time.monotonic()))
                cell = cells.pop(0)
                if told is None:
                    say(cell, "its process ended")
                    break
                if "failed" in told:
                    say(cell, told["failed"])
                    if told["ends"]:
                        break
                else:
                    say(cell, f"{told['ratio']:.4f}", f"{told['error']:.1e}")
        except queue.Empty:
            if time.monotonic() < end:
                if not began:
                    say(None, f"took more than {START} s to start")
                    return False
                say(cells.pop(0), f"took more than {seconds:g} s")
        finally:
            process.stop()
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=20, help="for a pass of a peer on an array, compilation included"
    )
    parser.add_argument("--total", type=float, default=470, help="seconds for all together")
    parser.add_argument("--only", action="append", default=[], help="lines that have this in them; each of several")
    parser.add_argument("--small", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--cells", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    small = arguments.small
    if arguments.worker:
        return worker(arguments.worker, [Cell(*cell) for cell in json.loads(arguments.cells)], small)
    layers, end, absent = SMALL if small else LAYERS, time.monotonic() + arguments.total, set()
    groups = []
    for peer, forms, types, which in order():
        cells = [Cell(peer, form, back, kind, layer) for kind in types for layer in which for form, back in forms]
        cells = [cell for cell in cells if all(text in cell.line(layers, "") for text in arguments.only)]
        # Neighbours of one library share a process.
        if groups and groups[-1][0] == peer:
            groups[-1][1].extend(cells)
        elif cells:
            groups.append((peer, cells))
    print("| peer | type | array, time axis | channels a gate | pass | ratio to copy | relative error |")
    print("|---|---|---|--:|---|--:|--:|", flush=True)

    def say(cell, result, error=""):
        line = cell.line(layers, result, error) if cell else f"| {NAMES[peer]} | | | | | {result} | |"
        print(line, flush=True)

    for peer, cells in groups:
        if peer not in absent and not group(peer, cells, small, arguments.seconds, end, say):
            absent.add(peer)
    return None


if __name__ == "__main__":
    main()
