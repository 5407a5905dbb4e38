"""One HTML file: the template with its style, scripts, data and the installed Plotly put in."""

import base64
import hashlib
import html
import os
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import missing_extra
from spectrata.plot.places import connected_parts
from spectrata.plot.style import as_result, count
from spectrata.report.contents import Contents, contents
from spectrata.report.layout import drawing
from spectrata.report.payload import escaped_json, most_snapshots, payload
from spectrata.results.atomic_io import written_whole

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.core.stratification import Stratification

SCRIPTS = ("data.js", "look.js", "spectra.js", "graph.js", "heat.js", "tables.js", "main.js")


def write_report(
    ds: "xr.Dataset",
    path: str | os.PathLike,
    strat: "Stratification | None" = None,
    *,
    signal: Any = None,
    title: str | None = None,
    graph_name: str | None = None,
    signal_name: str | None = None,
    command: str | None = None,
) -> Path:
    """Write one HTML page about a result, which works offline from disk.

    Parameters
    ----------
    ds : xarray.Dataset, or a mapping of names to them
        A result; several signals on one graph by name.
    path : path
        Where to; the file appears whole or not at all.
    strat : Stratification, optional
        That of the result: for eigenvectors, chance and smoothness beyond 1,000 nodes, and to save solving again below.
    signal : optional
        The signal, where the result did not keep it.
    title, graph_name, signal_name : str, optional
        What to call them.
    command : str, optional
        The command that made the page, for its bottom line.

    Returns
    -------
    Path

    Examples
    --------
    >>> import networkx as nx, spectrata as st, tempfile, pathlib
    >>> ds = st.spectra(nx.cycle_graph(6), [3.0, 1.0, 0.0, 2.0, 1.0, 0.5])
    >>> path = st.write_report(ds, pathlib.Path(tempfile.mkdtemp()) / "ring.html")
    >>> path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    plotly = plotly_script()
    ds = as_result(ds)
    path = Path(path)
    found = contents(ds, strat, signal, most_snapshots(ds))
    words = {
        "title": title or "Stratified graph spectra",
        "graph": [graph_name or "", graph_line(found)],
        "signal": [signal_name or "", signal_line(ds)],
        "command": command or "spectrata.write_report(...), called from Python",
        "version": str(ds.attrs["spectrata_version"]),
        "parameters": str(ds.attrs["parameters"]),
        "seed": int(ds.attrs["seed"]),
        "metric": str(ds.attrs["metric"]),
        "hash": str(ds.attrs["graph_hash"]),
    }
    page = render(payload(found, drawing(found), words), plotly)
    with written_whole(path) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")
    return path


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
    """Size, diameter and parts of the graph."""
    ds = found.ds
    n, m = int(ds.attrs["n_nodes"]), int(ds.attrs["n_edges"])
    labels = connected_parts(ds["edges"].values, n)
    parts = int(labels.max()) + 1
    text = f"{count(n, 'node')}, {count(m, 'edge')}"
    if found.strat is not None:
        text += f", diameter {found.strat.diameter}"
    if parts == 1:
        text += ", connected"
    else:
        text += f", {parts:,} connected parts, the largest of {count(int(np.bincount(labels).max()), 'node')}"
    return text


def signal_line(ds: "xr.Dataset") -> str:
    """Size of the signal and the metric it is read by."""
    text = f"{count(int(ds.attrs['n_dimensions']), 'number')} a node"
    if "snapshot" in ds.dims:
        text += f", {count(ds.sizes['snapshot'], 'snapshot')}"
    how = "directions are compared" if ds.attrs["metric"] == "angular" else "differences are compared"
    text += f"; metric {ds.attrs['metric']} ({how})"
    return text
