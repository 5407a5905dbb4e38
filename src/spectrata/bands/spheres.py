"""Compiled breadth-first searches from single nodes, for sampled hops."""

from spectrata.kernels.compiled import _jit


@_jit(fastmath={"contract"})
def root_sums(indptr, indices, root, values, mark, queue, squares, sizes):  # type: ignore[no-untyped-def]
    """Sum of squared gradients from one root to each sphere, and the spheres' sizes; gives the last radius met.

    ``values (T, n, d)``, ``squares (T, h)``, ``sizes (h,)``; radius ``K`` stands at ``K - 1``. A return of ``h + 1``
    means that there are more spheres than ``h``.
    """
    queue[0] = root
    mark[:] = False
    mark[root] = True
    first, last, hop = 0, 1, 0
    while True:
        end = last
        for i in range(first, last):
            v = queue[i]
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if not mark[u]:
                    mark[u] = True
                    queue[end] = u
                    end += 1
        first, last = last, end
        if first == last:
            return hop
        hop += 1
        if hop > len(sizes):
            return hop
        sizes[hop - 1] = last - first
        for t in range(len(values)):
            total = 0.0
            for i in range(first, last):
                u = queue[i]
                for k in range(values.shape[2]):
                    difference = values[t, root, k] - values[t, u, k]
                    total += difference * difference
            squares[t, hop - 1] = total
