r"""The argument of every algorithm at one hop, and its result.

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
from spectrata.core.checks import Energy
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.core.strata import Stratum, number_of
from spectrata.kernels import edge_sums
from spectrata.kernels.backend import Array, like, matching, namespace, to_numpy
from spectrata.kernels.edge_sums import part_sums

OK = "ok"
UNCOUNTED = "unconfirmed: this part of the spectrum is too large to count its eigenvalues"
UNDEFINED_AT_ZERO = "undefined at zero eigenvalues"
ZERO_VECTOR = "undefined: zero vector"
NOT_FINITE = "undefined: NaN or infinite values"


@dataclass(frozen=True)
class Extra:
    """A diagnostic of an algorithm."""

    dims: tuple[str, ...]  # may hold "snapshot", "trial", "component" and others
    values: np.ndarray
    grows: bool = False  # whether it is in the signal's units


@dataclass(frozen=True, eq=False)
class Output:
    """Magnitudes of one algorithm at one hop."""

    magnitude: Array  # (T, components)
    status: str = OK  # or why some or all of it is NaN
    extras: dict[str, Extra] = field(default_factory=dict)
    energy: Energy | None = None  # of what was projected, where magnitudes times lam^power are lengths of projections
    power: float = 0.0  # the power of the eigenvalues that the magnitudes are divided by


class HopFormulas:
    """The formulas that one graph and stacked small graphs (``many.stacked``) share; there a graph is a snapshot."""

    stratum: Any
    basis: Any
    potential: Array
    gradient: Array
    seed: int

    @property
    def is_whole(self) -> bool:
        return self.basis.is_whole

    @property
    def n_nodes(self) -> int:
        return self.stratum.n_nodes

    @property
    def xp(self) -> ModuleType:
        return namespace(self.potential)

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """How accurate the eigenspaces are; None where that was not measured."""
        return accuracy_of(self.basis)

    @property
    def total_weight(self) -> Any:
        return self.stratum.total_weight

    def node_means(self) -> Array:
        """The weighted mean gradient over each node's edges, 0 without an edge: ``(T, n)``."""
        sums = edge_sums.node_sums(self.stratum.edges, self._weighted(self.gradient), self.n_nodes)
        return sums / self._here(np.where(self.stratum.degrees > 0, self.stratum.degrees, 1.0))

    @property
    def difference_energy(self) -> Energy:
        """``sum_e (w g)^2 (1/c(x) + 1/c(y))``, which the second of ``difference_sums`` adds up to: ``(T,)``."""
        squares = self._weighted(self.gradient) ** 2
        if self.basis.root is None:
            return Energy(2.0 * self.xp.sum(squares, axis=1))
        inverse = self._here(self.basis.root**-2.0)
        ends = inverse[..., self.stratum.edges[:, 0]] + inverse[..., self.stratum.edges[:, 1]]
        return Energy(self.xp.sum(squares * ends, axis=1))

    def edge_sum(self, values: Array) -> Array:
        """``sum_e w values``: ``(T, m) -> (T,)``."""
        return self.xp.sum(self._weighted(values), axis=1)

    def edge_norm(self, values: Array) -> Array:
        """``sqrt(sum_e w values^2)``: ``(T, m) -> (T,)``."""
        return edge_sums.root(self.edge_sum(values * values))

    def over_eigenvalues(self, sums: Array, power: float = 1.0, at_zero: float = 0.0) -> Array:
        """``sums / lam^power``, and ``at_zero`` at zero components: ``(T, components)`` to the same."""
        scale = np.full(self.basis.values.shape, at_zero)
        np.divide(1.0, self.basis.values**power, out=scale, where=~self.basis.is_zero)
        return sums * self._here(scale)

    def at_zero(self, values: Array) -> Array:
        """One value per snapshot at every zero component, 0 elsewhere: ``(T,) -> (T, components)``."""
        return values[:, None] * self._here(self.basis.is_zero.astype(float))

    @property
    def reservation(self) -> str:
        """A reservation about the basis that replaces the status "ok"; empty where there is none."""
        return UNCOUNTED if not self.is_whole and np.isnan(self.basis.beyond) else ""

    def random(self, purpose: int) -> np.random.Generator:
        """A generator that depends on the seed, the hop and the purpose alone."""
        return np.random.default_rng([self.seed, number_of(self.stratum.hop), purpose])

    def _here(self, values: np.ndarray) -> Array:
        """Plain numbers where the signal is, in the precision of the basis."""
        return like(values.astype(self.basis.dtype), self.potential)

    def _weighted(self, values: Array) -> Array:
        if self.stratum.weights is None:
            return values
        return values * self._here(to_numpy(self.stratum.weights))


@dataclass(frozen=True, eq=False)
class Hop(HopFormulas):
    """One stratum with its eigenbasis and a signal on it, for ``T`` snapshots."""

    stratum: Stratum
    basis: EigenBasis
    potential: Array  # (T, n, d), the signal whose plain differences have the length of the gradient
    line: Callable[[], EigenBasis]  # gives the line graph's eigenbasis, solved once and only if asked for
    # ``remember(key, make)`` gives what ``make()`` gave the first time: for work that depends on the graph alone.
    remember: Callable[[tuple, Callable[[], Any]], Any]
    seed: int = 0
    diagnose: bool = True  # whether extras are wanted

    # ---- what algorithms are written with

    @cached_property
    def gradient(self) -> Array:
        """Definition 2, one number per edge: ``(T, m)``, in the precision of the basis."""
        values = self.potential
        if self.basis.dtype != "float64":  # less its means over parts: differences keep their digits then
            values = _of_columns(split_at_zero(self.stratum, COMBINATORIAL, _columns(values))[1], values)
        return edge_sums.edge_lengths(self._in_precision(values), self.stratum.edges)

    def project(self, signals: Array) -> tuple[Array, Energy]:
        """``phi_i^T C s`` (``u_i^T s`` for the normalised Laplacian), ``(T, n, d) -> (T, components, d)``; energies.

        These are ``sum_x c(x) norm(s(x))^2`` (without ``c`` for the normalised Laplacian). Zero components come from
        sums over parts; the others from the columns without their part along the null vectors, so that a large mean
        costs no digits.
        """
        xp, basis, columns = self.xp, self.basis, _columns(signals)
        along, rest = map(self._in_precision, split_at_zero(self.stratum, basis.operator, columns))
        if basis.by_structure:
            found = self._transform(rest)
            found[: basis.zeros] = along[basis.first : basis.first + basis.zeros]  # k is the null vector of part k
        else:
            if basis.root is not None and basis.operator.weighs_signals:
                columns = columns * matching(basis.root, columns)[:, None]
            found = basis.project(self._in_precision(columns))
        squares = (xp.reshape(one * one, (len(one), len(signals), -1)) for one in (rest, along))
        return _of_columns(found, signals), Energy(*(xp.sum(one, axis=(0, 2)) for one in squares))

    def oriented_gradient(self, orientation: str) -> Array:
        """Gradients with a sign for the direction of each edge: from lower to higher rows, or random."""
        if orientation == "index":
            return self.gradient
        signs = self.random(purpose=1).choice([-1.0, 1.0], size=self.stratum.n_edges)
        return self.gradient * self._here(signs)

    def project_divergence(self, flow: Array) -> tuple[Array, Energy]:
        """``phi_i^T B^T diag(w) flow``, ``(T, m) -> (T, components)``, and ``norm(C^-1/2 B^T diag(w) flow)^2``."""
        source = self._over_root(edge_sums.divergence(self.stratum.edges, self._weighted(flow), self.n_nodes).T)
        return self._transform(source).T, Energy(self.xp.sum(source**2, axis=0))

    @cached_property
    def difference_sums(self) -> tuple[Array, Array]:
        """``sum_e w g abs(phi_i(x) - phi_i(y))`` and ``sum_e (w g)^2 (phi_i(x) - phi_i(y))^2``: ``(T, components)``."""
        return self.sum_differences(self._weighted(self.gradient))

    # ---- for diagnostics, of one graph only

    def misfit(self, coefficients: Array, flow: Array) -> Array:
        """``B f - flow`` on the edges for ``f = sum_i coefficients_i phi_i``: ``(T, n), (T, m) -> (T, m)``."""
        f = self._over_root(self.basis.rebuild(coefficients.T))
        x, y = self.stratum.edges[:, 0], self.stratum.edges[:, 1]
        return (f[x] - f[y]).T - flow

    def energy_on_edges(self, magnitude: Array) -> Array:
        """``sum_i lam_i magnitude_i^2``: ``(T, components) -> (T,)``."""
        return magnitude**2 @ self._here(self.basis.values)

    # ---- how

    def sum_differences(self, flow: Array) -> tuple[Array, Array]:
        """The two sums of ``difference_sums`` for any values ``(T, m)`` on the edges in the place of ``w g``."""
        absolute = self.xp.zeros((len(flow), self.basis.n), dtype=flow.dtype, device=flow.device)
        squared = self.xp.zeros_like(absolute)
        for part, edges, where in self.blocks():
            vectors = part.vectors[:, part.nonzero]
            if self.basis.root is not None:
                vectors = vectors / self._here(self.basis.root)[part.nodes][:, None]
            columns = part.columns[part.nonzero]
            absolute[:, columns], squared[:, columns] = edge_sums.difference_sums(edges, flow[:, where], vectors)
        return absolute, squared

    def blocks(self) -> Iterator[tuple[Part, Any, Any]]:
        """Each part with its edges in the part's own numbering and where they stand among the stratum's edges."""
        edges, xp = self.stratum.edges, namespace(self.stratum.edges)
        local = xp.zeros(self.stratum.n_nodes, dtype=xp.int64, device=edges.device)
        for part in self.basis.parts:
            local[part.nodes] = xp.arange(len(part.nodes), dtype=xp.int64, device=edges.device)
        edges = local[edges]
        if len(self.basis.parts) == 1 and self.is_whole:
            yield self.basis.parts[0], edges, slice(None)
            return
        owner = like(self.stratum.parts, edges)[self.stratum.edges[:, 0]]
        order = xp.argsort(owner, stable=True)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(to_numpy(owner), minlength=self.stratum.n_parts))])
        for part in self.basis.parts:
            label = self.stratum.parts[int(part.nodes[0])]
            where = order[bounds[label] : bounds[label + 1]]
            yield part, edges[where], where

    def _in_precision(self, values: Array) -> Array:
        return self.xp.astype(values, getattr(self.xp, self.basis.dtype), copy=False)

    def _transform(self, columns: Array) -> Array:
        """``u_i^T s`` of columns off the null vectors, ``(n, p) -> (components, p)``; of factored vectors, checked."""
        found = self.basis.project(columns)
        if self.basis.is_factored:
            verify_projection(self.basis, self.stratum, columns, found)
        return found

    def _over_root(self, columns: Array) -> Array:
        return columns if self.basis.root is None else columns / self._here(self.basis.root)[:, None]


def _columns(signals: Array) -> Array:
    """``(T, n, d) -> (n, T d)``."""
    xp = namespace(signals)
    return xp.reshape(xp.permute_dims(signals, (1, 0, 2)), (signals.shape[1], -1))


def _of_columns(columns: Array, example: Array) -> Array:
    """``(n, T d) -> (T, n, d)``, T and d as of ``example``."""
    xp = namespace(columns)
    return xp.permute_dims(xp.reshape(columns, (len(columns), len(example), -1)), (1, 0, 2))


def split_at_zero(stratum: Stratum, operator: Laplacian, columns: Array) -> tuple[Array, Array]:
    """Zero components of columns ``(n, p)``, one per connected part ``(parts, p)``, and the rest ``C^1/2 s - ...``."""
    measure = operator.measure(stratum) if operator.has_measure else None
    return split_along(columns, stratum.parts, measure, operator.weighs_signals)


def split_along(
    columns: Array, parts: Array, measure: Array, weighs: bool, sizes: Array = None, sums: Callable = part_sums
) -> tuple[Array, Array]:
    """``split_at_zero`` from each node's part and measure (None where it is 1), shapes (n,).

    ``weighs`` where columns are a signal ``s`` that counts as ``C^1/2 s``; otherwise they count as they are. ``sizes``
    are the measures of the parts, where they are known; ``sums`` adds over the nodes of each part.
    """
    size = matching((np.bincount(parts, measure) if sizes is None else sizes).astype(np.float64), columns)[:, None]

    def at_nodes(means: Array) -> Array:
        """The mean of each node's part; of one part, a row for all."""
        return means if len(size) == 1 else namespace(means).take(means, like(parts, columns), axis=0)

    if measure is None:
        means = sums(columns, parts, len(size)) / size
        return means * size**0.5, columns - at_nodes(means)
    root = matching(np.sqrt(measure), columns)[:, None]
    means = sums(columns * (root**2 if weighs else root), parts, len(size)) / size
    rest = root * (columns - at_nodes(means)) if weighs else columns - root * at_nodes(means)
    return means * size**0.5, rest
