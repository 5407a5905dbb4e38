"""Options that commands share, each declared once.

A command takes groups of options as one parameter, a dataclass of this file; ``flat`` spreads its fields into the
flags that typer sees. Flags are the Python arguments. What few users need is shown by ``--help-all`` only.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectrata.errors import HopError, InputError, OptionError

if TYPE_CHECKING:
    from spectrata.core.stratification import Stratification
    from spectrata.inputs.labels import Labels
    from spectrata.inputs.signals import Signal

INPUT, COMPUTED, CHANCE, OUTPUT, MACHINE = "Graph and signal", "What to compute", "Chance", "Output", "Computing"
SCALE, ALGORITHMS = "Large graphs and many graphs", "Options of the algorithms"
SECOND = ("signal", "labels", "a", "features")  # what stands beside a graph
NAMING = {"signal": "column", "labels": "column", "b": "column", "a": "column_a"}  # the flag that names its columns
Hops = int | list[int] | None
LARGEST_HOP = 100_000  # no graph that fits has more; a slip like 1-9999999999 must not fill the memory


def option(default: Any, panel: str, metavar: str, help: str, *names: str, rare: bool = False, **more: Any) -> Any:
    """An option in its group; a shell completes the values that its metavar lists."""
    words = metavar.split("|")
    if len(words) > 1:
        values = [word for word in words if word != word.upper()]
        more["autocompletion"] = lambda incomplete: [word for word in values if word.startswith(incomplete)]
        metavar, help = "WORD", f"{help} ({', '.join(words)})"
    return typer.Option(default, *names, metavar=metavar, help=help, rich_help_panel=panel, hidden=rare, **more)


def switch(name: str, panel: str, help: str, *, rare: bool = False, **more: Any) -> Any:
    """An option without a value."""
    return option(False, panel, "", help, name, rare=rare, **more)


GRAPH = typer.Argument(metavar="GRAPH", help="Edge list, CSV, GraphML, GML, .npz or Matrix Market.")
SIGNAL = typer.Argument(metavar="SIGNAL", help="Node attribute, .csv, .npy, .npz, .parquet, .safetensors, .pt.")
COLUMN = option(None, INPUT, "NAME", "Only this column, as FILE:NAME; again for more.", "--column")
MISSING = option("", INPUT, "VALUES", "Marks of no value, such as NA,-1.", "--missing")
JSON = switch("--json", OUTPUT, "Print one JSON document instead of text.")
OUT = option(None, OUTPUT, "DIR", "Folder to write to.", "-o", "--out")
CSV = switch("--csv", OUTPUT, "Also write tables as CSV files.")
SEED = option(0, MACHINE, "N", "Seed of everything random.", min=0, rare=True)
TOP = option(20, OUTPUT, "N", "Rows to print; all of the columns that --column names.", min=1)
DRAWS = option(None, CHANCE, "N", "Largest number of permutations; 0: no p.", min=0)


def _help_all(ctx: typer.Context, asked: bool) -> None:
    if asked:
        for param in ctx.command.params:
            param.hidden = False  # type: ignore[attr-defined]
        typer.echo(ctx.get_help())
        raise typer.Exit


DEBUG_FLAG = switch("--debug", MACHINE, "Show tracebacks.", rare=True)  # read by failures.debugging
HELP_ALL = switch("--help-all", MACHINE, "Show all options.", callback=_help_all, is_eager=True, rare=True)


def chosen(options: Any, **parse: Callable[[str], Any]) -> dict[str, Any]:
    """The options of a dataclass that were given, by name; ``parse`` reads the text of some."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    return given | {name: read(given[name]) for name, read in parse.items() if name in given}


@dataclass
class Chance:
    """How likeness is tested."""

    given: list[str] | None = option(
        None, CHANCE, "degree|none|NAME|FILE:COLUMN", "What the second test accounts for; again for more.", rare=True
    )
    draws: int | None = DRAWS
    seed: int = SEED

    def arguments(self) -> dict[str, Any]:
        """As the functions take them."""
        names = self.given or ["degree"]
        given = None if names == ["none"] else names if len(names) > 1 else names[0]
        return {"given": given, "draws": self.draws, "seed": self.seed}


@dataclass
class GraphOptions:
    """A graph, and how it is read."""

    graph: Annotated[str, GRAPH]
    hops: str | None = option(None, INPUT, "HOPS", "3: hops 1 to 3; 1-6 or 1,2,5: these hops.")
    weights: str | None = option(None, INPUT, "NAME|true|false", "Edge weights; larger is closer.")
    undirected: bool = switch("--undirected", INPUT, "Ignore the directions of edges.")
    hop_weights: str = option("bottleneck", INPUT, "bottleneck|product|unit", "Weights beyond hop 1.", rare=True)
    n_nodes: int | None = option(None, INPUT, "N", "Number of nodes, isolated ones included.", rare=True)

    def read(self, hops_of: Callable[[int, Hops], Hops] | None = None, **more: Any) -> "Stratification":
        """Read the graph; which hops, ``hops_of`` its number of nodes and ``--hops`` says, else those of a reading."""
        from spectrata.core.stratification import Stratification
        from spectrata.inputs.graphs import as_graph
        from spectrata.stats.verbs.reading import near_hops

        hops, known = parse_hops(self.hops), as_graph(self.graph, **self.arguments())
        if hops_of is not None:
            hops = hops_of(known.n_nodes, hops)
        elif self.hops is None:
            hops = near_hops(known.n_nodes)
        return Stratification(known, hops, hop_weights=self.hop_weights, **more)

    def arguments(self) -> dict[str, Any]:
        """As ``as_graph`` takes them."""
        return {"n_nodes": self.n_nodes, "weights": parse_weights(self.weights), "undirected": self.undirected}


def read_columns(signal: str, strat: "Stratification", names: list[str] | None, nodes: str | None = None) -> "Signal":
    """A signal, or the columns of it that were asked for."""
    from spectrata.inputs.signals import as_signal, pick_columns

    known = as_signal(signal, strat.graph, nodes, texts=True, gaps=True)
    return pick_columns(known, names) if names else known


def read_labels(labels: str, strat: "Stratification", names: list[str] | None, missing: str) -> "dict[Any, Labels]":
    """Labels by column, None where they have no name."""
    from spectrata.cli.classes import warn_of_classes
    from spectrata.inputs.labels import as_labels
    from spectrata.stats.verbs.reading import label_columns

    chosen, left_out = label_columns(labels, strat.graph, names or ()), parse_names(missing)
    known = {name: as_labels(one, strat.graph, left_out) for name, one in chosen.items()}
    warn_of_classes(known.items())
    return known


@dataclass
class SignalOptions:
    """A signal, and how it is read."""

    signal: Annotated[str, SIGNAL]
    column: list[str] | None = COLUMN
    columns: str = option("auto", INPUT, "auto|joint|separate", "Columns as one vector, or one by one.")
    nodes: str | None = option(None, INPUT, "NAME", "Column with nodes' names; order: as in GRAPH.")
    labels: bool = switch("--labels", INPUT, "Whole numbers are class codes.")
    missing: str = MISSING
    metric: str = option("auto", INPUT, "auto|angular|euclidean", "How vectors are compared.", rare=True)
    zero_vectors: str = option("error", INPUT, "error|nan|zero", "Zero vectors, which have no direction.", rare=True)

    @property
    def names(self) -> list[str]:
        """The signal, and the columns that were asked for, or its only one."""
        return [self.signal, *(self.column or ())]

    def read(self, strat: "Stratification") -> Any:
        """The signal with the chosen columns; with --labels they are texts, whatever they hold."""
        from spectrata.cli.classes import leave_out, of_labels

        if self.labels:
            self.labels = False  # read here
            return of_labels(read_labels(self.signal, strat, self.column, self.missing))
        known = leave_out(read_columns(self.signal, strat, self.column, self.nodes), parse_names(self.missing))
        if known.values.shape[2] == 1 and not known.texts and self.columns == "auto":
            self.columns = "joint"  # one column is named in the title, not in every line
            self.column = self.column or (None if known.columns is None else [str(known.columns[0])])
        elif self.column and self.columns == "auto":
            self.columns = "separate"  # columns that were named one by one
        return known

    def arguments(self) -> dict[str, Any]:
        """As the functions take them, beside the signal."""
        return {"columns": self.columns, "labels": self.labels, "metric": self.metric}


def flat(function: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its dataclasses as parameters of its own."""
    taken = inspect.signature(function, eval_str=True).parameters
    groups: dict[str, Any] = {name: one.annotation for name, one in taken.items() if is_dataclass(one.annotation)}
    both = {"debug": DEBUG_FLAG, "help_all": HELP_ALL}
    spread: list[inspect.Parameter] = []
    for name, one in taken.items():
        spread += inspect.signature(groups[name]).parameters.values() if name in groups else [one]
    keyword = inspect.Parameter.KEYWORD_ONLY
    spread = [one.replace(kind=keyword) for one in spread]
    spread += [inspect.Parameter(name, keyword, default=flag, annotation=bool) for name, flag in both.items()]

    @functools.wraps(function)
    def command(**given: Any) -> None:
        first, second = given.get("graph"), next((given[name] for name in SECOND if given.get(name)), None)
        given = {name: value for name, value in given.items() if name not in both}
        for name, flag in NAMING.items():  # FILE:COLUMN
            path, _, column = str(given.get(name)).rpartition(":")
            if flag in given and column and Path(path).is_file() and not Path(given[name]).exists():
                given |= {name: path, flag: [column, *(given[flag] or ())]}
        made = {name: kind(**{one.name: given.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        try:
            function(**made, **given)
        except InputError:
            from spectrata.stats.verbs.reading import look_swapped

            if first and second and look_swapped(Path(first), Path(second)):
                words = f"{second} lists pairs of the names in {first}, so it looks like the graph"
                raise OptionError(f"{words}; are the two files swapped?") from None
            raise

    command.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in spread}
    return command


# ---- text into arguments


def parse_hops(text: str | None) -> Hops:
    """``3``: up to 3; ``1-6``, ``1,2,5`` and ``1-3,6``: exactly these; ``all`` or nothing: all."""
    if text is None or text.strip().lower() == "all":
        return None
    pieces = [piece.strip() for piece in text.split(",")]
    try:
        if len(pieces) == 1 and "-" not in pieces[0].lstrip("-"):
            return int(pieces[0])
        hops: list[int] = []
        for piece in pieces:
            first, dash, last = piece.partition("-")
            start, stop = int(first), int(last if dash else first)
            if stop < start or stop > LARGEST_HOP:
                raise ValueError
            hops.extend(range(start, stop + 1))
    except ValueError:
        raise HopError(f"--hops {text!r} is not understood; write 3, 1-6, 1,2,5 or all.") from None
    return hops


def parse_bands(text: str) -> int | list[float]:
    """``32``: so many; ``0,0.5,1,2``: edges of eigenvalues."""
    try:
        return [float(piece) for piece in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise OptionError(f"--bands {text!r} is not understood; write 32, or edges such as 0,0.5,1,2.") from None


def parse_names(text: str) -> list[str]:
    """Names separated by commas; ``none`` is an empty list."""
    return [] if text.strip().lower() == "none" else [name.strip() for name in text.split(",") if name.strip()]


def parse_weights(text: str | None) -> str | bool | None:
    """``true`` or ``false``, or the name of an edge attribute."""
    return text if text is None else {"true": True, "false": False}.get(text.strip().lower(), text)


def parse_options(flag: str, text: str) -> dict[str, Any]:
    """``trials=20,literal=true`` as a mapping, true, false and none are read as in Python."""
    found: dict[str, Any] = {}
    for piece in text.split(","):
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not (name and equals and value) or name in found:
            raise OptionError(f"{flag} {text!r} is not understood; write NAME=VALUE, separated by commas.")
        try:
            found[name] = float(value) if "." in value or "e" in value.lower() else int(value)
        except ValueError:
            found[name] = {"true": True, "false": False, "none": None}.get(value.lower(), value)
    return found
