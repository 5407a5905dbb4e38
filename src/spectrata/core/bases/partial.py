"""Some of the eigencomponents: the lowest or the highest of a stratum, multiplicities right.

Each connected part is solved by itself and its zero component is known, so that none is lost on a disconnected graph.
Small parts are solved densely; large sparse ones by subspace iteration with a Chebyshev filter on a block of vectors,
which finds an eigenvalue as often as it occurs, where a Krylov space from one vector sees it once. Afterwards the
eigenvalues up to the last one kept are counted by Sylvester's law of inertia: none may be missing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, EigenBasis, Part, off_zero_values, spaces_of
from spectrata.core.bases.solve import Solved, fix_signs, make_basis, merge_values
from spectrata.core.bases.verify import PROBES, SAFETY, verify
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError

DENSE_PART = 1500  # up to here a dense solve is quicker
GUARD = 12  # eigenvalues beyond the wanted ones: they complete the last eigenspace and speed up the iteration
DEGREE = 24  # of the Chebyshev filter: a higher one takes fewer rounds, each as much longer
ROUNDS = 300  # 3 to 16 are usual, 45 on a path of 2,000 nodes, 107 on a heavy-tailed graph of 3,000
COPIES, MARGIN = 1e-7, 1e-3  # eigenvalues this close are copies of one, and widen the margin, from this on
PART_TOLERANCE = 1e-11  # residual of one vector, relative to the bound on the largest eigenvalue
FLOPS = 2e10  # of a sparse factorisation, bounded by the bandwidth: some ten seconds


@dataclass(frozen=True, eq=False)
class _Matrix:
    """``C^-1/2 L C^-1/2`` of one connected part."""

    nodes: np.ndarray  # (c,) rows of the graph
    links: Any  # (c, c) sparse, off the diagonal, signs turned
    diagonal: np.ndarray  # (c,)
    null: np.ndarray  # (c,) the unit null vector

    def times(self, block: np.ndarray) -> np.ndarray:
        return self.diagonal[:, None] * block - self.links @ block


def partial_basis(stratum: Stratum, count: int, which: str, operator: Laplacian = COMBINATORIAL) -> EigenBasis:
    """The ``count`` lowest or highest components of a Laplacian of a stratum."""
    matrices, extra = _matrices(stratum, operator), GUARD
    bound = 2.0 * max(float(matrix.diagonal.max()) for matrix in matrices)
    sign, end, gap = *((1.0, -1) if which == "lowest" else (-1.0, 0)), EIGENSPACE_TOLERANCE["float64"] * bound
    while True:
        pieces = [_solve(matrix, count + extra, which, bound) for matrix in matrices]
        basis = _assemble(stratum, pieces, count, which, bound, operator)
        last = sign * float(basis.values[end])
        # ``sign`` times the eigenvalues of each part, outermost first; from above without the zero.
        found = [values if sign > 0 else -values[:0:-1] for _, values, _ in pieces]
        some = [own for (nodes, values, _), own in zip(pieces, found, strict=True) if len(values) < len(nodes)]
        if all(own[-1] > last + gap for own in some):  # so that no copy of the outermost kept one is missing
            break
        extra *= 2  # an eigenspace goes on past everything found
    beyond = sign * np.min([_counted(*one, last, gap, sign) for one in zip(matrices, found, strict=True)])
    here = np.count_nonzero(basis.eigenspace == basis.eigenspace[end])
    if here < basis.multiplicity[end] and not np.isnan(beyond):
        beyond = sign * last  # more of the outermost eigenspace is not kept
    return verify(replace(basis, beyond=float(beyond)), stratum)


def _counted(matrix: _Matrix, found: np.ndarray, last: float, gap: float, sign: float) -> float:
    """A bound between the components of a part that are kept, which are counted, and its others; NaN if too costly."""
    inside, n = found <= last + gap, len(matrix.nodes)
    if len(found) >= n - (sign < 0) or n <= DENSE_PART:  # LAPACK finds eigenvalues by their number
        return float(np.min(found[~inside], initial=np.inf))
    inner, outer = found[inside][-1] if inside.any() else last, found[~inside][0]
    shift = sign * (inner + outer) / 2
    below = count_below(matrix, shift, (outer - inner) / 2)
    if below is None:
        return np.nan
    count = below if sign > 0 else n - below
    if count != np.sum(inside):
        side = "below" if sign > 0 else "above"
        raise SolverError(
            f"Of a part of {n:,} nodes the solver found {np.sum(inside)} eigenvalues {side} {shift:.6g}, and there are "
            f"{count}; ask for more or fewer of them, or for all, and please report this graph."
        )
    return sign * shift


def count_below(part: _Matrix, shift: float, margin: float) -> int | None:
    """Eigenvalues of a part below ``shift``, from which the nearest is ``margin`` away; None where that is too costly.

    ``A - shift I = K D K^T`` has as many negative eigenvalues as ``D``. Without pivoting, which keeps the factors
    symmetric; they are multiplied out again on random vectors, and rounding must stay below the margin.
    """
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee
    from scipy.sparse.linalg import splu

    matrix = csc_array(diags_array(part.diagonal - shift) - part.links)
    place = np.argsort(reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True))
    rows, columns = matrix.nonzero()
    bandwidth = int(np.abs(place[rows] - place[columns]).max())
    if matrix.shape[0] * float(bandwidth) ** 2 > FLOPS:
        return None
    try:
        factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # a pivot is exactly 0
        return None
    order = factors.perm_r
    lower, middle = factors.L, factors.U.diagonal()[:, None]
    z = np.random.default_rng(0).standard_normal((matrix.shape[0], PROBES))
    again = (lower @ (middle * (lower.T @ z[np.argsort(order)])))[order]
    missed = np.sqrt(np.mean(np.sum((again - matrix @ z) ** 2, axis=0)))
    return int(np.sum(middle < 0)) if SAFETY * missed < margin else None


def _matrices(stratum: Stratum, operator: Laplacian) -> list[_Matrix]:
    from scipy.sparse import coo_array

    n, root = stratum.n_nodes, np.sqrt(operator.measure(stratum))
    x, y = stratum.edges.T
    weights = np.ones(stratum.n_edges) if stratum.weights is None else stratum.weights
    upper = coo_array((weights / (root[x] * root[y]), (x, y)), shape=(n, n)).tocsr()
    links = upper + upper.T
    diagonal = stratum.degrees / root**2
    order = np.argsort(stratum.parts, kind="stable")
    found = []
    for nodes in np.split(order, np.cumsum(np.bincount(stratum.parts))[:-1]):
        if len(nodes) > 1:
            null = root[nodes] / np.linalg.norm(root[nodes])
            found.append(_Matrix(nodes, links[nodes][:, nodes], diagonal[nodes], null))
    return found


def _solve(matrix: _Matrix, count: int, which: str, bound: float) -> Solved:
    """The zero component of one part, and at least the wanted end of its spectrum."""
    from scipy.linalg import eigh

    size = len(matrix.nodes)
    if size <= DENSE_PART or count > size // 4:
        # The null vector is moved past the top, as in ``solve``.
        lifted = np.diag(matrix.diagonal) - matrix.links.toarray() + 1.5 * bound * np.outer(matrix.null, matrix.null)
        if size <= DENSE_PART and which == "lowest":
            values, vectors = eigh(lifted, subset_by_index=(0, min(count, size - 1) - 1), check_finite=False)
        else:  # eigenspaces of the highest are numbered from the lowest on
            values, vectors = (found[..., :-1] for found in np.linalg.eigh(lifted))
    else:
        values, vectors = _solve_block(matrix, count, which, bound)
    values = off_zero_values(values, 2.0 * float(matrix.diagonal.max()))
    return matrix.nodes, np.append(0.0, values), np.column_stack([matrix.null, vectors])


def _solve_block(matrix: _Matrix, wanted: int, which: str, bound: float) -> tuple[np.ndarray, np.ndarray]:
    """One end of the spectrum by filtered subspace iteration on a block orthogonal to the null vector."""

    def times(block: np.ndarray) -> np.ndarray:  # the highest components are the lowest of bound I - A
        return matrix.times(block) if which == "lowest" else bound * block - matrix.times(block)

    size = len(matrix.nodes)
    block = np.random.default_rng(0).standard_normal((size, min(size - 1, wanted + max(GUARD, wanted // 4))))
    edge, margin = bound / 2, 0.0
    for _ in range(ROUNDS):
        block = _filter(times, block, edge, bound)
        block -= np.outer(matrix.null, matrix.null @ block)
        block, _ = np.linalg.qr(block)
        image = times(block)
        values, rotation = np.linalg.eigh(block.T @ image)
        block, image = block @ rotation, image @ rotation
        found, kept = values[:wanted], block[:, :wanted]
        if np.linalg.norm(image[:, :wanted] - kept * found, axis=0).max() <= PART_TOLERANCE * bound:
            return (found, kept) if which == "lowest" else (bound - found[::-1], kept[:, ::-1])
        # An eigenvalue of more copies than the block has columns lies on the edge, where nothing grows: the
        # damped part of the spectrum then begins beyond it.
        if values[-1] - found[-1] <= COPIES * bound:
            margin = min(0.5, max(MARGIN, 4 * margin))
        edge = values[-1] + margin * (bound - values[-1])
    raise SolverError(
        f"The {wanted} {which} eigencomponents of a part of {size:,} nodes did not settle in {ROUNDS} rounds; "
        "ask for more or fewer of them, or for all."
    )


def _filter(times: Callable[[np.ndarray], np.ndarray], block: np.ndarray, low: float, high: float) -> np.ndarray:
    """Apply a Chebyshev polynomial of the Laplacian that is small on ``[low, high]`` and grows outside."""
    centre, half = (high + low) / 2, (high - low) / 2
    before, now = block, (times(block) - centre * block) / half
    for _ in range(DEGREE - 1):
        before, now = now, (2.0 / half) * (times(now) - centre * now) - before
        scale = np.abs(now).max()
        if scale > 1e100:
            before, now = before / scale, now / scale
    return now


def _assemble(
    stratum: Stratum, pieces: list[Solved], count: int, which: str, bound: float, operator: Laplacian
) -> EigenBasis:
    """The wanted components of all parts in order."""
    n, (values, places, alone) = stratum.n_nodes, merge_values(pieces, stratum)
    total, n_zero = len(values), len(pieces) + alone.shape[1]
    spaces = spaces_of(values, np.arange(total) < n_zero, EIGENSPACE_TOLERANCE["float64"] * bound)
    if which == "lowest":
        kept = slice(0, min(count, total))
    else:  # the highest nonzero ones, then zeros only when all others are there
        kept = slice(total - min(count, total if total == n else total - n_zero), total)
    parts = []
    for (nodes, own, vectors), place in zip(pieces, places, strict=True):
        here = (place >= kept.start) & (place < kept.stop)
        if here.any():
            chosen = np.asfortranarray(vectors[:, here])
            fix_signs(chosen)
            parts.append(Part(nodes, own[here], chosen, place[here] - kept.start))
    alone = alone[:, (alone[1] >= kept.start) & (alone[1] < kept.stop)] - [[0], [kept.start]]
    # Eigenvalues that were not found, between the zeros and the highest ones, are numbered as simple ones.
    missing = n - total if which == "highest" else 0
    facts = {"eigenspace": spaces[kept] + missing, "multiplicity": np.bincount(spaces)[spaces][kept], "norm": bound}
    zeros, first = max(0, min(n_zero, kept.stop) - kept.start), 0 if which == "lowest" else n - kept.stop + kept.start
    return make_basis(stratum, operator, values[kept], parts, alone, "float64", zeros=zeros, first=first, **facts)
