"""The eigenvector differences fused into one CUDA kernel, for cupy.

A thread owns one eigenvector and a run of edges; neighbouring threads read neighbouring numbers, and the sums stay in
registers.
"""

from functools import cache
from typing import Any

import cupy

FEW_SNAPSHOTS = 7
RUN = 4096
THREADS = 128
SOURCE = r"""
extern "C" __global__ void sums_TYPE(const long long* x, const long long* y, const REAL* weight, const REAL* vectors,
                                     REAL* absolute, REAL* squared, long long m, long long c, long long run) {
    long long column = (long long)blockIdx.y * blockDim.x + threadIdx.x;
    if (column >= c) return;
    long long first = blockIdx.x * run;
    long long last = first + run < m ? first + run : m;
    REAL total = 0, square = 0;
    for (long long e = first; e < last; ++e) {
        REAL difference = weight[e] * (vectors[x[e] * c + column] - vectors[y[e] * c + column]);
        total += fabs(difference);
        square += difference * difference;
    }
    absolute[blockIdx.x * c + column] = total;
    squared[blockIdx.x * c + column] = square;
}
"""


@cache
def _kernel(real: str) -> Any:
    return cupy.RawKernel(SOURCE.replace("REAL", real).replace("TYPE", real), f"sums_{real}")


def difference_sums(edges: Any, weights: Any, vectors: Any) -> tuple[Any, Any]:
    """``sum w abs(du)`` and ``sum w^2 du^2``: ``(T, m), (n, c) -> (T, c)`` twice."""
    vectors = cupy.ascontiguousarray(vectors)
    x, y = cupy.ascontiguousarray(edges[:, 0]), cupy.ascontiguousarray(edges[:, 1])
    m, c = len(x), vectors.shape[1]
    runs = max(1, -(-m // RUN))
    absolute = cupy.empty((len(weights), c), dtype=vectors.dtype)
    squared = cupy.empty_like(absolute)
    partial = cupy.empty((2, runs, c), dtype=vectors.dtype)
    kernel = _kernel("double" if vectors.dtype == cupy.float64 else "float")
    for t, weight in enumerate(weights):
        arguments = (x, y, cupy.ascontiguousarray(weight), vectors, partial[0], partial[1], m, c, RUN)
        kernel((runs, -(-c // THREADS)), (THREADS,), arguments)
        absolute[t], squared[t] = partial[0].sum(axis=0), partial[1].sum(axis=0)
    return absolute, squared
