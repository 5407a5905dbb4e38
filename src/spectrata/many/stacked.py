"""Many small graphs at once: the strata, solves and algorithms of thousands of graphs as stacked arrays.

One graph of thirty nodes is all overhead; a thousand of them stacked are a few
calls. Graphs of one size are worked on together, every pair of nodes dense, with
no loop over graphs outside compiled code. Values equal those of ``spectra`` on
each graph; only inside repeated eigenvalues may the arbitrary split differ.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.algorithms.base import UNDEFINED_AT_ZERO, ZERO_VECTOR, Output
from spectrata.core.bases.solve import EIGENSPACE_TOLERANCE
from spectrata.core.plan import Plan, make_plan
from spectrata.core.strata import resolve_hops
from spectrata.errors import HopError, OptionError, SignalTypeError
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.signals import as_signal, potential
from spectrata.kernels import fast, scaling
from spectrata.kernels.scaling import put_back, raise_tiny

if TYPE_CHECKING:
    import xarray as xr

PAST_DIAMETER = "past the diameter"
STACK_NUMBERS = 2**21  # of one (graphs, n, n) array: 16 MB
MAX_NODES = 512  # from here on a graph is worth a call of its own


def spectra_batch(
    graphs: Iterable[Any],
    signals: Iterable[Any],
    algorithms: str | Iterable[str] | None = None,
    *,
    hops: int | Iterable[int] | None = None,
    metric: str = "auto",
    zero_vectors: str = "error",
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    """Compute the stratified spectra of many small graphs, each with its own signal, in one call.

    Parameters
    ----------
    graphs : iterable of graph-like
        Up to 512 nodes each, in any form :func:`spectrata.spectra` takes.
    signals : iterable
        One signal per graph, ``(n,)`` or ``(n, d)`` with the same ``d`` everywhere.
    algorithms, hops, metric, zero_vectors, seed, **options
        As for :func:`spectrata.spectra`, without ``ln_vx`` and random orientations. ``hops=None`` goes to the
        largest diameter; hops past a graph's own diameter are NaN there, with a status.

    Returns
    -------
    xarray.Dataset
        ``magnitude(graph, algorithm, hop, component)``, padded with NaN to the largest graph,
        ``gradient_norm(graph, hop)`` and ``status(graph, algorithm, hop)``; eigenvalues and sizes are coordinates.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> graphs = [nx.path_graph(5), nx.cycle_graph(6)]
    >>> ds = st.spectra_batch(graphs, [np.arange(5.0), np.arange(6.0)])
    >>> dict(ds.sizes)["graph"], dict(ds.sizes)["component"]
    (2, 6)
    """
    known = [as_graph(graph) for graph in graphs]
    fields = list(signals)
    if len(known) != len(fields):
        raise OptionError(
            f"There are {len(known)} graphs and {len(fields)} signals; give one signal per graph."
        )
    if not known:
        raise OptionError("There is no graph; give at least one.")
    plan = _checked_plan(algorithms, seed, options)
    potentials, scale, undefined, name = _potentials(known, fields, metric, zero_vectors)
    distances = _all_distances(known)
    largest = max(int(_largest_distance(block)) for _, block in distances)
    wanted = _wanted_hops(hops, largest)
    result = _Result.empty(known, plan, wanted)
    for rows, block in distances:
        values = np.stack([potentials[row] for row in rows])
        lengths = _pair_lengths(values)
        for index, hop in enumerate(wanted):
            reach = (block == hop).any(axis=(1, 2))
            if reach.any():
                found = _one_hop(block[reach] == hop, hop, values[reach], lengths[reach], plan)
                result.put(rows[reach], index, found, scale[rows[reach]])
    return result.label(plan, name, undefined)


def _checked_plan(algorithms: str | Iterable[str] | None, seed: int, options: dict[str, Any]) -> Plan:
    plan = make_plan(algorithms, None, seed, (), "float64", options, MAX_NODES)
    if plan.options.laplacian != "combinatorial":
        raise OptionError("spectra_batch works with the combinatorial Laplacian alone; use spectra.")
    if plan.options.orientation == "random":
        raise OptionError("spectra_batch has no orientation='random'; use 'rms' or 'index', or spectra.")
    return plan


def _potentials(
    graphs: Sequence[Graph], signals: Sequence[Any], metric: str, zero_vectors: str
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, str]:
    """The signals whose differences are the gradients, factors taken out, graphs that are undefined, and the metric."""
    made = []
    for row, (graph, signal) in enumerate(zip(graphs, signals, strict=True)):
        if graph.n_nodes > MAX_NODES:
            raise OptionError(
                f"Graph {row} has {graph.n_nodes:,} nodes; above {MAX_NODES} use spectra or spectra_many."
            )
        known = as_signal(signal, graph)
        if known.snapshots is not None:
            raise SignalTypeError(
                f"The signal of graph {row} has snapshots; spectra_batch takes one signal per graph."
            )
        made.append(potential(known, metric, zero_vectors, graph.names))
    dims = {field.values.shape[2] for field in made}
    if len(dims) > 1:
        raise SignalTypeError(f"Signals of one batch need one dimension, and these have {sorted(dims)}.")
    scale = np.array([field.scale[0] for field in made])
    undefined = np.array([field.undefined[0] for field in made])
    return [field.values[0] for field in made], scale, undefined, made[0].metric


def _all_distances(graphs: Sequence[Graph]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of graphs of one size, and their hop distances ``(graphs, n, n)``, in stacks of bounded size."""
    sizes = np.array([graph.n_nodes for graph in graphs])
    blocks = []
    for n in np.unique(sizes):
        rows = np.flatnonzero(sizes == n)
        step = max(1, STACK_NUMBERS // int(n) ** 2)
        for first in range(0, len(rows), step):
            chosen = rows[first : first + step]
            adjacency = np.zeros((len(chosen), n, n), dtype=bool)
            for slot, row in enumerate(chosen):
                x, y = graphs[row].edges.T
                adjacency[slot, x, y] = adjacency[slot, y, x] = True
            blocks.append((chosen, _distances(adjacency)))
    return blocks


def _distances(adjacency: np.ndarray) -> np.ndarray:
    """Breadth-first searches from every node of every graph: ``(g, n, n)`` bool -> uint16, 65535 where unreached."""
    steps = adjacency.astype(np.float32)
    distances = np.where(adjacency, 1, 65535).astype(np.uint16)
    diagonal = np.arange(adjacency.shape[1])
    distances[:, diagonal, diagonal] = 0
    frontier, hop = adjacency, 1
    while frontier.any():
        hop += 1
        frontier = (frontier.astype(np.float32) @ steps > 0) & (distances == 65535)
        distances[frontier] = hop
    return distances


def _largest_distance(distances: np.ndarray) -> int:
    return int(np.max(distances, where=distances < 65535, initial=0))


def _wanted_hops(hops: int | Iterable[int] | None, largest: int) -> tuple[int, ...]:
    try:
        return resolve_hops(hops, largest)
    except HopError as problem:
        raise HopError(f"No graph of the batch reaches that far: {problem}") from None


@dataclass(frozen=True, eq=False)
class _HopStack:
    """One hop of a stack of graphs, shapes ``(g, ...)``."""

    values: np.ndarray  # (g, n) ascending
    zeros: np.ndarray  # (g,) number of zero components
    edges: np.ndarray  # (g,)
    singletons: np.ndarray  # (g,)
    gradient_norm: np.ndarray  # (g,) over `small`
    small: np.ndarray  # (g,) powers of two taken out of tiny gradients
    outputs: dict[str, Output]
    weights: dict[str, float] | None


def _one_hop(joined: np.ndarray, hop: int, values: np.ndarray, lengths: np.ndarray, plan: Plan) -> _HopStack:
    """Gradients, eigenbases and algorithms of a stack of strata ``joined (g, n, n)``, each with an edge at least."""
    degrees = joined.sum(axis=2)
    gradient, small = raise_tiny(np.where(joined, lengths, 0.0).reshape(len(joined), -1))
    gradient = gradient.reshape(joined.shape)  # symmetric, 0 off the stratum
    eigenvalues, vectors, zeros = _solve(joined, degrees)
    weights = plan.ens_weights(hop)
    outputs = _apply(plan, hop, gradient, values, degrees, eigenvalues, vectors, zeros)
    norms = np.sqrt(np.sum(gradient**2, axis=(1, 2)) / 2)
    return _HopStack(
        values=eigenvalues,
        zeros=zeros,
        edges=degrees.sum(axis=1) // 2,
        singletons=np.sum(degrees == 0, axis=1),
        gradient_norm=norms,
        small=small,
        outputs=outputs,
        weights=weights,
    )


def _pair_lengths(values: np.ndarray) -> np.ndarray:
    """``norm(t(x) - t(y))`` for all pairs: ``(g, n, d) -> (g, n, n)``, by differences, never by a Gram matrix."""
    total = np.zeros((len(values), values.shape[1], values.shape[1]))
    for column in np.moveaxis(values, 2, 0):
        total += np.subtract(column[:, :, None], column[:, None, :]) ** 2
    found = np.sqrt(total)
    tiny = np.nonzero((found < scaling.TINY["float64"]) & ~np.eye(values.shape[1], dtype=bool))
    for part in fast._slices(len(tiny[0]), values.shape[2]):
        g, x, y = (index[part] for index in tiny)
        found[g, x, y] = scaling.scaled_lengths(values[g, x] - values[g, y])
    return found


def _solve(joined: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ascending eigenpairs of stacked Laplacians and how many are zero.

    As in ``eigen``, the null space is known by structure, one indicator per part,
    and is moved past the spectrum before the solve.
    """
    n = joined.shape[1]
    labels = _part_labels(joined)
    same = labels[:, :, None] == labels[:, None, :]
    part_size = same.sum(axis=2)
    shift = 3.0 * degrees.max(axis=1)
    laplacian = shift[:, None, None] * (same / part_size[:, :, None]) - joined
    laplacian[:, np.arange(n), np.arange(n)] += degrees
    values, vectors = _threaded_eigh(laplacian)
    firsts = labels == np.arange(n)  # the lowest node of each part
    zeros = firsts.sum(axis=1)
    order = np.arange(n)[None, :] - zeros[:, None]
    order = np.where(order < 0, order + n, order)  # the shifted null space comes to the front
    values = np.take_along_axis(values, order, axis=1)
    vectors = np.take_along_axis(vectors, order[:, None, :], axis=2)
    is_zero = np.arange(n)[None, :] < zeros[:, None]
    graph, column = np.nonzero(is_zero)
    _, first = np.nonzero(firsts)
    vectors[graph, :, column] = (labels[graph] == first[:, None]) / np.sqrt(part_size[graph, first])[:, None]
    return np.where(is_zero, 0.0, values), vectors, zeros


def _part_labels(joined: np.ndarray) -> np.ndarray:
    """The lowest node of each node's connected part: ``(g, n, n) -> (g, n)``."""
    count, n, _ = joined.shape
    labels = np.broadcast_to(np.arange(n), (count, n)).copy()
    near = joined | np.eye(n, dtype=bool)
    while True:
        lower = np.min(np.where(near, labels[:, None, :], n), axis=2)
        lower = np.take_along_axis(lower, lower, axis=1)
        if (lower == labels).all():
            return labels
        labels = lower


def _threaded_eigh(stack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``np.linalg.eigh`` of a stack, a few threads each taking a run of it."""
    runs = np.array_split(stack, min(len(stack), 4 * fast.threads()))
    with fast.one_blas_thread(), ThreadPoolExecutor(fast.threads()) as pool:
        found = list(pool.map(np.linalg.eigh, runs))
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


def _apply(
    plan: Plan,
    hop: int,
    gradient: np.ndarray,
    values: np.ndarray,
    degrees: np.ndarray,
    eigenvalues: np.ndarray,
    vectors: np.ndarray,
    zeros: np.ndarray,
) -> dict[str, Output]:
    """Magnitudes ``(g, n)`` of every algorithm needed; a graph stands where elsewhere a snapshot does."""
    from spectrata.core.algorithms import ENSEMBLES

    is_zero = np.arange(eigenvalues.shape[1]) < zeros[:, None]
    safe = np.where(is_zero, 1.0, eigenvalues)
    needed = plan.needed(hop)
    if "ln_vx" in needed:
        raise OptionError("spectra_batch has no ln_vx; use spectra, or ens_weights='fast' for ens.")
    outputs = {}
    if {"apprx_ls", "adj_diff"} & set(needed):
        absolute, squared = fast.stacked_difference_sums(gradient, vectors)
    for name in needed:
        if name == "gft":
            coefficients = vectors.transpose(0, 2, 1) @ values
            outputs[name] = Output(scaling.lengths(coefficients))
        elif name == "in_agg":
            means = gradient.sum(axis=2) / np.maximum(degrees, 1)
            outputs[name] = Output(np.abs(np.einsum("gvi,gv->gi", vectors, means)))
        elif name == "apprx_ls" and plan.options.orientation == "rms":
            outputs[name] = Output(np.where(is_zero, 0.0, np.sqrt(squared) / safe))
        elif name == "apprx_ls":
            flow = np.triu(gradient).sum(axis=2) - np.tril(gradient).sum(axis=2)
            outputs[name] = Output(
                np.where(is_zero, 0.0, np.abs(np.einsum("gvi,gv->gi", vectors, flow)) / safe)
            )
        elif plan.options.scaling == "eigenvalue":
            outputs[name] = Output(np.where(is_zero, np.nan, absolute / safe), UNDEFINED_AT_ZERO)
        else:
            flat = gradient.sum(axis=(1, 2)) / 2 / np.sqrt(degrees.sum(axis=1) / 2)
            outputs[name] = Output(np.where(is_zero, flat[:, None], absolute / np.sqrt(safe)))
    weights = plan.ens_weights(hop)
    for name in plan.algorithms:
        if name in ENSEMBLES and weights is not None:
            outputs[name] = ENSEMBLES[name](outputs, weights)
    return outputs


@dataclass(eq=False)
class _Result:
    """Padded arrays of the whole batch, filled stack by stack."""

    graphs: list[Graph]
    algorithms: tuple[str, ...]
    hops: tuple[int, ...]
    magnitude: np.ndarray
    eigenvalue: np.ndarray
    eigenspace: np.ndarray
    multiplicity: np.ndarray
    sizes: np.ndarray  # (3, graph, hop): edges, parts, singletons
    gradient_norm: np.ndarray
    status: np.ndarray

    @classmethod
    def empty(cls, graphs: list[Graph], plan: Plan, hops: tuple[int, ...]) -> "_Result":
        count, width = len(graphs), max(graph.n_nodes for graph in graphs)
        shape = (count, len(hops), width)
        return cls(
            graphs,
            plan.algorithms,
            hops,
            np.full((count, len(plan.algorithms), len(hops), width), np.nan),
            np.full(shape, np.nan),
            np.full(shape, -1),
            np.zeros(shape, dtype=np.int64),
            np.zeros((3, count, len(hops)), dtype=np.int64),
            np.full((count, len(hops)), np.nan),
            np.full((count, len(plan.algorithms), len(hops)), PAST_DIAMETER, dtype=object),
        )

    def put(self, rows: np.ndarray, hop: int, found: _HopStack, scale: np.ndarray) -> None:
        """Store one hop of the graphs in ``rows``; graphs that do not reach this hop stay NaN."""
        n = found.values.shape[1]
        self.eigenvalue[rows, hop, :n] = found.values
        spaces = _eigenspaces(found.values, found.zeros)
        self.eigenspace[rows, hop, :n] = spaces
        self.multiplicity[rows, hop, :n] = np.sum(spaces[:, :, None] == spaces[:, None, :], axis=2)
        self.sizes[:, rows, hop] = found.edges, found.zeros, found.singletons
        self.gradient_norm[rows, hop] = put_back(found.gradient_norm, scale * found.small)
        for index, name in enumerate(self.algorithms):
            output = found.outputs[name]
            own = scale if name == "gft" else scale * found.small  # gft alone reads no gradients
            factor = np.ones((len(rows), 1)) if name == "ens" else own[:, None]
            self.magnitude[rows, index, hop, :n] = put_back(output.magnitude, factor)
            self.status[rows, index, hop] = output.status

    def label(self, plan: Plan, metric: str, undefined: np.ndarray) -> "xr.Dataset":
        """The Dataset."""
        import xarray as xr

        self.magnitude[undefined], self.gradient_norm[undefined] = np.nan, np.nan
        self.status[undefined] = np.where(self.status[undefined] == PAST_DIAMETER, PAST_DIAMETER, ZERO_VECTOR)
        per_component = ("graph", "hop", "component")
        coordinates = {
            "algorithm": list(self.algorithms),
            "hop": list(self.hops),
            "n_nodes": ("graph", [graph.n_nodes for graph in self.graphs]),
            "eigenvalue": (per_component, self.eigenvalue),
            "eigenspace": (per_component, self.eigenspace),
            "multiplicity": (per_component, self.multiplicity),
        }
        for name, array in zip(("n_edges", "n_parts", "n_singletons"), self.sizes, strict=True):
            coordinates[name] = (("graph", "hop"), array)
        variables = {
            "magnitude": (("graph", "algorithm", "hop", "component"), self.magnitude),
            "gradient_norm": (("graph", "hop"), self.gradient_norm),
            "status": (("graph", "algorithm", "hop"), self.status.astype(str)),
        }
        attributes = {
            "spectrata_version": __version__,
            "metric": metric,
            "seed": plan.seed,
            "parameters": plan.to_json(self.hops, "nan" if undefined.any() else "error"),
        }
        return xr.Dataset(variables, coordinates, attributes)


def _eigenspaces(values: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Index of each component's eigenspace, by the rule of ``eigen``: ``(g, n)``."""
    opens = np.diff(values, axis=1) > EIGENSPACE_TOLERANCE["float64"] * values[:, -1:]
    edge = np.arange(1, values.shape[1]) == zeros[:, None]
    inside = np.arange(1, values.shape[1]) < zeros[:, None]
    return np.pad(np.cumsum((opens & ~inside) | edge, axis=1), ((0, 0), (1, 0)))
