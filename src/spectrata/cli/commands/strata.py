"""``spectrata strata``: sizes per hop, and what a decomposition would take, before paying for one."""

from typing import TYPE_CHECKING, Any

from spectrata.cli.options import JSON, GraphOptions, parse_hops
from spectrata.cli.render import Meter, as_json, count, table, text

if TYPE_CHECKING:
    from spectrata.core.strata import Stratum
    from spectrata.core.stratification import Stratification

COUNTED = 20_000  # nodes up to which all pairs are counted
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
        strat = Stratification(known, 1 if large else asked, hop_weights=graph.hop_weights)
        if large:
            rows = _sampled(strat, asked, progress)
            solved = [known.n_nodes] * len(rows)
        else:
            rows, solved = [], []
            for index, stratum in enumerate(strat.strata):
                progress(f"hop {stratum.hop}", index / len(strat.hops))
                row, sizes = _row(stratum)
                rows.append(row)
                solved += sizes
        progress("estimate", 1.0)
        estimate = _estimate(known.n_nodes, solved, strat.strata.is_bounded or large)
    facts = graph_facts(strat, graph.graph)
    if json:
        as_json({"command": "strata", "graph": facts, "hops": rows, "estimate": estimate})
        return
    text(_cost(count(len(rows), "hop"), estimate, large))
    text(graph_line(facts | ({"diameter": None} if large else {})))
    titles = {"hop": "hop", "n_edges": "pairs", "error": "+-", "n_parts": "parts", "n_singletons": "single"}
    titles |= {"largest_part": "largest part", "line_edges": "line-graph edges", "total_weight": "total weight"}
    table({title: [_number(row.get(name)) for row in rows] for name, title in titles.items() if name in rows[-1]})
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

    graph = strat.graph
    n = graph.n_nodes
    last = MOST_HOPS if asked is None else max(asked) if isinstance(asked, list) else asked
    roots = np.random.default_rng(0).choice(n, size=min(ROOTS, n), replace=False)
    sizes = np.zeros((len(roots), last))
    for row, root in enumerate(roots):
        progress(f"pairs of {len(roots)} nodes", row / len(roots))
        seen = np.zeros(n, dtype=bool)
        sphere = np.array([root])
        for hop in range(last):
            seen[sphere] = True
            starts, counts = graph.indptr[sphere], np.diff(graph.indptr)[sphere]
            heads = graph.indices[np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
            sphere = np.unique(heads[~seen[heads]])
            sizes[row, hop] = len(sphere)
            if not len(sphere):
                break
    means, spread = n / 2 * sizes.mean(axis=0), n / 2 * sizes.std(axis=0, ddof=1) / len(roots) ** 0.5
    rows = [{"hop": 1, "n_edges": graph.n_edges, "error": 0}]
    rows += [{"hop": hop + 1, "n_edges": round(means[hop]), "error": round(spread[hop])} for hop in range(1, last)]
    wanted = asked if isinstance(asked, list) else range(last + 1)
    return [row for row in rows if row["hop"] in wanted and row["n_edges"]]


def _estimate(n: int, solved: list[int], bounded: bool) -> dict[str, Any]:
    from spectrata.core import resources

    memory = (0 if bounded else resources.distance_bytes(n)) + resources.solve_bytes(max(solved, default=0))
    seconds = round(resources.solve_seconds(solved), 3)
    return {"seconds": seconds, "bytes": memory, "available_bytes": resources.available_memory()}


def _cost(hops: str, estimate: dict[str, Any], large: bool) -> str:
    """What a decomposition takes, or why there is none."""
    from spectrata.core.resources import duration, gib

    available = estimate["available_bytes"]
    there = "" if available is None else f" ({gib(available)} is available)"
    needs = f"{gib(estimate['bytes'])} of memory{there}"
    advice = "; spectrata profile --bands 32 needs no decomposition" if large else ""
    if available is not None and estimate["bytes"] > available:
        return f"Decomposing {hops} does not fit: it needs {needs}{advice}."
    return f"Decomposing {hops} takes {duration(estimate['seconds'])} and {needs}{advice}."


def _number(value: Any) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
