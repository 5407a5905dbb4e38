"""Loops compiled by numba that make canonical rows in one pass, where a sort would take several.

The conventions are those of ``compiled``.
"""

from spectrata.kernels.compiled import _jit


@_jit()
def are_canonical(indptr, indices, values, agreement, following, weights):  # type: ignore[no-untyped-def]
    """Whether rows ascend, without loops and repeats, and hold both directions of every edge with one weight.

    ``following (n,)`` starts as the begin of each row. Rows are met in ascending order, so that the entry that an entry
    ``(v, u)`` has as its counterpart is the first of row ``u`` that was not one before. ``values`` beside ``indices``
    may be None; otherwise ``weights (m,)`` receives the larger weight of both directions of each edge.
    """
    n = len(indptr) - 1
    edge = 0
    for v in range(n):
        before = -1
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if u <= before or u >= n or u == v:
                return False
            before = u
            other = following[u]
            if other >= indptr[u + 1] or indices[other] != v:
                return False
            following[u] = other + 1
            if values is not None:
                larger = max(values[e], values[other])
                if not (values[e] > 0.0 and abs(values[e] - values[other]) <= agreement * larger):
                    return False
                if v < u:
                    weights[edge] = larger
                    edge += 1
    return True


@_jit()
def fill_rows(x, y, following, indices):  # type: ignore[no-untyped-def]
    """Rows of edges ``x < y`` in lexicographic order, both directions; ``following`` starts as the begin of each row.

    A row's lower neighbours come first, from edges that are met before those to its higher ones.
    """
    for e in range(len(x)):
        indices[following[y[e]]] = x[e]
        following[y[e]] += 1
    for e in range(len(x)):
        indices[following[x[e]]] = y[e]
        following[x[e]] += 1
