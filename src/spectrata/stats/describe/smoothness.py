"""Compute common measures of smoothness and over-smoothing."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.hop import split_along, split_at_zero
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.core.spectra import as_stratification
from spectrata.core.strata import Stratum
from spectrata.errors import warn
from spectrata.inputs.columns import by_column
from spectrata.inputs.signals import Signal, as_signal, potential, rounding_of
from spectrata.kernels import edge_sums
from spectrata.kernels.scaling import representable, squarable
from spectrata.results.build import along_rows

if TYPE_CHECKING:
    import xarray as xr

# Singular values below this share of the largest are rounding.
RANK_TOLERANCE = 1e-12
# Directions closer than this many times the rounding error of the signal are one direction.
SAME_DIRECTION = 16
SQUARES = ("dirichlet", "dirichlet_mean", "dirichlet_normalized")
SIZES = ("norm", "spectral_norm", "mean_row_norm")
LONG_NAMES = {
    "dirichlet": "sum over edges of w norm(s(x) - s(y))^2 = tr(S^T L S)",
    "dirichlet_share": "dirichlet / norm(S)^2",
    "dirichlet_mean": "sum over nodes and their neighbours of w norm(s(x) - s(y))^2, divided by the number of nodes",
    "dirichlet_normalized": "sum over edges of w norm(s(x)/sqrt(d(x)) - s(y)/sqrt(d(y)))^2 = tr(S^T Ln S)",
    "dirichlet_normalized_share": "dirichlet_normalized / norm(S)^2",
    "mad": "mean average distance: mean over nodes of the mean cosine distance to neighbours in another direction",
    "mad_sum": "mean over nodes of the summed cosine distance to their neighbours",
    "effective_rank": "exp of the entropy of the singular values divided by their sum",
    "stable_rank": "squared Frobenius norm over squared spectral norm",
    "rank": "singular values above 1e-12 of the largest",
    "norm": "Frobenius norm",
    "spectral_norm": "largest singular value",
    "mean_row_norm": "mean norm of the nodes' vectors",
    "mean_share": "share of energy of the potential in its mean over the nodes",
    "off_zero": "share of GFT energy off the zero components, which hold what is constant on every connected part",
    "off_zero_live": "off_zero over the nodes whose vector is not zero",
    "dead_rows": "share of the nodes whose vector is zero",
}


def smoothness(
    graph: Any,
    signal: Any,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    metric: str = "auto",
    columns: str = "joint",
    zero_vectors: str = "nan",
) -> "xr.Dataset":
    r"""Compute the usual measures of smoothness and over-smoothing, per hop where defined.

    None of them needs a decomposition of the graph.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A Stratification also names the Laplacian whose zero components ``off_zero`` leaves out, and whether nodes have
        self-loops, for ``off_zero`` and ``dirichlet_normalized``.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`. All measures but ``off_zero`` read the signal as given.
    hops, weights
        As for :func:`spectrata.spectra`; not with a Stratification. Without weights all are 1.
    columns : {"joint", "separate"}
        The d columns as one vector per node, or as d signals of one number each, along a dimension ``column``.
    metric, zero_vectors
        For ``off_zero`` and mad: as for :func:`spectrata.spectra`; a zero vector leaves both NaN by default. With
        ``zero_vectors="zero"`` its cosine distance is 1/2 from every direction and 0 from another zero vector.

    Returns
    -------
    Dataset
        Over ``([snapshot,] [column,] hop)``, with ``G_K`` the stratum and ``L`` its Laplacian; with edge weights every
        edge counts by its weight, in sums, means over neighbours and degrees alike:

        ``dirichlet``, ``dirichlet_share``
            :math:`\sum_{xy} w \|s(x) - s(y)\|^2`, each edge once, or :math:`tr(S^T L S)`; and divided by
            :math:`\|S\|_F^2`. Reads weights. Zero exactly when
            the signal is constant on every connected part: the axiom of a node-similarity measure [1]_.
        ``dirichlet_mean``
            :math:`\frac1n \sum_x \sum_{y \sim x} w \|s(x) - s(y)\|^2`, the normalisation of [1]_: 2/n times
            ``dirichlet``. Reads weights.
        ``dirichlet_normalized``, ``dirichlet_normalized_share``
            :math:`\sum_{xy} w \|s(x)/\sqrt{d_x} - s(y)/\sqrt{d_y}\|^2`, the normalised Laplacian, with
            :math:`d` the sum of weights, plus 1 with ``self_loops``. Reads weights. Zero when vectors are
            proportional to :math:`\sqrt d`, not when they are equal, so not a node-similarity measure [3]_.
        ``mad``
            Mean average distance [4]_: :math:`1 - \cos` averaged over the neighbours of a node at a positive distance,
            then over the nodes that have such neighbours; 0 where no node has one. Directions that differ by less than
            16 times the rounding error of the signal as given are at distance 0. Reads weights.
        ``mad_sum``
            :math:`1 - \cos` summed over all neighbours and averaged over all nodes, as written in [1]_. Reads weights.
        ``off_zero``
            Share of GFT energy off the zero components of the Laplacian. Reads weights for "random_walk" and
            "normalized", whose nodes count by their degrees.
        ``off_zero_live``
            The same over the live nodes, those whose vector is not zero, with :math:`t` the signal as the metric
            reads it: :math:`1 - \sum_{parts} \|\sum_{live} t\|^2 / n_{live}` over :math:`\sum_{live} \|t\|^2`. One
            direction at all live nodes gives 0, however many nodes are dead.

        Over ``([snapshot,] [column])``, of the signal alone: ``dead_rows``, the share of nodes whose vector is zero,
        ``effective_rank``
        :math:`\exp(-\sum p \, \ln p), p = \sigma / \sum \sigma` and ``stable_rank``
        :math:`\|S\|_F^2 / \|S\|_2^2` [2]_, ``rank``, ``norm``, ``spectral_norm``, ``mean_row_norm``; and of the
        potential (directions, under the angular metric) ``mean_share``, :math:`n \|\bar t\|^2 / \|t\|_F^2`.

    References
    ----------
    .. [1] Rusch, Bronstein, Mishra: A Survey on Oversmoothing in Graph Neural Networks, arXiv 2303.10993.
    .. [2] Zhang, Deidda, Higham, Tudisco: Rethinking Oversmoothing in Graph Neural Networks: A Rank-Based
       Perspective, arXiv 2502.04591.
    .. [3] Bison, Sperduti: Analysis of Dirichlet Energies as Over-smoothing Measures, arXiv 2512.09890.
    .. [4] Chen et al.: Measuring and Relieving the Over-smoothing Problem for Graph Neural Networks from the
       Topological View, AAAI 2020.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> found = st.smoothness(st.Stratification(nx.path_graph(3)), [0.0, 1.0, 3.0])
    >>> found["dirichlet"].values.tolist()
    [5.0, 9.0]
    >>> found["off_zero"].values.round(4).tolist()
    [0.4667, 0.45]
    """
    import xarray as xr

    strat = as_stratification(graph, hops, weights)
    operator = strat.computing.operator()
    known = by_column(as_signal(signal, strat.graph), columns, metric)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    values, scale = squarable(known.values, (1, 2))  # squares of 1e300 and 1e-300 have no digits
    units = squarable(known.values)[0]  # every vector by itself: its length does not matter for its direction
    lost = np.where(field.undefined, np.nan, 0.0)
    t = (potential(known, metric, "zero") if field.undefined.any() else field).values
    apart, zeros = SAME_DIRECTION * known.rounding, zero_vectors == "zero"
    rows = [_per_hop(strat.strata.at(hop), operator, values, units, t, apart, zeros) for hop in strat.hops]
    for row in rows:
        row["off_zero"] = row["off_zero"] + lost
    _rescale(rows, scale[:, 0, 0])
    axes = known.axes
    variables: dict[str, Any] = {}
    for name in rows[0]:
        array = np.stack([row[name] for row in rows], axis=1)  # (T, hop)
        variables[name] = along_rows(array, ("snapshot", "hop"), axes)
    alone = _ranks(values) | {"dead_rows": _dead_rows(known.values)}
    for name, array in alone.items():
        if name in SIZES:
            with np.errstate(over="ignore"):
                array = array * scale[:, 0, 0]
            array = np.where(np.isinf(array), np.nan, array)  # the warning above says so
        variables[name] = along_rows(array, ("snapshot",), axes)
    common = np.array([mean_share(t) for t in field.values]) + lost
    variables["mean_share"] = along_rows(common, ("snapshot",), axes)
    coords: dict[str, Any] = {"hop": list(strat.hops)} | axes
    facts: dict[str, Any] = {"metric": field.metric, "graph_hash": strat.graph.digest, "weights": strat.weights}
    facts |= {"kind": "smoothness", "spectrata_version": __version__}
    facts |= {"laplacian": operator.laplacian, "self_loops": int(operator.self_loops)}
    ds = xr.Dataset(variables, coords, facts)
    for variable in ds.data_vars:
        ds[variable].attrs["long_name"] = LONG_NAMES[str(variable)]
    return ds


def measures(
    stratum: Stratum,
    values: np.ndarray,
    metric: str = "auto",
    zero_vectors: str = "zero",
    operator: Operator = COMBINATORIAL,
) -> dict[str, np.ndarray]:
    """Compute the measures of :func:`smoothness` on one stratum: finite signals ``(T, n, d)`` to arrays ``(T,)``."""
    apart, zeros = SAME_DIRECTION * rounding_of(values.dtype), zero_vectors == "zero"
    values = values.astype(np.float64, copy=False)
    t = potential(Signal(values, None), metric, "zero").values
    even, scale = squarable(values, (1, 2))
    row = _per_hop(stratum, operator, even, squarable(values)[0], t, apart, zeros)
    with np.errstate(over="ignore", under="ignore"):
        for name in SQUARES:
            row[name] = row[name] * scale[:, 0, 0] ** 2
        alone = {name: array * scale[:, 0, 0] if name in SIZES else array for name, array in _ranks(even).items()}
    found = row | alone | {"dead_rows": _dead_rows(values)}
    return {name: np.where(np.isinf(array), np.nan, array) for name, array in found.items()}


def _dead_rows(values: np.ndarray) -> np.ndarray:
    return np.mean(~np.any(values != 0, axis=2), axis=1)


def _rescale(rows: list[dict[str, np.ndarray]], scale: np.ndarray) -> None:
    """Multiply powers of two back into the measures that are squares; NaN, with a warning, where they cannot be."""
    if np.all(scale == 1.0):
        return
    fits = representable(scale)
    factor = np.where(fits, scale, np.nan) ** 2
    if not fits.all():
        warn(
            f"Dirichlet energies are squares, and those of {np.count_nonzero(~fits)} of {len(fits)} snapshots leave "
            "the range of double precision: they are NaN, as are lengths that leave it; divide the signal by its "
            "largest value."
        )
    for row in rows:
        for name in SQUARES:
            row[name] = row[name] * factor


def _per_hop(
    stratum: Stratum,
    operator: Operator,
    values: np.ndarray,
    units: np.ndarray,
    t: np.ndarray,
    apart: float,
    zeros: bool,
) -> dict[str, np.ndarray]:
    """Compute the measures of one stratum, ``(T,)`` each; directions farther apart than ``apart`` count as two."""
    roots = 1.0 / np.sqrt(Operator("normalized", operator.self_loops).measure(stratum))
    weights = np.ones(stratum.n_edges) if stratum.weights is None else stratum.weights
    size = np.sum(values**2, axis=(1, 2))
    out = {name: np.empty(len(values)) for name in ("mad", "mad_sum", "off_zero", "off_zero_live")}
    out["dirichlet"] = edge_sums.edge_lengths(values, stratum.edges) ** 2 @ weights
    scaled = values * roots[:, None]
    out["dirichlet_normalized"] = edge_sums.edge_lengths(scaled, stratum.edges) ** 2 @ weights
    for row, s in enumerate(units):
        found = _mean_average_distance(s, stratum.edges, weights, apart, zeros)
        out["mad"][row], out["mad_sum"][row] = found
        out["off_zero"][row] = _rest(*split_at_zero(stratum, operator, t[row]))
        out["off_zero_live"][row] = _off_zero_live(stratum, operator, t[row], out["off_zero"][row])
    share = np.divide(1.0, size, out=np.full(len(values), np.nan), where=size > 0)
    out["dirichlet_share"] = out["dirichlet"] * share
    out["dirichlet_mean"] = 2 * out["dirichlet"] / stratum.n_nodes
    out["dirichlet_normalized_share"] = out["dirichlet_normalized"] * share
    return {name: out[name] for name in LONG_NAMES if name in out}


def _rest(along: np.ndarray, rest: np.ndarray) -> float:
    """Compute the share of energy in the second of two orthogonal parts; NaN without any."""
    zero, off = float(np.sum(along**2)), float(np.sum(rest**2))
    return off / (zero + off) if zero + off > 0 else np.nan


def _off_zero_live(stratum: Stratum, operator: Operator, t: np.ndarray, whole: float) -> float:
    """Compute the share of energy off zero over the nodes whose vector is not zero."""
    live = np.any(t != 0, axis=1)
    if live.all() or not live.any():
        return whole
    parts = np.unique(stratum.parts[live], return_inverse=True)[1]
    measure = operator.measure(stratum)[live] if operator.has_measure else None
    return _rest(*split_along(t[live], parts, measure, operator.weighs_signals))


def _mean_average_distance(
    s: np.ndarray, edges: np.ndarray, weights: np.ndarray, apart: float, zeros: bool = False
) -> tuple[float, float]:
    """Compute MAD and its summed form; NaN where a zero vector has an edge, unless ``zeros`` stay as they are."""
    norms = np.linalg.norm(s, axis=1)
    ends = edges.T.ravel()
    if (norms[ends] == 0).any() and not zeros:
        return np.nan, np.nan
    unit = s / np.where(norms > 0, norms, 1.0)[:, None]
    lengths = edge_sums.edge_lengths(unit[None], edges)[0]
    distance = np.where(lengths > apart, lengths**2 / 2, 0.0)  # 1 - cos without its loss of digits
    summed = np.bincount(ends, np.tile(weights * distance, 2), len(s))
    counted = np.bincount(ends, np.tile(weights * (distance > 0), 2), len(s))
    some = counted > 0
    mad = float(np.mean(summed[some] / counted[some])) if some.any() else 0.0
    return mad, float(summed.sum() / len(s))


def _ranks(values: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the measures of the signal matrix, ``(T,)`` each."""
    singular = np.linalg.svd(values, compute_uv=False)  # (T, k)
    largest, total = singular[:, 0], singular.sum(axis=1)
    some = total > 0
    p = singular / np.where(some, total, 1.0)[:, None]
    entropy = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1)
    square = np.sum(singular**2, axis=1)
    return {
        "effective_rank": np.where(some, np.exp(entropy), np.nan),
        "stable_rank": np.divide(square, largest**2, out=np.full(len(values), np.nan), where=some),
        "rank": np.sum(singular > RANK_TOLERANCE * largest[:, None], axis=1),
        "norm": np.sqrt(square),
        "spectral_norm": largest,
        "mean_row_norm": np.linalg.norm(values, axis=2).mean(axis=1),
    }


def mean_share(t: np.ndarray) -> float:
    """Compute the share of energy of a potential ``(n, d)`` in its mean over the nodes; NaN without energy."""
    energy = float(np.sum(t**2))
    return float(len(t) * np.sum(t.mean(axis=0) ** 2) / energy) if energy > 0 else float("nan")
