"""The fields of a result Dataset, and the typed view through which everything reads it.

A result knows what it is: which components it has of the whole spectrum (``component``, ``is_zero``, ``complete``),
which eigenvalues repeat (``eigenspace``, ``multiplicity``), and what it was made with (attributes, and the coordinate
``made_with``). A :class:`View` refuses what a result cannot answer.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.errors import ResultError, shown

if TYPE_CHECKING:
    import xarray as xr

ROW_DIMS = ("snapshot", "layer", "mode", "epoch", "step", "column")  # dimensions that readers stack into rows
MERGED = "merged"  # attribute of a result whose components are whole eigenspaces
NORMALIZED = "normalized"  # attribute of a result whose spectra have unit length
ZERO_DROPPED = "zero_dropped"  # attribute of a result whose zero components are NaN
BANDS = "bands"  # attribute "kind" of a result of band_spectra
OPTIONS = "options"  # attribute: everything the call resolved, as JSON
ARGUMENTS = "arguments"  # attribute of a store of many graphs: everything that was asked, as JSON
NO_EDGES = "one graph of many keeps no edges; compute it with spectra."
MASKED = "it was masked; select with sel or isel instead of where"


class Field(NamedTuple):
    """One variable: dimensions besides those of the rows, type, value where nothing was computed, name in words."""

    dims: tuple[str, ...]
    dtype: str
    empty: Any
    long_name: str
    coordinate: bool = False


_SPECTRUM = ("hop", "component")
_ERROR = "bound on the error of the magnitude of the whole eigenspace; NaN where the algorithm has none"
FIELDS = {
    "magnitude": Field(("algorithm", *_SPECTRUM), "f8", np.nan, "magnitude of each eigencomponent"),
    "magnitude_error": Field(("algorithm", *_SPECTRUM), "f8", np.nan, _ERROR),
    "gradient_norm": Field(("hop",), "f8", np.nan, "norm of the gradient over the edges of the stratum"),
    "status": Field(("algorithm", "hop"), "str", "", "ok, or why values are NaN or not as exact as asked"),
    "eigenvalue": Field(_SPECTRUM, "f8", np.nan, "Laplacian eigenvalue of the stratum", True),
    "eigenspace": Field(
        _SPECTRUM, "i8", -1, "index of the eigenspace over the whole spectrum; the split inside one is arbitrary", True
    ),
    "multiplicity": Field(_SPECTRUM, "i8", 0, "dimension of the whole eigenspace", True),
    "is_zero": Field(_SPECTRUM, "bool", False, "whether the component has eigenvalue 0, by structure", True),
    "complete": Field(("hop",), "bool", False, "whether all components of the stratum are here", True),
    "n_edges": Field(("hop",), "i8", 0, "edges of the stratum", True),
    "n_parts": Field(("hop",), "i8", 0, "connected parts of the stratum, singletons included", True),
    "n_singletons": Field(("hop",), "i8", 0, "nodes without an edge in the stratum", True),
}
LONG_NAMES = {name: field.long_name for name, field in FIELDS.items()} | {
    "edges": "rows of the nodes that each edge of the graph joins",
    "edge_weight": "weight of each edge of the graph",
    "zero_vectors": "nodes whose vector is zero, and stays so",
    "node_row": "row of the node in the graph, which the edges name",
    "component": "position among all components of the stratum, by eigenvalue",
    "made_with": "what the spectra were computed with",
    "ens_weight": "weight of each member of ens",
    "ls_residual": "norm(B f - g) / norm(g) of the least-squares signal; 0: Fact 1's system has a solution",
    "ln_vx_mse": "final mean squared error of each learning trial",
    "ln_vx_trial_magnitude": "ln_vx magnitude of each learning trial",
    "ln_vx_row_norm": "norms of the rows of H_ln (components) and H_vx (nodes) of each learning trial",
    "eigenvectors": "orthonormal eigenvectors of the stratum's Laplacian",
    "signal": "the signal as given, rows in the order of nodes",
}
COORDINATES = tuple(name for name, field in FIELDS.items() if field.coordinate)


def check(ds: Any, source: str = "the Dataset") -> "xr.Dataset":
    """Refuse what is not a spectrata result."""
    if not hasattr(ds, "variables"):
        words = f"{source} is of type {type(ds).__name__}, not a spectrata result"
        raise ResultError(f"{words}; give a Dataset made by spectra.")
    missing = [name for name in FIELDS if name not in ds.variables]
    if missing or "spectrata_version" not in ds.attrs:
        raise ResultError(f"{source} is not a spectrata result (it lacks {', '.join(missing) or 'its version'}).")
    return ds


class RecordedOptions(dict[str, Any]):
    """The options of a result, with an error for those that an older version did not record."""

    def __missing__(self, name: str) -> Any:
        raise ResultError(f"The options recorded in the result lack {name!r}; compute it again with this version.")


def options_of(ds: "xr.Dataset") -> RecordedOptions:
    """Everything the call that made a result resolved."""
    return RecordedOptions(json.loads(ds.attrs.get(OPTIONS, "{}")))


def is_bands(result: Any) -> bool:
    """Whether this is a result of ``band_spectra``."""
    return getattr(result, "attrs", {}).get("kind") == BANDS


# ---- one of many graphs


def each_graph(ds: "xr.Dataset") -> "Iterator[tuple[Any, xr.Dataset]]":
    """Every graph of a result with its name, without what pads it; a result of one graph as it is."""
    if "graph" not in ds.dims:
        yield None, ds
        return
    if "hop" not in ds.dims:
        raise ResultError("The result has no dimension hop; select with lists, such as ds.sel(hop=[1]).")
    for row, name in enumerate(ds["graph"].values.tolist()):
        one = ds.isel(graph=row)
        if one["state"] == "done" and (one["n_edges"] > 0).any():
            yield name, one_graph(one)


def one_graph(ds: "xr.Dataset") -> "xr.Dataset":
    """One graph selected from many, as a result of its own: without what pads it, its facts as attributes."""
    reached = (ds["n_edges"] > 0).values
    if not reached.any() or ds["state"].item() != "done":
        name, state, error = (ds[key].item() for key in ("graph", "state", "error"))
        raise ResultError(f"The graph {shown(name)} " + (f"{state}: {error}" if error else f"is {state}."))
    ds = ds.isel(hop=reached)
    ds = ds.isel(component=(ds["multiplicity"] > 0).any("hop").values)
    facts = {key: ds[key].item() for key in ("n_nodes", "metric", "graph_hash")}
    return ds.drop_vars([*facts, "graph", "state", "error"], errors="ignore").assign_attrs(facts)


# ---- the typed view


def view(ds: Any, name: str = "The result") -> "View":
    """The typed view of a result of one graph."""
    check(ds, name)
    if "graph" in ds["magnitude"].dims:
        raise ResultError(f"{name} holds many graphs; select one, such as ds.isel(graph=0).")
    if "graph" in ds.coords and "hop" in ds["magnitude"].dims:
        ds = one_graph(ds)
    missing = [dim for dim in FIELDS["magnitude"].dims if dim not in ds["magnitude"].dims]
    if missing:
        words = f"{name} has no dimension {', '.join(missing)}"
        raise ResultError(f"{words}; select with lists, such as ds.sel(algorithm=['gft'], hop=[1]).")
    rows = tuple(dim for dim in ROW_DIMS if dim in ds["magnitude"].dims)
    for dim in map(str, ds["magnitude"].dims):
        if dim not in (*rows, *FIELDS["magnitude"].dims):
            raise ResultError(f"{name} has the dimension {shown(dim)}, which no result has; select along it.")
        if dim != "component" and _repeats(ds, dim, by_label=dim not in rows):
            raise ResultError(f"{name} has one {dim} twice; select each once.")
    made = list(dict.fromkeys(np.ravel(ds["made_with"].values).tolist())) if "made_with" in ds.coords else []
    if len(made) > 1:
        words = f"{name} joins spectra made with {made[0]} and with {made[1]}, which cannot be compared"
        raise ResultError(f"{words}; select those of one.")
    return View(in_order(ds, name), name, rows)


def in_order(ds: "xr.Dataset", name: str = "The result") -> "xr.Dataset":
    """The result with its nodes in the order of the graph's rows, which the edges name, and components ascending."""
    if "component" in ds.coords and ds["component"].ndim and (np.diff(ds["component"].values) < 0).any():
        ds = ds.isel(component=np.argsort(ds["component"].values, kind="stable"))
    if "node_row" not in ds.coords or "node" not in ds.dims:
        return ds
    rows = np.ravel(ds["node_row"].values)
    if not np.array_equal(np.sort(rows), np.arange(int(ds.attrs["n_nodes"]))):
        raise ResultError(f"{name} holds some of its nodes, or one of them twice; select no nodes.")
    return ds if (np.diff(rows) > 0).all() else ds.isel(node=np.argsort(rows))


def _repeats(ds: "xr.Dataset", dim: str, by_label: bool) -> bool:
    """Whether something stands twice along a dimension: by its label alone, or by all labels and its magnitudes."""
    if dim not in ds.coords:
        return False
    own = [ds[dim]] if by_label else [one for one in ds.coords.values() if one.dims == (dim,)]
    labels = list(zip(*(one.values.tolist() for one in own), strict=True))
    if by_label or len(set(labels)) == len(labels):
        return len(set(labels)) < len(labels)
    rows = np.moveaxis(ds["magnitude"].values, ds["magnitude"].get_axis_num(dim), 0)
    return len({(label, row.tobytes()) for label, row in zip(labels, rows, strict=True)}) < len(labels)


def _array(name: str) -> "cached_property[np.ndarray]":
    """A field as a property of a view: coordinates belong to all rows, the others have a row axis."""
    field = FIELDS[name]

    def read(view: "View") -> np.ndarray:
        values = view.fixed(name, *field.dims) if field.coordinate else view.stacked(name, *field.dims)
        return values.astype(bool) if field.dtype == "bool" else values

    return cached_property(read)


@dataclass(frozen=True, eq=False)
class View:
    """One result as plain arrays: ``A`` algorithms, ``R`` rows (snapshots, layers), ``H`` hops, ``N`` components."""

    ds: "xr.Dataset"
    name: str  # what messages call it
    row_dims: tuple[str, ...]  # the dimensions stacked into rows, in order

    # ---- labels

    @cached_property
    def algorithms(self) -> tuple[str, ...]:
        """Names along the first axis."""
        return tuple(str(name) for name in self.ds["algorithm"].values)

    @cached_property
    def hops(self) -> tuple[Any, ...]:
        """Hop distances (of strata by distance: their bins), in the order of the result."""
        return tuple(hop if isinstance(hop, str) else int(hop) for hop in self.ds["hop"].values.tolist())

    @cached_property
    def rows(self) -> list[Any] | None:
        """One label per row, a tuple where several dimensions are stacked; None where there is no such dimension."""
        labels = [self.labels(dim) for dim in self.row_dims]
        return list(product(*labels)) if len(labels) > 1 else labels[0] if labels else None

    def labels(self, dim: str) -> list[Any]:
        """Labels along a dimension, 0, 1, ... where it has none."""
        return self.ds[dim].values.tolist() if dim in self.ds.coords else list(range(self.ds.sizes[dim]))

    # ---- arrays

    @cached_property
    def magnitude(self) -> np.ndarray:
        """Magnitudes ``(A, R, H, N)``; refused where values of a spectrum that was computed are gone."""
        values = self.stacked("magnitude", "algorithm", "hop", "component")
        lost = np.isnan(values) & self.off_zero & (self.status == "ok")[..., None]
        if lost.any():
            words = f"has magnitudes that were computed and are missing at hop {self.hops[int(np.nonzero(lost)[2][0])]}"
            raise ResultError(f"{self.name} {words}: {MASKED}.")
        return values

    magnitude_error = _array("magnitude_error")  # (A, R, H, N), of whole eigenspaces; NaN where there is no bound
    gradient_norm = _array("gradient_norm")  # (R, H)
    eigenvalue = _array("eigenvalue")  # (H, N)
    eigenspace = _array("eigenspace")  # (H, N), over the whole spectrum; -1 where a hop has no such component
    multiplicity = _array("multiplicity")  # (H, N), of whole eigenspaces; 0 where a hop has no such component
    is_zero = _array("is_zero")  # (H, N)

    @cached_property
    def status(self) -> np.ndarray:
        """Status words ``(A, R, H)``."""
        words = self.stacked("status", "algorithm", "hop").astype(object)
        if not all(isinstance(word, str) for word in words.flat):
            raise ResultError(f"{self.name} has no status at some hops: {MASKED}.")
        return words

    @property
    def present(self) -> np.ndarray:
        """Which components a hop has, ``(H, N)``."""
        return self.eigenspace >= 0

    @property
    def off_zero(self) -> np.ndarray:
        """Which components have an eigenvalue above 0, ``(H, N)``."""
        return self.present & ~self.is_zero

    @cached_property
    def component(self) -> np.ndarray:
        """Positions among all components, ``(N,)``."""
        return np.array(self.labels("component"))

    @cached_property
    def complete(self) -> np.ndarray:
        """Hops whose components are all here, ``(H,)``: as recorded, and as counted."""
        recorded = self.fixed("complete", "hop").astype(bool)
        if self.is_bands:
            return recorded
        first = np.diff(self.eigenspace, axis=1, prepend=-2) != 0
        weight = np.where(first, self.multiplicity, 0) if self.is_merged else np.ones_like(self.multiplicity)
        return recorded & (np.where(self.present, weight, 0).sum(axis=1) == self.n_nodes)

    def stacked(self, name: str, *dims: str) -> np.ndarray:
        """A variable with its rows as one axis, after ``algorithm`` where that is there."""
        at = 1 if dims[0] == "algorithm" else 0
        every = (*dims[:at], *self.row_dims, *dims[at:])
        array = self._once(name, every)
        values = array.expand_dims({dim: self.ds.sizes[dim] for dim in every if dim not in array.dims})
        shape = [self.ds.sizes[dim] for dim in dims]
        return values.transpose(*every).values.reshape(*shape[:at], -1, *shape[at:])

    def fixed(self, name: str, *dims: str) -> np.ndarray:
        """A variable that does not depend on the row; joined results may repeat it, equal, along their rows."""
        if name not in self.ds:
            raise ResultError(f"{self.name} has no {name}: {NO_EDGES}")
        return self._once(name, dims).transpose(*dims).values

    def _once(self, name: str, dims: tuple[str, ...]) -> "xr.DataArray":
        """A variable without the dimensions along which ``xarray.concat`` repeats it."""
        array = self.ds[name]
        for dim in [dim for dim in array.dims if dim not in dims]:
            each = [array.variable.isel({dim: at}) for at in range(array.sizes[dim])]
            if not all(each[0].equals(other) for other in each[1:]):
                words = "it joins results that are not of one graph and one Laplacian, or not of the same components"
                raise ResultError(f"{self.name} holds a {name} that differs along {dim!r}: {words}, or {MASKED}.")
            array = array.isel({dim: 0})
        return array

    def placed(self, array: np.ndarray, *last: str, algorithm: bool = True) -> tuple[tuple[str, ...], np.ndarray]:
        """Dimensions and values of an array ``([A,] R, ...)`` for a Dataset like this one."""
        front = ("algorithm",) if algorithm else ()
        rows = (self.ds.sizes[dim] for dim in self.row_dims)
        values = array.reshape(*array.shape[: len(front)], *rows, *array.shape[len(front) + 1 :])
        return (*front, *self.row_dims, *last), values

    def row_coordinates(self) -> "dict[str, Any]":
        """The labels of the stacked dimensions, and what goes with them, for a Dataset like this one."""
        own = {name: one for name, one in self.ds.coords.items() if one.dims and set(one.dims) <= set(self.row_dims)}
        return {str(name): (one.dims, one.values) for name, one in own.items()}

    # ---- what it was made with

    @property
    def is_merged(self) -> bool:
        """Whether components are whole eigenspaces."""
        return MERGED in self.ds.attrs

    @property
    def is_bands(self) -> bool:
        """Whether components are bands of eigenvalues, behind the zero component."""
        return is_bands(self.ds)

    @property
    def options(self) -> dict[str, Any]:
        return options_of(self.ds)

    @property
    def n_nodes(self) -> int:
        return int(self.ds.attrs["n_nodes"])

    @property
    def metric(self) -> str:
        """``"euclidean"`` or ``"angular"``."""
        return str(self.ds.attrs.get("metric", ""))

    @property
    def operator_name(self) -> str:
        """The Laplacian in words."""
        loops = " with self-loops" if int(self.ds.attrs.get("self_loops", 0)) else ""
        return f"{self.ds.attrs.get('laplacian', 'combinatorial')}{loops}"

    @property
    def signal(self) -> np.ndarray | None:
        """The signal kept in the result, ``(R, n, d)``; None where it was not kept."""
        return self.stacked("signal", "node", "dimension") if "signal" in self.ds else None

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Names of the columns of the signal kept in the result; None where it was not kept or they have none."""
        names = self.ds["signal"].attrs.get("columns") if "signal" in self.ds else None
        return None if names is None else tuple(json.loads(names))

    # ---- refusals

    def row_of(self, algorithm: str) -> int:
        """Position of an algorithm, refused where the result lacks it."""
        if algorithm not in self.algorithms:
            raise ResultError(
                f"{self.name} holds {', '.join(self.algorithms)} but not {algorithm}; "
                f"compute it with algorithms={[*self.algorithms, algorithm]}."
            )
        return self.algorithms.index(algorithm)

    def require_complete(self, purpose: str) -> None:
        """Refuse a result that has only some of the components."""
        for hop, present in zip(np.array(self.hops)[~self.complete], self.present[~self.complete], strict=True):
            raise ResultError(
                f"{self.name} holds {int(present.sum())} of the {self.n_nodes} components at hop {hop}, and {purpose} "
                "needs all of them; compute it without n_eigs, and select no components."
            )

    def require_zeros(self, purpose: str) -> None:
        """Refuse a result whose zero components were dropped."""
        if ZERO_DROPPED in self.ds.attrs:
            raise ResultError(f"{self.name} has its zero components dropped, and {purpose} needs them; do it before.")

    def require_own_size(self, purpose: str) -> None:
        """Refuse a result whose spectra were brought to unit length."""
        if NORMALIZED in self.ds.attrs:
            raise ResultError(f"{self.name} has spectra of unit length, and {purpose} needs their sizes; do it before.")

    def require_components(self, purpose: str) -> None:
        """Refuse bands, where components or eigenspaces are meant."""
        if self.is_bands:
            raise ResultError(f"{self.name} has bands, and {purpose} needs components; use spectra.")
