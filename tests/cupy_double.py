"""A stand-in for cupy without a GPU: arrays are numpy's, and CUDA C is compiled by g++ and run thread after thread.

It checks the arithmetic and the indexing of kernels that use neither shared memory nor barriers, and the code around
them. It cannot show races, and it is not fast.
"""

import contextlib
import ctypes
import hashlib
import importlib
import importlib.machinery
import re
import subprocess
import sys
import tempfile
import threading
import types
from pathlib import Path

import numpy as np

SHIM = r"""
#include <cmath>
#include <cstring>
#include <utility>
struct Dim { int x, y; };
static Dim threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __device__ static inline
template <class T> static T atomicAdd(T* at, T more) { T old = *at; *at += more; return old; }
static int atomicCAS(int* at, int expected, int value) { int old = *at; if (old == expected) *at = value; return old; }
static long long __double_as_longlong(double x) { long long bits; memcpy(&bits, &x, 8); return bits; }
"""
DRIVER = r"""
template <class... A, std::size_t... I>
static void launch(void (*kernel)(A...), void** given, std::index_sequence<I...>) {
    for (int at = 0; at < gridDim.x * gridDim.y; ++at)
        for (blockIdx = {at % gridDim.x, at / gridDim.x}, threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y)
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(*(A*)given[I]...);
}
template <class... A> static void launch(void (*kernel)(A...), void** given) {
    launch(kernel, given, std::make_index_sequence<sizeof...(A)>());
}
"""
ENTRY = r"""
extern "C" void run_KERNEL(void** given, int grid, int beside, int x, int y) {
    gridDim = {grid, beside}; blockDim = {x, y};
    launch(KERNEL, given);
}
"""
_folder = tempfile.TemporaryDirectory(prefix="cupy-double-")
_libraries: dict[str, ctypes.CDLL] = {}
# Threads share a library's threadIdx, and a library is loaded only when it is whole.
_one_at_a_time = threading.Lock()


class RawKernel:
    """One kernel, compiled on its first launch."""

    def __init__(self, code, name, options=()):
        self.name, self.options = name, options
        # One library for all kernels of a source: to start the compiler takes longer than to compile.
        entries = [ENTRY.replace("KERNEL", one) for one in re.findall(r"__global__ void (\w+)\(", code)]
        self.code = "\n".join([SHIM, code, DRIVER, *entries])

    def _compiled(self):
        key = hashlib.sha256((self.code + " ".join(self.options)).encode()).hexdigest()[:16]
        if key not in _libraries:
            source, library = (Path(_folder.name) / f"{key}.{end}" for end in ("cpp", "so"))
            source.write_text(self.code)
            call = [
                "g++",
                "-O1",
                "-w",
                "-std=c++17",
                "-shared",
                "-fPIC",
                "-ffp-contract=off",
                *self.options,
                "-Wl,-Bsymbolic",
            ]
            subprocess.run([*call, str(source), "-o", str(library)], check=True)
            _libraries[key] = ctypes.CDLL(str(library))
        return getattr(_libraries[key], f"run_{self.name}")

    def __call__(self, grid, block, arguments):
        held, pointers = [], []
        for one in arguments:
            if isinstance(one, np.ndarray):
                assert one.flags.c_contiguous, f"{self.name} was given an array that is not contiguous"
                held.append(ctypes.c_void_p(one.ctypes.data))
            else:
                held.append(ctypes.c_double(one) if isinstance(one, float) else ctypes.c_longlong(one))
            pointers.append(ctypes.cast(ctypes.pointer(held[-1]), ctypes.c_void_p))
        given = (ctypes.c_void_p * len(pointers))(*pointers)
        with _one_at_a_time:
            self._compiled()(given, *(int(size) for size in (*(*grid, 1)[:2], *(*block, 1)[:2])))


class Device(contextlib.nullcontext):
    mem_info = (2**40, 2**40)


def _poisoned(shape, dtype=float, **_):
    """What is never written stays visible."""
    found = np.empty(shape, dtype=dtype)
    found.fill(np.nan if found.dtype.kind == "f" else 99)
    return found


def _module():
    cupy = types.ModuleType("cupy")
    cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    for name in dir(np):
        if not name.startswith("_"):
            setattr(cupy, name, getattr(np, name))
    cupy.RawKernel = RawKernel
    cupy.ndarray = type("ndarray", (), {})  # numpy's arrays are not to be taken for cupy's by others
    cupy.empty, cupy.asnumpy = _poisoned, np.asarray
    cupy.empty_like = lambda like: _poisoned(like.shape, like.dtype)
    cupy.cuda = types.SimpleNamespace(Device=Device, is_available=lambda: True)
    cupy.get_default_memory_pool = lambda: types.SimpleNamespace(free_bytes=lambda: 0)
    return cupy


@contextlib.contextmanager
def installed():
    """The stand-in in the place of cupy, as long as the block lasts."""
    ours = ("spectrata.kernels.fused_rows", "spectrata.bands.fused_laplacian")
    before = {name: sys.modules.pop(name) for name in (*ours, "cupy") if name in sys.modules}
    sys.modules["cupy"] = _module()
    try:
        yield importlib.import_module("spectrata.kernels.fused_rows")
    finally:
        for name in ("cupy", *ours):
            sys.modules.pop(name, None)
        for package, _, name in (one.rpartition(".") for one in ours):
            vars(importlib.import_module(package)).pop(name, None)
        sys.modules.update(before)
