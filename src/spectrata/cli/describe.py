"""A result in lines, tables and JSON, all read out of the Dataset."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.cli.tables import GAP, available_width, label, print_table, table_width
from spectrata.cli.terminal import one_line, say
from spectrata.core.registry import row_of
from spectrata.plot.style import count, hop_sizes, weights_words
from spectrata.results.schema import View, view

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

NOISE = 1e-12  # what is weaker than the strongest by this factor is rounding, not a component
STRONGEST = "strongest, as eigenvalue: magnitude"
MAX_SNAPSHOTS = 4  # in the table; files and JSON have them all


# ---- graph and signal, one line each


def graph_facts(strat: "Stratification", source: str, read_as: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Sizes of the graph and its connected parts, and how it was read."""
    from spectrata.core.strata import Stratum

    graph = strat.graph
    labels = Stratum(1, graph.n_nodes, graph.edges).parts
    return {
        "source": source,
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_parts": int(labels.max()) + 1,
        "largest_part": int(np.bincount(labels).max()),
        "diameter": strat.diameter,
        "hash": graph.digest,
        "weights": (read_as or {}).get("weights"),
        "hop_weights": strat.weights or None,
        "undirected": bool((read_as or {}).get("undirected", False)),
    }


def graph_line(facts: dict[str, Any]) -> str:
    """The graph in one line, disconnected parts said."""
    if facts["n_parts"] == 1:
        parts = "connected"
    else:
        parts = (
            f"not connected: {facts['n_parts']:,} parts, the largest of "
            f"{count(facts['largest_part'], 'node')} (no hop joins two parts)"
        )
    size = f"{count(facts['n_nodes'], 'node')}, {count(facts['n_edges'], 'edge')}"
    if facts["hop_weights"]:
        parts += f", {weights_words(facts['hop_weights'])}"
    diameter = "" if facts["diameter"] is None else f"diameter {facts['diameter']}, "
    return one_line(f"graph: {facts['source']}: {size}, {diameter}{parts}")


def signal_facts(ds: "xr.Dataset", source: str, asked_metric: str) -> dict[str, Any]:
    """Size of the signal, and the metric with the reason for it."""
    d = int(ds.attrs["n_dimensions"])
    why = "as asked" if asked_metric != "auto" else "one number per node" if d == 1 else "compared by direction"
    if "column" in ds.dims:
        why = "each column is a signal of its own"
    return {
        "source": source,
        "n_dimensions": d,
        "columns": ds.sizes.get("column"),
        "snapshots": view(ds).labels("snapshot") if "snapshot" in ds.dims else None,
        "metric": ds.attrs["metric"],
        "metric_reason": why,
    }


def note_columns(signal: "Signal", ds: "xr.Dataset", asked_metric: str) -> None:
    """Say in one line that several named columns are read as one vector, unless the metric was chosen."""
    if asked_metric == "auto" and ds.attrs["metric"] == "angular" and len(signal.columns or ()) > 1:
        columns = signal.columns or ()
        say(
            f"note: the {len(columns)} columns ({_some(columns)}) are read as one vector per node, compared by "
            "direction; --columns separate reads each by itself, and --metric euclidean compares by distance."
        )


def signal_line(facts: dict[str, Any]) -> str:
    """The signal in one line."""
    size = count(facts["n_dimensions"], "number") + " per node"
    if facts["columns"] is not None:
        size += f", {count(facts['columns'], 'column')}"
    if facts["snapshots"] is not None:
        size += f", {count(len(facts['snapshots']), 'snapshot')}"
    return one_line(f"signal: {facts['source']}: {size}; metric {facts['metric']} ({facts['metric_reason']})")


# ---- strongest eigenspaces


class Spaces:
    """A result by eigenspaces: one magnitude for each, since the split inside a repeated eigenvalue is arbitrary."""

    def __init__(self, ds: "xr.Dataset") -> None:
        from spectrata.stats.describe.spectrum import merge_eigenspaces

        self.result = view(ds)
        self.merged = view(merge_eigenspaces(ds))

    def strongest(self, algorithm: str, row: int, hop: int, top: int) -> list[dict[str, Any]]:
        """The ``top`` eigenspaces of one hop by their magnitudes; NaN and rounding left out.

        Zero components of several parts count as one eigenspace here.
        """
        one, at = self.merged, self.merged.hops.index(hop)
        values = one.magnitude[one.algorithms.index(algorithm), row, at]
        order = [i for i in np.argsort(-values, kind="stable")[:top].tolist() if not np.isnan(values[i])]
        return [
            {
                "eigenvalue": float(one.eigenvalue[at, i]),
                "multiplicity": int(one.multiplicity[at, i]),
                "zero": bool(one.is_zero[at, i]),
                "magnitude": float(values[i]),
            }
            for i in order
            if values[i] > NOISE * values[order[0]] or i == order[0]
        ]


def component_text(one: dict[str, Any]) -> str:
    """``0.178*: 0.28``, with * for a repeated eigenvalue."""
    if one["zero"]:
        return f"zero: {one['magnitude']:.4g}"
    star = "*" if one["multiplicity"] > 1 else ""
    return f"{one['eigenvalue']:.4g}{star}: {one['magnitude']:.4g}"


# ---- the tables


def print_tables(spaces: Spaces, top: int) -> bool:
    """Print the sizes of every hop, then its strongest eigenspaces; give whether one is of a repeated eigenvalue."""
    result = spaces.result
    rows = _shown(result)
    names = {row: "" if result.rows is None else label(result.rows[row]) for row in rows}
    sizes = dict(zip(("edges", "parts", "single"), hop_sizes(result).tolist(), strict=True))
    numbers = {title: [f"{size:,}" for size in column] for title, column in sizes.items()}
    for row in rows:
        title = "gradient norm" if result.rows is None else f"gradient\nnorm of\n{names[row]}"
        numbers[title] = [f"{norm:.4g}" for norm in result.gradient_norm[row].tolist()]
    print_table({"K": [str(hop) for hop in result.hops]}, numbers, end=False)
    cells = [(hop, row, name) for hop in result.hops for row in rows for name in result.algorithms]
    front = {"K": [str(hop) for hop, _, _ in cells]}
    if result.rows is not None:
        front[", ".join(result.row_dims)] = [names[row] for _, row, _ in cells]
    front["algorithm"] = [name for _, _, name in cells]
    width = available_width() - table_width(front) - GAP
    found = [_cell(spaces.strongest(name, row, hop, top), width) for hop, row, name in cells]
    starts = range(len(rows) * len(result.algorithms), len(cells), len(rows) * len(result.algorithms))
    for title in list(front)[:-1]:  # a name stands once, in the first of its rows
        front[title] = [
            "" if index and index not in starts and front[title][index - 1] == text else text
            for index, text in enumerate(front[title])
        ]
    print_table(front, {STRONGEST: found}, left=[*list(front)[1:], STRONGEST], breaks=starts)
    return any("*" in cell for cell in found)


def _shown(result: View) -> list[int]:
    """Rows in the table: the first and the last where there are many."""
    rows, half = list(range(len(result.gradient_norm))), MAX_SNAPSHOTS // 2
    return rows if len(rows) <= MAX_SNAPSHOTS else rows[:half] + rows[-half:]


def _cell(found: Sequence[dict[str, Any]], width: int) -> str:
    """Eigenvalues and magnitudes, in as many lines as the width needs."""
    if not found:
        return "undefined"
    if found[0]["magnitude"] == 0.0:
        return "all zero"
    lines = [""]
    for text in map(component_text, found):
        if lines[-1] and len(lines[-1]) + 3 + len(text) > width:
            lines.append("")
        lines[-1] += "   " * bool(lines[-1]) + text
    return "\n".join(lines)


def footnotes(result: View, starred: bool) -> Iterator[str]:
    """What the table's signs mean, what it leaves out, and every status that is not ok."""
    if starred:
        text = (
            "* repeated eigenvalue: how its magnitude splits over single components is arbitrary, "
            "so one magnitude for the whole eigenspace is shown"
        )
        bound = [name for name in result.algorithms if not row_of(name).invariant(result.options)]
        yield text + (f" (for {', '.join(bound)} even that depends on the basis)." if bound else ".")
    if not result.complete.all():
        end = result.options.get("which") or "selected"
        yield f"Only the {result.present[0].sum()} {end} of {result.n_nodes} components were computed."
    yield "zero: the components of eigenvalue 0, one for each connected part, taken together."
    left_out = len(result.gradient_norm) - len(_shown(result))
    if left_out:
        yield f"{count(left_out, 'snapshot')} in the middle not shown; the files have them all."
    from spectrata.stats.describe.summary import precision_notes

    yield from (f"{line}." for line in precision_notes(result))
    yield from status_lines(result)


def status_lines(result: View) -> list[str]:
    """Every status that is not ok, hops and snapshots gathered."""
    found: dict[tuple[str, str], tuple[dict[int, None], dict[str, None]]] = {}
    for row, algorithm, at in np.argwhere(result.status.swapaxes(0, 1) != "ok").tolist():
        key = result.algorithms[algorithm], str(result.status[algorithm, row, at])
        hops, moments = found.setdefault(key, ({}, {}))
        hops[result.hops[at]] = None
        if result.rows is not None:
            moments[one_line(result.rows[row])] = None
    return [
        f"{name} at K = {_some(list(hops))}" + (f", snapshot {_some(list(moments))}" if moments else "") + f": {status}"
        for (name, status), (hops, moments) in found.items()
    ]


def _some(values: Sequence[Any]) -> str:
    return ", ".join(str(value) for value in values[:8]) + (f" and {len(values) - 8} more" if len(values) > 8 else "")


# ---- JSON


def spectra_json(spaces: Spaces, top: int) -> list[dict[str, Any]]:
    """The table's content, all snapshots, as plain lists and numbers; NaN as null."""
    result = spaces.result
    hops = []
    for at, hop in enumerate(result.hops):
        results = []
        for row, norm in enumerate(result.gradient_norm[:, at].tolist()):
            algorithms = {
                name: {"status": str(result.status[index, row, at]), "strongest": spaces.strongest(name, row, hop, top)}
                for index, name in enumerate(result.algorithms)
            }
            results.append(
                _row_names(result, row)
                | {"gradient_norm": norm if np.isfinite(norm) else None, "algorithms": algorithms}
            )
        names = ("n_edges", "n_parts", "n_singletons")
        sizes = dict(zip(names, hop_sizes(result)[:, at].tolist(), strict=True))
        hops.append({"hop": hop} | sizes | {"results": results})
    return hops


def _row_names(result: View, row: int) -> dict[str, Any]:
    """The snapshot of a row, and its column where columns are signals of their own."""
    if result.rows is None:
        return {"snapshot": None}
    labels = result.rows[row] if len(result.row_dims) > 1 else (result.rows[row],)
    return dict(zip(result.row_dims, labels, strict=True))


def to_json(document: dict[str, Any]) -> str:
    """One JSON document; what is not a number or text becomes text, and NaN is an error here."""
    return json.dumps(document, indent=2, allow_nan=False, default=str)
