"""Which pairs of nodes a correlogram reads: all at each hop, or those of a few random roots."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.large_strata import chosen_roots, edge_pairs, root_pairs
from spectrata.core.resources import distance_bytes, require_memory
from spectrata.core.rows import Rows as EdgeRows
from spectrata.core.rows import hop_rows
from spectrata.core.spectra import refuse_graph_arguments
from spectrata.core.strata import HOP_WEIGHTS, Strata, asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import HopError, OptionError, warn
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.numbers import one_of
from spectrata.kernels.fast import both_directions
from spectrata.kernels.pair_sums import Rows
from spectrata.stats.pairs import pair_rows

# All-pairs hop distances of more nodes are not made: a byte each, and four for every pair.
ALL_PAIRS = 20_000
ROOTS = 100


@dataclass(frozen=True, eq=False)
class PairSource:
    """Pairs of nodes at some hops.

    Attributes
    ----------
    graph : Graph
    hops : tuple of int
    rows : list of Rows
        The pairs of each hop.
    weights : str
        The rule for pairs more than one hop apart; nothing where all weights are 1.
    roots : int
        Random roots whose pairs are read; 0 for all pairs. Hop 1 always has all pairs.
    """

    graph: Graph
    hops: tuple[int, ...]
    rows: list[Rows]
    weights: str = ""
    roots: int = 0

    def sampled(self, at: int) -> bool:
        """Whether the pairs of a hop are those of some roots."""
        return self.roots > 0 and self.hops[at] > 1


def pair_source(
    given: Any,
    hops: int | Iterable[int] | None,
    weights: Any,
    hop_weights: str,
    undirected: bool,
    roots: int | None,
    seed: int,
) -> PairSource:
    """The pairs of a graph in any form, or of a Stratification."""
    named = {"hops": hops, "weights": weights, "hop_weights": hop_weights, "undirected": undirected}
    if isinstance(given, Stratification):
        refuse_graph_arguments("A Stratification", **named)
        if roots is None:
            return _all_pairs(given.strata)
        return _root_source(given.graph, list(given.hops), roots, seed, given.weights)
    one_of(hop_weights, "hop_weights", HOP_WEIGHTS)
    graph = as_graph(given, weights=weights, undirected=undirected)
    asked = asked_hops(hops)
    rule = "" if graph.weights is None else hop_weights
    if roots is None and asked is None and graph.n_nodes > ALL_PAIRS:
        roots = ROOTS
        warn(
            f"All hops of {graph.n_nodes:,} nodes are estimated from the pairs of {ROOTS} random roots; roots= takes "
            "more, and hops=2, say, reads all pairs up to 2 hops."
        )
    if roots is not None:
        return _root_source(graph, asked, roots, seed, rule)
    if asked in (1, [1]) and graph.n_edges:
        return PairSource(graph, (1,), [_edges(graph)], rule)
    if graph.n_nodes > ALL_PAIRS:
        return _near_pairs(graph, asked, rule, hop_weights)
    n = graph.n_nodes
    require_memory(distance_bytes(n) + 2 * n * n, f"All pairs of {n:,} nodes", "use hops=1, or roots=100")
    return _all_pairs(Strata(graph, asked, hop_weights))


def _all_pairs(strata: Strata) -> PairSource:
    rule = "" if strata.graph.weights is None else strata.hop_weights
    if not strata.hops:
        raise HopError("The graph has no edges, and so no pairs of nodes at any hop.")
    return PairSource(strata.graph, strata.hops, pair_rows(strata, strata.hops), rule)


def _near_pairs(graph: Graph, asked: int | list[int] | None, rule: str, hop_weights: str) -> PairSource:
    """All pairs at a few hops of a large graph, found by bounded searches."""
    listed = isinstance(asked, list)
    found: dict[int, Rows] = {}
    for hop in asked if isinstance(asked, list) else range(1, (asked or 1) + 1):
        rows = edge_pairs(hop_rows(graph, hop, hop_weights))
        if not rows.size:
            if listed:
                raise HopError(f"hop {hop} is larger than the diameter of the graph; use smaller hops.")
            break
        found[hop] = rows
    return PairSource(graph, tuple(found), list(found.values()), rule)


def _root_source(graph: Graph, asked: Any, roots: Any, seed: int, rule: str) -> PairSource:
    """Pairs of random roots; those of hop 1 are all at hand."""
    if rule and asked not in (1, [1]) and rule != "unit":
        raise OptionError(
            "roots= counts every pair more than one hop apart as 1; use hop_weights='unit', or weights=False."
        )
    chosen = chosen_roots(graph.n_nodes, roots, seed)
    last = asked[-1] if isinstance(asked, list) else asked
    rows = root_pairs(graph, chosen, last)
    if graph.n_edges:
        rows[:1] = [_edges(graph)]
    if isinstance(asked, list) and asked[-1] > len(rows):
        raise HopError(f"No root reaches hop {asked[-1]}; the farthest node seen is {len(rows)} hops away.")
    hops = asked if isinstance(asked, list) else range(1, len(rows) + 1)
    return PairSource(graph, tuple(hops), [rows[hop - 1] for hop in hops], rule, len(chosen))


def _edges(graph: Graph) -> Rows:
    weights = None if graph.weights is None else both_directions(graph.indptr, graph.indices, graph.weights)
    return edge_pairs(EdgeRows(graph.indptr, graph.indices, weights))


@dataclass(frozen=True, eq=False)
class Sizes:
    """Pairs of each hop, arrays ``(H,)``: counted, or estimated from roots with a standard error."""

    pairs: np.ndarray
    error: np.ndarray
    few: np.ndarray  # whether few roots hold most of the hop


def sizes(source: PairSource) -> Sizes:
    """How many pairs each hop has."""
    n, count = source.graph.n_nodes, len(source.rows)
    pairs, error, few = np.array([float(rows.size) for rows in source.rows]), np.zeros(count), np.zeros(count, bool)
    for at, rows in enumerate(source.rows):
        if source.sampled(at):
            seen = np.zeros(source.roots)
            seen[: len(rows.tails)] = rows.stops - rows.starts
            pairs[at] = n / 2 * seen.mean()
            error[at] = n / 2 * standard_error(seen, n)
            # How many equal roots would be worth these.
            few[at] = source.roots < n and seen.sum() ** 2 / np.sum(seen**2) < source.roots / 2
    return Sizes(pairs, error, few)


def standard_error(values: np.ndarray, n: int) -> float:
    """Standard error of the mean of a sample drawn without replacement from ``n``."""
    return float(values.std(ddof=1) * np.sqrt((1.0 - len(values) / n) / len(values)))
