"""Numerical stress at sizes too large for the test suite: clustered eigenvalues, graphs about to fall apart.

For every graph: the residual ``norm(L U - U lam)`` over ``n norm(L)``, which has to stay below 1e-12, the
orthogonality of the eigenvectors, and the energy law, all measured in full and not estimated. Run by hand::

    python benchmarks/stress.py [--nodes 5000] [--json stress.json] [name ...]
"""

import argparse
import json
import math
import time

import networkx as nx
import numpy as np

import spectrata as st
from spectrata.core.bases.verify import SAFETY

BLOCK = 500  # columns at a time


def path_of_cliques(n: int) -> nx.Graph:
    """Cliques of 50 in a row, neighbours joined by one edge: as many near-copies of each eigenvalue as cliques."""
    count = n // 50
    graph = nx.disjoint_union_all([nx.complete_graph(50)] * count)
    graph.add_edges_from((50 * k + 49, 50 * (k + 1)) for k in range(count - 1))
    return graph


def many_parts(n: int) -> nx.Graph:
    """Hundreds of equal rings, paths and single nodes, and one random part."""
    pieces = [nx.cycle_graph(10)] * (n // 40) + [nx.path_graph(10)] * (n // 40) + [nx.empty_graph(n // 4)]
    rest = n - sum(map(len, pieces))
    return nx.disjoint_union_all([*pieces, nx.fast_gnp_random_graph(rest, 3 / rest, seed=3)])


def barely(n: int) -> nx.Graph:
    """A random graph at the edge of connectivity, p = ln n / n."""
    return nx.fast_gnp_random_graph(n, math.log(n) / n, seed=1)


def one_extra_edge(n: int) -> nx.Graph:
    """A long path with one edge more, from its middle to its end."""
    graph = nx.path_graph(n)
    graph.add_edge(n // 2, n - 1)
    return graph


GRAPHS = {
    "regular tree": lambda n: nx.balanced_tree(4, round(math.log(n, 4)) if n > 100 else 2),
    "hypercube": lambda n: nx.convert_node_labels_to_integers(nx.hypercube_graph(int(math.log2(n)))),
    "complete multipartite": lambda n: nx.complete_multipartite_graph(*[50] * (n // 50)),
    "path of cliques": path_of_cliques,
    "barbell": lambda n: nx.barbell_graph(n // 2 - n // 20, n // 10),
    "star": lambda n: nx.star_graph(n - 1),
    "complete": nx.complete_graph,
    "grid": lambda n: nx.convert_node_labels_to_integers(nx.grid_2d_graph(n // 70, 70)),
    "barely connected": barely,
    "path and one edge": one_extra_edge,
    "many parts": many_parts,
}


def measured(graph: nx.Graph) -> dict[str, float]:
    """One solve of the first stratum, checked in full."""
    n = len(graph)
    strat = st.Stratification(graph, hops=[1])
    start = time.perf_counter()
    basis = strat.basis(1)
    seconds = time.perf_counter() - start
    vectors, values = basis.dense(), basis.values
    laplacian = nx.laplacian_matrix(graph, nodelist=range(n)).astype(float).tocsr()
    squares, skew = 0.0, 0.0
    for first in range(0, n, BLOCK):
        columns = slice(first, first + BLOCK)
        squares += float(np.sum((laplacian @ vectors[:, columns] - vectors[:, columns] * values[columns]) ** 2))
        gram = vectors.T @ vectors[:, columns]
        gram[np.arange(n)[columns], np.arange(gram.shape[1])] -= 1.0
        skew = max(skew, float(np.abs(gram).max()))
    signal = np.random.default_rng(0).standard_normal((n, 4))
    energy = float(np.sum(values * np.sum((vectors.T @ signal) ** 2, axis=1)))
    x, y = np.array(graph.edges).T
    gradients = float(np.sum((signal[x] - signal[y]) ** 2))
    return {
        "nodes": n,
        "edges": graph.number_of_edges(),
        "distinct": int(basis.eigenspace[-1]) + 1,
        "largest multiplicity": int(basis.multiplicity.max()),
        "smallest nonzero": float(values[~basis.is_zero][0]),
        "residual": math.sqrt(squares) / (n * values[-1]),
        "estimated": float(np.linalg.norm(basis.column_residual)) / SAFETY / (n * values[-1]),
        "skew": skew,
        "energy": abs(energy / gradients - 1.0),
        "seconds": seconds,
    }


def main() -> None:
    """Print a row for each graph; fail when a residual, the orthogonality or the energy law is off."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(GRAPHS), help=", ".join(GRAPHS))
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--json", help="write the figures here too")
    given = parser.parse_args()
    heads = ("nodes", "spaces", "most", "lam_2", "residual", "U^T U", "energy", "s")
    print(f"{'graph':22}", *(f"{head:>8}" for head in heads))
    rows, bad = {}, []
    for name in given.names:
        row = rows[name] = measured(GRAPHS[name](given.nodes))
        counts = (f"{row[key]:8}" for key in ("nodes", "distinct", "largest multiplicity"))
        sizes = (f"{row[key]:8.1e}" for key in ("smallest nonzero", "residual", "skew", "energy"))
        print(f"{name:22}", *counts, *sizes, f"{row['seconds']:8.1f}", flush=True)
        if row["residual"] > 1e-12 or row["skew"] > 1e-11 or row["energy"] > 1e-11:
            bad.append(name)
        if given.json:
            with open(given.json, "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=1)
    if bad:
        raise SystemExit(f"beyond the bounds: {', '.join(bad)}")


if __name__ == "__main__":
    main()
