"""Checks of an eigenbasis that do not depend on the solver: residuals, orthonormality, order.

With ``A = C^-1/2 L C^-1/2`` applied from the edges, ``r_i = A u_i - lam_i u_i`` and a Gaussian vector ``w``, the mean
of ``(w^T r_i)^2`` is ``norm(r_i)^2``. A few such vectors measure every column for a few matrix-vector products.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError
from spectrata.kernels import fast
from spectrata.kernels.backend import like, matching, namespace, to_numpy

RESIDUAL_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}
ORTHONORMAL = {"float64": 1e-9, "float32": 1e-3}  # of U^T U z - z for Gaussian z, thousands of columns at once
PROBES = 8
BLOCK_ROWS = 32  # of eigenvectors: 1,000 columns of them are a quarter of a megabyte, and stay in the cache
# Eight squares average less than 1/64 of their expectation less than once in a million times.
SAFETY = 8.0


def verify(basis: EigenBasis, stratum: Stratum) -> EigenBasis:
    """The basis with what was measured of it; one that does not solve the stratum is refused."""
    values, hop = basis.values, stratum.hop
    if not (np.isfinite(values).all() and (np.diff(values) >= 0).all()):
        raise SolverError(f"The eigenvalues at hop {hop} are not finite and ascending; please report this graph.")
    residual, gram = column_errors(stratum, basis)
    shares, limit = residual_shares(basis, residual), RESIDUAL_TOLERANCE[basis.dtype]
    if not (shares <= limit).all():
        worst = int(np.argmax(np.where(np.isnan(shares), np.inf, shares)))
        raise SolverError(
            f"The eigenbasis at hop {hop} has residual {shares[worst]:.1e} (relative, at most {limit:.0e} is accepted)"
            f"{_where(basis, worst)}; please report this graph."
        )
    off, limit = float(np.max(gram, initial=0.0)), ORTHONORMAL[basis.dtype]
    if not off <= limit:
        raise SolverError(
            f"The eigenvectors at hop {hop} are not orthonormal (off by {off:.1e}, at most {limit:.0e} is accepted); "
            "please report this graph."
        )
    worst_share = float(np.max(shares, initial=0.0))
    return replace(basis, residual=worst_share, column_residual=SAFETY * residual, column_gram=SAFETY * gram)


def verify_stack(
    hop: int, matrices: np.ndarray, values: np.ndarray, vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What ``verify`` measures, of stacked matrices ``(g, n, n)`` solved at once: ``(g, n)`` twice.

    A stack with a matrix that is not solved is refused, with its place in the stack.
    """
    count, n = values.shape
    rng = np.random.default_rng(0)
    w, z = rng.standard_normal((n, PROBES)), rng.standard_normal((n, PROBES))
    columns = np.concatenate([matrices @ w, np.broadcast_to(w, (count, *w.shape)), vectors @ z], axis=2)
    image, plain, back = np.split(np.swapaxes(vectors, 1, 2) @ columns, 3, axis=2)
    residual = np.sqrt(np.mean((image - values[:, :, None] * plain) ** 2, axis=2))  # (g, n)
    gram = np.sqrt(np.mean((back - z) ** 2, axis=2))
    norms = np.maximum(np.abs(values).max(axis=1), np.finfo(float).tiny)
    share = np.sqrt(np.sum(residual**2, axis=1)) / (n * norms)
    for name, found, limit in (
        ("residual", share, RESIDUAL_TOLERANCE["float64"]),
        ("eigenvectors that are not orthonormal, off by", gram.max(axis=1), ORTHONORMAL["float64"]),
    ):
        if not (found <= limit).all():
            worst = int(np.argmax(np.where(np.isnan(found), np.inf, found)))
            place = f" of graph {worst} in a stack of {count}" if count > 1 else ""
            raise SolverError(
                f"The eigenbasis at hop {hop}{place} has {name} {found[worst]:.1e} "
                f"(at most {limit:.0e} is accepted); please report this graph."
            )
    return SAFETY * residual, SAFETY * gram


def column_errors(stratum: Stratum, basis: EigenBasis, probes: int = PROBES) -> tuple[np.ndarray, np.ndarray]:
    """Estimates of ``norm(r_i)`` and of the norm of row ``i`` of ``U^T U - I``: ``(components,)`` twice."""
    rng = np.random.default_rng(0)
    w, z = rng.standard_normal((basis.n_nodes, probes)), rng.standard_normal((basis.n, probes))
    here, combined = (like(array.astype(basis.dtype), stratum.edges) for array in (w, z))
    columns = namespace(here).concat([apply_laplacian(stratum, here, basis.root), here], axis=1)
    found = to_numpy(_project_both(basis, columns, combined)).astype(np.float64)
    image, plain, back = np.split(found, 3, axis=1)  # (components, probes) each
    missed = image - basis.values[:, None] * plain
    return _root_mean_square(missed), _root_mean_square(back - z)


def _project_both(basis: EigenBasis, columns: Any, combined: Any) -> Any:
    """``U^T columns`` and ``U^T U combined`` side by side: ``(n, q), (components, p) -> (components, q + p)``.

    Rows of ``U`` are taken block by block, so that a large matrix is read once.
    """
    xp, width = namespace(columns), columns.shape[1]
    if basis.is_factored:
        return basis.project(xp.concat([columns, basis.rebuild(combined)], axis=1))
    found = xp.zeros((basis.n, width + combined.shape[1]), dtype=columns.dtype, device=columns.device)
    alone, nodes = (like(one, columns) for one in (basis.singleton_columns, basis.singletons))
    found[alone, :width], found[alone, width:] = columns[nodes], combined[alone]
    for part in basis.parts:
        own, weights = columns[part.nodes], combined[part.columns]
        step = BLOCK_ROWS if xp is np else len(own)
        sums: Any = 0.0
        for start in range(0, len(own), step):
            rows = part.vectors[start : start + step]
            sums = sums + rows.T @ xp.concat([own[start : start + step], rows @ weights], axis=1)
        found[part.columns] = sums
    return found


def _root_mean_square(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(rows**2, axis=1))


def residual_shares(basis: EigenBasis, residual: np.ndarray) -> np.ndarray:
    """``norm(A U - U lam, F) / (c norm(A))`` of every part, ``c`` its nodes, from the norms of all columns."""
    owner = np.full(basis.n, -1)
    for index, part in enumerate(basis.parts):
        owner[to_numpy(part.columns)] = index
    squares = np.bincount(owner + 1, residual**2, len(basis.parts) + 1)[1:]
    norms = [basis.norm if basis.cut is not None else part.values[-1] for part in basis.parts]
    sizes = np.array([len(part.nodes) * norm for part, norm in zip(basis.parts, norms, strict=True)])
    return np.divide(np.sqrt(squares), sizes, out=np.where(squares == 0, 0.0, np.inf), where=sizes > 0)


def _where(basis: EigenBasis, part: int) -> str:
    if len(basis.parts) == 1:
        return ""
    nodes = basis.parts[part].nodes
    return f" in the part of {len(nodes)} nodes with row {int(nodes[0])}"


def verify_projection(basis: EigenBasis, stratum: Stratum, columns: np.ndarray, found: np.ndarray) -> None:
    """Check what factored eigenvectors project: ``sum lam^k M^2`` for k = 0, 1, 2 against the columns themselves.

    ``columns (n, p)`` without their part along the null vectors, and their projections ``found (n, p)``. With
    ``N = C^-1/2 L C^-1/2`` the three sums of a column are ``norm(s)^2``, ``s^T N s`` and ``norm(N s)^2``.
    """
    # Of the largest eigenvalue, so that no square overflows.
    moved = apply_laplacian(stratum, columns, basis.root) / basis.norm
    values = basis.values / basis.norm
    whole = np.sum(columns**2, axis=0)
    expected = (whole, np.sum(columns * moved, axis=0), np.sum(moved**2, axis=0))
    for power, wanted in enumerate(expected):
        error = np.abs(values**power @ found**2 - wanted)
        if not (error <= RESIDUAL_TOLERANCE[basis.dtype] * basis.n_nodes * whole).all():
            raise SolverError(
                f"The transform at hop {stratum.hop} misses the sum of eigenvalue^{power} times energy by "
                f"{np.max(error):.1e} (relative); please report this graph."
            )


def apply_laplacian(stratum: Stratum, signals: Any, root: np.ndarray | None) -> Any:
    """``C^-1/2 L C^-1/2 signals`` from the edges alone: ``(n, p) -> (n, p)``."""
    scale = None if root is None else matching(root, signals)[:, None]
    values = signals if scale is None else signals / scale
    weights = None if stratum.weights is None else matching(to_numpy(stratum.weights), signals)
    found = fast.laplacian_product(stratum.edges, weights, values)
    return found if scale is None else found / scale
