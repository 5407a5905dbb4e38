"""The command line: flags are the Python arguments; each command has its own module.

Exit codes: 0; 2 for bad input or flags; 3 for a check that found something; 1 for anything else that fails; 130 when
stopped by Ctrl-C, 143 by SIGTERM.
Messages are one line on stderr, ``error: ...`` or ``note: ...``. Imports wait inside functions, so that ``--help`` is
quick.
"""

from typing import Annotated

import typer

from spectrata._version import __version__
from spectrata.cli.commands import Command, Group, ProfileCommand
from spectrata.cli.examples import ANALYSE, COMPARE, OTHER, START, epilog
from spectrata.cli.parameters import (
    CHANCE,
    COMPUTED,
    INPUT,
    MACHINE,
    OUTPUT,
    SIGNAL,
    ColumnNames,
    ColumnsRead,
    DebugFlag,
    Folder,
    GraphFile,
    HopsText,
    HopWeights,
    JsonFlag,
    Metric,
    NodeCount,
    Seed,
    Top,
    Undirected,
    Weights,
    ZeroVectors,
    flag,
    option,
)
from spectrata.cli.profile_flags import profile
from spectrata.cli.stopping import stop_on_signals

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


app.command(cls=ProfileCommand, rich_help_panel=ANALYSE, epilog=epilog("profile"))(profile)


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
    draws: Annotated[
        int | None, option(CHANCE, metavar="N", min=0, help="Largest number of permutations of the labels.")
    ] = None,
    seed: Annotated[int, option(MACHINE, metavar="N", help="Seed of the permutations.")] = 0,
    as_json: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Test the homophily of class labels at every hop, and print three measures beside it."""
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
    draws: Annotated[
        int | None, option(CHANCE, metavar="N", min=0, help="Largest number of permutations of the nodes.")
    ] = None,
    seed: Annotated[int, option(MACHINE, metavar="N", help="Seed of the permutations.")] = 0,
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


@app.command(cls=Command, rich_help_panel=OTHER, epilog=epilog("info"))
def info(as_json: JsonFlag = False, debug: DebugFlag = False) -> None:
    """Print versions, installed extras, memory, cores and threads."""
    from spectrata.cli.info import info

    info(as_json=as_json)
