"""Numbers and words of a page as JSON that no reader can take for markup.

Arrays travel as base64 of little-endian numbers with their shape: exact, small and quick to read.
"""

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.plot.style import ROUNDING, hop_sizes, one_algorithm, row_names
from spectrata.report.contents import Contents, first_shown
from spectrata.report.layout import Drawing, Space
from spectrata.results.schema import View, view
from spectrata.stats.describe.smoothness import LONG_NAMES
from spectrata.stats.describe.spectrum import lengths, merge_eigenspaces

if TYPE_CHECKING:
    import xarray as xr

NUMBERS = 600_000  # magnitudes a page holds; more snapshots than fit are thinned
MOST_SNAPSHOTS = 240
SIMILAR = ("correlation", "cosine", "cosine_flat_a", "cosine_flat_b")
COMPARED = (*SIMILAR, "largest_difference", "at_eigenvalue", "wasserstein")


def most_snapshots(result: View) -> int:
    """How many snapshots fit a page: magnitudes of components, of eigenspaces, and their calibration."""
    each = 5 * len(result.algorithms) * result.eigenvalue.size
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
    result = out.result
    return words | {
        "findings": [{"about": about, "lines": lines} for about, lines in out.findings],
        "tested": out.found is not None and out.found.tests > 0,
        "missing": out.missing,
        "algorithms": list(result.algorithms),
        "shown_first": result.algorithms.index(one_algorithm(result, None)),
        "first_row": first_shown(result),
        "snapshots": row_names(result) if result.row_dims else None,
        "likeness": _likeness(out),
        "bands": _bands(out.bands),
        "cumulative": _cumulative(out.cumulative),
        "spectra": _spectra(result),
        "chance": _chance(out.calibrated),
        "drawing": _drawing(result, draw, out.names),
        "nodes": _nodes(out.nodes),
        "strata": _strata(result),
        "similarity": _similarity(out.similarity),
        "smoothness": _smoothness(out.smoothness),
        "comparison": _comparison(out.comparison, result),
    }


def _spectra(result: View) -> dict[str, Any]:
    """Magnitudes by component and by eigenspace, each with the norms that normalise them."""
    merged = view(merge_eigenspaces(result.ds))
    off = lengths(np.where(result.off_zero, result.magnitude, 0.0))
    evening = np.where(merged.ds["merge_rule"].values == "sum", 1.0, 0.5)
    return {
        "eigenvalue": packed(result.eigenvalue),
        "eigenspace": packed(result.eigenspace, "i4"),
        "multiplicity": packed(result.multiplicity, "i4"),
        "magnitude": packed(result.magnitude),
        "norm": packed(lengths(result.magnitude)),
        "merged": {
            "eigenvalue": packed(merged.eigenvalue),
            "multiplicity": packed(merged.multiplicity, "i4"),
            "is_zero": packed(merged.is_zero, "i1"),
            "magnitude": packed(merged.magnitude),
            "norm": packed(lengths(merged.magnitude)),
            "norm_off_zero": packed(np.where(off <= ROUNDING * lengths(result.magnitude), 0.0, off)),
            "evening": evening.tolist(),
            "ambiguous": packed(merged.ds["ambiguous"].values, "i1"),
        },
    }


def _chance(found: "xr.Dataset | None") -> dict[str, Any] | None:
    if found is None:
        return None
    known = view(found, "The calibration")
    draws = int(found.attrs["draws"])
    energy = known.stacked("energy", "algorithm", "hop")[..., None]
    sides = {"energy": "chance", "low": "chance_low", "high": "chance_high"}
    arrays = {name: known.stacked(side, "algorithm", "hop", "component") * energy for name, side in sides.items()}
    arrays |= {name: known.stacked(name, "algorithm", "hop", "component") for name in ("ratio", "q")}
    arrays = {name: packed(array) for name, array in arrays.items()}
    return {"algorithms": list(known.algorithms), "draws": draws} | arrays


def _likeness(out: Contents) -> dict[str, Any] | None:
    """r and its interval of chance, ``(T, H)``, with the verdicts."""
    if out.likeness is None:
        return None
    found = out.likeness.found
    arrays = {name: _timed(found, name, ("hop",)) for name in ("r", "chance_low", "chance_high")}
    tested = np.flatnonzero(np.isfinite(out.likeness.verdict).any(axis=1))
    names = [row_names(out.result)[row] for row in tested] if out.result.row_dims else []
    return arrays | {"verdict": packed(out.likeness.verdict), "how": out.likeness.how, "tested": names}


def _bands(found: "xr.Dataset | None") -> dict[str, Any] | None:
    if found is None:
        return None
    edges = {name: packed(found[name].values) for name in ("band_lower", "band_upper")}
    return edges | {name: _timed(found, name, ("hop", "band")) for name in ("ratio",)}


def _cumulative(found: "xr.Dataset | None") -> dict[str, Any] | None:
    if found is None:
        return None
    names = ("share", "chance", "chance_low", "chance_high") if found.attrs["draws"] else ("share",)
    arrays = {name: _timed(found, name, ("hop", "point")) for name in names}
    return arrays | {"draws": found.attrs["draws"], "frequency": packed(found["frequency"].values)}


def _drawing(result: View, draw: Drawing, columns: tuple[str, ...] | None) -> dict[str, Any]:
    names = result.ds["node"].values
    edges = result.fixed("edges", "edge", "end")
    return {
        "names": [str(name) for name in names],
        "degrees": packed(np.bincount(edges.ravel(), minlength=len(names)), "i4"),
        "places": packed(draw.places),
        "edges": packed(draw.edges, "i4"),
        "n_edges": len(edges),
        "quantised": draw.quantised,
        "spaces": [[_space(space, draw.quantised) for space in row] for row in draw.spaces],
        "embedding": None if draw.embedding is None else packed(_last_if_large(draw.embedding)),
        "axes": draw.axes,
        "columns": columns,
    }


def _last_if_large(values: np.ndarray) -> np.ndarray:
    """All snapshots ``(T, ...)``, or the last where they are too many numbers for a page."""
    return values if values.size <= NUMBERS else values[-1:]


def _nodes(found: "xr.Dataset | None") -> dict[str, Any] | None:
    """Energy of the nodes per band, ``(T, B, n)``, and the share of each band in the whole."""
    if found is None:
        return None
    at = found.isel(hop=0)
    energy = at["energy"].transpose("node", ..., "band").values
    energy = energy.reshape(len(energy), -1, at.sizes["band"])  # (n, T, B)
    total = at["total_energy"].values.reshape(-1)  # (T,)
    share = energy.sum(axis=0) / np.where(total > 0, total, np.nan)[:, None]
    kept = _last_if_large(energy.transpose(1, 2, 0))
    return {
        "hop": int(at["hop"]),
        "bands": np.stack([at["band_lower"].values, at["band_upper"].values], axis=1).tolist(),
        "energy": packed(kept),
        "share": packed(share[-len(kept) :]),
    }


def _space(space: Space, quantised: bool) -> dict[str, Any]:
    return {
        "space": space.space,
        "components": space.components,
        "members": [_vector(member, quantised) for member in space.members],
        "length": None if space.length is None else _vector(space.length, quantised),
        "nodes": space.strongest[0].tolist(),
        "values": [float(f"{value:.6g}") for value in space.strongest[1]],
    }


def _vector(values: np.ndarray, quantised: bool) -> dict[str, Any]:
    """An eigenvector as it is, or in 16 bits: steps of 1/32767 of its largest entry."""
    if not quantised:
        return packed(values)
    top = float(np.abs(values).max()) or 1.0
    return packed(np.rint(values / top * 32767), "i2") | {"scale": top / 32767}


def _strata(result: View) -> dict[str, Any]:
    columns = dict(zip(("n_edges", "n_parts", "n_singletons"), hop_sizes(result).tolist(), strict=True))
    return columns | {
        "hop": list(result.hops),
        "n_eigenspaces": (result.eigenspace.max(axis=1) + 1).tolist(),
        "ambiguous": (result.multiplicity > 1).sum(axis=1).tolist(),
        "gradient_norm": packed(result.gradient_norm),
    }


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
    loops = " with self-loops" if int(found.attrs["self_loops"]) else ""
    read_as = {  # a watched run shows its own off_zero_live, which is read in one way always
        "off_zero": f" ({found.attrs['metric']}, {found.attrs['laplacian']}{loops})",
        "off_zero_live": f" ({found.attrs['metric']}, {found.attrs['laplacian']}{loops})",
        "mean_share": f" ({found.attrs['metric']})",
    }
    return [
        {
            "name": name + read_as.get(name, ""),
            "text": LONG_NAMES[name],
            "per_hop": "hop" in found[name].dims,
            "values": _timed(found, name, ("hop",)),
        }
        for name in LONG_NAMES
        if name in found
    ]


def _comparison(found: "xr.Dataset | None", result: View) -> dict[str, Any] | None:
    if found is None:
        return None
    order = ("algorithm", "hop", "band")
    return {
        "names": [row_names(result)[0], row_names(result)[-1]],
        "algorithms": [str(name) for name in found["algorithm"].values],
        "hops": found["hop"].values.tolist(),
        "energy_shift": packed(found["energy_shift"].transpose(*order).values),
        "status": found["status"].transpose("algorithm", "hop").values.tolist(),
    } | {name: packed(found[name].transpose("algorithm", "hop").values) for name in COMPARED}
