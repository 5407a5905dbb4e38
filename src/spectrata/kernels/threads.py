"""How many threads run: decided by the cores a process may use and by sizes, never by timing.

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
CGROUPS = Path("/sys/fs/cgroup")


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
    return quota_of(own, CGROUPS)


def quota_of(lines: Iterable[str], root: Path) -> float:
    """The smallest quota over the control groups named by the lines of ``/proc/self/cgroup``, and their parents."""
    smallest = math.inf
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / controllers if controllers else root
        if not top.exists():
            top = root / "cpu"
        place = top / path.lstrip("/")
        for folder in (place, *place.parents):
            if top in (folder, *folder.parents):
                smallest = min(smallest, _limit_of(folder))
    return smallest


def _limit_of(folder: Path) -> float:
    """The quota of one control group: ``cpu.max`` of version 2, two files of version 1."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        else:
            quota, period = (
                (folder / f"cpu.cfs_{name}_us").read_text(encoding="ascii").strip() for name in ("quota", "period")
            )
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):  # none, or "max"
        return math.inf


def spread(work: Callable[[int], object], items: Iterable[int]) -> list:
    """Run ``work`` on every item with a few threads; the compiled loops hold no lock."""
    count = threads()
    if count == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, items))


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
            _libraries[:] = _loaded()
        _asked.append(count)
        _apply()
    try:
        yield
    finally:
        with _guard:
            _asked.remove(count)
            _apply()


def _loaded() -> list[tuple[Any, int]]:
    """The BLAS libraries of this process, each with its number of threads."""
    import scipy.linalg  # noqa: F401  # its BLAS must be loaded before it can be limited

    return [(library, library.get_num_threads()) for library in _found(len(sys.modules))]


@lru_cache(maxsize=1)
def _found(modules: int) -> list[Any]:
    """The same, looked for when modules were imported since: that takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


def _apply() -> None:
    for library, before in _libraries:
        # threadpoolctl lets only one thread set the number for all, which may not be the one that leaves last.
        clear = getattr(library, "clear_controlling_thread", lambda *, force: None)
        clear(force=True)
        library.set_num_threads(min(before, *_asked) if _asked else before)
        clear(force=True)
