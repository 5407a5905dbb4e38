"""Eigenbases of strata: one dense solve per connected part.

The zero eigenvectors are the parts' indicators, nodes without an edge cost nothing, and an eigenvalue is zero by
structure and not by size. The residual ``norm(L U - U lam)`` of every part must stay below ``1e-12 n norm(L)`` and
vectors must be orthonormal (``verify``). Where only projections of few columns are wanted, eigenvectors of large parts
stay a product (``kernels.factored``), which is checked by sums over what it projects (``verify_projection``).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, EigenBasis, Part, off_zero_values, spaces_of
from spectrata.core.bases.verify import verify
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.core.strata import Stratum
from spectrata.errors import OptionError
from spectrata.kernels import lapack
from spectrata.kernels.backend import like, namespace, to_numpy
from spectrata.kernels.threads import blas_limit

JACOBI = 512  # up to here torch may rotate single precision by Jacobi's algorithm, which stops two digits early
SIGN_TOLERANCE = 1e-8  # entries that symmetry makes equal differ by rounding, far less
# Parts up to this size are solved in one batch per size: the call, not the arithmetic, is their cost.
BATCHED_PART = 64
# Parts from this size on are factored where that serves: below, loading the compiled rotations takes longer.
FACTORED_PART = 600
# Largest weights whose squares each precision holds beside those of a signal.
SQUARABLE = {"float64": (1e-140, 1e140), "float32": (1e-12, 1e12)}


def decompose(
    stratum: Stratum, operator: Laplacian = COMBINATORIAL, dtype: str = "float64", *, factored: bool = False
) -> EigenBasis:
    """Solve ``C^-1/2 L C^-1/2 = U diag(lam) U^T`` part by part; ``factored`` for projections on the CPU in double."""
    _require_squarable(stratum, dtype)
    solved = sorted(_solve_parts(stratum, operator, dtype, factored), key=lambda item: item[0][0])
    values, columns, alone = merge_values(solved, stratum)
    parts = [
        Part(like(nodes, stratum.edges), part_values, vectors, like(position, stratum.edges))
        for (nodes, part_values, vectors), position in zip(solved, columns, strict=True)
    ]
    large = factored and any(len(part.nodes) >= FACTORED_PART for part in parts)
    basis = make_basis(stratum, operator, values, parts, alone, dtype, is_factored=large)
    return basis if basis.is_factored else verify(basis, stratum)


def _require_squarable(stratum: Stratum, dtype: str) -> None:
    """Refuse weights of a size whose squares, times those of an ordinary signal, leave the precision of the basis."""
    least, most = SQUARABLE[dtype]
    largest = 1.0 if stratum.weights is None or not stratum.n_edges else float(to_numpy(stratum.weights).max())
    if not least <= largest <= most:
        other = ", or leave out dtype" if dtype == "float32" else ""
        raise OptionError(
            f"The largest edge weight at hop {stratum.hop} is {largest:.1e}, and dtype={dtype!r} needs one from "
            f"{least:g} to {most:g}; divide the weights by their largest{other}."
        )


def make_basis(
    stratum: Stratum,
    operator: Laplacian,
    values: np.ndarray,
    parts: list[Part],
    alone: np.ndarray,
    dtype: str,
    **more: Any,
) -> EigenBasis:
    """A basis of a Laplacian of a stratum; ``more`` where it has not all components, and a zero for each part."""
    zeros, norm, tolerance = len(parts) + alone.shape[1], float(values[-1]), EIGENSPACE_TOLERANCE[dtype]
    spaces = spaces_of(values, np.arange(len(values)) < zeros, tolerance * norm)
    components = zeros, stratum.n_nodes, norm, spaces, np.bincount(spaces)[spaces]
    root = np.sqrt(operator.measure(stratum)) if operator.has_measure else None
    facts: dict[str, Any] = {"operator": operator, "root": root, "dtype": dtype, "tolerance": tolerance}
    return replace(EigenBasis(values, tuple(parts), alone, *components), **facts | more)


Solved = tuple[np.ndarray, np.ndarray, Any]  # nodes and values in main memory, vectors where the edges are


def _solve_parts(stratum: Stratum, operator: Laplacian, dtype: str, factored: bool) -> Iterator[Solved]:
    """Eigenpairs of every part of two nodes or more, small parts batched by size."""
    root = np.sqrt(operator.measure(stratum))
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
            values, vectors = _solve_stack(*stack, factored)
            host = to_numpy(values).astype(float)
            host[:, 1:] = off_zero_values(host[:, 1:], np.abs(host[:, -1:]), dtype)
            for row in range(len(chosen)):
                # One memory layout for all, so that equal bases give equal bits wherever they come from.
                own = np.asfortranarray(vectors[row]) if isinstance(vectors, np.ndarray) else vectors[row]
                yield nodes[row], host[row], own


def _laplacians(slot: Any, edges: Any, weights: Any, root: np.ndarray, dtype: str) -> tuple[Any, Any, Any]:
    """``C^-1/2 L C^-1/2`` of parts of one size, their unit null vectors, and for each a shift past its spectrum."""
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


def _solve_stack(stack: Any, null: Any, shifts: Any, factored: bool = False) -> tuple[Any, Any]:
    """Ascending eigenpairs of stacked Laplacians ``(p, c, c)`` whose null vectors are known.

    The null vector is moved to the top of the spectrum before the solve, where nothing is close to it: every other
    eigenvector comes out orthogonal to it to machine precision, however small the smallest nonzero eigenvalue.
    """
    for matrix, vector, shift in zip(stack, null, shifts, strict=True):
        matrix += (shift * vector)[:, None] * vector[None, :]
    xp = namespace(stack)
    if xp is np and stack.shape[1] > BATCHED_PART and lapack.is_in_range(float(shifts[0]), stack.dtype):
        values, vectors = _solve_large(stack[0], null[0], float(shifts[0]), factored)
        if not isinstance(vectors, np.ndarray):
            return values[None], [vectors]
        values, vectors = values[None], vectors[None]
    else:
        # Solvers on accelerators take a single matrix alone.
        values, vectors = (array[None] for array in _eigh(stack[0])) if len(stack) == 1 else _eigh(stack)
        values, vectors = xp.roll(values, 1, axis=1), xp.roll(vectors, 1, axis=2)
    values[:, 0], vectors[:, :, 0] = 0.0, null
    for matrix in vectors:
        fix_signs(matrix)
    return values, vectors


def _solve_large(matrix: np.ndarray, null: np.ndarray, shift: float, factored: bool) -> tuple[np.ndarray, Any]:
    """Eigenpairs of one matrix, the null vector's in the first place; factors where wanted and QL converges."""
    # On one BLAS thread: its threads meet thousands of times, and each time wait for the slowest. On a busy machine
    # that is forty times slower.
    with blas_limit(1):
        # The transpose is Fortran-ordered and the same symmetric matrix, so nothing is copied.
        tri = lapack.tridiagonalise(matrix.T)
    n = len(matrix)
    if factored and n >= FACTORED_PART:
        from spectrata.kernels.factored import factor

        found = factor(tri, null, 2.0 ** np.frexp(shift)[1])
        if found is not None:
            return found
    # The solver writes one column further on, so that the null vector, which it puts last, goes first without a copy.
    space = np.empty((n, n + 1), tri.diagonal.dtype, order="F")
    values = lapack.solve_tridiagonal(tri.diagonal, tri.off, space[:, 1:])
    lapack.apply_reflectors(tri, space[:, 1:])
    return np.roll(values, 1), space[:, :n]


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


def merge_values(solved: list[Solved], stratum: Stratum) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Ascending eigenvalues of all parts, where each part's went, and nodes without an edge with theirs ``(2, s)``.

    Ties go by first nodes.
    """
    singletons = np.flatnonzero(stratum.counts == 0)
    values = np.concatenate([part_values for _, part_values, _ in solved] + [np.zeros(len(singletons))])
    first = np.concatenate([np.full(len(own), nodes[0]) for nodes, own, _ in solved] + [singletons])
    order = np.lexsort((first, values))
    position = np.empty(len(values), dtype=np.int64)
    position[order] = np.arange(len(values))
    bounds = np.cumsum([len(own) for _, own, _ in solved], dtype=int)
    *columns, own = np.split(position, bounds)
    return values[order], columns, np.stack([singletons, own])
