"""The order of work: graph -> strata -> eigenbases -> algorithms -> Dataset.

A ``Stratification`` owns what depends on the graph alone and is done once. A call
of ``spectra`` goes hop by hop, keeps of each hop only its magnitudes, and puts
labels on at the end.
"""

import os
import threading
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core import resources
from spectrata.core.algorithms import ALGORITHMS, ENSEMBLES, Hop, Output
from spectrata.core.algorithms.base import OK, ZERO_VECTOR
from spectrata.core.algorithms.ln_vx import check_line_sizes
from spectrata.core.bases.cache import BasisCache
from spectrata.core.bases.complement import complement
from spectrata.core.bases.partial import partial_basis
from spectrata.core.bases.solve import EigenBasis, decompose
from spectrata.core.plan import Plan, make_plan
from spectrata.core.strata import Strata, Stratum, centred, line_stratum
from spectrata.errors import OptionError, SpectrataWarning
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.signals import Potential, as_signal, potential
from spectrata.kernels import fast
from spectrata.kernels.backend import NUMPY, Backend, backend_of, to_numpy
from spectrata.kernels.scaling import put_back, raise_tiny
from spectrata.results.files import HopResult, build

if TYPE_CHECKING:
    import xarray as xr

CHUNK_BYTES = 2**27  # gradients of so many bytes at a time when there are many snapshots
LONG_RUN = 60.0  # seconds from which an estimate is said first
Progress = Callable[[str, float], None]


class Stratification:
    """A graph with its strata and their eigenbases, each made once, when first needed.

    Parameters
    ----------
    graph : graph-like or path
        networkx, igraph, PyG or DGL graph, sparse or dense adjacency, integer edges, or a file.
    hops : None, int or iterable of int
        None: all; ``3``: up to 3, cut at the diameter; a list: exactly these.
    edges, adjacency, n_nodes
        Instead of ``graph``, for arrays whose shape alone does not tell which they are.
    max_basis_bytes : int
        Eigenbases are kept between calls while they fit in this; the rest are solved again.
    cache : path, optional
        A folder for eigenbases: solved once, read in every later run on the same graph.

    Attributes
    ----------
    graph : Graph
    strata : sequence of Stratum
        One for each hop; needs no decomposition.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(4))
    >>> [stratum.n_edges for stratum in strat.strata]
    [3, 2, 1]
    >>> ds = strat.spectra([0.0, 1.0, 0.0, 1.0])
    >>> dict(ds.sizes)["hop"]
    3
    """

    def __init__(
        self,
        graph: Any = None,
        hops: int | Iterable[int] | None = None,
        *,
        edges: Any = None,
        adjacency: Any = None,
        n_nodes: int | None = None,
        max_basis_bytes: int = 2**31,
        cache: str | os.PathLike | None = None,
    ) -> None:
        self.graph: Graph = as_graph(graph, edges=edges, adjacency=adjacency, n_nodes=n_nodes)
        n = self.graph.n_nodes
        resources.require_memory(
            resources.distance_bytes(n),
            f"The hop distances between {n:,} nodes",
            "use st.band_spectra(graph, signal), which needs no distances (profile --bands 32)",
        )
        self.strata = Strata(self.graph, hops)
        self.all_hops = hops is None
        self.max_basis_bytes = max_basis_bytes
        self._kept: dict[tuple, Any] = {}
        self._kept_bytes = 0
        self._lock = threading.RLock()
        self._first: EigenBasis | None = None  # of a graph of diameter 2, whose second stratum shares it
        self.cache: BasisCache | None = None
        if cache is not None:
            self.use_cache(cache)

    @property
    def hops(self) -> tuple[int, ...]:
        """The hop distances of this stratification."""
        return self.strata.hops

    @property
    def diameter(self) -> int:
        """The largest hop distance between connected nodes."""
        return self.strata.diameter

    def __repr__(self) -> str:
        return f"Stratification({self.graph.n_nodes} nodes, {self.graph.n_edges} edges, hops {self.hops})"

    def basis(self, hop: int, laplacian: str = "combinatorial", backend: Backend = NUMPY) -> EigenBasis:
        """The eigenbasis of one stratum: its ``values``, and its vectors as an array by ``dense()``."""
        if laplacian not in ("combinatorial", "normalized"):
            raise OptionError(f"laplacian={laplacian!r} is not one of 'combinatorial', 'normalized'.")
        return self._basis(self.strata.at(hop, backend), laplacian, "float64", backend)

    def use_cache(self, folder: str | os.PathLike) -> None:
        """Take eigenbases from a folder from now on, and put there those it lacks."""
        self.cache = BasisCache(folder, self.graph.digest)

    def _basis(self, stratum: Stratum, laplacian: str, dtype: str, backend: Backend) -> EigenBasis:
        key = ("basis", stratum.hop, laplacian, dtype, backend)
        return self._remember(key, lambda: self._find_basis(stratum, laplacian, dtype, backend))

    def _find_basis(self, stratum: Stratum, laplacian: str, dtype: str, backend: Backend) -> EigenBasis:
        """From the disk, from the first stratum's basis, or solved."""
        if self.cache is not None:
            found = self.cache.load(stratum, laplacian, dtype, backend)
            if found is not None:
                return found
        paired = self.diameter == 2 and (laplacian, dtype, backend) == ("combinatorial", "float64", NUMPY)
        basis = None
        if paired and stratum.hop == 2 and self._first is not None:
            basis = complement(self._first, stratum)
        if basis is None:
            basis = decompose(stratum, laplacian, dtype)
        if paired and stratum.hop == 1:
            self._first = basis
        if self.cache is not None:
            self.cache.store(stratum, laplacian, dtype, backend, basis)
        return basis

    def _remember(self, key: tuple, make: Callable[[], Any]) -> Any:
        """What ``make()`` gave the first time, while it fits; one maker at a time, so threads share the work."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
            made = make()
            if self._kept_bytes + made.nbytes <= self.max_basis_bytes:
                self._kept[key] = made
                self._kept_bytes += made.nbytes
            return made

    def spectra(
        self,
        signal: Any,
        algorithms: str | Iterable[str] | None = None,
        *,
        preset: str | None = None,
        metric: str = "auto",
        zero_vectors: str = "error",
        seed: int = 0,
        keep: Iterable[str] | None = None,
        device: str | Backend | None = None,
        dtype: str = "float64",
        n_eigs: int | None = None,
        which: str = "lowest",
        progress: Progress | None = None,
        **options: Any,
    ) -> "xr.Dataset":
        """Compute the stratified spectra of a signal; see :func:`spectra`."""
        plan = make_plan(algorithms, preset, seed, keep, dtype, options, self.graph.n_nodes, n_eigs, which)
        backend = NUMPY if plan.n_eigs is not None else backend_of(signal, device)
        known = as_signal(signal, self.graph)
        field = potential(known, metric, zero_vectors, self.graph.names)
        sizes = self.strata.sizes
        check_line_sizes({hop: sizes[hop] for hop in self.hops if "ln_vx" in plan.needed(hop)}, plan.options)
        self._announce(plan, backend)
        report = progress or (lambda message, fraction: None)
        results = []
        for index, hop in enumerate(self.hops):
            report(f"K = {hop}", index / len(self.hops))
            inner = partial(_inner_progress, report, hop, index, len(self.hops))
            results.append(self._hop_result(hop, field, plan, backend, inner))
        report("done", 1.0)
        attributes = {
            "metric": field.metric,
            "seed": plan.seed,
            "parameters": plan.to_json(self.hops, zero_vectors),
        }
        return build(self.graph, known, results, plan.algorithms, attributes, "signal" in plan.keep)

    def _announce(self, plan: Plan, backend: Backend) -> None:
        """Memory that does not fit is an error now; a long run says how long."""
        n = self.graph.n_nodes
        if plan.n_eigs is not None:
            return
        kept = 8 * n * n * len(self.hops) if "eigenvectors" in plan.keep else 0
        resources.require_memory(
            resources.solve_bytes(n) + kept,
            f"A full decomposition of {n:,} nodes" + (" with all eigenvectors kept" if kept else ""),
            "use st.band_spectra(graph, signal), which needs no decomposition (profile --bands 32)",
            backend.free_memory(),
        )
        if self.all_hops and n >= 1500 and backend == NUMPY:
            seconds = resources.solve_seconds([n] * len(self.hops))
            if seconds > LONG_RUN:
                warnings.warn(
                    f"All {len(self.hops)} hops of {n:,} nodes will take up to {resources.duration(seconds)} "
                    "on this machine; pass hops=3, say, to do less.",
                    SpectrataWarning,
                    stacklevel=3,
                )

    def _hop_result(
        self, hop: int, field: Potential, plan: Plan, backend: Backend, progress: Callable[[int, int], None]
    ) -> HopResult:
        """Everything at one hop; edges and eigenvectors live only inside."""
        stratum = self.strata.at(hop, backend)
        if plan.n_eigs is None:
            basis = self._basis(stratum, plan.options.laplacian, plan.dtype, backend)
        else:
            key = ("partial", hop, plan.n_eigs, plan.which)
            basis = self._remember(key, partial(partial_basis, stratum, plan.n_eigs, plan.which))
        weights = plan.ens_weights(hop)
        # What this hop makes is kept for its own snapshots, whatever fits between calls.
        scratch: dict[tuple, Any] = {}

        def remember(key: tuple, make: Callable[[], Any]) -> Any:
            if key not in scratch:
                scratch[key] = self._remember(key, make)
            return scratch[key]

        chunks = []
        for rows in _snapshot_chunks(len(field.values), stratum.n_edges):
            values, zero = field.values[rows], None
            if plan.dtype == "float32" and plan.options.laplacian == "combinatorial":
                values, zero = centred(stratum, values)
            values = backend.asarray(values, plan.dtype)
            gradient, small = raise_tiny(fast.edge_lengths(values, stratum.edges))
            work = Hop(
                stratum=stratum,
                basis=basis,
                potential=values,
                gradient=gradient,
                line=lambda: remember(
                    ("line", hop, plan.dtype, backend),
                    lambda: decompose(line_stratum(stratum), dtype=plan.dtype),
                ),
                remember=remember,
                seed=plan.seed,
                progress=progress,
            )
            chunks.append(_apply_algorithms(work, plan, weights, field.scale[rows], small, zero))
        outputs = {
            name: _join([outputs[name] for outputs, _ in chunks], plan.keep) for name in plan.algorithms
        }
        norms = np.concatenate([norm for _, norm in chunks])
        statuses = {name: _blank_undefined(output, field.undefined) for name, output in outputs.items()}
        norms[field.undefined] = np.nan
        return HopResult(
            hop=hop,
            sizes=(stratum.n_edges, stratum.n_parts, stratum.n_singletons),
            values=basis.values,
            eigenspace=basis.eigenspace,
            multiplicity=basis.multiplicity,
            outputs=outputs,
            statuses=statuses,
            gradient_norm=norms,
            weights=weights,
            eigenvectors=basis.dense() if "eigenvectors" in plan.keep else None,
        )


def spectra(
    graph: Any = None,
    signal: Any = None,
    algorithms: str | Iterable[str] | None = None,
    *,
    hops: int | Iterable[int] | None = None,
    edges: Any = None,
    adjacency: Any = None,
    n_nodes: int | None = None,
    cache: str | os.PathLike | None = None,
    **arguments: Any,
) -> "xr.Dataset":
    """Compute the stratified spectra of a signal on a graph.

    At every hop distance ``K``: join the nodes that are exactly ``K`` hops apart, decompose
    the Laplacian of that graph, and measure how strongly the signal carries each eigencomponent.

    Parameters
    ----------
    graph : graph-like or path
        networkx, igraph, PyG or DGL graph, sparse or dense adjacency, integer edges, or a file.
    signal : array, mapping, DataFrame, DataArray, tensor or path
        ``(n,)``, ``(n, d)``, ``(T, n, d)`` for T snapshots, or node -> vector.
    algorithms : str or list of str, optional
        Of "gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens", "ens_raw"; the first four by default.
    hops : None, int or iterable of int
        None: all; ``3``: up to 3, cut at the diameter; a list: exactly these.
    edges, adjacency, n_nodes
        Instead of ``graph``, for arrays whose shape alone does not tell which they are.
    cache : path, optional
        A folder for eigenbases: solved once, read in every later run on the same graph.
    preset : {"paper"}, optional
        Everything as published: all algorithms, ``orientation="index"``, learned LN-VX, Task 3's ENS weights.
    metric : {"auto", "euclidean", "angular"}
        Length of the difference of two nodes' vectors; "auto" is euclidean for d = 1 and angular for d > 1.
    zero_vectors : {"error", "nan"}
        What a zero vector does under the angular metric: stop, or leave its snapshot NaN with a status.
    seed : int
        Decides random orientations and the learning of LN-VX.
    keep : list of {"eigenvectors", "signal", "trials"}, optional
        What to store besides; all of it by default for up to 200 nodes, none of it beyond.
    device : {None, "cpu", "cuda", "cuda:0", ...}
        Where to work; None follows the signal: tensors of torch or cupy on a GPU stay there.
    dtype : {"float64", "float32"}
        Precision of eigenbases and magnitudes; single precision keeps about four digits.
    n_eigs, which : int, optional, and {"lowest", "highest"}
        Only so many components from one end of the spectrum, on the CPU; repeated eigenvalues keep their
        true multiplicity. Not with ``ln_vx`` and the ensembles, which take all components.
    progress : callable, optional
        Called as ``progress(message, fraction)`` while working.
    **options
        Options of the algorithms: see :class:`spectrata.Options`.

    Returns
    -------
    xarray.Dataset
        ``magnitude(algorithm, [snapshot,] hop, component)`` with eigenvalues, eigenspaces, status and more.

    References
    ----------
    Meng, Orr, Swarup: Stratified Graph Spectra, arXiv 2201.03696.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.cycle_graph(4), [2.0, 1.0, 2.0, 1.0], algorithms="gft", hops=1)
    >>> ds["magnitude"].loc["gft", 1].values.round(6).tolist()
    [3.0, 0.0, 0.0, 1.0]
    """
    if signal is None:
        raise OptionError("No signal was given; pass one number or one vector per node.")
    strat = Stratification(
        graph, hops, edges=edges, adjacency=adjacency, n_nodes=n_nodes, max_basis_bytes=0, cache=cache
    )
    return strat.spectra(signal, algorithms, **arguments)


def _inner_progress(report: Progress, hop: int, index: int, total: int, done: int, of: int) -> None:
    report(f"K = {hop}, learning", (index + done / of) / total)


def _snapshot_chunks(snapshots: int, edges: int) -> list[slice]:
    step = max(1, CHUNK_BYTES // (8 * max(1, edges)))
    return [slice(start, start + step) for start in range(0, snapshots, step)]


def _apply_algorithms(
    work: Hop,
    plan: Plan,
    weights: dict[str, float] | None,
    scale: np.ndarray,
    small: np.ndarray,
    zero: np.ndarray | None,
) -> tuple[dict[str, Output], np.ndarray]:
    """Magnitudes by every algorithm needed, in the signal's own units, and the gradients' norms.

    ``scale`` was taken out of the signal, ``small`` out of the gradients, both powers of two; ``zero`` are the
    zero components of ``gft`` where the signal is given without them.
    """
    outputs = {}
    for name in plan.needed(work.stratum.hop):
        factor = scale if name == "gft" else scale * small  # gft alone reads no gradients
        outputs[name] = ALGORITHMS[name](work, plan.options).scaled(factor)
    if zero is not None and "gft" in outputs:
        outputs["gft"].magnitude[:, : zero.shape[1]] = put_back(zero, scale[:, None])
    for name in plan.algorithms:
        if name in ENSEMBLES and weights is not None:
            outputs[name] = ENSEMBLES[name](outputs, weights)
    norms = to_numpy(work.xp.sqrt(work.xp.sum(work.gradient**2, axis=1)))
    return outputs, put_back(norms, scale * small)


def _join(chunks: list[Output], keep: frozenset[str]) -> Output:
    """Outputs of consecutive runs of snapshots as one; per-trial arrays only when they are kept."""
    extras = {}
    for name, (dims, first) in chunks[0].extras.items():
        if name in ("ln_vx_trial_magnitude", "ln_vx_row_norm") and "trials" not in keep:
            continue
        along = dims.index("snapshot") if "snapshot" in dims else None
        arrays = [chunk.extras[name][1] for chunk in chunks]
        extras[name] = (dims, first if along is None else np.concatenate(arrays, axis=along))
    return Output(np.concatenate([chunk.magnitude for chunk in chunks]), chunks[0].status, extras)


def _blank_undefined(output: Output, undefined: np.ndarray) -> np.ndarray:
    """Set undefined snapshots to NaN and give every snapshot's status."""
    output.magnitude[undefined] = np.nan
    for dims, array in output.extras.values():
        if "snapshot" in dims:
            np.moveaxis(array, dims.index("snapshot"), 0)[undefined] = np.nan
    return np.where(undefined, ZERO_VECTOR, output.status if output.status else OK)


def require_stratification(given: Any, call: str) -> None:
    """Refuse what has no strata, with the way to make them."""
    if not hasattr(given, "strata"):
        raise OptionError(
            f"{call} takes a Stratification first, not {type(given).__name__}; make one with st.Stratification(graph)."
        )
