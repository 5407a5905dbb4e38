"""Spectra of many recorded activations at once, as matrix products: copies in, one labelled Dataset out.

Rows of the ``snapshot`` dimension are (pass, layer) pairs; ``layer``, ``step``, ``epoch`` and
``training`` are coordinates along it. That is the schema of every other result with snapshots, so the
functions of ``spectrata.analysis`` take it as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from spectrata.analysis.compare import length
from spectrata.analysis.layout import coordinates, group_reduce, level_groups, magnitudes, merge_rule
from spectrata.analysis.normalize import off_zero
from spectrata.analysis.smoothness import smoothness
from spectrata.analysis.tally import FLOOR
from spectrata.core.algorithms.base import OK, ZERO_VECTOR, Output
from spectrata.core.plan import make_plan
from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Signal, resolve_metric
from spectrata.kernels import fast
from spectrata.kernels.scaling import squarable
from spectrata.results.files import HopResult, build
from spectrata.torch import formulas
from spectrata.torch.bases import TensorBasis, backend_for, tensor_basis
from spectrata.torch.buffer import Snapshot

if TYPE_CHECKING:
    import xarray as xr

NOT_FINITE = "undefined: NaN or infinite values"
TOO_LARGE = "undefined: magnitudes leave the range of double precision"
NO_LABEL = -1  # epoch of a pass that was not labelled
CHUNK_BYTES = 2**28  # potentials, or gradients, of one chunk of rows
FEW = fast.MANY_SNAPSHOTS  # below, one fused pass per row beats matrix products over all
TEXT = {"layer": "<U96", "status": "<U64", "snapshot": "<U160"}  # widths stay equal, so that logs can grow


@dataclass(frozen=True, eq=False)
class Row:
    """One activation: a layer at one pass. ``values`` is None where there is nothing, for ``reason``."""

    layer: str
    step: int
    epoch: int
    training: bool
    values: np.ndarray | None  # (n, d)
    reason: str = OK


@dataclass(frozen=True)
class Settings:
    """What is computed of every activation."""

    algorithms: tuple[str, ...] = ("gft", "adj_diff")
    metric: str = "auto"
    bands: int = 4
    measures: bool = True
    dtype: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


def rows_of(snapshots: Sequence[Snapshot]) -> list[Row]:
    """The activations of passes, one after the other."""
    rows = []
    for snapshot in snapshots:
        epoch = NO_LABEL if snapshot.epoch is None else snapshot.epoch
        for name, array in snapshot.layers.items():
            values = np.asarray(array)
            fine = bool(np.isfinite(values).all())
            rows.append(
                Row(
                    name,
                    snapshot.step,
                    epoch,
                    snapshot.training,
                    values if fine else None,
                    OK if fine else NOT_FINITE,
                )
            )
        for name, reason in snapshot.missing.items():
            rows.append(Row(name, snapshot.step, epoch, snapshot.training, None, f"missing: {reason}"))
    return rows


def spectra_of(
    strat: Stratification, rows: Sequence[Row], settings: Settings, device: torch.device
) -> "xr.Dataset":
    """The spectra of all rows, without measures: what :func:`add_measures` starts from."""
    n = strat.graph.n_nodes
    arrays = [
        np.full((len(strat.hops), len(settings.algorithms), len(rows), n), np.nan),
        np.full((len(strat.hops), len(rows)), np.nan),
    ]
    status = np.array([row.reason for row in rows], dtype=object)
    with torch.no_grad():
        for index in _chunks(strat, rows):
            _fill(strat, rows, index, settings, device, arrays, status)
    return _labelled(strat, rows, settings, device, arrays, status)


def add_measures(
    strat: Stratification, rows: Sequence[Row], ds: "xr.Dataset", settings: Settings
) -> "xr.Dataset":
    """Add ``off_zero``, shares of energy per band, and the usual smoothness measures at the first hop."""
    ds = ds.assign(band_share=(("algorithm", "snapshot", "hop", "band"), band_shares(ds, settings)))
    ds["band_share"].attrs["long_name"] = (
        "share of energy off zero in each band of equal counts of components"
    )
    if "gft" in settings.algorithms:
        share = off_zero(ds)
        ds = ds.assign(off_zero=(("snapshot", "hop"), share.values, share.attrs))
    if not settings.measures:
        return ds
    hop = strat.hops[0]
    first = SimpleNamespace(graph=strat.graph, hops=(hop,), strata=strat.strata)
    found: dict[str, np.ndarray] = {}
    names: dict[str, str] = {}
    for index in _by_width(rows):
        signal = np.stack([rows[i].values for i in index]).astype(np.float64)  # type: ignore[misc]
        metric = resolve_metric(settings.metric, signal.shape[2])
        table = smoothness(first, signal, metric=metric)  # type: ignore[arg-type]
        for name in table.data_vars:
            if name != "off_zero":
                column = found.setdefault(str(name), np.full(len(rows), np.nan))
                column[index] = table[name].values.reshape(len(index))
                names[str(name)] = str(table[name].attrs["long_name"])
    for name, column in found.items():
        ds[name] = (("snapshot",), column, {"long_name": f"{names[name]}; K = {hop} where it has a hop"})
    return ds


def band_shares(ds: "xr.Dataset", settings: Settings) -> np.ndarray:
    """Share of energy off zero per band: ``(algorithm, T, hop, band)``; NaN where there is none."""
    _, eigenspace, multiplicity = coordinates(ds)
    groups, count = level_groups(eigenspace, multiplicity, "band", settings.bands)
    values = magnitudes(ds)  # (algorithm, T, hop, n)
    shares = []
    for index, name in enumerate(settings.algorithms):
        rule = merge_rule(name, settings.options)
        shares.append(squarable(group_reduce(values[index], groups, count, rule))[0] ** 2)
    energy = np.stack(shares)
    total = np.nansum(energy, axis=-1, keepdims=True)
    # What rounding leaves of a constant activation off zero has no shares.
    off, whole = (length(np.where(eigenspace >= least, values, 0.0)) for least in (1, 0))
    some = (total > 0) & (off > FLOOR * whole)[..., None]
    return np.divide(energy, total, out=np.full(energy.shape, np.nan), where=some)


# ---- chunks


def _by_width(rows: Sequence[Row], within: Sequence[int] | None = None) -> list[list[int]]:
    """Positions of the rows that have values, by number of columns."""
    groups: dict[int, list[int]] = {}
    for index in range(len(rows)) if within is None else within:
        values = rows[index].values
        if values is not None:
            groups.setdefault(values.shape[1], []).append(index)
    return list(groups.values())


def _chunks(strat: Stratification, rows: Sequence[Row]) -> Iterator[list[int]]:
    """Rows of at most ``CHUNK_BYTES`` of potentials and of gradients."""
    n, m = strat.graph.n_nodes, max(strat.strata.sizes.values())
    chunk: list[int] = []
    potentials = 0
    for index, row in enumerate(rows):
        if row.values is None:
            continue
        size = 8 * n * row.values.shape[1]
        if chunk and (potentials + size > CHUNK_BYTES or 8 * m * (len(chunk) + 1) > CHUNK_BYTES):
            yield chunk
            chunk, potentials = [], 0
        chunk.append(index)
        potentials += size
    if chunk:
        yield chunk


def precision(
    rows: Sequence[Row], index: Sequence[int], given: str | None, device: torch.device
) -> torch.dtype:
    """Double where asked for, where activations are double or where few make products pointless; else single.

    Centred signals in single precision lose nothing that single-precision activations hold.
    """
    if given is not None:
        return torch.float64 if given == "float64" else torch.float32
    double = any(rows[i].values.dtype == np.float64 for i in index)  # type: ignore[union-attr]
    coarse = device.type == "cuda" and torch.get_float32_matmul_precision() != "highest"
    return torch.float64 if double or coarse or len(index) < FEW else torch.float32


def _fill(
    strat: Stratification,
    rows: Sequence[Row],
    index: list[int],
    settings: Settings,
    device: torch.device,
    arrays: list[np.ndarray],
    status: np.ndarray,
) -> None:
    if any(name not in formulas.FORMULAS for name in settings.algorithms) or settings.options:
        return _fill_by_core(strat, rows, index, settings, device, arrays, status)
    dtype = precision(rows, index, settings.dtype, device)
    groups, scales = [], []
    for group in _by_width(rows, index):
        values = torch.as_tensor(np.stack([rows[i].values for i in group]), device=device).double()  # type: ignore[misc]
        metric = resolve_metric(settings.metric, values.shape[2])
        t, scale = formulas.scaled(formulas.potential(values, metric))
        dead = (values.abs().amax(dim=2) == 0).any(dim=1).cpu().numpy() & (metric == "angular")
        members = np.array(group)
        status[members[dead]] = ZERO_VECTOR
        groups.append((members, t, dead))
        scales.append(scale[:, 0].cpu().numpy())
    everyone, factor = np.concatenate([members for members, _, _ in groups]), np.concatenate(scales)
    partition: torch.Tensor | None = None
    centred: list[tuple[torch.Tensor, torch.Tensor]] = []
    for row, hop in enumerate(strat.hops):
        basis = tensor_basis(strat, hop, device, dtype)
        if partition is None or not torch.equal(partition, basis.part_of):  # most hops are one part
            partition = basis.part_of
            centred = [_centred(t, basis) for _, t, _ in groups]
        if "gft" in settings.algorithms:
            algorithm = settings.algorithms.index("gft")
            for (members, _, _), pair in zip(groups, centred, strict=True):
                arrays[0][row, algorithm, members] = formulas.gft_centred(*pair, basis).cpu().numpy()
        gradients = torch.cat([_edge_lengths(values, basis) for values, _ in centred])  # (T, m)
        arrays[1][row, everyone] = torch.linalg.vector_norm(gradients.double(), dim=1).cpu().numpy()
        for algorithm, name in enumerate(settings.algorithms):
            if name != "gft":
                arrays[0][row, algorithm, everyone] = (
                    _of_gradients(name, gradients, basis).double().cpu().numpy()
                )
    with np.errstate(over="ignore"):
        arrays[0][:, :, everyone] *= factor[:, None]
        arrays[1][:, everyone] *= factor
    beyond = everyone[np.isinf(arrays[0][:, :, everyone]).any(axis=(0, 1, 3))]
    arrays[0][:, :, beyond], arrays[1][:, beyond], status[beyond] = np.nan, np.nan, TOO_LARGE
    for members, _, dead in groups:
        arrays[0][:, :, members[dead]] = np.nan
        arrays[1][:, members[dead]] = np.nan


def _centred(t: torch.Tensor, basis: TensorBasis) -> tuple[torch.Tensor, torch.Tensor]:
    """The signal less its means over parts, taken in double and kept in the basis's precision, and the means."""
    centred, means = formulas.centre(t, basis.part_of, basis.part_sizes)
    return centred.to(basis.values.dtype), means


def _edge_lengths(centred: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    """Gradients ``(T, m)``; compiled loops where the signal is in main memory."""
    if centred.device.type == "cpu":
        return torch.from_numpy(fast.edge_lengths(centred.numpy(), basis.edges.numpy()))
    return fast.edge_lengths(centred, basis.edges)  # type: ignore[arg-type, return-value]


def _of_gradients(name: str, gradients: torch.Tensor, basis: TensorBasis) -> torch.Tensor:
    if name == "in_agg" or len(gradients) >= FEW or gradients.device.type != "cpu":
        return formulas.OF_GRADIENTS[name](gradients, basis)
    # Few rows: the compiled pass over edges, which makes no blocks.
    sums = torch.zeros(len(gradients), len(basis.values), dtype=gradients.dtype)
    for part in basis.parts:
        weights = gradients[:, part.edge_rows].contiguous().numpy()
        found = fast.difference_sums(part.edges.numpy(), weights, part.vectors[:, 1:].numpy())
        sums[:, part.columns[1:]] = torch.from_numpy(found[0 if name == "adj_diff" else 1])
    safe = torch.where(basis.is_zero, 1.0, basis.values)
    if name == "adj_diff":
        flat = gradients.sum(dim=1, keepdim=True) / max(1, gradients.shape[1]) ** 0.5
        return torch.where(basis.is_zero, flat, sums / safe.sqrt())
    return torch.where(basis.is_zero, 0.0, sums.sqrt() / safe)


def _fill_by_core(
    strat: Stratification,
    rows: Sequence[Row],
    index: list[int],
    settings: Settings,
    device: torch.device,
    arrays: list[np.ndarray],
    status: np.ndarray,
) -> None:
    """Algorithms and options beyond the formulas here: the package's own transform, width by width."""
    for group in _by_width(rows, index):
        values = np.stack([rows[i].values for i in group])  # type: ignore[misc]
        ds = strat.spectra(
            values,
            settings.algorithms,
            metric=settings.metric,
            zero_vectors="nan",
            keep=(),
            device=backend_for(device),
            dtype=settings.dtype or "float64",
            **settings.options,
        )
        found = ds["magnitude"].transpose("hop", "algorithm", "snapshot", "component").values
        arrays[0][:, :, group] = found
        arrays[1][:, group] = ds["gradient_norm"].transpose("hop", "snapshot").values
        words = ds["status"].transpose("snapshot", "algorithm", "hop").values.reshape(len(group), -1)
        status[group] = [next((word for word in row if word != OK), OK) for row in words.astype(str)]


# ---- labels


def _labelled(
    strat: Stratification,
    rows: Sequence[Row],
    settings: Settings,
    device: torch.device,
    arrays: list[np.ndarray],
    status: np.ndarray,
) -> "xr.Dataset":
    results = []
    for row, hop in enumerate(strat.hops):
        stratum = strat.strata.at(hop, backend_for(device))
        basis = strat.basis(hop, backend=backend_for(device))
        outputs = {name: Output(arrays[0][row, i]) for i, name in enumerate(settings.algorithms)}
        results.append(
            HopResult(
                hop=hop,
                sizes=(stratum.n_edges, stratum.n_parts, stratum.n_singletons),
                values=basis.values,
                eigenspace=basis.eigenspace,
                multiplicity=basis.multiplicity,
                outputs=outputs,
                statuses=dict.fromkeys(settings.algorithms, status.astype(TEXT["status"])),
                gradient_norm=arrays[1][row],
            )
        )
    widths = [row.values.shape[1] for row in rows if row.values is not None]
    metrics = {resolve_metric(settings.metric, width) for width in widths} or {"angular"}
    plan = make_plan(settings.algorithms, None, 0, (), "float64", settings.options, strat.graph.n_nodes)
    attributes = {
        # Layers of one column beside wider ones are rare; their own metric is in `layer_metric`.
        "metric": "angular" if "angular" in metrics else "euclidean",
        "seed": 0,
        "parameters": plan.to_json(strat.hops, "nan"),
    }
    label = tuple(row_label(row) for row in rows)
    signal = Signal(np.empty((0, 0, max(widths, default=1))), label)
    ds = build(strat.graph, signal, results, settings.algorithms, attributes, keep_signal=False)
    return ds.assign_coords(row_coordinates(rows))


def row_label(row: Row) -> str:
    """A row in words: which layer, when."""
    when = f"step {row.step}" if row.epoch == NO_LABEL else f"epoch {row.epoch}"
    return f"{row.layer}, {when}"


def row_coordinates(rows: Sequence[Row]) -> dict[str, Any]:
    """What each row is, along ``snapshot``."""
    widths = [0 if row.values is None else row.values.shape[1] for row in rows]
    return {
        "snapshot": np.array([row_label(row) for row in rows], dtype=TEXT["snapshot"]),
        "layer": ("snapshot", np.array([row.layer for row in rows], dtype=TEXT["layer"])),
        "step": ("snapshot", np.array([row.step for row in rows], dtype=np.int64)),
        "epoch": ("snapshot", np.array([row.epoch for row in rows], dtype=np.int64)),
        "training": ("snapshot", np.array([row.training for row in rows], dtype=bool)),
        "width": ("snapshot", np.array(widths, dtype=np.int64)),
    }
