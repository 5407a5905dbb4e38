"""The structural-decoupling index: how far the signal at each node departs from the graph's low frequencies."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.checks import require_energy
from spectrata.core.operators import Operator
from spectrata.errors import OptionError
from spectrata.inputs.graphs import Graph
from spectrata.inputs.numbers import flag, positive, whole
from spectrata.inputs.signals import Signal, as_signal
from spectrata.kernels.scaling import squarable
from spectrata.stats.describe.frequencies import ByEigenvectors, Precision, source
from spectrata.stats.describe.nodes import node_coordinates
from spectrata.stats.tally import TIE, adjust

if TYPE_CHECKING:
    import xarray as xr

HALF = 0.5 - 1e-12  # of the energy, up to rounding
ROUNDING = 1e-13  # a part of a node's signal below this share of the whole signal is rounding
LONG_NAMES = {
    "decoupling": "norm of the high-frequency part over that of the low-frequency part",
    "null_decoupling": "geometric mean of the index over surrogates",
    "z": "logarithm of the index against that of surrogates, in standard deviations",
    "p": "two-sided p over surrogates",
    "q": "p adjusted over nodes (Benjamini and Hochberg)",
    "cutoff": "largest eigenvalue of the low-frequency part",
    "low_components": "components of the low-frequency part",
    "edges": "rows of the nodes that each edge of the graph joins",
    "position": "where the node is, as the graph says",
}


def decoupling(
    graph: Any,
    signal: Any,
    *,
    hop: int = 1,
    cutoff: float | None = None,
    draws: int = 999,
    seed: int = 0,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    laplacian: str = "normalized",
    self_loops: bool = False,
) -> "xr.Dataset":
    r"""Compute the structural-decoupling index of every node, with surrogates.

    .. math:: \frac{\| \sum_{\lambda_i > \lambda_c} u_i(x) \, u_i^T s \|}
                   {\| \sum_{\lambda_i \le \lambda_c} u_i(x) \, u_i^T s \|}

    The norms run over the columns of the signal (time points, in neuroscience). The cutoff :math:`\lambda_c` is the
    eigenvalue at which the cumulative energy reaches one half. An index above 1 means that the signal of the node is
    mostly of high frequency on the graph. Surrogates multiply the coefficients of every eigenspace by a random sign:
    they have the same spectrum, and lack the alignment of frequencies at single nodes.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A connectome, usually with ``weights=True``.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`; read as it is, without a metric.
    hop : int
        Which stratum.
    cutoff : float, optional
        The largest eigenvalue that counts as low; by default it halves the energy.
    draws, seed : int
        Surrogates.
    weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification.
    laplacian : {"normalized", "random_walk", "combinatorial"}
        The paper has the first.
    self_loops : bool
        Add a loop to every node; not with "combinatorial".

    Returns
    -------
    xarray.Dataset
        Over ``([snapshot,] node)``: ``decoupling``; ``null_decoupling``; ``z`` of its logarithm; two-sided ``p``, at
        least ``2 / (draws + 1)``; ``q`` over nodes. ``cutoff`` and ``low_components`` per snapshot. A node whose
        surrogates all equal it has ``p = 1`` and no ``z``.

    References
    ----------
    Preti, Van De Ville: Decoupling of brain function from structure reveals regional behavioral specialization in
    humans, Nature Communications 2019.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> signal = np.random.default_rng(0).standard_normal((20, 50))
    >>> found = st.stats.decoupling(nx.cycle_graph(20), signal, draws=99)
    >>> found["decoupling"].dims, bool((found["p"] >= 0.02).all())
    (('node',), True)
    """
    operator = Operator(laplacian, flag(self_loops, "self_loops"))
    count, seed = whole(draws, "draws"), whole(seed, "seed", 0)
    if cutoff is not None:
        cutoff = positive(cutoff, "cutoff")
    given = source(graph, [whole(hop, "hop")], True, weights, hop_weights, undirected)
    known = as_signal(signal, given.graph)
    at = next(given.each(operator, Precision()))
    assert isinstance(at, ByEigenvectors)
    values = squarable(known.values, (1, 2))[0]  # the index has no units
    found = [_index(_coefficients(at, one), at, cutoff, count, seed) for one in values]
    facts = {"kind": "decoupling", "laplacian": laplacian, "self_loops": int(self_loops), "weights": given.weights}
    facts |= {"graph_hash": given.graph.digest, "n_nodes": given.graph.n_nodes, "hop": at.hop, "draws": count}
    return _dataset(found, known, given.graph, facts | {"seed": seed, "spectrata_version": __version__})


@dataclass(frozen=True, eq=False)
class _Parts:
    """Coefficients of all components, ``(n, r)``, and the matrix ``(n, n)`` that puts them on the nodes."""

    coefficients: np.ndarray
    vectors: np.ndarray
    size: float


def _coefficients(at: ByEigenvectors, signal: np.ndarray) -> _Parts:
    zero, rest = at.split(signal)
    columns = zero + rest  # C^1/2 s: the measure cancels in the index
    if columns.shape[1] > len(columns):
        # Norms over columns do not change when the columns are rotated to as many as there are nodes.
        columns = np.asarray(np.linalg.qr(columns.T, mode="r")).T
    found, energy = at.basis.project(columns), np.sum(columns**2, axis=0)
    require_energy(at.hop, at.basis, np.sum(found**2, axis=0), energy, energy)
    return _Parts(found, at.basis.dense(), float(np.linalg.norm(columns)))


def _index(parts: _Parts, at: ByEigenvectors, cutoff: float | None, draws: int, seed: int) -> dict[str, Any]:
    spaces = at.basis.eigenspace
    if cutoff is None:
        energy = np.bincount(spaces, np.sum(parts.coefficients**2, axis=1))
        if not energy.sum() > 0:
            raise OptionError(
                "The signal is zero on every node of a snapshot, and zero has no frequencies; leave it out."
            )
        last = int(np.searchsorted(np.cumsum(energy), HALF * energy.sum(), side="left"))
        low = spaces <= last
    else:
        low = at.values <= cutoff + at.basis.tolerance * at.basis.norm
    observed = _ratio(parts, low, np.ones(len(low)))
    rng = np.random.default_rng(seed)
    above, below, tied = np.zeros((3, len(low)), dtype=np.int64)
    first, second = np.zeros((2, len(low)))
    with np.errstate(divide="ignore"):
        level = np.log(observed)
    for _ in range(draws):
        signs = rng.choice([-1.0, 1.0], size=int(spaces.max()) + 1)[spaces]
        drawn = _ratio(parts, low, signs)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.log(drawn) - level
        same = (drawn == observed) | (np.abs(apart) <= TIE)
        above += same | (apart > 0)
        below += same | (apart < 0)
        tied += same
        first += np.where(same, 0.0, apart)
        second += np.where(same, 0.0, apart) ** 2
    return _judged(observed, above, below, tied, first / draws, second / draws, draws) | {
        "cutoff": float(at.values[low].max(initial=0.0)),
        "low_components": int(low.sum()),
    }


def _ratio(parts: _Parts, low: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The index of every node, with signs on the coefficients; NaN where a node has neither part."""
    signed = parts.coefficients * signs[:, None]
    small, large = (np.sqrt(np.sum((parts.vectors[:, kept] @ signed[kept]) ** 2, axis=1)) for kept in (low, ~low))
    floor = ROUNDING * parts.size
    small, large = (np.where(part <= floor, 0.0, part) for part in (small, large))
    ratio = np.divide(large, small, out=np.full(len(small), np.inf), where=small > 0)
    return np.where((small == 0) & (large == 0), np.nan, ratio)


def _judged(
    observed: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
    tied: np.ndarray,
    shift: np.ndarray,
    square: np.ndarray,
    draws: int,
) -> dict[str, Any]:
    """The index, z, p and q of every node; ``shift`` and ``square`` are moments of the logarithm less the observed."""
    p = np.minimum(1.0, 2 * np.minimum(above + 1, below + 1) / (draws + 1))
    degenerate = tied == draws
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = np.sqrt(np.maximum(square - shift**2, 0.0) * draws / max(draws - 1, 1))
        z = np.where(degenerate | ~(spread > 0), np.nan, -shift / spread)
        null = observed * np.exp(shift)
    p = np.where(np.isnan(observed), np.nan, np.where(degenerate, 1.0, p))
    return {"decoupling": observed, "null_decoupling": null, "z": z, "p": p, "q": adjust(p)}


def _dataset(found: list[dict[str, Any]], signal: Signal, graph: Graph, facts: dict[str, Any]) -> "xr.Dataset":
    import xarray as xr

    time = signal.snapshots is not None
    front = ("snapshot",) if time else ()
    variables: dict[str, Any] = {"edges": (("edge", "end"), graph.edges)}
    for name in found[0]:
        array = np.stack([one[name] for one in found])
        variables[name] = ((*front, *("node",) * (array.ndim - 1)), array if time else array[0])
    if graph.positions is not None:
        variables["position"] = (("node", "axis"), graph.positions)
    coords = node_coordinates(graph) | ({"snapshot": list(signal.snapshots or ())} if time else {})
    ds = xr.Dataset(variables, coords, facts)
    for name in variables:
        ds[name].attrs["long_name"] = LONG_NAMES[name]
    return ds
