r"""What every algorithm is given at one hop, and what it gives back.

An algorithm is a function of a ``Hop`` and ``Options``. It uses what stands in the first half of the class, up to
``difference_sums``, so that the same function serves one graph in main memory, on an accelerator, with gradients, in
a rotated basis, and many small graphs stacked (``many.stacked``).

With edge weights :math:`w`, the node measure :math:`C` and the orthonormal eigenvectors :math:`u_i`, transforms read
:math:`\phi_i = C^{-1/2} u_i`; for the normalised Laplacian, :math:`u_i` itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from spectrata.core.bases.accuracy import Accuracy, accuracy_of
from spectrata.core.bases.basis import EigenBasis, Part
from spectrata.core.bases.verify import verify_projection
from spectrata.core.checks import Energy, verify_energy
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.core.strata import Stratum
from spectrata.kernels import fast
from spectrata.kernels.backend import Array, like, matching, namespace, to_numpy

OK = "ok"
UNCOUNTED = "unconfirmed: this part of the spectrum is too large to count its eigenvalues"
UNDEFINED_AT_ZERO = "undefined at zero eigenvalues"
ZERO_VECTOR = "undefined: zero vector"
NOT_FINITE = "undefined: NaN or infinite values"


@dataclass(frozen=True)
class Extra:
    """A diagnostic of an algorithm; ``grows`` where it is in the signal's units.

    ``dims`` may hold ``"snapshot"``, ``"trial"``, ``"component"`` and others.
    """

    dims: tuple[str, ...]
    values: np.ndarray
    grows: bool = False


@dataclass(frozen=True, eq=False)
class Output:
    """Magnitudes of one algorithm at one hop.

    Attributes
    ----------
    magnitude : array, shape (T, components)
    status : str
        ``"ok"``, or why some or all of it is NaN.
    extras : dict of str to Extra
    energy : Energy, optional
        That of what was projected, where magnitudes times ``lam^power`` are lengths of projections; None elsewhere.
    power : float
        The power of the eigenvalues that the magnitudes are divided by.
    """

    magnitude: Array
    status: str = OK
    extras: dict[str, Extra] = field(default_factory=dict)
    energy: Energy | None = None
    power: float = 0.0


@dataclass(frozen=True, eq=False)
class Hop:
    """One stratum with its eigenbasis and a signal on it, for ``T`` snapshots.

    Attributes
    ----------
    stratum, basis
        The graph at this hop and its eigencomponents.
    potential : array, shape (T, n, d)
        The signal whose plain differences have the length of the gradient.
    line : callable
        Gives the line graph's eigenbasis, solved once and only if asked for.
    remember : callable
        ``remember(key, make)`` gives what ``make()`` gave the first time: for work that depends on the graph alone.
    seed : int
    progress : callable
        ``progress(done, total)`` for work inside one algorithm that takes long.
    diagnose : bool
        Whether extras are wanted.
    """

    stratum: Stratum
    basis: EigenBasis
    potential: Array
    line: Callable[[], EigenBasis]
    remember: Callable[[tuple, Callable[[], Any]], Any]
    seed: int = 0
    progress: Callable[[int, int], None] = field(default=lambda done, total: None)
    diagnose: bool = True

    # ---- what algorithms are written with

    @property
    def is_whole(self) -> bool:
        """Whether all components are here."""
        return self.basis.n == self.basis.n_nodes

    @property
    def n_nodes(self) -> int:
        """Nodes of the graph."""
        return self.stratum.n_nodes

    @cached_property
    def gradient(self) -> Array:
        """Definition 2, one number per edge: ``(T, m)``, in the precision of the basis."""
        return fast.edge_lengths(self._centred_potential, self.stratum.edges)

    @cached_property
    def total_weight(self) -> float:
        """``sum_e w``."""
        return self.stratum.total_weight

    def project(self, signals: Array) -> Array:
        """``phi_i^T C s`` (``u_i^T s`` for the normalised Laplacian): ``(T, n, d) -> (T, components, d)``."""
        return _of_columns(self._project_columns(signals), signals)

    def energy(self, signals: Array) -> Energy:
        """``sum_x c(x) norm(s(x))^2`` (without ``c`` for the normalised Laplacian), ``(T, n, d) -> (T,)`` twice."""
        at_zero, rest = self._split(signals)
        off, at = (self.xp.reshape(part * part, (len(part), len(signals), -1)) for part in (rest, at_zero))
        return Energy(self.xp.sum(off, axis=(0, 2)), self.xp.sum(at, axis=(0, 2)))

    def node_means(self) -> Array:
        """The weighted mean gradient over each node's edges, 0 without an edge: ``(T, n)``."""
        sums = fast.node_sums(self.stratum.edges, self._flow, self.n_nodes)
        degrees = np.where(self.stratum.counts > 0, self.stratum.degrees, 1.0)
        return sums / self._here(degrees)

    def oriented_gradient(self, orientation: str) -> Array:
        """Gradients with a sign for the direction of each edge: from lower to higher rows, or random."""
        if orientation == "index":
            return self.gradient
        signs = self.random(purpose=1).choice([-1.0, 1.0], size=self.stratum.n_edges)
        return self.gradient * self._here(signs)

    def project_divergence(self, flow: Array) -> Array:
        """``phi_i^T B^T diag(w) flow``: ``(T, m) -> (T, components)``."""
        return self._transform(self._source(flow)).T

    def divergence_energy(self, flow: Array) -> Energy:
        """``norm(C^-1/2 B^T diag(w) flow)^2``: ``(T, m) -> (T,)``."""
        return Energy(self.xp.sum(self._source(flow) ** 2, axis=0))

    def _source(self, flow: Array) -> Array:
        """``C^-1/2 B^T diag(w) flow``: ``(T, m) -> (n, T)``."""
        source = fast.divergence(self.stratum.edges, self._weighted(flow), self.n_nodes).T
        return source if self.basis.root is None else source / self._here(self.basis.root)[:, None]

    def misfit(self, coefficients: Array, flow: Array) -> Array:
        """``B f - flow`` on the edges for ``f = sum_i coefficients_i phi_i``: ``(T, n), (T, m) -> (T, m)``."""
        f = self.basis.rebuild(coefficients.T)
        if self.basis.root is not None:
            f = f / self._here(self.basis.root)[:, None]
        x, y = self.stratum.edges[:, 0], self.stratum.edges[:, 1]
        return (f[x] - f[y]).T - flow

    def edge_sum(self, values: Array) -> Array:
        """``sum_e w values``: ``(T, m) -> (T,)``."""
        return self.xp.sum(self._weighted(values), axis=1)

    def edge_norm(self, values: Array) -> Array:
        """``sqrt(sum_e w values^2)``: ``(T, m) -> (T,)``."""
        return fast.root(self.edge_sum(values * values))

    def over_eigenvalues(self, sums: Array, power: float = 1.0, at_zero: float = 0.0) -> Array:
        """``sums / lam^power``, and ``at_zero`` at zero components: ``(T, components)`` to the same."""
        scale = np.full(self.basis.n, at_zero)
        np.divide(1.0, self.basis.values**power, out=scale, where=~self.basis.is_zero)
        return sums * self._here(scale)

    def at_zero(self, values: Array) -> Array:
        """One value per snapshot at every zero component, 0 elsewhere: ``(T,) -> (T, components)``."""
        return values[:, None] * self._here(self.basis.is_zero.astype(float))

    def energy_on_edges(self, magnitude: Array) -> Array:
        """``sum_i lam_i magnitude_i^2``: ``(T, components) -> (T,)``."""
        return magnitude**2 @ self._here(self.basis.values)

    @cached_property
    def difference_sums(self) -> tuple[Array, Array]:
        """``sum_e w g abs(phi_i(x) - phi_i(y))`` and ``sum_e (w g)^2 (phi_i(x) - phi_i(y))^2``, in one pass.

        Each ``(T, components)``, 0 at zero components.
        """
        found = self.sum_differences(self._flow)
        verify_energy(self, self.xp.sum(found[1], axis=1), self.difference_energy)
        return found

    @cached_property
    def difference_energy(self) -> Energy:
        """``sum_e (w g)^2 (1/c(x) + 1/c(y))``, which the second of ``difference_sums`` adds up to: ``(T,)``."""
        squares = self._flow**2
        if self.basis.root is None:
            return Energy(2.0 * self.xp.sum(squares, axis=1))
        inverse = self._here(self.basis.root**-2.0)
        return Energy(squares @ (inverse[self.stratum.edges[:, 0]] + inverse[self.stratum.edges[:, 1]]))

    # ---- how

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """How accurate the eigenspaces are; None where that was not measured."""
        return accuracy_of(self.basis)

    @property
    def reservation(self) -> str:
        """What a status must say of the basis in place of "ok"; nothing where all is well."""
        return UNCOUNTED if not self.is_whole and self.basis.cut and np.isnan(self.basis.cut.beyond) else ""

    @property
    def xp(self) -> ModuleType:
        """The array-API namespace of the signal."""
        return namespace(self.potential)

    def name_of(self, row: int) -> str:
        """Which snapshot a message means; nothing where there is one."""
        return f" in snapshot {row}" if len(self.potential) > 1 else ""

    def random(self, purpose: int) -> np.random.Generator:
        """A generator that depends on the seed, the hop and the purpose alone."""
        return np.random.default_rng([self.seed, self.stratum.number, purpose])

    def sum_differences(self, flow: Array) -> tuple[Array, Array]:
        """The two sums of ``difference_sums`` for any values ``(T, m)`` on the edges in the place of ``w g``."""
        absolute = self.xp.zeros((len(flow), self.basis.n), dtype=flow.dtype, device=flow.device)
        squared = self.xp.zeros_like(absolute)
        for part, edges, where in self.blocks():
            vectors = part.vectors[:, part.nonzero]
            if self.basis.root is not None:
                vectors = vectors / self._here(self.basis.root)[part.nodes][:, None]
            columns = part.columns[part.nonzero]
            absolute[:, columns], squared[:, columns] = fast.difference_sums(edges, flow[:, where], vectors)
        return absolute, squared

    def blocks(self) -> Iterator[tuple[Part, Any, Any]]:
        """Each part with its edges in the part's own numbering and where they stand among the stratum's edges."""
        edges, xp = self.stratum.edges, namespace(self.stratum.edges)
        alone = len(self.basis.parts) == 1 and self.basis.cut is None
        if alone and len(self.basis.singletons) == 0:
            yield self.basis.parts[0], edges, slice(None)
            return
        local = xp.zeros(self.stratum.n_nodes, dtype=xp.int64, device=edges.device)
        for part in self.basis.parts:
            local[part.nodes] = xp.arange(len(part.nodes), dtype=xp.int64, device=edges.device)
        edges = local[edges]
        if alone:
            yield self.basis.parts[0], edges, slice(None)
            return
        owner = like(self.stratum.parts, edges)[self.stratum.edges[:, 0]]
        order = xp.argsort(owner, stable=True)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(to_numpy(owner), minlength=self.stratum.n_parts))])
        for part in self.basis.parts:
            label = self.stratum.parts[int(part.nodes[0])]
            where = order[bounds[label] : bounds[label + 1]]
            yield part, edges[where], where

    def _here(self, values: np.ndarray) -> Array:
        """Plain numbers where the signal is, in the precision of the basis."""
        return like(values.astype(self.basis.dtype), self.potential)

    def _in_precision(self, values: Array) -> Array:
        return self.xp.astype(values, getattr(self.xp, self.basis.dtype), copy=False)

    @cached_property
    def _centred_potential(self) -> Array:
        """The potential, in single precision less its means over parts: differences keep their digits then."""
        if self.basis.dtype == "float64":
            return self._in_precision(self.potential)
        return _of_columns(self._split_potential[1], self.potential)

    @cached_property
    def _split_potential(self) -> tuple[Array, Array]:
        """Means over parts and what is left, in the precision of the basis: made once for several uses."""
        along, rest = split_at_zero(self.stratum, COMBINATORIAL, _columns(self.potential))
        return self._in_precision(along), self._in_precision(rest)

    @cached_property
    def _splits(self) -> dict[int, tuple[Array, tuple[Array, Array]]]:
        return {}

    def _split(self, signals: Array) -> tuple[Array, Array]:
        """``split_at_zero`` in the precision of the basis, made once for a projection and its energy."""
        if signals is self.potential and not self.basis.operator.has_measure:
            return self._split_potential
        if id(signals) not in self._splits:
            along, rest = split_at_zero(self.stratum, self.basis.operator, _columns(signals))
            self._splits[id(signals)] = signals, (self._in_precision(along), self._in_precision(rest))
        return self._splits[id(signals)][1]

    @cached_property
    def _flow(self) -> Array:
        return self._weighted(self.gradient)

    def _weighted(self, values: Array) -> Array:
        if self.stratum.weights is None:
            return values
        return values * self._here(to_numpy(self.stratum.weights))

    def _transform(self, columns: Array) -> Array:
        """``u_i^T s`` of columns off the null vectors, ``(n, p) -> (components, p)``; of factored vectors, checked."""
        found = self.basis.project(columns)
        if self.basis.is_factored:
            verify_projection(self.basis, self.stratum, columns, found)
        return found

    def _project_columns(self, signals: Array) -> Array:
        """``phi_i^T C s`` as columns: ``(T, n, d) -> (components, T d)``.

        Zero components come from sums over parts; the others from the columns without their part along the null
        vectors, so that a large mean costs no digits.
        """
        basis = self.basis
        if not basis.by_structure:
            columns = _columns(signals)
            if basis.operator.weighs_signals and basis.root is not None:
                columns = columns * matching(basis.root, columns)[:, None]
            return basis.project(self._in_precision(columns))
        along, rest = self._split(signals)
        found = self._transform(rest)
        if basis.zeros:  # zero component k is the null vector of part k
            found[: basis.zeros] = along[basis.first : basis.first + basis.zeros]
        return found


def _columns(signals: Array) -> Array:
    """``(T, n, d) -> (n, T d)``."""
    xp = namespace(signals)
    return xp.reshape(xp.permute_dims(signals, (1, 0, 2)), (signals.shape[1], -1))


def _of_columns(columns: Array, example: Array) -> Array:
    """``(n, T d) -> (T, n, d)``, T and d as of ``example``."""
    xp = namespace(columns)
    return xp.permute_dims(xp.reshape(columns, (len(columns), len(example), -1)), (1, 0, 2))


def split_at_zero(stratum: Stratum, operator: Operator, columns: Array) -> tuple[Array, Array]:
    """Zero components of columns ``(n, p)``, one per connected part ``(parts, p)``, and the rest ``C^1/2 s - ...``.

    The squares of both add up to the whole energy; no eigenbasis is needed.
    """
    measure = operator.measure(stratum) if operator.has_measure else None
    return split_along(columns, stratum.parts, measure, operator.weighs_signals)


def split_along(
    columns: Array,
    parts: Array,
    measure: Array | None,
    weighs: bool,
    sizes: Array | None = None,
    part_sums: Callable[[Array, Array, int], Array] = fast.part_sums,
) -> tuple[Array, Array]:
    """``split_at_zero`` from each node's part and measure (None where it is 1), shapes (n,).

    ``weighs`` where columns are a signal ``s`` that counts as ``C^1/2 s``; otherwise they count as they are. ``sizes``
    are the measures of the parts, where they are known; ``part_sums`` adds over the nodes of each part.
    """
    size = matching((np.bincount(parts, measure) if sizes is None else sizes).astype(np.float64), columns)[:, None]

    def at_nodes(means: Array) -> Array:
        """The mean of each node's part; of one part, a row for all."""
        return means if len(size) == 1 else namespace(means).take(means, like(parts, columns), axis=0)

    if measure is None:
        means = part_sums(columns, parts, len(size)) / size
        return means * size**0.5, columns - at_nodes(means)
    root = matching(np.sqrt(measure), columns)[:, None]
    means = part_sums(columns * (root**2 if weighs else root), parts, len(size)) / size
    rest = root * (columns - at_nodes(means)) if weighs else columns - root * at_nodes(means)
    return means * size**0.5, rest
