"""Compiled breadth-first search from single nodes, all spheres kept."""

from spectrata.kernels.compiled import _jit


@_jit()
def root_levels(indptr, indices, root, last, mark, queue, bounds):  # type: ignore[no-untyped-def]
    """Nodes within ``last`` hops of the root, nearest first, in ``queue``; gives the last radius met.

    The sphere of radius ``K`` is ``queue[bounds[K] : bounds[K + 1]]``; ``bounds (n + 2,)``.
    """
    queue[0] = root
    mark[:] = False
    mark[root] = True
    bounds[0], bounds[1] = 0, 1
    hop = 0
    while hop < last:
        end = bounds[hop + 1]
        for i in range(bounds[hop], bounds[hop + 1]):
            v = queue[i]
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if not mark[u]:
                    mark[u] = True
                    queue[end] = u
                    end += 1
        if end == bounds[hop + 1]:
            break
        hop += 1
        bounds[hop + 1] = end
    return hop
