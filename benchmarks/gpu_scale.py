"""Large graphs and batches on one GPU, with the time of each stage.

    python benchmarks/gpu_scale.py check            GPU against CPU on 150,000 nodes
    python benchmarks/gpu_scale.py rows [--nodes 5000000]       from a scipy CSR matrix in main memory
    python benchmarks/gpu_scale.py batches [--graphs 40000]     molecule-sized graphs, hops 1 to 3, four algorithms
    python benchmarks/gpu_scale.py huge [--nodes 65600000]      from CSR on the device; 27 random permutations
    python benchmarks/gpu_scale.py likeness [--nodes 1000000]   diagnose at one hop, 499 orders of each null

Several parts may be named; one that fails does not stop the rest.

Targets on one H200: 5 M nodes 6 s, 40,000 graphs 10 s, 65.6 M nodes and 1.77 G edges 60 s. Compiled code is loaded
before the clock starts. Stages are measured with the device idle before and after; what stages call of each other is
counted once.
"""

import argparse
import functools
import signal
import threading
import time
import traceback
import warnings
from collections import defaultdict

import cupy
import numpy as np
import scipy.sparse as sp

import spectrata as st
from spectrata.bands import fused_laplacian, lanczos, measure, one_hop, spectra
from spectrata.kernels import fused_rows
from spectrata.many import run as many_run
from spectrata.many import stacked, stacked_bases, work

COLUMNS, BANDS, STEPS = 16, 32, 120


class Stages:
    """Seconds of named functions, those of nested ones taken off."""

    def __init__(self):
        self.seconds, self.calls, self.local = defaultdict(float), defaultdict(int), threading.local()

    def timed(self, function, name):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            if not hasattr(self.local, "inside"):
                self.local.inside = [0.0]
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            self.local.inside.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                cupy.cuda.Device().synchronize()
                spent = time.perf_counter() - start
                self.seconds[name] += spent - self.local.inside.pop()
                self.calls[name] += 1
                self.local.inside[-1] += spent

        return inner

    def watch(self, owner, attribute, name):
        found = vars(owner)[attribute]
        if isinstance(found, functools.cached_property):
            found.func = self.timed(found.func, name)
        else:
            setattr(owner, attribute, self.timed(found, name))

    def report(self, whole):
        rows = sorted(self.seconds.items(), key=lambda row: -row[1])
        for name, seconds in rows:
            print(f"    {name:28} {seconds:8.3f} s  {self.calls[name]:6d} calls", flush=True)
        print(f"    {'(the rest)':28} {whole - sum(self.seconds.values()):8.3f} s", flush=True)

    def clear(self):
        self.seconds.clear()
        self.calls.clear()


STAGES = Stages()
WATCHED = [
    (spectra, "as_device_graph", "graph: checks and copies"),
    (fused_rows, "inspect", "graph: inspect"),
    (fused_rows, "sorted_rows", "graph: sort rows"),
    (fused_rows, "kept", "graph: drop entries"),
    (fused_rows.DeviceRows, "asymmetry", "graph: symmetry"),
    (fused_rows.DeviceRows, "parts", "parts"),
    (spectra, "as_device_signal", "signal: read"),
    (spectra, "potential", "signal: potential"),
    (fused_laplacian.DeviceLaplacian, "gradients", "gradient"),
    (measure.Probes, "__init__", "probes: draw and upload"),
    (one_hop, "remove_zero", "zero components"),
    (one_hop, "solve_laplacian", "least squares"),
    (lanczos.BlockLanczos, "advance", "Lanczos"),
    (measure, "column_bounds", "readout: bounds"),
    (measure, "column_masses_near", "readout: on edges"),
    (spectra, "label", "result"),
    (work, "_read", "batch: read"),
    (stacked, "hop_distances", "batch: distances"),
    (stacked_bases, "_eigh", "batch: solve"),
    (stacked_bases, "verify_stack", "batch: verify"),
    (fused_rows, "pair_sums", "batch: pair sums"),
    (stacked, "measured", "batch: algorithms"),
    (many_run, "in_memory", "batch: result"),
]


def timed(work):
    """Seconds and result of ``work()``, printed with its stages."""
    STAGES.clear()
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    found = work()
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - start
    STAGES.report(seconds)
    return seconds, found


def memory():
    free, total = cupy.cuda.Device().mem_info
    return f"{(total - free) / 2**30:.1f} of {total / 2**30:.1f} GiB taken"


def random_rows(n, degree=10, seed=0):
    """Rows of a random graph of this mean degree, made on the device."""
    rng = cupy.random.default_rng(seed)
    pairs = rng.integers(0, n, (2, n * degree // 2), dtype=np.int64)
    proper = pairs[0] != pairs[1]
    return fused_rows.rows_of_pairs(pairs[0][proper], pairs[1][proper], n)[0]


def scipy_rows(n, degree=10):
    rows = random_rows(n, degree)
    indptr, indices = cupy.asnumpy(rows.indptr), cupy.asnumpy(rows.indices)
    return sp.csr_array((np.ones(len(indices), dtype=np.float32), indices, indptr), shape=(n, n))


def bands(graph, signal, algorithms=("gft", "in_agg"), **more):
    return st.band_spectra(graph, signal, BANDS, algorithms=algorithms, lanczos={"steps": STEPS}, **more)


def widths(ds):
    half = ((ds["cumulative_upper"] - ds["cumulative_lower"]).max("band") / 2).values.ravel()
    return ", ".join(f"{name} ±{value:.4f}" for name, value in zip(ds["algorithm"].values, half, strict=True))


def check(given):
    """The same graph on the processor and on the GPU: the load of compiled code, and a comparison by value."""
    graph = scipy_rows(150_000)
    values = np.random.default_rng(0).standard_normal((150_000, COLUMNS))
    every = ("gft", "in_agg")
    seconds, found = timed(lambda: bands(graph, cupy.asarray(values), every))
    cut = np.append(found["band_lower"].values[0], found["band_upper"].values[0, -1])
    start = time.perf_counter()
    expected = st.band_spectra(graph, values, cut, algorithms=every, lanczos={"steps": STEPS})
    print(f"check: GPU {seconds:.2f} s with compilation, CPU {time.perf_counter() - start:.2f} s")
    for name in ("cumulative", "cumulative_lower", "cumulative_upper"):
        apart = np.abs(found[name].values - expected[name].values)[..., :-1].max()
        print(f"    {name}: largest difference {apart:.2e}")
    same = found.attrs["graph_hash"] == expected.attrs["graph_hash"]
    print(f"    same graph: {same}; parts {found['n_parts'].item()} and {expected['n_parts'].item()}; {widths(found)}")


def rows(given):
    """Bands from a CSR matrix in main memory."""
    n = given.nodes or 5_000_000
    graph = scipy_rows(n)
    values = cupy.asnumpy(cupy.random.default_rng(1).standard_normal((n, COLUMNS)))
    for algorithms in (("gft", "in_agg"), ("gft", "apprx_ls", "in_agg"))[: 1 + given.least_squares]:
        seconds, found = timed(lambda names=algorithms: bands(graph, cupy.asarray(values), names))
        print(
            f"rows: {n:,} nodes, {graph.nnz // 2:,} edges, {', '.join(algorithms)}: {seconds:.2f} s (target 6 s for "
            f"5 M nodes); {widths(found)}; {memory()}"
        )


def likeness(given):
    """``diagnose`` with the signal on the device and in main memory: seconds, and the same numbers."""
    n = given.nodes or 1_000_000
    edges = cupy.asnumpy(random_rows(n).upper()[0])
    start = time.perf_counter()
    strat = st.Stratification(edges=edges, n_nodes=n, hops=[1])
    print(f"likeness: {n:,} nodes, {len(edges):,} edges, read in {time.perf_counter() - start:.1f} s")
    values = cupy.random.default_rng(1).standard_normal(n)
    tables = []
    for given_values in (values, cupy.asnumpy(values)):
        for run in ("first", "second"):
            processor = time.process_time()
            seconds, found = timed(lambda one=given_values: st.diagnose(strat, one))
            processor = time.process_time() - processor
            print(f"    {type(given_values).__module__}, {run}: {seconds:.2f} s, {processor:.1f} s of processor time")
        tables.append(found.to_frame()[["value", "p", "value_given", "p_given"]].to_numpy(float)[:1])
    print(f"    r, p, r and p given: {tables[0][0]}; largest difference {np.abs(tables[0] - tables[1]).max():.1e}")


def molecules(count, seed=0, columns=4):
    """Trees with a few more edges: 25 nodes in the mean, up to 200."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        n = int(np.clip(rng.gamma(4.0, 25 / 4), 5, 200))
        parents = np.maximum((rng.random(n - 1) * np.arange(1, n)).astype(int), np.arange(1, n) - 4)
        pairs.append((np.stack([parents, np.arange(1, n)]), rng.standard_normal((n, columns))))
    return pairs


def batches(given):
    """Many small graphs: four algorithms at hops 1 to 3."""
    algorithms = ("gft", "apprx_ls", "in_agg", "adj_diff")
    for n in (24, 48, 64, 96, 128):
        stack = np.random.default_rng(n).standard_normal((200, n, n))
        stack = stack + stack.swapaxes(1, 2)
        there, seconds = cupy.asarray(stack), []
        for solve in (cupy.linalg.eigh, cupy.linalg.eigh, lambda _, stack=stack: np.linalg.eigh(stack)):
            start = time.perf_counter()
            solve(there)
            cupy.cuda.Device().synchronize()
            seconds.append(1000 * (time.perf_counter() - start))
        print(f"    200 matrices of {n}: cupy {seconds[1]:.1f} ms, numpy {seconds[2]:.1f} ms", flush=True)
    few = molecules(300, seed=1)
    on_gpu, on_cpu = (
        st.spectra_many(few, algorithms=algorithms, hops=3, stratification={"device": where})
        for where in ("cuda", "cpu")
    )
    energy = [(ds["magnitude"].sel(algorithm=list(algorithms[:3])) ** 2).sum("component") for ds in (on_gpu, on_cpu)]
    apart = float(np.abs(energy[0] / energy[1] - 1).max())
    values = float(np.abs(on_gpu["eigenvalue"] - on_cpu["eigenvalue"]).max())
    print(f"batches: 300 graphs, GPU against CPU: energies {apart:.1e} (relative), eigenvalues {values:.1e}")
    pairs = molecules(given.graphs)
    sizes = np.array([len(one) for _, one in pairs])
    seconds, found = timed(
        lambda: st.spectra_many(pairs, algorithms=algorithms, hops=3, stratification={"device": "cuda"})
    )
    done = int((found["state"] == "done").sum())
    print(
        f"batches: {len(pairs):,} graphs of {sizes.mean():.1f} nodes (to {sizes.max()}), {done:,} done: "
        f"{seconds:.2f} s (target 10 s for 40,000); seconds of stages are summed over threads"
    )


class DeviceCSR:
    """Compressed rows on the device with 64-bit row pointers and 32-bit indices, which no sparse class has."""

    format = "csr"

    def __init__(self, indptr, indices, data, n):
        self.indptr, self.indices, self.data, self.shape, self.nnz = indptr, indices, data, (n, n), len(indices)

    def tocoo(self):
        raise NotImplementedError("too large for pairs")


def permutation_rows(n, permutations):
    """Rows of the graph that joins every node with its images and preimages, unsorted and with a few repeats."""
    table = cupy.empty((n, 2 * permutations), dtype=np.int32)
    order = cupy.arange(n, dtype=np.int32)
    for k in range(permutations):
        image = cupy.random.permutation(n).astype(np.int32)
        table[:, 2 * k] = image
        table[image, 2 * k + 1] = order
    indptr = cupy.arange(n + 1, dtype=np.int64) * (2 * permutations)
    return DeviceCSR(indptr, table.ravel(), cupy.ones(n * 2 * permutations, dtype=bool), n)


def huge(given):
    """Bands from CSR on the device."""
    small = permutation_rows(200_000, 2)
    bands(small, cupy.ones((200_000, COLUMNS)) + cupy.random.standard_normal((200_000, COLUMNS)), "gft")
    n = given.nodes or 65_600_000
    start = time.perf_counter()
    graph = permutation_rows(n, 27)
    values = cupy.random.default_rng(1).standard_normal((n, COLUMNS), dtype=np.float32)
    cupy.cuda.Device().synchronize()
    print(f"huge: made in {time.perf_counter() - start:.1f} s; {memory()}", flush=True)
    seconds, found = timed(lambda: bands(graph, values, "gft"))
    per_step = 1000 * STAGES.seconds["Lanczos"] / (2 * STEPS)
    print(
        f"huge: {n:,} nodes, {found.attrs['n_edges']:,} edges, {COLUMNS} columns, {STEPS} steps: {seconds:.1f} s "
        f"(target 60 s for 65.6 M nodes); {per_step:.0f} ms a step in the mean over probes and columns; "
        f"{found['status'].values.ravel()}; {widths(found)}; {memory()}",
        flush=True,
    )


def guarded(name, function, given, limit):
    """Run one part within a time limit; a failure is printed and the next part goes on."""

    def stop(number, frame):
        raise TimeoutError(f"{name} took longer than {limit} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        function(given)
    except Exception:
        traceback.print_exc()
        STAGES.report(0.0)
    finally:
        signal.alarm(0)
        cupy.get_default_memory_pool().free_all_blocks()
        print(f"-- {name} done at {time.perf_counter() - BEGAN:.0f} s; {memory()}", flush=True)


BEGAN = time.perf_counter()
PARTS = {"check": (check, 60), "rows": (rows, 45), "batches": (batches, 45), "huge": (huge, 110)}
PARTS["likeness"] = (likeness, 90)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", choices=list(PARTS), nargs="+")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--graphs", type=int, default=40_000)
    parser.add_argument("--least-squares", action="store_true", help="rows: apprx_ls too, in a second run")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for owner, attribute, name in WATCHED:
        try:
            STAGES.watch(owner, attribute, name)
        except (KeyError, AttributeError) as problem:
            print(f"not watched: {attribute} ({problem})")
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    print(properties["name"].decode(), "cupy", cupy.__version__, flush=True)
    for name in given.parts:
        guarded(name, PARTS[name][0], given, PARTS[name][1])


if __name__ == "__main__":
    main()
