"""Eigenbases of strata: one dense solve per connected part.

Solving part by part makes the zero eigenvectors the parts' indicators, lets singletons cost nothing, and keeps the
work at the sum of cubes of the parts.

Tolerances, all documented here:

* an eigenvalue is zero exactly when it belongs to a part's indicator; there is
  one per connected part, by structure and not by size; the others are above 0, at least the rounding error of the
  part's largest one;
* neighbouring nonzero eigenvalues share an eigenspace when they differ by no more
  than ``EIGENSPACE_TOLERANCE`` times the largest eigenvalue: below that gap, double precision leaves an eigenvector
  fewer than half of its digits;
* the residual ``norm(L U - U lam)`` must stay below ``RESIDUAL_TOLERANCE n norm(L)``;
* in single precision, on request, both tolerances are wider.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, EigenBasis, Part, off_zero_values
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError
from spectrata.kernels import fast
from spectrata.kernels.backend import like, matching, namespace, to_numpy

JACOBI = 512  # up to here torch may rotate single precision by Jacobi's algorithm, which stops two digits early
RESIDUAL_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}
SIGN_TOLERANCE = 1e-8
# Parts up to this size are solved in one batch per size: the call, not the arithmetic, is their cost.
BATCHED_PART = 64


def decompose(stratum: Stratum, operator: Operator = COMBINATORIAL, dtype: str = "float64") -> EigenBasis:
    """Solve ``C^-1/2 L C^-1/2 = U diag(lam) U^T`` for a Laplacian of a stratum, part by part.

    Parameters
    ----------
    stratum : Stratum
    operator : Operator
        Which Laplacian.
    dtype : {"float64", "float32"}

    Examples
    --------
    >>> path = Stratum(1, 3, np.array([[0, 1], [1, 2]]))
    >>> decompose(path).values.round(6).tolist()
    [0.0, 1.0, 3.0]
    """
    root = np.sqrt(operator.measure(stratum))
    solved = sorted(_solve_parts(stratum, root, dtype), key=lambda item: item[0][0])
    singletons = np.flatnonzero(stratum.counts == 0)
    values, columns, singleton_columns = merge_values(solved, singletons)
    parts = [
        Part(like(nodes, stratum.edges), part_values, vectors, like(position, stratum.edges))
        for (nodes, part_values, vectors), position in zip(solved, columns, strict=True)
    ]
    basis = make_basis(stratum, operator, values, parts, singletons, singleton_columns, dtype=dtype)
    return verify_residual(basis, stratum)


def make_basis(
    stratum: Stratum,
    operator: Operator,
    values: np.ndarray,
    parts: Sequence[Part],
    singletons: np.ndarray,
    singleton_columns: np.ndarray,
    dtype: str = "float64",
    **cut: Any,
) -> EigenBasis:
    """A basis of a Laplacian of a stratum; a whole one has a zero for each connected part."""
    facts: dict[str, Any] = {"zeros": len(parts) + len(singletons)} | cut
    return EigenBasis(
        values,
        tuple(parts),
        singletons,
        singleton_columns,
        operator=operator,
        root=np.sqrt(operator.measure(stratum)) if operator.has_measure else None,
        dtype=dtype,
        tolerance=EIGENSPACE_TOLERANCE[dtype],
        **facts,
    )


def verify_residual(basis: EigenBasis, stratum: Stratum) -> EigenBasis:
    """The basis with its residual, which must be small."""
    residual, limit = residual_of(stratum, basis), RESIDUAL_TOLERANCE[basis.dtype]
    if not residual <= limit:
        raise SolverError(
            f"The eigenbasis at hop {stratum.hop} has residual {residual:.1e} (relative, at most "
            f"{limit:.0e} is accepted); please report this graph."
        )
    return replace(basis, residual=residual)


Solved = tuple[np.ndarray, np.ndarray, Any]  # nodes and values in main memory, vectors where the edges are


def _solve_parts(stratum: Stratum, root: np.ndarray, dtype: str) -> Iterator[Solved]:
    """Eigenpairs of every part of two nodes or more, small parts batched by size."""
    order = np.argsort(stratum.parts, kind="stable")
    sizes = np.bincount(stratum.parts)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    local = np.empty(stratum.n_nodes, dtype=np.int64)
    local[order] = np.arange(stratum.n_nodes) - np.repeat(starts[:-1], sizes)
    edge_parts = like(stratum.parts, stratum.edges)[stratum.edges[:, 0]]
    edges = like(local, stratum.edges)[stratum.edges]
    for size in np.unique(sizes[sizes > 1]):
        members = np.flatnonzero(sizes == size)
        batch = len(members) if size <= BATCHED_PART else 1
        for first in range(0, len(members), batch):
            chosen = members[first : first + batch]
            slots = np.full(len(sizes), -1)
            slots[chosen] = np.arange(len(chosen))
            slot = like(slots, stratum.edges)[edge_parts]
            used = slot >= 0
            nodes = np.stack([order[starts[part] : starts[part + 1]] for part in chosen])  # (parts, size)
            weights = None if stratum.weights is None else stratum.weights[used]
            stack = _laplacians(slot[used], edges[used], weights, root[nodes], dtype)
            values, vectors = _solve_stack(*stack)
            host = to_numpy(values).astype(float)
            host[:, 1:] = off_zero_values(host[:, 1:], np.abs(host[:, -1:]), dtype)
            for row in range(len(chosen)):
                # One memory layout for all, so that equal bases give equal bits wherever they come from.
                own = np.asfortranarray(vectors[row]) if isinstance(vectors, np.ndarray) else vectors[row]
                yield nodes[row], host[row], own


def _laplacians(slot: Any, edges: Any, weights: Any, root: np.ndarray, dtype: str) -> tuple[Any, Any, Any]:
    """``C^-1/2 L C^-1/2`` of parts of one size, their unit null vectors, and for each a shift past its spectrum.

    ``slot (m,)`` says to which part each edge belongs; ``root (parts, size)`` are square roots of the measure.
    """
    xp = namespace(edges)
    count, size = root.shape
    stack = xp.zeros((count, size, size), dtype=getattr(xp, dtype), device=edges.device)
    x, y = edges[:, 0], edges[:, 1]
    stack[slot, x, y] = stack[slot, y, x] = -1.0 if weights is None else -xp.astype(weights, stack.dtype)
    diagonal = -xp.sum(stack, axis=2)
    here = like(root.astype(dtype), edges)
    if (root != 1.0).any():
        stack /= here[:, :, None]
        stack /= here[:, None, :]
        diagonal = diagonal / here**2
    # No eigenvalue exceeds twice the largest diagonal entry: C^-1 L has the same ones, and Gershgorin's discs.
    shift = 3.0 * xp.max(diagonal, axis=1)
    rows = like(np.arange(size), edges)
    stack[:, rows, rows] = diagonal
    return stack, here / xp.sqrt(xp.sum(here * here, axis=1))[:, None], shift


def _solve_stack(stack: Any, null: Any, shift: Any) -> tuple[Any, Any]:
    """Ascending eigenpairs of stacked Laplacians ``(p, c, c)`` whose null vectors are known.

    The null vector is moved to the top of the spectrum before the solve, where nothing is close to it: every other
    eigenvector comes out orthogonal to it to machine precision, however small the smallest nonzero eigenvalue.
    """
    xp = namespace(stack)
    for matrix, vector, top in zip(stack, null, shift, strict=True):
        matrix += (top * vector)[:, None] * vector[None, :]
    if len(stack) > 1:
        values, vectors = _eigh(stack)
    else:  # alone: batched solvers are slow on one large matrix
        values, vectors = (array[None] for array in _solve_one(stack[0]))
    values = xp.roll(values, 1, axis=1)
    vectors = xp.roll(vectors, 1, axis=2)
    values[:, 0], vectors[:, :, 0] = 0.0, null
    for matrix in vectors:
        fix_signs(matrix)
    return values, vectors


def _solve_one(matrix: Any) -> tuple[Any, Any]:
    xp = namespace(matrix)
    if xp is not np:
        return _eigh(matrix)
    from scipy.linalg import eigh

    # The transpose is Fortran-ordered and the same symmetric matrix, so nothing is copied.
    return eigh(matrix.T, driver="evd", overwrite_a=True, check_finite=False)


def _eigh(stack: Any) -> tuple[Any, Any]:
    """Eigenpairs of symmetric matrices; small ones in single precision on an accelerator are solved in double."""
    xp = namespace(stack)
    if xp is np or stack.dtype != xp.float32 or stack.shape[-1] > JACOBI:
        return xp.linalg.eigh(stack)
    values, vectors = xp.linalg.eigh(xp.astype(stack, xp.float64))
    return xp.astype(values, xp.float32), xp.astype(vectors, xp.float32)


def fix_signs(vectors: Any) -> None:
    """Make the first entry within ``SIGN_TOLERANCE`` of each column's largest positive, in place."""
    xp = namespace(vectors)
    for start in range(0, vectors.shape[1], 256):
        block = vectors[:, start : start + 256]
        size = xp.abs(block)
        near = size >= (1.0 - SIGN_TOLERANCE) * xp.max(size, axis=0)
        leading = xp.argmax(xp.astype(near, xp.int8), axis=0) if xp is not np else np.argmax(near, axis=0)
        signs = block[leading, like(np.arange(block.shape[1]), vectors)] < 0.0
        block *= xp.where(signs, -1.0, 1.0) if xp is np else 1 - 2 * xp.astype(signs, block.dtype)


def merge_values(solved: list[Solved], singletons: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Ascending eigenvalues of all parts, and where each part's and singleton's went.

    Ties keep the order of the parts' first nodes, zeros included, so that the k-th zero component is the k-th part.
    """
    values = np.concatenate([part_values for _, part_values, _ in solved] + [np.zeros(len(singletons))])
    first = np.concatenate([np.full(len(own), nodes[0]) for nodes, own, _ in solved] + [singletons])
    order = np.lexsort((first, values))
    position = np.empty(len(values), dtype=np.int64)
    position[order] = np.arange(len(values))
    bounds = np.cumsum([len(own) for _, own, _ in solved], dtype=int)
    *columns, singleton_columns = np.split(position, bounds)
    return values[order], columns, singleton_columns


def residual_of(stratum: Stratum, basis: EigenBasis, probes: int = 4) -> float:
    """Estimate ``norm(L U - U lam, F) / (n norm(L, 2))`` from random combinations of the columns.

    For Gaussian ``z`` the mean of ``norm((L U - U lam) z)^2`` is the squared Frobenius norm, at the cost of a few
    matrix-vector products instead of ``n``.
    """
    if basis.norm == 0.0:
        return 0.0
    z = np.random.default_rng(0).standard_normal((basis.n, probes))
    mixed = basis.rebuild(like(z.astype(basis.dtype), stratum.edges))
    scaled = basis.rebuild(like((basis.values[:, None] * z).astype(basis.dtype), stratum.edges))
    difference = to_numpy(_apply_laplacian(stratum, mixed, basis.root) - scaled)
    return float(np.sqrt(np.mean(np.sum(difference**2, axis=0))) / (basis.n_nodes * basis.norm))


def _apply_laplacian(stratum: Stratum, signals: Any, root: np.ndarray | None) -> Any:
    """``C^-1/2 L C^-1/2 signals`` from the edges alone: ``(n, p) -> (n, p)``."""
    x, y = stratum.edges[:, 0], stratum.edges[:, 1]
    scale = None if root is None else matching(root, signals)[:, None]
    values = signals if scale is None else signals / scale
    flow = (values[x] - values[y]).T
    if stratum.weights is not None:
        flow = flow * matching(to_numpy(stratum.weights), signals)
    found = fast.divergence(stratum.edges, flow, stratum.n_nodes).T
    return found if scale is None else found / scale
