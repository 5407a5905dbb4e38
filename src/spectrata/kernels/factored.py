"""Eigenvectors that are never formed: reflectors, then rotations, applied to the few columns that are asked for.

With ``A = Q T Q^T`` and ``T = W diag(lam) W^T`` the transform is ``W^T Q^T s``. Projecting few columns takes less
than half of the time of the eigenvectors ``Q W``.
"""

import numpy as np
from scipy.sparse.linalg import LinearOperator

from spectrata.kernels import lapack
from spectrata.kernels.lapack import Tridiagonal
from spectrata.kernels.threads import spread

SWEEPS = 30  # per eigenvalue at most; 1.7 are usual
ROTATIONS = 2.0  # times n^2 at most; 0.9 to 1.0 are usual


class FactoredVectors(LinearOperator):
    """Orthonormal eigenvectors ``(n, n)`` as a product: ``vectors @ x`` and ``vectors.T @ x`` are what they can do."""

    def __init__(
        self, null: np.ndarray, tri: Tridiagonal, order: np.ndarray, rotations: tuple[np.ndarray, ...]
    ) -> None:
        super().__init__(np.dtype(np.float64), (len(null), len(null)))
        self.null = null  # column 0, which was moved past the top of the spectrum before
        self.tri = tri  # the matrix with its null vector moved
        self.order = order  # (n - 1,) rows of the rotated columns by ascending eigenvalue, without the null vector's
        self.rotations = rotations  # cosines, sines, sweeps, as ``kernels.compiled_ql.implicit_ql`` writes them

    @property
    def nbytes(self) -> int:
        return self.tri.nbytes + sum(int(one.nbytes) for one in self.rotations)

    def _rmatmat(self, X: np.ndarray) -> np.ndarray:
        columns = np.array(X, dtype=np.float64, order="F")
        lapack.apply_reflectors(self.tri, columns, transposed=True)
        rotated = self._rotated(columns, "rotate")
        return np.concatenate([(self.null @ X)[None], rotated[self.order]])

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        """One column of ``vectors.T @ x``: SciPy before 1.16 does not derive it from ``_rmatmat``."""
        return self._rmatmat(x.reshape(-1, 1))

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        columns = np.zeros(X.shape)
        columns[self.order] = X[1:]
        rotated = np.asfortranarray(self._rotated(columns, "rotate_back"))
        lapack.apply_reflectors(self.tri, rotated)
        return rotated + self.null[:, None] * X[0]

    def _rotated(self, columns: np.ndarray, kernel: str) -> np.ndarray:
        """Blocks of columns rotated, each by one thread; the last one is filled up with zeros."""
        from spectrata.kernels import compiled_ql

        (n, p), width = columns.shape, compiled_ql.WIDTH
        out = np.empty((n, p))

        def run(start: int) -> None:
            wanted = slice(start, start + width)
            block = np.zeros((n, width))
            block[:, : min(width, p - start)] = columns[:, wanted]
            getattr(compiled_ql, kernel)(block, *self.rotations)
            out[:, wanted] = block[:, : min(width, p - start)]

        spread(run, range(0, p, width))
        return out


def factor(tri: Tridiagonal, null: np.ndarray, scale: float) -> tuple[np.ndarray, FactoredVectors] | None:
    """Ascending eigenvalues and the eigenvectors as a product; None where QL does not converge."""
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
    return found, FactoredVectors(null, tri, order, (cosines[:used], sines[:used], sweeps))
