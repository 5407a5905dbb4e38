"""``band_spectra``: the energy of a signal per frequency band, per hop, without eigenvectors."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands import exact
from spectrata.bands.one_hop import MAX_COLUMNS, one_hop
from spectrata.bands.operators import ArrayLaplacian, ForeignOperator, Operator, RowLaplacian, is_operator
from spectrata.bands.result import label
from spectrata.bands.settings import Settings, check_settings
from spectrata.core.distance_strata import require_hops
from spectrata.core.operators import Laplacian
from spectrata.core.parallel import Progress
from spectrata.core.plan import Computing
from spectrata.core.registry import require
from spectrata.core.resources import gib, require_memory
from spectrata.core.spectra import refuse_graph_arguments
from spectrata.core.strata import Strata, Stratum, asked_hops, is_first_hop
from spectrata.core.stratification import Stratification
from spectrata.core.stratum_rows import hop_rows
from spectrata.errors import HopError, OptionError
from spectrata.inputs.device import DeviceGraph, as_device_graph, as_device_signal
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.signals import Signal, as_signal, by_column, potential
from spectrata.kernels.backend import NUMPY, Backend, backend_of
from spectrata.kernels.scaling import require_squarable

if TYPE_CHECKING:
    import xarray as xr

FIRST_HOP = (1,)


def band_spectra(
    graph: Any,
    signal: Any,
    bands: int | Iterable[float] = 32,
    *,
    hops: int | Iterable[int] | None = FIRST_HOP,
    algorithms: str | Iterable[str] | None = None,
    weights: Any = None,
    metric: str = "auto",
    columns: str = "joint",
    zero_vectors: str = "error",
    spacing: str = "log",
    tol: float = 0.01,
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    r"""Measure the energy of a signal per frequency band, for graphs too large to decompose.

    The energy of a vertex signal ``f`` in a band is :math:`\sum_{\lambda_i \in band} (u_i^T C^{1/2} f)^2`, with
    :math:`u_i` the eigenvectors of :math:`C^{-1/2} L C^{-1/2}` and :math:`C` the node measure (1 for the combinatorial
    Laplacian); for "normalized" it is that of :math:`u_i^T f`. Up to 1,500 nodes it comes from a decomposition. Beyond,
    it comes from Lanczos quadrature of the signal-weighted spectral measure: no eigenvector is computed or stored.
    Components at eigenvalue 0 are taken out exactly before and reported on their own.

    Parameters
    ----------
    graph : graph-like, path, Stratification or scipy.sparse.linalg.LinearOperator
        A graph as for :func:`spectrata.spectra`, or a Laplacian known by its products (algorithm gft, hop 1). A
        :class:`Stratification` says how a graph is read and computed (``laplacian``, ``self_loops``, ``hop_weights``,
        ``device``, ``progress``). A CSR matrix of cupyx or torch, and an ``edge_index``, that are on an NVIDIA GPU
        stay there; without a ``device`` the place of the signal, and then of the graph, decides.
    signal : array or any signal :func:`spectrata.spectra` takes
    bands : int or sequence of float
        Number of bands over the whole spectrum, or their edges, ascending. Energy outside given edges is not in any
        band: see ``energy_outside``.
    hops : int, iterable of int or None
        ``2``: up to 2; a list: exactly these; None: all. Strata beyond hop 1 are stored whole, and must fit in memory.
    algorithms : str or list of str, optional
        Of "gft", "apprx_ls" and "in_agg"; by default all that the Laplacian allows.
    weights, metric, columns, zero_vectors
        As for :func:`spectrata.spectra`.
    spacing : {"log", "width", "count"}
        "log": edges in geometric progression between the smallest and the largest eigenvalue off zero, the band of
        most eigenvalues cut in three: no band holds more than half of the components, unless one eigenspace does.
        "width": bands of equal width. "count": bands with equal numbers of eigenvalues. They are the same for all
        signals on a graph.
    tol : float
        Share of the energy off zero to which cumulative values are known.
    seed : int
        Decides random orientations and the columns that probe the spectrum.
    **options : mapping
        ``lanczos={"steps": 40}`` takes exactly so many steps, also on small graphs; by default steps are added until
        the bounds on the cumulative distribution are within ``tol``, and small graphs are decomposed instead.
        ``apprx_ls`` may have ``"orientation"`` ("rms": the mean over random orientations, with a standard error;
        "random": one of them; "index": from lower to higher row), ``"orientations"`` (how many "rms" averages: 4) and
        ``"solver"`` of its Laplacian system ("cg": conjugate gradients with Jacobi's preconditioner; "amg": with
        algebraic multigrid, extra ``large``; "auto": the second where the first is slow).

    Returns
    -------
    xarray.Dataset
        ``energy(algorithm, [snapshot,] [column,] hop, band)`` with ``band_lower``, ``band_upper``; ``zero_energy`` at
        eigenvalue 0; ``cumulative``: the share of the energy off zero at or below ``band_upper``, between the bounds
        ``cumulative_lower`` and ``cumulative_upper``; ``energy_lower`` and ``energy_upper``; ``steps`` taken, 0 for a
        decomposition; ``energy_error``, the standard error over orientations; ``band_size``, the eigenvalues in a
        band, with ``band_size_error``; ``chance``, their share. The status is "ok" where all bounds are within
        ``tol``. Magnitudes with the zero components first, and then a band as one component, make plots, ``compare``
        and the rest accept it.

    Notes
    -----
    Bands are ``(lower, upper]``. An eigenvalue on an edge belongs to the band below; ``edge_energy`` is the energy
    within rounding of the upper edge (2e-10 of the largest eigenvalue). When ``bands`` is a number, the last band takes
    all that lies above. For "width" the largest eigenvalue lies in the middle of the last band, which keeps edges away
    from the simple fractions of it where regular graphs put many eigenvalues.

    spectrata reads the connected parts of an operator from its attribute ``parts``, one label per node. Without it, the
    energy at eigenvalue 0 is measured like a band: ``zero_energy`` is within the bounds, and ``n_parts`` is -1.

    Cost per step: one product of the Laplacian with all columns; memory: about four blocks of the signal's size,
    whatever the steps. On a GPU, columns of 131,072 nodes or more are stored in single precision where ``tol`` is at
    least 1e-3. Sums are in double precision, and the bounds include the rounding. Where it keeps them wider than
    ``tol``, the steps are repeated in double precision.

    References
    ----------
    Golub, Meurant: Matrices, Moments and Quadrature, Princeton 2010, chapters 5 to 7.
    Greenbaum: Behavior of slightly perturbed Lanczos and conjugate-gradient recurrences, Lin. Alg. Appl. 113, 1989.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graph = nx.random_regular_graph(4, 3000, seed=1)
    >>> signal = np.random.default_rng(0).standard_normal(3000)
    >>> ds = st.band_spectra(graph, signal, bands=8, algorithms="gft")
    >>> ds["energy"].dims, bool(ds["energy"].sum() > 0)
    (('algorithm', 'hop', 'band'), True)
    """
    computing, hop_weights = Computing(), "bottleneck"
    if isinstance(graph, Stratification):
        require_hops(graph, "band_spectra")
        refuse_graph_arguments("A Stratification", hops=None if hops is FIRST_HOP else hops, weights=weights)
        computing, hop_weights = graph.computing, graph.strata.hop_weights
        graph, hops = graph.graph, list(graph.hops)
    settings = check_settings(bands, algorithms, spacing, tol, seed, computing.operator(), options)
    return measure_bands(
        graph, signal, settings, hops, weights, hop_weights, metric, columns, zero_vectors, computing.device,
        computing.progress,
    )  # fmt: skip


def measure_bands(
    graph: Any,
    signal: Any,
    settings: Settings,
    hops: int | Iterable[int] | None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    metric: str = "auto",
    columns: str = "joint",
    zero_vectors: str = "error",
    device: str | Backend | None = None,
    progress: Progress | None = None,
) -> "xr.Dataset":
    """``band_spectra`` of a graph in any form, which may stay on a device, with checked settings."""
    backend = backend_of(signal, device)
    if device is None and backend == NUMPY:
        backend = backend_of(graph)
    known: Graph | DeviceGraph
    with backend.active():
        if is_operator(graph):
            known, source = _operator_source(graph, hops, weights)
        else:
            known, source = _graph_source(graph, hops, weights, hop_weights, settings, backend)
        if known.weighted:
            words = "not defined for edge weights, which serve"
            require(settings.algorithms, lambda row: bool(row.in_bands) and row.weighted, words)
        read = as_device_signal(signal, known) if isinstance(known, DeviceGraph) else as_signal(signal, known)
        given = by_column(read, columns, metric)
        values = potential(given, metric, zero_vectors, known.names)
        if values.metric == "euclidean":
            require_squarable(given.values, "Energies")
        _require_memory(known, given, backend)
        report = progress or (lambda message, fraction: None)
        found = [one_hop(hop, at, values, settings, report) for hop, at in source]
        report("done", 1.0)
        return label(known, given, values, found, settings, zero_vectors, hop_weights if known.weighted else "")


# ---- where strata come from

Source = Iterator[tuple[int, Stratum | Operator]]


def _graph_source(
    graph: Any, hops: Any, weights: Any, hop_weights: str, settings: Settings, backend: Backend
) -> tuple[Graph | DeviceGraph, Source]:
    """The graph, on the device where its form, the hops and its size allow that; strata to decompose, or operators."""
    there = None if backend == NUMPY else as_device_graph(graph, backend, weights=weights)
    if there is not None and is_first_hop(hops) and there.n_nodes > exact.EXACT_NODES:
        return there, hop_operators(there, hops, hop_weights, settings.laplacian, backend)
    known = as_graph(graph, weights=weights) if there is None else there.in_main_memory()
    if known.n_nodes > exact.EXACT_NODES or settings.steps is not None:
        return known, hop_operators(known, hops, hop_weights, settings.laplacian, backend)
    strata = Strata(known, hops, hop_weights)
    return known, ((hop, strata.at(hop, backend)) for hop in strata.hops)


def hop_operators(
    graph: Graph | DeviceGraph, hops: Any, hop_weights: str, laplacian: Laplacian, backend: Backend
) -> Iterator[tuple[int, Operator]]:
    """The strata's operators one at a time: an int is cut at the diameter, a list is taken at its word."""
    if isinstance(graph, DeviceGraph):
        from spectrata.bands.fused_laplacian import DeviceLaplacian

        yield 1, DeviceLaplacian(graph.rows, laplacian)
        return
    wanted = asked_hops(hops)
    for hop in wanted if isinstance(wanted, list) else range(1, (wanted or graph.n_nodes) + 1):
        rows = hop_rows(graph, hop, hop_weights)
        if not len(rows.indices):
            if not isinstance(wanted, list):
                return
            raise HopError(f"hop {hop} is larger than the diameter of the graph; use smaller hops.")
        if backend == NUMPY:
            yield hop, RowLaplacian(*rows, laplacian)
        elif backend.has_cupy:
            from spectrata.bands.fused_laplacian import DeviceLaplacian, on_device

            yield hop, DeviceLaplacian(on_device(*rows), laplacian)
        else:
            yield hop, ArrayLaplacian(*rows, laplacian, backend=backend)


def _operator_source(given: Any, hops: Any, weights: Any) -> tuple[Graph, Source]:
    if weights not in (None, False):
        raise OptionError("An operator is the Laplacian itself; leave out weights.")
    operator = given if isinstance(given, Operator) else ForeignOperator(given)
    if hops not in (1, (1,), [1]):
        raise HopError("An operator stands for one stratum; leave hops out.")
    n = operator.n
    empty = Graph(n, np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), tuple(range(n)))
    return empty, iter([(1, operator)])


def _require_memory(graph: Graph | DeviceGraph, signal: Signal, backend: Backend) -> None:
    width = min(MAX_COLUMNS, max(signal.values.shape[2], 8))
    needed = 5 * 8 * graph.n_nodes * width
    if not isinstance(graph, DeviceGraph):  # whose rows are there already
        needed += (24 if graph.weights is None else 32) * len(graph.indices)
    work = f"Bands of {graph.n_nodes:,} nodes ({gib(needed)})"
    require_memory(needed, work, "use a signal with fewer columns", backend.free_memory())
