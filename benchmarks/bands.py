"""Bands against the exact result, and their cost up to a million nodes.

    python benchmarks/bands.py accuracy [--graphs 40] [--signals 5]
    python benchmarks/bands.py scale [--sizes 10000,100000,1000000] [--steps 120]
    python benchmarks/bands.py point N HOP STEPS [ALGORITHMS]     one line of the table, in a fresh process

Peak memory is that of the process. Processor time counts all threads, and holds on a busy machine.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import networkx as nx
import numpy as np

import spectrata as st
from spectrata.inputs.graphs import as_graph

KINDS = ("erdos-renyi", "grid", "barabasi-albert", "disconnected")


def random_graph(kind, n, rng):
    """A graph of about n nodes."""
    seed = int(rng.integers(2**31))
    if kind == "grid":
        rows = int(rng.integers(n**0.5 / 2, n**0.5 + 1))
        return nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, n // rows))
    if kind == "barabasi-albert":
        return nx.barabasi_albert_graph(n, int(rng.integers(1, 8)), seed=seed)
    degree = rng.uniform(4, 20) if kind == "erdos-renyi" else rng.uniform(0.8, 3)
    return nx.fast_gnp_random_graph(n, degree / n, seed=seed)


def random_signal(graph, d, rng):
    """Noise, noise smoothed along edges, a few spikes, or steps over parts of the nodes."""
    n = len(graph)
    noise = rng.standard_normal((n, d))
    kind = rng.integers(4)
    if kind == 1:
        adjacency = nx.to_scipy_sparse_array(graph, nodelist=range(n), format="csr")
        degree = np.maximum(adjacency.sum(axis=1), 1)[:, None]
        for _ in range(int(rng.integers(1, 30))):
            noise = 0.5 * noise + 0.5 * (adjacency @ noise) / degree
    if kind == 2:
        spikes = np.full((n, d), 0.5)
        spikes[rng.integers(n, size=5)] += noise[:5]
        return spikes
    if kind == 3:
        return 1.0 + (np.arange(n)[:, None] // rng.integers(50, 500) % 2) + 0.1 * noise
    return noise


def accuracy(graphs, signals, n, seed, tol):
    """Errors and bounds on random cases; the exact result is a full decomposition."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(graphs):
        kind = KINDS[index % len(KINDS)]
        graph = random_graph(kind, n, rng)
        strat = st.Stratification(graph, hops=[1])
        for _ in range(signals):
            d = int(rng.integers(1, 17))
            signal = random_signal(graph, d, rng)
            metric = "euclidean" if d == 1 or rng.random() < 0.5 else "angular"
            bands = int(rng.integers(8, 65))
            start = time.process_time()
            found = st.band_spectra(
                strat, signal, bands=bands, metric=metric, apprx_ls={"orientation": "index"}, tol=tol
            )
            spent = time.process_time() - start
            exact = strat.spectra(
                signal, ("gft", "in_agg", "apprx_ls"), metric=metric, apprx_ls={"orientation": "index"}
            )
            rows += [
                {"kind": kind, "d": d, "bands": bands, "algorithm": algorithm, "seconds": spent}
                | against_exact(found, exact, algorithm)
                for algorithm in ("gft", "in_agg", "apprx_ls")
            ]
        print(f"graph {index + 1} of {graphs} ({kind}): {summary(rows)}", flush=True)
    for kind in KINDS:
        print(kind, summary([row for row in rows if row["kind"] == kind]))
    return rows


def against_exact(found, exact, algorithm):
    """Largest error of a cumulative share, largest step outside the bounds, and the bounds' half width."""
    edges = found["band_upper"].values[0][:-1]
    values, off = exact["eigenvalue"].values[0], exact["eigenspace"].values[0] > 0
    energy = np.where(off, exact["magnitude"].loc[algorithm, 1].values ** 2, 0.0)
    share = np.array([energy[values <= edge].sum() for edge in edges]) / max(energy.sum(), 1e-300)
    one = {
        name: found[name].loc[algorithm, 1].values[:-1]
        for name in ("cumulative", "cumulative_lower", "cumulative_upper")
    }
    outside = np.maximum(one["cumulative_lower"] - share, share - one["cumulative_upper"])
    return {
        "error": float(np.max(np.abs(one["cumulative"] - share))),
        "outside": float(np.max(outside)),
        "half": float(np.max(one["cumulative_upper"] - one["cumulative_lower"])) / 2,
        "steps": int(found["steps"].loc[algorithm, 1]),
        "status": str(found["status"].loc[algorithm, 1].values),
    }


def summary(rows):
    """One line on many cases."""
    column = {name: np.array([row[name] for row in rows]) for name in ("error", "outside", "half", "steps")}
    bad = [row["status"] for row in rows if row["status"] != "ok"]
    return (
        f"{len(rows)} values, largest error {np.nanmax(column['error']):.4f} "
        f"(median {np.nanmedian(column['error']):.4f}), largest half width {np.nanmax(column['half']):.4f}, "
        f"outside its bounds by {np.nanmax(column['outside']):.1e}, "
        f"steps {np.median(column['steps']):.0f} (to {column['steps'].max()}), not ok: {len(bad)} {bad[:2]}"
    )


def random_edges(n, degree, rng):
    """Edges of a random graph of this mean degree, without loops or repeats."""
    drawn = rng.integers(n, size=(int(n * degree / 2 * 1.01) + 10, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    keys = np.unique(drawn.min(axis=1) * n + drawn.max(axis=1))
    chosen = rng.permutation(keys)[: n * degree // 2]
    return np.stack([chosen // n, chosen % n], axis=1)


def point(n, hop, steps, algorithms, d=16, degree=10):
    """One measured point: wall and processor seconds, peak memory."""
    rng = np.random.default_rng(0)
    graph = as_graph(edges=random_edges(n, degree, rng), n_nodes=n)
    signal = rng.standard_normal((n, d))
    small = as_graph(edges=[(i, (i + 1) % 50) for i in range(50)])
    st.band_spectra(small, rng.standard_normal((50, d)), lanczos={"steps": 4})  # compiled code is loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    ds = st.band_spectra(graph, signal, hops=[hop], lanczos={"steps": steps}, algorithms=algorithms)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    half = (ds["cumulative_upper"] - ds["cumulative_lower"]).max("band") / 2
    return {
        "n": n,
        "hop": hop,
        "edges": int(ds["n_edges"][0]),
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "before_gb": round(before / 2**20, 2),
        "steps": ds["steps"].values[:, 0].tolist(),
        "half_width": [round(float(value), 4) for value in half.values[:, 0]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("accuracy")
    one.add_argument("--graphs", type=int, default=40)
    one.add_argument("--signals", type=int, default=5)
    one.add_argument("--nodes", type=int, default=2000)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--tol", type=float, default=0.01)
    one = commands.add_parser("scale")
    one.add_argument("--sizes", default="10000,31623,100000,316228,1000000")
    one.add_argument("--steps", type=int, default=120)
    one = commands.add_parser("point")
    one.add_argument("n", type=int)
    one.add_argument("hop", type=int)
    one.add_argument("steps")
    one.add_argument("algorithms", nargs="?", default="gft,in_agg,apprx_ls")
    given = parser.parse_args()
    if given.command == "accuracy":
        accuracy(given.graphs, given.signals, given.nodes, given.seed, given.tol)
    elif given.command == "point":
        steps = "auto" if given.steps == "auto" else int(given.steps)
        print(json.dumps(point(given.n, given.hop, steps, given.algorithms.split(","))))
    else:
        for n in given.sizes.split(","):
            call = [sys.executable, __file__, "point", n, "1", str(given.steps)]
            print(subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
