"""``spectrata strata``: sizes per hop, and what a decomposition would take, before paying for one."""

from typing import Any

from spectrata.cli.options import JSON, GraphOptions, parse_hops
from spectrata.cli.render import as_json, count, progress_bar, row_table, text

COUNTED = 20_000  # nodes up to which all pairs are counted
TITLES = {"hop": "hop", "pairs": "n_edges", "+-": "error", "parts": "n_parts", "single": "n_singletons"}
TITLES |= {"largest part": "largest_part", "line-graph edges": "line_edges", "total weight": "total_weight"}
ROOTS, MOST_HOPS = 64, 20  # nodes from which the pairs of larger graphs are estimated, and hops by default


def strata(graph: GraphOptions, json: bool = JSON) -> None:
    """Print the number of pairs at every hop, and what decomposing them takes in time and memory.

    Above 20,000 nodes the pairs beyond hop 1 are estimated from 64 random nodes.
    """
    from spectrata.cli.describe import graph_line
    from spectrata.stats.describe.sizes import counted_sizes, graph_facts, sampled_sizes

    asked = parse_hops(graph.hops)
    with progress_bar() as progress:
        strat = graph.read(lambda n, hops: 1 if n > COUNTED else hops, progress=progress)
        large = strat.graph.n_nodes > COUNTED
        rows, estimate = sampled_sizes(strat, asked, ROOTS, MOST_HOPS, progress) if large else counted_sizes(strat)
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
