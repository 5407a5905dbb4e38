"""Correlograms: time against the search and one pass over pairs, many columns, large graphs.

    python benchmarks/correlogram.py hops [--nodes 5000] [--dimensions 1]
    python benchmarks/correlogram.py columns [--nodes 10000] [--columns 20000]
    python benchmarks/correlogram.py large [--nodes 1000000]

Peak memory is that of the process. Processor time counts all threads, and holds on a busy machine.
"""

import argparse
import json
import resource
import time

import networkx as nx
import numpy as np
from numba import njit

import spectrata as st
from spectrata.core.strata import Strata
from spectrata.inputs.graphs import as_graph


def measured(call):
    """Wall and processor seconds of the fastest of three calls."""
    found = []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(found)


@njit
def one_pass(distances, t, sums):
    """Squared differences of all pairs, summed per hop: the plainest loop."""
    for x in range(len(distances)):
        for y in range(x + 1, len(distances)):
            total = 0.0
            for k in range(t.shape[1]):
                total += (t[x, k] - t[y, k]) ** 2
            sums[distances[x, y]] += total


def hops(nodes, dimensions):
    """All hops without draws, over the time of the breadth-first search and one pass over pairs."""
    graph = as_graph(nx.connected_watts_strogatz_graph(nodes, 6, 0.1, seed=1))
    values = np.random.default_rng(0).standard_normal((nodes, dimensions))
    strata = Strata(graph)
    call = lambda: st.correlogram(graph, values, metric="euclidean", draws=0)  # noqa: E731
    plain = lambda: one_pass(strata.distances, values, np.zeros(256))  # noqa: E731
    for warm in (call, plain):
        warm()
    whole, search, one = measured(call), measured(lambda: Strata(graph)), measured(plain)
    rows = {"correlogram": whole, "search": search, "one pass": one}
    print(json.dumps({name: [round(seconds, 3) for seconds in pair] for name, pair in rows.items()}))
    print("wall ratio", round(whole[0] / (search[0] + one[0]), 2), "processor ratio", end=" ")
    print(round(whole[1] / (search[1] + one[1]), 2))


def columns(nodes, count):
    """Scalar columns at K = 1 on a graph of near neighbours, 500 of them planted."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(0)
    places = rng.uniform(size=(nodes, 2))
    near = cKDTree(places).query(places, 7)[1][:, 1:]
    edges = np.unique(np.sort(np.column_stack([np.repeat(np.arange(nodes), 6), near.ravel()]), axis=1), axis=0)
    values = rng.poisson(0.3, size=(nodes, count)).astype(np.float32)
    values[:, :500] += 2 * np.sin(6 * places[:, :1]).astype(np.float32)
    wall, cpu = time.perf_counter(), time.process_time()
    found = st.correlogram(edges, values, hops=1, columns="separate")
    print(json.dumps({"nodes": nodes, "columns": count, "wall_s": round(time.perf_counter() - wall, 1),
                      "cpu_s": round(time.process_time() - cpu, 1), "peak_gb": peak(),
                      "q <= .05": int((found["q"] <= 0.05).sum())}))  # fmt: skip


def large(nodes):
    """K = 1 and 2 on a random graph of mean degree 6."""
    rng = np.random.default_rng(0)
    graph = as_graph(edges=rng.integers(nodes, size=(3 * nodes, 2)), n_nodes=nodes)
    values = rng.standard_normal(nodes)
    for asked in ({"hops": 1}, {"hops": 2}):
        wall, cpu = time.perf_counter(), time.process_time()
        found = st.correlogram(graph, values, **asked)
        print(json.dumps({"nodes": nodes, **asked, "wall_s": round(time.perf_counter() - wall, 1),
                          "cpu_s": round(time.process_time() - cpu, 1), "peak_gb": peak(),
                          "r": found["r"].values.round(4).tolist()}), flush=True)  # fmt: skip


def peak():
    """Largest memory of this process so far, in GB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("hops")
    one.add_argument("--nodes", type=int, default=5000)
    one.add_argument("--dimensions", type=int, default=1)
    one = commands.add_parser("columns")
    one.add_argument("--nodes", type=int, default=10_000)
    one.add_argument("--columns", type=int, default=20_000)
    one = commands.add_parser("large")
    one.add_argument("--nodes", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.command == "hops":
        hops(given.nodes, given.dimensions)
    elif given.command == "columns":
        columns(given.nodes, given.columns)
    else:
        large(given.nodes)


if __name__ == "__main__":
    main()
