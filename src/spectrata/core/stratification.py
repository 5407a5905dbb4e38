"""A graph with its strata and eigenbases: what depends on the graph alone, made once."""

import copy
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from spectrata.core import resources
from spectrata.core.algorithms.ln_vx import check_line_sizes
from spectrata.core.bases.basis import EigenBasis
from spectrata.core.bases.cache import BasisCache
from spectrata.core.bases.partial import partial_basis
from spectrata.core.bases.solve import decompose
from spectrata.core.distance_strata import DistanceStrata, path_strata, position_strata
from spectrata.core.engine import all_hops
from spectrata.core.hop import Hop
from spectrata.core.memory import Memory
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.core.parallel import Progress
from spectrata.core.plan import Computing, Plan
from spectrata.core.strata import Strata, Stratum, line_stratum
from spectrata.errors import OptionError, warn
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.signals import Signal, potential
from spectrata.kernels.backend import NUMPY, Array, Backend
from spectrata.results.build import build
from spectrata.results.notebook import html_table

if TYPE_CHECKING:
    import xarray as xr

MOST_SHOWN = 2000  # nodes up to which a notebook shows the sizes of all strata
LONG_RUN = 60.0  # seconds from which an estimate is printed first


class Stratification:
    """A graph with its strata and their eigenbases, each made once, when first needed.

    It stands wherever a function takes a graph, and says how the graph is read and how spectra of it are computed.

    Parameters
    ----------
    graph, hops, weights
        As for :func:`spectra`.
    edges, adjacency, n_nodes
        Instead of ``graph``, for arrays whose shape is ambiguous.
    hop_weights : {"bottleneck", "product", "unit"}
        Weights of pairs more than one hop apart: the largest, over shortest paths, of the smallest weight on the
        path, or of their product; or 1.
    undirected : bool
        Ignore the directions of edges.
    distance, bins : str, bool or array, and sequence of float
        Strata by distance in place of hops: ``distance`` gives the lengths of edges as ``weights`` would, and two
        nodes are joined when their shortest path has a length in a bin ``(lower, upper]``. All pairs have weight 1, and
        the dimension ``hop`` is labelled by the bins.
    laplacian, self_loops : {"combinatorial", "random_walk", "normalized"} and bool
        The operator of :func:`spectra`, which may name another one. Functions that test likeness (``correlogram``,
        ``diagnose``) use the random-walk Laplacian whatever stands here.
    n_eigs, which : int, optional, and {"lowest", "highest"}
        Only so many components from one end of the spectrum, on the CPU; repeated eigenvalues keep their true
        multiplicity. Not with ``ln_vx`` and the ensembles, which take all components.
    keep : list of {"eigenvectors", "signal", "trials"}, optional
        What else results store; by default all of it up to 200 nodes, nothing beyond.
    device : {None, "cpu", "cuda", "cuda:0", ...}
        Where to compute; None follows the signal: tensors of torch or cupy on a GPU stay there.
    dtype : {"float64", "float32"}
        Precision of eigenvectors and magnitudes; single precision keeps about four digits.
    progress : callable, optional
        Called as ``progress(message, fraction)`` while computing.
    cache : path, optional
        A folder for eigenbases: solved once, read in every later run on the same graph.
    max_basis_bytes : int
        Eigenbases are kept between calls while they fit in this; the rest are solved again.

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
    >>> ds = st.spectra(strat, [0.0, 1.0, 0.0, 1.0])
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
        distance: Any = None,
        bins: Any = None,
        laplacian: str = "combinatorial",
        self_loops: bool = False,
        n_eigs: int | None = None,
        which: str = "lowest",
        keep: Iterable[str] | None = None,
        device: str | Backend | None = None,
        dtype: str = "float64",
        progress: Progress | None = None,
        cache: str | os.PathLike | None = None,
        max_basis_bytes: int = 2**31,
    ) -> None:
        read_as = {"edges": edges, "adjacency": adjacency, "n_nodes": n_nodes, "undirected": undirected}
        if bins is None and distance is None and not isinstance(graph, Strata):
            self.strata = Strata(as_graph(graph, weights=weights, **read_as), hops, hop_weights)
        else:
            given = {"hops": hops, "weights": weights or None, "hop_weights": hop_weights}
            names = [name for name, value in given.items() if value not in (None, "bottleneck")]
            if names:
                raise OptionError(
                    f"bins= says which pairs are joined, and each has weight 1; leave out {', '.join(names)}."
                )
            self.strata = graph if isinstance(graph, Strata) else path_strata(graph, distance, bins, **read_as)
        self.graph = self.strata.graph
        self.computing = Computing(laplacian, self_loops, n_eigs, which, keep, device, dtype, progress)
        self.memory = Memory(max_basis_bytes)
        self.cache = None if cache is None else BasisCache(cache, self.graph.digest + self.strata.rule)

    @classmethod
    def from_positions(cls, positions: Any, bins: Any, **settings: Any) -> "Stratification":
        """Join points whose distance lies in a bin ``(lower, upper]``; no graph is needed.

        Parameters
        ----------
        positions : array or DataFrame, shape (n, d), or AnnData
            Coordinates of the nodes; the index of a DataFrame names them. Of an AnnData ``obsm["spatial"]``.
        bins : sequence of float
            Edges of the bins, ascending, from 0 or more. Points at the same place are in no bin.
        **settings
            As for :class:`Stratification`: ``laplacian``, ``keep``, ``device``, ``cache`` and so on.

        Examples
        --------
        >>> import numpy as np, spectrata as st
        >>> strat = st.Stratification.from_positions(np.arange(5.0)[:, None], bins=[0, 1, 3])
        >>> strat.hops, [stratum.n_edges for stratum in strat.strata]
        (('(0, 1]', '(1, 3]'), [4, 5])
        """
        return cls(position_strata(positions, bins), **settings)

    @property
    def hops(self) -> tuple[Any, ...]:
        """The hop distances of this stratification, or the labels of its bins."""
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

    def only(self, *hops: Any) -> "Stratification":
        """The same graph at some of its hops; the two share their eigenbases."""
        if self.hops == hops:
            return self
        some = copy.copy(self)
        some.strata = self.strata.only(hops)
        return some

    def using(self, **computing: Any) -> "Stratification":
        """The same graph and eigenbases with other settings: ``laplacian``, ``keep``, ``n_eigs``, ``dtype`` and so on.

        Examples
        --------
        >>> import networkx as nx, spectrata as st
        >>> strat = st.Stratification(nx.path_graph(4))
        >>> strat.using(laplacian="random_walk").computing.laplacian
        'random_walk'
        """
        other = copy.copy(self)
        other.computing = replace(self.computing, **computing)
        return other

    # ---- eigenbases

    def basis(
        self, hop: int, laplacian: str | None = None, *, self_loops: bool | None = None, backend: Backend = NUMPY
    ) -> EigenBasis:
        """The eigenbasis of one stratum: its ``values``, and its vectors as an array by ``dense()``."""
        operator = self.computing.operator(laplacian, self_loops)
        return self._basis(self.strata.at(hop, backend), operator, "float64", backend)

    def _basis(self, stratum: Stratum, operator: Laplacian, dtype: str, backend: Backend) -> EigenBasis:
        """From memory, from the disk, or solved."""
        find = partial(decompose, stratum, operator, dtype)
        if self.cache is not None:
            find = partial(self.cache.basis, stratum, operator, dtype, backend, find)
        return self.remember(("basis", stratum.hop, operator, dtype, backend), find)

    @property
    def keeps_bases(self) -> bool:
        """Whether eigenbases outlive a call: in memory where the first fits, or on disk."""
        return self.cache is not None or self.memory.max_bytes >= 8 * self.graph.n_nodes**2

    def remember(self, key: tuple, make: Callable[[], Any]) -> Any:
        """The result of the first ``make()``, while it fits in ``max_basis_bytes``."""
        return self.memory.remember(key, make)

    def prepared(
        self, hop: int, plan: Plan, backend: Backend = NUMPY, *, factored: bool = False
    ) -> tuple[Stratum, EigenBasis]:
        """One stratum and the eigenbasis that a plan asks for; ``factored`` for projections of few columns alone."""
        with self.memory.lock:  # pairs of several hops are drawn in one pass
            stratum = self.strata.at(hop, backend)
        if factored:
            return stratum, decompose(stratum, plan.options.operator, factored=True)
        return stratum, self.planned_basis(stratum, plan, backend)

    def planned_basis(self, stratum: Stratum, plan: Plan, backend: Backend = NUMPY) -> EigenBasis:
        """The eigenbasis that a plan asks for, of a stratum whose edges are where the backend keeps arrays."""
        hop, operator = stratum.hop, plan.options.operator
        if plan.n_eigs is not None:
            make = partial(partial_basis, stratum, plan.n_eigs, plan.which, operator)
            return self.remember(("partial", hop, operator, plan.n_eigs, plan.which), make)
        if plan.dtype == "float32" and plan.solved_in_double:
            double = partial(self._basis, stratum, operator, "float64", backend)
            return self.remember(("single", hop, operator, backend), lambda: double().single())
        return self._basis(stratum, operator, plan.dtype, backend)

    def work(
        self,
        stratum: Stratum,
        basis: EigenBasis,
        values: Array,
        plan: Plan,
        backend: Backend = NUMPY,
        scratch: dict[tuple, Any] | None = None,
    ) -> Hop:
        """The argument of the algorithms on a potential ``(T, n, d)``; ``scratch`` keeps what is made of the graph."""
        made = {} if scratch is None else scratch
        kind = (plan.dtype, plan.solved_in_double, backend)

        def remember(key: tuple, make: Callable[[], Any]) -> Any:
            if key not in made:
                made[key] = self.remember((*key, *kind), make)
            return made[key]

        def line() -> EigenBasis:
            return remember(("line", stratum.hop), lambda: decompose(line_stratum(stratum), COMBINATORIAL, plan.dtype))

        return Hop(stratum, basis, backend.asarray(values), line, remember, plan.seed, plan.diagnose)

    # ---- spectra

    def spectra(self, signal: Any, algorithms: str | Iterable[str] | None = None, **arguments: Any) -> "xr.Dataset":
        """Compute the stratified spectra of a signal: :func:`spectra` of this stratification."""
        from spectrata.core.spectra import spectra

        return spectra(self, signal, algorithms, **arguments)

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
        hops = all_hops(self, field, plan, backend, progress)
        columns = "joint" if signal.separate is None else "separate"
        facts: dict[str, Any] = {"metric": field.metric, "weights": self.weights, "dtype": plan.dtype}
        facts |= {"seed": plan.seed, "laplacian": plan.options.laplacian, "self_loops": int(plan.options.self_loops)}
        facts["options"] = plan.to_json(self.hops, zero_vectors, columns)
        if isinstance(self.strata, DistanceStrata):
            facts |= {"bins": [float(edge) for edge in self.strata.bins], "strata": self.strata.content}
        return build(self.graph, signal, hops, plan.algorithms, facts, "signal" in plan.keep, field.zero_rows)

    def announce(self, plan: Plan, backend: Backend) -> None:
        """Refuse at once what is not defined or too large; a long run prints an estimate first."""
        plan.check(self.hops, weighted=bool(self.weights))
        n, sizes = self.graph.n_nodes, self.strata.sizes.items()
        check_line_sizes({hop: m for hop, m in sizes if any(row.line_graph for row in plan.needed(hop))}, plan.options)
        if plan.n_eigs is not None:
            return
        kept = 8 * n * n * len(self.hops) if "eigenvectors" in plan.keep else 0
        resources.require_memory(
            resources.solve_bytes(n) + kept,
            f"A full decomposition of {n:,} nodes" + (" with all eigenvectors kept" if kept else ""),
            "use st.band_spectra(graph, signal), which needs no decomposition (profile --bands 32)",
            backend.free_memory(),
        )
        if len(self.hops) > 1 and n >= 1500 and backend == NUMPY:
            seconds = resources.solve_seconds([n] * len(self.hops))
            if seconds > LONG_RUN:
                warn(
                    f"All {len(self.hops)} hops of {n:,} nodes will take up to {resources.duration(seconds)} "
                    "on this machine; fewer hops would shorten it."
                )
