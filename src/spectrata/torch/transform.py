"""Spectra of many recorded activations at once: copies in, one labelled Dataset out.

Rows of the ``snapshot`` dimension are (pass, layer) pairs; ``layer``, ``role``, ``step``, ``epoch`` and ``mode`` are
coordinates along it. That is the schema of every other result with snapshots, so the functions of
``spectrata.stats`` take it as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata.core.engine import collect, transform
from spectrata.core.hop import NOT_FINITE, OK
from spectrata.core.plan import Plan, make_plan
from spectrata.core.registry import EXACT, resolve_algorithms, row_of
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Potential, Signal, potential, resolve_metric
from spectrata.kernels import fast
from spectrata.kernels.backend import NUMPY, Backend
from spectrata.results.build import HopResult, Rows, build
from spectrata.results.schema import is_bands, view
from spectrata.stats.describe.levels import group_reduce, level_groups, merge_rules
from spectrata.stats.describe.smoothness import LONG_NAMES, measures
from spectrata.stats.describe.spectrum import FLOOR, off_zero
from spectrata.torch.buffer import Snapshot

if TYPE_CHECKING:
    import xarray as xr

DEFAULT = ("gft", "adj_diff")  # what is watched unasked, as far as the Laplacian allows
TOO_LARGE = "undefined: magnitudes leave the range of double precision"
NO_LABEL = -1  # epoch of a pass that was not labelled
CHUNK_BYTES = 2**28  # potentials of one batch of rows, and of all batches kept between hops
FEW = fast.MANY_SNAPSHOTS  # below, one fused pass per row beats matrix products over all
TEXT = {
    "layer": "<U96",
    "role": "<U6",
    "mode": "<U7",
    "status": "<U128",
    "snapshot": "<U160",
}  # widths stay equal, so that logs can grow
MEASURES = tuple(name for name in LONG_NAMES if name != "off_zero")
ROUNDINGS = 16  # units of rounding in an activation's own precision that a sum over neighbours may leave


@dataclass(frozen=True, eq=False)
class Row:
    """One activation: a layer at one pass. ``values`` is None where there is nothing, for ``reason``."""

    layer: str
    role: str
    step: int
    epoch: int
    mode: str
    values: np.ndarray | None  # (n, d)
    reason: str = OK


@dataclass(frozen=True)
class Settings:
    """What is computed of every activation.

    ``algorithms=None``: those of ``DEFAULT`` that the Laplacian among the options serves.
    """

    algorithms: tuple[str, ...] | None = None
    metric: str = "auto"
    bands: int = 4
    measures: bool = True
    dtype: str | None = None
    seed: int = 0
    zero_vectors: str = "zero"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = resolve_algorithms(DEFAULT if self.algorithms is None else self.algorithms)
        if self.algorithms is None:
            laplacian = self.options.get("laplacian", "combinatorial")
            names = tuple(name for name in names if laplacian in row_of(name).laplacians) or names
        object.__setattr__(self, "algorithms", names)
        one_of(self.zero_vectors, "zero_vectors", ("nan", "zero"))
        self.plan("float64")  # refuses options at once

    def plan(self, dtype: str) -> Plan:
        """What the engine computes; bases in single precision come from those in double."""
        return make_plan(
            self.algorithms,
            self.options,
            0,
            seed=self.seed,
            keep=(),
            dtype=dtype,
            solved_in_double=True,
            diagnose=False,
        )


def rows_of(snapshots: Sequence[Snapshot]) -> list[Row]:
    """The activations of passes, one after the other."""
    rows = []
    for snapshot in snapshots:
        when = snapshot.step, NO_LABEL if snapshot.epoch is None else snapshot.epoch, snapshot.mode
        for name, array in snapshot.layers.items():
            values, role = np.asarray(array), snapshot.roles.get(name, "layer")
            fine = bool(np.isfinite(values).all())
            rows.append(Row(name, role, *when, values) if fine else Row(name, role, *when, None, NOT_FINITE))
        for name, reason in snapshot.missing.items():
            rows.append(Row(name, snapshot.roles.get(name, "layer"), *when, None, f"missing: {reason}"))
    return rows


def spectra_of(strat: Stratification, rows: Sequence[Row], settings: Settings, device: torch.device) -> "xr.Dataset":
    """The spectra of all rows, without measures: what :func:`add_measures` starts from."""
    plan = settings.plan(precision(rows, settings.dtype, device))
    batches = Batches(rows, strat.graph.n_nodes, settings.metric, settings.zero_vectors)
    results = collect(transform(strat, batches, plan, backend_for(device)), plan)
    hops = _without_too_large([_placed(result, batches, plan) for result in results])
    widths = [row.values.shape[1] for row in rows if row.values is not None]
    facts = strat.facts(plan, common_metric(settings.metric, widths), settings.zero_vectors)
    labels = [row_label(row.layer, row.step, row.epoch, row.mode) for row in rows]
    labelled = Rows(labels, max(widths, default=1), "activations", coordinates=row_coordinates(rows))
    ds = build(strat.graph, labelled, hops, plan.algorithms, facts)
    return ds.assign(status=ds["status"].astype(TEXT["status"]))


def add_measures(stratum: Stratum | None, rows: Sequence[Row], ds: "xr.Dataset", settings: Settings) -> "xr.Dataset":
    """Add ``off_zero``, shares of energy per band, and the smoothness measures of a stratum, that of the first hop."""
    shares = band_shares(ds, settings.bands, floors(rows))
    # Of a large graph the components are bands themselves, of equal width, and have the name.
    dim, kind = ("share_band", "width") if is_bands(ds) else ("band", "counts of components")
    words = {"long_name": f"share of energy off zero in each band of equal {kind}"}
    ds = ds.assign(band_share=(("algorithm", "snapshot", "hop", dim), shares, words))
    if EXACT in ds["algorithm"].values:
        share = off_zero(ds)
        ds = ds.assign(off_zero=(share.dims, share.values, share.attrs))
    if not settings.measures or stratum is None:
        return ds
    return with_measures(ds, measured(stratum, rows), stratum.hop)


def measured(stratum: Stratum, rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """The smoothness measures of rows, each ``(T,)``, NaN for rows without values."""
    found = {name: np.full(len(rows), np.nan) for name in MEASURES}
    for index in by_width(rows):
        signal = np.stack([rows[i].values for i in index])  # type: ignore[misc]
        for name, column in measures(stratum, signal).items():
            if name in found:
                found[name][index] = column
    return found


def with_measures(ds: "xr.Dataset", found: dict[str, np.ndarray], hop: int) -> "xr.Dataset":
    """A result with measures beside it."""
    for name, column in found.items():
        long_name = f"{LONG_NAMES[name]}; K = {hop} where it has a hop"
        if name == "off_zero_live":
            what = "directions (values of a layer of one column)"
            long_name = f"{LONG_NAMES[name]}: {what}, combinatorial Laplacian, K = {hop}"
        ds[name] = (("snapshot",), column, {"long_name": long_name})
    return ds


def floors(rows: Sequence[Row]) -> np.ndarray:
    """Share of the norm ``(T,)`` that rounding can leave off zero of a constant activation, by its precision."""
    kinds = [np.dtype(float) if row.values is None else row.values.dtype for row in rows]
    return np.array([FLOOR if kind == np.float64 else ROUNDINGS * np.finfo(kind).eps for kind in kinds])


def band_shares(ds: "xr.Dataset", bands: int, floor: np.ndarray | float = FLOOR) -> np.ndarray:
    """Share of energy off zero per band: ``(algorithm, T, hop, band)``; NaN where there is none."""
    known = view(ds)
    groups, count = level_groups(known, "band", bands)
    exact = known.algorithms.index(EXACT) if EXACT in known.algorithms else None
    return shares_of(known.balanced, groups, count, merge_rules(known), floor, exact)


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


# ---- in


class Batches:
    """The rows that have values as potentials, a batch of rows of one width at a time.

    It may be iterated again and again; the potentials are kept in between while all are small.

    Attributes
    ----------
    groups : list of list of int
        The rows of each batch.
    scale : ndarray
        Power of two taken out of each row when its potential was made.
    """

    def __init__(self, rows: Sequence[Row], n: int, metric: str, zero_vectors: str = "zero") -> None:
        self.rows, self.n, self.metric, self.zero_vectors = rows, n, metric, zero_vectors
        self.groups: list[list[int]] = []
        for group in by_width(rows):
            step = max(1, CHUNK_BYTES // (8 * n * rows[group[0]].values.shape[1]))  # type: ignore[union-attr]
            self.groups += [group[start : start + step] for start in range(0, len(group), step)]
        size = sum(8 * row.values.size for row in rows if row.values is not None)
        self.scale = np.ones(len(rows))
        self._keeps = size <= CHUNK_BYTES
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
        values = np.stack([self.rows[i].values for i in group]).astype(np.float64)  # type: ignore[misc]
        found = potential(Signal(values, None), self.metric, self.zero_vectors)
        self.scale[group] = found.scale
        return replace(found, scale=np.ones(len(group)))


def by_width(rows: Sequence[Row]) -> list[list[int]]:
    """Positions of the rows that have values, by number of columns."""
    groups: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        if row.values is not None:
            groups.setdefault(row.values.shape[1], []).append(index)
    return list(groups.values())


def precision(rows: Sequence[Row], given: str | None, device: torch.device) -> str:
    """Double where asked for, where activations are double or where few make products pointless; else single.

    Centred signals in single precision lose nothing that single-precision activations hold.
    """
    if given is not None:
        return given
    arrays = [row.values for row in rows if row.values is not None]
    double = any(array.dtype == np.float64 for array in arrays)
    coarse = device.type == "cuda" and torch.get_float32_matmul_precision() != "highest"
    return "float64" if double or coarse or len(arrays) < FEW else "float32"


def backend_for(device: torch.device) -> Backend:
    """Where the engine works for activations of a device."""
    return Backend("torch", str(device)) if device.type == "cuda" else NUMPY


# ---- out


def _placed(result: HopResult, batches: Batches, plan: Plan) -> HopResult:
    """A hop with a place for every row, in the rows' units; those without values are NaN, with their reason."""
    order = [row for group in batches.groups for row in group]
    count, scale = len(batches.rows), batches.scale[order]
    magnitude, error = (np.full((len(plan.rows), count, result.magnitude.shape[2]), np.nan) for _ in range(2))
    norms, status = np.full(count, np.nan), np.empty(magnitude.shape[:2], dtype=object)
    status[:] = [row.reason for row in batches.rows]
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


def row_label(layer: str, step: int, epoch: int, mode: str) -> str:
    """A row in words: which layer, when, and in which mode where that is not training.

    Examples
    --------
    >>> row_label("conv1", 7, 3, "train"), row_label("conv1", 8, NO_LABEL, "eval")
    ('conv1, epoch 3', 'conv1, step 8, eval')
    """
    when = f"step {step}" if epoch == NO_LABEL else f"epoch {epoch}"
    return f"{layer}, {when}" + ("" if mode == "train" else f", {mode}")


def row_coordinates(rows: Sequence[Row]) -> dict[str, Any]:
    """What each row is, along ``snapshot``."""
    widths = [0 if row.values is None else row.values.shape[1] for row in rows]
    return {
        "snapshot": np.array([row_label(r.layer, r.step, r.epoch, r.mode) for r in rows], dtype=TEXT["snapshot"]),
        "layer": ("snapshot", np.array([row.layer for row in rows], dtype=TEXT["layer"])),
        "role": ("snapshot", np.array([row.role for row in rows], dtype=TEXT["role"])),
        "step": ("snapshot", np.array([row.step for row in rows], dtype=np.int64)),
        "epoch": ("snapshot", np.array([row.epoch for row in rows], dtype=np.int64)),
        "mode": ("snapshot", np.array([row.mode for row in rows], dtype=TEXT["mode"])),
        "width": ("snapshot", np.array(widths, dtype=np.int64)),
    }
