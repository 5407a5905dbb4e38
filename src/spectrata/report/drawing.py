"""The drawing of a page: places of the nodes, and the lines of every hop with their weights."""

from typing import Any

import numpy as np

from spectrata.plot.positions import given_places, node_places
from spectrata.report.encode import packed
from spectrata.stats.verbs.profile import Profile

DRAWN_PAIRS, DRAWN_EDGES = 700, 4_000  # of a card, and of the map
DRAWN_NODES = 20_000  # nodes up to which a layout is made
NOT_DRAWN = -32768  # in place of coordinates


def drawing(found: Profile, pos: Any) -> dict[str, Any] | None:
    """Places of the nodes in steps of 1/32767, and sampled pairs of every hop; None where nothing places the nodes."""
    graph = found.strat.graph
    where = given_places(pos, graph)
    if where is None and graph.n_nodes > DRAWN_NODES:
        return None
    places, kept = np.full((graph.n_nodes, 2), NOT_DRAWN), np.unique(graph.edges)
    if where is None:  # a layout has no place for nodes without an edge
        places[kept] = np.rint(32767 * node_places(np.searchsorted(kept, graph.edges), len(kept)))
    else:
        places = np.rint(32767 * where)
    is_few, first = len(graph.edges) <= DRAWN_EDGES, found.strat.strata.at(found.hops[0])
    edges = graph.edges if is_few else found.pairs(found.hops[0], DRAWN_EDGES)
    strata = [found.strat.strata.at(hop) for hop in found.hops] if found.strat.weights else []
    pairs = [found.pairs(hop, DRAWN_PAIRS) for hop in found.hops]
    return {
        "places": packed(places, "i2"),
        "laid_out": where is None,
        "left_out": 0 if where is not None else graph.n_nodes - len(kept),
        "edges": packed(edges, "i4"),
        "edge_weights": _widths(graph if is_few else first, edges),
        "pairs": [packed(some, "i4") for some in pairs],
        "weights": [_widths(stratum, some) for stratum, some in zip(strata, pairs, strict=False)],
    }


def _widths(whole: Any, pairs: np.ndarray) -> dict[str, Any] | None:
    """Weights of drawn pairs of a graph or stratum, in steps of 1/100 of the largest; None where all are equal."""
    if whole.weights is None or not len(pairs) or np.ptp(whole.weights) == 0:
        return None
    row = np.array([whole.n_nodes, 1])
    weights = whole.weights[np.searchsorted(whole.edges @ row, pairs @ row)]
    return packed(np.rint(100 * np.minimum(weights / np.quantile(weights, 0.98), 1)), "i1")
