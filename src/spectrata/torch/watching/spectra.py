"""Spectra of many recorded activations at once: rows in, one labelled Dataset out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands.settings import check_settings
from spectrata.bands.spectra import measure_bands
from spectrata.core.operators import COMBINATORIAL
from spectrata.core.plan import Plan
from spectrata.core.registry import EXACT, row_of
from spectrata.core.strata import asked_hops
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, warn
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Signal, resolve_metric
from spectrata.kernels.backend import NUMPY, Backend, backend_of
from spectrata.stats.describe.spectrum import off_zero
from spectrata.torch.watching.rows import TEXT, Row, join, row_coordinates

if TYPE_CHECKING:
    import xarray as xr

TOO_LARGE = "undefined: magnitudes leave the range of double precision"
LARGEST = 1e305  # value above which they do
COMPONENTS = 32  # bands that take the place of components of a large graph
TOLERANCE = 0.02  # of cumulative shares, for bands with edges spaced by "log"


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings of the spectra of every activation; without algorithms only measures are computed."""

    algorithms: tuple[str, ...]
    plan: Plan
    metric: str
    zero_vectors: str
    device: Any = None

    @property
    def backend(self) -> Backend:
        """Where spectra are computed."""
        return backend_of(None, self.device)

    def to_json(self) -> dict[str, Any]:
        """Settings that two runs must share to be compared."""
        if not self.algorithms:
            return {"algorithms": []}
        plan = {"seed": self.plan.seed, "options": self.plan.to_json((), self.zero_vectors)}
        return {"algorithms": list(self.algorithms), "metric": self.metric} | plan


def spectra_of(strat: Stratification, rows: Sequence[Row], settings: Settings) -> "xr.Dataset":
    """The spectra of all rows, with the share of energy off zero."""

    def compute(values: np.ndarray) -> "xr.Dataset":
        how = settings.plan, settings.metric, settings.zero_vectors, settings.backend
        return strat.compute(Signal(values, tuple(range(len(values)))), *how)

    return _by_width(rows, strat.graph.n_nodes, settings, compute)


def _by_width(
    rows: Sequence[Row], n: int, settings: Settings, compute: "Callable[[np.ndarray], xr.Dataset]"
) -> "xr.Dataset":
    """Results of ``compute`` on activations ``(T, n, d)`` of one width after the other, as one result of all rows."""
    import xarray as xr

    arrays, reasons = [row.array for row in rows], [row.reason for row in rows]
    groups: dict[tuple[str, int], list[int]] = {}  # by metric and width
    for at, row in sorted(enumerate(rows), key=lambda pair: -pair[1].width):
        array = arrays[at]
        if array is None:
            continue
        metric = resolve_metric(settings.metric, row.width)
        if float(np.abs(array).max()) > LARGEST and metric == "euclidean":
            reasons[at] = TOO_LARGE
            continue
        # Columns of zeros change no length and no angle: widths within a factor of two share one computation.
        shared = next((key for key in groups if key[0] == metric and key[1] <= 2 * row.width), (metric, row.width))
        groups.setdefault(shared, []).append(at)
    pieces = []
    for (_, width), group in (groups or {("", 1): []}).items():  # without any a constant one, for the components
        group = sorted(group)
        values = np.zeros((max(len(group), 1), n, width)) if group else np.ones((1, n, 1))
        for place, at in enumerate(group):
            values[place, :, : rows[at].width] = arrays[at]
        piece = compute(values).drop_vars("zero_vectors", errors="ignore")  # the measures count dead rows
        pieces.append(piece.assign_coords(snapshot=group or [-1]))
    ds = join(pieces).reindex(snapshot=np.arange(len(rows)), fill_value={"status": ""}).drop_vars("snapshot")
    why = xr.DataArray(reasons, dims="snapshot")
    status = xr.where(ds["status"] == "", why, ds["status"]).transpose(*ds["status"].dims).astype(TEXT["status"])
    ds = ds.assign(status=status).assign_coords(row_coordinates(rows))
    widths = [row.width for row in rows if row.array is not None]
    metrics = {resolve_metric(settings.metric, width) for width in widths}
    metric = metrics.pop() if len(metrics) == 1 else settings.metric  # by angle and by length: "auto"
    ds = ds.assign_attrs(metric=metric, n_dimensions=max(widths, default=1))
    share = off_zero(ds) if EXACT in settings.algorithms else None
    return ds if share is None else ds.assign(off_zero=(share.dims, share.values, share.attrs))


# ---- graphs too large to decompose


def large_hops(hops: Any, settings: Settings) -> tuple[int, ...]:
    """The hops of a large graph, the first where nobody asked for others; a warning that spectra are in bands."""
    for name in settings.algorithms:
        if not row_of(name).in_bands:
            raise OptionError(
                f"{name} needs a decomposition, and larger graphs are read in bands; use algorithms='gft', or give a "
                "Stratification."
            )
    wanted = asked_hops(1 if hops == "auto" else hops)
    if wanted is None:
        raise OptionError("hops=None needs all hop distances of a large graph; name the hops, such as hops=[1].")
    warn(f"The graph is large: spectra are computed in {COMPONENTS} bands of eigenvalues; a Stratification has all.")
    return tuple(range(1, wanted + 1)) if isinstance(wanted, int) else tuple(wanted)


def band_rows(graph: Graph, rows: Sequence[Row], hops: Sequence[int], settings: Settings) -> "xr.Dataset":
    """The result of :func:`spectra_of` on a graph that is decomposed: one result whose components are bands."""

    asked = check_settings(COMPONENTS, settings.algorithms, "log", TOLERANCE, settings.plan.seed, COMBINATORIAL, {})

    def compute(values: np.ndarray) -> "xr.Dataset":
        return measure_bands(
            graph, values, asked, list(hops), metric=settings.metric, zero_vectors=settings.zero_vectors,
            device=None if settings.backend == NUMPY else settings.backend,
        )  # fmt: skip

    return _by_width(rows, graph.n_nodes, settings, compute)
