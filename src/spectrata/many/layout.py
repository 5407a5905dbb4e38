"""How the results of many graphs lie beside each other: one row per pair, padded to the largest graph.

The fields are those of ``results.schema`` behind the dimension ``graph``, and what a result of one graph has as
attributes: its size, metric and hash. Spectra may be summed into common bands, so that all sizes share one axis.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands.result import NAMES as BAND_NAMES
from spectrata.bands.result import band_axis
from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE
from spectrata.errors import InputError
from spectrata.kernels.scaling import squarable
from spectrata.results.build import HopResult, made_with, with_long_names
from spectrata.results.schema import ARGUMENTS, FIELDS, OPTIONS, Field

if TYPE_CHECKING:
    import xarray as xr

PAST_DIAMETER = "past the diameter"
LAYOUT: dict[str, Field] = FIELDS | {
    "status": FIELDS["status"]._replace(empty=PAST_DIAMETER),
    "n_nodes": Field((), "i8", 0, "nodes of the graph", True),
    "metric": Field((), "str", "", "metric of the gradient", True),
    "graph_hash": Field((), "str", "", "hash of the graph's edges", True),
    "error": Field((), "str", "", "why a pair failed"),
    "digest": Field((), "str", "", "hash of the pair and of everything asked, size and hash of what is stored"),
}
READ_AS = "read_as"  # among what was asked: how graphs were read
UNKNOWN = "-"  # digest of a pair that failed for a reason outside itself: it is always tried again
Sizes = dict[str, int]  # of a table: algorithms, hops, components


@dataclass(frozen=True, eq=False)
class Outcome:
    """Fields of some pairs, ``(rows, *dims)`` from the first hop and component on."""

    rows: np.ndarray  # positions among all pairs
    arrays: dict[
        str, np.ndarray
    ]  # fields of ``LAYOUT``: "error" and "digest" of a pair that failed, else all but "error"

    @classmethod
    def failed(cls, row: int, problem: BaseException, digest: str = "") -> "Outcome":
        """The outcome of a pair that raised an error; ``digest`` is its own where it could be read."""
        error = f"{type(problem).__name__}: {problem}"
        digest = digest or hashlib.sha256(error.encode()).hexdigest()
        if not isinstance(problem, InputError):  # its content is not to blame
            digest = UNKNOWN
        return cls(np.array([row]), {"error": np.array([error], object), "digest": np.array([digest], object)})

    def only(self, wanted: Collection[int]) -> "Outcome":
        """The outcome of some of its pairs."""
        kept = np.array([row in wanted for row in self.rows.tolist()], dtype=bool)
        return Outcome(self.rows[kept], {name: array[kept] for name, array in self.arrays.items()})


def arrays_of(results: Iterable[tuple[Any, HopResult]], count: int, sizes: Sizes) -> dict[str, np.ndarray]:
    """Fields of ``count`` graphs of one size, from the graphs that reach each hop and their results."""
    arrays = {name: _empty(LAYOUT[name], count, sizes) for name in FIELDS}
    for position, (rows, found) in enumerate(results):
        first, last = found.axis.component[[0, -1]]
        places = {"algorithm": slice(None), "hop": position, "component": slice(first, last + 1)}
        for name, field in FIELDS.items():
            value = found.field(name)
            # A graph or a snapshot in front; the components of one graph are those of all its snapshots.
            value = np.swapaxes(value, 0, 1) if "algorithm" in field.dims else value
            arrays[name][(rows, *(places[dim] for dim in field.dims))] = value
    return arrays


def _empty(field: Field, count: int, sizes: Sizes) -> np.ndarray:
    dtype = object if field.dtype == "str" else field.dtype  # text has no fixed length until it is labelled
    return np.full((count, *(sizes[dim] for dim in field.dims)), field.empty, dtype=dtype)


def sizes_of(asked: dict[str, Any], outcomes: Iterable[Outcome], hops: int = 1, width: int = 1) -> Sizes:
    """Sizes of a table for all outcomes, with at least so many hops and components."""
    width = max(width, len(asked.get("bands", ())))
    for outcome in outcomes:
        if "eigenvalue" in outcome.arrays:
            reached, components = outcome.arrays["eigenvalue"].shape[1:]
            hops, width = max(hops, reached), max(width, components)
    hops = len(asked["hops"]) if isinstance(asked["hops"], list) else hops
    return {"algorithm": len(asked["algorithms"]), "hop": hops, "component": width}


def hop_labels(asked: dict[str, Any], count: int) -> list[int]:
    """The hops of a table of so many, of which a graph reaches the first ones."""
    return asked["hops"] if isinstance(asked["hops"], list) else list(range(1, count + 1))


def padded(name: str, outcomes: Iterable[Outcome], sizes: Sizes, start: int, count: int) -> np.ndarray:
    """One field of the rows from ``start`` on, empty where no outcome has a value."""
    values = _empty(LAYOUT[name], count, sizes)
    for outcome in outcomes:
        if name in outcome.arrays:
            array = outcome.arrays[name]
            places: Any = (outcome.rows - start, *map(slice, array.shape[1:]))
            values[places] = array
    return values


def mark(values: dict[str, np.ndarray], row: int, asked: list[Any], hops: int, components: int) -> str:
    """A digest with the size and the hash of what a store keeps of its pair, which is named and asked so."""
    pair, sizes = values["digest"][row].split(" ")[0], {"hop": hops, "component": components}
    state = hashlib.sha256(json.dumps([*asked, pair]).encode())
    for name, field in LAYOUT.items():
        own = values[name][(row, *(slice(sizes.get(dim)) for dim in field.dims))]
        if field.dtype != "str":
            state.update(np.ascontiguousarray(own, dtype=field.dtype).data)
        elif name != "digest":
            state.update(json.dumps(np.asarray(own).tolist()).encode())
    return f"{pair} {hops} {components} {state.hexdigest()}"


def changed(values: dict[str, np.ndarray], names: list[str], facts: dict[str, Any]) -> list[int]:
    """The rows of a store that are not as they were written."""
    rows = ((row, digest.split(" ")) for row, digest in enumerate(values["digest"].tolist()) if digest)
    return [
        row for row, said in rows
        if len(said) != 4 or mark(values, row, [facts, names[row]], *map(int, said[1:3])) != " ".join(said)
    ]  # fmt: skip


def labelled(ds: "xr.Dataset", facts: dict[str, Any]) -> "xr.Dataset":
    """A result from the names of the graphs and the fields of ``LAYOUT``: labels, attributes, and text of one type."""
    texts = [name for name, field in LAYOUT.items() if field.dtype == "str"]
    ds = ds.assign({name: (ds[name].dims, ds[name].values.astype(object).astype(str)) for name in texts})
    state = np.where(ds["digest"] == "", "missing", np.where(ds["error"] == "", "done", "failed"))
    asked = json.loads(facts[ARGUMENTS])
    hops = hop_labels(asked, ds.sizes["hop"])
    own = {name: value for name, value in facts.items() if name != ARGUMENTS}
    # Each graph has a metric of its own; how graphs were read plays no part in what is computed of them.
    own[OPTIONS] = json.dumps({name: asked[name] for name in asked if name not in ("metric", READ_AS)} | {"hops": hops})
    metrics, hashes = (ds[name].values.tolist() for name in ("metric", "graph_hash"))
    known = {metric: made_with(own | {"metric": metric, "graph_hash": ""}) for metric in set(metrics)}
    words = [known[metric] + digest[:12] for metric, digest in zip(metrics, hashes, strict=True)]
    status = np.where((state == "done")[:, None, None], ds["status"].values, state[:, None, None])
    ds = ds.drop_vars("digest").assign(status=(ds["status"].dims, status), state=("graph", state))
    labels = {"graph": ds["graph"].values.astype(str), "algorithm": asked["algorithms"], "hop": hops}
    labels |= {"component": np.arange(ds.sizes["component"]), "made_with": ("graph", words)}
    ds = ds.assign_coords(labels).drop_attrs()
    for name in LAYOUT.keys() & ds.variables:
        ds[name].attrs["long_name"] = LAYOUT[name].long_name
    ds = ds.set_coords([name for name, field in LAYOUT.items() if field.coordinate])
    return with_long_names(_with_bands(ds, np.array(asked["bands"])) if "bands" in asked else ds, own)


def _with_bands(ds: "xr.Dataset", edges: np.ndarray) -> "xr.Dataset":
    """Energies of the zero components and of the bands beside their magnitudes, named as by ``band_spectra``."""
    energy, (*front, _), count = ds["magnitude"].values ** 2, ds["magnitude"].dims, ds.sizes["hop"]
    found = {"energy": ((*front, "band"), energy[..., 1:]), "zero_energy": (front, energy[..., 0])}
    for name, cut in (("band_lower", edges[:-1]), ("band_upper", edges[1:])):
        found[name] = ("hop", "band"), np.tile(cut, (count, 1))
    ds = ds.assign({name: (*laid, {"long_name": BAND_NAMES[name]}) for name, laid in found.items()})
    return ds.assign_coords(band=np.arange(len(edges) - 1)).set_coords(["band_lower", "band_upper"])


# ---- common bands of eigenvalues


def in_bands(found: HopResult, edges: tuple[float, ...]) -> HopResult:
    """One hop by band instead of by component: the zero components first, and then a band as one component.

    A band is ``(lower, upper]``, the last one takes all that lies above; an eigenvalue within 1e-8 of the largest
    from an edge lies on it, and an eigenspace is never split.
    """
    cuts, axis = np.array(edges), found.axis
    values, spaces, is_zero = map(np.atleast_2d, (axis.eigenvalue, axis.eigenspace, axis.is_zero))  # (G, N)
    first = np.diff(spaces, axis=1, prepend=-2) != 0
    level = np.maximum.accumulate(np.where(first, values, 0.0), axis=1)  # the first eigenvalue of each eigenspace
    near = EIGENSPACE_TOLERANCE["float64"] * values.max(axis=1)[:, None, None]
    band = np.where(is_zero, 0, 1 + (level[..., None] > cuts[1:-1] + near).sum(axis=2))
    inside = (band[..., None] == np.arange(len(cuts))).astype(float)  # (G, N, B)

    def lengths(array: np.ndarray) -> np.ndarray:
        """Over the components of each band: ``(A, G, N) -> (A, G, B)``; NaN where all components are."""
        even, scale = squarable(np.nan_to_num(array))
        sums = np.sqrt(np.einsum("agn,gnb->agb", even**2, inside)) * scale
        return np.where(np.isnan(found.magnitude).all(axis=2, keepdims=True), np.nan, sums)

    # All components of an eigenspace have its error, so that the first stands for it.
    error = lengths(np.where(first, found.magnitude_error, 0.0))
    axis = band_axis(cuts, is_zero.sum(axis=1, keepdims=True), axis.complete)
    return replace(found, axis=axis, magnitude=lengths(found.magnitude), magnitude_error=error)
