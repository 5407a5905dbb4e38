"""Random surrogates: permuted, rotated or given signals, exchanged pairs, signals that are as smooth, rewired graphs.

Draw ``b`` of a row depends on the seed, the row and ``b`` alone, whichever draws are asked for with it. Signals are
drawn for some rows, one row after the other: ``(rows draws, n, d)``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import block_diag

from spectrata.core.bases.basis import EigenBasis
from spectrata.inputs.signals import Potential, Signal, potential

BLOCK = 64  # rotated signals made by one random generator
CHUNK = 32  # smooth surrogates made by one random generator, whose counter is the number of the chunk
MOST_NUMBERS = 2**21  # of a chunk: wide signals on large graphs have fewer surrogates in one
LEAST_EFFECTIVE = 2.0  # effective components below which a signal is too smooth to judge
ROUNDS = 20  # of edge swaps; in each every edge takes part in one proposal
DENSE_SHARE = 0.05  # of the entries of a matrix, from which on a product with a dense one is faster
ROUNDING = 1e-13  # share of a signal's norm below which a coefficient is rounding


def exchange_signs(seed: int, n: int, draws: int) -> np.ndarray:
    """Draw for every node whether two signals are exchanged there (-1): ``(1 + draws, n)``, the first row without."""
    signs = np.ones((1 + draws, n))
    signs[1:] = np.random.default_rng([seed, 0x5A4B]).choice([-1.0, 1.0], size=(draws, n))
    return signs


def permuted(field: Potential, made: np.ndarray, rows: np.ndarray) -> Potential:
    """The nodes' vectors in orders ``(B, n)``; a metric does not depend on the order of nodes."""
    values = field.values[rows][:, made].reshape(-1, *field.values.shape[1:])
    scale, undefined = (np.repeat(one[rows], len(made)) for one in (field.scale, field.undefined))
    return Potential(values, field.metric, scale, undefined)


def rotated(values: np.ndarray, metric: str, seed: int, rows: np.ndarray, start: int, stop: int) -> Potential:
    """Random signals with the mean and covariance of ``values (T, n, d)``, and no preferred direction among nodes."""
    first, last = start // BLOCK, -(-stop // BLOCK)
    cut = slice(start - first * BLOCK, stop - first * BLOCK)

    def block(row: int, number: int) -> np.ndarray:
        return rotate_signal(values[row], BLOCK, np.random.default_rng([seed, 0x5EC, row, number]))

    drawn = [np.concatenate([block(row, number) for number in range(first, last)])[cut] for row in rows]
    return potential(Signal(np.concatenate(drawn), None), metric, "zero")


def given_draws(field: Potential, columns: int, rows: np.ndarray, start: int, stop: int) -> Potential:
    """Signals ``start`` to ``stop - 1`` of those given, draws times columns of them; each row takes its own column."""
    where = (np.arange(start, stop) * columns + (rows % columns)[:, None]).ravel()
    values = np.ascontiguousarray(field.values[where])
    return Potential(values, field.metric, field.scale[where], field.undefined[where])


def rotate_signal(values: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw signals with the same mean and covariance of columns: ``(n, d) -> (draws, n, d)``.

    The centred signal is turned by a Haar-random rotation of the space orthogonal to the constants: no direction
    there, and so no eigencomponent, is preferred.
    """
    mean = values.mean(axis=0, keepdims=True)
    _, singular, right = np.linalg.svd(values - mean, full_matrices=False)
    rank = min(len(singular), len(values) - 1)
    gauss = rng.standard_normal((draws, len(values), rank))
    frame = haar(gauss - gauss.mean(axis=1, keepdims=True))
    return mean + (frame * singular[:rank]) @ right[:rank]


@dataclass(frozen=True, eq=False)
class Surrogates:
    """Signals with the energy that one signal has in each eigenspace: Moran spectral randomisation.

    The coefficients of an eigenspace are multiplied by a random rotation (in one dimension a random sign), all columns
    of a vector together. Components with eigenvalue 0 stay as they are: what is constant on connected parts is the same
    in every surrogate (Wagner and Dray 2015). Surrogates of two streams are independent.
    """

    basis: EigenBasis  # all components
    values: np.ndarray  # (n, d)
    seed: int = 0
    stream: int = 0

    @property
    def root(self) -> np.ndarray | None:
        """Square roots of the node measure (n,), where the transform has one."""
        return self.basis.root if self.basis.operator.weighs_signals else None

    @cached_property
    def coefficients(self) -> np.ndarray:
        """U^T C^1/2 values, shape (n, d)."""
        columns = self.values if self.root is None else self.values * self.root[:, None]
        return self.basis.project(np.ascontiguousarray(columns))

    @cached_property
    def energy(self) -> np.ndarray:
        """Energy of each eigenspace off zero, shape (eigenspaces,)."""
        squared = np.where(self.basis.is_zero, 0.0, np.sum(self.coefficients**2, axis=1))
        found = np.bincount(self.basis.eigenspace, squared)
        return np.where(found <= ROUNDING**2 * np.sum(self.coefficients**2), 0.0, found)

    @property
    def effective(self) -> float:
        """Effective number of components off zero: participation ratio of energies, even inside eigenspaces."""
        total = self.energy.sum()
        sizes = np.bincount(self.basis.eigenspace)
        return float(total**2 / np.sum(self.energy**2 / sizes)) if total > 0 else 0.0

    def draw(self, start: int, stop: int) -> np.ndarray:
        """Surrogates number ``start`` to ``stop - 1``, shape (n, d, stop - start)."""
        drawn = self.draw_coefficients(start, stop)
        n, d, count = drawn.shape
        found = self.basis.rebuild(drawn.reshape(n, d * count)).reshape(n, d, count)
        return found if self.root is None else found / self.root[:, None, None]

    def draw_coefficients(self, start: int, stop: int) -> np.ndarray:
        """Coefficients of surrogates ``start`` to ``stop - 1``, shape (n, d, stop - start); each by its number."""
        size = max(1, min(CHUNK, MOST_NUMBERS // self.values.size))
        first = start // size
        found = [self._chunk(chunk, size) for chunk in range(first, -(-stop // size))]
        return np.concatenate(found, axis=2)[..., start - first * size : stop - first * size]

    def _chunk(self, chunk: int, size: int) -> np.ndarray:
        rng = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, chunk, 1 + self.stream]))
        signs = rng.choice([-1.0, 1.0], size=(len(self.coefficients), size))
        signs[self.basis.is_zero] = 1.0
        drawn = self.coefficients[:, :, None] * signs[:, None, :]
        several = np.flatnonzero((self.basis.multiplicity > 1) & ~self.basis.is_zero)
        if not len(several):
            return drawn
        if self.coefficients.shape[1] == 1:  # numbers: a random direction in each repeated eigenspace
            spaces, first, place = np.unique(self.basis.eigenspace[several], return_index=True, return_inverse=True)
            normal = rng.standard_normal((len(several), size))
            # Components are sorted by eigenspace.
            lengths = np.sqrt(np.add.reduceat(normal**2, first, axis=0))
            drawn[several, 0] = normal * (np.sqrt(self.energy[spaces])[:, None] / lengths)[place]
        else:
            for members, triangle in self._repeated:
                frames = haar(rng.standard_normal((size, len(members), len(triangle))))
                drawn[members] = np.einsum("bmr,rd->mdb", frames, triangle)
        drawn[several] = (self._axes @ drawn[several].reshape(len(several), -1)).reshape(-1, *drawn.shape[1:])
        return drawn

    @cached_property
    def _repeated(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Components of each eigenspace of several dimensions, and R of the QR of their coefficients."""
        repeated = np.flatnonzero((self.basis.multiplicity > 1) & ~self.basis.is_zero)
        own = np.zeros_like(self.coefficients)
        own[repeated] = self._axes.T @ self.coefficients[repeated]
        several = np.unique(self.basis.eigenspace[repeated])
        members = [np.flatnonzero(self.basis.eigenspace == space) for space in several if self.energy[space] > 0]
        return [(one, np.asarray(np.linalg.qr(own[one], mode="r"))) for one in members]

    @cached_property
    def _axes(self) -> Any:
        """Axes in each eigenspace of several dimensions that do not depend on the basis that a solver chose there.

        They come from the same normal vectors, projected: p is then the same with every solver.
        """
        repeated = (self.basis.multiplicity > 1) & ~self.basis.is_zero
        spaces, sizes = np.unique(self.basis.eigenspace[repeated], return_counts=True)
        normal = np.random.default_rng(0).standard_normal((len(self.values), sizes.max()))
        inside = self.basis.project(normal)
        blocks = []
        for space, size in zip(spaces, sizes, strict=True):
            frame, triangle = np.linalg.qr(inside[self.basis.eigenspace == space, :size])
            blocks.append(frame * np.where(np.diag(triangle) < 0, -1.0, 1.0))
        found = block_diag(blocks, format="csr")
        return found.toarray() if found.nnz > DENSE_SHARE * found.shape[0] ** 2 else found


def haar(normal: np.ndarray) -> np.ndarray:
    """Random orthonormal columns ``(count, size, rank)`` from normal ones, all directions equally likely."""
    if normal.shape[2] == 1:
        return normal / np.linalg.norm(normal, axis=1, keepdims=True)
    frames, triangle = np.linalg.qr(normal)
    return frames * np.sign(np.einsum("bkk->bk", triangle))[:, None, :]


def swap_edges(edges: np.ndarray, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Edges ``(m, 2)`` of a random simple graph with the same degrees.

    A round pairs the edges at random and proposes to turn each pair ``ab, cd`` into ``ad, cb``. Proposals that make a
    loop, or an edge that exists or that another proposal makes, are refused.
    """
    x, y = np.array(edges, dtype=np.int64).T.copy()
    known, half = _keys(x, y, n_nodes), len(x) // 2
    for _ in range(ROUNDS):
        order = rng.permutation(len(x))
        first, second = order[:half], order[half : 2 * half]
        a, b, c, d = x[first], y[first], x[second], y[second]
        turned = rng.random(half) < 0.5
        c, d = np.where(turned, d, c), np.where(turned, c, d)
        one, two = _keys(a, d, n_nodes), _keys(c, b, n_nodes)
        every = np.sort(np.concatenate([known, one, two]))
        taken = every[1:][every[1:] == every[:-1]]  # few: an edge of a random pair of nodes hardly ever exists
        fine = (a != d) & (c != b) & ~np.isin(one, taken) & ~np.isin(two, taken)
        into, other = first[fine], second[fine]
        y[into], x[other], y[other] = d[fine], c[fine], b[fine]
        known[into], known[other] = one[fine], two[fine]
    return np.column_stack([x, y])


def _keys(x: np.ndarray, y: np.ndarray, n_nodes: int) -> np.ndarray:
    """One number for each undirected edge."""
    return np.minimum(x, y) * n_nodes + np.maximum(x, y)
