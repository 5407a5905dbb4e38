"""Whole profiles and ``gft`` alone against the dense solves, idle and beside processes that spin; all in one run.

    python benchmarks/speed.py            # about three minutes on two idle cores
    python benchmarks/speed.py --small    # tiny sizes, to see that it runs

Every ratio is the time of spectrata over that of ``scipy.linalg.eigh`` (``driver="evd"``) on the Laplacians of the
same strata, one after the other with all BLAS threads; for a busy machine, over its own time on an idle one. Of
measurements taken in turn the shortest counts; beside spinning processes the median does.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import networkx as nx
import numpy as np
from measure import in_turn, machine, seconds

import spectrata as st

HEADER = "| what | spectrata | against | ratio | at most |\n|---|---|---|---|---|"


def dense_solves(graph: nx.Graph) -> Callable[[], None]:
    """A call that solves the Laplacian of every stratum, one after the other."""
    from scipy.linalg import eigh

    laplacians = []
    for stratum in st.Stratification(graph).strata:
        matrix = np.zeros((len(graph), len(graph)), order="F")
        x, y = stratum.edges.T
        matrix[x, y] = matrix[y, x] = -1.0
        matrix[np.arange(len(graph)), np.arange(len(graph))] = stratum.degrees
        laplacians.append(matrix)

    def solves() -> None:
        for matrix in laplacians:
            eigh(matrix, driver="evd", check_finite=False)

    return solves


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many processes that use all the time they are given."""
    held = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    time.sleep(0.5)
    try:
        yield
    finally:
        for process in held:
            process.kill()
            process.wait()


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def row(what: str, ours: float, against: str, theirs: float, target: float | None) -> None:
    wanted = "" if target is None else f"{target:.2f}"
    print(f"| {what} | {seconds(ours)} | {against} {seconds(theirs)} | {ours / theirs:.2f} | {wanted} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that everything runs")
    small = parser.parse_args().small
    sizes = (120, 240) if small else (1000, 2000)
    print(machine(), f"load {os.getloadavg()[0]:.1f} before the run\n")
    print(HEADER)
    cores = len(os.sched_getaffinity(0))
    for n, target in zip(sizes, (0.95, 1.15), strict=True):
        graph = nx.gnm_random_graph(n, 3 * n, seed=1)
        signal = np.random.default_rng(0).standard_normal((n, 16))
        hops = len(st.Stratification(graph).hops)
        solves = dense_solves(graph)

        def profile(graph: nx.Graph = graph, signal: np.ndarray = signal) -> object:
            return st.spectra(graph, signal)

        def one(graph: nx.Graph = graph, signal: np.ndarray = signal) -> object:
            return st.spectra(graph, signal, "gft")

        for call in (profile, one, solves):
            call()  # compiles, and fills the caches
        repeats = 1 if small else 8000 // n
        ours, theirs = in_turn(profile, solves, repeats)
        row(f"whole profile, n = {n:,}, {hops} hops, four algorithms", ours, "dense solves", theirs, target)
        alone, theirs = in_turn(one, solves, repeats)
        row(f"gft alone, n = {n:,}, d = 16", alone, "dense solves", theirs, 0.60 if n == sizes[1] else None)
        with spinning(cores):
            busy = statistics.median(timed(profile) for _ in range(1 if small else 3))
            busy_alone = statistics.median(timed(one) for _ in range(1 if small else 3))
        row(f"whole profile, n = {n:,}, {cores} spinning processes", busy, "idle", ours, 2.5)
        row(f"gft alone, n = {n:,}, {cores} spinning processes", busy_alone, "idle", alone, 2.5)


if __name__ == "__main__":
    main()
