"""How the results of many graphs lie beside each other: one row per pair, padded to the largest graph.

The fields are those of ``results.schema`` behind the dimension ``graph``, and what a result of one graph has as
attributes: its size, metric and hash. Spectra may be summed into common bands, so that all sizes share one axis.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.bands.result import NAMES as BAND_NAMES
from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE
from spectrata.errors import InputError
from spectrata.kernels.scaling import squarable
from spectrata.results.build import SIZES, HopResult, made_with, with_long_names
from spectrata.results.schema import FIELDS, OPTIONS, Field

if TYPE_CHECKING:
    import xarray as xr

PAST_DIAMETER = "past the diameter"
LAYOUT: dict[str, Field] = FIELDS | {
    "status": FIELDS["status"]._replace(empty=PAST_DIAMETER),
    "n_nodes": Field((), "i8", 0, "nodes of the graph", True),
    "metric": Field((), "str", "", "metric of the gradient", True),
    "graph_hash": Field((), "str", "", "hash of the graph's edges", True),
    "error": Field((), "str", "", "why a pair failed"),
    "digest": Field((), "str", "", "hash of the pair and of everything asked, which a stored result is compared by"),
}
OWN = ("error", "digest")  # fields that every pair has, whether it was computed or not; the last is written last
ARGUMENTS = "arguments"  # attribute of a store: everything that was asked, as JSON
READ_AS = "read_as"  # among them: how graphs were read
UNKNOWN = "-"  # digest of a pair that failed for a reason outside itself: it is always tried again


@dataclass(frozen=True, eq=False)
class Outcome:
    """Arrays of some pairs, or why there are none; neither where the store holds them already."""

    rows: np.ndarray  # positions among all pairs
    arrays: dict[str, np.ndarray] | None = None  # fields of ``LAYOUT``, (rows, *dims); None where the pairs failed
    hops: Sequence[int] = ()  # labels along ``hop``
    first: int = 0  # position of the first component among all components
    error: str = ""
    digest: str = UNKNOWN  # of a pair that failed, as ``known`` of a later run; the others have it in their arrays

    @classmethod
    def failed(cls, row: int, problem: BaseException, digest: str = "") -> "Outcome":
        """The outcome of a pair that raised an error; ``digest`` is its own where it could be read."""
        error = f"{type(problem).__name__}: {problem}"
        if not isinstance(problem, InputError):  # its content is not to blame
            return cls(np.array([row]), error=error)
        return cls(np.array([row]), error=error, digest=digest or hashlib.sha256(error.encode()).hexdigest())

    def only(self, wanted: Collection[int]) -> "Outcome":
        """The outcome of some of its pairs."""
        kept = np.array([row in wanted for row in self.rows.tolist()], dtype=bool)
        arrays = self.arrays and {name: array[kept] for name, array in self.arrays.items()}
        return replace(self, rows=self.rows[kept], arrays=arrays)

    @property
    def width(self) -> int:
        """Components that a table needs to hold it."""
        return 0 if self.arrays is None else self.first + self.arrays["eigenvalue"].shape[-1]


def arrays_of(
    results: Iterable[tuple[Any, HopResult]], count: int, algorithms: int, hops: int, width: int
) -> dict[str, np.ndarray]:
    """Fields of ``count`` graphs of one size, from the graphs that reach each hop and their results."""
    sizes = {"algorithm": algorithms, "hop": hops, "component": width}
    arrays = {name: _empty(LAYOUT[name], count, sizes) for name in FIELDS}
    for position, (rows, found) in enumerate(results):
        fields: dict[str, Any] = {"gradient_norm": found.gradient_norm}
        # A graph or a snapshot in front; the components of one graph are those of all its snapshots.
        for name in ("magnitude", "magnitude_error", "status"):
            fields[name] = np.swapaxes(getattr(found, name), 0, 1)
        fields |= dict(zip(SIZES, found.sizes, strict=True))
        fields |= {name: getattr(found.axis, name) for name in FIELDS if hasattr(found.axis, name)}
        for name, value in fields.items():
            arrays[name][(rows, *(position if dim == "hop" else slice(None) for dim in FIELDS[name].dims))] = value
    return arrays


def _empty(field: Field, count: int, sizes: dict[str, int]) -> np.ndarray:
    dtype = object if field.dtype == "str" else field.dtype  # text has no fixed length until it is labelled
    return np.full((count, *(sizes[dim] for dim in field.dims)), field.empty, dtype=dtype)


class TableSize(NamedTuple):
    """Sizes of a table: ``hops`` are its labels, ``width`` its components."""

    algorithms: tuple[str, ...]
    hops: list[int]
    width: int

    @classmethod
    def make(cls, arguments: dict[str, Any], outcomes: Iterable[Outcome], hops: int = 1, width: int = 1) -> "TableSize":
        """Sizes for all outcomes, with at least so many hops, where no list of hops was asked for, and components."""
        for outcome in outcomes:
            hops, width = max(hops, *outcome.hops, 0), max(width, outcome.width)
        asked = arguments["hops"]
        labels = asked if isinstance(asked, list) else list(range(1, hops + 1))
        return cls(tuple(arguments["algorithms"]), labels, width)

    @property
    def sizes(self) -> dict[str, int]:
        return {"algorithm": len(self.algorithms), "hop": len(self.hops), "component": self.width}

    def padded(self, name: str, outcomes: Iterable[Outcome], start: int, count: int) -> np.ndarray:
        """One field of the rows from ``start`` on, empty where no outcome has a value."""
        field = LAYOUT[name]
        values = _empty(field, count, self.sizes)
        for outcome in outcomes:
            if name in OWN and outcome.arrays is None:
                values[outcome.rows - start] = getattr(outcome, name)
            elif name != "error" and outcome.arrays is not None:
                array = outcome.arrays[name]
                places: dict[str, Any] = {
                    "algorithm": range(len(self.algorithms)),
                    "hop": [self.hops.index(hop) for hop in outcome.hops],
                    "component": range(outcome.first, outcome.width),
                }
                values[np.ix_(outcome.rows - start, *(places[dim] for dim in field.dims))] = array
        return values


def labelled(ds: "xr.Dataset", names: Sequence[str], table: TableSize, facts: dict[str, Any]) -> "xr.Dataset":
    """A result from the fields of ``LAYOUT``: labels, attributes, and text of one type."""
    texts = [name for name, field in LAYOUT.items() if field.dtype == "str"]
    ds = ds.assign({name: (ds[name].dims, ds[name].values.astype(object).astype(str)) for name in texts})
    state = np.where(ds["digest"] == "", "missing", np.where(ds["error"] == "", "done", "failed"))
    ds = ds.drop_vars("digest")
    status = ds["status"].values
    status = np.where((state == "done")[:, None, None], status, state[:, None, None])
    asked = json.loads(facts[ARGUMENTS])
    own = {name: value for name, value in facts.items() if name != ARGUMENTS}
    del asked["metric"]  # as asked; each graph has its own
    asked.pop(READ_AS, None)  # plays no part in what is computed of a graph once it is read
    own[OPTIONS] = json.dumps(asked | {"hops": table.hops})
    ds = ds.assign(status=(ds["status"].dims, status), state=("graph", state))
    metrics, hashes = (ds[name].values.tolist() for name in ("metric", "graph_hash"))
    known = {metric: made_with(own | {"metric": metric, "graph_hash": ""}) for metric in set(metrics)}
    words = [known[metric] + digest[:12] for metric, digest in zip(metrics, hashes, strict=True)]
    ds = ds.assign_coords(
        graph=list(names),
        algorithm=list(table.algorithms),
        hop=table.hops,
        component=np.arange(table.width),
        made_with=("graph", words),
    )
    ds.attrs = {}
    for name, field in LAYOUT.items():
        if name in ds:
            ds[name].attrs = {"long_name": field.long_name}
    ds = ds.set_coords([name for name, field in LAYOUT.items() if field.coordinate])
    return with_long_names(_with_bands(ds, np.array(asked["bands"])) if "bands" in asked else ds, own)


def _with_bands(ds: "xr.Dataset", edges: np.ndarray) -> "xr.Dataset":
    """Energies of the zero components and of the bands beside their magnitudes, named as by ``band_spectra``."""
    energy = ds["magnitude"].drop_vars("component") ** 2
    found = {
        "energy": energy.isel(component=slice(1, None)).rename(component="band"),
        "zero_energy": energy.isel(component=0),
    }
    dims, shape = ("hop", "band"), (ds.sizes["hop"], len(edges) - 1)
    lower, upper = (np.broadcast_to(cut, shape).copy() for cut in (edges[:-1], edges[1:]))
    dropped = [name for name in energy.coords if "component" in energy[name].dims]
    ds = ds.assign({name: values.drop_vars(dropped, errors="ignore") for name, values in found.items()})
    ds = ds.assign_coords(band=np.arange(shape[1]), band_lower=(dims, lower), band_upper=(dims, upper))
    for name in ("energy", "zero_energy", "band_lower", "band_upper"):
        ds[name].attrs = {"long_name": BAND_NAMES[name]}
    return ds


# ---- common bands of eigenvalues


def banded(arrays: dict[str, np.ndarray], edges: tuple[float, ...]) -> dict[str, np.ndarray]:
    """Fields of graphs by component as fields by band: the zero components first, and then a band as one component.

    A band is ``(lower, upper]``, the last one takes all that lies above; an eigenvalue within 1e-8 of the largest
    from an edge lies on it, and an eigenspace is never split.
    """
    cuts, order, spaces, values = np.array(edges), np.arange(len(edges)), arrays["eigenspace"], arrays["eigenvalue"]
    first = np.diff(spaces, axis=2, prepend=-2) != 0  # (G, H, N)
    level = np.take_along_axis(values, np.maximum.accumulate(np.where(first, np.arange(spaces.shape[2]), 0), axis=2), 2)
    near = EIGENSPACE_TOLERANCE["float64"] * np.nanmax(values, axis=2, initial=0.0)[..., None, None]
    band = np.where(arrays["is_zero"], 0, 1 + (level[..., None] > cuts[1:-1] + near).sum(axis=3))
    inside = (band[..., None] == order) & (spaces >= 0)[..., None]  # (G, H, N, B)

    def lengths(name: str, counted: np.ndarray) -> np.ndarray:
        """Over the components of each band: ``(G, A, H, N) -> (G, A, H, B)``; NaN where all components are."""
        even, scale = squarable(np.where(counted[:, None], np.nan_to_num(arrays[name]), 0.0))
        found = np.sqrt(np.einsum("gahn,ghnb->gahb", even**2, inside.astype(float))) * scale
        return np.where(np.isnan(arrays["magnitude"]).all(axis=3, keepdims=True), np.nan, found)

    there = (spaces >= 0).any(axis=2, keepdims=True)  # (G, H, 1)
    zeros = np.maximum(arrays["is_zero"].sum(axis=2), 1)[..., None]
    of_bands = {
        "eigenvalue": np.append(0.0, (cuts[1:] + cuts[:-1]) / 2),
        "eigenspace": order,
        "multiplicity": np.where(order == 0, zeros, 1),
        "is_zero": order == 0,
    }
    found = {
        name: np.where(there, one, FIELDS[name].empty).astype(FIELDS[name].dtype) for name, one in of_bands.items()
    }
    # All components of an eigenspace have its error, so that the first stands for it.
    found |= {"magnitude": lengths("magnitude", spaces >= 0), "magnitude_error": lengths("magnitude_error", first)}
    return arrays | found
