"""What a reader hands over: plain arrays, not yet checked against each other."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, NoReturn

import numpy as np

from spectrata.errors import GraphTypeError

# once:   every entry is one undirected edge (networkx, igraph, GraphML, GML, JSON)
# list:   a list of pairs, in which each edge may also stand once per direction
# arcs:   the edge_index habit: both directions, or each edge once
# matrix: the entries of an adjacency matrix, so both directions or it is directed
EdgeForm = Literal["once", "list", "arcs", "matrix"]


@dataclass(frozen=True)
class Asked:
    """What the call says about a graph beyond the graph itself."""

    layout: Literal["any", "edges", "adjacency"] = "any"  # by which argument it was given
    third_column: bool = False  # edges may have three columns, the last of them weights
    key: str | None = None  # of an AnnData: the matrix in obsp


def kind(obj: Any) -> str:
    """What an object is, in words."""
    return f"an object of type {type(obj).__module__}.{type(obj).__qualname__}"


class Columns(Mapping[str, Any]):
    """Values per node or per edge, by name, each read when asked for.

    Parameters
    ----------
    names : callable
        The names there are.
    read : callable
        The values of a name, one per node or edge; None where one has no such value.
    labels : callable, optional
        The names of the columns of an attribute that is a table; None where there are none.
    keep : bool
        Whether the values are this object's own, so that a pickle carries them. Otherwise they belong to another
        library's object, and a pickle is empty.

    Examples
    --------
    >>> ages = Columns.of([{"age": 30}, {}])
    >>> list(ages), ages["age"]
    (['age'], [30, None])
    """

    def __init__(
        self,
        names: Callable[[], Iterable[str]] = tuple,
        read: Callable[[str], Any] = str,
        keep: bool = False,
        labels: Callable[[str], Sequence[Any] | None] | None = None,
    ) -> None:
        self._list, self.read, self._keep, self._labels = names, read, keep, labels

    @classmethod
    def of(cls, records: Sequence[Mapping[Any, Any]], keep: bool = False) -> "Columns":
        """Columns of a list of dictionaries, one per node or edge."""
        return cls(partial(_keys, records), partial(_values, records), keep)

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(name for name in self._list() if isinstance(name, str))

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self.read(name)

    def labels(self, name: str) -> Sequence[Any] | None:
        """The names of the columns of one attribute, where it is a table and has some."""
        return None if self._labels is None else self._labels(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self._list, self.read, True) if self._keep else ()


def _keys(records: Sequence[Mapping[Any, Any]]) -> Iterator[str]:
    return (key for record in records for key in record)


def _values(records: Sequence[Mapping[Any, Any]], name: str) -> list[Any]:
    return [record.get(name) for record in records]


@dataclass(frozen=True, eq=False)
class RawGraph:
    """Edges as they were found: loops, repeats and both directions still in."""

    edges: np.ndarray  # (E, 2) int64 rows
    n_nodes: int
    names: tuple[Hashable, ...] | None = None
    directed: bool = False
    form: EdgeForm = "list"
    open_ended: bool = False  # n_nodes was only inferred from the edges
    columns: Columns = field(default_factory=Columns)  # values per edge
    weight: str | None = None  # the column that weights=True takes
    attributes: Columns = field(default_factory=Columns)  # values per node
    positions: np.ndarray | None = None  # (n, 2) or (n, 3)

    @property
    def weighted(self) -> bool:
        """Whether the usual weights say more than that there is an edge."""
        if self.weight is None:
            return False
        values = self.columns.read(self.weight)
        if hasattr(values, "dtype"):  # an array or a tensor
            return bool((values != 1).any())
        return any(_weighs(value) for value in values)


def _weighs(weight: Any) -> bool:
    try:
        return weight is not None and bool(weight != 1)
    except (TypeError, ValueError):
        raise GraphTypeError(
            f"An edge's weight is {kind(weight)}, not a number; remove it, or give one number per edge."
        ) from None


def weight_column(values: np.ndarray) -> dict[str, Any]:
    """The fields of a graph whose edges have one unnamed number each."""
    return {"columns": Columns(lambda: ("weight",), lambda _: values), "weight": "weight"}


def as_positions(values: Any, n_nodes: int) -> np.ndarray | None:
    """Positions in two or three dimensions as (n, 2) or (n, 3), or None where the values are not that."""
    if isinstance(values, list) and any(value is None for value in values):
        return None
    try:
        if np.iscomplexobj(values):
            return None
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        return None
    if array.ndim != 2 or len(array) != n_nodes or array.shape[1] not in (2, 3) or not np.isfinite(array).all():
        return None
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class RawSignal:
    """Numbers as they were found, with the names of nodes and snapshots where there are some."""

    values: np.ndarray  # (n,), (n, d) or (T, n, d)
    names: tuple[Hashable, ...] | None = None
    snapshots: tuple[Any, ...] | None = None
    snapshot_name: str = "snapshot"
    columns: tuple[Any, ...] | None = None  # names of the d columns of a table
    joint: bool = False  # one vector per node although the columns have names
    texts: tuple[tuple[str, Sequence[Any]], ...] = ()  # columns of text: name, one value per row
    own: bool = False  # the values were made while reading, so nobody else changes them


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table whose index or first column may name the nodes, which is decided once the graph is known."""

    source: str  # what it is, for messages
    labels: tuple[Any, ...]  # of the columns
    named: bool  # whether the labels are more than numbers of columns
    numbers: Sequence[np.ndarray | None]  # (n,) of each column; None for a column of text
    cells: Callable[[int], Sequence[Any]]  # the values of a column as they stand
    refuse: Callable[[int], NoReturn]  # raise the error for a column of text where numbers are needed
    index: tuple[Hashable, ...] | None = None  # the names of the rows, where they have some
    counted: bool = False  # the rows have an index that only counts them
