"""From plain arrays to the labelled result: one builder for every way of computing spectra."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.errors import ResultError
from spectrata.inputs.graphs import Graph, as_graph, as_pairs
from spectrata.inputs.signals import Signal
from spectrata.kernels.scaling import rescale
from spectrata.results.schema import FIELDS, LONG_NAMES, NO_EDGES, OPTIONS, in_order

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.inputs.device import DeviceGraph


SIZES = ("n_edges", "n_parts", "n_singletons")  # of a ``HopResult``
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
    sizes: tuple[int, int, int]  # of SIZES
    axis: Axis
    magnitude: np.ndarray  # (A, T, N)
    magnitude_error: np.ndarray  # (A, T, N)
    status: np.ndarray  # (A, T) text
    gradient_norm: np.ndarray  # (T,)
    extras: dict[str, tuple[tuple[str, ...], np.ndarray]] = field(default_factory=dict)
    ens_weights: dict[str, float] | None = None
    eigenvectors: np.ndarray | None = None

    def field(self, name: str) -> Any:
        """The array of one of ``FIELDS``."""
        if name in SIZES:
            return self.sizes[SIZES.index(name)]
        return getattr(self.axis if FIELDS[name].coordinate else self, name)


def build(
    graph: "Graph | DeviceGraph | None",
    signal: Signal,
    hops: Sequence[HopResult],
    algorithms: Sequence[str],
    facts: Mapping[str, Any],
    keep_signal: bool = False,
    zero_vectors: np.ndarray | None = None,
) -> "xr.Dataset":
    """The result Dataset; ``facts`` are its attributes: laplacian, metric, options and so on.

    ``zero_vectors`` counts the nodes of each snapshot whose zero vector stays zero under the angular metric.
    """
    import xarray as xr

    def joined(arrays: list[np.ndarray], *dims: str) -> Laid:
        """Arrays of the hops along a new axis, their rows laid out."""
        array = np.stack(arrays, axis=dims.index("hop"))
        return along_rows(array.astype(str) if array.dtype == object else array, dims, signal.axes)

    variables: dict[str, Any] = {}
    attributes = DEFAULTS | _attributes(graph, signal) | dict(facts)
    coordinates: dict[str, Any] = {"algorithm": list(algorithms), "made_with": made_with(attributes)} | signal.axes
    coordinates |= {"hop": [hop.hop for hop in hops], "component": hops[0].axis.component}
    for name, (dims, *_, is_coordinate) in FIELDS.items():
        arrays, at = [hop.field(name) for hop in hops], int(dims[0] == "algorithm")
        if is_coordinate:
            coordinates[name] = dims, np.stack(arrays)
        else:
            variables[name] = joined(arrays, *dims[:at], "snapshot", *dims[at:])
    if vectors := [hop.eigenvectors for hop in hops if hop.eigenvectors is not None]:
        variables["eigenvectors"] = ("hop", "node", "component"), np.stack(vectors)
    for name, (dims, example) in {name: found for hop in hops for name, found in hop.extras.items()}.items():
        missing = dims, np.full(example.shape, np.nan)  # of hops whose line graph was skipped
        at = len(dims) - (dims[-1] in ("component", "row", "band"))
        variables[name] = joined([hop.extras.get(name, missing)[1] for hop in hops], *dims[:at], "hop", *dims[at:])
    if hops[0].ens_weights is not None:
        table = np.array([list(hop.ens_weights.values()) for hop in hops if hop.ens_weights])
        variables["ens_weight"], coordinates["member"] = (("hop", "member"), table), list(hops[0].ens_weights)
    variables["edges"] = (("edge", "end"), np.empty((0, 2), dtype=np.int64) if graph is None else graph.edges)
    if graph is not None and graph.weights is not None:
        variables["edge_weight"] = ("edge", graph.weights)
    if keep_signal:  # a copy: the caller may use its array again
        kept = along_rows(np.array(signal.values), ("snapshot", "node", "dimension"), signal.axes)
        names = list(signal.columns or ())
        known = len(names) == signal.values.shape[2] and all(isinstance(name, str) for name in names)
        variables["signal"] = (*kept, {"columns": json.dumps(names)} if known else {})
    if zero_vectors is not None:
        variables["zero_vectors"] = along_rows(zero_vectors, ("snapshot",), signal.axes)
    if graph is not None and (graph.named or graph.n_nodes <= NAMED_NODES):
        coordinates |= {"node": node_labels(graph.names)[0], "node_row": ("node", np.arange(graph.n_nodes))}
    if "ln_vx_row_norm" in variables:
        coordinates["matrix"] = ["H_ln", "H_vx"]
    return with_long_names(xr.Dataset(variables, coordinates), attributes)


def _attributes(graph: "Graph | DeviceGraph | None", signal: Signal) -> dict[str, Any]:
    """The attributes that depend on graph and signal; an operator that is no graph has no number of edges."""
    known = {"n_nodes": -1, "n_edges": -1, "n_dimensions": signal.values.shape[2], "graph_hash": "", "node_type": "int"}
    if graph is not None:
        known |= {"n_nodes": graph.n_nodes, "n_edges": graph.n_edges, "graph_hash": graph.digest}
        known |= {"node_type": node_labels(graph.names)[1]} if graph.named else {}
    return known | ({"snapshot_kind": signal.kind} if signal.kind else {})


def add_notes(status: np.ndarray, notes: Any) -> np.ndarray:
    """Status words with notes: a note replaces "ok" and follows other words; an empty note changes nothing."""
    return np.where(notes == "", status, np.where(status == "ok", notes, status + "; " + notes))


def with_long_names(ds: "xr.Dataset", attributes: Mapping[str, Any] | None = None) -> "xr.Dataset":
    """The Dataset with every variable's name in words, and with the attributes that every result has where asked."""
    for variable in set(ds.variables) & set(LONG_NAMES):
        ds[variable].attrs.setdefault("long_name", LONG_NAMES[str(variable)])
    return ds if attributes is None else ds.assign_attrs(DEFAULTS | dict(attributes))


def made_with(attributes: Mapping[str, Any]) -> str:
    """The settings that decide whether two spectra can be compared, in words."""
    loops = " with self-loops" if attributes["self_loops"] else ""
    weights = f", {attributes['weights']} weights" if attributes["weights"] else ""
    options = json.loads(attributes[OPTIONS])
    parts = [f"{attributes['laplacian']} Laplacian{loops}{weights}", f"{attributes['metric']} metric"]
    parts += [f"{name}={options[name]}" for name in ("orientation", "scaling", "n_eigs", "which") if options.get(name)]
    parts += [f"strata {attributes['strata'][:12]}"] if "strata" in attributes else []
    return ", ".join(parts) + f", graph {attributes['graph_hash'][:12]}"


def in_units(magnitude: np.ndarray, scale: np.ndarray, undefined: np.ndarray) -> np.ndarray:
    """Magnitudes ``(T, ...)`` in the signal's own units, NaN for undefined snapshots."""
    shape = (-1,) + (1,) * (magnitude.ndim - 1)
    values = rescale(magnitude, scale.reshape(shape))
    return np.where(undefined.reshape(shape), np.nan, values)


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


def node_labels(names: Sequence[Any]) -> tuple[list[str], str]:
    """Names as text that every format can store, and their types: one word when all are alike, else a JSON list."""
    whole = [isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names]
    plain = [int(name) if is_whole else name for name, is_whole in zip(names, whole, strict=True)]
    kinds = ["str" if isinstance(name, str) else type(name).__name__ for name in plain]
    text = [name if isinstance(name, str) else repr(name) for name in plain]
    storable = [label.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00") for label in text]
    return storable, kinds[0] if len(set(kinds)) == 1 else json.dumps(kinds)


def graph_of(ds: "xr.Dataset") -> Graph:
    """The graph of a result, its nodes named as they were (other types than text and whole numbers as text)."""
    if "edges" not in ds:
        raise ResultError(f"The result has no edges: {NO_EDGES}")
    # Joined results may repeat edges and their weights along their rows.
    ds = in_order(ds).isel({dim: 0 for dim in ds["edges"].dims if dim not in ("edge", "end")})
    weights = ds["edge_weight"].values if "edge_weight" in ds else None
    graph = as_graph(edges=as_pairs(ds["edges"].values), n_nodes=int(ds.attrs["n_nodes"]), weights=weights)
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
    return moved.assign_coords(made_with=(made.dims, np.char.replace(made.values.astype(str), old[:12], new[:12])))


def attributes_of(ds: "xr.Dataset", kind: str) -> dict[str, Any]:
    """The attributes of a table computed from a result: what the result was made with, and what the table is."""
    dropped = ("merged", "normalized", "zero_dropped", "node_type")
    return {name: value for name, value in ds.attrs.items() if name not in dropped} | {"kind": kind}
