"""Arguments and options that commands share, in the groups that ``--help`` shows."""

from typing import Annotated, Any

import typer

from spectrata.cli.terminal import Debug

INPUT, COMPUTED, CHANCE, OUTPUT, MACHINE = (
    "Graph and signal",
    "What to compute",
    "Findings and chance",
    "Output",
    "Computing",
)
SCALE, ALGORITHMS, LEARNING = "Large graphs and many graphs", "Options of the algorithms", "Options of ln_vx"


def _debug(asked: bool) -> None:
    Debug.asked = Debug.asked or asked


def option(panel: str, *names: str, metavar: str | None = None, help: str = "", **more: Any) -> Any:
    """An option in its group; metavars break between their words, and a shell completes the values they list."""
    shown = None if metavar is None else metavar.replace("|", " | ")
    values = [word for word in (metavar or "").split("|") if word != word.upper()]
    if metavar is not None and "|" in metavar:
        more["autocompletion"] = lambda incomplete: [word for word in values if word.startswith(incomplete)]
    return typer.Option(*names, metavar=shown, help=help, rich_help_panel=panel, **more)


def flag(panel: str, *names: str, help: str = "", **more: Any) -> Any:
    """An option without a value."""
    return option(panel, *names, metavar="", help=help, **more)


def choice(metavar: str, help: str, panel: str = ALGORITHMS) -> Any:
    """An option of an algorithm; what it may be is checked where it is used."""
    return option(panel, metavar=metavar, help=help, show_default=False)


DebugFlag = Annotated[bool, flag(MACHINE, "--debug", callback=_debug, is_eager=True, help="Show tracebacks.")]
JsonFlag = Annotated[bool, flag(OUTPUT, "--json", help="Print one JSON document instead of text.")]
GRAPH = typer.Argument(metavar="GRAPH", help="Edge list, CSV, GraphML, GML, .npz or Matrix Market.")
SIGNAL = typer.Argument(metavar="SIGNAL", help=".npy, .npz, .csv, word2vec text, .parquet, .safetensors or .pt.")
GraphFile = Annotated[str, GRAPH]
MaybeGraph = Annotated[str | None, GRAPH]
MaybeSignal = Annotated[str | None, SIGNAL]
Folder = Annotated[str | None, option(OUTPUT, "-o", "--out", metavar="DIR", help="Folder to write to.")]
HopsText = Annotated[
    str | None, option(INPUT, metavar="HOPS", help="3: hops 1 to 3; 1-6 or 1,2,5: these hops; default: all.")
]
NodeCount = Annotated[
    int | None, option(INPUT, metavar="N", help="Number of nodes, where the edge list lacks isolated nodes.")
]
Weights = Annotated[
    str | None,
    option(
        INPUT,
        metavar="NAME|true|false",
        help="Edge weights, larger means closer: an edge attribute, those of a matrix or edge list, or none.",
    ),
]
HopWeights = Annotated[
    str, option(INPUT, metavar="bottleneck|product|unit", help="Weights of pairs more than one hop apart.")
]
Undirected = Annotated[bool, flag(INPUT, "--undirected", help="Ignore the directions of edges.")]
Metric = Annotated[
    str, option(INPUT, metavar="auto|angular|euclidean", help="Compare vectors by direction or by distance.")
]
ZeroVectors = Annotated[
    str, option(INPUT, metavar="error|nan|zero", help="What to do with zero vectors under the angular metric.")
]
ColumnsRead = Annotated[
    str,
    option(INPUT, metavar="joint|separate", help="One vector per node, or every column of SIGNAL by itself, ranked."),
]
ColumnNames = Annotated[
    list[str] | None,
    option(INPUT, "--column", metavar="NAME", help="Only this column of SIGNAL; again for more of them."),
]
Top = Annotated[int, option(OUTPUT, metavar="N", min=1, help="Number of strongest eigenspaces to print.")]
Seed = Annotated[int, option(MACHINE, metavar="N", help="Seed of permutations, random orientations and learning.")]
