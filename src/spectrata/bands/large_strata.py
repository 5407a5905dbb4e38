"""Gradient norms per hop of graphs whose strata do not fit: from searches of a few random roots."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.hop import OK
from spectrata.core.strata import asked_hops
from spectrata.errors import HopError
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.numbers import whole
from spectrata.inputs.signals import as_signal, potential
from spectrata.kernels import fast
from spectrata.kernels.scaling import require_squarable

if TYPE_CHECKING:
    import xarray as xr

FEW = "few roots hold most of this hop: take more"


def sampled_hops(
    graph: Any,
    signal: Any,
    roots: int = 100,
    hops: int | Iterable[int] | None = None,
    *,
    metric: str = "auto",
    seed: int = 0,
    zero_vectors: str = "error",
) -> "xr.Dataset":
    r"""Estimate squared gradient norms per hop from breadth-first searches of random roots.

    .. math:: \|g_K\|^2 = \frac{1}{2} \sum_x h_K(x), \qquad h_K(x) = \sum_{y:\, d(x, y) = K} g(x, y)^2

    With ``r`` roots drawn without replacement, ``n / (2 r)`` times their sum of ``h`` is unbiased, and its standard
    error comes from the roots' own spread. Each root costs one search and one pass over the signal. Every pair counts
    as 1: edge weights are not used.

    Parameters
    ----------
    graph : graph-like or path
    signal : array or any signal :func:`spectrata.spectra` takes
    roots : int
        Searches; all nodes when there are no more, which is exact.
    hops : None, int or iterable of int
        None: all that a root sees; ``3``: up to 3; a list: these.
    metric, zero_vectors
        As for :func:`spectrata.spectra`.
    seed : int
        Decides the roots.

    Returns
    -------
    xarray.Dataset
        ``squared_gradient_norm([snapshot,] hop)`` with ``squared_gradient_error``, its standard error, and
        ``pairs(hop)``, the edges of the stratum, with ``pairs_error``; ``status(hop)`` says where few roots hold most
        of it.

    Notes
    -----
    Hop 1 is exact: its edges are those of the graph. Elsewhere the true value lies within two standard errors in
    about 95 % of draws, from 100 roots on and where the status is "ok". The last hops before the diameter, which few
    nodes reach, have a status: their errors are too small as often as these nodes are missed.

    Examples
    --------
    >>> import networkx as nx
    >>> from spectrata.bands.large_strata import sampled_hops
    >>> found = sampled_hops(nx.path_graph(4), [0.0, 1.0, 2.0, 3.0], roots=4)
    >>> found["squared_gradient_norm"].values.tolist(), found["pairs"].values.tolist()
    ([3.0, 8.0, 9.0], [3.0, 2.0, 1.0])
    """
    import xarray as xr

    known = as_graph(graph)
    given = as_signal(signal, known)
    field = potential(given, metric, zero_vectors, known.names)
    if field.metric == "euclidean":
        require_squarable(given.values, "Squared gradients")
    n = known.n_nodes
    chosen = _chosen_roots(n, roots, seed)
    wanted = asked_hops(hops)
    listed = isinstance(wanted, list)
    last = wanted[-1] if isinstance(wanted, list) else wanted
    squares, sizes = _root_sums(known, field.values, chosen, last)
    reached = sizes.shape[1]
    if listed and last is not None and last > reached:
        raise HopError(f"No root reaches hop {last}; the farthest node seen is {reached} hops away.")
    shown = np.array(wanted) if listed else np.arange(1, min(last or reached, reached) + 1)
    mean, error = _population(squares[..., shown - 1], n)  # (T, h)
    pairs, pairs_error = _population(sizes[:, shown - 1].astype(float), n)  # (h,)
    if shown[0] == 1:  # all edges are at hand
        mean[:, 0], error[:, 0] = _edge_squares(known, field.values), 0.0
        pairs[0], pairs_error[0] = known.n_edges, 0.0
    status = np.where((_effective(sizes[:, shown - 1]) < len(chosen) / 2) & (pairs_error > 0), FEW, OK)
    factor = (field.scale**2)[:, None]
    mean, error = np.where(field.undefined[:, None], np.nan, mean * factor), error * factor
    time = given.snapshots is not None
    dims = ("snapshot", "hop") if time else ("hop",)
    variables: dict[str, Any] = {
        "squared_gradient_norm": (dims, mean if time else mean[0]),
        "squared_gradient_error": (dims, error if time else error[0]),
        "pairs": (("hop",), pairs),
        "pairs_error": (("hop",), pairs_error),
        "status": (("hop",), status),
    }
    coordinates: dict[str, Any] = {"hop": shown}
    if time:
        coordinates["snapshot"] = list(given.snapshots or ())
    attributes = {"spectrata_version": __version__, "roots": len(chosen), "seed": seed, "n_nodes": n}
    attributes |= {"metric": field.metric, "graph_hash": known.digest}
    return xr.Dataset(variables, coordinates, attributes)


def _chosen_roots(n: int, roots: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(n, size=min(whole(roots, "roots", 2), n), replace=False)


def _root_sums(graph: Graph, values: np.ndarray, roots: np.ndarray, limit: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squared gradients ``(r, T, h)`` and sizes ``(r, h)`` of the roots' spheres."""
    from spectrata.bands import spheres

    limit = limit or graph.n_nodes
    width = min(limit, 64)
    while True:
        squares = np.zeros((len(roots), len(values), width))
        sizes = np.zeros((len(roots), width), dtype=np.int64)

        def search(index: int, squares: np.ndarray = squares, sizes: np.ndarray = sizes) -> int:
            mark, queue = np.empty(graph.n_nodes, dtype=np.bool_), np.empty(graph.n_nodes, dtype=np.int64)
            return spheres.root_sums(
                graph.indptr, graph.indices, roots[index], values, mark, queue, squares[index], sizes[index]
            )

        farthest = max(fast._spread(search, range(len(roots))))
        if farthest <= width or width == limit:
            met = min(farthest, width)
            return squares[..., :met], sizes[:, :met]
        width = min(4 * width, limit)


def _edge_squares(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Sum of squared gradients over the graph's own edges: ``(T, n, d) -> (T,)``."""
    from spectrata.bands.operators import RowLaplacian

    operator, none = RowLaplacian(graph.indptr, graph.indices), np.zeros(0, dtype=np.uint64)
    return np.array([operator.gradients(np.ascontiguousarray(t), none)[2] for t in values])


def _effective(sizes: np.ndarray) -> np.ndarray:
    """How many equal roots would be worth these: ``(r, h) -> (h,)``."""
    sums = sizes.astype(float)
    return np.sum(sums, axis=0) ** 2 / np.maximum(np.sum(sums**2, axis=0), 1.0)


def _population(sums: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of the total over all nodes and its standard error, from the sums of some: ``(r, ...) -> (...)`` twice."""
    r = len(sums)
    left = 1.0 - r / n  # drawn without replacement: all of them would be exact
    return n / 2 * sums.mean(axis=0), n / 2 * sums.std(axis=0, ddof=1) * np.sqrt(left / r)
