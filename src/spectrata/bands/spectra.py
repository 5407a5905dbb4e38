"""``band_spectra``: the energy of a signal per frequency band, per hop, without eigenvectors."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands import exact
from spectrata.bands.device import DeviceLaplacian, on_device
from spectrata.bands.labels import label
from spectrata.bands.one_hop import MAX_COLUMNS, one_hop
from spectrata.bands.operators import ArrayLaplacian, ForeignOperator, Operator, RowLaplacian, is_operator
from spectrata.bands.settings import check_settings
from spectrata.core.operators import COMBINATORIAL
from spectrata.core.operators import Operator as Laplacian
from spectrata.core.registry import require
from spectrata.core.resources import gib, require_memory
from spectrata.core.rows import hop_rows
from spectrata.core.strata import HOP_WEIGHTS, asked_hops
from spectrata.errors import HopError, OptionError
from spectrata.inputs.columns import by_column
from spectrata.inputs.device import DeviceGraph, as_device_graph, as_device_signal
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Signal, as_signal, potential
from spectrata.kernels.backend import NUMPY, Backend, backend_of
from spectrata.kernels.scaling import require_squarable

if TYPE_CHECKING:
    import xarray as xr

Progress = Callable[[str, float], None]


def band_spectra(
    graph: Any = None,
    signal: Any = None,
    bands: int | Iterable[float] = 32,
    hops: int | Iterable[int] | None = (1,),
    algorithms: str | Iterable[str] | None = None,
    metric: str = "auto",
    steps: int | str = "auto",
    tol: float = 0.01,
    *,
    columns: str = "joint",
    orientation: str = "rms",
    orientations: int = 4,
    spacing: str = "log",
    solver: str = "auto",
    seed: int = 0,
    zero_vectors: str = "error",
    device: str | Backend | None = None,
    edges: Any = None,
    adjacency: Any = None,
    n_nodes: int | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    laplacian: str = "combinatorial",
    self_loops: bool = False,
    progress: Progress | None = None,
) -> "xr.Dataset":
    r"""Measure the energy of a signal per frequency band, for graphs too large to decompose.

    The energy of a vertex signal ``f`` in a band is :math:`\sum_{\lambda_i \in band} (u_i^T C^{1/2} f)^2`, with
    :math:`u_i` the eigenvectors of :math:`C^{-1/2} L C^{-1/2}` and :math:`C` the node measure (1 for the combinatorial
    Laplacian); for "normalized" it is that of :math:`u_i^T f`. Up to 1,500 nodes it comes from a decomposition. Beyond,
    it comes from Lanczos quadrature of the signal-weighted spectral measure: no eigenvector is computed or stored.
    Components at eigenvalue 0 are taken out exactly before and reported on their own.

    Parameters
    ----------
    graph : graph-like, path or scipy.sparse.linalg.LinearOperator
        A graph as for :func:`spectrata.spectra`, or a Laplacian known by its products (algorithm gft, hop 1). A CSR
        matrix of cupyx or torch, and an ``edge_index``, that are on an NVIDIA GPU stay there.
    signal : array or any signal :func:`spectrata.spectra` takes
    bands : int or sequence of float
        Number of bands over the whole spectrum, or their edges, ascending. Energy outside given edges is not in any
        band: see ``energy_outside``.
    hops : int, iterable of int or None
        ``2``: up to 2; a list: exactly these; None: all. Strata beyond hop 1 are stored whole, and must fit in memory.
    algorithms : str or list of str, optional
        Of "gft", "apprx_ls" and "in_agg"; by default all that the Laplacian allows.
    metric, columns, zero_vectors
        As for :func:`spectrata.spectra`.
    steps : int or "auto"
        Lanczos steps; "auto" adds steps until the bounds on the cumulative distribution are within ``tol``, and
        decomposes small graphs instead.
    tol : float
        Share of the energy off zero to which cumulative values are known.
    orientation : {"rms", "random", "index"}
        Of the edges in apprx_ls. "rms": the mean over random orientations, from ``orientations`` of them, with a
        standard error; "random": one of them; "index": from lower to higher row.
    orientations : int
        Random orientations averaged by "rms".
    spacing : {"log", "width", "count"}
        "log": edges in geometric progression between the smallest and the largest eigenvalue off zero, the band of
        most eigenvalues cut in three: no band holds more than half of the components, unless one eigenspace does.
        "width": bands of equal width. "count": bands with equal numbers of eigenvalues. They are the same for all
        signals on a graph.
    solver : {"auto", "cg", "amg"}
        Of apprx_ls's Laplacian system: conjugate gradients with Jacobi's preconditioner, with algebraic multigrid
        (extra ``large``), or the second where the first is slow.
    seed : int
        Decides random orientations and the columns that probe the spectrum.
    device : {None, "cpu", "cuda", ...}
        Where to work; None follows the signal, and then the graph.
    edges, adjacency, n_nodes
        Instead of ``graph``, for arrays whose shape is ambiguous.
    weights, hop_weights, undirected
        As for :func:`spectrata.spectra`.
    laplacian : {"combinatorial", "random_walk", "normalized"}
        ``D - W``; ``I - D^-1 W`` with nodes weighted by their degrees; or ``I - D^-1/2 W D^-1/2``, which works with
        ``gft`` only.
    self_loops : bool
        Add a loop to every node: the operator of graph convolutional networks.
    progress : callable, optional
        Called as ``progress(message, fraction)``.

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
    if signal is None:
        raise OptionError("No signal was given; pass one number or one vector per node.")
    settings = check_settings(
        bands, algorithms, steps, tol, orientation, orientations, spacing, solver, seed, laplacian, self_loops
    )
    one_of(hop_weights, "hop_weights", HOP_WEIGHTS)
    backend = _backend(device, signal, graph, edges, adjacency)
    known: Graph | DeviceGraph
    with backend.active():
        if is_operator(graph):
            if weights not in (None, False) or settings.laplacian != COMBINATORIAL:
                raise OptionError("An operator is the Laplacian itself; leave out weights, laplacian and self_loops.")
            known, source = _operator_source(graph, hops)
        else:
            reading = {"n_nodes": n_nodes, "weights": weights, "undirected": undirected}
            known = _read_graph(backend, hops, graph, edges, adjacency, reading)
            source = hop_operators(known, hops, hop_weights, settings.laplacian, backend)
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
        found = [one_hop(hop, operator, values, settings, partial(_say_step, report, hop)) for hop, operator in source]
        report("done", 1.0)
        return label(known, given, values, found, settings, zero_vectors, hop_weights if known.weighted else "")


def _backend(device: str | Backend | None, *given: Any) -> Backend:
    """Where to work: as asked, or where the signal is, or else the graph."""
    for one in given:
        backend = backend_of(one, device)
        if backend != NUMPY or device is not None:
            return backend
    return NUMPY


def _read_graph(
    backend: Backend, hops: Any, graph: Any, edges: Any, adjacency: Any, reading: dict[str, Any]
) -> Graph | DeviceGraph:
    """The graph on the device where its form, the hops and its size allow that, in main memory elsewhere."""
    forms = [one for one in (graph, edges, adjacency) if one is not None]
    if backend != NUMPY and len(forms) == 1:
        found = as_device_graph(forms[0], backend, **reading)
        if found is not None:
            alone = asked_hops(hops) in (1, [1]) and found.n_nodes > exact.EXACT_NODES
            return found if alone else found.in_main_memory()
    return as_graph(graph, edges=edges, adjacency=adjacency, **reading)


def _say_step(report: Progress, hop: int, taken: int) -> None:
    report(f"K = {hop}, step {taken}", 0.0)


# ---- where strata come from


def hop_operators(
    graph: Graph | DeviceGraph,
    hops: int | Iterable[int] | None,
    hop_weights: str,
    laplacian: Laplacian,
    backend: Backend,
) -> Iterator[tuple[int, Operator]]:
    """The strata's operators one at a time: an int is cut at the diameter, a list is taken at its word."""
    if isinstance(graph, DeviceGraph):
        yield 1, DeviceLaplacian(graph.rows, laplacian)
        return
    wanted = asked_hops(hops)
    listed = isinstance(wanted, list)
    for hop in wanted if isinstance(wanted, list) else range(1, (wanted or graph.n_nodes) + 1):
        rows = hop_rows(graph, hop, hop_weights)
        if not len(rows.indices):
            if not listed:
                return
            raise HopError(f"hop {hop} is larger than the diameter of the graph; use smaller hops.")
        if backend == NUMPY:
            yield hop, RowLaplacian(*rows, laplacian)
        elif backend.has_cupy and graph.n_nodes > exact.EXACT_NODES:
            yield hop, DeviceLaplacian(on_device(*rows), laplacian)
        else:
            yield hop, ArrayLaplacian(*rows, laplacian, backend=backend)


def _operator_source(given: Any, hops: Any) -> tuple[Graph, Iterator[tuple[int, Operator]]]:
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
