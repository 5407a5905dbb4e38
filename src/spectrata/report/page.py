"""One HTML file: the template with its style, scripts, data and the installed Plotly put in."""

import base64
import hashlib
import html
import os
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError, missing_extra
from spectrata.plot.style import as_result, count, row_names, weights_words
from spectrata.report.columns import best_columns
from spectrata.report.contents import Contents, contents, row_word
from spectrata.report.layout import drawing
from spectrata.report.payload import escaped_json, most_snapshots, payload
from spectrata.report.run import against_control, run_map
from spectrata.report.shown import Report
from spectrata.results.schema import View, view
from spectrata.stats.watched import is_run, last_pass

if TYPE_CHECKING:
    import xarray as xr

SCRIPTS = ("data.js", "look.js", "scene.js", "overview.js", "spectra.js", "graph.js", "heat.js", "run.js", "tables.js",
           "main.js", "columns.js")  # fmt: skip
TITLED = 3  # columns whose names a title has


def write_report(
    ds: "xr.Dataset",
    path: str | os.PathLike | None = None,
    strat: Any = None,
    *,
    signal: Any = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    pos: Any = None,
    title: str | None = None,
    graph_name: str | None = None,
    signal_name: str | None = None,
    command: str | None = None,
    run: "xr.Dataset | None" = None,
) -> Report:
    """Make one HTML page about a result, which works offline: write it, or show it in a notebook.

    Parameters
    ----------
    ds : xarray.Dataset, or a mapping of names to them
        A result of one graph with all components; several signals on one graph by name; or ``w.dataset`` of a watched
        model, of which the page shows the layers of the last pass, and measures over layers and epochs. Columns that
        are signals of their own (``columns="separate"``) are ranked in a table, and the page shows the first 40.
    path : path, optional
        Where to write the page; the file appears whole or not at all.
    strat : Stratification, or a graph in any form, optional
        That of the result: for eigenvectors, chance and smoothness beyond 1,000 nodes, and to save solving again below.
    signal : optional
        The signal, where the result did not keep it.
    weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification.
    pos : array, mapping from node, DataFrame or path, optional
        Where nodes are drawn: two or three coordinates each, of which the first two count. By default where the graph
        of ``strat`` places them, else by a layout.
    title, graph_name, signal_name : str, optional
        What to call them; the title is made of the two names by default.
    command : str, optional
        The command that made the page, for its bottom line.
    run : xarray.Dataset, optional
        ``w.dataset`` of the watched model whose layers ``ds`` holds.

    Returns
    -------
    Report
        The page, with its ``path`` where it was written. As the last value of a notebook cell it shows itself.

    Examples
    --------
    >>> import networkx as nx, spectrata as st, tempfile, pathlib
    >>> ds = st.spectra(nx.cycle_graph(6), [3.0, 1.0, 0.0, 2.0, 1.0, 0.5])
    >>> report = st.write_report(ds, pathlib.Path(tempfile.mkdtemp()) / "ring.html", title="A ring")
    >>> report.title, report.path.name, report.path.read_text(encoding="utf-8")[:15]
    ('A ring', 'ring.html', '<!doctype html>')
    """
    plotly = plotly_script()
    if is_run(ds):
        run, ds = ds, last_pass(ds)
    result = view(as_result(ds))
    read_as = {"weights": weights, "hop_weights": hop_weights, "undirected": undirected}
    strat = _stratified(result, strat, read_as)
    result, signal, ranked = best_columns(result, strat, signal)
    result = _readable(result)
    facts = result.ds.attrs
    found = contents(result, strat, signal, most_snapshots(result))
    if ranked is not None:  # columns have no first and last
        found.comparison = None
    title = title or _title(found, graph_name, signal_name)
    words = {
        "title": title,
        "graph": [graph_name or "", graph_line(found)],
        "signal": [signal_name or "", signal_line(result) if ranked is None else ranked["line"]],
        "command": command or "spectrata.write_report(...), called from Python",
        "version": str(facts["spectrata_version"]),
        "options": str(facts["options"]),
        "seed": int(facts["seed"]),
        "metric": result.metric,
        "columns": int(facts["n_dimensions"]),
        "hash": str(facts["graph_hash"]),
        "row_word": row_word(result),
        "column_table": ranked,
        "run": run_map(run),
        "collapse": against_control(result.ds) if run is not None else None,
    }
    report = Report(render(payload(found, drawing(found, pos), words), plotly), title)
    return report if path is None else report.save(path)


def _title(found: Contents, graph_name: str | None, signal_name: str | None) -> str:
    """What the page is about: the names given or those of few columns, else sizes."""
    result, names = found.result, found.names or ()
    columns = int(result.ds.attrs["n_dimensions"])
    signal = signal_name or (", ".join(names) if 0 < len(names) <= TITLED else "")
    signal = signal or (f"{columns} columns" if columns > 1 else "one number per node")
    return f"{graph_name or f'Graph of {result.n_nodes:,} nodes'} · {signal}"


def _stratified(result: View, strat: Any, read_as: dict[str, Any]) -> Stratification | None:
    """What was given as the graph of a result, at its hops."""
    if strat is None:
        refuse_graph_arguments("A result", **read_as)
        return None
    hops = None if isinstance(strat, Stratification) else list(result.hops)
    return as_stratification(strat, hops, **read_as)


def _readable(result: View) -> View:
    """The result with its rows as snapshots; refused where a page could not show what it holds."""
    result.require_components("a report")
    result.require_complete("a report")
    result.require_zeros("a report")
    result.require_own_size("a report")
    if result.is_merged:
        raise ResultError(
            f"{result.name} has its eigenspaces merged, and a report needs components; give it as it was before."
        )
    if result.row_dims in ((), ("snapshot",)):
        return result
    ds = result.ds.drop_vars(result.row_coordinates()).stack(snapshot=result.row_dims, create_index=False)
    words = {"row_word": "column"} if result.row_dims == ("column",) else {"row_word": "signal"}
    return view(ds.assign_coords(snapshot=row_names(result)).assign_attrs(words), result.name)


def plotly_script() -> str:
    """Plotly's script from the installed package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise missing_extra("plotly", "report", "A report") from None
    return get_plotlyjs()


def render(data: dict[str, Any], plotly: str) -> str:
    """Put style, scripts and data into the template, under a policy that lets only these scripts run."""
    own = "\n".join(_source(f"js/{name}") for name in SCRIPTS)
    scripts = [_closed(plotly), _closed(f'"use strict";(() => {{\n{own}\n}})();')]
    # Only these two scripts run, by their hashes; no address is ever asked for anything.
    policy = (
        "default-src 'none'; script-src "
        + " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
        + "; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; base-uri 'none'"
    )
    pieces = {
        "policy": html.escape(policy, quote=True).replace("&#x27;", "'"),
        "title": html.escape(data["title"]),
        "style": _source("page.css"),
        "plotly": scripts[0],
        "data": escaped_json(data),
        "script": scripts[1],
    }
    # One pass over the template alone: nothing put in is looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: pieces[match[1]], _source("page.html"))


def _source(name: str) -> str:
    return resources.files("spectrata.report").joinpath(name).read_text(encoding="utf-8")


def _closed(script: str) -> str:
    """A script that cannot end its element early."""
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


# ---- graph and signal, one line each


def graph_line(found: Contents) -> str:
    """Size, diameter and parts of the graph, its weights and its Laplacian."""
    n, edges = found.result.n_nodes, found.result.fixed("edges", "edge", "end")
    labels = Stratum(1, n, edges).parts
    parts = int(labels.max()) + 1
    text = f"{count(n, 'node')}, {count(len(edges), 'edge')}"
    if found.strat is not None and found.strat.diameter is not None:
        text += f", diameter {found.strat.diameter}"
    if parts == 1:
        text += ", connected"
    else:
        text += f", {parts:,} connected parts, the largest of {count(int(np.bincount(labels).max()), 'node')}"
    rule = found.result.ds.attrs.get("weights")
    text += f"; {weights_words(rule)}" if rule else ""
    return f"{text}; Laplacian: {found.result.operator_name}"


def signal_line(result: View) -> str:
    """Size of the signal and the metric it is read by."""
    layers = result.ds.attrs.get("snapshot_kind") == "layers"  # which differ in width
    text = f"{'up to ' * layers}{count(int(result.ds.attrs['n_dimensions']), 'number')} per node"
    if result.rows is not None:
        text += f", {count(len(result.rows), row_word(result))}"
    how = "directions are compared" if result.metric == "angular" else "differences are compared"
    return f"{text}; metric {result.metric} ({how})"
