"""Views of node features: what a linear model sees when it reads a node beside, or through, its neighbours.

The probe, the scikit-learn transformer and the PyTorch Geometric transform share these functions.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from spectrata.errors import OptionError, shown
from spectrata.inputs.graphs import Graph
from spectrata.kernels.searches import both_directions

ALONE, SECOND = "features alone", "mean at exactly 2 hops"
MOST_PAIRS = 10**7  # paths of two edges up to which the mean at exactly 2 hops is a view
NO_GRAPH, LOW_PASS, BESIDE, EXACT_HOPS = "no graph", "low-pass", "beside neighbours", "exact hops"


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The sparse operators of a graph that views multiply features with."""

    graph: Graph

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """W, shape (n, n)."""
        indptr, indices, weights = self.graph.indptr, self.graph.indices, self.graph.weights
        values = np.ones(len(indices)) if weights is None else both_directions(indptr, indices, weights)
        return sp.csr_array((values, indices, indptr), shape=(self.graph.n_nodes,) * 2)

    @cached_property
    def mean(self) -> sp.csr_array:
        """D^-1 W: the weighted mean over neighbours; 0 for a node without any."""
        return _averaging(self.adjacency)

    @cached_property
    def gcn(self) -> sp.csr_array:
        """S = (D + I)^-1/2 (W + I) (D + I)^-1/2, the operator of GCN."""
        looped = self.adjacency + sp.eye_array(self.graph.n_nodes, format="csr")
        root = sp.diags_array(1 / np.sqrt(looped.sum(axis=1)))
        return sp.csr_array(root @ looped @ root)

    @cached_property
    def second(self) -> sp.csr_array:
        """The mean over nodes at exactly 2 hops; 0 for a node without any."""
        near = (self.adjacency != 0).astype(float)
        reached = (near @ near != 0).astype(float)
        away = reached - reached.multiply(near + sp.eye_array(self.graph.n_nodes))
        away.eliminate_zeros()
        return _averaging(sp.csr_array(away))

    @property
    def has_second(self) -> bool:
        """Whether some nodes are 2 hops apart, and few enough to take their mean."""
        degrees = np.diff(self.graph.indptr).astype(float)
        return bool(np.sum(degrees * (degrees - 1)) / 2 <= MOST_PAIRS and self.second.nnz > 0)


def _averaging(matrix: sp.csr_array) -> sp.csr_array:
    total = matrix.sum(axis=1)
    return sp.csr_array(sp.diags_array(np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)) @ matrix)


class View(NamedTuple):
    """A view: how its blocks are made, what it is in words, and the models that read features so, with their depth."""

    blocks: Callable[[Neighbourhood, np.ndarray], list[np.ndarray]]
    words: str
    family: str
    depth: str


VIEWS = {
    ALONE: View(lambda g, x: [x], "features alone", NO_GRAPH, ""),
    "S x": View(lambda g, x: [g.gcn @ x], "features averaged over neighbours", LOW_PASS, "1 or 2"),
    "S^2 x": View(lambda g, x: [_twice(g.gcn, x)], "features averaged over 2 steps", LOW_PASS, "2"),
    "S^4 x": View(lambda g, x: [_twice(g.gcn, _twice(g.gcn, x))], "features averaged over 4 steps", LOW_PASS, "2 to 4"),
    "x beside neighbours": View(lambda g, x: [x, g.mean @ x], "features beside their neighbours' mean", BESIDE, "1"),
    "x beside 2 hops": View(
        lambda g, x: [x, g.mean @ x, _twice(g.mean, x)], "features beside their means over 1 and 2 steps", BESIDE, "2"
    ),
    "x beside x - S x": View(
        lambda g, x: [x, x - g.gcn @ x], "features beside their difference from their surroundings", BESIDE, "1 or 2"
    ),
    SECOND: View(lambda g, x: [g.second @ x], "features averaged over nodes at exactly 2 hops", EXACT_HOPS, "2"),
}


def _twice(matrix: sp.csr_array, x: np.ndarray) -> np.ndarray:
    return matrix @ (matrix @ x)


def make_view(near: Neighbourhood, features: np.ndarray, name: str) -> np.ndarray:
    """Compute one view of features ``(n, d)``, its blocks side by side."""
    return np.hstack(VIEWS[name].blocks(near, features))


def chosen_views(views: Any) -> tuple[str, ...]:
    """Check names of views; all of them for None."""
    if views is None:
        return tuple(VIEWS)
    wanted = tuple(views) if isinstance(views, Iterable) and not isinstance(views, str) else (views,)
    unknown = [name for name in wanted if name not in VIEWS]
    if unknown or not wanted:
        what = f"views holds {shown(unknown[0])}" if unknown else "views is empty"
        raise OptionError(f"{what}; the views are {', '.join(repr(name) for name in VIEWS)}.")
    return tuple(dict.fromkeys(wanted))
