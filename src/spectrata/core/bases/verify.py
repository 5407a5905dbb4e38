"""Checks of an eigenbasis that do not depend on the solver: residuals and orthonormality.

With ``A = C^-1/2 L C^-1/2`` applied from the edges, ``r_i = A u_i - lam_i u_i`` and a Gaussian vector ``w``, the mean
of ``(w^T r_i)^2`` is ``norm(r_i)^2``. A few such vectors measure every column for a few matrix-vector products.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError
from spectrata.kernels import edge_sums
from spectrata.kernels.backend import like, matching, namespace, to_numpy

RESIDUAL_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}  # of n norm(L); LAPACK leaves less than 1e-14
ORTHONORMAL = {"float64": 1e-9, "float32": 1e-3}  # of U^T U z - z for Gaussian z, thousands of columns at once
PROBES = 8  # few beside the columns of a basis, and enough for SAFETY
# Eight squares average less than 1/64 of their expectation less than once in a million times.
SAFETY = 8.0


def verify(basis: EigenBasis, stratum: Stratum) -> EigenBasis:
    """The basis with what was measured of it; one that does not solve the stratum is refused."""
    w, z = (like(probe.astype(basis.dtype), stratum.edges) for probe in _probes(basis.n_nodes, basis.n))
    image = apply_laplacian(stratum, w, basis.root)
    residual, gram = np.zeros((2, basis.n))
    shares, places = [0.0], [""]
    for part in basis.parts:
        columns, nodes = to_numpy(part.columns), part.nodes
        found = _column_errors(part.vectors, part.values, image[nodes], w[nodes], z[part.columns])
        residual[columns], gram[columns] = found
        norm = part.values[-1] if basis.is_whole else basis.norm
        shares.append(float(np.linalg.norm(found[0]) / (len(nodes) * norm)))
        places.append(f" in the part of {len(nodes)} nodes with row {int(nodes[0])}" if len(basis.parts) > 1 else "")
    _require(stratum.hop, basis.dtype, np.array(shares), np.max(gram, initial=0.0, keepdims=True), places)
    return replace(basis, column_residual=SAFETY * residual, column_gram=SAFETY * gram)


def verify_stack(
    hop: int, matrices: np.ndarray, values: np.ndarray, vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The measurements of ``verify`` for stacked matrices ``(g, n, n)`` solved at once: ``(g, n)`` twice."""
    count, n = values.shape
    w, z = _probes(n, n)
    residual, gram = _column_errors(vectors, values, matrices @ w, w, z)
    norms = np.maximum(np.abs(values).max(axis=1), np.finfo(float).tiny)
    places = [f" of graph {index} in a stack of {count}" if count > 1 else "" for index in range(count)]
    _require(hop, "float64", np.linalg.norm(residual, axis=1) / (n * norms), gram.max(axis=1), places)
    return SAFETY * residual, SAFETY * gram


def _probes(nodes: int, components: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((nodes, PROBES)), rng.standard_normal((components, PROBES))


def _column_errors(vectors: Any, values: np.ndarray, image: Any, w: Any, z: Any) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of ``norm(r_i)`` and of the norm of row ``i`` of ``U^T U - I``: ``(..., components)`` twice."""
    xp, again = namespace(image), vectors @ z
    columns = xp.concat([image, xp.broadcast_to(w, image.shape), again], axis=-1)
    found = to_numpy(xp.matrix_transpose(vectors) @ columns).astype(np.float64)
    moved, plain, back = np.split(found, 3, axis=-1)  # (..., components, probes) each
    missed = moved - values[..., None] * plain, back - to_numpy(z)
    return np.sqrt(np.mean(missed[0] ** 2, axis=-1)), np.sqrt(np.mean(missed[1] ** 2, axis=-1))


def _require(hop: Any, dtype: str, shares: np.ndarray, gram: np.ndarray, places: Sequence[str]) -> None:
    """Refuse residuals, one for each place, and errors of orthonormality that are too large, or NaN."""
    for name, found, limit in (
        ("residual", shares, RESIDUAL_TOLERANCE[dtype]),
        ("eigenvectors that are not orthonormal, off by", gram, ORTHONORMAL[dtype]),
    ):
        if not (found <= limit).all():
            worst = int(np.argmax(np.where(np.isnan(found), np.inf, found)))
            raise SolverError(
                f"The eigenbasis at hop {hop}{places[worst] if len(found) == len(places) else ''} has {name} "
                f"{found[worst]:.1e} (at most {limit:.0e} is accepted); please report this graph."
            )


def verify_projection(basis: EigenBasis, stratum: Stratum, columns: np.ndarray, found: np.ndarray) -> None:
    """Check what factored eigenvectors project: ``sum lam^k M^2`` for k = 0, 1, 2 against the columns themselves.

    ``columns (n, p)`` without their part along the null vectors, and their projections ``found (n, p)``. With
    ``N = C^-1/2 L C^-1/2`` the three sums of a column are ``norm(s)^2``, ``s^T N s`` and ``norm(N s)^2``.
    """
    # Of the largest eigenvalue, so that no square overflows.
    moved = apply_laplacian(stratum, columns, basis.root) / basis.norm
    whole = np.sum(columns**2, axis=0)
    for power, wanted in enumerate((whole, np.sum(columns * moved, axis=0), np.sum(moved**2, axis=0))):
        error = np.abs((basis.values / basis.norm) ** power @ found**2 - wanted)
        if not (error <= RESIDUAL_TOLERANCE[basis.dtype] * basis.n_nodes * whole).all():
            raise SolverError(
                f"The transform at hop {stratum.hop} misses the sum of eigenvalue^{power} times energy by "
                f"{np.max(error):.1e} (relative); please report this graph."
            )


def apply_laplacian(stratum: Stratum, signals: Any, root: np.ndarray | None) -> Any:
    """``C^-1/2 L C^-1/2 signals`` from the edges alone: ``(n, p) -> (n, p)``."""
    scale = 1.0 if root is None else matching(root, signals)[:, None]
    weights = None if stratum.weights is None else matching(to_numpy(stratum.weights), signals)
    return edge_sums.laplacian_product(stratum.edges, weights, signals / scale) / scale
