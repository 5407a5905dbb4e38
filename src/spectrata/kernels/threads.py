"""How work is cut into pieces and on how many threads it runs: decided by cores and sizes, never by timing.

The bits of a result therefore do not depend on how busy the machine is.
"""

import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

_own = threading.local()  # the share of a thread that works beside others of ours
# Working sets of this many doubles, a megabyte, stay in the second-level cache.
BLOCK = 2**17
# About a tenth of a second in numpy: what loading numba and its cached code costs.
COMPILED_WORK = 2e7


def threads() -> int:
    """Threads that this thread may use: its share, ``SPECTRATA_THREADS`` when set, or the cores of the process."""
    share = getattr(_own, "share", None)
    if share is not None:
        return share
    given = os.environ.get("SPECTRATA_THREADS", "")
    return int(given) if given.isdigit() and int(given) > 0 else cores()


def cores() -> int:
    """Cores this process may use: its affinity, and the quota of its control group."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        allowed = os.cpu_count() or 1
    return max(1, int(min(allowed, _quota())))


@cache
def _quota() -> float:
    """Processor time per time that the control groups of this process allow, infinite without a limit."""
    try:
        own = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return math.inf
    return quota_of(own, Path("/sys/fs/cgroup"))


def quota_of(lines: Iterable[str], root: Path) -> float:
    """The smallest quota over the control groups named by the lines of ``/proc/self/cgroup``, and their parents."""
    smallest = math.inf
    for line in lines:
        _, controllers, path = line.split(":", 2)  # version 2 names no controllers
        if controllers and "cpu" not in controllers.split(","):
            continue
        place = root / ("cpu" if controllers else "") / path.lstrip("/")
        files = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if controllers else ("cpu.max",)
        for folder in (place, *place.parents)[: len(Path(path).parts)]:
            try:
                quota, period = " ".join((folder / name).read_text(encoding="ascii") for name in files).split()
                smallest = min(smallest, int(quota) / int(period) if int(quota) > 0 else math.inf)
            except (OSError, ValueError):  # none, or "max"
                continue
    return smallest


def spread(work: Callable[[int], object], items: Iterable[int]) -> list:
    """Run ``work`` on every item with a few threads; the compiled loops hold no lock."""
    count = threads()
    if count == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, items))


def slices(total: int, width: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices whose blocks of ``width`` columns hold about ``BLOCK`` numbers."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, min(start + step, total)) for start in range(0, total, step))


@contextmanager
def share(count: int) -> Iterator[None]:
    """Inside the block this thread may use so many threads."""
    before = getattr(_own, "share", None)
    _own.share = count
    try:
        yield
    finally:
        _own.share = before


_guard = threading.Lock()
_asked: list[int] = []  # the limits of all blocks under way, in whatever threads
_libraries: list[tuple[Any, int]] = []  # each with the number of threads it had before the first of them


@contextmanager
def blas_limit(count: int) -> Iterator[None]:
    """At most so many BLAS threads inside the block.

    The setting belongs to the process: of blocks under way the smallest limit holds, and the last to leave restores
    what was.
    """
    with _guard:
        if not _asked:
            import scipy.linalg  # noqa: F401  # its BLAS must be loaded before it can be limited

            _libraries[:] = [(library, library.get_num_threads()) for library in _found(len(sys.modules))]
        _asked.append(count)
        _apply()
    try:
        yield
    finally:
        with _guard:
            _asked.remove(count)
            _apply()


@lru_cache(maxsize=1)
def _found(modules: int) -> list[Any]:
    """The BLAS libraries of this process, looked for when modules were imported since: that takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


def _apply() -> None:
    for library, before in _libraries:
        # threadpoolctl lets only one thread set the number for all, which may not be the one that leaves last.
        clear = getattr(library, "clear_controlling_thread", lambda *, force: None)
        clear(force=True)
        library.set_num_threads(min(before, *_asked) if _asked else before)
        clear(force=True)
