"""``spectrata profile``: from a graph and a signal to findings, tables and files."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import chance, columns, describe, files
from spectrata.cli import report as pages
from spectrata.cli.arguments import SETTINGS
from spectrata.cli.tables import print_text
from spectrata.cli.terminal import Meter, console
from spectrata.errors import OptionError, SpectrataError
from spectrata.results.schema import options_of, view

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.stats.findings import Findings

SMALL = 300  # nodes up to which findings take about a second


def profile(
    graph: str,
    signal: str,
    *,
    out: str | None,
    hops: int | list[int] | None,
    n_nodes: int | None,
    top: int,
    as_json: bool,
    arguments: dict[str, Any],
    read_as: dict[str, Any],
    column: list[str] | None = None,
    cache: str | None = None,
    calibrate: bool = False,
    draws: int | None = None,
    report: bool = False,
    findings: bool | None = None,
) -> None:
    """Compute, write, print: in this order, so that bad input leaves nothing behind."""
    from spectrata.core.algorithms.options import by_algorithm
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.columns import pick_columns
    from spectrata.inputs.signals import as_signal

    folder = files.chosen_folder(out, files.default_folder(graph))
    if report:
        pages.require()
        if arguments.get("n_eigs") is not None:
            raise OptionError("--report shows all components; leave out --n-eigs.")
    judged = found = ranked = None
    with Meter() as progress:
        progress("hop distances", 0.0)
        settings = {name: arguments[name] for name in SETTINGS if name in arguments}
        strat = Stratification(graph, hops, n_nodes=n_nodes, cache=cache, progress=progress, **settings, **read_as)
        wanted = strat.graph.n_nodes <= SMALL or calibrate if findings is None else findings
        if not (calibrate or report or wanted):  # nothing after the spectra goes back to the bases
            strat.memory.max_bytes = 0
        known = as_signal(signal, strat.graph)
        known = pick_columns(known, column) if column else known
        given = {name: value for name, value in arguments.items() if name not in SETTINGS}
        ds = strat.spectra(known, **by_algorithm(given))
        if arguments["columns"] == "separate":
            progress("ranking columns", 0.9)
            ranked = columns.rank(strat, known, ds, draws)
        else:
            describe.note_columns(known, ds, arguments["metric"])
        if ranked is None and wanted:
            progress("findings", 0.9)
            found = find(strat, known, ds)
        if calibrate:
            progress("calibrating", 0.9)
            judged = chance.judge(strat, known, ds, draws)

        also: dict[str, Any] = {}
        if judged is not None:
            also["calibrated"] = (chance.TABLE, partial(chance.write, judged))
        if ranked is not None:
            also["columns"] = (columns.TABLE, partial(ranked.to_csv, index=False))
        if report:
            progress("making the report", 1.0)
            page = pages.page(ds, strat, signal=known, graph_name=graph, signal_name=signal)
            also["report"] = (pages.PAGE, partial(Path.write_text, data=page.html, encoding="utf-8", newline="\n"))
        progress("writing", 1.0)
        paths = files.write_files(ds, folder, also)
    facts = (
        describe.graph_facts(strat, graph, read_as),
        describe.signal_facts(ds, signal, arguments.get("metric", "auto")),
    )
    if as_json:
        extra: dict[str, Any] = {"findings": None if found is None else json.loads(found.to_json())}
        extra |= {} if judged is None else {"chance": chance.rows(judged)}
        extra |= {} if ranked is None else {"columns": columns.records(ranked)}
        print_json("profile", ds, *facts, paths, top, extra)
    else:
        print_facts(*facts)
        if ranked is None:
            print_findings(found, ds.attrs["n_nodes"], findings)
        else:
            print_ranking(ranked)
            first = ranked["column"].tolist()[: describe.MAX_SNAPSHOTS]
            ds = ds.sel(column=first)
            print_text(f"Spectra of the {f'first {len(first)} ' * (len(first) < len(ranked))}columns:")
        if judged is not None:
            chance.show(judged)
        print_tables(ds, paths, top)
        if report:
            pages.offer(paths["report"])


def find(strat: "Stratification", signal: Any, ds: "xr.Dataset") -> "Findings":
    """Findings as the result was computed; a note in their place where there can be none."""
    from spectrata.report.contents import findings
    from spectrata.stats.findings import Findings

    result = view(ds)
    if not result.complete.all():
        return Findings(notes=["Not computed: findings need all components; leave out --n-eigs."])
    try:
        return findings(result, strat, signal)
    except SpectrataError as problem:
        return Findings(notes=[f"Not computed: {problem}"])


def print_facts(graph: dict[str, Any], signal: dict[str, Any]) -> None:
    """Print graph and signal, one line each."""
    print_text(describe.graph_line(graph))
    print_text(describe.signal_line(signal))


def print_findings(found: "Findings | None", n_nodes: int, asked: bool | None) -> None:
    """Print the findings, or how to get them."""
    if found is None and asked is None:
        print_text(f"Findings: not computed for {n_nodes:,} nodes (more than {SMALL}); use --findings.")
    if found is not None:
        print_text("Findings:")
        for line in [*found.table, *found.lines] or str(found).splitlines():
            console().print(line, soft_wrap=True)


def print_ranking(table: "pd.DataFrame") -> None:
    """Print what the columns show, and the clearest of them."""
    from spectrata.stats.findings.columns import column_sentences

    print_text("Findings:")
    for line in column_sentences(table):
        print_text(line, "- ")
    columns.show(table)


def print_tables(ds: "xr.Dataset", paths: dict[str, Path], top: int) -> None:
    """Print the tables, their footnotes, and where the files are."""
    spaces = describe.Spaces(ds)
    starred = describe.print_tables(spaces, top)
    for line in describe.footnotes(spaces.result, starred):
        print_text(line)
    print_text(f"written: {', '.join(str(path) for path in paths.values())}")


def print_json(
    command: str,
    ds: "xr.Dataset",
    graph: dict[str, Any],
    signal: dict[str, Any],
    paths: dict[str, Path],
    top: int,
    extra: dict[str, Any] | None = None,
) -> None:
    """Print the same as one JSON document, and nothing else, on stdout."""
    import typer

    document = {
        "spectrata": ds.attrs["spectrata_version"],
        "command": command,
        "graph": graph,
        "signal": signal,
        "seed": int(ds.attrs["seed"]),
        "options": options_of(ds),
        "hops": describe.spectra_json(describe.Spaces(ds), top),
        "files": {kind: str(path) for kind, path in paths.items()},
    } | (extra or {})
    typer.echo(describe.to_json(document))
