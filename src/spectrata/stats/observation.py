"""One signal on the pairs of nodes at one hop, ready to be tested."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.bases.solve import decompose
from spectrata.core.operators import Laplacian
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.kernels.backend import NUMPY, Backend, backend_of
from spectrata.stats.nulls.given import EXPLAINED, residual

RANDOM_WALK = "random_walk"
DENSE_SHARE = 0.1  # of all pairs, from which on a product with a dense matrix is faster
DENSE_NODES = 5_000
LARGE_PAIRS = 20_000  # nodes and pairs from which on orders are summed by compiled code, about 20 ms a look
FEW_PAIRS = 20  # below which a hop is called weak evidence
NO_VARIANCE = "no variance among nodes with a pair"


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of nodes at one hop (or interval of distance), among the n rows that are tested."""

    stratum: Stratum  # on all n rows
    basis_of: Any = None  # makes the eigenbasis of the stratum, where it is kept elsewhere
    backend: Backend = NUMPY  # where many pairs are summed

    @property
    def nbytes(self) -> int:
        return 4 * int(self.ends.nbytes + self.weights.nbytes)

    @cached_property
    def nodes(self) -> np.ndarray:
        """Rows with a pair, shape (m,); the others take no part."""
        return np.flatnonzero(self.stratum.counts)

    @cached_property
    def ends(self) -> np.ndarray:
        """Both ends of every pair, as positions among nodes, shape (e, 2)."""
        return (np.cumsum(self.stratum.counts > 0) - 1)[self.stratum.edges]

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of every pair, shape (e,)."""
        return np.ones(self.stratum.n_edges) if self.stratum.weights is None else self.stratum.weights

    @cached_property
    def matrix(self) -> Any:
        """W, symmetric, shape (m, m): compressed rows, or dense where most pairs are there."""
        from scipy.sparse import csr_array

        x, y = self.ends.T
        m = len(self.nodes)
        rows, columns = np.concatenate([x, y]), np.concatenate([y, x])
        found = csr_array((np.concatenate([self.weights, self.weights]), (rows, columns)), shape=(m, m))
        dense = m <= DENSE_NODES and 2 * len(x) > DENSE_SHARE * m * m
        return found.toarray() if dense else found

    @cached_property
    def is_complete(self) -> bool:
        """Whether all m nodes with a pair are paired with each other, by equal weights: r is -1 / (m - 1), always."""
        m = len(self.nodes)
        return 2 * len(self.ends) == m * (m - 1) and m > 0 and bool(np.ptp(self.weights) == 0)

    @cached_property
    def k(self) -> np.ndarray:
        """Sum of the weights of the pairs of each node, W 1, shape (m,)."""
        return self.stratum.degrees[self.nodes]

    @cached_property
    def total(self) -> float:
        return float(self.k.sum())

    @cached_property
    def parts(self) -> np.ndarray:
        """Connected part of each node, shape (m,)."""
        return np.unique(self.stratum.parts[self.nodes], return_inverse=True)[1]

    @cached_property
    def basis(self) -> EigenBasis:
        """The random-walk spectrum of the pairs."""
        return decompose(self.stratum, Laplacian(RANDOM_WALK)) if self.basis_of is None else self.basis_of()

    @property
    def remark(self) -> str:
        """Why the hop is weak evidence, in words; empty where it is not."""
        if 0 < len(self.ends) < FEW_PAIRS:
            return f"only {len(self.ends)} pair{'s' if len(self.ends) > 1 else ''}"
        if len(self.ends) and np.bincount(self.ends.ravel()).max() == len(self.ends):
            return "all pairs share one node"
        return ""


def pairs_of(strat: Stratification, hop: Any, rows: np.ndarray | None = None) -> Pairs:
    """The pairs of a hop among some nodes, by default all; those of all nodes are kept with the stratification."""
    backend, basis = backend_of(None, strat.computing.device), partial(strat.basis, hop, RANDOM_WALK)
    if rows is None or len(rows) == strat.graph.n_nodes:
        return strat.remember(("pairs", hop, backend), lambda: Pairs(strat.strata.at(hop), basis, backend))
    stratum = strat.strata.at(hop)
    kept = np.isin(stratum.edges, rows).all(axis=1)
    weights = None if stratum.weights is None else stratum.weights[kept]
    return Pairs(Stratum(hop, len(rows), np.searchsorted(rows, stratum.edges[kept]), weights), None, backend)


@dataclass(frozen=True, eq=False)
class Observation:
    """One signal, or several columns that are signals of their own, at one hop."""

    # (n, d): numbers, directions, or one 0/1 column per class, less their mean over all rows, largest entry 1; given
    # covariates, the residuals e = (I - H) values.
    values: np.ndarray
    pairs: Pairs
    rounding: np.ndarray  # () or (d,): differences below it are rounding of the input
    given: np.ndarray | None = None  # basis of covariates: permuted residuals are multiplied by I - H again
    separate: bool = False  # whether every column is a signal of its own
    table: "Observation | None" = None  # whose columns these are

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return self.values.shape[1]

    @cached_property
    def gram(self) -> np.ndarray:
        """Inner products of the rows, shape (n, n)."""
        return self.values @ self.values.T

    @cached_property
    def sums(self) -> np.ndarray:
        """What r of every order is summed with, ``(1 + 3 q, n)``: k, q covariates Q without the constant, W Q, k Q."""
        if self.table is not None:
            return self.table.sums
        pairs, k = self.pairs, self.pairs.stratum.degrees
        basis = np.empty((self.n, 0)) if self.given is None else self.given[:, 1:]  # x has mean 0 in every order
        weighted = np.zeros_like(basis)
        weighted[pairs.nodes] = pairs.matrix @ basis[pairs.nodes]
        return np.ascontiguousarray(np.column_stack([k, basis, weighted, k[:, None] * basis]).T)

    @cached_property
    def on_device(self) -> tuple[Any, ...]:
        """Edges, their weights, ``sums`` and the values where the backend of the pairs keeps arrays."""
        arrays = (self.pairs.stratum.edges, self.pairs.weights, self.sums, self.values)
        return tuple(map(self.pairs.backend.asarray, arrays))

    @property
    def squares(self) -> np.ndarray:
        """Sum of squared values: of the signal, or of every column."""
        return np.sum(self.values**2, axis=0 if self.separate else None)

    @property
    def size(self) -> np.ndarray:
        """Root mean square of the values: of the signal, or of every column."""
        return np.sqrt(self.squares / (self.n if self.separate else self.values.size))

    def beyond(self, given: np.ndarray) -> "Observation":
        """The residual of the signal after the covariates."""
        least = np.maximum(self.rounding, EXPLAINED * self.size)
        return Observation(residual(given, self.values), self.pairs, least, given, self.separate)

    def evened(self) -> "Observation":
        """Residuals that may change places: those of all nodes with the same variance, where the signal has one.

        The residual of node i has the share 1 - h_i of it, h the leverage. Permuted as they are, residuals of nodes
        that the covariates nearly explain would be too small elsewhere, and shrunk twice at such nodes.
        """
        assert self.given is not None
        left = 1 - np.sum(self.given**2, axis=1)
        values = self.values / np.sqrt(np.where(left > EXPLAINED, left, 1.0))[:, None]
        return replace(self, values=values - values.mean(axis=0))

    @property
    def is_explained(self) -> np.ndarray:
        """Whether the covariates leave nothing but rounding, of the signal or of every column."""
        return self.size <= self.rounding

    def columns(self, some: Any) -> "Observation":
        """Some of the columns, where they are signals of their own."""
        values = np.ascontiguousarray(self.values[:, some])
        return replace(self, values=values, rounding=self.rounding[some], table=self)


class Ends(NamedTuple):
    """A signal under B orders, at the nodes that have a pair, less its endpoint mean."""

    values: np.ndarray  # (m, B, d)
    variation: np.ndarray  # (B,), or (B, d) of separate columns: sum k norm(values)^2, NaN where it is rounding


def moved(obs: Observation, orders: np.ndarray | None = None) -> Ends:
    """The signal at the ends of pairs under orders ``(B, n)``; None for the observed order."""
    pairs = obs.pairs
    nodes = slice(None) if len(pairs.nodes) == obs.n else pairs.nodes
    rows = np.arange(obs.n)[None] if orders is None else orders
    shape = (len(pairs.nodes), len(rows), obs.width)
    if obs.given is None or orders is None:
        values = obs.values[rows[:, nodes].T].reshape(shape[0], -1)
    else:
        whole = obs.values[rows.T].reshape(obs.n, -1)
        basis = obs.given[:, 1:]  # residuals have mean 0 in every order
        values = whole[nodes] - basis[nodes] @ (basis.T @ whole)
    values -= (pairs.k @ values) / pairs.total
    variation = np.einsum("m,mf,mf->f", pairs.k, values, values, optimize=False).reshape(shape[1:])
    variation = variation if obs.separate else variation.sum(axis=1)
    return Ends(values.reshape(shape), np.where(variation > obs.rounding**2 * pairs.total, variation, np.nan))


def observe(values: np.ndarray, pairs: Pairs, rounding: float, separate: bool = False) -> Observation:
    """A signal ``(n, d)`` whose values have a relative rounding error, on the pairs of one hop."""
    over = 0 if separate else None
    centred = values - values.mean(axis=0)
    largest, error = np.abs(centred).max(axis=over), 8 * rounding * np.abs(values).max(axis=over)
    flat = largest <= error
    unit = np.where(flat, 1.0, largest)
    scaled = np.where(flat, 0.0, centred / unit)
    return Observation(scaled, pairs, np.where(flat, 1.0, error / unit), separate=separate)
