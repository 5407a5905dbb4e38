"""Likeness of nodes per hop distance: the correlogram."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.errors import OptionError, warn
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Signal, as_signal, resolve_metric
from spectrata.kernels.scaling import representable
from spectrata.stats.pair_cells import METHODS, Cells, Likeness, blocks
from spectrata.stats.pair_sources import PairSource, pair_source
from spectrata.stats.sequential import Orders
from spectrata.stats.tally import adjust

if TYPE_CHECKING:
    import xarray as xr

LONG_NAMES = {
    "mean_square": "mean over pairs of w norm(t(x) - t(y))^2, weights w",
    "null_mean": "mean of mean_square over all orders of the nodes",
    "null_std": "standard deviation of mean_square over all orders of the nodes",
    "ratio": "mean_square / null_mean: below 1 alike, above 1 unlike; Geary's C for scalars",
    "ratio_error": "standard error of ratio where the pairs are those of random roots",
    "z": "(mean_square - null_mean) / null_std",
    "p": "two-sided p of this hop, not corrected for the number of hops",
    "p_method": "permutation, or moments: Pearson type III with the exact mean and variance",
    "p_permutation": "p by random orders of the nodes, where drawn",
    "p_floor": "smallest p that the draws could give; NaN where p is exact, from all orders of the nodes",
    "draws_used": "random orders of the nodes",
    "q": "Benjamini-Hochberg q of this hop, over all columns",
    "moran": "Moran's I",
    "moran_z": "Moran's I less its mean, -1/(n - 1), over its standard deviation, over all orders of the nodes",
    "status": "ok, or why values are NaN",
    "n_pairs": "pairs of nodes at this hop distance",
    "n_pairs_error": "standard error of n_pairs where it is estimated from random roots",
}


def correlogram(
    strat: Any,
    signal: Any,
    hops: int | Iterable[int] | None = None,
    *,
    metric: str = "auto",
    columns: str = "joint",
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    zero_vectors: str = "error",
    draws: int = 999,
    max_draws: int = 99_999,
    roots: int | None = None,
    seed: int = 0,
) -> "xr.Dataset":
    r"""Test at each hop distance whether nodes are alike or unlike.

    .. math:: \text{ratio}_K = \frac{\sum_{d(x,y)=K} w\, \|t(x) - t(y)\|^2 \,/ \sum_{d(x,y)=K} w}
       {\frac{1}{n(n-1)} \sum_{x \ne y} \|t(x) - t(y)\|^2}

    The denominator is the mean of the numerator over all orders of the nodes' vectors. Below 1 nodes ``K`` hops apart
    are more alike than chance, above 1 less. For one number per node the ratio is Geary's C [1]_. Mean and standard
    deviation under the null are exact (Mantel [2]_), and so is z. No decomposition is needed.

    Parameters
    ----------
    strat : Stratification, or a graph in any form
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`; snapshots are tested one by one.
    hops, weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification.
    metric, zero_vectors
        As for :func:`spectrata.spectra`: vectors are compared by direction, unless ``metric="euclidean"``.
    columns : {"joint", "separate"}
        "joint": one vector per node. "separate": every column is one signal, euclidean; the result has a
        dimension ``column``, and ``q`` over the columns of each hop.
    draws : int
        Permutations of the nodes for p; with 0 there is no p.
    max_draws : int
        On fewer than 1,000 nodes a cell whose p is below .01 gets up to so many, until 20 were as extreme. Where these
        would take more than a few seconds in all, there are fewer; columns still get as many as let the clear
        ones reach q <= .05. ``draws_used`` has the number.
    roots : int, optional
        Read only the pairs that so many random nodes form with all others. Beyond 20,000 nodes that is the default,
        with 100 roots, where ``hops`` is not given. Hop 1 is always read whole. z and p are exact for the pairs read;
        ``ratio_error`` is the standard error of the ratio of all pairs.
    seed : int
        Decides the draws and the roots.

    Returns
    -------
    Dataset
        Over ``([snapshot,] [column,] hop)``: ``ratio``, ``z``, ``p``; ``mean_square`` with ``null_mean`` and
        ``null_std``; ``draws_used``, ``p_floor`` and ``p_method``; ``moran`` and ``moran_z`` for scalars; ``status``;
        and ``n_pairs(hop)``.

    Notes
    -----
    p is two-sided: twice the share of orders in the smaller tail, ties and the observed order counted. It is for one
    hop: among many hops some have a p below .05 by chance. On a graph with at most ``max_draws`` orders of its nodes
    (up to 8 nodes by default) every order counts once, and p is exact.

    From 1,000 nodes on a p below .01 comes from a Pearson type III distribution with the exact mean and variance, and
    with the exact skewness for scalars (from the draws for vectors). ``p_method`` names the method. Where the skewness
    is above .5 such tails are wrong, and p comes from permutations. The attribute ``moments_agreement`` is the share of
    the cells with both, up to 200 chosen at random, whose matched p lies in the 99 % interval of its draws.

    References
    ----------
    .. [1] Geary: The Contiguity Ratio and Statistical Mapping, The Incorporated Statistician 5, 1954.
    .. [2] Mantel: The Detection of Disease Clustering and a Generalized Regression Approach, Cancer Research 27, 1967.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> found = st.correlogram(nx.path_graph(12), range(12), hops=[1, 6, 11])
    >>> found["ratio"].values.round(3).tolist()
    [0.038, 1.385, 4.654]
    >>> found["z"].values.round(1).tolist()
    [-3.6, 1.0, 3.3]
    """
    one_of(columns, "columns", ("joint", "separate"))
    draws, max_draws = whole(draws, "draws", 0), whole(max_draws, "max_draws", 0)
    source = pair_source(strat, hops, weights, hop_weights, undirected, roots, seed)
    given = as_signal(signal, source.graph)
    separate = columns == "separate"
    if separate and metric == "angular":
        raise OptionError(
            "columns='separate' compares single numbers, which have no direction; leave out metric='angular'."
        )
    metric = "euclidean" if separate else resolve_metric(metric, given.values.shape[2])
    snapshots, _, dims = given.values.shape
    items = snapshots * dims if separate else snapshots
    work = Likeness(source, draws, max_draws, seed, items, separate or dims == 1, dims if separate else 1)
    cells = work.cells(lambda: blocks(given, metric, zero_vectors, source.graph.names, separate))
    facts = {"metric": metric, "columns": columns, "draws": draws, "max_draws": max_draws, "seed": seed}
    return _labelled(source, given, work, cells, separate, facts)


def _labelled(
    source: PairSource, given: Signal, work: Likeness, cells: Cells, separate: bool, facts: dict[str, Any]
) -> "xr.Dataset":
    import xarray as xr

    snapshots, _, count = given.values.shape
    shape = (snapshots, count if separate else 1, len(source.hops))
    time = given.snapshots is not None
    dims = ("snapshot",) * time + ("column",) * separate + ("hop",)

    def placed(array: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        array = array.reshape(shape)
        array = array if separate else array[:, 0]
        return dims, array if time else array[0]

    numbers = _numbers(cells, work.n)
    if separate:
        by_hop = np.moveaxis(cells.p.reshape(shape), 1, 2)
        numbers["q"] = np.moveaxis(adjust(by_hop), 2, 1)
    if source.roots:
        exact = np.array([not source.sampled(at) for at in range(len(source.hops))])
        numbers["ratio_error"] = np.where(exact & np.isfinite(cells.ratio), 0.0, cells.ratio_error)
    scalar = separate or count == 1
    order = [name for name in LONG_NAMES if name in numbers and (scalar or not name.startswith("moran"))]
    variables: dict[str, Any] = {name: placed(numbers[name]) for name in order}
    sizes = work.sizes
    pairs = sizes.pairs if source.roots else sizes.pairs.astype(np.int64)
    coords: dict[str, Any] = {"hop": list(source.hops), "n_pairs": ("hop", pairs)}
    if source.roots:
        coords["n_pairs_error"] = ("hop", sizes.error)
    if time:
        coords["snapshot"] = list(given.snapshots or ())
    if separate:
        coords["column"] = list(range(count) if given.columns is None else given.columns)
    ds = xr.Dataset(variables, coords, _attributes(source, given, cells, facts))
    for name in (*ds.data_vars, "n_pairs", "n_pairs_error"):
        if name in ds:
            ds[name].attrs["long_name"] = LONG_NAMES[str(name)]
    return ds


def _numbers(cells: Cells, n: int) -> dict[str, np.ndarray]:
    """Arrays ``(items, H)`` named as in the Dataset."""
    unit = cells.unit[:, None]
    # Of a signal with variance 1 the mean squared difference of two nodes is 2 n / (n - 1).
    null_mean = np.broadcast_to(_squared(unit), cells.ratio.shape) * (2 * n / max(n - 1, 1))
    methods = np.array(METHODS)[cells.p_method]
    drawn = np.where(cells.p_method == METHODS.index("permutation"), cells.draws, 0)
    exact = Orders(n, (0,), int(drawn.max(initial=0))).exhaustive  # all orders were counted: p is no estimate
    floor = np.divide(2.0, drawn + 1.0, out=np.full(drawn.shape, np.nan), where=(drawn > 0) & (not exact))
    return {
        "mean_square": cells.ratio * null_mean,
        "null_mean": null_mean,
        "null_std": cells.null_std * null_mean,
        "ratio": cells.ratio,
        "z": cells.z,
        "p": cells.p,
        "p_method": methods,
        "p_permutation": cells.p_permutation,
        "p_floor": floor,
        "draws_used": cells.draws,
        "moran": cells.moran,
        "moran_z": cells.moran_z,
        "status": cells.status.astype(str),
    }


def _squared(unit: np.ndarray) -> np.ndarray:
    """Squares in the signal's own units; NaN, with a warning, where they leave double precision."""
    fits = representable(np.where(np.isnan(unit), 0.0, unit))
    if not fits.all():
        warn(
            f"The squares of {np.count_nonzero(~fits)} signals leave the range of double precision: mean_square and "
            "its null are NaN there; divide the signal by its largest value."
        )
    return np.where(fits, unit, np.nan) ** 2


def _attributes(source: PairSource, given: Signal, cells: Cells, facts: dict[str, Any]) -> dict[str, Any]:
    graph = source.graph
    known = {
        "kind": "correlogram",
        "spectrata_version": __version__,
        "weights": source.weights,
        "roots": source.roots,
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_dimensions": given.values.shape[2],
        "graph_hash": graph.digest,
    }
    if given.kind:
        known["snapshot_kind"] = given.kind
    if np.isfinite(cells.agreement):
        known["moments_agreement"] = cells.agreement
        known["moments_confirmed"] = int(np.count_nonzero((cells.draws > 0) & np.isfinite(cells.p_moments)))
    return known | facts
