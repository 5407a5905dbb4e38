"""Graphs, signals and tests in lines and tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spectrata.cli.render import count, one_line, shown, shown_p, table, text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.core.stratification import Stratification

TESTED = (
    "verdict", "r", "chance_low", "chance_high", "p", "p_family", "q", "r_given", "p_given", "p_family_given",
    "q_given", "near_level", "participation", "geary", "moran", "status",
)  # fmt: skip


def graph_facts(strat: "Stratification", source: str) -> dict[str, Any]:
    """Sizes of the graph and its connected parts, and how it was read."""
    import numpy as np

    from spectrata.core.strata import Stratum

    graph = strat.graph
    sizes = np.bincount(Stratum(1, graph.n_nodes, graph.edges).parts)
    return {
        "source": source,
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_parts": len(sizes),
        "largest_part": int(sizes.max()),
        "diameter": strat.diameter,
        "hash": graph.digest,
        "hop_weights": strat.weights or None,
    }


def graph_line(facts: Mapping[str, Any]) -> str:
    """The graph in one line."""
    if facts["n_parts"] == 1:
        parts = "connected"
    else:
        parts = f"{facts['n_parts']:,} parts, the largest of {count(facts['largest_part'], 'node')}"
    parts += f", diameter {facts['diameter']}" if facts["diameter"] is not None else ""
    parts += f", weighted ({facts['hop_weights']})" if facts["hop_weights"] else ""
    size = f"{count(facts['n_nodes'], 'node')}, {count(facts['n_edges'], 'edge')}"
    return one_line(f"graph: {facts['source']}: {size}, {parts}")


def headline(name: str, rows: list[dict[str, Any]], diameter: Any) -> str:
    """What the tests of all hops say, in one line: rows have hop, verdict and r.

    Examples
    --------
    >>> headline("club", [{"hop": 1, "verdict": "alike", "r": 0.7}, {"hop": 2, "verdict": "chance", "r": 0.0}], 5)
    'club: alike between neighbours'
    """
    from spectrata.stats.findings import Finding
    from spectrata.stats.findings.sentences import likeness_words

    found = [Finding("", "", row["hop"], value=row["r"], verdict=str(row["verdict"])) for row in rows]
    return one_line(f"{name}: {likeness_words(found, diameter)}")


def hop_rows(ds: "xr.Dataset") -> list[dict[str, Any]]:
    """One row for each snapshot, column and hop of a result of tests."""
    frame = ds[[name for name in TESTED if name in ds]].to_dataframe().reset_index()
    first = [name for name in ("snapshot", "column", "hop", "n_pairs") if name in frame]
    return frame[first + [name for name in TESTED if name in frame]].to_dict("records")


def print_tests(rows: list[dict[str, Any]], given: str, more: Mapping[str, list[str]] | None = None) -> None:
    """The table of tests, one row for each hop, and what its words mean."""
    decides = ("q", "q_given") if "q" in rows[0] else ("p_family", "p_family_given")
    cells: dict[str, list[Any]] = {
        name: [row[name] for row in rows] for name in ("snapshot", "column") if name in rows[0]
    }
    cells |= {
        "hop": [row["hop"] for row in rows],
        **({} if more else {"pairs": [f"{row['n_pairs']:,}" for row in rows]}),
        "verdict": [row["verdict"] + " (near .05)" * bool(row["near_level"]) for row in rows],
        "r": [shown(row["r"]) for row in rows],
        "chance": [
            f"{shown(row['chance_low'])} to {shown(row['chance_high'])}"
            if row["chance_low"] == row["chance_low"]
            else ""
            for row in rows
        ],
        "p": [shown_p(row[decides[0]]) for row in rows],
    }
    if given:
        cells |= {} if more else {"r given": [shown(row["r_given"]) for row in rows]}
        cells |= {"p given": [shown_p(row[decides[1]]) for row in rows]}
    cells |= more or {}
    table({name: some for name, some in cells.items() if any(some)}, left=("snapshot", "column", "verdict"))
    over = "the columns (false discovery rate)" if "q" in rows[0] else "all hops"
    text(
        "r: correlation between the two ends of a pair; chance: 95 % of the permutations, one hop at a time; "
        f"p: corrected over {over}" + (f"; given: {given} accounted for." if given else ".")
    )


def statuses(rows: list[dict[str, Any]]) -> None:
    """Every status that is not ok, with its hops."""
    from spectrata.stats.findings.sentences import hops

    found: dict[str, list[Any]] = {}
    for row in rows:
        if row["status"] not in ("ok", ""):
            found.setdefault(row["status"], []).append(row["hop"])
    for words, some in found.items():
        text(f"At {hops(sorted(set(some)))}: {words}.")


def print_ranking(found: "pd.DataFrame", top: int, rest: str) -> None:
    """What the columns show in a sentence, and the clearest of them."""
    from spectrata.stats.findings.sentences import column_sentences

    for line in column_sentences(found):
        text(line)
    rows: list[dict[str, Any]] = found.head(top).to_dict("records")
    columns = {
        "column": [row["column"] for row in rows],
        "verdict": [row["verdict"] for row in rows],
        "r": [shown(row["r"]) for row in rows],
        "q": [shown_p(row["q"]) for row in rows],
        "r given": [shown(row["r_given"]) for row in rows],
        "q given": [shown_p(row["q_given"]) for row in rows],
        "reach": [row["reach"] for row in rows],
        "scale": ["" if row["scale"] is None or row["scale"] != row["scale"] else row["scale"] for row in rows],
    }
    table(columns, left=("column", "verdict"))
    text(
        "r: correlation between neighbours; q: false discovery rate over columns; given: degree accounted for; "
        "reach: last hop of the same verdict; scale: 1 the smoothest, 4 the roughest quarter of frequencies."
    )
    if len(found) > top:
        text(f"{len(found) - top:,} more columns; {rest}.")
