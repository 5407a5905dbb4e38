"""The command line: flags are the Python arguments; each command has its own module.

Exit codes: 0; 2 for bad input or flags; 3 for a check that found something; 1 for anything else that fails; 130 when
stopped by Ctrl-C, 143 by SIGTERM.
Messages are one line on stderr, ``error: ...`` or ``note: ...``. Imports wait inside functions, so that ``--help`` is
quick.
"""

import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from spectrata._version import __version__
from spectrata.cli.examples import ANALYSE, COMPARE, OTHER, START, epilog
from spectrata.cli.flags import flags_of, swallowed
from spectrata.cli.parameters import (
    CHANCE,
    COMPUTED,
    INPUT,
    LEARNING,
    MACHINE,
    OUTPUT,
    SCALE,
    SIGNAL,
    ColumnNames,
    ColumnsRead,
    DebugFlag,
    Folder,
    GraphFile,
    HopsText,
    HopWeights,
    JsonFlag,
    MaybeGraph,
    MaybeSignal,
    Metric,
    NodeCount,
    Seed,
    Top,
    Undirected,
    Weights,
    ZeroVectors,
    choice,
    flag,
    option,
)
from spectrata.cli.stopping import end_now, stop_on_signals
from spectrata.cli.terminal import Debug, Invocation, notes, report_failure
from spectrata.errors import OptionError

STOPPED = 130


class Group(TyperGroup):
    """All commands under one rule for messages and exit codes."""

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run, and end the process with the right code."""
        Debug.asked = False
        more["standalone_mode"] = False
        given = args[0] if args else more.get("args")
        Invocation.words = tuple(sys.argv[1:] if given is None else given)
        command = next((word for word in Invocation.words if word in self.commands), "")
        Invocation.flags = flags_of(self.commands.get(command))
        with notes():
            try:
                code = super().main(*args, **more)
                if code == STOPPED:  # the parser answers Ctrl-C with this code, and with no word
                    code = report_failure(KeyboardInterrupt())
            except (Exception, KeyboardInterrupt) as problem:
                code = report_failure(problem)
        if Invocation.stopped:  # files are cleaned up; what Python does at its end may wait for threads
            end_now(code)
        sys.exit(code if isinstance(code, int) else 0)


class Command(TyperCommand):
    """A command that does not take a flag for the value of the flag before it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the command."""
        problem = swallowed(args, flags_of(self))
        if problem:
            raise OptionError(problem)
        return super().parse_args(ctx, args)


class ProfileCommand(Command):
    """A command whose help lists the algorithms of the registry, which is loaded only for the help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from spectrata.core.registry import ALGORITHMS, resolve_algorithms

        words = f"Of {', '.join(ALGORITHMS)} (default: {', '.join(resolve_algorithms(None))})."
        for param in self.params:
            if param.name == "algorithms":
                param.help = words  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


app = typer.Typer(
    cls=Group,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Stratified graph spectra: how a signal's energy is distributed over graph frequencies, per hop distance.",
    epilog=epilog(START),
)


def main() -> None:
    """Run the command line."""
    stop_on_signals()
    app(prog_name="spectrata")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"spectrata {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: DebugFlag = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(cls=ProfileCommand, rich_help_panel=ANALYSE, epilog=epilog("profile"))
def profile(
    ctx: typer.Context,
    graph: MaybeGraph = None,
    signal: MaybeSignal = None,
    hops: HopsText = None,
    metric: Metric = "auto",
    columns: ColumnsRead = "joint",
    column: ColumnNames = None,
    zero_vectors: ZeroVectors = "error",
    n_nodes: NodeCount = None,
    weights: Weights = None,
    hop_weights: HopWeights = "bottleneck",
    undirected: Undirected = False,
    algorithms: Annotated[
        str | None, option(COMPUTED, metavar="NAMES", help="Algorithms, separated by commas.")
    ] = None,
    preset: Annotated[
        str | None, option(COMPUTED, metavar="paper", help="All algorithms, computed as in the paper's program.")
    ] = None,
    n_eigs: Annotated[
        int | None,
        option(COMPUTED, metavar="N", min=1, help="Compute only N components, from one end of the spectrum."),
    ] = None,
    which: Annotated[
        str | None,
        option(COMPUTED, metavar="lowest|highest", help="End of the spectrum for --n-eigs. (default: lowest)"),
    ] = None,
    findings: Annotated[
        bool | None, flag(CHANCE, "--findings/--no-findings", help="Print findings. (default: up to 300 nodes)")
    ] = None,
    calibrate: Annotated[
        bool, flag(CHANCE, "--calibrate", help="Test every eigenspace against chance: p and q.")
    ] = False,
    draws: Annotated[
        int,
        option(CHANCE, metavar="N", min=1, help="Permutations of the nodes, for --calibrate and --columns separate."),
    ] = 999,
    max_draws: Annotated[
        int, option(CHANCE, metavar="N", min=1, help="Largest number of permutations where p is small.")
    ] = 99_999,
    out: Folder = None,
    report: Annotated[
        bool, flag(OUTPUT, "--report", help="Also write report.html, a page that works offline.")
    ] = False,
    keep: Annotated[
        str | None,
        option(
            OUTPUT,
            metavar="NAMES",
            help="What to store: eigenvectors, signal, trials, none. (default: all, up to 200 nodes)",
        ),
    ] = None,
    top: Top = 3,
    as_json: JsonFlag = False,
    bands: Annotated[
        str | None,
        option(
            SCALE,
            metavar="N|EDGES",
            help="Energy per frequency band, without eigenvectors: 32, or edges as 0,0.5,1,2; --many needs edges.",
        ),
    ] = None,
    spacing: Annotated[
        str | None, option(SCALE, metavar="log|width|count", help="Spacing of the bands. (default: log)")
    ] = None,
    many: Annotated[
        str | None,
        option(
            SCALE,
            metavar="MANIFEST",
            help="CSV file with columns graph, signal[, name]; write all results to one store.",
        ),
    ] = None,
    jobs: Annotated[int, option(SCALE, metavar="N", min=1, help="Processes for --many.")] = 1,
    scheduler: Annotated[
        str | None, option(SCALE, metavar="ADDRESS", help="Dask cluster for --many, as tcp://host:8786.")
    ] = None,
    retry_failed: Annotated[bool, flag(SCALE, "--retry-failed", help="Compute failed pairs of --many again.")] = False,
    seed: Seed = 0,
    device: Annotated[str | None, option(MACHINE, metavar="cpu|cuda|cuda:0", help="Device to compute on.")] = None,
    dtype: Annotated[str, option(MACHINE, metavar="float64|float32", help="Floating-point type.")] = "float64",
    cache: Annotated[
        str | None, option(MACHINE, metavar="DIR", help="Folder that keeps eigenvectors for later runs.")
    ] = None,
    debug: DebugFlag = False,
    orientation: Annotated[str | None, choice("rms|random|index", "Orientation of edges in apprx_ls.")] = None,
    scaling: Annotated[str | None, choice("unit|eigenvalue|program", "Scaling of adj_diff.")] = None,
    laplacian: Annotated[
        str | None,
        choice("combinatorial|random_walk|normalized", "Laplacian at every hop; normalized works with gft only."),
    ] = None,
    self_loops: Annotated[bool | None, choice("", "Add a self-loop to every node; not with combinatorial.")] = None,
    ens_weights: Annotated[
        str | None, choice("paper|even|pulse|fast|PAIRS", "Weights of ens; PAIRS such as adj_diff=1.")
    ] = None,
    transform: Annotated[str | None, choice("learned|incidence", "Map from line graph to graph.", LEARNING)] = None,
    trials: Annotated[int | None, choice("N", "Learning trials.", LEARNING)] = None,
    max_epochs: Annotated[int | None, choice("N", "Epochs of each trial at most.", LEARNING)] = None,
    tolerance: Annotated[float | None, choice("MSE", "Error at which a trial stops.", LEARNING)] = None,
    learning_rate: Annotated[float | None, choice("RATE", "Learning rate of Adagrad.", LEARNING)] = None,
    literal: Annotated[bool | None, choice("", "Learn H_ln itself, as the paper's program does.", LEARNING)] = None,
    activation: Annotated[str | None, choice("none|selu|relu", "Activation of the learned entries.", LEARNING)] = None,
    average: Annotated[str | None, choice("signed|abs", "Average over trials.", LEARNING)] = None,
    by_part: Annotated[bool | None, choice("", "Learn each connected component separately.", LEARNING)] = None,
    max_line_nodes: Annotated[int | None, choice("N", "Largest line graph, in nodes.", LEARNING)] = None,
    skip_large: Annotated[
        bool | None, choice("", "Leave larger line graphs NaN instead of an error.", LEARNING)
    ] = None,
) -> None:
    """Compute the spectra of SIGNAL on GRAPH at every hop; print findings and tables, and write files.

    Writes spectra.nc, spectra.csv, spectra.png and, with --report, report.html to DIR, or to GRAPH-spectra/.
    """
    from spectrata.cli import scale
    from spectrata.cli.arguments import (
        algorithm_options,
        parse_bands,
        parse_hops,
        parse_keep,
        parse_names,
        parse_weights,
    )
    from spectrata.cli.profile import profile

    arguments = {
        "algorithms": parse_names(algorithms),
        "metric": metric,
        "columns": columns,
        "preset": preset,
        "zero_vectors": zero_vectors,
        "seed": seed,
        "keep": parse_keep(keep),
        "device": device,
        "dtype": dtype,
        "n_eigs": n_eigs,
    } | algorithm_options(ctx.params)
    if which is not None:
        arguments["which"] = which
    read_as = {"weights": parse_weights(weights), "hop_weights": hop_weights, "undirected": undirected}
    wanted = parse_hops(hops)
    if scale.handled(
        graph, signal, parse_bands(bands), spacing, many, out, scheduler, jobs, retry_failed, n_nodes, wanted, as_json,
        arguments, read_as, cache, column,
        plain=not (calibrate or report or findings),
    ):  # fmt: skip
        return
    assert graph is not None
    assert signal is not None
    profile(
        graph,
        signal,
        out=out,
        hops=wanted,
        n_nodes=n_nodes,
        top=top,
        as_json=as_json,
        arguments=arguments,
        read_as=read_as,
        column=column,
        cache=cache,
        calibrate=calibrate,
        draws=draws,
        max_draws=max_draws,
        report=report,
        findings=findings,
    )


@app.command(cls=Command, rich_help_panel=COMPARE, epilog=epilog("compare"))
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A result, .nc or .zarr.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another result on the same graph.")],
    bands: Annotated[int, option(COMPUTED, metavar="N", min=1, help="Number of frequency bands.")] = 4,
    zero: Annotated[bool, flag(COMPUTED, "--zero", help="Include the zero components.")] = False,
    draws: Annotated[
        int, option(CHANCE, metavar="N", min=0, help="Random exchanges of A and B, for the test of the bands.")
    ] = 999,
    seed: Annotated[int, option(MACHINE, metavar="N", help="Seed of the random exchanges.")] = 0,
    as_json: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Compare two results on the same graph, per algorithm and hop."""
    from spectrata.cli.compare import compare

    compare(a, b, bands=bands, zero=zero, draws=draws, seed=seed, as_json=as_json)


@app.command(cls=Command, rich_help_panel=COMPARE, epilog=epilog("check"))
def check(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The log of a watched model, .zarr.")],
    fail_on: Annotated[str, option(COMPUTED, metavar="collapse", help="What makes the command fail.")] = "collapse",
    as_json: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Check the last evaluation in RUN; exit with code 3 if a layer has collapsed."""
    from spectrata.cli.check import check

    check(run, fail_on=fail_on, as_json=as_json)


@app.command(cls=Command, rich_help_panel=ANALYSE, epilog=epilog("homophily"))
def homophily(
    graph: GraphFile,
    labels: Annotated[
        str, typer.Argument(metavar="LABELS", help="Node attribute of GRAPH, or .csv, .tsv, .txt, .json, .npy or .npz.")
    ],
    hops: HopsText = None,
    n_nodes: NodeCount = None,
    weights: Weights = None,
    hop_weights: HopWeights = "bottleneck",
    undirected: Undirected = False,
    missing: Annotated[
        str | None,
        option(INPUT, metavar="VALUES", help="Values that mean a missing label, such as -1; empty values always do."),
    ] = None,
    draws: Annotated[int, option(CHANCE, metavar="N", min=1, help="Permutations of the labels.")] = 999,
    seed: Annotated[int, option(MACHINE, metavar="N", help="Seed of the permutations.")] = 0,
    as_json: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Print the homophily of class labels at every hop: four measures, compared with chance."""
    from spectrata.cli.arguments import parse_hops, parse_names, parse_weights
    from spectrata.cli.homophily import homophily

    read_as = {"weights": parse_weights(weights), "hop_weights": hop_weights, "undirected": undirected}
    homophily(
        graph,
        labels,
        hops=parse_hops(hops),
        n_nodes=n_nodes,
        read_as=read_as,
        missing=parse_names(missing),
        draws=draws,
        seed=seed,
        as_json=as_json,
    )


@app.command(cls=Command, rich_help_panel=ANALYSE, epilog=epilog("correlogram"))
def correlogram(
    graph: GraphFile,
    signal: Annotated[str, SIGNAL],
    out: Annotated[
        str | None,
        option(OUTPUT, "-o", "--out", metavar="DIR", help="Write correlogram.csv and correlogram.png there."),
    ] = None,
    hops: HopsText = None,
    metric: Metric = "auto",
    columns: ColumnsRead = "joint",
    column: ColumnNames = None,
    zero_vectors: ZeroVectors = "error",
    draws: Annotated[int, option(CHANCE, metavar="N", min=0, help="Permutations of the nodes.")] = 999,
    max_draws: Annotated[
        int, option(CHANCE, metavar="N", min=0, help="Largest number of permutations where p < .01.")
    ] = 99_999,
    roots: Annotated[
        int | None, option(COMPUTED, metavar="N", help="Beyond hop 1, use only the pairs of N random nodes.")
    ] = None,
    seed: Annotated[int, option(MACHINE, metavar="N", help="Seed of the permutations and of the random nodes.")] = 0,
    n_nodes: NodeCount = None,
    weights: Weights = None,
    hop_weights: HopWeights = "bottleneck",
    undirected: Undirected = False,
    top: Annotated[
        int, option(OUTPUT, metavar="N", min=1, help="Rows to print; of columns those with the smallest p.")
    ] = 40,
    as_json: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Test whether nodes K hops apart are alike or unlike, at every hop."""
    from spectrata.cli.arguments import parse_hops, parse_weights
    from spectrata.cli.correlogram import correlogram

    arguments = {
        "hops": parse_hops(hops),
        "metric": metric,
        "columns": columns,
        "zero_vectors": zero_vectors,
        "draws": draws,
        "max_draws": max_draws,
        "roots": roots,
        "seed": seed,
    }
    read_as = {"weights": parse_weights(weights), "hop_weights": hop_weights, "undirected": undirected}
    correlogram(
        graph,
        signal,
        out=out,
        n_nodes=n_nodes,
        read_as=read_as,
        arguments=arguments,
        column=column,
        top=top,
        as_json=as_json,
    )


@app.command(cls=Command, rich_help_panel=ANALYSE, epilog=epilog("strata"))
def strata(
    graph: GraphFile,
    hops: HopsText = None,
    n_nodes: NodeCount = None,
    weights: Weights = None,
    hop_weights: HopWeights = "bottleneck",
    undirected: Undirected = False,
    as_json: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Print the size of the graph at every hop, and estimates of time and memory."""
    from spectrata.cli.arguments import parse_hops, parse_weights
    from spectrata.cli.strata import strata

    read_as = {"weights": parse_weights(weights), "hop_weights": hop_weights, "undirected": undirected}
    strata(graph, hops=parse_hops(hops), n_nodes=n_nodes, read_as=read_as, as_json=as_json)


@app.command(cls=Command, rich_help_panel=OTHER, epilog=epilog("demo"))
def demo(out: Folder = None, seed: Seed = 0, top: Top = 3, as_json: JsonFlag = False, debug: DebugFlag = False) -> None:
    """Run an example that needs no file: the paper's 13-node graph with two signals.

    Writes spectra.nc, spectra.csv, spectra.png and report.html to DIR, or to spectrata-demo/.
    """
    from spectrata.cli.demo import demo

    demo(out=out, seed=seed, top=top, as_json=as_json)


@app.command(cls=Command, rich_help_panel=OTHER, epilog=epilog("reproduce"))
def reproduce(
    tasks: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK ...]", help="text, 1 to 8, all (default), fidelity or models.")
    ] = None,
    out: Folder = None,
    quick: Annotated[
        bool, flag(COMPUTED, "--quick", help="10 graphs per series and 50 runs; a few small models.")
    ] = False,
    seed: Annotated[
        int, option(MACHINE, metavar="N", help="Seed of graphs, signals, initial values and learning.")
    ] = 0,
    jobs: Annotated[
        int | None, option(MACHINE, metavar="N", help="Number of processes. (default: one per core)")
    ] = None,
    scheduler: Annotated[
        str | None, option(MACHINE, metavar="ADDRESS", help="Dask cluster to run on, as tcp://host:8786.")
    ] = None,
    data: Annotated[
        str | None, option(INPUT, metavar="FOLDER", help="Folder of the graphs, for models without --quick.")
    ] = None,
    limit_seconds: Annotated[
        float | None, option(MACHINE, metavar="S", help="For models: start no training after S seconds.")
    ] = None,
    resume: Annotated[
        str | None, option(MACHINE, metavar="FOLDER", help="For models: continue from the records in FOLDER.")
    ] = None,
    as_json: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Run the paper's experiments; write figures and a verdict on every claim.

    Writes to DIR, or to spectrata-reproduction/. Run the same command again to continue after an interruption.
    """
    from spectrata.cli.reproduce import reproduce

    reproduce(
        tasks,
        out=out,
        quick=quick,
        seed=seed,
        jobs=jobs,
        as_json=as_json,
        scheduler=scheduler,
        data=data,
        limit_seconds=limit_seconds,
        resume=resume,
    )


@app.command(cls=Command, rich_help_panel=OTHER, epilog=epilog("info"))
def info(as_json: JsonFlag = False, debug: DebugFlag = False) -> None:
    """Print versions, installed extras, memory, cores and threads."""
    from spectrata.cli.info import info

    info(as_json=as_json)
