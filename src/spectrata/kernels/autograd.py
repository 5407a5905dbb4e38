"""Linear maps and sums over edges as functions that gradients of torch pass through."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from spectrata.kernels import edge_sums

# Eigenvectors and edges in one block of differences: on a processor a few thousand rows of 256 stay in the
# second-level cache (ten times faster than whole rows when measured); a GPU wants them large.
_BLOCK = {"cpu": (256, 1024), "cuda": (2048, 2**15)}
_FLOW = 2**22  # numbers on the edges at a time: 32 MiB
Map = Callable[[torch.Tensor], torch.Tensor]


def linear(values: torch.Tensor, forward: Map, adjoint: Map) -> torch.Tensor:
    """``forward(values)`` for a linear map whose gradient is ``adjoint``; nothing in between is recorded."""
    return _Linear.apply(values, forward, adjoint)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, forward: Map, adjoint: Map) -> torch.Tensor:
        ctx.maps = forward, adjoint
        return forward(values.detach())

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        forward, adjoint = ctx.maps
        return linear(grads[0], adjoint, forward), None, None


def edge_lengths(values: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """``norm(t(x) - t(y))`` per edge: ``(T, n, d) -> (T, m)``; the gradient of a zero difference is 0."""
    return _EdgeLengths.apply(values, edges)


class _EdgeLengths(torch.autograd.Function):
    """The gradient is that of a quadratic form: ``B^T diag(g / length) B t``."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        lengths = _on_host(edge_sums.edge_lengths, values.detach(), edges)
        ctx.save_for_backward(values, edges, lengths)
        return lengths

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        values, edges, lengths = ctx.saved_tensors
        weights = torch.where(lengths > 0, grads[0] / torch.where(lengths > 0, lengths, 1.0), 0.0)
        out = torch.zeros_like(values)
        for some in torch.arange(len(edges), device=edges.device).split(max(1, _FLOW // values.shape[2])):
            x, y = edges[some].unbind(1)
            for t in range(len(values)):
                flow = values[t].index_select(0, x) - values[t].index_select(0, y)
                flow *= weights[t, some, None]
                out[t].index_add_(0, x, flow).index_add_(0, y, flow, alpha=-1)
        return out, None


def difference_sums(
    edges: torch.Tensor, weights: torch.Tensor, vectors: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """``sum w abs(u_i(x) - u_i(y))`` and ``sum w^2 (u_i(x) - u_i(y))^2``: ``(T, m), (n, c) -> (T, c)`` twice."""
    return _DifferenceSums.apply(weights, edges, vectors)


class _DifferenceSums(torch.autograd.Function):
    """Two sums over edges whose matrices ``(m, c)`` are made block by block and never held."""

    @staticmethod
    def forward(
        ctx: Any, weights: torch.Tensor, edges: torch.Tensor, vectors: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.save_for_backward(weights, edges, vectors)
        ctx.set_materialize_grads(False)
        return _on_host(edge_sums.difference_sums, edges, weights.detach(), vectors)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        weights, edges, vectors = ctx.saved_tensors
        out = torch.zeros_like(weights)
        for rows, columns, difference in _blocks(edges, vectors):
            if grads[0] is not None:
                out[:, rows] += grads[0][:, columns] @ difference.abs_().T
            if grads[1] is not None:
                out[:, rows] += 2 * weights[:, rows] * (grads[1][:, columns] @ difference.square_().T)
        return out, None, None


def _blocks(edges: torch.Tensor, vectors: torch.Tensor) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """``u_i(x) - u_i(y)`` for some edges (rows) and some eigenvectors (columns) at a time."""
    width, height = _BLOCK.get(vectors.device.type, _BLOCK["cpu"])
    x, y = (end.contiguous() for end in edges.unbind(1))
    first, second = (vectors.new_empty(height * width) for _ in range(2))
    for left in range(0, vectors.shape[1], width):
        some = vectors[:, left : left + width].contiguous()
        columns = slice(left, left + some.shape[1])
        for top in range(0, len(edges), height):
            rows = slice(top, min(top + height, len(edges)))
            shape = (rows.stop - top, some.shape[1])
            block, other = (buffer[: shape[0] * shape[1]].view(shape) for buffer in (first, second))
            torch.index_select(some, 0, x[rows], out=block)
            block -= torch.index_select(some, 0, y[rows], out=other)
            yield rows, columns, block


def _on_host(kernel: Callable, *tensors: torch.Tensor) -> Any:
    """A kernel on tensors: in main memory by numpy and the compiled loops, which share it."""
    if any(tensor.device.type != "cpu" for tensor in tensors):
        return kernel(*tensors)
    found = kernel(*(tensor.numpy() for tensor in tensors))
    return tuple(map(torch.from_numpy, found)) if isinstance(found, tuple) else torch.from_numpy(found)
