"""``spectrata profile``: at which hops nodes are alike, more than chance and degree explain; spectra as files."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from spectrata.cli import describe, files, options
from spectrata.cli.options import ALGORITHMS, COMPUTED, MACHINE, OUTPUT, SCALE, GraphOptions, SignalOptions, option
from spectrata.cli.render import lines, progress_bar, text
from spectrata.errors import OptionError, SpectrataError, argument

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.stats.verbs.profile import Profile

FAILED = 10  # failed pairs that are printed
NOT_OF_BANDS = ("adj_diff", "dtype", "ens", "keep", "ln_vx", "n_eigs", "preset", "which")


@dataclass
class SpectraOptions:
    """Options of spectra other than random-walk ``gft``."""

    algorithms: str | None = option(None, COMPUTED, "NAMES", "gft (default), apprx_ls, in_agg, adj_diff, ln_vx, ens.")
    laplacian: str | None = option(None, ALGORITHMS, "combinatorial|random_walk|normalized", "Laplacian.", rare=True)
    preset: str | None = option(None, COMPUTED, "paper", "All algorithms as in the paper.", rare=True)
    self_loops: bool | None = option(None, ALGORITHMS, "", "Add a self-loop to every node.", rare=True)
    apprx_ls: str | None = option(None, ALGORITHMS, "OPTIONS", "Such as orientation=index.", rare=True)
    adj_diff: str | None = option(None, ALGORITHMS, "OPTIONS", "Such as scaling=program.", rare=True)
    ln_vx: str | None = option(None, ALGORITHMS, "OPTIONS", "Such as trials=5,max_epochs=100,literal=true.", rare=True)
    ens: str | None = option(None, ALGORITHMS, "OPTIONS", "Such as weights=even.", rare=True)

    def arguments(self) -> dict[str, Any]:
        """Those that were given, as ``spectra`` takes them."""
        from spectrata.core.algorithms.options import OPTIONS_OF

        parse = {name: partial(options.parse_options, argument(name)) for name in OPTIONS_OF}
        return options.chosen(self, algorithms=options.parse_names, **parse)


@dataclass
class Computing:
    """How and where spectra are computed."""

    n_eigs: int | None = option(None, COMPUTED, "N", "Only N components of each spectrum.", min=1, rare=True)
    which: str | None = option(None, COMPUTED, "lowest|highest", "End of the spectrum for --n-eigs.", rare=True)
    keep: str | None = option(None, OUTPUT, "NAMES", "What to store: eigenvectors, signal, trials, none.", rare=True)
    device: str | None = option(None, MACHINE, "cpu|cuda|cuda:0", "Device.", rare=True)
    dtype: str | None = option(None, MACHINE, "float64|float32", "Precision.", rare=True)
    cache: str | None = option(None, MACHINE, "DIR", "Folder that keeps eigenvectors for later runs.", rare=True)

    def arguments(self) -> dict[str, Any]:
        """Those that were given, as ``Stratification`` takes them."""
        return options.chosen(self, keep=options.parse_names)


@dataclass
class Output:
    """Options of the output, printed and written."""

    out: str | None = options.OUT
    report: bool = options.switch("--report", OUTPUT, "Also write report.html, which works offline.")
    pos: str | None = option(None, OUTPUT, "FILE", "Positions of the nodes, for --report.", rare=True)
    csv: bool = options.CSV
    details: bool = options.switch("--details", OUTPUT, "Print and draw the strongest frequencies.")
    json: bool = options.JSON


@dataclass
class MaybeGraph(GraphOptions):
    """The graph may be left out with --many."""

    graph: Annotated[str | None, options.GRAPH] = None  # type: ignore[assignment]


@dataclass
class MaybeSignal(SignalOptions):
    """The signal may be left out with --many."""

    signal: Annotated[str | None, options.SIGNAL] = None  # type: ignore[assignment]


def profile(
    graph: MaybeGraph,
    signal: MaybeSignal,
    chance: options.Chance,
    spectra: SpectraOptions,
    computing: Computing,
    output: Output,
    bands: str | None = option(None, SCALE, "N", "Energy per band of frequencies: 32, or 0,0.5,2."),
    spacing: str | None = option(None, SCALE, "log|width|count", "Spacing of the bands.", rare=True),
    many: str | None = option(None, SCALE, "MANIFEST", "CSV file with columns graph, signal[, name]."),
    jobs: int = option(1, SCALE, "N", "Processes for --many.", min=1),
    scheduler: str | None = option(None, SCALE, "ADDRESS", "Dask cluster for --many.", rare=True),
) -> None:
    """Say at which hops nodes are alike or unlike in SIGNAL, more than chance and degree explain.

    Writes likeness.png and spectra.nc to DIR, or to GRAPH-spectra/. Columns of a table are tested one by one.
    """
    whole = {"--report": output.report, "--details": output.details, "--missing": signal.missing}
    asked = spectra.arguments() | computing.arguments()
    asked |= {"metric": signal.metric, "zero_vectors": signal.zero_vectors, "seed": chance.seed}
    if many is not None:
        one = {"GRAPH": graph.graph, "--n-nodes": graph.n_nodes, "--spacing": spacing, "--column": signal.column}
        _refuse(whole | one | {"--keep": computing.keep, "--cache": computing.cache}, "--many")
        asked |= graph.arguments() | {"hop_weights": graph.hop_weights, "hops": options.parse_hops(graph.hops)}
        asked |= {} if bands is None else {"bands": options.parse_bands(bands)}
        asked = {name: value for name, value in asked.items() if value is not None}
        _many_graphs(many, output, scheduler, jobs, asked)
        return
    if graph.graph is None:
        raise OptionError("Give a graph and a signal, as in: spectrata profile graph.txt signal.csv")
    if signal.signal is None:
        lacks = f"The signal is missing: give a file with a value for every node of {graph.graph}"
        raise OptionError(f"{lacks}, or the name of a node attribute.")
    _refuse({"--scheduler": scheduler, "--jobs": jobs != 1}, "one graph; it needs --many")
    if bands is not None:
        _refuse(whole | {"--cache": computing.cache}, "--bands, which computes no eigenvectors")
        asked |= {"columns": signal.columns} | ({} if spacing is None else {"spacing": spacing})
        _banded_graph(graph, signal, options.parse_bands(bands), output, asked)
        return
    _refuse({"--spacing": spacing}, "a profile; it needs --bands")
    _refuse({"--report": output.report and computing.n_eigs is not None}, "--n-eigs: it shows all components")
    _one_graph(graph, signal, chance, spectra, computing, output)


def _refuse(flags: dict[str, Any], why: str) -> None:
    for flag, value in flags.items():
        if value:
            raise OptionError(f"{flag} does not go with {why}.")


def _many_graphs(manifest: str, to: Output, scheduler: str | None, jobs: int, arguments: dict[str, Any]) -> None:
    """Compute what is missing in the store, and print what failed; the exit code is 1 when a pair failed."""
    from spectrata.many.manifest import executor_of, read_manifest
    from spectrata.many.run import COMPUTING, READING, spectra_many

    pairs = read_manifest(manifest)
    store = files.chosen_folder(to.out, f"{Path(manifest).stem}-spectra") / "spectra.zarr"
    with progress_bar() as progress, executor_of(scheduler, jobs) as executor:
        how = {name: arguments.pop(name) for name in COMPUTING + READING[1:] if name in arguments}
        ds = spectra_many(pairs, executor, store, progress=progress, stratification=how, **arguments)
    failed = ds.isel({"graph": ds["state"].values == "failed"})
    errors = dict(zip(failed["graph"].values.tolist(), failed["error"].values.tolist(), strict=True))
    done, total = int((ds["state"] == "done").sum()), ds.sizes["graph"]
    if not to.json:
        text(f"{done} of {total} pairs done, {len(errors)} failed: {store}")
        for name, error in list(errors.items())[:FAILED]:
            text(f"failed: {name}: {error}")
    contents = files.picture("spectrogram", "spectrogram.png", ds) if "bands" in arguments and done else {}
    document = {"command": "profile", "done": done, "failed": errors, "store": str(store)}
    files.finish(store.parent, contents, to.json, document)
    if errors:
        raise SpectrataError(f"{len(errors)} of {total} pairs failed; the store holds the reasons.")


def _banded_graph(
    graph: GraphOptions, signal: SignalOptions, bands: int | list[float], to: Output, arguments: dict[str, Any]
) -> None:
    """Compute, print and write energies per band of a graph of any size."""
    from spectrata.bands.result import NAMES
    from spectrata.bands.spectra import band_spectra
    from spectrata.inputs.signals import as_signal, pick_columns
    from spectrata.results.files import to_table

    for name in [name for name in NOT_OF_BANDS if name in arguments]:
        raise OptionError(f"{argument(name)} needs eigenvectors; --bands does not compute them.")
    folder = files.chosen_folder(to.out, files.default_folder(graph.graph))
    with progress_bar() as progress:
        how = {name: arguments.pop(name) for name in ("device", "laplacian", "self_loops") if name in arguments}
        strat = graph.read(lambda n, asked: asked or [1], progress=progress, max_basis_bytes=0, **how)
        values = as_signal(signal.signal, strat.graph, signal.nodes)
        values = pick_columns(values, signal.column) if signal.column else values
        ds = band_spectra(strat, values, bands, **arguments)
        if not to.json:
            describe.print_bands(ds, graph.graph)
        progress("writing", 1.0)
        document: dict[str, Any] = {"command": "profile", "graph": graph.graph, "signal": signal.signal, **ds.attrs}
        names = [name for name in (*NAMES, "status", "hop", "algorithm", "snapshot", "column") if name in ds]
        document |= {name: ds[name].values for name in names} if to.json else {}
        contents = files.result(ds) | (files.frame("table", "spectra.csv", to_table(ds)) if to.csv else {})
        files.finish(folder, contents, to.json, document, "" if to.csv else " (also: --csv)")


def _one_graph(
    graph: GraphOptions,
    signal: SignalOptions,
    chance: options.Chance,
    spectra: SpectraOptions,
    computing: Computing,
    to: Output,
) -> None:
    """Test, print, then write: bad input leaves nothing behind, and the answer does not wait for pictures."""
    from spectrata.inputs.readers.files import listed
    from spectrata.results.files import to_table
    from spectrata.stats.verbs.profile import SHOWN, first_hops
    from spectrata.stats.verbs.profile import profile as tested

    folder = files.chosen_folder(to.out, files.default_folder(graph.graph))
    with progress_bar() as progress:
        how = {"keep": ["signal"]} | computing.arguments()
        strat = graph.read(lambda n, asked: first_hops(n) if graph.hops is None else asked, progress=progress, **how)
        known = signal.read(strat)
        progress("permuting nodes", 0.3)
        found = tested(strat, known, **signal.arguments(), **chance.arguments())
        if not to.json:
            print_answer(found, graph.graph, ", ".join(signal.names))
        progress("spectra", 0.8)
        ds = _spectra(found, known, signal, spectra, chance.seed)
        if to.details and ds is not None and not to.json:
            describe.print_strongest(ds)
        progress("writing", 0.9)
        asked = bool(spectra.arguments()) or computing.n_eigs is not None or to.details
        contents = files.picture("correlogram", "likeness.png", found.findings, "likeness")
        contents |= {} if ds is None else files.result(ds, asked)
        if to.csv:
            contents |= files.frame("findings", "findings.csv", found.findings.to_frame())
            contents |= {} if found.ranking is None else files.frame("columns", "columns.csv", found.ranking)
            contents |= {} if ds is None else files.frame("table", "spectra.csv", to_table(ds))
        if to.report:
            shown = replace(found, result=ds) if spectra.arguments() else found
            contents |= files.page(shown, graph.graph, ", ".join(signal.names), to.pos)
        more = [flag for flag, given in (("--report", to.report), ("--csv", to.csv)) if not given]
        facts = document(found, graph.graph, signal.signal, ds) | {"column": signal.column} if to.json else {}
        files.finish(folder, contents, to.json, facts, f" (also: {', '.join(more)})" if more else "")
    if to.json:
        return
    if ds is None:
        text(f"No spectra were written: {_lacking(found)}.")
    elif found.ranking is not None and ds.sizes.get("column", 0) < min(len(found.ranking), SHOWN):
        held = listed(ds["column"].values.tolist(), str)
        text(f"spectra.nc holds {held}: text and columns with missing values have no spectra.")


def _spectra(
    found: "Profile", known: Any, signal: SignalOptions, spectra: SpectraOptions, seed: int
) -> "xr.Dataset | None":
    """Random-walk gft as the findings have it, or what was asked for."""
    given = spectra.arguments()
    if not given:
        return found.spectra
    if signal.labels or known.values.shape[2] == 0:
        raise OptionError(f"{argument(next(iter(given)))} needs numbers, and the signal holds labels.")
    how: dict[str, Any] = {"metric": signal.metric, "columns": signal.columns, "zero_vectors": signal.zero_vectors}
    if "preset" not in given:
        given.setdefault("algorithms", ["gft"])
    return found.strat.spectra(known, **how, seed=seed, **given)


def _lacking(found: "Profile") -> str:
    """Why there are no spectra, which need numbers at every node of a graph that is not large."""
    n, columns = found.strat.graph.n_nodes, () if found.shown is None else found.shown.columns
    if len(columns) > 1 and all(one.kind == "labels" for one in columns):
        return "the columns are text"
    if not any(len(one.rows) == n for one in columns):
        return "some nodes have no value"
    advice = "; --bands 32 writes energies per band" * all(one.kind != "labels" for one in columns)
    return f"{n:,} nodes are too many{advice}"


def print_answer(found: "Profile", graph: str, signal: str) -> None:
    """The answer, the graph, and the table of the last snapshot: one row per hop, or one per column."""
    from spectrata.stats.describe.sizes import graph_facts
    from spectrata.stats.findings.finding import tables

    name, findings = f"{signal} ({how_read(found)})", found.findings
    missing = found.reading.missing if found.reading is not None else ""
    if found.ranking is not None:
        text(f"{signal}: {len(found.ranking)} columns, each by itself")
        text(describe.graph_line(graph_facts(found.strat, graph)))
        lines([missing] if missing else [])
        describe.print_ranking(found, found.ranking)
        return
    places = list(dict.fromkeys((one.column, one.snapshot) for one in findings if one.statistic == "r"))
    several = [found.headline(f"snapshot {place[1]}", *place) for place in places] if len(places) > 1 else []
    text("; ".join([name, *several]) if several else found.headline(name, *places[0]))
    text(describe.graph_line(graph_facts(found.strat, graph)))
    lines([missing] if missing and not several else [])
    if found.reading is not None and found.reading.columns[0].kind in ("directions", "vectors"):
        text("Columns are read as one vector per node; --columns separate tests each.")
    if several and found.reading is not None and found.reading.note:
        text(found.reading.note)
    last = [one for one in findings if (one.column, one.snapshot) == places[-1]]
    lines([*tables(last, findings.given, findings.tests), *findings.lines])
    if several:
        text("--csv writes the other snapshots too.")


def how_read(found: "Profile") -> str:
    """How the signal was read, in words."""
    if found.reading is None:
        return "a result"
    column, times = found.reading.columns[0], found.reading.snapshots
    said = describe.how_read(column.kind, column.values.shape[2])
    return said if times is None else f"{said}, {len(times)} snapshots tested"


def document(found: "Profile", graph: str, signal: str, ds: "xr.Dataset | None") -> dict[str, Any]:
    """The same as one JSON document."""
    import json

    from spectrata._version import __version__
    from spectrata.results.schema import options_of
    from spectrata.stats.describe.sizes import graph_facts
    from spectrata.stats.describe.summary import strongest_rows

    facts: dict[str, Any] = {"spectrata": __version__, "command": "profile", "signal": signal, "seed": found.seed}
    facts |= {"graph": graph_facts(found.strat, graph), "read_as": how_read(found), "hops": list(found.hops)}
    facts |= {"findings": json.loads(found.findings.to_json())}
    facts |= {"columns": None if found.ranking is None else found.ranking.to_dict("records")}
    return facts | ({} if ds is None else {"options": options_of(ds), "strongest": strongest_rows(ds)})
