"""One signal on the pairs of nodes at one hop, ready to be tested."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.bases.solve import decompose
from spectrata.core.operators import Operator
from spectrata.core.strata import Stratum
from spectrata.core.stratification import Stratification
from spectrata.stats.nulls.given import EXPLAINED, Given

BATCH = 2**21  # numbers of a batch of orders
RANDOM_WALK = "random_walk"
DENSE_SHARE = 0.1  # of all pairs, from which on a product with a dense matrix is faster
DENSE_NODES = 5_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of nodes at one hop, among the n rows that are tested.

    Attributes
    ----------
    hop : object
        The hop, or the interval of distance.
    n : int
        Rows, with and without a pair.
    nodes : ndarray of int, shape (m,)
        Rows with a pair; the others take no part.
    ends : ndarray of int, shape (e, 2)
        Both ends of every pair, as positions among ``nodes``.
    weights : ndarray, shape (e,)
    stratum : Stratum
        The same pairs as a graph on all n rows.
    """

    hop: Any
    n: int
    nodes: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    stratum: Stratum
    basis_of: Any = None  # makes the eigenbasis of the stratum, where it is kept elsewhere

    @property
    def nbytes(self) -> int:
        """Memory held by the pairs."""
        return 4 * int(self.ends.nbytes + self.weights.nbytes)

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
    def k(self) -> np.ndarray:
        """Participation W 1 of the nodes that have a pair, shape (m,)."""
        return np.bincount(self.ends.ravel(), np.repeat(self.weights, 2), len(self.nodes))

    @cached_property
    def participation(self) -> np.ndarray:
        """The same for all rows, shape (n,)."""
        found = np.zeros(self.n)
        found[self.nodes] = self.k
        return found

    @cached_property
    def total(self) -> float:
        """Sum of k."""
        return float(self.k.sum())

    @cached_property
    def parts(self) -> np.ndarray:
        """Connected part of each node, shape (m,)."""
        return np.unique(self.stratum.parts[self.nodes], return_inverse=True)[1]

    @cached_property
    def basis(self) -> EigenBasis:
        """The random-walk spectrum of the pairs."""
        return decompose(self.stratum, Operator(RANDOM_WALK)) if self.basis_of is None else self.basis_of()

    @property
    def remark(self) -> str:
        """What makes the hop weak evidence, in words; nothing where nothing does."""
        if 0 < len(self.ends) < 20:
            return f"only {len(self.ends)} pair{'s' if len(self.ends) > 1 else ''}"
        if len(self.ends) and np.bincount(self.ends.ravel()).max() == len(self.ends):
            return "all pairs share one node"
        return ""


def pairs_of(strat: Stratification, hop: Any, rows: np.ndarray | None = None) -> Pairs:
    """The pairs of a hop among some nodes, by default all; those of all nodes are kept with the stratification."""
    if rows is not None and len(rows) < strat.graph.n_nodes:
        stratum = strat.strata.at(hop)
        place = np.full(stratum.n_nodes, -1)
        place[rows] = np.arange(len(rows))
        edges = place[stratum.edges]
        kept = (edges >= 0).all(axis=1)
        weights = None if stratum.weights is None else stratum.weights[kept]
        return _pairs(Stratum(hop, len(rows), edges[kept], weights))
    return strat.remember(("pairs", hop), lambda: _pairs(strat.strata.at(hop), lambda: strat.basis(hop, RANDOM_WALK)))


def _pairs(stratum: Stratum, basis_of: Any = None) -> Pairs:
    nodes, ends = np.unique(stratum.edges, return_inverse=True)
    weights = np.ones(stratum.n_edges) if stratum.weights is None else stratum.weights
    return Pairs(stratum.hop, stratum.n_nodes, nodes, ends.reshape(-1, 2), weights, stratum, basis_of)


@dataclass(frozen=True, eq=False)
class Observation:
    """One signal at one hop.

    Attributes
    ----------
    values : ndarray, shape (n, d)
        Numbers, directions, or one 0/1 column per class, less their mean over all rows, largest entry 1; given
        covariates: residuals e = (I - H) values.
    pairs : Pairs
    rounding : float
        Differences below it are rounding of the input.
    given : Given, optional
        Covariates: permuted residuals are multiplied by I - H again (Freedman and Lane 1983).
    """

    values: np.ndarray
    pairs: Pairs
    rounding: float
    given: Given | None = None

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.values)

    @property
    def width(self) -> int:
        """Columns d."""
        return self.values.shape[1]

    @cached_property
    def gram(self) -> np.ndarray:
        """Inner products of the rows, shape (n, n)."""
        return self.values @ self.values.T

    def beyond(self, given: Given) -> "Observation":
        """What the covariates leave of the signal."""
        left = given.residual(self.values)
        explained = EXPLAINED * np.sqrt(np.mean(self.values**2))
        return Observation(left, self.pairs, max(self.rounding, float(explained)), given)

    @property
    def is_explained(self) -> bool:
        """Whether the covariates leave nothing but rounding."""
        return float(np.sqrt(np.mean(self.values**2))) <= self.rounding

    def batches(self, orders: np.ndarray) -> Iterator[slice]:
        """Slices of orders whose permuted values fit in the cache."""
        step = max(1, BATCH // max(1, self.n * self.width))
        return (slice(start, start + step) for start in range(0, len(orders), step))


@dataclass(frozen=True, eq=False)
class Ends:
    """A signal under B orders, at the nodes that have a pair, less its endpoint mean.

    ``values (m, B, d)``; ``variation (B,)`` is sum k norm(values)^2, NaN where it is no more than rounding.
    """

    values: np.ndarray
    variation: np.ndarray


def moved(obs: Observation, orders: np.ndarray | None = None) -> Ends:
    """The signal at the ends of pairs under orders ``(B, n)``; None for the observed order."""
    pairs = obs.pairs
    if obs.given is None or orders is None:
        rows = pairs.nodes[None] if orders is None else orders[:, pairs.nodes]
        values = obs.values[rows.T]  # (m, B, d)
    else:
        whole = obs.values[orders.T]  # (n, B, d)
        flat = whole.reshape(obs.n, -1)
        basis = obs.given.basis
        values = whole[pairs.nodes] - (basis[pairs.nodes] @ (basis.T @ flat)).reshape(-1, *whole.shape[1:])
    flat = values.reshape(len(values), -1)
    values = values - ((pairs.k @ flat) / pairs.total).reshape(values.shape[1:])
    variation = np.einsum("m,mbd,mbd->b", pairs.k, values, values, optimize=False)
    return Ends(values, np.where(variation > obs.rounding**2 * pairs.total, variation, np.nan))


def observe(values: np.ndarray, pairs: Pairs, rounding: float) -> Observation:
    """A signal ``(n, d)`` whose values have a relative rounding error, on the pairs of one hop.

    Examples
    --------
    >>> strat = Stratification(__import__("networkx").path_graph(4), 1)
    >>> obs = observe(np.arange(4.0)[:, None], pairs_of(strat, 1), 2.0**-52)
    >>> obs.values.ravel().round(3).tolist()
    [-1.0, -0.333, 0.333, 1.0]
    """
    centred = values - values.mean(axis=0)
    largest = float(np.abs(centred).max(initial=0.0))
    error = 8 * rounding * float(np.abs(values).max(initial=0.0))
    if largest <= error:
        return Observation(np.zeros_like(centred), pairs, 1.0)
    return Observation(centred / largest, pairs, error / largest)
