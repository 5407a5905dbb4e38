"""All comparisons, side by side: ``make bench``, or ``python benchmarks/run.py [--small] [NAME ...]``."""

import argparse
import contextlib
import resource
import subprocess
import sys
import time

import networkx as nx
import numpy as np
from baselines import as_printed, released_learning
from measure import HEADER, Row, best, in_turn, machine
from speed import dense_solves

import spectrata as st
from spectrata.core.bases.solve import decompose
from spectrata.core.parallel import shares_of
from spectrata.core.strata import line_stratum
from spectrata.inputs.graphs import as_graph
from spectrata.kernels import searches


def hop_peers(graph, known, matrix):
    """Each peer's own fastest call: label, call, target, repeats; peers that are not installed are left out."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    with contextlib.suppress(ImportError):
        import rustworkx

        peer = rustworkx.networkx_converter(graph)
        yield "rustworkx distance_matrix", lambda: rustworkx.distance_matrix(peer), "4x", 3
    with contextlib.suppress(ImportError):
        import igraph

        other = igraph.Graph(n=known.n_nodes, edges=known.edges.tolist())
        yield "igraph distances", lambda: other.distances(), "", 1
    with contextlib.suppress(ImportError):
        import networkit

        third = networkit.nxadapter.nx2nk(graph)
        yield "networkit APSP", lambda: networkit.distance.APSP(third).run(), "", 1
    with contextlib.suppress(ImportError):
        from sknetwork.path import get_distances

        older = csr_matrix(matrix)  # it does not take sparse arrays

        def row_by_row() -> None:
            for source in range(known.n_nodes):
                get_distances(older, source)

        yield "scikit-network get_distances", row_by_row, "", 1
    yield "scipy shortest_path", lambda: shortest_path(matrix, unweighted=True), "15x", 2
    yield "networkx", lambda: dict(nx.all_pairs_shortest_path_length(graph)), "100x", 1


def hops(small: bool) -> list[Row]:
    """All-pairs hop distances."""
    rows = []
    n = 600 if small else 5000
    for name, graph in (
        ("random", nx.gnm_random_graph(n, 3 * n, seed=1)),
        ("preferential", nx.barabasi_albert_graph(n, 3, seed=1)),
    ):
        known = as_graph(graph)
        matrix = nx.to_scipy_sparse_array(graph, format="csr")

        def ours(known=known):
            return searches.hop_distances(known.indptr, known.indices)

        ours()
        for label, theirs, target, repeats in hop_peers(graph, known, matrix):
            rows.append(Row(f"hops, {name}, n = {n:,}", label, *in_turn(ours, theirs, repeats), target))
    return rows


def profile(small: bool) -> list[Row]:
    """The whole profile against the dense solves of the same strata alone."""
    n = 300 if small else 2000
    graph = nx.gnm_random_graph(n, 3 * n, seed=1)
    signal = np.random.default_rng(0).standard_normal((n, 16))
    hops = len(st.spectra(graph, signal)["hop"])
    ours, theirs = in_turn(lambda: st.spectra(graph, signal), dense_solves(graph), 1 if small else 3)
    return [Row(f"whole profile, n = {n:,}, {hops} hops", "eigh(driver='evd') alone", ours, theirs, "0.87x")]


def basis(small: bool) -> list[Row]:
    """One eigenbasis, the graph's own, against the peer for graph signals."""
    try:
        from pygsp import graphs
        from scipy.sparse import csr_matrix
    except ImportError:
        return []
    n = 200 if small else 2000
    graph = nx.gnm_random_graph(n, 3 * n, seed=1)
    stratum = st.Stratification(graph, hops=1).strata.at(1)
    matrix = nx.to_scipy_sparse_array(graph)

    def theirs() -> None:
        graphs.Graph(csr_matrix(matrix)).compute_fourier_basis()

    return [Row(f"eigenbasis at K = 1, n = {n:,}", "PyGSP", *in_turn(lambda: decompose(stratum), theirs), "")]


def memory(small: bool) -> list[Row]:
    """Peak memory above the imports, in matrices of n x n doubles, measured in a fresh process."""
    n = 300 if small else 2000
    code = (
        "import networkx as nx, numpy as np, spectrata as st\n"
        "def peak():\n"
        "    return int(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
        # A first run loads every library and compiled kernel that the second uses.
        "g = nx.gnm_random_graph(600, 1800, seed=1); st.spectra(g, np.random.default_rng(0).random((600, 16)))\n"
        "before = peak()\n"
        f"g = nx.gnm_random_graph({n}, {3 * n}, seed=1)\n"
        f"st.spectra(g, np.random.default_rng(0).standard_normal(({n}, 16)))\n"
        "print((peak() - before) * 1024)\n"
    )
    used = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    at_once = shares_of(n, hops=8).at_once
    print(
        f"peak memory of the profile at n = {n:,}, {at_once} hops at once: {used / (8 * n * n):.1f} n^2 doubles "
        f"(at most {8 * at_once} wanted)"
    )
    return []


def printed(small: bool) -> list[Row]:
    """Against the algorithms as printed."""
    n = 60 if small else 200
    graph = nx.gnm_random_graph(n, 3 * n, seed=2)
    graph.add_edges_from(zip(range(n - 1), range(1, n), strict=True))
    signal = np.random.default_rng(0).standard_normal((n, 8))
    adjacency = nx.to_numpy_array(graph)
    st.spectra(graph, signal)
    ours, theirs = in_turn(lambda: st.spectra(graph, signal), lambda: as_printed(adjacency, signal))
    return [Row(f"all hops, n = {n}", "the algorithms as printed, vectorised", ours, theirs, "10x")]


def learning(small: bool) -> list[Row]:
    """LN-VX with 20 learned trials on one signal, against the released parametrisation trial by trial."""
    n, trials = (24, 2) if small else (100, 20)
    graph = nx.gnm_random_graph(n, 3 * n, seed=4)
    graph = graph.subgraph(max(nx.connected_components(graph), key=len))
    signal = np.random.default_rng(0).standard_normal((len(graph), 3))
    options = {"algorithms": "ln_vx", "ln_vx": {"trials": trials, "max_line_nodes": 10**4}}
    strat = st.Stratification(graph)

    def released() -> None:
        for hop in strat.hops:
            stratum = strat.strata.at(hop)
            released_learning(decompose(stratum).dense(), decompose(line_stratum(stratum)).dense(), trials)

    ours = best(lambda: st.spectra(graph, signal, **options), 1)
    theirs = best(released, 1)
    return [Row(f"LN-VX, n = {n}, all hops, {trials} trials", "released parametrisation", ours, theirs, "8x")]


def snapshots(small: bool) -> list[Row]:
    """Many snapshots in one call against one by one."""
    n, count, dims = (80, 50, 8) if small else (500, 1000, 64)
    graph = nx.gnm_random_graph(n, 3 * n, seed=1)
    signal = np.random.default_rng(0).standard_normal((count, n, dims))
    strat = st.Stratification(graph)
    strat.spectra(signal[:10])
    ours = best(lambda: strat.spectra(signal), 1 if small else 2)
    some = 5 if small else 25

    def one_by_one(call) -> float:
        return best(lambda: [call(row) for row in signal[:some]], 2) * count / some

    what = f"{count:,} snapshots, n = {n}, d = {dims}"
    return [
        Row(what, "strat.spectra one by one", ours, one_by_one(strat.spectra), "5x"),
        Row(what, "st.spectra one by one", ours, one_by_one(lambda row: st.spectra(graph, row)), "20x"),
    ]


def small_graphs(small: bool) -> list[Row]:
    """Many small graphs in one call against one by one."""
    count = 50 if small else 1000
    graphs = [nx.gnm_random_graph(32, 80, seed=seed) for seed in range(count)]
    signals = [np.random.default_rng(seed).standard_normal((32, 8)) for seed in range(count)]
    pairs = list(zip(graphs, signals, strict=True))
    some = 20 if small else 100
    ours = best(lambda: st.spectra_many(pairs))
    theirs = best(lambda: [st.spectra(graph, signal) for graph, signal in pairs[:some]], 2) * count / some
    return [Row(f"{count:,} graphs of 32 nodes", "st.spectra one by one", ours, theirs, "10x")]


def start(small: bool) -> list[Row]:
    """Cold processes: importing, and the first small profile."""
    for what, code in (
        ("import spectrata", "import spectrata"),
        ("first small profile", "import networkx as nx, spectrata as st; st.spectra(nx.path_graph(30), range(30))"),
    ):
        bare = best(lambda: subprocess.run([sys.executable, "-c", ""], check=True))
        taken = best(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True))
        print(f"cold process, {what}: {taken - bare:.2f} s above a bare interpreter")
    return []


ALL = {
    "hops": hops,
    "profile": profile,
    "basis": basis,
    "memory": memory,
    "printed": printed,
    "learning": learning,
    "snapshots": snapshots,
    "small_graphs": small_graphs,
    "start": start,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ALL)}; all by default")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that everything runs")
    arguments = parser.parse_args()
    print(machine(), "\n")
    rows, began = [], time.perf_counter()
    for name in arguments.names or ALL:
        found = ALL[name](arguments.small)
        rows += found
        for row in found:
            print(row, flush=True)
    print(f"\n{HEADER}")
    print("\n".join(str(row) for row in rows))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{time.perf_counter() - began:.0f} s in all, peak {peak:.1f} GiB")


if __name__ == "__main__":
    main()
