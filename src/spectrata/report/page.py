"""``write_report``: one HTML file, the template with its style, scripts and data put in."""

import base64
import gzip
import hashlib
import html
import os
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from spectrata.errors import OptionError
from spectrata.plot.reading import as_result
from spectrata.report.encode import escaped_json
from spectrata.report.payload import payload
from spectrata.report.shown import Report
from spectrata.results.schema import view
from spectrata.stats.verbs.diagnose import is_watched
from spectrata.stats.verbs.profile import Profile, profile
from spectrata.stats.verbs.reading import signal_or_table

SCRIPTS = ("data.js", "charts.js", "graph.js", "cards.js", "columns.js", "run.js", "details.js", "main.js")


def write_report(
    graph: Any,
    signal: Any = None,
    path: str | os.PathLike | None = None,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    columns: str = "auto",
    given: Any = "degree",
    labels: bool = False,
    pos: Any = None,
    title: str | None = None,
    name: str | None = None,
    command: str | None = None,
) -> Report:
    """Make one HTML page that answers how far likeness reaches; it works offline. Write it, or show it in a notebook.

    Parameters
    ----------
    graph : graph in any form, Stratification, Profile, result, or mapping of names to results
        A result needs its signal (``keep=("signal",)``) or ``signal`` beside it for tests, and its spectra are shown as
        they are. Several results of one graph are given by name. ``w.dataset`` of a watched model gives a page about
        its layers. ``spectrata.stats.profile`` makes a Profile, and has more options.
    signal : array, mapping, DataFrame, DataArray, tensor, path or attribute name
        As for :func:`spectrata.diagnose`.
    path : path, optional
        Where to write the page; the file appears whole or not at all.
    hops, weights, columns, given, labels
        As for :func:`spectrata.diagnose`. By default the page has the first 6 hops, above 1,000 nodes the first 3.
    pos : array, mapping from node, DataFrame or path, optional
        Where nodes are drawn: two or three coordinates each, of which the first two count. By default where the graph
        places them (node attributes, ``obsm["spatial"]`` of AnnData), else by a layout.
    title, name : str, optional
        What to call the graph, and the signal.
    command : str, optional
        The command that made the page, for its last section.

    Returns
    -------
    Report
        The page, with its ``path`` where it was written. As the last value of a notebook cell it shows itself.

    Examples
    --------
    >>> import networkx as nx, spectrata as st, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "club.html"
    >>> report = st.write_report(nx.karate_club_graph(), "club", file, weights=False, title="Karate club")
    >>> report.title, report.path.name, report.path.read_text(encoding="utf-8")[:15]
    ('Karate club', 'club.html', '<!doctype html>')
    """
    if path is None and isinstance(signal, (str, os.PathLike)) and str(signal).endswith((".html", ".htm")):
        raise OptionError(f"The signal is the name of a page; write path={str(signal)!r}.")
    found = _profiled(graph, signal, {"hops": hops, "weights": weights, "columns": columns, "given": given}, labels)
    title = title or f"Graph of {found.strat.graph.n_nodes:,} nodes"
    first, rest = payload(found, title, _named(signal, found) if name is None else name, pos)
    first["command"] = command or "spectrata.write_report(...), called from Python"
    report = Report(render(first, rest), title)
    return report if path is None else report.save(path)


def _profiled(graph: Any, signal: Any, asked: dict[str, Any], labels: bool) -> Profile:
    """The tests of the graph and signal, made once."""
    if isinstance(graph, Profile):
        if signal is not None or asked != {"hops": None, "weights": None, "columns": "auto", "given": "degree"}:
            raise OptionError("A Profile has its signal and options; give them to spectrata.stats.profile.")
        return graph
    if isinstance(graph, Mapping) and all(hasattr(one, "data_vars") for one in graph.values()):
        graph = as_result(graph)
    if hasattr(graph, "data_vars") and not is_watched(graph):
        view(graph).require_components("a report")
    if not hasattr(graph, "data_vars"):
        signal = signal_or_table(graph, signal, "write_report")
    return profile(graph, signal, labels=labels, **asked)


def _named(signal: Any, found: Profile) -> str:
    """The name of a signal: that of its attribute, file or only column."""
    reading = found.reading
    if reading is not None and len(reading.columns) == 1 and reading.columns[0].name is not None:
        return str(reading.columns[0].name)
    if isinstance(signal, (str, os.PathLike)):
        file = Path(signal)
        return file.stem if file.suffix else str(signal)
    own = getattr(signal, "name", None)
    return str(own) if isinstance(own, str) else ""


def render(first: dict[str, Any], rest: dict[str, Any]) -> str:
    """Put style, script and data into the template, under a policy that lets only this script run."""
    own = "\n".join(_source(f"js/{name}") for name in SCRIPTS)
    own = re.sub(r"(?m)^ *//.*\n|^ +", "", own)  # comments and indents stay with the sources
    script = f'"use strict";(() => {{\n{own}\n}})();'.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    # Only this script runs, by its hash; no address is ever asked for anything.
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
    policy += "form-action 'none'; base-uri 'none'"
    tab = " \u00b7 ".join(filter(None, (first["name"], first["title"])))
    packed = gzip.compress(escaped_json(rest).encode("ascii"), 6, mtime=0)
    pieces = {
        "policy": policy,
        "title": html.escape(tab.encode("utf-8", "replace").decode("utf-8")),
        "style": _source("page.css"),
        "data": escaped_json(first),
        "rest": base64.b64encode(packed).decode("ascii"),
        "script": script,
    }
    # One pass over the template alone: nothing put in is looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: pieces[match[1]], _source("page.html"))


def _source(name: str) -> str:
    return resources.files("spectrata.report").joinpath(name).read_text(encoding="utf-8")
