"""The eigenvector differences fused into one Triton kernel, for torch on CUDA.

A program owns a block of eigenvectors and a run of edges: two rows of the block are read per edge and the sums stay
in registers, so that nothing of the size of edges times eigenvectors is ever written.
"""

from typing import Any

import torch
import triton
import triton.language as tl

COLUMNS, RUN = 128, 4096  # eigenvectors side by side and edges of one program, as in ``fused_rows``


@triton.jit
def _sums(x, y, weight, vectors, absolute, squared, m, c, stride, RUN: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    first = tl.program_id(0).to(tl.int64) * RUN
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < c
    total = tl.zeros((COLUMNS,), dtype=vectors.dtype.element_ty)
    square = tl.zeros((COLUMNS,), dtype=vectors.dtype.element_ty)
    for e in range(first, min(first + RUN, m)):
        ux = tl.load(vectors + tl.load(x + e) * stride + columns, mask=inside, other=0.0)
        uy = tl.load(vectors + tl.load(y + e) * stride + columns, mask=inside, other=0.0)
        difference = tl.load(weight + e) * (ux - uy)
        total += tl.abs(difference)
        square += difference * difference
    row = tl.program_id(0).to(tl.int64) * c
    tl.store(absolute + row + columns, total, mask=inside)
    tl.store(squared + row + columns, square, mask=inside)


def difference_sums(edges: Any, weights: Any, vectors: Any) -> tuple[Any, Any]:
    """``sum w abs(du)`` and ``sum w^2 du^2``: ``(T, m), (n, c) -> (T, c)`` twice.

    Runs are summed by one reduction at the end, so the result is the same every time.
    """
    vectors = vectors.contiguous()
    x, y = edges[:, 0].contiguous(), edges[:, 1].contiguous()
    m, c = len(x), vectors.shape[1]
    runs = max(1, -(-m // RUN))
    absolute = torch.empty((len(weights), c), dtype=vectors.dtype, device=vectors.device)
    squared = torch.empty_like(absolute)
    partial = torch.empty((2, runs, c), dtype=vectors.dtype, device=vectors.device)
    grid = (runs, -(-c // COLUMNS))
    with torch.cuda.device(vectors.device):
        for t in range(len(weights)):
            _sums[grid](
                x, y, weights[t].contiguous(), vectors, partial[0], partial[1], m, c, vectors.stride(0), RUN, COLUMNS
            )
            absolute[t], squared[t] = partial[0].sum(0), partial[1].sum(0)
    return absolute, squared
