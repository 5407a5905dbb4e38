"""Magnitudes of eigenspaces to 40 digits by mpmath: the oracle of the bounds on errors.

Nothing of the package is imported here. Graphs and signals are doubles, taken as exact.
"""

import mpmath
import numpy as np

DIGITS = 40


def eigenspaces(edges, weights, n, random_walk):
    """Square roots of the node measure, eigenvalues ascending and orthonormal eigenvectors, all of mpmath."""
    laplacian = mpmath.zeros(n)
    for (x, y), weight in zip(edges, weights, strict=True):
        w = mpmath.mpf(float(weight))
        laplacian[x, y] -= w
        laplacian[y, x] -= w
        laplacian[x, x] += w
        laplacian[y, y] += w
    root = [mpmath.sqrt(laplacian[x, x]) if random_walk and laplacian[x, x] > 0 else mpmath.mpf(1) for x in range(n)]
    scaled = mpmath.matrix(n)
    for x in range(n):
        for y in range(n):
            scaled[x, y] = laplacian[x, y] / (root[x] * root[y])
    values, vectors = mpmath.eigsy(scaled)
    return root, list(values), vectors


def magnitudes(edges, weights, signal, spaces, random_walk=False, angular=False):
    """``gft``, ``in_agg``, ``apprx_ls`` (rms), ``adj_diff`` (unit) of ``signal (n, d)``, one number per eigenspace.

    ``spaces`` has the eigenspace of each component, ascending from 0; the zero eigenspace is the first one. In an
    eigenspace of several components ``adj_diff`` depends on their basis.
    """
    with mpmath.workdps(DIGITS):
        n, d = signal.shape
        root, values, vectors = eigenspaces(edges, weights, n, random_walk)
        t = [[mpmath.mpf(float(value)) for value in row] for row in signal]
        if angular:
            t = [[value / mpmath.norm(row) / 2 for value in row] for row in t]
        g = [mpmath.sqrt(mpmath.fsum((t[x][k] - t[y][k]) ** 2 for k in range(d))) for x, y in edges]
        w = [mpmath.mpf(float(weight)) for weight in weights]
        sums, degrees = [mpmath.mpf(0)] * n, [mpmath.mpf(0)] * n
        for (x, y), length, weight in zip(edges, g, w, strict=True):
            for node in (x, y):
                sums[node] += weight * length
                degrees[node] += weight
        mean = [sums[x] / degrees[x] if degrees[x] else mpmath.mpf(0) for x in range(n)]
        found = {name: [mpmath.mpf(0)] * (max(spaces) + 1) for name in ("gft", "in_agg", "apprx_ls", "adj_diff")}
        for i, space in enumerate(spaces):
            u = [vectors[x, i] for x in range(n)]
            for k in range(d):
                found["gft"][space] += mpmath.fsum(u[x] * root[x] * t[x][k] for x in range(n)) ** 2
            found["in_agg"][space] += mpmath.fsum(u[x] * root[x] * mean[x] for x in range(n)) ** 2
            if space > 0:
                steps = [
                    weight * length * abs(u[x] / root[x] - u[y] / root[y])
                    for (x, y), length, weight in zip(edges, g, w, strict=True)
                ]
                found["apprx_ls"][space] += mpmath.fsum(step**2 for step in steps) / values[i] ** 2
                found["adj_diff"][space] += mpmath.fsum(steps) ** 2 / values[i]
        found["adj_diff"][0] = mpmath.fsum(a * b for a, b in zip(w, g, strict=True)) ** 2 / mpmath.fsum(w)
        return {name: np.array([mpmath.sqrt(square) for square in squares]) for name, squares in found.items()}
