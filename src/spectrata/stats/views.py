"""Views of node features: what a linear model sees when it reads a node beside, or through, its neighbours.

The probe, the scikit-learn transformer and the PyTorch Geometric transform share these functions.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from spectrata.errors import OptionError, shown
from spectrata.inputs.graphs import Graph

ALONE = "features alone"
MOST_PAIRS = 10**7  # paths of two edges up to which the mean at exactly 2 hops is a view


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The sparse operators of a graph that views multiply features with.

    Parameters
    ----------
    edges : ndarray of int, shape (m, 2)
    n_nodes : int
    weights : ndarray, shape (m,), optional

    Examples
    --------
    >>> path = Neighbourhood(np.array([[0, 1], [1, 2]]), 3)
    >>> (path.mean @ np.array([1.0, 0.0, 3.0])).tolist()
    [0.0, 2.0, 0.0]
    """

    edges: np.ndarray
    n_nodes: int
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, graph: Graph) -> "Neighbourhood":
        """The operators of a graph."""
        return cls(graph.edges, graph.n_nodes, graph.weights)

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """W, shape (n, n)."""
        return symmetric(self.edges, self.n_nodes, self.weights)

    @cached_property
    def mean(self) -> sp.csr_array:
        """D^-1 W: the weighted mean over neighbours; 0 for a node without any."""
        return _averaging(self.adjacency)

    @cached_property
    def gcn(self) -> sp.csr_array:
        """S = (D + I)^-1/2 (W + I) (D + I)^-1/2, the operator of GCN."""
        looped = self.adjacency + sp.eye_array(self.n_nodes, format="csr")
        root = sp.diags_array(1 / np.sqrt(looped.sum(axis=1)))
        return sp.csr_array(root @ looped @ root)

    @cached_property
    def second(self) -> sp.csr_array:
        """The mean over nodes at exactly 2 hops; 0 for a node without any."""
        near = sp.csr_array((np.ones(self.adjacency.nnz), self.adjacency.indices, self.adjacency.indptr))
        near.resize(self.adjacency.shape)
        reached = (near @ near).tocoo()
        apart = reached.row != reached.col
        ends = reached.row[apart], reached.col[apart]
        both = sp.csr_array((np.ones(len(ends[0])), ends), shape=near.shape)
        both = both - both.multiply(near)
        both.eliminate_zeros()
        return _averaging(both)

    @property
    def has_second(self) -> bool:
        """Whether some nodes are 2 hops apart, and few enough to take their mean."""
        degrees = np.bincount(self.edges.ravel(), minlength=self.n_nodes).astype(float)
        return bool(np.sum(degrees * (degrees - 1)) / 2 <= MOST_PAIRS and self.second.nnz > 0)


def symmetric(edges: np.ndarray, n_nodes: int, weights: np.ndarray | None = None) -> sp.csr_array:
    """The symmetric matrix of edges ``(m, 2)``, shape (n, n)."""
    x, y = np.asarray(edges).T
    values = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    ends = (np.concatenate([x, y]), np.concatenate([y, x]))
    return sp.csr_array((np.tile(values, 2), ends), shape=(n_nodes, n_nodes))


def _averaging(matrix: sp.csr_array) -> sp.csr_array:
    total = np.asarray(matrix.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)) @ matrix)


VIEWS: dict[str, Callable[[Neighbourhood, np.ndarray], list[np.ndarray]]] = {
    ALONE: lambda near, x: [x],
    "S x": lambda near, x: [near.gcn @ x],
    "S^2 x": lambda near, x: [near.gcn @ (near.gcn @ x)],
    "S^4 x": lambda near, x: [near.gcn @ (near.gcn @ (near.gcn @ (near.gcn @ x)))],
    "x beside neighbours": lambda near, x: [x, near.mean @ x],
    "x beside 2 hops": lambda near, x: [x, near.mean @ x, near.mean @ (near.mean @ x)],
    "x beside x - S x": lambda near, x: [x, x - near.gcn @ x],
    "mean at exactly 2 hops": lambda near, x: [near.second @ x],
}


def make_view(near: Neighbourhood, features: np.ndarray, name: str) -> np.ndarray:
    """One view of features ``(n, d)``, its blocks side by side."""
    return np.hstack(VIEWS[name](near, features))


def chosen_views(views: Any) -> tuple[str, ...]:
    """Names of views, checked; all of them for None."""
    if views is None:
        return tuple(VIEWS)
    wanted = (views,) if isinstance(views, str) else tuple(views) if isinstance(views, Iterable) else (views,)
    unknown = [name for name in wanted if name not in VIEWS]
    if unknown or not wanted:
        what = f"views holds {shown(unknown[0])}" if unknown else "views is empty"
        raise OptionError(f"{what}; the views are {', '.join(repr(name) for name in VIEWS)}.")
    return tuple(dict.fromkeys(wanted))
