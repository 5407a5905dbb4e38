"""Numbers and words of a page as JSON that no reader can take for markup.

Arrays travel as base64 of little-endian numbers with their shape: exact, small and quick to read.
"""

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.layout import coordinates, magnitudes
from spectrata.analysis.merge import merge_eigenspaces
from spectrata.analysis.normalize import drop_zero, normalize
from spectrata.analysis.smoothness import LONG_NAMES
from spectrata.plot.heat import ROUNDING
from spectrata.report.contents import Contents
from spectrata.report.layout import Drawing, Space

if TYPE_CHECKING:
    import xarray as xr

NUMBERS = 600_000  # magnitudes a page holds; more snapshots than fit are thinned
MOST_SNAPSHOTS = 240
SIMILAR = ("correlation", "cosine", "cosine_flat_a", "cosine_flat_b")
COMPARED = (*SIMILAR, "largest_difference", "at_eigenvalue", "wasserstein")


def most_snapshots(ds: "xr.Dataset") -> int:
    """How many snapshots fit a page: magnitudes of components, of eigenspaces, and their calibration."""
    each = 5 * ds.sizes["algorithm"] * ds.sizes["hop"] * ds.sizes["component"]
    return int(np.clip(NUMBERS // each, 2, MOST_SNAPSHOTS))


def packed(array: Any, kind: str = "f4") -> dict[str, Any]:
    """An array as text: its type, shape and bytes.

    Examples
    --------
    >>> packed([1.0, 2.0])
    {'t': 'f4', 's': [2], 'b': 'AACAPwAAAEA='}
    """
    values = np.ascontiguousarray(array, dtype=f"<{kind}")
    return {"t": kind, "s": list(values.shape), "b": base64.b64encode(values.tobytes()).decode("ascii")}


def escaped_json(document: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end one, or open a comment.

    Examples
    --------
    >>> escaped_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def payload(out: Contents, draw: Drawing, words: dict[str, Any]) -> dict[str, Any]:
    """Everything the page's scripts read."""
    ds = out.ds
    time = "snapshot" in ds["magnitude"].dims
    return words | {
        "findings": out.findings,
        "missing": out.missing,
        "algorithms": [str(name) for name in ds["algorithm"].values],
        "snapshots": [str(name) for name in ds["snapshot"].values] if time else None,
        "spectra": _spectra(ds),
        "chance": _chance(out.calibrated),
        "drawing": _drawing(ds, draw),
        "strata": _strata(ds),
        "similarity": _similarity(out.similarity),
        "smoothness": _smoothness(out.smoothness),
        "comparison": _comparison(out.comparison, ds),
    }


def _spectra(ds: "xr.Dataset") -> dict[str, Any]:
    """Magnitudes by component and by eigenspace, each with the norms that normalise them."""
    merged = merge_eigenspaces(ds)
    eigenvalue, eigenspace, multiplicity = coordinates(ds)
    spaces, _, sizes = coordinates(merged)
    off = _norm(drop_zero(ds))
    evening = np.where(merged["merge_rule"].values == "sum", 1.0, 0.5)
    return {
        "eigenvalue": packed(eigenvalue),
        "eigenspace": packed(eigenspace, "i4"),
        "multiplicity": packed(multiplicity, "i4"),
        "magnitude": packed(magnitudes(ds)),
        "norm": packed(_norm(ds)),
        "merged": {
            "eigenvalue": packed(spaces),
            "multiplicity": packed(sizes, "i4"),
            "magnitude": packed(magnitudes(merged)),
            "norm": packed(_norm(merged)),
            "norm_off_zero": packed(np.where(off <= ROUNDING * _norm(ds), 0.0, off)),
            "evening": evening.tolist(),
            "ambiguous": packed(merged["ambiguous"].values, "i1"),
        },
    }


def _norm(ds: "xr.Dataset") -> np.ndarray:
    """(algorithm, T, hop)"""
    norm = normalize(ds)["magnitude_norm"]
    if "snapshot" in norm.dims:
        return norm.transpose("algorithm", "snapshot", "hop").values
    return norm.transpose("algorithm", "hop").values[:, None]


def _chance(found: "xr.Dataset | None") -> dict[str, Any] | None:
    if found is None:
        return None
    order = [d for d in ("algorithm", "snapshot", "hop", "component") if d in found["ratio"].dims]

    def array(name: str) -> dict[str, Any]:
        values = found[name].transpose(*order).values
        return packed(values if "snapshot" in order else values[:, None])

    out: dict[str, Any] = {
        "algorithms": [str(name) for name in found["algorithm"].values],
        "draws": int(found.attrs["draws"]),
    }
    names = ("ratio", "null_energy", "null_std", *(("q",) if out["draws"] else ("z",)))
    return out | {name: array(name) for name in names}


def _drawing(ds: "xr.Dataset", draw: Drawing) -> dict[str, Any]:
    names = ds["node"].values
    degrees = np.bincount(ds["edges"].values.ravel(), minlength=len(names))
    named = {int(node) for row in draw.spaces for space in row for node in space.strongest[0]}
    return {
        "rows": packed(draw.nodes, "i4"),
        "names": [str(names[node]) for node in draw.nodes],
        "degrees": packed(degrees[draw.nodes], "i4"),
        "places": packed(draw.places),
        "edges": packed(draw.edges, "i4"),
        "total": len(names),
        "quantised": draw.quantised,
        "other_names": {str(node): str(names[node]) for node in sorted(named - set(draw.nodes.tolist()))},
        "spaces": [[_space(space, draw.quantised) for space in row] for row in draw.spaces],
        "embedding": None if draw.embedding is None else packed(draw.embedding),
        "axes": draw.axes,
    }


def _space(space: Space, quantised: bool) -> dict[str, Any]:
    return {
        "space": space.space,
        "components": space.components,
        "members": [_vector(member, quantised) for member in space.members],
        "length": None if space.length is None else _vector(space.length, quantised),
        "shown": round(space.shown, 4),
        "nodes": space.strongest[0].tolist(),
        "values": [float(f"{value:.6g}") for value in space.strongest[1]],
    }


def _vector(values: np.ndarray, quantised: bool) -> dict[str, Any]:
    """An eigenvector as it is, or in 16 bits: steps of 1/32767 of its largest entry."""
    if not quantised:
        return packed(values)
    top = float(np.abs(values).max()) or 1.0
    return packed(np.rint(values / top * 32767), "i2") | {"scale": top / 32767}


def _strata(ds: "xr.Dataset") -> dict[str, Any]:
    merged = merge_eigenspaces(ds)
    repeated = np.where(ds["multiplicity"].values > 1, 1, 0).sum(axis=1)
    columns = {name: ds[name].values.tolist() for name in ("hop", "n_edges", "n_parts", "n_singletons")}
    norm = ds["gradient_norm"]
    norms = norm.transpose("snapshot", "hop").values if "snapshot" in norm.dims else norm.values[None]
    columns |= {"n_eigenspaces": merged["n_eigenspaces"].values.tolist(), "ambiguous": repeated.tolist()}
    return columns | {"gradient_norm": packed(norms)}


def _timed(ds: "xr.Dataset", name: str, last: tuple[str, ...]) -> dict[str, Any]:
    """An array with its snapshot axis just before ``last``, one snapshot where there is none."""
    array = ds[name]
    dims = [d for d in ("algorithm", "snapshot", *last) if d in array.dims]
    values = array.transpose(*dims).values
    if "snapshot" not in dims:
        values = np.expand_dims(values, 1 if "algorithm" in dims else 0)
    return packed(values)


def _similarity(found: "xr.Dataset | None") -> dict[str, Any] | None:
    if found is None:
        return None
    arrays = {name: _timed(found, name, ("hop",)) for name in SIMILAR}
    return {"base": found.attrs["base"], "algorithms": [str(m) for m in found["algorithm"].values]} | arrays


def _smoothness(found: "xr.Dataset | None") -> list[dict[str, Any]] | None:
    if found is None:
        return None
    return [
        {
            "name": name,
            "text": LONG_NAMES[name],
            "per_hop": "hop" in found[name].dims,
            "values": _timed(found, name, ("hop",)),
        }
        for name in LONG_NAMES
        if name in found
    ]


def _comparison(found: "xr.Dataset | None", ds: "xr.Dataset") -> dict[str, Any] | None:
    if found is None:
        return None
    order = ("algorithm", "hop", "band")
    return {
        "names": [str(ds["snapshot"].values[0]), str(ds["snapshot"].values[-1])],
        "algorithms": [str(name) for name in found["algorithm"].values],
        "hops": found["hop"].values.tolist(),
        "energy_shift": packed(found["energy_shift"].transpose(*order).values),
        "status": found["status"].transpose("algorithm", "hop").values.tolist(),
    } | {name: packed(found[name].transpose("algorithm", "hop").values) for name in COMPARED}
