"""Memory and speed of the machine, and estimates of memory and time, made before anything large is allocated."""

import contextlib
import os
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from spectrata.errors import MemoryEstimateError
from spectrata.kernels.threads import blas_limit, threads

# LAPACK's divide and conquer holds the matrix and twice its size in work space; one more for the result.
SOLVE_MATRICES = 4
# A solve of this size is long enough to time and short enough not to be noticed; the shortest of a few is what the
# processor can do.
PROBE_SIZE, PROBES = 400, 5


def available_memory() -> int | None:
    """Bytes that can be allocated now, or None where the system does not say."""
    limit, used = _cgroup("memory.max"), _cgroup("memory.current")
    return _least(_meminfo("MemAvailable:"), None if limit is None or used is None else limit - used)


def total_memory() -> int | None:
    """Bytes that the machine, or the control group of this process, has; None where the system does not say."""
    return _least(_meminfo("MemTotal:"), _cgroup("memory.max"))


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def fitting(each: int, memory: int | None) -> int:
    """How many pieces of work fit in memory side by side; unlimited where its size is unknown."""
    return sys.maxsize if memory is None else memory // max(1, each)


def _meminfo(field: str) -> int | None:
    with contextlib.suppress(OSError, StopIteration), open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _cgroup(name: str) -> int | None:
    try:
        return int(Path("/sys/fs/cgroup", name).read_text(encoding="ascii"))
    except (OSError, ValueError):  # no cgroup, or "max"
        return None


def distance_bytes(n: int) -> int:
    """Memory of all-pairs hop distances: a byte a pair, and the search's working set."""
    return n * n + 64 * n


def solve_bytes(n: int) -> int:
    """Peak memory of one dense solve with eigenvectors."""
    return SOLVE_MATRICES * 8 * n * n


def require_memory(needed: int, purpose: str, advice: str, available: int | None = None) -> None:
    """Raise before an allocation that cannot fit in what is available, by default in main memory."""
    available = available_memory() if available is None else available
    if available is not None and needed > available:
        raise MemoryEstimateError(f"{purpose} needs about {gib(needed)}, and {gib(available)} are available; {advice}.")


def gib(size: float) -> str:
    """A size in words."""
    if size < 2**20:
        return "less than 1 MiB"
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.0f} MiB"


def solve_seconds(sizes: Iterable[int]) -> float:
    """Estimated time of dense solves of these sizes side by side on cores that nothing else uses, from small ones."""
    cubes = [float(size) ** 3 for size in sizes]
    return _seconds_per_cube() * max(max(cubes, default=0.0), sum(cubes) / threads())


@cache
def _seconds_per_cube() -> float:
    matrix = np.random.default_rng(0).standard_normal((PROBE_SIZE, PROBE_SIZE))
    matrix += matrix.T
    times = []
    with blas_limit(1):
        for _ in range(PROBES):
            start = time.thread_time()
            np.linalg.eigh(matrix)
            times.append(time.thread_time() - start)
    return min(times) / PROBE_SIZE**3


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 1:
        return "under a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
