"""Filter a signal, and measure its energy per node and frequency band."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.bands.edges import band_edges
from spectrata.bands.filters import Filtered
from spectrata.bands.settings import SPACINGS, given_bands
from spectrata.core.hop import ZERO_VECTOR
from spectrata.errors import OptionError
from spectrata.inputs.graphs import Graph
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.scaling import require_squarable, rescale, squarable
from spectrata.results.build import in_units
from spectrata.stats.describe.frequencies import HopFrequencies, Precision, Response, Source, require_room, source
from spectrata.stats.labelled import graph_variables, node_coordinates

if TYPE_CHECKING:
    import xarray as xr

NODES = "nodes"  # attribute "kind" of a result of node_energy
LONG_NAMES = {
    "energy": "energy of each node in each band",
    "zero_energy": "energy of each node at eigenvalue 0",
    "total_energy": "energy of all nodes at all eigenvalues, also those outside the bands",
    "energy_error": "bound on the sum over nodes of the absolute errors of energy",
    "band_lower": "lower edge of the band, not in it",
    "band_upper": "upper edge of the band, in it",
    "status": "ok, or why values are NaN or not as exact as asked",
    "edges": "rows of the nodes that each edge of the graph joins",
    "position": "where the node is, as the graph says",
    "node_row": "row of the node in the graph",
}


def filter_signal(
    graph: Any,
    signal: Any,
    band: Sequence[float | None] | None = None,
    hop: int = 1,
    *,
    response: Callable[[np.ndarray], Any] | None = None,
    weights: Any = None,
    exact: bool | None = None,
    tol: float = 0.1,
    steps: int | str = "auto",
) -> "xr.DataArray":
    r"""Filter a signal on a graph: keep one band of frequencies, or apply any frequency response.

    .. math:: y = \sum_i h(\lambda_i) \, \phi_i \, \phi_i^T C s

    with the eigenpairs of the stratum's Laplacian and its node measure :math:`C`; for "normalized" the orthonormal
    :math:`u_i` without :math:`C`. The signal itself is filtered, column by column; no metric is applied.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A Stratification also names the Laplacian; "combinatorial" for a graph.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`.
    band : (float or None, float or None)
        Keep eigenvalues in ``(lower, upper]``. ``(0, 1)`` leaves the components at eigenvalue 0 out; ``(None, 1)``
        keeps them: a low-pass. ``(1, None)`` is a high-pass.
    hop : int
        Which stratum.
    response : callable, instead of ``band``
        ``h``, from an array of eigenvalues to one of factors.
    weights
        As for :func:`spectrata.spectra`; not with a Stratification.
    exact : bool, optional
        True decomposes the graph; False uses polynomials of the Laplacian, for large graphs. By default up to 2,000
        nodes are decomposed.
    tol : float
        Error at which polynomials stop, as a share of the norm of the signal off zero (times the largest factor, for
        ``response``).
    steps : int or "auto"
        Degree of the polynomials; "auto" adds to it until the error is within ``tol``, up to 2,048.

    Returns
    -------
    xarray.DataArray
        ``([snapshot,] node[, dimension])``, as the signal. The coordinate ``error`` bounds
        :math:`\| C^{1/2} (y - y_{exact}) \|` of each snapshot, up to rounding where the graph is decomposed.
        ``status`` says "ok" or that ``tol`` was not reached.

    Notes
    -----
    An eigenvalue within its own error bound of an edge counts as lying on it (by polynomials: within 2e-10 of the
    largest), and eigenvalues that their error bounds do not tell apart are kept or left out together. The bound of
    ``response`` rests on the largest difference on a fine grid of eigenvalues: it holds for functions that are smooth
    between its points.

    Examples
    --------
    The ring of four has the eigenvalues 0, 2, 2, 4.

    >>> import networkx as nx, numpy as np, spectrata as st
    >>> ring = nx.cycle_graph(4)
    >>> st.filter_signal(ring, [3.0, 0.0, 1.0, 0.0], band=(3, None)).values.round(6).tolist()
    [1.0, -1.0, 1.0, -1.0]
    >>> smoothing = np.polynomial.Polynomial([1, -0.25])  # 1 - lam / 4
    >>> st.filter_signal(ring, [3.0, 0.0, 1.0, 0.0], response=smoothing).values.round(3).tolist()
    [1.5, 1.0, 0.5, 1.0]
    """
    if (band is None) == (response is None):
        raise OptionError("Give either band=(lower, upper) or response=, a function of the eigenvalues.")
    precision = Precision.given(tol, steps)
    given = source(graph, [whole(hop, "hop")], exact, weights)
    known = as_signal(signal, given.graph)
    shape = known.values.shape
    require_room(given.graph, shape[0] * shape[2], 3)
    values, scale = squarable(known.values, (1, 2))  # (T, n, d), (T, 1, 1)
    columns = np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(shape[1], -1)  # (n, T d)
    at = next(given.each(given.operator, precision))
    zero, rest = at.split(columns)
    if response is not None:
        checked = _checked(response)
        found, place, kept = at.responded(rest, checked), 0, float(checked(np.zeros(1))[0])
    else:
        assert band is not None
        found, place, kept = _banded(at, rest, band)
    filtered = at.signal(found.values[place] + kept * zero)
    out = rescale(filtered.reshape(shape[1], shape[0], shape[2]).transpose(1, 0, 2), scale)
    error = np.sqrt(np.sum(found.error[place].reshape(shape[0], -1) ** 2, axis=1)) * scale[:, 0, 0]
    facts = _facts(given) | {"hop": at.hop, "exact": int(given.exact), "degree": found.degree}
    facts["band"] = str(getattr(response, "__name__", "response") if band is None else tuple(band))
    return _labelled(out, error, found.status, known, given.graph, _is_flat(signal, known), facts)


def _checked(response: Callable[[np.ndarray], Any]) -> Response:
    def checked(values: np.ndarray) -> np.ndarray:
        found = np.asarray(response(values))
        if found.dtype.kind not in "fiub" or found.shape not in (values.shape, ()):
            raise OptionError(
                f"response gave {found.dtype} of shape {found.shape} for {len(values)} eigenvalues; give one real "
                "factor for each."
            )
        if not np.isfinite(found).all():
            bad = values[~np.isfinite(np.broadcast_to(found, values.shape))]
            raise OptionError(f"response is not finite at the eigenvalue {bad[0]:g}; define it there.")
        return np.broadcast_to(found, values.shape).astype(float)

    return checked


def _banded(at: HopFrequencies, rest: np.ndarray, band: Sequence[float | None]) -> tuple[Filtered, int, float]:
    """Filter columns by one interval: all bands that it makes, which of them it is, and its factor at 0."""
    try:
        lower, upper = (None if edge is None else float(edge) for edge in band)
    except (TypeError, ValueError):
        raise OptionError(f"band={band!r} is not (lower, upper), two numbers or None.") from None
    low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
    if not low < high or np.isnan([low, high]).any():
        raise OptionError(f"band={band!r} is empty; it keeps eigenvalues above the first and up to the second number.")
    edges = [edge for edge in (low, high) if 0.0 < edge < np.inf]
    found = at.in_bands(rest, np.array(edges))
    if high <= 0.0:
        found = Filtered(np.zeros((1, *rest.shape)), np.zeros((1, rest.shape[1])), 0)
    return found, int(low > 0.0), float(low < 0.0 <= high)


def _is_flat(signal: Any, known: Signal) -> bool:
    """Say whether a signal has no axis of columns."""
    axes = getattr(signal, "ndim", None)
    if axes is None:
        axes = np.ndim(signal) if isinstance(signal, (list, tuple)) else 1
    return known.values.shape[2] == 1 and axes < 2 and known.snapshots is None


def _labelled(
    values: np.ndarray, error: np.ndarray, status: str, signal: Signal, graph: Graph, flat: bool, facts: dict[str, Any]
) -> "xr.DataArray":
    import xarray as xr

    time = signal.snapshots is not None
    dims = (("snapshot",) if time else ()) + (("node",) if flat else ("node", "dimension"))
    array = values if time else values[0]
    coords: dict[str, Any] = node_coordinates(graph)
    coords |= {"error": ("snapshot", error) if time else error[0], "status": status}
    if time:
        coords["snapshot"] = list(signal.snapshots or ())
    if signal.columns is not None and not flat:
        coords["dimension"] = list(signal.columns)
    return xr.DataArray(array[:, 0] if flat else array, coords, dims, "filtered", facts)


def _facts(given: Source) -> dict[str, Any]:
    return {
        "laplacian": given.operator.laplacian,
        "self_loops": int(given.operator.self_loops),
        "weights": given.weights,
        "graph_hash": given.graph.digest,
        "n_nodes": given.graph.n_nodes,
        "spectrata_version": __version__,
    }


def node_energy(
    graph: Any,
    signal: Any,
    bands: int | Iterable[float] = 4,
    hops: int | Iterable[int] | None = 1,
    *,
    weights: Any = None,
    metric: str = "auto",
    zero_vectors: str = "error",
    spacing: str = "log",
    exact: bool | None = None,
    tol: float = 0.1,
    steps: int | str = "auto",
    seed: int = 0,
) -> "xr.Dataset":
    r"""Measure the energy of a signal at each node, per hop and frequency band.

    .. math:: e(x, b) = c(x) \left\| \sum_{\lambda_i \in b} \phi_i(x) \, \phi_i^T C t \right\|^2

    with :math:`t` the signal as :func:`spectrata.spectra` reads it; for "normalized" the orthonormal :math:`u_i`
    without :math:`c`. The sum over nodes is the energy of the band, :math:`\sum_{\lambda_i \in b} M(i)^2` of ``gft``.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A Stratification also names the Laplacian; "combinatorial" for a graph.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`.
    bands : int or sequence of float
        Number of bands over the whole spectrum, or their edges, ascending.
    hops : int, iterable of int or None
        ``2``: up to 2; a list: exactly these; None: all (of a Stratification: its own).
    weights
        As for :func:`spectrata.spectra`; not with a Stratification.
    metric, zero_vectors
        As for :func:`spectrata.spectra`.
    spacing : {"log", "width", "count"}
        Bands of equal width, or with equal numbers of eigenvalues.
    exact, tol, steps
        As for :func:`spectrata.filter_signal`.
    seed : int
        Decides the columns that probe the spectrum of a large graph for its bands.

    Returns
    -------
    xarray.Dataset
        ``energy([snapshot,] node, hop, band)``; ``zero_energy`` at eigenvalue 0; ``total_energy([snapshot,] hop)`` of
        all nodes and eigenvalues; ``energy_error([snapshot,] hop, band)``, a bound on the sum over nodes of the
        absolute errors; ``band_lower``, ``band_upper``; ``status``; the graph's ``edges`` and, where it has them,
        positions, for :func:`spectrata.plot.nodes`.

    Notes
    -----
    Bands are ``(lower, upper]``, the last takes all that lies above, and what lies below the first edge is in none.
    An eigenvalue within its own error bound of an edge counts as lying on it, and eigenvalues that their error
    bounds do not tell apart stay together.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.node_energy(nx.path_graph(4), [0.0, 1.0, 0.0, 1.0], bands=[0, 2, 4])
    >>> ds["energy"].sel(hop=1).values.round(2).tolist()
    [[0.06, 0.06], [0.01, 0.36], [0.01, 0.36], [0.06, 0.06]]
    >>> ds["energy"].sum("node").values.round(2).tolist()
    [[0.15, 0.85]]
    """
    precision = Precision.given(tol, steps)
    one_of(spacing, "spacing", SPACINGS)
    cut = given_bands(bands)
    seed = whole(seed, "seed", 0)
    given = source(graph, hops, exact, weights)
    known = as_signal(signal, given.graph)
    field = potential(known, metric, zero_vectors, given.graph.names)
    if field.metric == "euclidean":
        require_squarable(known.values, "Energies")
    count = cut if isinstance(cut, int) else len(cut) - 1
    require_room(given.graph, known.values.shape[2], count + 1)
    found = [_hop_energy(at, field, cut, spacing) for at in given.each(given.operator, precision, seed)]
    asked = {"bands": cut if isinstance(cut, int) else cut.tolist(), "spacing": spacing, "seed": seed}
    asked |= {"zero_vectors": zero_vectors, "exact": given.exact, "tol": tol, "steps": steps}
    facts = _facts(given) | {"kind": NODES, "metric": field.metric, "options": json.dumps(asked)}
    return _dataset(found, field, known, given.graph, facts)


def _hop_energy(at: HopFrequencies, field: Potential, bands: int | np.ndarray, spacing: str) -> dict[str, Any]:
    """Compute ``energy (T, n, B)``, ``zero (T, n)``, ``total (T,)``, ``error (T, B)``, ``status (T,)`` of one hop."""
    edges = band_edges(at.spectrum, bands, spacing)
    # What lies below the first edge is a band of its own, left out at the end.
    first = int(edges[0] > 0.0)
    inner = edges[:-1] if first else edges[1:-1]
    energy, zero, total, error, status = [], [], [], [], []
    for t, undefined in zip(field.values, field.undefined, strict=True):
        constant, rest = at.split(t)
        parts = at.in_bands(rest, inner)
        energy.append(np.sum(parts.values[first:] ** 2, axis=2).T)
        zero.append(np.sum(constant**2, axis=1))
        total.append(np.sum(constant**2) + np.sum(rest**2))
        # sum | |y + e|^2 - |y|^2 | <= 2 |y| |e| + |e|^2
        off = np.sqrt(np.sum(parts.error[first:] ** 2, axis=1))
        error.append(2 * np.sqrt(np.sum(energy[-1], axis=0)) * off + off**2)
        status.append(ZERO_VECTOR if undefined else parts.status)
    return {
        "hop": at.hop,
        "edges": edges,
        "energy": np.stack(energy),
        "zero": np.stack(zero),
        "total": np.array(total),
        "error": np.stack(error),
        "status": np.array(status, dtype=object),
    }


def _dataset(
    found: list[dict[str, Any]], field: Potential, signal: Signal, graph: Graph, facts: dict[str, Any]
) -> "xr.Dataset":
    import xarray as xr

    time = signal.snapshots is not None
    front = ("snapshot",) if time else ()

    def joined(name: str, axis: int, dims: tuple[str, ...]) -> tuple[tuple[str, ...], np.ndarray]:
        array = np.stack([hop[name] for hop in found], axis=axis)
        if array.dtype.kind == "f":
            array = in_units(array, field.scale**2, field.undefined)
        array = array.astype(str) if array.dtype == object else array
        return (*front, *dims), array if time else array[0]

    cut = np.stack([hop["edges"] for hop in found])  # (hop, B + 1)
    variables: dict[str, Any] = {
        "energy": joined("energy", 2, ("node", "hop", "band")),
        "zero_energy": joined("zero", 2, ("node", "hop")),
        "total_energy": joined("total", 1, ("hop",)),
        "energy_error": joined("error", 1, ("hop", "band")),
        "status": joined("status", 1, ("hop",)),
    } | graph_variables(graph)
    coords = node_coordinates(graph) | {"hop": [hop["hop"] for hop in found], "band": np.arange(cut.shape[1] - 1)}
    coords |= {"band_lower": (("hop", "band"), cut[:, :-1]), "band_upper": (("hop", "band"), cut[:, 1:])}
    if time:
        coords["snapshot"] = list(signal.snapshots or ())
    ds = xr.Dataset(variables, coords, facts)
    for name, words in LONG_NAMES.items():
        if name in ds.variables:
            ds[name].attrs["long_name"] = words
    return ds
