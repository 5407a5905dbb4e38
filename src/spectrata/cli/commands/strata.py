"""``spectrata strata``: sizes per hop, and what a decomposition would take, before paying for one."""

from typing import TYPE_CHECKING, Any

from spectrata.cli.options import JSON, GraphOptions, parse_hops
from spectrata.cli.render import Meter, as_json, count, row_table, text

if TYPE_CHECKING:
    from spectrata.core.strata import Stratum
    from spectrata.core.stratification import Stratification

COUNTED = 20_000  # nodes up to which all pairs are counted
TITLES = {"hop": "hop", "pairs": "n_edges", "+-": "error", "parts": "n_parts", "single": "n_singletons"}
TITLES |= {"largest part": "largest_part", "line-graph edges": "line_edges", "total weight": "total_weight"}
ROOTS, MOST_HOPS = 64, 20  # nodes from which the pairs of larger graphs are estimated, and hops by default


def strata(graph: GraphOptions, json: bool = JSON) -> None:
    """Print the number of pairs at every hop, and what decomposing them takes in time and memory.

    Above 20,000 nodes the pairs beyond hop 1 are estimated from 64 random nodes.
    """
    from spectrata.cli.describe import graph_facts, graph_line
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.graphs import as_graph

    asked = parse_hops(graph.hops)
    with Meter() as progress:
        known = as_graph(graph.graph, **graph.arguments())
        large = known.n_nodes > COUNTED
        strat = Stratification(known, 1 if large else asked, hop_weights=graph.hop_weights, progress=progress)
        counted = [] if large else [_row(stratum) for stratum in strat.strata]
        rows = _sampled(strat, asked, progress) if large else [row for row, _ in counted]
        solved = [known.n_nodes] * len(rows) if large else [size for _, sizes in counted for size in sizes]
        estimate = _estimate(known.n_nodes, solved, strat.strata.is_bounded or large)
    facts = graph_facts(strat, graph.graph)
    if json:
        as_json({"command": "strata", "graph": facts, "hops": rows, "estimate": estimate})
        return
    text(_cost(count(len(rows), "hop"), estimate, large))
    text(graph_line(facts | ({"diameter": None} if large else {})))
    row_table(rows, TITLES)
    if large:
        text(f"Pairs beyond hop 1 are estimated from {ROOTS} random nodes, up to hop {MOST_HOPS}; +-: standard error.")
    else:
        text("parts: connected parts of the pairs; single: nodes without a pair; line-graph edges: for ln_vx.")


def _row(stratum: "Stratum") -> tuple[dict[str, Any], list[int]]:
    """One row of the table, and the sizes of the parts that a decomposition solves."""
    import numpy as np

    sizes = np.bincount(stratum.parts)
    row: dict[str, Any] = {
        "hop": stratum.hop,
        "n_edges": stratum.n_edges,
        "n_parts": len(sizes),
        "n_singletons": stratum.n_singletons,
        "largest_part": int(sizes.max()),
        "line_edges": stratum.n_line_edges,
    }
    if stratum.weights is not None:
        row["total_weight"] = stratum.total_weight
    return row, sizes[sizes > 1].tolist()


def _sampled(strat: "Stratification", asked: int | list[int] | None, progress: Any) -> list[dict[str, Any]]:
    """Pairs per hop: counted at hop 1, beyond it n/2 times the mean number of nodes at that hop of a random node."""
    import numpy as np

    from spectrata.core.rows import sphere_sizes

    n, rows = strat.graph.n_nodes, [{"hop": 1, "n_edges": strat.graph.n_edges, "error": 0}]
    roots = np.sort(np.random.default_rng(0).choice(n, size=min(ROOTS, n), replace=False))
    last = MOST_HOPS if asked is None else max(asked) if isinstance(asked, list) else asked
    progress(f"pairs of {len(roots)} nodes", 0.0)
    for hop, sizes in enumerate(n / 2 * sphere_sizes(strat.graph, last, roots).T, 1):
        if hop > 1 and sizes.any():
            error = round(sizes.std(ddof=1) / len(roots) ** 0.5)
            rows.append({"hop": hop, "n_edges": round(sizes.mean()), "error": error})
    return [row for row in rows if not isinstance(asked, list) or row["hop"] in asked]


def _estimate(n: int, solved: list[int], bounded: bool) -> dict[str, Any]:
    from spectrata.core import resources

    memory = (0 if bounded else resources.distance_bytes(n)) + resources.solve_bytes(max(solved, default=0))
    seconds = round(resources.solve_seconds(solved), 3)
    return {"seconds": seconds, "bytes": memory, "available_bytes": resources.available_memory()}


def _cost(hops: str, estimate: dict[str, Any], large: bool) -> str:
    """Time and memory of a decomposition, or why there is none."""
    from spectrata.core.resources import duration, gib

    available = estimate["available_bytes"]
    there = "" if available is None else f" ({gib(available)} is available)"
    needs = f"{gib(estimate['bytes'])} of memory{there}"
    advice = "; spectrata profile --bands 32 needs no decomposition" if large else ""
    if available is not None and estimate["bytes"] > available:
        return f"Decomposing {hops} does not fit: it needs {needs}{advice}."
    return f"Decomposing {hops} takes {duration(estimate['seconds'])} and {needs}{advice}."
