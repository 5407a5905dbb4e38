"""The flags of ``spectrata profile``, and the call that they make."""

from typing import Annotated

import typer

from spectrata.cli.parameters import (
    CHANCE,
    COMPUTED,
    LEARNING,
    MACHINE,
    OUTPUT,
    SCALE,
    ColumnNames,
    ColumnsRead,
    DebugFlag,
    Folder,
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
)  # fmt: skip


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
        int | None,
        option(
            CHANCE,
            metavar="N",
            min=1,
            help="Largest number of permutations of the nodes, for --calibrate and --columns separate.",
        ),
    ] = None,
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
    asked = {"--report": report, "--calibrate": calibrate, "--findings": findings}
    if scale.handled(
        graph, signal, parse_bands(bands), spacing, many, out, scheduler, jobs, n_nodes, wanted, as_json,
        arguments, read_as, cache, column,
        of_one=[name for name, given in asked.items() if given],
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
        report=report,
        findings=findings,
    )
