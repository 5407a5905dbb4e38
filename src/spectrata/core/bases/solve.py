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
* the residual ``norm(L U - U lam)`` of every part must stay below ``RESIDUAL_TOLERANCE n norm(L)``, and the vectors
  must be orthonormal (``verify``);
* in single precision, on request, both tolerances are wider.

Where only projections of few columns are wanted, eigenvectors of large parts stay a product of reflectors and rotations
(``factored``), which is checked by sums over what it projects (``verify_projection``).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, EigenBasis, Part, off_zero_values
from spectrata.core.bases.verify import verify
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.core.strata import Stratum
from spectrata.errors import OptionError
from spectrata.kernels import lapack
from spectrata.kernels.backend import like, namespace, to_numpy
from spectrata.kernels.threads import blas_limit

JACOBI = 512  # up to here torch may rotate single precision by Jacobi's algorithm, which stops two digits early
SIGN_TOLERANCE = 1e-8
# Parts up to this size are solved in one batch per size: the call, not the arithmetic, is their cost.
BATCHED_PART = 64
# Parts from this size on are factored where that serves: below, loading the compiled rotations takes longer.
FACTORED_PART = 600
# Tridiagonalising is on one BLAS thread beyond this size (below, BLAS takes one by itself): its threads meet thousands
# of times, and each time wait for the slowest. On a busy machine that is forty times slower.
ONE_THREAD = 64
# Shares of a solve's time that its stages take, for progress.
TRIDIAGONAL, CONQUERED = 0.35, 0.6

# Largest weights whose squares each precision holds beside those of a signal.
SQUARABLE = {"float64": (1e-140, 1e140), "float32": (1e-12, 1e12)}

Tick = Callable[[float], None]  # told how much of a decomposition is done, from 0 to 1


def decompose(
    stratum: Stratum,
    operator: Operator = COMBINATORIAL,
    dtype: str = "float64",
    *,
    factored: bool = False,
    tick: Tick = lambda done: None,
) -> EigenBasis:
    """Solve ``C^-1/2 L C^-1/2 = U diag(lam) U^T`` for a Laplacian of a stratum, part by part.

    Parameters
    ----------
    stratum : Stratum
    operator : Operator
        Which Laplacian.
    dtype : {"float64", "float32"}
    factored : bool
        Leave eigenvectors of large parts a product of factors, for projections alone; on the CPU, in double precision.
    tick : callable
        Called with the share that is done.

    Examples
    --------
    >>> path = Stratum(1, 3, np.array([[0, 1], [1, 2]]))
    >>> decompose(path).values.round(6).tolist()
    [0.0, 1.0, 3.0]
    """
    _require_squarable(stratum, dtype)
    root = np.sqrt(operator.measure(stratum))
    solved = sorted(_solve_parts(stratum, root, dtype, factored, tick), key=lambda item: item[0][0])
    singletons = np.flatnonzero(stratum.counts == 0)
    values, columns, singleton_columns = merge_values(solved, singletons)
    parts = [
        Part(like(nodes, stratum.edges), part_values, vectors, like(position, stratum.edges))
        for (nodes, part_values, vectors), position in zip(solved, columns, strict=True)
    ]
    large = factored and any(len(part.nodes) >= FACTORED_PART for part in parts)
    basis = make_basis(stratum, operator, values, parts, singletons, singleton_columns, dtype=dtype, is_factored=large)
    return basis if basis.is_factored else verify(basis, stratum)


def _require_squarable(stratum: Stratum, dtype: str) -> None:
    """Refuse weights of a size whose squares, times those of an ordinary signal, leave the precision of the basis."""
    if stratum.weights is None or not stratum.n_edges:
        return
    largest, (least, most) = float(to_numpy(stratum.weights).max()), SQUARABLE[dtype]
    if not least <= largest <= most:
        other = ", or leave out dtype" if dtype == "float32" else ""
        raise OptionError(
            f"The largest edge weight at hop {stratum.hop} is {largest:.1e}, and dtype={dtype!r} needs one from "
            f"{least:g} to {most:g}; divide the weights by their largest{other}."
        )


def make_basis(
    stratum: Stratum,
    operator: Operator,
    values: np.ndarray,
    parts: Sequence[Part],
    singletons: np.ndarray,
    singleton_columns: np.ndarray,
    dtype: str = "float64",
    **more: Any,
) -> EigenBasis:
    """A basis of a Laplacian of a stratum; a whole one has a zero for each connected part."""
    facts: dict[str, Any] = {"zeros": len(parts) + len(singletons)} | more
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


Solved = tuple[np.ndarray, np.ndarray, Any]  # nodes and values in main memory, vectors where the edges are


def _solve_parts(stratum: Stratum, root: np.ndarray, dtype: str, factored: bool, tick: Tick) -> Iterator[Solved]:
    """Eigenpairs of every part of two nodes or more, small parts batched by size."""
    order = np.argsort(stratum.parts, kind="stable")
    sizes = np.bincount(stratum.parts)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    local = np.empty(stratum.n_nodes, dtype=np.int64)
    local[order] = np.arange(stratum.n_nodes) - np.repeat(starts[:-1], sizes)
    edge_parts = like(stratum.parts, stratum.edges)[stratum.edges[:, 0]]
    edges = like(local, stratum.edges)[stratum.edges]
    cubes, done = float(np.sum(sizes.astype(float) ** 3)), 0.0
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
            own_share, before = len(chosen) * float(size) ** 3 / cubes, done

            def inside(part: float, before: float = before, share: float = own_share) -> None:
                tick(before + share * part)

            if factored and size >= FACTORED_PART:
                values, vectors = _factor(*stack, inside)
            else:
                values, vectors = _solve_stack(*stack, inside)
            done += own_share
            tick(done)
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


def _solve_stack(stack: Any, null: Any, shifts: Any, tick: Tick = lambda done: None) -> tuple[Any, Any]:
    """Ascending eigenpairs of stacked Laplacians ``(p, c, c)`` whose null vectors are known.

    The null vector is moved to the top of the spectrum before the solve, where nothing is close to it: every other
    eigenvector comes out orthogonal to it to machine precision, however small the smallest nonzero eigenvalue.
    """
    _move_null(stack, null, shifts)
    if namespace(stack) is np and stack.shape[1] > BATCHED_PART and lapack.is_in_range(float(shifts[0]), stack.dtype):
        tri = _tridiagonal(stack[0])
        tick(TRIDIAGONAL)
        return _form(tri, null, tick)
    xp = namespace(stack)
    # Solvers on accelerators take a single matrix alone.
    values, vectors = (array[None] for array in _eigh(stack[0])) if len(stack) == 1 else _eigh(stack)
    return _with_null(xp.roll(values, 1, axis=1), xp.roll(vectors, 1, axis=2), null)


def _move_null(stack: Any, null: Any, shifts: Any) -> None:
    for matrix, vector, shift in zip(stack, null, shifts, strict=True):
        matrix += (shift * vector)[:, None] * vector[None, :]


def _with_null(values: Any, vectors: Any, null: Any) -> tuple[Any, Any]:
    """Eigenpairs with the null vector in the first place, exactly, and signs fixed."""
    values[:, 0], vectors[:, :, 0] = 0.0, null
    for matrix in vectors:
        fix_signs(matrix)
    return values, vectors


def _form(tri: lapack.Tridiagonal, null: np.ndarray, tick: Tick) -> tuple[np.ndarray, np.ndarray]:
    """Ascending eigenvalues ``(1, c)`` and eigenvectors ``(1, c, c)`` of one tridiagonalised matrix.

    The solver writes one column further on, so that the null vector, which it puts last, goes first without a copy.
    """
    n = len(tri.diagonal)
    space = np.empty((n, n + 1), tri.diagonal.dtype, order="F")
    values = lapack.solve_tridiagonal(tri.diagonal, tri.off, space[:, 1:])
    tick(CONQUERED)
    lapack.apply_reflectors(tri, space[:, 1:])
    return _with_null(np.roll(values, 1)[None], space[None, :, :n], null)


def _tridiagonal(matrix: np.ndarray) -> lapack.Tridiagonal:
    """``matrix = Q T Q^T``, in the memory of the matrix."""
    with blas_limit(1) if len(matrix) > ONE_THREAD else nullcontext():
        # The transpose is Fortran-ordered and the same symmetric matrix, so nothing is copied.
        return lapack.tridiagonalise(matrix.T)


def _factor(stack: np.ndarray, null: np.ndarray, shifts: np.ndarray, tick: Tick) -> tuple[Any, Any]:
    """The same for one matrix ``(1, c, c)``, its eigenvectors left as factors; formed where these do not converge."""
    from spectrata.core.bases.factored import factor

    shift = float(shifts[0])
    if not lapack.is_in_range(shift, stack.dtype):
        return _solve_stack(stack, null, shifts, tick)
    _move_null(stack, null, shifts)
    tri = _tridiagonal(stack[0])
    tick(TRIDIAGONAL / CONQUERED)
    found = factor(tri, null[0], 2.0 ** np.frexp(shift)[1])
    if found is None:
        return _form(tri, null, tick)
    return found[0][None], [found[1]]


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
