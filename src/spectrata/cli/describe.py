"""Graphs, signals and tests in lines and tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spectrata.cli.render import CHANCE, count, one_line, row_table, text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.core.stratification import Stratification

TESTED = (
    "verdict", "r", "chance_low", "chance_high", "p", "p_family", "q", "r_given", "p_given", "p_family_given",
    "q_given", "near_level", "participation", "geary", "moran", "status",
)  # fmt: skip
NAMES = ("snapshot", "column", "node", "verdict")  # columns of a table with words


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
    parts = f"{facts['n_parts']:,} parts, the largest of {count(facts['largest_part'], 'node')}"
    parts = "connected" if facts["n_parts"] == 1 else parts
    parts += f", diameter {facts['diameter']}" if facts["diameter"] is not None else ""
    parts += f", weighted ({facts['hop_weights']})" if facts["hop_weights"] else ""
    size = f"{count(facts['n_nodes'], 'node')}, {count(facts['n_edges'], 'edge')}"
    return one_line(f"graph: {facts['source']}: {size}, {parts}")


def headline(name: str, rows: list[dict[str, Any]], diameter: Any) -> str:
    """The verdicts of all hops in one line: rows have hop, verdict and r.

    Examples
    --------
    >>> headline("club", [{"hop": 1, "verdict": "alike", "r": 0.7}, {"hop": 2, "verdict": "chance", "r": 0.0}], 5)
    'club: alike between neighbours'
    """
    from spectrata.stats.findings import Finding
    from spectrata.stats.findings.sentences import likeness_words

    found = [Finding("", "", row["hop"], value=row["r"], verdict=str(row["verdict"])) for row in rows]
    return one_line(f"{name}: {likeness_words(found, diameter)}")


def rows_of(ds: "xr.Dataset", fields: tuple[str, ...] = TESTED) -> list[dict[str, Any]]:
    """One row for each snapshot, column, hop and node of a result of tests."""
    frame = ds[[name for name in fields if name in ds]].to_dataframe().reset_index()
    first = [name for name in ("snapshot", "column", "hop", "node", "n_pairs") if name in frame]
    return frame[first + [name for name in fields if name in frame]].to_dict("records")


def print_tests(rows: list[dict[str, Any]], given: str, more: tuple[str, ...] = ()) -> None:
    """The table of tests, one row for each hop, and what its words mean."""
    over, p, p_given = "all hops", "p_family", "p_family_given"
    if "q" in rows[0]:
        over, p, p_given = "the columns (false discovery rate)", "q", "q_given"
    near = [row | {"verdict": row["verdict"] + " (near .05)" * bool(row["near_level"])} for row in rows]
    columns: dict[str, Any] = {"snapshot": "snapshot", "column": "column", "hop": "hop"}
    columns |= {} if more else {"pairs": "n_pairs"}
    columns |= {"verdict": "verdict", "r": "r", "chance": CHANCE, "p": p}
    columns |= ({} if more else {"r given": "r_given"}) | {"p given": p_given} if given else {}
    row_table(near, columns | {name: name for name in more}, left=NAMES)
    text(
        "r: correlation between the two ends of a pair; chance: 95 % of the permutations, one hop at a time; "
        f"p: corrected over {over}" + (f"; given: {given} accounted for." if given else ".")
    )


def statuses(rows: list[dict[str, Any]]) -> None:
    """Every status that is not ok, with its hops."""
    from spectrata.stats.findings.sentences import hops

    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["status"], []).append(row["hop"])
    for words, some in found.items():
        if words not in ("ok", ""):
            text(f"At {hops(sorted(set(some)))}: {words}.")


def print_ranking(found: "pd.DataFrame", given: Any, top: int, rest: str) -> None:
    """A sentence about all columns, and the clearest of them."""
    from spectrata.stats.findings.sentences import column_sentences, covariate_names, listed
    from spectrata.stats.findings.table import explained

    for line in column_sentences(found, given):
        text(line)
    rows = found.head(top).assign(scale=found["scale"].astype("string").fillna(""))
    names = ("column", "verdict", "r", "q", "r_given", "q_given", "reach", "scale")
    row_table(rows.to_dict("records"), {name.replace("_", " "): name for name in names}, left=NAMES)
    scale = "; scale: quarter of the frequencies, 1 smooth, 4 rough" if any(rows["scale"]) else ""
    known = covariate_names(given)
    account = f"given: {listed(known)} accounted for{'' if 'degree' in known else ', degree not'}; " if known else ""
    words = explained(rows["verdict"], "degree" if known == ["degree"] else "covariates" if known else "")
    text(f"{'; '.join(words)}.")
    text(
        f"r: correlation between neighbours; q: false discovery rate over columns, each corrected over its own tests; "
        f"{account}reach: hops up to which every hop has the verdict of the first{scale}."
    )
    if len(found) > top:
        text(f"{len(found) - top:,} more columns; {rest}.")
