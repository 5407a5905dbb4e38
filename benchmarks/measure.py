"""Timing side by side: every ratio comes from two measurements in one run, taken in turn."""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One comparison: how long a baseline takes over how long spectrata takes."""

    what: str
    baseline: str
    ours: float
    theirs: float
    target: str

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    def __str__(self) -> str:
        return (
            f"| {self.what} | {self.baseline} | {seconds(self.ours)} | {seconds(self.theirs)} | "
            f"{self.ratio:.2f}x | {self.target} |"
        )


HEADER = "| what | against | spectrata | baseline | ratio | target |\n|---|---|---|---|---|---|"


def best(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of a few runs: what the machine can do when it is left alone."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """Both, one after the other, several times over, so that a slow minute of the machine hits both."""
    pairs = [(best(ours, 1), best(theirs, 1)) for _ in range(repeats)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def seconds(value: float) -> str:
    return f"{1000 * value:.1f} ms" if value < 1 else f"{value:.2f} s"


def machine() -> str:
    """The machine in one line."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    from spectrata.kernels.threads import threads

    return f"{name}, {threads()} cores, Python {platform.python_version()}"
