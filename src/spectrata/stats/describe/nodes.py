"""Filter a signal, and measure its energy per node and frequency band."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from spectrata.bands.edges import band_edges
from spectrata.bands.filters import Filtered
from spectrata.bands.result import NAMES as BAND_NAMES
from spectrata.bands.settings import SPACINGS, given_bands
from spectrata.core.hop import ZERO_VECTOR
from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import Potential, as_signal, potential
from spectrata.kernels.scaling import require_squarable, rescale, squarable
from spectrata.results.build import along_rows, in_units, with_long_names
from spectrata.stats.describe.frequencies import HopFrequencies, require_room, stratified
from spectrata.stats.labelled import graph_variables, made_from, node_coordinates

# The variables of node_energy: their dimensions behind snapshot and hop, and their names in words.
ENERGIES = {
    "energy": (("node", "band"), "energy of each node in each band"),
    "zero_energy": (("node",), "energy of each node at eigenvalue 0"),
    "total_energy": ((), "energy of all nodes at all eigenvalues, also those outside the bands"),
    "energy_error": (("band",), "bound on the sum over nodes of the absolute errors of energy"),
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
) -> xr.DataArray:
    r"""Filter a signal on a graph: keep one band of frequencies, or apply any frequency response.

    .. math:: y = \sum_i h(\lambda_i) \, \phi_i \, \phi_i^T C s

    with the eigenpairs of the stratum's Laplacian and its node measure :math:`C`; for "normalized" the orthonormal
    :math:`u_i` without :math:`C`. The signal itself is filtered, column by column; no metric is applied.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A Stratification also names the Laplacian; "combinatorial" for a graph.
    signal, weights
        As for :func:`spectrata.spectra`; no weights with a Stratification.
    band : (float or None, float or None)
        Keep eigenvalues in ``(lower, upper]``. ``(0, 1)`` leaves the components at eigenvalue 0 out; ``(None, 1)``
        keeps them: a low-pass. ``(1, None)`` is a high-pass.
    hop : int
        Which stratum.
    response : callable, instead of ``band``
        ``h``, from an array of eigenvalues to one of factors.
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
    strat, exact, at_hop = stratified(graph, [whole(hop, "hop")], weights, exact, tol, steps)
    known = as_signal(signal, strat.graph)
    snapshots, n, d = known.values.shape
    require_room(n, snapshots * d, 3)
    values, scale = squarable(known.values, (1, 2))  # (T, n, d), (T, 1, 1)
    at = next(at_hop)
    zero, rest = at.split(np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(n, -1))  # (n, T d) each
    if response is not None:
        factors = partial(_factors, response)
        found, place, kept = at.responded(rest, factors), 0, float(factors(np.zeros(1))[0])
    else:
        found, place, kept = _banded(at, rest, band)
    root = at.root if at.operator.weighs_signals else 1.0  # columns are C^1/2 s
    filtered = ((found.values[place] + kept * zero) / root).reshape(n, snapshots, d).transpose(1, 0, 2)
    error = np.sqrt(np.sum(found.error[place].reshape(snapshots, -1) ** 2, axis=1)) * scale[:, 0, 0]
    axes = known.axes
    coords: dict[str, Any] = axes | node_coordinates(strat.graph) | {"status": found.status}
    coords |= {"error": along_rows(error, ("snapshot",), axes)}
    coords |= {} if known.columns is None else {"dimension": list(known.columns)}
    facts = made_from(strat, strat.computing.operator()) | {"hop": hop, "exact": int(exact), "degree": found.degree}
    facts["band"] = str(getattr(response, "__name__", "response") if band is None else tuple(band))
    dims, array = along_rows(rescale(filtered, scale), ("snapshot", "node", "dimension"), axes)
    out = xr.DataArray(array, coords, dims, "filtered", facts)
    axes_given = getattr(signal, "ndim", np.ndim(signal) if isinstance(signal, (list, tuple)) else 1)
    flat = d == 1 and axes_given < 2 and known.snapshots is None  # without an axis of columns
    return out.isel(dimension=0, drop=True) if flat else out


def _factors(response: Callable[[np.ndarray], Any], values: np.ndarray) -> np.ndarray:
    found = np.asarray(response(values))
    if found.dtype.kind not in "fiub" or found.shape not in (values.shape, ()):
        words = f"response gave {found.dtype} of shape {found.shape} for {len(values)} eigenvalues"
        raise OptionError(f"{words}; give one real factor for each.")
    found = np.broadcast_to(found, values.shape).astype(float)
    if not np.isfinite(found).all():
        bad = values[~np.isfinite(found)][0]
        raise OptionError(f"response is not finite at the eigenvalue {bad:g}; define it there.")
    return found


def _banded(at: HopFrequencies, rest: np.ndarray, band: Any) -> tuple[Filtered, int, float]:
    """Filter columns by one interval: all bands that it makes, which of them it is, and its factor at 0."""
    try:
        low, high = (end if edge is None else float(edge) for edge, end in zip(band, (-np.inf, np.inf), strict=True))
    except (TypeError, ValueError):
        raise OptionError(f"band={band!r} is not (lower, upper), two numbers or None.") from None
    if not low < high:
        raise OptionError(f"band={band!r} is empty; it keeps eigenvalues above the first and up to the second number.")
    edges = [edge for edge in (low, high) if 0.0 < edge < np.inf]
    found = at.in_bands(rest if high > 0.0 else np.zeros_like(rest), np.array(edges))
    return found, int(low > 0.0), float(low < 0.0 <= high)


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
) -> xr.Dataset:
    r"""Measure the energy of a signal at each node, per hop and frequency band.

    .. math:: e(x, b) = c(x) \left\| \sum_{\lambda_i \in b} \phi_i(x) \, \phi_i^T C t \right\|^2

    with :math:`t` the signal as :func:`spectrata.spectra` reads it; for "normalized" the orthonormal :math:`u_i`
    without :math:`c`. The sum over nodes is the energy of the band, :math:`\sum_{\lambda_i \in b} M(i)^2` of ``gft``.

    Parameters
    ----------
    graph : graph-like, path or Stratification
        A Stratification also names the Laplacian; "combinatorial" for a graph.
    signal, weights, metric, zero_vectors
        As for :func:`spectrata.spectra`; no weights with a Stratification.
    bands : int or sequence of float
        Number of bands over the whole spectrum, or their edges, ascending.
    hops : int, iterable of int or None
        ``2``: up to 2; a list: exactly these; None: all (of a Stratification: its own).
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
    Eigenvalues near an edge are treated as in :func:`spectrata.filter_signal`.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.node_energy(nx.path_graph(4), [0.0, 1.0, 0.0, 1.0], bands=[0, 2, 4])
    >>> ds["energy"].sel(hop=1).values.round(2).tolist()
    [[0.06, 0.06], [0.01, 0.36], [0.01, 0.36], [0.06, 0.06]]
    >>> ds["energy"].sum("node").values.round(2).tolist()
    [[0.15, 0.85]]
    """
    one_of(spacing, "spacing", SPACINGS)
    cut, seed = given_bands(bands), whole(seed, "seed", 0)
    strat, exact, at_hops = stratified(graph, hops, weights, exact, tol, steps, seed)
    known = as_signal(signal, strat.graph)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    if field.metric == "euclidean":
        require_squarable(known.values, "Energies")
    asked: dict[str, Any] = {"bands": cut if isinstance(cut, int) else cut.tolist(), "spacing": spacing, "seed": seed}
    asked |= {"zero_vectors": zero_vectors, "exact": exact, "tol": tol, "steps": steps}
    require_room(strat.graph.n_nodes, known.values.shape[2], cut + 1 if isinstance(cut, int) else len(cut))
    found = [_hop_energy(at, field, cut, spacing) for at in at_hops]
    axes = known.axes
    status = np.stack([hop["status"] for hop in found], axis=1)
    variables: dict[str, Any] = {"status": along_rows(status, ("snapshot", "hop"), axes)}
    for name, (dims, words) in ENERGIES.items():
        array = in_units(np.stack([hop[name] for hop in found], axis=1), field.scale**2, field.undefined)
        variables[name] = (*along_rows(array, ("snapshot", "hop", *dims), axes), {"long_name": words})
    edges = np.stack([hop["edges"] for hop in found])  # (hop, B + 1)
    coords = node_coordinates(strat.graph) | {"hop": list(strat.hops), "band": np.arange(edges.shape[1] - 1)} | axes
    for name, own in (("band_lower", edges[:, :-1]), ("band_upper", edges[:, 1:])):
        coords[name] = (("hop", "band"), own, {"long_name": BAND_NAMES[name]})
    facts = made_from(strat, strat.computing.operator()) | {"kind": "nodes", "metric": field.metric}
    ds = xr.Dataset(variables | graph_variables(strat.graph), coords, facts | {"options": json.dumps(asked)})
    return with_long_names(ds).transpose("snapshot", "node", "hop", "band", ..., missing_dims="ignore")


def _hop_energy(at: HopFrequencies, field: Potential, bands: int | np.ndarray, spacing: str) -> dict[str, np.ndarray]:
    """Compute the energies of one hop, its first axis the snapshots, and the ``edges`` of its bands."""
    edges = band_edges(at.spectrum, bands, spacing)
    # What lies below the first edge is a band of its own, left out at the end.
    first = int(edges[0] > 0.0)
    inner = edges[:-1] if first else edges[1:-1]
    found: dict[str, list[Any]] = {name: [] for name in (*ENERGIES, "status")}
    for t, undefined in zip(field.values, field.undefined, strict=True):
        constant, rest = at.split(t)
        parts = at.in_bands(rest, inner)
        energy = np.sum(parts.values[first:] ** 2, axis=2)  # (B, n)
        found["energy"].append(energy.T)
        found["zero_energy"].append(np.sum(constant**2, axis=1))
        found["total_energy"].append(np.sum(constant**2) + np.sum(rest**2))
        # sum | |y + e|^2 - |y|^2 | <= 2 |y| |e| + |e|^2
        off = np.sqrt(np.sum(parts.error[first:] ** 2, axis=1))
        found["energy_error"].append(2 * np.sqrt(np.sum(energy, axis=1)) * off + off**2)
        found["status"].append(ZERO_VECTOR if undefined else parts.status)
    return {name: np.array(values) for name, values in found.items()} | {"edges": edges}
