"""Sizes of the strata, counted or estimated, and what decomposing them takes."""

from typing import Any

import numpy as np

from spectrata.core import resources
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.core.stratum_rows import sphere_sizes


def graph_facts(strat: Stratification, source: str) -> dict[str, Any]:
    """Sizes of the graph and its connected parts, and how it was read."""
    graph = strat.graph
    sizes = np.bincount(Stratum(1, graph.n_nodes, graph.edges).parts)
    known = {"source": source, "n_nodes": graph.n_nodes, "n_edges": graph.n_edges, "n_parts": len(sizes)}
    known |= {"largest_part": int(sizes.max()), "diameter": strat.diameter, "hash": graph.digest}
    return known | {"hop_weights": strat.weights or None}


def counted_sizes(strat: Stratification) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Sizes of every stratum in rows, and the time and memory of the solves of its parts."""
    rows, solved = [], []
    for stratum in strat.strata:
        sizes = np.bincount(stratum.parts)
        solved += sizes[sizes > 1].tolist()
        row: dict[str, Any] = {"hop": stratum.hop, "n_edges": stratum.n_edges, "n_parts": len(sizes)}
        row |= {"n_singletons": stratum.n_singletons, "largest_part": int(sizes.max())}
        row |= {"line_edges": stratum.n_line_edges}
        rows.append(row if stratum.weights is None else row | {"total_weight": stratum.total_weight})
    return rows, _estimate(strat.graph.n_nodes, solved, strat.strata.is_bounded)


def sampled_sizes(
    strat: Stratification, asked: int | list[int] | None, roots: int, most_hops: int, progress: Any
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Pairs per hop: counted at hop 1, beyond it n/2 times the mean number of nodes at that hop of random nodes."""
    n, rows = strat.graph.n_nodes, [{"hop": 1, "n_edges": strat.graph.n_edges, "error": 0}]
    chosen = np.sort(np.random.default_rng(0).choice(n, size=min(roots, n), replace=False))
    last = most_hops if asked is None else max(asked) if isinstance(asked, list) else asked
    progress(f"pairs of {len(chosen)} nodes", 0.0)
    for hop, sizes in enumerate(n / 2 * sphere_sizes(strat.graph, last, chosen).T, 1):
        if hop > 1 and sizes.any():
            error = round(sizes.std(ddof=1) / len(chosen) ** 0.5)
            rows.append({"hop": hop, "n_edges": round(sizes.mean()), "error": error})
    rows = [row for row in rows if not isinstance(asked, list) or row["hop"] in asked]
    return rows, _estimate(n, [n] * len(rows), True)


def _estimate(n: int, solved: list[int], bounded: bool) -> dict[str, Any]:
    memory = (0 if bounded else resources.distance_bytes(n)) + resources.solve_bytes(max(solved, default=0))
    seconds = round(resources.solve_seconds(solved), 3)
    return {"seconds": seconds, "bytes": memory, "available_bytes": resources.available_memory()}
