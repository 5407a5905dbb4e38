"""``spectrata profile``: at which hops nodes are alike, more than chance and degree explain; spectra as files."""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from spectrata.cli.options import (
    ALGORITHMS,
    COMPUTED,
    CSV,
    GRAPH,
    JSON,
    LEARNING,
    MACHINE,
    OUT,
    OUTPUT,
    SCALE,
    SIGNAL,
    Chance,
    GraphOptions,
    SignalOptions,
    option,
    parse_bands,
    parse_ens_weights,
    parse_hops,
    parse_names,
    switch,
)
from spectrata.cli.render import Meter, lines, table, text, width
from spectrata.errors import OptionError, argument

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.cli.files import Writers
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal
    from spectrata.stats.findings import Findings
    from spectrata.stats.verbs.profile import Profile

TOP = 10  # columns in the table
LEVEL = 0.05
KEYS = ("algorithm", "snapshot", "column", "hop", "component", "eigenvalue", "multiplicity")
CALIBRATED = ("magnitude", "share", "chance", "chance_low", "chance_high", "ratio", "p", "q")


def choice(default: Any, metavar: str, help: str, panel: str = ALGORITHMS) -> Any:
    """An option of an algorithm, shown by --help-all."""
    return option(default, panel, metavar, help, show_default=False, rare=True)


@dataclass
class SpectraOptions:
    """What spectra are computed, where it is not random-walk ``gft``."""

    algorithms: str | None = option(None, COMPUTED, "NAMES", "gft (default), apprx_ls, in_agg, adj_diff, ln_vx, ens.")
    laplacian: str | None = choice(None, "combinatorial|random_walk|normalized", "Laplacian of the spectra.")
    preset: str | None = option(None, COMPUTED, "paper", "All algorithms as in the paper.", rare=True)
    self_loops: bool | None = choice(None, "", "Add a self-loop to every node; not with combinatorial.")
    orientation: str | None = choice(None, "rms|random|index", "Orientation of edges in apprx_ls.")
    scaling: str | None = choice(None, "unit|eigenvalue|program", "Scaling of adj_diff.")
    ens_weights: str | None = choice(None, "paper|even|pulse|fast|PAIRS", "Weights of ens; PAIRS such as adj_diff=1.")
    transform: str | None = choice(None, "learned|incidence", "Map from line graph to graph.", LEARNING)
    trials: int | None = choice(None, "N", "Learning trials.", LEARNING)
    max_epochs: int | None = choice(None, "N", "Epochs of each trial at most.", LEARNING)
    tolerance: float | None = choice(None, "MSE", "Error at which a trial stops.", LEARNING)
    learning_rate: float | None = choice(None, "RATE", "Learning rate of Adagrad.", LEARNING)
    literal: bool | None = choice(None, "", "Learn H_ln itself, as the paper's program does.", LEARNING)
    activation: str | None = choice(None, "none|selu|relu", "Activation of the learned entries.", LEARNING)
    average: str | None = choice(None, "signed|abs", "Average over trials.", LEARNING)
    by_part: bool | None = choice(None, "", "Learn each connected component separately.", LEARNING)
    max_line_nodes: int | None = choice(None, "N", "Largest line graph, in nodes.", LEARNING)
    skip_large: bool | None = choice(None, "", "Leave larger line graphs NaN.", LEARNING)

    def arguments(self) -> dict[str, Any]:
        """Those that were given, as ``spectra`` takes them."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if "algorithms" in given:
            given["algorithms"] = parse_names(given["algorithms"])
        if "ens_weights" in given:
            given["ens_weights"] = parse_ens_weights(given["ens_weights"])
        if given.get("activation") == "none":
            given["activation"] = None
        return given


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
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if "keep" in given:
            given["keep"] = parse_names(given["keep"])
        return given


@dataclass
class MaybeGraph(GraphOptions):
    """The graph may be left out with --many."""

    graph: Annotated[str | None, GRAPH] = None  # type: ignore[assignment]


@dataclass
class MaybeSignal(SignalOptions):
    """The signal may be left out with --many."""

    signal: Annotated[str | None, SIGNAL] = None  # type: ignore[assignment]


def profile(
    graph: MaybeGraph,
    signal: MaybeSignal,
    chance: Chance,
    spectra: SpectraOptions,
    computing: Computing,
    out: str | None = OUT,
    report: bool = switch("--report", OUTPUT, "Also write report.html, which works offline."),
    pos: str | None = option(None, OUTPUT, "FILE", "Positions of the nodes, for --report.", rare=True),
    csv: bool = CSV,
    calibrate: bool = switch("--calibrate", OUTPUT, "Test every eigenspace; writes calibrated.csv.", rare=True),
    details: bool = switch("--details", OUTPUT, "Also print the strongest frequencies."),
    json: bool = JSON,
    bands: str | None = option(None, SCALE, "N", "Energy per band of frequencies: 32, or 0,0.5,2."),
    spacing: str | None = option(None, SCALE, "log|width|count", "Spacing of the bands.", rare=True),
    many: str | None = option(None, SCALE, "MANIFEST", "CSV file with columns graph, signal[, name]."),
    jobs: int = option(1, SCALE, "N", "Processes for --many.", min=1),
    scheduler: str | None = option(None, SCALE, "ADDRESS", "Dask cluster for --many.", rare=True),
) -> None:
    """Say at which hops nodes are alike or unlike in SIGNAL, more than chance and degree explain.

    Writes spectra.nc and spectra.png to DIR, or to GRAPH-spectra/. Columns of a table are tested one by one.
    """
    whole = {"--report": report, "--details": details, "--calibrate": calibrate}
    asked = spectra.arguments() | computing.arguments()
    if many is not None:
        one = {"GRAPH": graph.graph, "--n-nodes": graph.n_nodes, "--spacing": spacing, "--column": signal.column}
        _refuse(whole | one | {"--keep": computing.keep, "--cache": computing.cache}, "--many")
        from spectrata.cli.commands.many import profile_many

        read_as = graph.arguments() | {"hop_weights": graph.hop_weights, "hops": parse_hops(graph.hops)}
        read_as |= {"metric": signal.metric, "zero_vectors": signal.zero_vectors, "seed": chance.seed}
        read_as |= {} if bands is None else {"bands": parse_bands(bands)}
        given = {name: value for name, value in (asked | read_as).items() if value is not None}
        profile_many(many, out=out, scheduler=scheduler, jobs=jobs, json=json, arguments=given)
        return
    if graph.graph is None or signal.signal is None:
        raise OptionError("Give a GRAPH and a SIGNAL, or --many MANIFEST.")
    _refuse({"--scheduler": scheduler, "--jobs": jobs != 1}, "one graph; it needs --many")
    if bands is not None:
        _refuse(whole | {"--cache": computing.cache}, "--bands, which computes no eigenvectors")
        from spectrata.cli.commands.bands import profile_bands

        given = asked | {"metric": signal.metric, "zero_vectors": signal.zero_vectors, "seed": chance.seed}
        given |= {"columns": signal.columns} | ({} if spacing is None else {"spacing": spacing})
        profile_bands(graph, signal, parse_bands(bands) or 0, out, csv, json, given)
        return
    _refuse({"--spacing": spacing}, "a profile; it needs --bands")
    one_graph(graph, signal, chance, spectra, computing, out, report, pos, csv, calibrate, details, json)


def _refuse(flags: dict[str, Any], why: str) -> None:
    for flag, value in flags.items():
        if value:
            raise OptionError(f"{flag} does not go with {why}.")


def one_graph(
    graph: GraphOptions, signal: SignalOptions, chance: Chance, spectra: SpectraOptions, computing: Computing,
    out: str | None, report: bool, pos: str | None, csv: bool, calibrate: bool, details: bool, json: bool,
) -> None:  # fmt: skip
    """Test, print, then write: bad input leaves nothing behind, and the answer does not wait for pictures."""
    from spectrata.cli import files
    from spectrata.stats.verbs.profile import profile as tested

    folder = files.chosen_folder(out, files.default_folder(graph.graph))
    if report and computing.n_eigs is not None:
        raise OptionError("--report shows all components; leave out --n-eigs.")
    with Meter() as progress:
        strat = _read(graph, computing, progress)
        known = signal.read(strat)
        progress("permuting nodes", 0.3)
        found = tested(strat, known, **signal.arguments(), **chance.arguments())
        if not json:
            print_answer(found, graph.graph, signal.signal)
        progress("spectra", 0.8)
        ds = _spectra(found, known, signal, spectra, chance.seed)
        if details and ds is not None and not json:
            from spectrata.cli.details import print_strongest

            print_strongest(ds)
        progress("writing", 0.9)
        contents: dict[str, Any] = {} if ds is None else dict(files.result(ds))
        if csv:
            contents |= files.frame("findings", "findings.csv", found.findings.to_frame())
            contents |= {} if found.ranking is None else files.frame("columns", "columns.csv", found.ranking)
            contents |= {} if ds is None else files.long_table(ds)
        if calibrate:
            contents |= _calibrated(found, known, ds, chance, json)
        if report:
            shown = replace(found, result=ds) if spectra.arguments() else found
            contents |= files.page(shown, graph.graph, signal.signal, pos)
        more = [flag for flag, given in (("--report", report), ("--csv", csv)) if not given]
        facts = document(found, graph.graph, signal.signal, ds) if json else {}
        files.finish(folder, contents, json, facts, f" (also: {', '.join(more)})" if more else "")
    if not contents and not json:
        text("No spectra were written for so many nodes; --bands 32 writes energies per band, --report a page.")


def _read(graph: GraphOptions, computing: Computing, progress: Any) -> "Stratification":
    """The graph at the hops of a profile, computed as asked; results keep the signal."""
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.graphs import as_graph
    from spectrata.stats.verbs.hops import NEAR_HOPS
    from spectrata.stats.verbs.profile import FEW, LARGE, NEAR

    known, hops = as_graph(graph.graph, **graph.arguments()), parse_hops(graph.hops)
    if graph.hops is None:
        hops = NEAR if known.n_nodes <= LARGE else FEW if known.n_nodes <= NEAR_HOPS else 1
    how = {"keep": ["signal"]} | computing.arguments()
    return Stratification(known, hops, hop_weights=graph.hop_weights, progress=progress, **how)


def _spectra(
    found: "Profile", known: "Signal | str", signal: SignalOptions, spectra: SpectraOptions, seed: int
) -> "xr.Dataset | None":
    """Random-walk gft as the findings have it, or what was asked for."""
    from spectrata.core.algorithms.options import by_algorithm

    given = spectra.arguments()
    if not given:
        return found.spectra
    if isinstance(known, str) or known.values.shape[2] == 0:
        raise OptionError(f"{argument(next(iter(given)))} needs numbers, and the signal holds labels.")
    how = {"metric": signal.metric, "columns": signal.columns, "zero_vectors": signal.zero_vectors, "seed": seed}
    given.setdefault("algorithms", ["gft"] if "preset" not in given else None)
    given = {name: value for name, value in (how | given).items() if value is not None}
    return found.strat.spectra(known, **by_algorithm(given))


def _calibrated(found: "Profile", known: Any, ds: "xr.Dataset | None", chance: Chance, json: bool) -> "Writers":
    """Every eigenspace against permuted nodes: a sentence, and a table as a file."""
    from spectrata.cli import files
    from spectrata.results.schema import view
    from spectrata.stats.verbs.calibrate import calibrate_result

    if ds is None:
        raise OptionError("--calibrate needs spectra, and none were computed for this signal.")
    tested = calibrate_result(ds, None, list(view(ds).algorithms), strat=found.strat, draws=chance.draws)
    frame = tested[list(CALIBRATED)].to_dataframe().reset_index().dropna(subset=["magnitude"])
    if not json:
        text(f"{(frame['q'] <= LEVEL).sum()} of {frame['p'].notna().sum()} eigenspaces differ from chance (q <= .05).")
    return files.frame("calibrated", "calibrated.csv", frame[[name for name in (*KEYS, *CALIBRATED) if name in frame]])


def print_answer(found: "Profile", graph: str, signal: str) -> None:
    """The answer, the graph, and the table: one row per hop, or for several columns one row per column."""
    from spectrata.cli.describe import graph_facts, graph_line, print_ranking

    if found.ranking is not None:
        text(f"{signal}: {len(found.ranking)} columns, each by itself")
        text(graph_line(graph_facts(found.strat, graph)))
        print_ranking(found.ranking, TOP, "--csv writes all")
        return
    places = dict.fromkeys((one.column, one.snapshot) for one in found.findings if one.statistic == "r")
    name = f"{signal} ({how_read(found)})"
    if len(places) == 1:
        text(found.headline(name, *next(iter(places))))
    else:
        text("; ".join([name, *(found.headline(f"snapshot {place[1]}", *place) for place in places)]))
    text(graph_line(graph_facts(found.strat, graph)))
    if found.reading is not None and found.reading.columns[0].kind in ("directions", "vectors"):
        text("Columns are read as one vector per node; --columns separate tests each.")
    print_tables(found.findings)


def print_tables(findings: "Findings") -> None:
    """The table as ``print(st.diagnose(...))`` gives it, laid out anew where the terminal is narrower."""
    from spectrata.stats.findings.table import footnote, hop_rows

    made = findings.table
    if max(map(len, made), default=0) <= width():
        lines("\n".join(made))
    else:
        for (_, snapshot), rows in hop_rows(findings).items():
            if snapshot is not None:
                text(f"Snapshot {snapshot}:")
            cells = {name: [row[name] for row in rows] for name in rows[0] if any(row[name] for row in rows)}
            table(cells, left=("verdict", "chance"))
        text(footnote(findings, findings.given, findings.tests))
    for line in findings.lines:
        text(line)


def how_read(found: "Profile") -> str:
    """How the signal was read, in words."""
    column = found.reading.columns[0] if found.reading is not None else None
    if column is None:
        return "a result"
    width = column.values.shape[2]
    kinds = {"numbers": "one number per node", "labels": f"labels of {width} classes"}
    said = kinds.get(column.kind, f"{column.kind} of {width} numbers")
    times = found.reading.snapshots if found.reading is not None else None
    return said if times is None else f"{said}, {len(times)} snapshots tested"


def document(found: "Profile", graph: str, signal: str, ds: "xr.Dataset | None") -> dict[str, Any]:
    """The same as one JSON document."""
    import json

    from spectrata._version import __version__
    from spectrata.cli.describe import graph_facts
    from spectrata.results.schema import options_of

    facts: dict[str, Any] = {"spectrata": __version__, "command": "profile", "signal": signal}
    facts |= {
        "graph": graph_facts(found.strat, graph),
        "read_as": how_read(found),
        "hops": list(found.hops),
        "seed": found.seed,
    }
    facts |= {"findings": json.loads(found.findings.to_json())}
    facts |= {"columns": None if found.ranking is None else found.ranking.to_dict("records")}
    if ds is not None:
        from spectrata.cli.details import strongest_rows

        facts |= {"options": options_of(ds), "strongest": strongest_rows(ds)}
    return facts
