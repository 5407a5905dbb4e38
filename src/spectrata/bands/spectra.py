"""``band_spectra``: the energy of a signal per frequency band, per hop, without eigenvectors."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.bands.labels import HopBands, label
from spectrata.bands.large_strata import hop_rows
from spectrata.bands.measure import Group, Spectrum, measure, probe, remove_zero
from spectrata.bands.operators import ArrayLaplacian, ForeignOperator, Operator, RowLaplacian, is_operator
from spectrata.bands.settings import LEAST_SQUARES, Settings, check_settings
from spectrata.bands.solve import solve_laplacian
from spectrata.core.operators import COMBINATORIAL
from spectrata.core.operators import Operator as Laplacian
from spectrata.core.registry import require
from spectrata.core.resources import gib, require_memory
from spectrata.core.strata import HOP_WEIGHTS, asked_hops
from spectrata.errors import HopError, OptionError
from spectrata.inputs.columns import by_column
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.backend import NUMPY, Backend, backend_of, like, namespace
from spectrata.kernels.scaling import require_squarable

if TYPE_CHECKING:
    import xarray as xr

# Share of the energy by which a solve to its residual can move a cumulative value, with room to spare.
SOLVED = 1e-7
# Columns in one block: the product's cost per column hardly falls beyond, its memory grows.
MAX_COLUMNS = 32
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
    spacing: str = "width",
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
    Laplacian); for "normalized" it is that of :math:`u_i^T f`. It comes from Lanczos quadrature of the
    signal-weighted spectral measure: no eigenvector is computed or stored. Components at eigenvalue 0 are taken out
    exactly before and reported on their own.

    Parameters
    ----------
    graph : graph-like, path or scipy.sparse.linalg.LinearOperator
        A graph as for :func:`spectrata.spectra`, or a Laplacian known by its products (algorithm gft, hop 1).
    signal : array or any signal :func:`spectrata.spectra` takes
    bands : int or sequence of float
        Number of bands over the whole spectrum, or their edges, ascending.
    hops : int, iterable of int or None
        ``2``: up to 2; a list: exactly these; None: all. Hops beyond 1 are made whole, while that fits in memory.
    algorithms : str or list of str, optional
        Of "gft", "apprx_ls" and "in_agg"; by default all that the Laplacian allows.
    metric, columns, zero_vectors
        As for :func:`spectrata.spectra`.
    steps : int or "auto"
        Lanczos steps; "auto" adds steps until the bounds on the cumulative distribution are within ``tol``.
    tol : float
        Share of the energy off zero to which cumulative values are known.
    orientation : {"rms", "random", "index"}
        Of the edges in apprx_ls. "rms": the mean over random orientations, from ``orientations`` of them, with a
        standard error; "random": one of them; "index": from lower to higher row.
    orientations : int
        Random orientations averaged by "rms".
    spacing : {"width", "count"}
        Bands of equal width, or with equal numbers of eigenvalues (estimated, the same for all signals on a graph).
    solver : {"auto", "cg", "amg"}
        Of apprx_ls's Laplacian system: conjugate gradients with Jacobi's preconditioner, with algebraic multigrid
        (extra ``large``), or the second where the first is slow.
    seed : int
        Decides random orientations and the columns that probe the spectrum.
    device : {None, "cpu", "cuda", ...}
        Where to work; None follows the signal.
    edges, adjacency, n_nodes
        Instead of ``graph``, for arrays whose shape alone does not tell which they are.
    weights, hop_weights, undirected
        As for :func:`spectrata.spectra`.
    laplacian : {"combinatorial", "random_walk", "normalized"}
        ``D - W``; ``I - D^-1 W`` with nodes weighted by their degrees; or ``I - D^-1/2 W D^-1/2``, which serves
        ``gft`` alone.
    self_loops : bool
        Add a loop to every node: the operator of graph convolutional networks.
    progress : callable, optional
        Called as ``progress(message, fraction)``.

    Returns
    -------
    xarray.Dataset
        ``energy(algorithm, [snapshot,] [column,] hop, band)`` with ``band_lower``, ``band_upper``; ``zero_energy`` at
        eigenvalue 0; ``cumulative``: the share of the energy off zero at or below ``band_upper``, between
        ``cumulative_lower`` and ``cumulative_upper``, which are rigorous up to rounding and wider than the error;
        ``steps`` taken; ``energy_error``, the standard error over orientations; ``band_size``, an estimate of the
        eigenvalues in a band. Magnitudes with the zero components first, and then a band as one component, make
        plots, ``compare`` and the rest accept it.

    Notes
    -----
    Bands are ``(lower, upper]``; the last takes all that lies above. For "width" the largest eigenvalue lies in the
    middle of the last band, which keeps edges away from the simple fractions of it where regular graphs put many
    eigenvalues. Cost per step: one product of the Laplacian with all columns; memory: about four blocks of the
    signal's size, whatever the steps.

    References
    ----------
    Golub, Meurant: Matrices, Moments and Quadrature, Princeton 2010, chapters 5 to 7.

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
    backend = backend_of(signal, device)
    if is_operator(graph):
        if weights not in (None, False) or settings.laplacian != COMBINATORIAL:
            raise OptionError("An operator is the Laplacian itself; leave out weights, laplacian and self_loops.")
        known, source = _operator_source(graph, hops)
    else:
        known = as_graph(
            graph, edges=edges, adjacency=adjacency, n_nodes=n_nodes, weights=weights, undirected=undirected
        )
        source = hop_operators(known, hops, hop_weights, settings.laplacian, backend)
    weighted = known.weights is not None
    if weighted:
        words = "not defined for edge weights, which serve"
        require(settings.algorithms, lambda row: bool(row.in_bands) and row.weighted, words)
    given = by_column(as_signal(signal, known), columns, metric)
    values = potential(given, metric, zero_vectors, known.names)
    if values.metric == "euclidean":
        require_squarable(given.values, "Energies")
    _require_memory(known, given, settings)
    report = progress or (lambda message, fraction: None)
    found = []
    for hop, operator in source:
        said = partial(_say_step, report, hop)
        found.append(_one_hop(hop, operator, values, settings, said))
    report("done", 1.0)
    shown = known if known.n_edges else None
    rule = hop_weights if weighted else ""
    return label(shown, known.n_nodes, given, values, found, settings, zero_vectors, rule)


def _say_step(report: Progress, hop: int, taken: int) -> None:
    report(f"K = {hop}, step {taken}", 0.0)


# ---- where strata come from


def hop_operators(
    graph: Graph, hops: int | Iterable[int] | None, hop_weights: str, laplacian: Laplacian, backend: Backend
) -> Iterator[tuple[int, Operator]]:
    """The strata's operators one at a time: an int is cut at the diameter, a list is taken at its word."""
    wanted = asked_hops(hops)
    listed = isinstance(wanted, list)
    for hop in wanted if isinstance(wanted, list) else range(1, (wanted or graph.n_nodes) + 1):
        rows = hop_rows(graph, hop, hop_weights)
        if not len(rows.indices):
            if not listed:
                return
            raise HopError(f"hop {hop} lies past the diameter of the graph; leave it out.")
        if backend == NUMPY:
            yield hop, RowLaplacian(*rows, laplacian)
        else:
            yield hop, ArrayLaplacian(*rows, laplacian, backend=backend)


def _operator_source(given: Any, hops: Any) -> tuple[Graph, Iterator[tuple[int, Operator]]]:
    operator = given if isinstance(given, Operator) else ForeignOperator(given)
    if hops not in (1, (1,), [1]):
        raise HopError("An operator stands for one stratum; leave hops out.")
    n = operator.n
    empty = Graph(n, np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), tuple(range(n)))
    return empty, iter([(1, operator)])


def _require_memory(graph: Graph, signal: Signal, settings: Settings) -> None:
    width = min(MAX_COLUMNS, max(signal.values.shape[2], 8))
    needed = 5 * 8 * graph.n_nodes * width + (24 if graph.weights is None else 32) * len(graph.indices)
    require_memory(needed, f"Bands of {graph.n_nodes:,} nodes ({gib(needed)})", "use a signal with fewer columns")


# ---- one hop


@dataclass(eq=False)
class _Columns:
    """Columns waiting for a block: whose they are, and what they weigh."""

    algorithm: int
    snapshot: int
    block: Any  # (n, c)


@dataclass(eq=False)
class _Tally:
    """Sums over the groups of each algorithm and snapshot."""

    shape: tuple[int, int, int]  # algorithms, T, interior edges
    lower: np.ndarray = field(init=False)
    upper: np.ndarray = field(init=False)
    mass: np.ndarray = field(init=False)
    spread: np.ndarray = field(init=False)  # variance of the mean over orientations, per band
    steps: np.ndarray = field(init=False)
    settled: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        algorithms, snapshots, edges = self.shape
        self.lower, self.upper = np.zeros((2, algorithms, snapshots, edges))
        self.mass = np.zeros((algorithms, snapshots))
        self.spread = np.zeros((algorithms, snapshots, edges + 1))
        self.steps = np.zeros((algorithms, snapshots), dtype=np.int64)
        self.settled = np.ones((algorithms, snapshots), dtype=bool)

    def add(self, owner: _Columns, group: Group, allowance: float, averaged: bool) -> None:
        at = owner.algorithm, owner.snapshot
        self.lower[at] += np.maximum(group.lower - allowance * group.mass, 0.0)
        self.upper[at] += np.minimum(group.upper + allowance * group.mass, group.mass)
        self.mass[at] += group.mass
        self.steps[at] = max(self.steps[at], group.steps)
        self.settled[at] &= group.settled
        if averaged and group.columns is not None and group.column_mass is not None:
            count = len(group.columns)
            energy = np.diff(np.column_stack([group.columns, group.column_mass]), axis=1, prepend=0.0)
            # Columns carry 1 / count each, so that their sum is the mean.
            self.spread[at] += count * energy.var(axis=0, ddof=1)


def _one_hop(
    hop: int, operator: Operator, values: Potential, settings: Settings, progress: Callable[[int], None]
) -> HopBands:
    spectrum = probe(operator, settings.seed)
    cut = band_edges(spectrum, settings.bands, settings.spacing)
    interior = cut[1:-1]
    snapshots = len(values.values)
    zero = np.zeros((len(settings.algorithms), snapshots))
    squares = np.zeros(snapshots)
    tally = _Tally((len(settings.algorithms), snapshots, len(interior)))
    waiting: list[_Columns] = []

    def flush() -> None:
        if waiting:
            xp = namespace(waiting[0].block)
            block = xp.concat([c.block for c in waiting], axis=1) if len(waiting) > 1 else waiting[0].block
            owners = np.repeat(np.arange(len(waiting)), [c.block.shape[1] for c in waiting])
            for owner in waiting:
                owner.block = None
            groups = measure(operator, block, owners, interior, settings.steps, settings.tol, progress)
            for owner, group in zip(waiting, groups, strict=True):
                solved = settings.signals[owner.algorithm] == LEAST_SQUARES
                averaged = solved and settings.orientation == "rms"
                tally.add(owner, group, SOLVED if solved else 0.0, averaged)
            waiting.clear()

    for t in np.flatnonzero(~values.undefined):
        signals, squares[t] = _node_signals(hop, operator, values.values[t], settings)
        for row, kind in enumerate(settings.signals):
            weighs = operator.laplacian.weighs_signals and kind != LEAST_SQUARES
            block, energy = remove_zero(operator, signals[kind], weighs=weighs)
            zero[row, t] = energy.sum() if kind != LEAST_SQUARES else 0.0
            for start in range(0, block.shape[1], MAX_COLUMNS):
                piece = block[:, start : start + MAX_COLUMNS]
                if sum(c.block.shape[1] for c in waiting) + piece.shape[1] > MAX_COLUMNS:
                    flush()
                waiting.append(_Columns(row, int(t), piece))
            del block
    flush()
    parts = operator.parts
    sizes = None if parts is None else np.bincount(parts)
    off_zero = operator.n - (0 if sizes is None else len(sizes))
    return HopBands(
        hop=hop,
        edges=cut,
        sizes=(
            -1 if operator.n_edges is None else operator.n_edges,
            -1 if sizes is None else len(sizes),
            -1 if sizes is None else int(np.count_nonzero(sizes == 1)),
        ),
        band_size=off_zero * np.diff(np.concatenate([[0.0], spectrum.below(interior), [1.0]])),
        lower=tally.lower,
        upper=tally.upper,
        mass=tally.mass,
        zero=zero,
        error=np.sqrt(tally.spread),
        steps=tally.steps,
        settled=tally.settled,
        squares=squares if hasattr(operator, "pieces") or squares.any() else np.full(snapshots, np.nan),
    )


def band_edges(spectrum: Spectrum, bands: int | np.ndarray, spacing: str) -> np.ndarray:
    """Edges of the bands, from 0 up to beyond the largest eigenvalue: ``(bands + 1,)``."""
    if isinstance(bands, np.ndarray):
        return bands
    count, top = bands, spectrum.top or 1.0
    width = top / (count - 0.5)
    if spacing == "width":
        return width * np.arange(count + 1)
    inside = spectrum.quantiles(np.arange(1, count) / count)
    cut = np.concatenate([[0.0], inside, [count * width]])
    if not np.all(np.diff(cut) > 0):
        raise OptionError(
            f"The spectrum has too few distinct eigenvalues for {count} bands of equal count; use spacing='width'."
        )
    return cut


def _node_signals(hop: int, operator: Operator, t: np.ndarray, settings: Settings) -> tuple[dict[str, Any], float]:
    """The node signals whose energies are measured, ``(n, c)`` by kind, and the squared gradient norm.

    The least-squares signal is ``C^1/2 f`` already.
    """
    here = operator.asarray(np.ascontiguousarray(t))
    signals: dict[str, Any] = {"potential": here}
    plain = isinstance(operator, ForeignOperator) and not hasattr(operator.given, "gradients")
    if plain and set(settings.signals) == {"potential"}:
        return signals, float(np.sum(t * operator.times(t)))  # sum lam M^2 = sum g^2
    mean, divergence, squares = operator.gradients(here, settings.keys(hop))
    signals["node_means"] = mean[:, None]
    if LEAST_SQUARES in settings.signals:
        if operator.measure is not None:
            divergence = divergence / like(np.sqrt(operator.measure), divergence)[:, None]
        f, _ = solve_laplacian(operator, divergence, settings.solver)
        signals[LEAST_SQUARES] = f / np.sqrt(f.shape[1])
    return signals, squares
