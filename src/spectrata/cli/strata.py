"""``spectrata strata``: sizes per hop, and what a decomposition would take, before paying for one."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.cli import describe
from spectrata.cli.tables import print_table, print_text
from spectrata.cli.terminal import Meter
from spectrata.core import resources
from spectrata.core.registry import ALGORITHMS

if TYPE_CHECKING:
    from spectrata.core.strata import Stratum


def strata(
    graph: str, *, hops: int | list[int] | None, n_nodes: int | None, read_as: dict[str, Any], as_json: bool
) -> None:
    """Print the sizes and the estimate."""
    from spectrata.core.stratification import Stratification

    rows, solved = [], []
    with Meter() as progress:
        progress("hop distances", 0.0)
        strat = Stratification(graph, hops, n_nodes=n_nodes, **read_as)
        for index, stratum in enumerate(strat.strata):
            progress(f"K = {stratum.hop}", index / len(strat.hops))
            row, sizes = _row(stratum)
            rows.append(row)
            solved.extend(sizes)
        progress("estimate", 1.0)
        estimate = _estimate(strat.graph.n_nodes, solved, strat.strata.is_bounded)
    facts = describe.graph_facts(strat, graph, read_as)
    if as_json:
        import typer

        typer.echo(describe.to_json({"command": "strata", "graph": facts, "hops": rows, "estimate": estimate}))
    else:
        _print(facts, rows, estimate)


def _row(stratum: "Stratum") -> tuple[dict[str, Any], list[int]]:
    """One row of the table, and the sizes of the parts that a decomposition solves."""
    sizes = np.bincount(stratum.parts)
    row: dict[str, Any] = {
        "hop": stratum.hop,
        "n_edges": stratum.n_edges,
        "n_parts": len(sizes),
        "n_singletons": stratum.n_singletons,
        "largest_part": int(sizes.max()),
        "line_nodes": stratum.n_edges,
        "line_edges": stratum.n_line_edges,
    }
    if stratum.weights is not None:
        row["total_weight"] = stratum.total_weight
    return row, sizes[sizes > 1].tolist()


def _estimate(n: int, solved: list[int], bounded: bool) -> dict[str, Any]:
    return {
        "seconds": round(resources.solve_seconds(solved), 3),
        "bytes": (0 if bounded else resources.distance_bytes(n)) + resources.solve_bytes(max(solved)),
        "available_bytes": resources.available_memory(),
    }


def _print(facts: dict[str, Any], rows: list[dict[str, Any]], estimate: dict[str, Any]) -> None:
    titles = {
        "n_edges": "edges",
        "n_parts": "parts",
        "n_singletons": "single",
        "largest_part": "largest part",
        "line_nodes": "line-graph\nnodes",
        "line_edges": "line-graph\nedges",
    }
    columns = {title: [f"{row[name]:,}" for row in rows] for name, title in titles.items()}
    if any("total_weight" in row for row in rows):
        columns["total weight"] = [f"{row.get('total_weight', row['n_edges']):.6g}" for row in rows]
    print_text(describe.graph_line(facts))
    print_table({"K": [str(row["hop"]) for row in rows]}, columns)
    print_text("parts: connected components of the stratum; single: nodes without a pair at that hop.")
    print_text(_cost(describe.count(len(rows), "hop"), estimate))
    lines = ", ".join(row.name for row in ALGORITHMS.values() if row.line_graph)
    print_text(f"{lines} also decomposes the line graphs, which have one node for each edge of a stratum.")


def _cost(hops: str, estimate: dict[str, Any]) -> str:
    """What a decomposition takes, or why there is none."""
    memory, available = resources.gib(estimate["bytes"]), estimate["available_bytes"]
    there = "" if available is None else f"{resources.gib(available)} is available"
    if available is not None and estimate["bytes"] > available:
        return f"Decomposing {hops} needs {memory} of memory, and {there}: use spectrata profile --bands."
    cost = f"Estimate for decomposing {hops}: {resources.duration(estimate['seconds'])}, {memory} of memory"
    return f"{cost} ({there})." if there else f"{cost}."
