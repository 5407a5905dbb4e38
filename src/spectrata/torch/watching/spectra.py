"""Spectra of many recorded activations at once: rows in, one labelled Dataset out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata.bands.spectra import band_spectra
from spectrata.core.engine import collect, transform
from spectrata.core.plan import Plan
from spectrata.core.registry import EXACT, row_of
from spectrata.core.strata import asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, warn
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Potential, Signal, potential, resolve_metric
from spectrata.kernels.backend import NUMPY, Backend
from spectrata.results.build import HopResult, Rows, build
from spectrata.results.schema import is_bands, view
from spectrata.stats.describe.levels import group_reduce, level_groups, merge_rules
from spectrata.stats.describe.spectrum import off_zero
from spectrata.torch.watching.rows import TEXT, Row, row_coordinates

if TYPE_CHECKING:
    import xarray as xr

BANDS = 4  # of energy off zero, in tables and logs
TOO_LARGE = "undefined: magnitudes leave the range of double precision"
CHUNK_BYTES = 2**28  # potentials of one batch of rows, and of all batches kept between hops
FLOOR = 1e-13  # share of a signal's norm below which a magnitude in double precision is rounding
ROUNDINGS = 16  # units of rounding in an activation's own precision that a sum over neighbours may leave
COMPONENTS = 32  # bands that take the place of components of a large graph
TOLERANCE = 0.02  # of cumulative shares: some 40 Lanczos steps for bands of equal width, whatever the graph


@dataclass(frozen=True, eq=False)
class Settings:
    """What is computed of every activation beside its measures; no algorithms: nothing."""

    algorithms: tuple[str, ...]
    plan: Plan
    metric: str
    zero_vectors: str
    device: Any = None

    @property
    def backend(self) -> Backend:
        """Where spectra are computed."""
        device = torch.device(self.device or "cpu") if not isinstance(self.device, Backend) else None
        if device is None:
            return self.device
        return Backend("torch", str(device)) if device.type == "cuda" else NUMPY

    def to_json(self) -> dict[str, Any]:
        """What decides whether rows of two runs compare."""
        if not self.algorithms:
            return {"algorithms": []}
        plan = {"seed": self.plan.seed, "options": self.plan.to_json((), self.zero_vectors)}
        return {"algorithms": list(self.algorithms), "metric": self.metric} | plan


def spectra_of(strat: Stratification, rows: Sequence[Row], settings: Settings) -> "xr.Dataset":
    """The spectra of all rows, with shares of energy per band and off zero."""
    plan = settings.plan
    batches = Batches([row.array for row in rows], strat.graph.n_nodes, settings.metric, settings.zero_vectors)
    results = collect(transform(strat, batches, plan, settings.backend), plan)
    reasons = [row.reason for row in rows]
    hops = _without_too_large([_placed(result, batches, plan, reasons) for result in results])
    widths = [row.width for row in rows if row.array is not None]
    facts = strat.facts(plan, common_metric(settings.metric, widths), settings.zero_vectors)
    labels = [str(number) for number in range(len(rows))]  # until they are labelled
    along = row_coordinates(rows)
    ds = build(strat.graph, Rows(labels, max(widths, default=1), "activations", coordinates=along), hops,
               plan.algorithms, facts)  # fmt: skip
    return _with_shares(ds.assign(status=ds["status"].astype(TEXT["status"])), rows)


def _with_shares(ds: "xr.Dataset", rows: Sequence[Row]) -> "xr.Dataset":
    """Add ``off_zero`` and the shares of energy per band."""
    known = view(ds)
    groups, count = level_groups(known, "band", BANDS)
    exact = known.algorithms.index(EXACT) if EXACT in known.algorithms else None
    shares = shares_of(known.balanced, groups, count, merge_rules(known), floors(rows), exact)
    # Of a large graph the components are bands themselves, of equal width, and have the name.
    dim, kind = ("share_band", "width") if is_bands(ds) else ("band", "counts of components")
    words = {"long_name": f"share of energy off zero in each band of equal {kind}"}
    ds = ds.assign(band_share=(("algorithm", "snapshot", "hop", dim), shares, words))
    if exact is None:
        return ds
    share = off_zero(ds)
    return ds.assign(off_zero=(share.dims, share.values, share.attrs))


def floors(rows: Sequence[Row]) -> np.ndarray:
    """Share of the norm ``(T,)`` that rounding can leave off zero of a constant activation, by its precision."""
    kinds = [np.dtype(float) if row.array is None else row.array.dtype for row in rows]
    return np.array([FLOOR if kind == np.float64 else ROUNDINGS * np.finfo(kind).eps for kind in kinds])


def shares_of(
    values: np.ndarray,
    groups: np.ndarray,
    count: int,
    rules: Sequence[str],
    floor: np.ndarray | float = FLOOR,
    exact: int | None = None,
) -> np.ndarray:
    """Share of energy in each group: ``(A, T, H, N), (H, N) -> (A, T, H, count)``; NaN where there is none.

    A norm off zero up to ``floor (T,)`` of the whole is rounding error and has no shares; the exact algorithm, where
    its index is given, decides for all.
    """
    pieces = zip(values, rules, strict=True)
    energy = np.stack([group_reduce(piece, groups, count, rule) for piece, rule in pieces]) ** 2
    total = np.nansum(energy, axis=-1, keepdims=True)
    off, whole = (np.nansum(np.where(some, values, 0.0) ** 2, axis=-1) for some in (groups >= 0, True))
    above = off > np.reshape(floor, (-1, 1)) ** 2 * whole
    some = (total > 0) & (above if exact is None else above & above[exact])[..., None]
    return np.divide(energy, total, out=np.full(energy.shape, np.nan), where=some)


class Batches:
    """The activations as potentials, a batch of one width at a time; None where a row has no activation.

    It may be iterated again and again; the potentials are kept in between while all are small.

    Attributes
    ----------
    groups : list of list of int
        The rows of each batch.
    scale : ndarray
        Power of two taken out of each row when its potential was made.
    """

    def __init__(self, arrays: Sequence[np.ndarray | None], n: int, metric: str, zero_vectors: str = "zero") -> None:
        self.arrays, self.n, self.metric, self.zero_vectors = arrays, n, metric, zero_vectors
        self.groups: list[list[int]] = []
        for width, group in by_width(arrays).items():
            step = max(1, CHUNK_BYTES // (8 * n * width))
            self.groups += [group[start : start + step] for start in range(0, len(group), step)]
        self.scale = np.ones(len(arrays))
        self._keeps = sum(8 * array.size for array in arrays if array is not None) <= CHUNK_BYTES
        self._kept: dict[int, Potential] = {}

    def __iter__(self) -> Iterator[Potential]:
        if not self.groups:  # the engine wants something to decompose the hops for
            yield Potential(np.zeros((1, self.n, 1)), "euclidean", np.ones(1), np.ones(1, dtype=bool))
        for number, group in enumerate(self.groups):
            made = self._kept.get(number) or self._potential(group)
            if self._keeps:
                self._kept[number] = made
            yield made

    def _potential(self, group: list[int]) -> Potential:
        values = np.stack([self.arrays[i] for i in group]).astype(np.float64)  # type: ignore[misc]
        found = potential(Signal(values, None), self.metric, self.zero_vectors)
        self.scale[group] = found.scale
        return replace(found, scale=np.ones(len(group)))


def by_width(arrays: Sequence[np.ndarray | None]) -> dict[int, list[int]]:
    """Positions of the activations by their number of columns."""
    groups: dict[int, list[int]] = {}
    for index, array in enumerate(arrays):
        if array is not None:
            groups.setdefault(array.shape[1], []).append(index)
    return groups


def _placed(result: HopResult, batches: Batches, plan: Plan, reasons: list[str]) -> HopResult:
    """A hop with a place for every row, in the rows' units; those without values are NaN, with their reason."""
    order = [row for group in batches.groups for row in group]
    count, scale = len(reasons), batches.scale[order]
    magnitude, error = (np.full((len(plan.rows), count, result.magnitude.shape[2]), np.nan) for _ in range(2))
    norms, status = np.full(count, np.nan), np.empty(magnitude.shape[:2], dtype=object)
    status[:] = reasons
    status[:, order] = result.status[:, : len(order)]
    with np.errstate(over="ignore"):
        norms[order] = result.gradient_norm[: len(order)] * scale
        for index, algorithm in enumerate(plan.rows):
            factor = scale[:, None] ** algorithm.grows
            magnitude[index, order] = result.magnitude[index, : len(order)] * factor
            error[index, order] = result.magnitude_error[index, : len(order)] * factor
    return replace(result, magnitude=magnitude, magnitude_error=error, status=status, gradient_norm=norms, extras={})


def _without_too_large(hops: list[HopResult]) -> list[HopResult]:
    """The hops with NaN for rows whose magnitudes leave double precision at any of them."""
    beyond = np.any([np.isinf(hop.magnitude).any(axis=(0, 2)) for hop in hops], axis=0)
    for hop in hops if beyond.any() else ():
        hop.magnitude[:, beyond], hop.magnitude_error[:, beyond] = np.nan, np.nan
        hop.gradient_norm[beyond], hop.status[:, beyond] = np.nan, TOO_LARGE
    return hops


def common_metric(asked: str, widths: Sequence[int]) -> str:
    """The metric of rows of these widths; ``"auto"`` where some are compared by angle and some by length."""
    found = {resolve_metric(asked, width) for width in widths}
    return found.pop() if len(found) == 1 else asked


# ---- graphs too large to decompose


def large_hops(hops: Any, settings: Settings) -> tuple[int, ...]:
    """The hops of a large graph, the first where nobody asked for others; a warning that spectra are in bands."""
    for name in settings.algorithms:
        if not row_of(name).in_bands:
            raise OptionError(
                f"{name} needs a decomposition, and larger graphs are read in bands; use algorithms='gft', or give a "
                "Stratification."
            )
    wanted = asked_hops(1 if isinstance(hops, str) and hops == "auto" else hops)
    if wanted is None:
        raise OptionError("hops=None needs all hop distances of a large graph; name the hops, such as hops=[1].")
    warn(f"The graph is large: spectra are computed in {COMPONENTS} bands of eigenvalues; a Stratification has all.")
    return tuple(range(1, wanted + 1)) if isinstance(wanted, int) else tuple(wanted)


def band_rows(graph: Graph, rows: Sequence[Row], hops: Sequence[int], settings: Settings) -> "xr.Dataset":
    """What :func:`spectra_of` gives of a graph that is decomposed: one result whose components are bands."""
    import xarray as xr

    pieces, order, arrays = [], [], [row.array for row in rows]
    for group in by_width(arrays).values():
        values = np.stack([arrays[i] for i in group]).astype(np.float64)  # type: ignore[misc]
        pieces.append(_bands(graph, values, hops, settings))
        order += group
    absent = [index for index, array in enumerate(arrays) if array is None]
    if absent:
        like = pieces[0] if pieces else _bands(graph, np.ones((1, graph.n_nodes, 1)), hops, settings)
        pieces.append(_nothing(like, [rows[index].reason for index in absent]))
        order += absent
    moving = [name for name in pieces[0].data_vars if "snapshot" in pieces[0][name].dims]
    joined = xr.concat([piece[moving] for piece in pieces], dim="snapshot", data_vars="all", coords="minimal",
                       compat="override", join="override", combine_attrs="override")  # fmt: skip
    joined = joined.isel(snapshot=np.argsort(order)).drop_vars("snapshot", errors="ignore")
    fixed = {name: pieces[0][name] for name in pieces[0].data_vars if name not in moving}
    ds = joined.assign(fixed).assign_coords(row_coordinates(rows))
    widths = [row.width for row in rows if row.array is not None]
    facts = {"metric": common_metric(settings.metric, widths), "n_dimensions": max(widths, default=1)}
    return _with_shares(ds.assign(status=ds["status"].astype(TEXT["status"])).assign_attrs(facts), rows)


def _bands(graph: Graph, values: np.ndarray, hops: Sequence[int], settings: Settings) -> "xr.Dataset":
    return band_spectra(
        graph, values, COMPONENTS, list(hops), settings.algorithms, settings.metric, tol=TOLERANCE,
        seed=settings.plan.seed, zero_vectors=settings.zero_vectors,
        device=None if settings.backend == NUMPY else settings.backend,
    )  # fmt: skip


def _nothing(like: "xr.Dataset", reasons: Sequence[str]) -> "xr.Dataset":
    """Rows without values, each with its reason."""
    rows = like.isel(snapshot=[0] * len(reasons)).copy(deep=True)
    for name in rows.data_vars:
        if "snapshot" in rows[name].dims and rows[name].dtype.kind == "f":
            rows[name] = rows[name] * np.nan
    rows["status"] = rows["status"].astype(object)
    rows["status"][:] = np.array(reasons, dtype=object)[None, :, None]
    return rows
