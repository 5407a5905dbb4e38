"""Measures of one activation in one pass, without a decomposition of the graph."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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
COLUMNS = 128  # gathered along the edges at a time


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The edges of a graph on one device, each once, with degrees and connected parts."""

    heads: torch.Tensor  # (m,)
    tails: torch.Tensor
    weights: torch.Tensor | None  # (m,)
    degrees: torch.Tensor  # (n,), sums of weights
    parts: torch.Tensor  # (n,)
    n_parts: int

    @classmethod
    def of(cls, edges: np.ndarray, n: int, weights: np.ndarray | None, device: torch.device) -> "Neighbours":
        """From edges ``(m, 2)``, each once."""
        ones = np.ones(len(edges)) if weights is None else np.asarray(weights, dtype=float)
        adjacency = coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(n, n))
        count, parts = connected_components(adjacency, directed=False)
        degrees = np.bincount(edges.ravel(), np.repeat(ones, 2), n)
        heads, tails, parts_on, degrees_on = (
            torch.tensor(one, device=device) for one in (edges[:, 0], edges[:, 1], parts.astype(np.int64), degrees)
        )
        own = None if weights is None else torch.tensor(ones, device=device)
        return cls(heads, tails, own, degrees_on, parts_on, int(count))


def measure(x: torch.Tensor, graph: Neighbours) -> dict[str, float] | None:
    """All measures of an activation ``(n, d)``; None where it has NaN or infinite values.

    Directions are compared, and values of a single column as they are. The effective rank comes from the smaller Gram
    matrix in double precision, so singular values below 1e-8 of the largest are lost; the rest is computed in the
    activation's own precision, at least single.
    """
    x = x if x.dtype in (torch.float32, torch.float64) else x.float()
    largest = x.abs().amax(dim=1)  # (n,)
    top = float(largest.max())
    if not np.isfinite(top):
        return None
    live = largest > 0
    size = torch.where(live, largest, 1.0)
    even = x / size[:, None]  # lengths keep their digits however small or large values are
    lengths = torch.linalg.vecdot(even, even).sqrt()
    found = dict.fromkeys(MEASURES, float("nan")) | {"dead_rows": float((~live).double().mean())}
    norms = lengths * (size / (top or 1.0))
    found["mean_row_norm"], found["norm"] = float(norms.mean()) * top, float(torch.linalg.vector_norm(norms)) * top
    if top == 0:
        return found
    t = even / torch.where(live, 2 * lengths, 1.0)[:, None] if x.shape[1] > 1 else x / top
    found["off_zero_live"] = _off_zero(t, live, graph)
    found["r"] = _likeness(t, graph)
    found["effective_rank"] = _effective_rank(x, top)
    return found


def _off_zero(t: torch.Tensor, live: torch.Tensor, graph: Neighbours) -> float:
    """Share of energy about the mean of each part, over live rows; differences to the mean keep their digits."""
    parts, ones = graph.parts, live.to(t.dtype)
    if graph.n_parts == 1:
        count = ones.sum()[None]
        mean = t.sum(dim=0, keepdim=True) / count
        rest = t - mean
    else:
        count = torch.zeros(graph.n_parts, dtype=t.dtype, device=t.device).index_add_(0, parts, ones)
        mean = torch.zeros(graph.n_parts, t.shape[1], dtype=t.dtype, device=t.device).index_add_(0, parts, t)
        mean = mean / torch.where(count > 0, count, 1.0)[:, None]
        rest = t - mean.index_select(0, parts)
    off = float(torch.linalg.vecdot(rest, rest) @ ones)
    zero = float((mean.square().sum(dim=1) * count).sum())
    return off / (off + zero)


def _likeness(t: torch.Tensor, graph: Neighbours) -> float:
    """The correlation of the two ends of an edge: sum_ij W_ij <c_i, c_j> / sum_i k_i norm(c_i)^2, c = t - mu."""
    degrees = graph.degrees.to(t.dtype)
    if not len(graph.heads):
        return float("nan")
    mean = (degrees @ t) / degrees.sum()
    c = t - mean
    whole = float(torch.linalg.vecdot(c, c) @ degrees)
    if whole <= (16 * torch.finfo(t.dtype).eps) ** 2 * (whole + float(mean.square().sum() * degrees.sum())):
        return float("nan")
    along = torch.zeros(len(graph.heads), dtype=t.dtype, device=t.device)
    for start in range(0, t.shape[1], COLUMNS):
        some = c[:, start : start + COLUMNS]
        along += torch.linalg.vecdot(some.index_select(0, graph.heads), some.index_select(0, graph.tails))
    return 2 * float(along.sum() if graph.weights is None else along @ graph.weights.to(t.dtype)) / whole


def _effective_rank(x: torch.Tensor, top: float) -> float:
    if min(x.shape) > WIDEST:
        return float("nan")
    tall = (x if x.shape[0] >= x.shape[1] else x.mT) / top
    gram = torch.zeros(tall.shape[1], tall.shape[1], dtype=torch.float64, device=x.device)
    for block in tall.split(ROWS):
        part = block.double()
        gram += part.mT @ part
    squares = torch.linalg.eigvalsh(gram)
    sigma = squares.clamp_min(0.0).sqrt()
    p = sigma / sigma.sum()
    return float(torch.exp(-torch.xlogy(p, p).sum()))
