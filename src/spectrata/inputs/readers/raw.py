"""The carriers between readers and the rest: plain arrays, not yet checked against each other."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np

from spectrata.errors import DuplicateNameError, GraphTypeError, shown

# once:   every entry is one undirected edge (networkx, igraph, GraphML, GML, JSON)
# list:   a list of pairs, in which each edge may also stand once per direction
# arcs:   the edge_index habit: both directions, or each edge once
# matrix: the entries of an adjacency matrix, so both directions or it is directed
EdgeForm = Literal["once", "list", "arcs", "matrix"]


@dataclass(frozen=True)
class Asked:
    """Arguments of the call that say how a graph is read."""

    layout: Literal["any", "edges", "adjacency"] = "any"  # by which argument it was given
    third_column: bool = False  # edges may have three columns, the last of them weights
    key: str | None = None  # of an AnnData: the matrix in obsp


PLAIN = Asked()


def kind(obj: Any) -> str:
    """The type of an object, for messages."""
    return f"an object of type {type(obj).__module__}.{type(obj).__qualname__}"


class Columns(Mapping[str, Any]):
    """Values per node or per edge, by name, each read when asked for; a pickle has only records to ``keep``.

    ``names`` lists the names, ``read`` gives the values of one, None where a node or edge has none, and ``labels`` the
    names of the columns of a value that is a table.
    """

    __hash__ = object.__hash__  # nothing changes it, so that one empty object serves as a default

    def __init__(
        self,
        names: Callable[[], Iterable[str]] = tuple,
        read: Callable[[str], Any] = str,
        labels: Callable[[str], Sequence[Any] | None] = lambda name: None,
    ) -> None:
        self._list, self.read, self.labels = names, read, labels
        self._kept: Sequence[Mapping[Any, Any]] | None = None

    @classmethod
    def of(cls, records: Sequence[Mapping[Any, Any]], keep: bool = False) -> "Columns":
        """Columns of a list of dictionaries, one per node or edge."""
        columns = cls(lambda: chain.from_iterable(records), lambda name: [record.get(name) for record in records])
        columns._kept = records if keep else None
        return columns

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(name for name in self._list() if isinstance(name, str))

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self.read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Columns, ()) if self._kept is None else (Columns.of, (self._kept, True))


NO_COLUMNS = Columns()


@dataclass(eq=False)
class RawGraph:
    """Edges as they were found: loops, repeats and both directions still in."""

    edges: np.ndarray  # (E, 2) int64 rows
    n_nodes: int
    names: tuple[Hashable, ...] | None = None
    directed: bool = False
    form: EdgeForm = "list"
    open_ended: bool = False  # n_nodes was only inferred from the edges
    columns: Columns = NO_COLUMNS  # values per edge
    weight: str | None = None  # the column that weights=True takes
    attributes: Columns = NO_COLUMNS  # values per node
    positions: np.ndarray | None = None  # (n, 2) or (n, 3)

    @property
    def weighted(self) -> bool:
        """Whether the usual weights say more than that there is an edge."""
        values: Any = [] if self.weight is None else self.columns.read(self.weight)
        if hasattr(values, "dtype"):  # an array or a tensor
            return bool((values != 1).any())
        try:
            return any(weight is not None and bool(weight != 1) for weight in values)
        except (TypeError, ValueError):
            raise GraphTypeError("An edge's weight is an array; remove it, or give one number per edge.") from None


def too_many_nodes(n_nodes: int, n_edges: int) -> bool:
    """Whether so many nodes cannot be meant: nodes without an edge may be many, but not without bound."""
    return n_nodes > 1_000_000 + 100 * n_edges


def weight_column(values: np.ndarray) -> dict[str, Any]:
    """The fields of a graph whose edges have one unnamed number each."""
    return {"columns": Columns(lambda: ("weight",), lambda _: values), "weight": "weight"}


def refuse_repeated(labels: Sequence[Hashable], source: str) -> None:
    """Refuse a name that two columns share."""
    label, count = Counter(labels).most_common(1)[0] if labels else ("", 1)
    if count > 1:
        raise DuplicateNameError(f"{source} has the column {shown(label)} twice; rename one.")


def as_positions(values: Any, n_nodes: int) -> np.ndarray | None:
    """Positions in two or three dimensions as (n, 2) or (n, 3), or None where the values are not that."""
    try:
        array = np.array(values)
        array = array.astype(np.float64) if array.dtype.kind in "biufU" else array[:0]
    except (TypeError, ValueError, RuntimeError, IndexError):
        return None
    array.setflags(write=False)
    fits = array.ndim == 2 and len(array) == n_nodes and array.shape[1] in (2, 3) and np.isfinite(array).all()
    return array if fits else None


@dataclass(frozen=True, eq=False)
class RawSignal:
    """Numbers as they were found, with the names of nodes and snapshots where there are some."""

    values: np.ndarray  # (n,), (n, d) or (T, n, d)
    names: tuple[Hashable, ...] | None = None
    snapshots: tuple[Any, ...] | None = None
    snapshot_name: str = "snapshot"
    columns: tuple[Any, ...] | None = None  # names of the d columns of a table
    joint: bool = False  # one vector per node although the columns have names
    table: bool = False  # every column is a signal of its own, whatever its name
    texts: tuple[tuple[str, Sequence[Any]], ...] = ()  # columns of text: name, one value per row
    own: bool = False  # the values were made while reading, so nobody else changes them
    lines: Sequence[int] | None = None  # of the rows in their file


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table whose index or first column may name the nodes, which is decided once the graph is known."""

    source: str  # what it is, for messages
    frame: Any  # a pandas DataFrame: the cells as they stand
    numbers: Sequence[np.ndarray | None]  # (n,) of each column; None for a column of text
    labels: tuple[Any, ...]  # of the columns
    named: bool  # whether the labels are more than numbers of columns
    index: tuple[Hashable, ...] | None = None  # the names of the rows, where they have some
    counted: bool = False  # the rows have an index that only counts them
    lines: Sequence[int] | None = None  # of the rows in their file
    of_labels: bool = False  # or of covariates: columns of any kind, for a call without ``nodes``

    def cells(self, place: int) -> list[Any]:
        return cells_of(self.frame.iloc[:, place])


def cells_of(column: Any) -> list[Any]:
    """The values of a column or an index of pandas; equal texts of a categorical one are shared."""
    if not hasattr(column.dtype, "categories"):
        return list(column.tolist())
    coded = getattr(column, "cat", column)
    texts = np.array([*coded.categories.tolist(), None], dtype=object)
    return list(texts[np.asarray(coded.codes)].tolist())  # code -1, no value, is the last
