"""From plain arrays to the labelled result: one builder for every way of computing spectra."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.errors import ResultError
from spectrata.inputs.graphs import Graph, as_graph, as_pairs
from spectrata.kernels.scaling import rescale
from spectrata.results.schema import COORDINATES, FIELDS, LONG_NAMES, NO_EDGES, OPTIONS, in_order

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.inputs.device import DeviceGraph


Laid = tuple[tuple[str, ...], np.ndarray]  # dimensions and values of a variable
DEFAULTS = {
    "laplacian": "combinatorial",
    "self_loops": 0,
    "weights": "",
    "dtype": "float64",
    "seed": 0,
    "spectrata_version": __version__,
}
NAMED_NODES = 100_000  # names of more nodes are kept only where they say more than the rows


@dataclass(frozen=True, eq=False)
class Axis:
    """The components of one hop, ``N`` of them."""

    component: np.ndarray  # (N,) positions among all components
    eigenvalue: np.ndarray
    eigenspace: np.ndarray  # numbered over the whole spectrum
    multiplicity: np.ndarray  # dimensions of the whole eigenspaces
    is_zero: np.ndarray
    complete: bool | np.ndarray  # one for each graph of a stack


@dataclass(frozen=True, eq=False)
class HopResult:
    """The arrays of one hop, before they get labels."""

    hop: int
    sizes: tuple[int, int, int]  # edges, parts, singletons
    axis: Axis
    magnitude: np.ndarray  # (A, T, N)
    magnitude_error: np.ndarray  # (A, T, N)
    status: np.ndarray  # (A, T) text
    gradient_norm: np.ndarray  # (T,)
    extras: dict[str, tuple[tuple[str, ...], np.ndarray]] = field(default_factory=dict)
    ens_weights: dict[str, float] | None = None
    eigenvectors: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """The snapshots of a result."""

    labels: Sequence[Any] | None  # None where the signal has no snapshots
    n_dimensions: int
    kind: str = ""  # what snapshots are: "layers", "epochs", or nothing known
    coordinates: Mapping[str, Any] = field(default_factory=dict)  # more labels along ``snapshot``
    signal: np.ndarray | None = None  # (T, n, d), kept in the result where given
    zero_vectors: np.ndarray | None = None  # (T,), nodes whose zero vector stays zero under the angular metric
    columns: Sequence[Any] | None = None  # labels of columns that are rows of their own, inside each snapshot
    names: Sequence[Any] | None = None  # names of the d columns of the signal, where they are text

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The dimensions that the rows of plain arrays are laid out along, with their labels."""
        named = {"snapshot": self.labels, "column": self.columns}
        return {dim: list(labels) for dim, labels in named.items() if labels is not None}


def build(
    graph: "Graph | DeviceGraph | None",
    rows: Rows,
    hops: Sequence[HopResult],
    algorithms: Sequence[str],
    facts: Mapping[str, Any],
) -> "xr.Dataset":
    """The result Dataset; ``facts`` are its attributes: laplacian, metric, options and so on."""
    import xarray as xr

    axes = rows.axes
    variables: dict[str, Any] = {
        "magnitude": _stack(hops, "magnitude", ("algorithm", "snapshot", "component"), 2, axes),
        "magnitude_error": _stack(hops, "magnitude_error", ("algorithm", "snapshot", "component"), 2, axes),
        "gradient_norm": _stack(hops, "gradient_norm", ("snapshot",), 1, axes),
        "status": _stack(hops, "status", ("algorithm", "snapshot"), 2, axes),
        "edges": (("edge", "end"), np.empty((0, 2), dtype=np.int64) if graph is None else graph.edges),
    }
    if graph is not None and graph.weights is not None:
        variables["edge_weight"] = ("edge", graph.weights)
    variables["status"] = (variables["status"][0], variables["status"][1].astype(str))
    variables |= _extras(hops, axes)
    if hops[0].ens_weights is not None:
        table = np.array([list(hop.ens_weights.values()) for hop in hops if hop.ens_weights])
        variables["ens_weight"] = (("hop", "member"), table)
    if hops[0].eigenvectors is not None:
        variables["eigenvectors"] = _stack(hops, "eigenvectors", ("node", "component"), 0, axes)
    if rows.signal is not None:
        # A copy: the caller may use its array again.
        variables["signal"] = (
            *along_rows(np.array(rows.signal), ("snapshot", "node", "dimension"), axes),
            _column_names(rows),
        )
    if rows.zero_vectors is not None:
        variables["zero_vectors"] = along_rows(rows.zero_vectors, ("snapshot",), axes)
    attributes = DEFAULTS | _attributes(graph, rows, facts)
    coordinates = _coordinates(hops, algorithms, graph) | {"made_with": made_with(attributes)}
    coordinates |= axes | dict(rows.coordinates)
    if "ens_weight" in variables:
        coordinates["member"] = list(hops[0].ens_weights or ())
    if "ln_vx_row_norm" in variables:
        coordinates["matrix"] = ["H_ln", "H_vx"]
    return finish(xr.Dataset(variables, coordinates), attributes)


def finish(ds: "xr.Dataset", attributes: Mapping[str, Any]) -> "xr.Dataset":
    """The last step for every result, of one graph or many: the attributes that all have, and names in words."""
    return with_long_names(ds.assign_attrs(DEFAULTS | dict(attributes)))


def _column_names(rows: Rows) -> dict[str, str]:
    """The attribute of the signal that names its columns; none where they have no names."""
    names = list(rows.names or ())
    known = len(names) == rows.n_dimensions and all(isinstance(name, str) for name in names)
    return {"columns": json.dumps(names)} if known else {}


def add_notes(status: np.ndarray, notes: Any) -> np.ndarray:
    """Status words with notes: a note replaces "ok" and follows other words; an empty note changes nothing."""
    return np.where(notes == "", status, np.where(status == "ok", notes, status + "; " + notes))


def with_long_names(ds: "xr.Dataset") -> "xr.Dataset":
    """The Dataset with every variable's name in words."""
    for variable in ds.variables:
        if variable in LONG_NAMES and "long_name" not in ds[variable].attrs:
            ds[variable].attrs["long_name"] = LONG_NAMES[str(variable)]
    return ds


def made_with(attributes: Mapping[str, Any]) -> str:
    """The settings that decide whether two spectra can be compared, in words."""
    loops = " with self-loops" if attributes["self_loops"] else ""
    weights = f", {attributes['weights']} weights" if attributes["weights"] else ""
    options = json.loads(attributes[OPTIONS])
    parts = [f"{attributes['laplacian']} Laplacian{loops}{weights}", f"{attributes['metric']} metric"]
    parts += [f"{name}={options[name]}" for name in ("orientation", "scaling", "n_eigs", "which") if options.get(name)]
    return ", ".join(parts) + f", graph {attributes['graph_hash'][:12]}"


def in_units(magnitude: np.ndarray, scale: np.ndarray, undefined: np.ndarray) -> np.ndarray:
    """Magnitudes ``(T, ...)`` in the signal's own units, NaN for undefined snapshots."""
    shape = (-1,) + (1,) * (magnitude.ndim - 1)
    values = rescale(magnitude, scale.reshape(shape))
    return np.where(undefined.reshape(shape), np.nan, values)


def _stack(
    hops: Sequence[HopResult], name: str, dims: tuple[str, ...], axis: int, axes: Mapping[str, Sequence[Any]]
) -> Laid:
    return _joined([getattr(hop, name) for hop in hops], dims, axis, axes)


def _joined(arrays: list[np.ndarray], dims: tuple[str, ...], axis: int, axes: Mapping[str, Sequence[Any]]) -> Laid:
    """Join per-hop arrays along a new hop axis, and lay out their rows."""
    return along_rows(np.stack(arrays, axis=axis), (*dims[:axis], "hop", *dims[axis:]), axes)


def along_rows(array: np.ndarray, dims: tuple[str, ...], axes: Mapping[str, Sequence[Any]]) -> Laid:
    """An array whose rows, along ``"snapshot"``, go along the axes of a result: snapshots, columns, both or none.

    Examples
    --------
    >>> along_rows(np.arange(6), ("snapshot",), {"snapshot": ["a", "b"], "column": [0, 1, 2]})[1].tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    if "snapshot" not in dims:
        return dims, array
    at = dims.index("snapshot")
    shape = (*array.shape[:at], *(len(labels) for labels in axes.values()), *array.shape[at + 1 :])
    return (*dims[:at], *axes, *dims[at + 1 :]), array.reshape(shape)


def _extras(hops: Sequence[HopResult], axes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Diagnostics of the algorithms; hops that lack one (skipped line graphs) hold NaN."""
    shapes = {name: found for hop in hops for name, found in hop.extras.items()}
    variables = {}
    for name, (dims, example) in shapes.items():
        missing = dims, np.full(example.shape, np.nan)
        arrays = [hop.extras.get(name, missing)[1] for hop in hops]
        variables[name] = _joined(arrays, dims, len(dims) - (dims[-1] in ("component", "row", "band")), axes)
    return variables


def _coordinates(
    hops: Sequence[HopResult], algorithms: Sequence[str], graph: "Graph | DeviceGraph | None"
) -> dict[str, Any]:
    found: dict[str, Any] = {"algorithm": list(algorithms), "hop": [hop.hop for hop in hops]}
    found["component"] = hops[0].axis.component
    for name in COORDINATES:
        if hasattr(hops[0].axis, name):
            found[name] = (FIELDS[name].dims, np.stack([getattr(hop.axis, name) for hop in hops]))
    for position, name in enumerate(("n_edges", "n_parts", "n_singletons")):
        found[name] = (("hop",), np.array([hop.sizes[position] for hop in hops]))
    if graph is not None and (graph.named or graph.n_nodes <= NAMED_NODES):
        found["node"] = node_labels(graph.names)[0]
        found["node_row"] = ("node", np.arange(graph.n_nodes))
    return found


def _attributes(graph: "Graph | DeviceGraph | None", rows: Rows, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that depend on graph and signal, and ``facts``."""
    known = {
        "n_nodes": -1 if graph is None else graph.n_nodes,
        "n_edges": -1 if graph is None else graph.n_edges,
        "n_dimensions": rows.n_dimensions,
        "graph_hash": "" if graph is None else graph.digest,
        "node_type": "int" if graph is None or not graph.named else node_labels(graph.names)[1],
    }
    if rows.kind:
        known["snapshot_kind"] = rows.kind
    return known | dict(facts)


def node_labels(names: Sequence[Any]) -> tuple[list[str], str]:
    """Names as text that every format can store, and their types: one word when all are alike, else a JSON list."""
    kinds = [_kind_of_name(name) for name in names]
    text = [
        str(int(n)) if kind == "int" else n if kind == "str" else repr(n) for n, kind in zip(names, kinds, strict=True)
    ]
    storable = [label.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00") for label in text]
    return storable, kinds[0] if len(set(kinds)) == 1 else json.dumps(kinds)


def _kind_of_name(name: Any) -> str:
    if isinstance(name, str):
        return "str"
    return "int" if isinstance(name, (int, np.integer)) and not isinstance(name, bool) else type(name).__name__


def graph_of(ds: "xr.Dataset") -> Graph:
    """The graph of a result, its nodes named as they were (other types than text and whole numbers as text)."""
    if "edges" not in ds:
        raise ResultError(f"The result has no edges: {NO_EDGES}")
    ds = in_order(ds)
    weights = _once(ds["edge_weight"]) if "edge_weight" in ds else None
    graph = as_graph(edges=as_pairs(_once(ds["edges"])), n_nodes=int(ds.attrs["n_nodes"]), weights=weights)
    if ds.attrs.get("graph_hash", graph.digest) != graph.digest:
        raise ResultError(
            f"The edges of the result are not those of the graph it was computed on ({graph.n_edges} here, "
            f"{ds.attrs.get('n_edges', 'another number')} there); select no edges, and change neither edges nor "
            "edge_weight."
        )
    names: tuple = tuple(str(name) for name in ds["node"].values) if "node" in ds.coords else graph.names
    if ds.attrs.get("node_type") == "int":
        names = tuple(int(name) for name in names)
    if len(set(names)) < len(names):  # 1 and "1" both are "1" as text: go by rows
        return graph
    return replace(graph, names=names, named=names != graph.names)


def numbered_like(ds: "xr.Dataset", other: "xr.Dataset") -> "xr.Dataset":
    """A result with its nodes in the rows of another one, where both are of one graph by the names of its nodes.

    Where they are not, or a result has no names or edges, the result as it is.
    """
    if any("edges" not in one or "node" not in one.coords for one in (ds, other)):
        return ds
    own = in_order(ds)
    place = {name: row for row, name in enumerate(in_order(other)["node"].values.tolist())}
    names = own["node"].values.tolist()
    if set(names) != set(place) or len(set(names)) < max(len(names), other.sizes["node"]):
        return ds
    rows = np.array([place[name] for name in names])  # of the other result
    moved = own.assign(edges=(own["edges"].dims, rows[own["edges"].values])).isel(node=np.argsort(rows))
    old, new = ds.attrs.get("graph_hash", ""), other.attrs.get("graph_hash", "")
    moved = moved.assign_coords(node_row=("node", np.arange(len(rows)))).assign_attrs(graph_hash=new)
    try:
        graph_of(moved)
    except ResultError:  # the same names, and other edges
        return ds
    made = moved["made_with"]
    words = np.array([text.replace(old[:12], new[:12]) for text in made.values.ravel().tolist()]).reshape(made.shape)
    return moved.assign_coords(made_with=(made.dims, words))


def _once(array: "xr.DataArray") -> np.ndarray:
    """Edges or their weights, which joined results may repeat along their rows."""
    return array.isel({dim: 0 for dim in array.dims if dim not in ("edge", "end")}).values


def attributes_of(ds: "xr.Dataset", kind: str) -> dict[str, Any]:
    """The attributes of a table computed from a result: what the result was made with, and what the table is."""
    dropped = ("merged", "normalized", "zero_dropped", "node_type")
    return {name: value for name, value in ds.attrs.items() if name not in dropped} | {"kind": kind}
