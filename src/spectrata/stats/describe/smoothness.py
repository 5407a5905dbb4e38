"""Compute common measures of smoothness and over-smoothing."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import entr

from spectrata.core.hop import split_along
from spectrata.core.operators import Laplacian
from spectrata.core.spectra import as_stratification
from spectrata.core.strata import Stratum
from spectrata.inputs.signals import as_signal, by_column, potential
from spectrata.kernels import edge_sums
from spectrata.kernels.scaling import require_squarable, squarable
from spectrata.results.build import along_rows
from spectrata.stats.describe.levels import over
from spectrata.stats.labelled import made_from

# Singular values below this share of the largest are rounding.
RANK_TOLERANCE = 1e-12
# Directions closer than this many times the rounding error of the signal are one direction.
SAME_DIRECTION = 16
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
) -> xr.Dataset:
    r"""Compute the usual measures of smoothness and over-smoothing, per hop where defined.

    None of them needs a decomposition of the graph.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A Stratification also names the Laplacian whose zero components ``off_zero`` leaves out, and whether nodes have
        self-loops, for ``off_zero`` and ``dirichlet_normalized``.
    signal, hops, weights
        As for :func:`spectrata.spectra`; no hops and weights with a Stratification. All measures but ``off_zero`` read
        the signal as given. Without weights all are 1.
    columns : {"joint", "separate"}
        The d columns as one vector per node, or as d signals of one number each, along a dimension ``column``.
    metric, zero_vectors
        For ``off_zero`` and mad: as for :func:`spectrata.spectra`; a zero vector leaves both NaN by default. With
        ``zero_vectors="zero"`` its cosine distance is 1/2 from every direction and 0 from another zero vector.

    Returns
    -------
    Dataset
        Over ``([snapshot,] [column,] hop)``; every edge counts once, by its weight, also in means over neighbours and
        in degrees:

        - ``dirichlet``, :math:`\sum_{xy} w \|s(x) - s(y)\|^2 = tr(S^T L S)`: zero exactly when the signal is constant
          on every connected part, the axiom of a node-similarity measure [1]_. ``dirichlet_share``: divided by
          :math:`\|S\|_F^2`. ``dirichlet_mean``: times 2/n, as in [1]_.
        - ``dirichlet_normalized``, :math:`\sum_{xy} w \|s(x)/\sqrt{d_x} - s(y)/\sqrt{d_y}\|^2`, with :math:`d` the sum
          of weights, plus 1 with ``self_loops``; and ``dirichlet_normalized_share``. Zero when vectors are
          proportional to :math:`\sqrt d`, not when they are equal, so not a node-similarity measure [3]_.
        - ``mad``, mean average distance [4]_: :math:`1 - \cos` averaged over the neighbours of a node at a positive
          distance, then over the nodes that have such neighbours; 0 where no node has one. Directions that differ by
          less than 16 times the rounding error of the signal as given are at distance 0.
        - ``mad_sum``: :math:`1 - \cos` summed over all neighbours and averaged over all nodes, as written in [1]_.
        - ``off_zero``: share of GFT energy off the zero components of the Laplacian. Weights count for "random_walk"
          and "normalized" alone, whose nodes count by their degrees.
        - ``off_zero_live``: the same over the nodes whose vector is not zero. One direction at all of them gives 0,
          however many nodes are dead: :math:`1 - \sum_{parts} \|\sum_{live} t\|^2 / n_{live}` over
          :math:`\sum_{live} \|t\|^2`, with :math:`t` the signal as the metric reads it.

        Over ``([snapshot,] [column])``, of the signal alone: ``dead_rows``, the share of nodes whose vector is zero;
        ``effective_rank`` :math:`\exp(-\sum p \, \ln p), p = \sigma / \sum \sigma` and ``stable_rank``
        :math:`\|S\|_F^2 / \|S\|_2^2` [2]_; ``rank``, ``norm``, ``spectral_norm``, ``mean_row_norm``; and of the
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
    strat = as_stratification(graph, hops, weights)
    operator = strat.computing.operator()
    known = by_column(as_signal(signal, strat.graph), columns, metric)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    values, unit = known.values, squarable(known.values)[0]  # the length of a vector does not matter for its direction
    require_squarable(values, "Dirichlet energies")
    t = (potential(known, metric, "zero") if field.undefined.any() else field).values
    apart, zeros = SAME_DIRECTION * known.rounding, zero_vectors == "zero"
    rows = [_per_hop(strat.strata.at(hop), operator, values, unit, t, apart, zeros) for hop in strat.hops]
    arrays = {name: np.stack([row[name] for row in rows], axis=1) for name in rows[0]} | _ranks(values)  # (T, H), (T,)
    arrays["dead_rows"] = np.mean(~np.any(values != 0, axis=2), axis=1)
    energy, common = np.sum(field.values**2, axis=(1, 2)), np.sum(field.values.mean(axis=1) ** 2, axis=1)
    arrays["mean_share"] = over(common * field.values.shape[1], energy)
    for name in ("off_zero", "mean_share"):
        arrays[name][field.undefined] = np.nan
    variables: dict[str, Any] = {}
    for name, array in arrays.items():
        laid = along_rows(array, ("snapshot", "hop")[: array.ndim], known.axes)
        variables[name] = (*laid, {"long_name": LONG_NAMES[name]})
    facts = made_from(strat, operator) | {"metric": field.metric, "kind": "smoothness"}
    return xr.Dataset(variables, {"hop": list(strat.hops)} | known.axes, facts)


def _per_hop(
    stratum: Stratum, operator: Laplacian, values: np.ndarray, unit: np.ndarray, t: np.ndarray, gap: float, zeros: bool
) -> dict[str, np.ndarray]:
    """Compute the measures of one stratum, ``(T,)`` each; directions farther apart than ``gap`` count as two."""
    roots = np.sqrt(Laplacian("normalized", operator.self_loops).measure(stratum))[:, None]
    measure = operator.measure(stratum) if operator.has_measure else None
    weights = np.ones(stratum.n_edges) if stratum.weights is None else stratum.weights
    size = np.sum(values**2, axis=(1, 2))
    out = {name: np.empty(len(values)) for name in ("off_zero", "off_zero_live")}
    for name, scaled in (("dirichlet", values), ("dirichlet_normalized", values * (1.0 / roots))):
        out[name] = edge_sums.edge_lengths(scaled, stratum.edges) ** 2 @ weights
        out[f"{name}_share"] = over(out[name], size)
    out["dirichlet_mean"] = 2 * out["dirichlet"] / stratum.n_nodes
    out["mad"], out["mad_sum"] = _mean_average_distance(unit, stratum.edges, weights, gap, zeros)
    for row in range(len(values)):
        live = np.any(t[row] != 0, axis=1)
        for name, some in (("off_zero", np.full(len(live), True)), ("off_zero_live", live | ~live.any())):
            parts = np.unique(stratum.parts[some], return_inverse=True)[1]
            own = None if measure is None else measure[some]
            zero, off = (np.sum(one**2) for one in split_along(t[row][some], parts, own, operator.weighs_signals))
            out[name][row] = off / (zero + off) if zero + off > 0 else np.nan
    return {name: out[name] for name in LONG_NAMES if name in out}


def _mean_average_distance(
    vectors: np.ndarray, edges: np.ndarray, weights: np.ndarray, apart: float, zeros: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Compute MAD and its summed form ``(T,)``; NaN where a zero vector has an edge, unless ``zeros`` stay."""
    norms = np.linalg.norm(vectors, axis=2)  # (T, n)
    lengths = edge_sums.edge_lengths(vectors / np.where(norms > 0, norms, 1.0)[..., None], edges)  # (T, m)
    distance = np.where(lengths > apart, lengths**2 / 2, 0.0)  # 1 - cos without its loss of digits
    parts = (weights * distance, weights * (distance > 0))
    summed, counted = (edge_sums.node_sums(edges, one, norms.shape[1]) for one in parts)  # (T, n) each
    mad = np.nansum(over(summed, counted), axis=1) / np.maximum(np.count_nonzero(counted, axis=1), 1)
    known = zeros | np.all(norms[:, edges] > 0, axis=(1, 2))
    return np.where(known, mad, np.nan), np.where(known, summed.mean(axis=1), np.nan)


def _ranks(values: np.ndarray) -> dict[str, np.ndarray]:
    singular = np.linalg.svd(values, compute_uv=False)  # (T, k)
    largest, total = singular[:, 0], singular.sum(axis=1)
    p = over(singular.T, np.broadcast_to(total, singular.T.shape))
    square = np.sum(singular**2, axis=1)
    return {
        "effective_rank": np.exp(np.sum(entr(p), axis=0)),
        "stable_rank": over(square, largest**2),
        "rank": np.sum(singular > RANK_TOLERANCE * largest[:, None], axis=1),
        "norm": np.sqrt(square),
        "spectral_norm": largest,
        "mean_row_norm": np.linalg.norm(values, axis=2).mean(axis=1),
    }
