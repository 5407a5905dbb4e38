"""How cost grows with the size of the input, and what a local Dask cluster makes of it.

    python benchmarks/growth.py exponents [NAMES] [--small]   processor time at four sizes, and the fitted exponent
    python benchmarks/growth.py cluster [--workers 4] [--small]   the same work in one process and on a local cluster

An exponent b is the slope of log(processor time) over log(size), by least squares; times of a task differ by the size
alone. Processor time counts all threads, and holds on a busy machine; the cluster is timed by the clock, side by side.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

import spectrata as st
from spectrata.inputs.graphs import Graph, as_graph

DEGREE = 10


def random_graph(n: int, degree: int = DEGREE) -> Graph:
    """A random graph of this mean degree."""
    ends = np.random.default_rng(n).integers(n, size=(n * degree // 2, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    return as_graph(edges=ends, n_nodes=n)


def noise(n: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, columns))


def spectra(n: int) -> None:
    st.spectra(random_graph(n), noise(n, 4), hops=[1], weights=False)


def gft(n: int) -> None:
    st.spectra(random_graph(n), noise(n, 4), "gft", hops=[1], weights=False)


def bands(n: int) -> None:
    st.band_spectra(random_graph(n), noise(n, 4), algorithms="gft", lanczos={"steps": 60})


def diagnose(n: int, hop: int = 1) -> None:
    st.diagnose(random_graph(n, DEGREE if hop == 1 else 4), noise(n, 1), hops=[hop], draws=199)


def diagnose_far(n: int) -> None:
    diagnose(n, 2)


def ranking(n: int) -> None:
    """Columns of noise on 2,000 nodes; the size is their number."""
    st.rank_columns(random_graph(2_000), noise(2_000, n), hops=[1], draws=199)


# By name: what is measured, its sizes, and what the size counts.
TASKS: dict[str, tuple[Callable[[int], None], tuple[int, ...], str]] = {
    "spectra": (spectra, (500, 1_000, 2_000, 3_000), "nodes"),
    "gft": (gft, (500, 1_000, 2_000, 3_000), "nodes"),
    "bands": (bands, (25_000, 50_000, 100_000, 200_000), "nodes"),
    "diagnose": (diagnose, (25_000, 50_000, 100_000, 200_000), "nodes"),
    "diagnose, 2 hops": (diagnose_far, (12_500, 25_000, 50_000, 100_000), "nodes"),
    "rank_columns": (ranking, (50, 100, 200, 400), "columns"),
}


def measured(name: str, size: int) -> tuple[float, float]:
    """Processor seconds without the making of the input, and MiB at the peak; called in a process of its own."""
    import resource

    work, sizes, counted = TASKS[name]
    work(max(60, sizes[0] // 10))  # compiled code is loaded
    start = time.process_time()
    if counted == "nodes":
        random_graph(size, 4 if name.endswith("2 hops") else DEGREE)
    making = time.process_time() - start
    work(size)
    return time.process_time() - start - 2 * making, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def exponents(names: list[str], small: bool) -> None:
    print(f"{'task':<18}{'size of':<9}{'sizes':<38}{'processor s':<34}{'peak MiB':<24}exponent")
    for name in names:
        sizes, counted = TASKS[name][1:]
        sizes = tuple(max(60, size // 20) for size in sizes) if small else sizes
        rows = []
        for size in sizes:
            with multiprocessing.get_context("spawn").Pool(1) as fresh:
                rows.append(fresh.apply(measured, (name, size)))
        times, peaks = np.array(rows).T
        slope = np.polyfit(np.log(sizes), np.log(np.maximum(times, 1e-3)), 1)[0]
        listed = (", ".join(f"{x:,}" for x in sizes), ", ".join(f"{x:.2f}" for x in times))
        memory = ", ".join(f"{x:.0f}" for x in peaks)
        print(f"{name:<18}{counted:<9}{listed[0]:<38}{listed[1]:<34}{memory:<24}{slope:.2f}", flush=True)


# ---- a local cluster


def molecules(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Small graphs of 15 to 30 nodes, a ring with some chords each, and four numbers per node."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(count):
        n = int(rng.integers(15, 31))
        ring = np.column_stack([np.arange(n), np.roll(np.arange(n), -1)])
        chords = rng.integers(n, size=(4, 2))
        edges = np.unique(np.sort(np.concatenate([ring, chords[chords[:, 0] != chords[:, 1]]]), axis=1), axis=0)
        made.append((edges, rng.normal(size=(n, 4))))
    return made


@contextmanager
def clock(what: str) -> Any:
    start = time.perf_counter()
    yield
    print(f"{what:<62}{time.perf_counter() - start:>8.1f} s", flush=True)


def cluster(workers: int, small: bool) -> None:
    from dask.distributed import LocalCluster

    from spectrata.many.dask import DaskLaplacian, connect, dask_executor, save_rows

    count, n = (60, 3_000) if small else (40_000, 1_000_000)
    pairs, graph, signal = molecules(count), random_graph(n), noise(n, 8)
    how: dict[str, Any] = {"bands": 8, "algorithms": "gft", "lanczos": {"steps": 8 if small else 40}}
    with tempfile.TemporaryDirectory() as place, LocalCluster(n_workers=workers, threads_per_worker=1) as made:
        address = made.scheduler_address
        with clock(f"{count:,} small graphs, spectra_many, one process"):
            alone = st.spectra_many(pairs, hops=3, weights=False)
        with dask_executor(address) as executor, clock(f"the same on {workers} workers"):
            spread = st.spectra_many(pairs, executor, f"{place}/store.zarr", hops=3, weights=False)
        np.testing.assert_array_equal(alone["magnitude"].values, spread["magnitude"].values)
        with clock(f"band_spectra, {n:,} nodes, 8 columns, one process"):
            one = st.band_spectra(graph, signal, **how)
        with connect(address) as client:
            with clock(f"rows written, and read by {workers} workers"):
                operator = DaskLaplacian.from_folder(client, save_rows(graph, place))
            with clock(f"the same bands on {workers} workers"):
                many = st.band_spectra(operator, signal, **how)
        np.testing.assert_allclose(one["energy"].values, many["energy"].values, rtol=1e-5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("exponents", "cluster"))
    parser.add_argument("names", nargs="*", default=list(TASKS), help=", ".join(TASKS))
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--small", action="store_true", help="sizes that measure nothing")
    asked = parser.parse_args()
    if asked.command == "exponents":
        exponents(asked.names, asked.small)
    else:
        cluster(asked.workers, asked.small)


if __name__ == "__main__":
    sys.exit(main())
