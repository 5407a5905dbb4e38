"""Time the bottleneck weights of all hops against one dense solve: `python benchmarks/hop_weights.py`.

At 2,000 nodes and mean degrees up to 20, all hops together should take at most half of one solve of that size.
"""

import argparse

import networkx as nx
import numpy as np
from measure import HEADER, Row, in_turn, machine

from spectrata.core.bases.solve import decompose
from spectrata.core.strata import Strata, Stratum
from spectrata.inputs.graphs import as_graph


def compared(n: int, degree: int, rule: str) -> Row:
    """Weights of every pair at every hop, and the eigenbasis of the first stratum."""
    drawn = nx.gnm_random_graph(n, n * degree // 2, seed=1)
    weights = np.random.default_rng(0).uniform(0.1, 10.0, drawn.number_of_edges())
    graph = as_graph(drawn, weights=weights)
    first: Stratum = Strata(graph, [1]).at(1)

    def weigh() -> None:
        strata = Strata.__new__(Strata)
        strata.__dict__.update(prepared.__dict__)
        strata.__dict__.pop("_path_weights", None)  # computed once per Strata
        strata._path_weights  # noqa: B018

    prepared = Strata(graph, None, rule)
    ours, theirs = in_turn(weigh, lambda: decompose(first))
    what = f"{rule} weights, n = {n:,}, mean degree {degree}, {prepared.diameter} hops"
    return Row(what, "one solve of K = 1", ours, theirs, "2x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2000)
    given = parser.parse_args()
    print(machine())
    print(HEADER)
    for degree in (4, 10, 20):
        print(compared(given.nodes, degree, "bottleneck"), flush=True)


if __name__ == "__main__":
    main()
