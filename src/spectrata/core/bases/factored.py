"""Eigenvectors that are never formed: reflectors, then rotations, applied to the few columns that are asked for.

With ``A = Q T Q^T`` and ``T = W diag(lam) W^T`` the transform is ``W^T Q^T s``. Projecting few columns takes less
than half of the time of the eigenvectors ``Q W``.
"""

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from spectrata.kernels import lapack
from spectrata.kernels.lapack import Tridiagonal
from spectrata.kernels.threads import spread

SWEEPS = 30  # per eigenvalue at most; 1.7 are usual
ROTATIONS = 2.0  # times n^2 at most; 0.9 to 1.0 are usual


class FactoredVectors(LinearOperator):
    """Orthonormal eigenvectors ``(n, n)`` as a product: ``vectors @ x`` and ``vectors.T @ x`` are what they can do.

    Attributes
    ----------
    null : ndarray, shape (n,)
        Column 0, which was moved past the top of the spectrum before.
    tri : Tridiagonal
        The matrix with its null vector moved.
    order : ndarray, shape (n - 1,)
        Rows of the rotated columns in the order of ascending eigenvalues, that of the null vector left out.
    cosines, sines, sweeps : ndarray
        The rotations, as :func:`spectrata.kernels.compiled_ql.implicit_ql` writes them.
    """

    def __init__(
        self,
        null: np.ndarray,
        tri: Tridiagonal,
        order: np.ndarray,
        cosines: np.ndarray,
        sines: np.ndarray,
        sweeps: np.ndarray,
    ) -> None:
        super().__init__(np.dtype(np.float64), (len(null), len(null)))
        self.null, self.tri, self.order = null, tri, order
        self.cosines, self.sines, self.sweeps = cosines, sines, sweeps

    @property
    def nbytes(self) -> int:
        """Memory of the factors."""
        return self.tri.nbytes + self.cosines.nbytes + self.sines.nbytes

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:
        """``vectors.T @ X``: ``(n, p) -> (n, p)``."""
        from spectrata.kernels import compiled_ql

        columns = np.array(X, dtype=np.float64, order="F")
        lapack.apply_reflectors(self.tri, columns, transposed=True)
        rotated = self._rotated(columns, compiled_ql.rotate)
        return np.concatenate([(self.null @ X)[None], rotated[self.order]])

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        """``vectors @ X``: ``(n, p) -> (n, p)``."""
        from spectrata.kernels import compiled_ql

        columns = np.zeros(X.shape)
        columns[self.order] = X[1:]
        rotated = np.asfortranarray(self._rotated(columns, compiled_ql.rotate_back))
        lapack.apply_reflectors(self.tri, rotated)
        return rotated + self.null[:, None] * X[0]

    def _rotated(self, columns: np.ndarray, kernel: Any) -> np.ndarray:
        """Blocks of columns rotated, each by one thread; the last one is filled up with zeros."""
        from spectrata.kernels.compiled_ql import WIDTH

        n, p = columns.shape
        out = np.empty((n, p))

        def run(start: int) -> None:
            wanted = slice(start, start + WIDTH)
            block = np.zeros((n, WIDTH))
            block[:, : min(WIDTH, p - start)] = columns[:, wanted]
            kernel(block, self.cosines, self.sines, self.sweeps)
            out[:, wanted] = block[:, : min(WIDTH, p - start)]

        spread(run, range(0, p, WIDTH))
        return out


def factor(tri: Tridiagonal, null: np.ndarray, scale: float) -> tuple[np.ndarray, FactoredVectors] | None:
    """Ascending eigenvalues ``(n,)``, 0 for the null vector first, and the eigenvectors as a product.

    ``scale`` is a power of two near the norm. None where QL does not converge.
    """
    from spectrata.kernels import compiled_ql

    n = len(null)
    values, rest = tri.diagonal / scale, tri.off / scale
    space = int(ROTATIONS * n * n)  # pages that are never written take no memory
    cosines, sines, sweeps = np.empty(space), np.empty(space), np.empty((SWEEPS * n, 2), dtype=np.int64)
    count = compiled_ql.implicit_ql(values, rest, cosines, sines, sweeps)
    if count < 0 or not np.isfinite(values).all():
        return None
    sweeps = sweeps[:count].copy()
    used = int(np.sum(sweeps[:, 1] - sweeps[:, 0]))
    order = np.argsort(values, kind="stable")[:-1]  # the null vector's is the largest
    found = np.concatenate([[0.0], values[order] * scale])
    return found, FactoredVectors(null, tri, order, cosines[:used], sines[:used], sweeps)
