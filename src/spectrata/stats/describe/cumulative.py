"""Add up GFT energy over ascending frequencies, with the range that chance gives."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis, coefficients_of
from spectrata.core.registry import EXACT
from spectrata.core.spectra import as_stratification
from spectrata.inputs.signals import as_signal, potential
from spectrata.results.build import Rows, along_rows
from spectrata.stats.describe.levels import plan_of
from spectrata.stats.nulls.orders import orders

if TYPE_CHECKING:
    import xarray as xr

BATCH = 2**22  # numbers of a batch of permuted signals
ROUNDING = 1e-12  # of the signal's norm: less than this off zero is the rounding of a constant
RANGE = (2.5, 97.5)  # percentiles of the draws
NAMES = ("share", "chance", "chance_low", "chance_high")


def cumulative_energy(
    graph: Any,
    signal: Any,
    *,
    metric: str = "auto",
    zero_vectors: str = "nan",
    draws: int = 199,
    points: int = 100,
    seed: int = 0,
) -> "xr.Dataset":
    """Compute the share of GFT energy off zero at or below each frequency, and the same under permutations.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A Stratification also names the Laplacian.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`.
    metric, zero_vectors
        As for :func:`spectrata.spectra`.
    draws : int
        Random orders of the nodes' vectors; 0 for none.
    points : int
        Eigenspaces of each hop that are kept, evenly spread, the last among them.
    seed : int

    Returns
    -------
    Dataset
        ``frequency(hop, point)``, the share of the components off zero up to the end of an eigenspace; over
        ``([snapshot,] hop, point)`` ``share`` and, with draws, ``chance``, ``chance_low`` and ``chance_high``, the mean
        and the 2.5th and 97.5th percentile of the draws. NaN where a hop has fewer points, or no energy off zero.

    Examples
    --------
    >>> import networkx as nx
    >>> found = cumulative_energy(nx.path_graph(4), [0.0, 1.0, 2.0, 3.0], draws=0)
    >>> found["frequency"][0].values.round(2).tolist(), found["share"][0].values.round(2).tolist()
    ([0.33, 0.67, 1.0], [0.99, 0.99, 1.0])
    """
    import xarray as xr

    strat = as_stratification(graph)
    known = as_signal(signal, strat.graph)
    n = strat.graph.n_nodes
    plan = plan_of(strat, EXACT, seed)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    t = field.values
    if plan.options.operator.has_constants:  # off zero nothing changes with the mean; without it no digits are lost
        t = t - t.mean(axis=1, keepdims=True)
    mixed = orders(seed, n, 0, draws)
    least = (ROUNDING * np.linalg.norm(field.values, axis=(1, 2))) ** 2
    frequency = np.full((len(strat.hops), points), np.nan)
    out = np.full((len(NAMES), len(t), len(strat.hops), points), np.nan)
    for row, hop in enumerate(strat.hops):
        columns, ends = _axis(strat.prepared(hop, plan)[1], points)
        size = len(ends)
        frequency[row, :size] = (ends + 1) / max(1, columns.shape[1])
        for at in np.flatnonzero(~field.undefined):
            out[0, at, row, :size] = _shares(columns, t[at], np.arange(n)[None], ends, least[at])[0]
            if draws:
                drawn = _shares(columns, t[at], mixed, ends, least[at])
                out[1, at, row, :size] = drawn.mean(axis=0)
                out[2:, at, row, :size] = np.percentile(drawn, RANGE, axis=0)
    used = int(np.isfinite(frequency).sum(axis=1).max())
    frequency, out = frequency[:, :used], out[..., :used]
    axes = Rows(known.snapshots, 1).axes
    dims = ("snapshot", "hop", "point")
    variables = {name: along_rows(array, dims, axes) for name, array in zip(NAMES, out, strict=True)}
    variables["frequency"] = (("hop", "point"), frequency)
    return xr.Dataset(variables, {"hop": list(strat.hops), **axes}, {"kind": "cumulative energy", "draws": draws})


def _axis(basis: EigenBasis, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Select columns of the components off zero, and the last one of each eigenspace that is kept."""
    off = ~basis.axis.is_zero
    ends = np.flatnonzero(np.diff(basis.axis.eigenspace[off], append=-1))
    if len(ends) > points:
        wanted = np.linspace(0, off.sum() - 1, points)
        ends = np.unique(ends[np.minimum(np.searchsorted(ends, wanted), len(ends) - 1)])
    return coefficients_of(basis)[:, off], ends


def _shares(columns: np.ndarray, t: np.ndarray, mixed: np.ndarray, ends: np.ndarray, least: float) -> np.ndarray:
    """Compute cumulative shares of a signal ``(n, d)``, its vectors in some orders: ``(b, n) -> (b, ends)``."""
    found = []
    step = max(1, BATCH // max(1, t.size))
    for start in range(0, len(mixed), step):
        dealt = t[mixed[start : start + step].T]  # (n, b, d)
        energy = (columns.T @ dealt.reshape(len(t), -1)) ** 2
        total = np.cumsum(energy.reshape(columns.shape[1], *dealt.shape[1:]).sum(axis=2), axis=0)[ends].T  # (b, ends)
        last = total[:, -1:] if len(ends) else total
        found.append(np.divide(total, last, out=np.full(total.shape, np.nan), where=last > least))
    return np.concatenate(found)
