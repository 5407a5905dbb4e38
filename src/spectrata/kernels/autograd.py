"""The eigenvector differences as a function that gradients of torch pass through."""

from collections.abc import Iterator
from typing import Any

import torch

from spectrata.kernels import fast

# Eigenvectors and edges in one block of differences: on a processor a few thousand rows of 256 stay in the
# second-level cache (ten times faster than whole rows when measured); a GPU wants them large.
_BLOCK = {"cpu": (256, 1024), "cuda": (2048, 2**15)}


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
        if weights.device.type != "cpu":
            found = fast.difference_sums(edges, weights.detach(), vectors)  # type: ignore[arg-type]
            return found  # type: ignore[return-value]
        host = (array.detach().contiguous().numpy() for array in (edges, weights, vectors))
        absolute, squared = fast.difference_sums(*host)
        return torch.from_numpy(absolute), torch.from_numpy(squared)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        weights, edges, vectors = ctx.saved_tensors
        out = torch.zeros_like(weights)
        for rows, columns, difference in _blocks(edges, vectors):
            if grads[0] is not None:
                out[:, rows] += grads[0][:, columns] @ difference.abs().T
            if grads[1] is not None:
                out[:, rows] += 2 * weights[:, rows] * (grads[1][:, columns] @ difference.square_().T)
        return out, None, None


def _blocks(edges: torch.Tensor, vectors: torch.Tensor) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """``u_i(x) - u_i(y)`` for some edges (rows) and some eigenvectors (columns) at a time."""
    width, height = _BLOCK.get(vectors.device.type, _BLOCK["cpu"])
    for left in range(0, vectors.shape[1], width):
        columns = slice(left, min(left + width, vectors.shape[1]))
        some = vectors[:, columns].contiguous()
        for top in range(0, len(edges), height):
            rows = slice(top, min(top + height, len(edges)))
            yield rows, columns, some[edges[rows, 0]] - some[edges[rows, 1]]
