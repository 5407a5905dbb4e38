"""Measures of one activation in one pass, without a decomposition of the graph."""

from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from spectrata.kernels.backend import Backend

MEASURES = {
    "off_zero_live": "share of the energy of the nodes' directions that varies from node to node: off the zero "
    "components of the combinatorial Laplacian at K = 1, over the nodes whose vector is not zero",
    "r": "correlation of the directions at the two ends of an edge, K = 1",
    "effective_rank": "exp of the entropy of the singular values divided by their sum; NaN above 512 columns and rows",
    "dead_rows": "share of the nodes whose vector is zero",
    "norm": "Frobenius norm",
    "mean_row_norm": "mean norm of the nodes' vectors",
}
WIDEST = 512  # of the smaller side of a matrix: the eigenvalues of wider Gram matrices take longer than a pass
ROWS = 1024  # converted to double precision at a time: they stay in the cache
CLOSE = 0.1  # share of energy about a mean below which differences are formed: they keep their digits
SAFE = 1e15  # norms between this and its inverse can be squared in single precision


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The operators of a graph that measures need, as tensors of one device and precision."""

    adjacency: torch.Tensor  # (n, n), sparse, with weights
    degrees: torch.Tensor  # (n,), sums of weights
    members: torch.Tensor  # (parts, n), sparse: 1 where a node belongs to a connected part
    parts: torch.Tensor  # (n,)
    _moved: dict[tuple[torch.device, torch.dtype], "Neighbours"] = field(default_factory=dict)

    @classmethod
    def of(cls, edges: np.ndarray, n: int, weights: np.ndarray | None = None) -> "Neighbours":
        """From edges ``(m, 2)``, each once; in main memory and double precision."""
        ones = np.ones(len(edges)) if weights is None else np.asarray(weights, dtype=float)
        half = csr_array((ones, (edges[:, 0], edges[:, 1])), shape=(n, n))
        count, parts = connected_components(half, directed=False)
        members = csr_array((np.ones(n), (parts, np.arange(n))), shape=(count, n))
        degrees = torch.tensor(np.bincount(edges.ravel(), np.repeat(ones, 2), n))
        sparse = (csr_array(half + half.T), members)
        found = [Backend("torch").sparse_rows(one.indptr, one.indices, one.data, n) for one in sparse]
        return cls(found[0], degrees, found[1], torch.tensor(parts.astype(np.int64)))

    def like(self, x: torch.Tensor) -> "Neighbours":
        """The same where a tensor is, in its precision; kept, since activations of one pass may be in two places."""
        place = x.device, x.dtype
        if place not in self._moved:
            adjacency, degrees, members = (one.to(*place) for one in (self.adjacency, self.degrees, self.members))
            self._moved[place] = Neighbours(adjacency, degrees, members, self.parts.to(x.device))
        return self._moved[place]


def measure(x: torch.Tensor, graph: Neighbours) -> dict[str, float] | None:
    """All measures of an activation ``(n, d)``; None where it has NaN or infinite values.

    Directions are compared, and values of a single column as they are. The effective rank comes from the smaller Gram
    matrix in double precision, so singular values below 1e-8 of the largest are lost; the rest is computed in the
    activation's own precision, at least single.
    """
    x = x if x.dtype in (torch.float32, torch.float64) else x.float()
    even, lengths, scale = x, torch.linalg.vector_norm(x, dim=1), 1.0
    dead = lengths == 0
    least, top = float(torch.where(dead, 1.0, lengths).min()), float(lengths.max())
    norms = lengths
    if not (least > 1 / SAFE and top < SAFE) or bool(x[dead].any()):
        largest = x.abs().amax(dim=1)  # (n,)
        scale = float(largest.max())
        if not np.isfinite(scale):
            return None
        dead = largest == 0
        size = torch.where(dead, 1.0, largest)
        even = x / size[:, None]  # lengths keep their digits however small or large values are
        lengths = torch.linalg.vector_norm(even, dim=1)
        norms = lengths * (size / (scale or 1.0))
        top = scale
    found = dict.fromkeys(MEASURES, float("nan")) | {"dead_rows": float(dead.double().mean())}
    found["mean_row_norm"], found["norm"] = float(norms.mean()) * scale, float(torch.linalg.vector_norm(norms)) * scale
    if top == 0:
        return found
    t = even / torch.where(dead, 1.0, 2 * lengths)[:, None] if x.shape[1] > 1 else x / top
    graph, squares = graph.like(t), torch.linalg.vecdot(t, t)
    found["off_zero_live"] = _off_zero(t, squares, ~dead, graph)
    found["r"] = _likeness(t, squares, graph)
    found["effective_rank"] = _effective_rank(x, top)
    return found


def _off_zero(t: torch.Tensor, squares: torch.Tensor, live: torch.Tensor, graph: Neighbours) -> float:
    """Share of energy about the mean of each part, over live rows."""
    count = graph.members @ live.to(t.dtype)
    mean = (graph.members @ t) / torch.where(count > 0, count, 1.0)[:, None]  # (parts, d)
    zero, total = float(mean.square().sum(dim=1) @ count), float(squares.sum())
    off = total - zero
    if off < CLOSE * total:
        rest = t - (mean if len(mean) == 1 else mean.index_select(0, graph.parts))
        off = float(torch.linalg.vecdot(rest, rest) @ live.to(t.dtype))
    return off / (off + zero)


def _likeness(t: torch.Tensor, squares: torch.Tensor, graph: Neighbours) -> float:
    """The correlation of the two ends of an edge: sum_ij W_ij <c_i, c_j> / sum_i k_i norm(c_i)^2, c = t - mu."""
    degrees = graph.degrees
    ends = float(degrees.sum())
    if not ends:
        return float("nan")
    mean = (degrees @ t) / ends
    common, total = float(mean.square().sum()) * ends, float(squares @ degrees)
    whole = total - common
    if whole >= CLOSE * total:
        return (float(torch.linalg.vecdot(t, graph.adjacency @ t).sum()) - common) / whole
    c = t - mean
    whole = float(torch.linalg.vecdot(c, c) @ degrees)
    if whole <= (16 * torch.finfo(t.dtype).eps) ** 2 * total:
        return float("nan")
    return float(torch.linalg.vecdot(c, graph.adjacency @ c).sum()) / whole


def _effective_rank(x: torch.Tensor, top: float) -> float:
    if min(x.shape) > WIDEST:
        return float("nan")
    tall = (x if x.shape[0] >= x.shape[1] else x.mT) / top
    gram = torch.zeros(tall.shape[1], tall.shape[1], dtype=torch.float64, device=x.device)
    for block in tall.split(ROWS if x.device.type == "cpu" else len(tall)):
        part = block.double()
        gram += part.mT @ part
    squares = torch.linalg.eigvalsh(gram.cpu())  # of a small matrix: slower on a GPU
    sigma = squares.clamp_min(0.0).sqrt()
    p = sigma / sigma.sum()
    return float(torch.exp(-torch.xlogy(p, p).sum()))
