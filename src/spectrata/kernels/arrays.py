"""The kernels for arrays of torch and cupy: functions of ``edge_sums`` and ``searches`` through the array API.

What the standard lacks (adding into rows by index, counting) is asked of the library
itself, in one place at the end.
"""

from typing import Any

import numpy as np

from spectrata.kernels.backend import like, namespace

# Numbers in a temporary: large enough to fill an accelerator, small beside its memory.
BLOCK = 2**26
# Snapshots up to which one fused pass each beats matrix products over all of them.
FEW_SNAPSHOTS = 7


def pairs_at(distances: Any, hop: int) -> Any:
    xp = namespace(distances)
    return xp.stack(xp.nonzero(xp.triu(distances == hop, k=1)), axis=1)


def degrees(edges: Any, n: int) -> Any:
    """Edges per node."""
    xp = namespace(edges)
    return xp.bincount(xp.reshape(edges, (-1,)), minlength=n)


def connected_parts(edges: Any, n: int) -> Any:
    """The smallest node of each node's connected part: labels sink along edges until nothing changes."""
    xp = namespace(edges)
    labels = xp.arange(n, dtype=xp.int64, device=edges.device)
    x, y = edges[:, 0], edges[:, 1]
    while True:
        lower = _minimum_at(_minimum_at(labels, x, labels[y]), y, labels[x])
        lower = lower[lower]  # halve the way to the root
        if bool(xp.all(lower == labels)):
            return labels
        labels = lower


def edge_lengths(values: Any, edges: Any) -> Any:
    if getattr(values, "requires_grad", False):
        from spectrata.kernels import autograd

        return autograd.edge_lengths(values, edges)
    xp = namespace(values)
    snapshots, _, dims = values.shape
    found = xp.empty((snapshots, edges.shape[0]), dtype=values.dtype, device=values.device)
    step = max(1, BLOCK // dims)
    for t in range(snapshots):
        for first in range(0, edges.shape[0], step):
            part = edges[first : first + step]
            difference = values[t][part[:, 0]] - values[t][part[:, 1]]
            found[t, first : first + step] = lengths(difference)
    return found


def lengths(values: Any) -> Any:
    xp = namespace(values)
    if hasattr(values, "requires_grad"):
        return xp.linalg.vector_norm(values, axis=-1)  # its gradient at a zero vector is 0
    return xp.sqrt(xp.sum(values * values, axis=-1))


def root(values: Any) -> Any:
    """Square roots, 0 and without a gradient at zeros."""
    xp = namespace(values)
    some = values > 0
    return xp.where(some, xp.sqrt(xp.where(some, values, xp.ones_like(values))), xp.zeros_like(values))


def part_sums(values: Any, parts: np.ndarray, count: int) -> Any:
    xp = namespace(values)
    if count == 1:
        return xp.sum(values, axis=0, keepdims=True)
    sums = xp.zeros((count, values.shape[1]), dtype=values.dtype, device=values.device)
    return _add_at(sums, like(parts, values), values)


def node_sums(edges: Any, weights: Any, n: int, head: float = 1.0) -> Any:
    """Sum of the weights of each node's edges, those of the higher ends times ``head``: ``(T, m) -> (T, n)``."""
    xp = namespace(weights)
    sums = xp.zeros((n, weights.shape[0]), dtype=weights.dtype, device=weights.device)
    sums = _add_at(sums, edges[:, 0], weights.T)
    return _add_at(sums, edges[:, 1], head * weights.T).T


def difference_sums(edges: Any, weights: Any, vectors: Any) -> tuple[Any, Any]:
    if getattr(weights, "requires_grad", False):
        from spectrata.kernels import autograd

        return autograd.difference_sums(edges, weights, vectors)
    xp = namespace(vectors)
    fused = _fused(vectors) if weights.shape[0] <= FEW_SNAPSHOTS else None
    if fused is not None:
        return fused.difference_sums(edges, weights, vectors)
    shape = (weights.shape[0], vectors.shape[1])
    absolute = xp.zeros(shape, dtype=vectors.dtype, device=vectors.device)
    squared = xp.zeros(shape, dtype=vectors.dtype, device=vectors.device)
    step = max(1, BLOCK // max(1, vectors.shape[1]))
    for first in range(0, edges.shape[0], step):
        part, weight = edges[first : first + step], weights[:, first : first + step]
        difference = vectors[part[:, 0]] - vectors[part[:, 1]]
        absolute += weight @ xp.abs(difference)
        squared += (weight * weight) @ (difference * difference)
    return absolute, squared


def permuted_sums(edges: Any, weights: Any, sums: Any, values: Any, orders: Any) -> tuple[Any, Any, Any]:
    """Sums over values x (n, d) under B orders: ``sums @ x``, ``sum w x(i) x(j)`` over edges, and ``sum k x^2``.

    ``sums (s, n)``, whose first row is k -> ``(s, B d), (B d,), (B d,)``.
    """
    xp = namespace(values)
    x = xp.reshape(values[orders.T], (values.shape[0], -1))
    products = xp.zeros(x.shape[1], dtype=x.dtype, device=x.device)
    step = max(1, BLOCK // x.shape[1])
    for first in range(0, edges.shape[0], step):
        part = edges[first : first + step]
        products += weights[first : first + step] @ (x[part[:, 0]] * x[part[:, 1]])
    return sums @ x, products, sums[0] @ (x * x)


def _fused(vectors: Any) -> Any:
    """The fused kernels for CUDA, where the compiler of the library at hand is there."""
    if not hasattr(vectors, "requires_grad"):
        from spectrata.kernels import fused_rows

        return fused_rows
    if vectors.device.type != "cuda":
        return None
    try:
        from spectrata.kernels import fused_triton
    except ImportError:
        return None
    return fused_triton


# What the array API lacks


def _add_at(sums: Any, rows: Any, values: Any) -> Any:
    if hasattr(sums, "index_add_"):
        return sums.index_add_(0, rows, values)
    namespace(sums).add.at(sums, rows, values)
    return sums


def _minimum_at(labels: Any, rows: Any, values: Any) -> Any:
    if hasattr(labels, "scatter_reduce"):
        return labels.scatter_reduce(0, rows, values, "amin")
    lower = labels.copy()
    namespace(labels).minimum.at(lower, rows, values)
    return lower
