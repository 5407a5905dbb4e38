"""How magnitudes lie along the eigenvalue axis: eigenspaces, bands, zeros; and a graph back from a result.

Groups are whole numbers per ``(hop, component)``, ascending along the components, with
``-1`` for "in no group". Bands never cut an eigenspace: inside one the split is arbitrary.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands.settings import whole
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError
from spectrata.kernels.scaling import squarable
from spectrata.results.files import check, graph_of

if TYPE_CHECKING:
    import xarray as xr

LEVELS = ("component", "eigenspace", "band")
MERGED = "merged"  # attribute of a Dataset whose components are whole eigenspaces
MOST_BANDS = 2**16


def parameters(ds: "xr.Dataset") -> dict[str, Any]:
    """The resolved parameters a result was made with."""
    return json.loads(ds.attrs.get("parameters", "{}"))


def merge_rule(algorithm: str, options: dict[str, Any]) -> str:
    """How components of one eigenspace add up: ``"l2"``, or ``"sum"`` for LN-VX by incidence."""
    return "sum" if algorithm == "ln_vx" and options.get("transform") == "incidence" else "l2"


def is_invariant(algorithm: str, options: dict[str, Any]) -> bool:
    """Whether the merged value is the same in every basis of the eigenspace."""
    return algorithm in ("gft", "apprx_ls", "in_agg") or merge_rule(algorithm, options) == "sum"


def require_algorithms(ds: "xr.Dataset", algorithms: Sequence[str]) -> None:
    """Refuse a result that lacks an algorithm."""
    check(ds)
    have = [str(name) for name in ds["algorithm"].values]
    missing = [name for name in algorithms if name not in have]
    if missing:
        raise ResultError(
            f"The result holds {', '.join(have)} but not {', '.join(missing)}; "
            f"compute it with algorithms={[*have, *missing]}."
        )


def group_reduce(values: np.ndarray, groups: np.ndarray, count: int, rule: str = "l2") -> np.ndarray:
    """Add up magnitudes by group: ``(..., H, N), (H, N) -> (..., H, count)``.

    NaN drop out; a group without a number is NaN.

    Examples
    --------
    >>> group_reduce(np.array([[3.0, 4.0, 1.0, 7.0]]), np.array([[0, 0, 1, -1]]), 3).tolist()
    [[5.0, 1.0, nan]]
    """
    out = np.full((*values.shape[:-1], count), np.nan)
    for row, group in enumerate(groups):
        inside = np.flatnonzero(group >= 0)
        if not len(inside):
            continue
        starts = np.flatnonzero(np.diff(group[inside], prepend=-1))
        piece = values[..., row, inside]
        present = ~np.isnan(piece)
        filled = np.where(present, piece, 0.0)
        if rule == "l2":
            filled, scale = squarable(filled)
            total = np.sqrt(np.add.reduceat(filled**2, starts, axis=-1)) * scale
        else:
            total = np.add.reduceat(filled, starts, axis=-1)
        total[~np.logical_or.reduceat(present, starts, axis=-1)] = np.nan
        out[..., row, group[inside[starts]]] = total
    return out


def band_groups(eigenspace: np.ndarray, multiplicity: np.ndarray, bands: int) -> np.ndarray:
    """Band of each component, ``(H, N)``: components off zero cut into ``bands`` equal counts, eigenspaces
    whole.

    An eigenspace belongs to the band its middle component falls in; zero components have none.

    Examples
    --------
    >>> band_groups(np.array([[0, 1, 2, 2, 3]]), np.array([[1, 1, 2, 2, 1]]), 2).tolist()
    [[-1, 0, 1, 1, 1]]
    """
    groups = np.full(eigenspace.shape, -1)
    for row, (spaces, sizes) in enumerate(zip(eigenspace, multiplicity, strict=True)):
        off = np.flatnonzero(spaces > 0)
        if not len(off):
            continue
        first = off[np.flatnonzero(np.diff(spaces[off], prepend=-1))]
        size = sizes[first]
        middle = (np.cumsum(size) - size / 2) / size.sum()
        band = np.minimum((middle * bands).astype(int), bands - 1)
        groups[row, off] = np.repeat(band, np.diff(np.append(np.searchsorted(off, first), len(off))))
    return groups


def whole_bands(bands: int) -> int:
    """Check a number of bands."""
    if whole(bands, "bands") > MOST_BANDS:
        raise OptionError(f"bands={bands} is more than {MOST_BANDS}, of which most are empty; give fewer.")
    return int(bands)


def level_groups(
    eigenspace: np.ndarray, multiplicity: np.ndarray, level: str, bands: int
) -> tuple[np.ndarray, int]:
    """Groups ``(H, N)`` of a level of reading, and how many there are."""
    if level == "component":
        return np.where(eigenspace >= 0, np.arange(eigenspace.shape[1]), -1), eigenspace.shape[1]
    if level == "eigenspace":
        return eigenspace, int(eigenspace.max()) + 1
    if level == "band":
        return band_groups(eigenspace, multiplicity, whole_bands(bands)), bands
    raise OptionError(f"level={level!r} is not known; the levels are {', '.join(LEVELS)}.")


def level_coordinates(
    eigenvalue: np.ndarray,
    eigenspace: np.ndarray,
    multiplicity: np.ndarray,
    groups: np.ndarray,
    count: int,
    level: str,
) -> dict[str, tuple[tuple[str, str], np.ndarray]]:
    """Coordinates of the groups: eigenvalues and sizes, with NaN and 0 where a hop has no such group."""
    shape = (len(groups), count)
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    size, space = np.zeros(shape, dtype=np.int64), np.full(shape, -1)
    for row, group in enumerate(groups):
        inside = np.flatnonzero(group >= 0)
        starts = inside[np.flatnonzero(np.diff(group[inside], prepend=-1))]
        ends = inside[np.flatnonzero(np.diff(group[inside], append=-1))]
        index = group[starts]
        low[row, index], high[row, index] = eigenvalue[row, starts], eigenvalue[row, ends]
        space[row, index] = eigenspace[row, starts]
        first = inside[np.diff(eigenspace[row, inside], prepend=-2) != 0]
        size[row] = np.bincount(group[first], multiplicity[row, first], count)
    if level == "band":
        dims = ("hop", "band")
        return {"band_lower": (dims, low), "band_upper": (dims, high), "band_size": (dims, size)}
    dims = ("hop", "component")
    if level == "component":
        size = np.where(groups >= 0, multiplicity, 0)
    return {"eigenvalue": (dims, low), "eigenspace": (dims, space), "multiplicity": (dims, size)}


def coordinates(ds: "xr.Dataset") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``eigenvalue``, ``eigenspace`` and ``multiplicity`` of a result as ``(hop, component)`` arrays."""
    missing = [d for d in ("algorithm", "hop", "component") if d not in ds["magnitude"].dims]
    if missing:
        raise ResultError(
            f"The result has no dimension {', '.join(missing)}; select with a list, such as ds.sel(hop=[1])."
        )
    names = ("eigenvalue", "eigenspace", "multiplicity")
    value, space, size = (ds[name].transpose("hop", "component").values for name in names)
    return value, space, size


def magnitudes(ds: "xr.Dataset") -> np.ndarray:
    """Magnitudes as ``(algorithm, snapshot, hop, component)``, one snapshot where the result has none."""
    array = ds["magnitude"]
    if "snapshot" in array.dims:
        return array.transpose("algorithm", "snapshot", "hop", "component").values
    return array.transpose("algorithm", "hop", "component").values[:, None]


def rebuild(ds: "xr.Dataset", max_basis_bytes: int = 2**31) -> Stratification:
    """The stratification of a result's own graph and hops, decomposed anew when asked."""
    check(ds)
    hops = [int(hop) for hop in ds["hop"].values]
    return Stratification(graph_of(ds), hops, max_basis_bytes=max_basis_bytes)


def kept_signal(ds: "xr.Dataset") -> np.ndarray | None:
    """The signal kept in a result as ``(T, n, d)``, or None where it was not kept."""
    if "signal" not in ds:
        return None
    array = ds["signal"]
    if "snapshot" in array.dims:
        return array.transpose("snapshot", "node", "dimension").values
    return array.transpose("node", "dimension").values[None]


def snapshot_names(ds: "xr.Dataset") -> list[Any] | None:
    """Labels of the snapshots, or None where the result has none."""
    return list(ds["snapshot"].values) if "snapshot" in ds["magnitude"].dims else None
