"""``spectrata profile``: from a graph and a signal to a table and files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import chance, describe, files
from spectrata.cli import report as pages
from spectrata.cli.terminal import Meter, console
from spectrata.errors import OptionError
from spectrata.results.schema import options_of

if TYPE_CHECKING:
    import xarray as xr


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
    cache: str | None = None,
    calibrate: int = 0,
    max_draws: int = 0,
    report: bool = False,
) -> None:
    """Compute, write, print: in this order, so that bad input leaves nothing behind."""
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import as_signal

    folder = files.chosen_folder(out, files.default_folder(graph))
    if report:
        pages.require()
        if arguments.get("n_eigs") is not None:
            raise OptionError("--report shows all components; leave out --n-eigs.")
    judged = None
    with Meter() as progress:
        progress("hop distances", 0.0)
        kept = 2**31 if calibrate or report else 0  # both go back to the bases
        strat = Stratification(graph, hops, n_nodes=n_nodes, max_basis_bytes=kept, cache=cache, **read_as)
        known = as_signal(signal, strat.graph)
        ds = strat.spectra(known, progress=progress, **arguments)
        describe.note_columns(known, ds, arguments["metric"])
        if calibrate:
            progress("calibrating", 0.9)
            judged = chance.judge(strat, known, ds, calibrate, max_draws)

        def also() -> dict[str, Path]:
            more = {} if judged is None else {"calibrated": chance.write(judged[0], folder)}
            if report:
                progress("writing the report", 1.0)
                names = {"graph_name": graph, "signal_name": signal}
                more["report"] = pages.write(ds, folder, strat, signal=known, **names)
            return more

        progress("writing", 1.0)
        paths = files.write_files(ds, folder, also)
    facts = (
        describe.graph_facts(strat, graph, read_as),
        describe.signal_facts(ds, signal, arguments.get("metric", "auto")),
    )
    if as_json:
        extra = {} if judged is None else {"chance": chance.rows(judged[0]), "findings": judged[1].sentences}
        print_json("profile", ds, *facts, paths, top, extra)
    else:
        print_table(ds, *facts, paths, top)
        if judged is not None:
            chance.show(*judged)
        if report:
            pages.offer(paths["report"])


def print_table(
    ds: "xr.Dataset", graph: dict[str, Any], signal: dict[str, Any], paths: dict[str, Path], top: int
) -> None:
    """Print graph and signal, the table, its footnotes, and where the files are."""
    out = console()
    out.print(describe.graph_line(graph), soft_wrap=True)
    out.print(describe.signal_line(signal), soft_wrap=True)
    spaces = describe.Spaces(ds)
    out.print(describe.spectra_table(spaces, top))
    for line in describe.footnotes(spaces.result):
        out.print(line, soft_wrap=True)
    out.print(f"written: {', '.join(str(path) for path in paths.values())}", soft_wrap=True)


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
