"""A graph with its strata and eigenbases: what depends on the graph alone, made once.

``st.spectra`` is a ``Stratification`` that keeps nothing.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from spectrata.core import resources
from spectrata.core.algorithms.ln_vx import check_line_sizes
from spectrata.core.algorithms.options import shows_options
from spectrata.core.bases.basis import EigenBasis
from spectrata.core.bases.cache import BasisCache
from spectrata.core.bases.partial import partial_basis
from spectrata.core.bases.solve import decompose
from spectrata.core.engine import Progress, collect, transform
from spectrata.core.hop import Hop
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.core.plan import Plan, make_plan
from spectrata.core.strata import Strata, Stratum, line_stratum, reads_all_pairs
from spectrata.errors import OptionError, warn
from spectrata.inputs.columns import by_column
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.notebook import html_table
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.backend import NUMPY, Array, Backend, backend_of
from spectrata.results.build import HopResult, Rows, build

if TYPE_CHECKING:
    import xarray as xr

MOST_SHOWN = 2000  # nodes up to which a notebook shows the sizes of all strata
LONG_RUN = 60.0  # seconds from which an estimate is printed first


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
    weights : str, bool or array, optional
        Edge weights; larger means closer. The name of an edge attribute; True for those of a weighted matrix or edge
        list; an array, one for each edge as given. By default weights are ignored with a warning, with False
        silently.
    hop_weights : {"bottleneck", "product", "unit"}
        Weights of pairs more than one hop apart: the largest, over shortest paths, of the smallest weight on the
        path, or of their product; or 1.
    undirected : bool
        Take a directed graph as undirected.
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
        weights: Any = None,
        hop_weights: str = "bottleneck",
        undirected: bool = False,
        max_basis_bytes: int = 2**31,
        cache: str | os.PathLike | None = None,
    ) -> None:
        self.graph: Graph = as_graph(
            graph, edges=edges, adjacency=adjacency, n_nodes=n_nodes, weights=weights, undirected=undirected
        )
        n = self.graph.n_nodes
        if reads_all_pairs(n, hops):
            resources.require_memory(
                resources.distance_bytes(n),
                f"The hop distances between {n:,} nodes",
                "ask for some hops (hops=2), or use st.band_spectra(graph, signal), which needs no distances "
                "(profile --bands 32)",
            )
        self.strata = Strata(self.graph, hops, hop_weights)
        self.all_hops = hops is None
        self.max_basis_bytes = max_basis_bytes
        self.cache: BasisCache | None = None
        self._kept: dict[tuple, Any] = {}
        self._kept_bytes = 0
        self._lock = threading.RLock()
        if cache is not None:
            self.use_cache(cache)

    @property
    def hops(self) -> tuple[int, ...]:
        """The hop distances of this stratification."""
        return self.strata.hops

    @property
    def diameter(self) -> int | None:
        """The largest hop distance between connected nodes; None where a large graph was searched to some hop."""
        return self.strata.diameter

    @property
    def weights(self) -> str:
        """How pairs are weighted: a rule of ``hop_weights``; nothing where all weights are 1."""
        return "" if self.graph.weights is None else self.strata.hop_weights

    def __repr__(self) -> str:
        return f"Stratification({self.graph.n_nodes} nodes, {self.graph.n_edges} edges, hops {self.hops})"

    def _repr_html_(self) -> str:
        n = self.graph.n_nodes
        title = f"Stratification: {n:,} nodes, {self.graph.n_edges:,} edges, hops {list(self.hops)}"
        if n > MOST_SHOWN:
            return html_table(title, [], [])
        rows = [(s.hop, s.n_edges, s.n_parts, s.n_singletons) for s in self.strata]
        return html_table(title, ["K", "edges", "parts", "single nodes"], rows)

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: not the eigenbases, which are solved again there."""
        return self.__dict__ | {"_kept": {}, "_kept_bytes": 0, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def use_cache(self, folder: str | os.PathLike) -> None:
        """Take eigenbases from a folder from now on, and put there those it lacks."""
        rule = self.weights.encode()
        digest = hashlib.sha256(self.graph.digest.encode() + rule).hexdigest() if rule else self.graph.digest
        self.cache = BasisCache(folder, digest)

    # ---- eigenbases

    def basis(
        self, hop: int, laplacian: str = "combinatorial", *, self_loops: bool = False, backend: Backend = NUMPY
    ) -> EigenBasis:
        """The eigenbasis of one stratum: its ``values``, and its vectors as an array by ``dense()``."""
        operator = Operator(laplacian, self_loops)
        return self._basis(self.strata.at(hop, backend), operator, "float64", backend)

    def _basis(self, stratum: Stratum, operator: Operator, dtype: str, backend: Backend) -> EigenBasis:
        key = ("basis", stratum.hop, operator, dtype, backend)
        return self.remember(key, lambda: self._find_basis(stratum, operator, dtype, backend))

    def _find_basis(self, stratum: Stratum, operator: Operator, dtype: str, backend: Backend) -> EigenBasis:
        """From the disk, or solved."""
        if self.cache is None:
            return decompose(stratum, operator, dtype)
        found = self.cache.load(stratum, operator, dtype, backend)
        if found is None:
            found = decompose(stratum, operator, dtype)
            self.cache.store(stratum, operator, dtype, backend, found)
        return found

    def remember(self, key: tuple, make: Callable[[], Any]) -> Any:
        """What ``make()`` gave the first time, while it fits; one maker at a time, so threads share the work."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
            made = make()
            if self._kept_bytes + made.nbytes <= self.max_basis_bytes:
                self._kept[key] = made
                self._kept_bytes += made.nbytes
            return made

    def prepared(self, hop: int, plan: Plan, backend: Backend = NUMPY) -> tuple[Stratum, EigenBasis]:
        """One stratum and the eigenbasis that a plan asks for."""
        stratum = self.strata.at(hop, backend)
        return stratum, self.planned_basis(stratum, plan, backend)

    def planned_basis(self, stratum: Stratum, plan: Plan, backend: Backend = NUMPY) -> EigenBasis:
        """The eigenbasis that a plan asks for, of a stratum whose edges are where the backend keeps arrays."""
        hop, operator = stratum.hop, plan.options.operator
        if plan.n_eigs is not None:
            count, which = plan.n_eigs, plan.which
            key: tuple = ("partial", hop, operator, count, which)
            return self.remember(key, lambda: partial_basis(stratum, count, which, operator))
        if plan.dtype == "float32" and plan.solved_in_double:
            key = ("single", hop, operator, backend)
            return self.remember(key, lambda: self._basis(stratum, operator, "float64", backend).single())
        return self._basis(stratum, operator, plan.dtype, backend)

    def work(
        self,
        stratum: Stratum,
        basis: EigenBasis,
        values: Array,
        plan: Plan,
        backend: Backend = NUMPY,
        *,
        scratch: dict[tuple, Any] | None = None,
        progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> Hop:
        """What the algorithms are given: a stratum, its basis, and a potential ``(T, n, d)`` on it.

        What they make of the graph alone is kept in ``scratch``, whatever fits between calls.
        """
        made = {} if scratch is None else scratch
        kind = (plan.dtype, plan.solved_in_double, backend)

        def remember(key: tuple, make: Callable[[], Any]) -> Any:
            if key not in made:
                made[key] = self.remember((*key, *kind), make)
            return made[key]

        def line() -> EigenBasis:
            return remember(("line", stratum.hop), lambda: decompose(line_stratum(stratum), COMBINATORIAL, plan.dtype))

        return Hop(
            stratum=stratum,
            basis=basis,
            potential=backend.asarray(values),
            line=line,
            remember=remember,
            seed=plan.seed,
            progress=progress,
            diagnose=plan.diagnose,
        )

    # ---- spectra

    @shows_options
    def spectra(
        self,
        signal: Any,
        algorithms: str | Iterable[str] | None = None,
        *,
        preset: str | None = None,
        metric: str = "auto",
        columns: str = "joint",
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
        plan = make_plan(
            algorithms,
            options,
            self.graph.n_nodes,
            preset=preset,
            seed=seed,
            keep=keep,
            dtype=dtype,
            n_eigs=n_eigs,
            which=which,
        )
        backend = NUMPY if plan.n_eigs is not None else backend_of(signal, device)
        known = by_column(as_signal(signal, self.graph), columns, metric)
        return self.compute(known, plan, metric, zero_vectors, backend, progress)

    def compute(
        self,
        signal: Signal,
        plan: Plan,
        metric: str = "auto",
        zero_vectors: str = "error",
        backend: Backend = NUMPY,
        progress: Progress | None = None,
    ) -> "xr.Dataset":
        """The result of a plan for a signal in the graph's row order."""
        field = potential(signal, metric, zero_vectors, self.graph.names)
        self.announce(plan, backend)
        hops = list(collect(transform(self, [field], plan, backend, progress), plan))
        return self.labelled(signal, field, hops, plan, zero_vectors)

    def labelled(
        self, signal: Signal, field: Potential, hops: Sequence[HopResult], plan: Plan, zero_vectors: str
    ) -> "xr.Dataset":
        """The result Dataset of what a plan computed for a signal."""
        kept = signal.values if "signal" in plan.keep else None
        rows = Rows(
            signal.snapshots,
            signal.values.shape[2],
            signal.kind,
            signal=kept,
            zero_vectors=field.zero_rows,
            columns=signal.separate,
        )
        facts = self.facts(plan, field.metric, zero_vectors, "joint" if signal.separate is None else "separate")
        return build(self.graph, rows, hops, plan.algorithms, facts)

    def facts(self, plan: Plan, metric: str, zero_vectors: str, columns: str = "joint") -> dict[str, Any]:
        """What a result records of how it was made."""
        return {
            "metric": metric,
            "laplacian": plan.options.laplacian,
            "self_loops": int(plan.options.self_loops),
            "weights": self.weights,
            "dtype": plan.dtype,
            "seed": plan.seed,
            "options": plan.to_json(self.hops, zero_vectors, columns),
        }

    def announce(self, plan: Plan, backend: Backend) -> None:
        """Refuse at once what is not defined or too large; a long run prints an estimate first."""
        if self.weights:
            plan.require_weighted(self.hops)
        sizes, n = self.strata.sizes, self.graph.n_nodes
        with_lines = [hop for hop in self.hops if any(row.line_graph for row in plan.needed(hop))]
        check_line_sizes({hop: sizes[hop] for hop in with_lines}, plan.options)
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
                warn(
                    f"All {len(self.hops)} hops of {n:,} nodes will take up to {resources.duration(seconds)} "
                    "on this machine; pass hops=3, say, to do less."
                )


GRAPH_ARGUMENTS: dict[str, Any] = {"hops": None, "weights": None, "hop_weights": "bottleneck", "undirected": False}


def as_stratification(
    given: Any,
    hops: int | Iterable[int] | None = None,
    *,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
) -> Stratification:
    """A stratification as it is, or made from a graph in any form, with the arguments of ``Stratification``.

    Examples
    --------
    >>> import networkx as nx
    >>> as_stratification(nx.path_graph(4), 2, weights=[1.0, 2.0, 3.0]).weights
    'bottleneck'
    """
    named: dict[str, Any] = {"weights": weights, "hop_weights": hop_weights, "undirected": undirected}
    if isinstance(given, Stratification):
        refuse_graph_arguments("A Stratification", hops=hops, **named)
        return given
    if hasattr(given, "data_vars"):
        raise OptionError("A result was given where the graph is needed; give the graph, or a Stratification of it.")
    return Stratification(given, hops, **named)


def refuse_graph_arguments(what: str, **given: Any) -> None:
    """Refuse arguments that say how a graph is read, where no graph is."""
    names = [name for name, value in given.items() if not _is_default(value, GRAPH_ARGUMENTS[name])]
    if names:
        raise OptionError(f"{what} has its graph read already; leave out {', '.join(names)}, or give the graph itself.")


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str) and value == default)


@shows_options
def spectra(
    graph: Any = None,
    signal: Any = None,
    algorithms: str | Iterable[str] | None = None,
    *,
    hops: int | Iterable[int] | None = None,
    edges: Any = None,
    adjacency: Any = None,
    n_nodes: int | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    cache: str | os.PathLike | None = None,
    preset: str | None = None,
    metric: str = "auto",
    columns: str = "joint",
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
    """Compute the stratified spectra of a signal on a graph.

    At every hop distance ``K``: join the nodes that are exactly ``K`` hops apart, decompose the Laplacian of that
    graph, and measure how the signal's energy is distributed over its frequencies.

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
    weights : str, bool or array, optional
        Edge weights; larger means closer. The name of an edge attribute; True for those of a weighted matrix or edge
        list; an array, one for each edge as given. By default weights are ignored with a warning, with False
        silently.
    hop_weights : {"bottleneck", "product", "unit"}
        Weights of pairs more than one hop apart: the largest, over shortest paths, of the smallest weight on the
        path, or of their product; or 1.
    undirected : bool
        Take a directed graph as undirected.
    cache : path, optional
        A folder for eigenbases: solved once, read in every later run on the same graph.
    preset : {"paper"}, optional
        As the released program computes it: all algorithms, ``orientation="index"``, ``scaling="program"``, learned
        LN-VX, Task 3's ENS weights. Options given beside it win.
    metric : {"auto", "euclidean", "angular"}
        Length of the difference of two nodes' vectors; "auto" is euclidean for d = 1 and angular for d > 1.
    columns : {"joint", "separate"}
        The d columns as one vector per node, or as d signals of one number each, under the euclidean metric: the result
        then has a dimension ``column``, with the names of the columns where they have some.
    zero_vectors : {"error", "nan", "zero"}
        What a zero vector does under the angular metric: stop, leave its snapshot NaN with a status, or stay zero,
        half a unit from every direction.
    seed : int
        Decides random orientations and the learning of LN-VX.
    keep : list of {"eigenvectors", "signal", "trials"}, optional
        What else to store; all of it by default for up to 200 nodes, none of it beyond.
    device : {None, "cpu", "cuda", "cuda:0", ...}
        Where to work; None follows the signal: tensors of torch or cupy on a GPU stay there.
    dtype : {"float64", "float32"}
        Precision of eigenbases and magnitudes; single precision keeps about four digits.
    n_eigs, which : int, optional, and {"lowest", "highest"}
        Only so many components from one end of the spectrum, on the CPU; repeated eigenvalues keep their true
        multiplicity. Not with ``ln_vx`` and the ensembles, which take all components.
    progress : callable, optional
        Called as ``progress(message, fraction)`` while working.
    **options
        Options of the algorithms: see :class:`spectrata.core.algorithms.options.Options`.

    Returns
    -------
    xarray.Dataset
        ``magnitude(algorithm, [snapshot,] [column,] hop, component)`` with eigenvalues, eigenspaces, status and more.

    References
    ----------
    Meng, Orr, Swarup: Stratified Graph Spectra, arXiv 2201.03696.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.cycle_graph(4), [2.0, 1.0, 2.0, 1.0], algorithms="gft", hops=1)
    >>> ds["magnitude"].sel(algorithm="gft", hop=1).values.round(6).tolist()
    [3.0, 0.0, 0.0, 1.0]
    """
    if signal is None:
        raise OptionError("No signal was given; pass one number or one vector per node.")
    strat = Stratification(
        graph,
        hops,
        edges=edges,
        adjacency=adjacency,
        n_nodes=n_nodes,
        weights=weights,
        hop_weights=hop_weights,
        undirected=undirected,
        max_basis_bytes=0,
        cache=cache,
    )
    return strat.spectra(
        signal,
        algorithms,
        preset=preset,
        metric=metric,
        columns=columns,
        zero_vectors=zero_vectors,
        seed=seed,
        keep=keep,
        device=device,
        dtype=dtype,
        n_eigs=n_eigs,
        which=which,
        progress=progress,
        **options,
    )
