"""Some of the eigencomponents: the lowest or the highest of a stratum, multiplicities right.

Each connected part is solved by itself and its zero component is known, so that none is lost on a disconnected graph.
Small parts are solved densely; large sparse ones by subspace iteration with a Chebyshev filter on a block of vectors,
which finds an eigenvalue as often as it occurs, where a Krylov space from one vector sees it once. Afterwards the
eigenvalues up to the last one kept are counted by another method (``inertia``): none may be missing.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, Cut, EigenBasis, Part, off_zero_values, spaces_of
from spectrata.core.bases.inertia import count_below
from spectrata.core.bases.solve import Solved, fix_signs, make_basis, merge_values
from spectrata.core.bases.verify import verify
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError

DENSE_PART = 1500  # up to here a dense solve of the wanted end of the spectrum is quicker
GUARD = 12  # eigenvalues beyond the wanted ones: they complete the last eigenspace and speed up the iteration
DEGREE = 24  # of the Chebyshev filter
ROUNDS = 300
COPIES, MARGIN = 1e-7, 1e-3  # eigenvalues this close are copies of one, and widen the margin, from this on
PART_TOLERANCE = 1e-11  # residual of one vector, relative to the bound on the largest eigenvalue


@dataclass(frozen=True, eq=False)
class _Matrix:
    """``C^-1/2 L C^-1/2`` of one connected part."""

    nodes: np.ndarray  # (c,) rows of the graph
    links: Any  # (c, c) sparse, off the diagonal, signs turned
    diagonal: np.ndarray  # (c,)
    null: np.ndarray  # (c,) the unit null vector

    def times(self, block: np.ndarray) -> np.ndarray:
        """The product with a block of columns."""
        return self.diagonal[:, None] * block - self.links @ block

    def dense(self, lifted: float) -> np.ndarray:
        """As an array, the null vector moved from eigenvalue 0 to ``lifted``."""
        return np.diag(self.diagonal) - self.links.toarray() + lifted * np.outer(self.null, self.null)

    def sparse(self) -> Any:
        """As a sparse matrix."""
        from scipy.sparse import diags_array

        return diags_array(self.diagonal) - self.links


def partial_basis(stratum: Stratum, count: int, which: str, operator: Operator = COMBINATORIAL) -> EigenBasis:
    """The ``count`` lowest or highest components of a Laplacian of a stratum.

    Examples
    --------
    >>> ring = Stratum(1, 6, np.array([[0, 1], [0, 5], [1, 2], [2, 3], [3, 4], [4, 5]]))
    >>> basis = partial_basis(ring, 2, "lowest")
    >>> basis.values.round(6).tolist(), basis.multiplicity.tolist()
    ([0.0, 1.0], [1, 2])
    """
    n = stratum.n_nodes
    matrices = _matrices(stratum, operator)
    bound = 2.0 * max(float(matrix.diagonal.max()) for matrix in matrices)
    extra = GUARD
    while True:
        pieces = [_solve(matrix, count + extra, which, bound) for matrix in matrices]
        basis, complete = _assemble(stratum, pieces, min(count, n), which, bound, operator)
        if complete:
            break
        extra *= 2  # an eigenspace goes on past everything found
    if which == "highest" and basis.n < n:
        basis = _numbered_from_below(basis, matrices, bound)
    assert basis.cut is not None
    beyond = _counted(matrices, pieces, basis.values, which, bound)
    end = -1 if which == "lowest" else 0
    here = np.count_nonzero(basis.cut.eigenspace == basis.cut.eigenspace[end])
    if here < basis.cut.multiplicity[end] and not np.isnan(beyond):
        beyond = float(basis.values[end])  # more of the outermost eigenspace is not kept
    return verify(replace(basis, cut=replace(basis.cut, beyond=beyond)), stratum)


def _counted(matrices: list[_Matrix], pieces: list[Solved], kept: np.ndarray, which: str, bound: float) -> float:
    """The eigenvalue past which all lie that are not kept, every part's eigenvalues up to there counted.

    NaN where a part is too large to count.
    """
    sign = 1.0 if which == "lowest" else -1.0
    last, gap, nearest = sign * (kept[-1] if sign > 0 else kept[0]), EIGENSPACE_TOLERANCE["float64"] * bound, np.inf
    for matrix, (nodes, values, _) in zip(matrices, pieces, strict=True):
        found = np.sort(sign * (values if sign > 0 else values[1:]))  # outermost first
        inside = found <= last + gap
        if len(values) == len(nodes):  # all of this part was found
            nearest = min(nearest, np.min(found[~inside], initial=np.inf))
            continue
        inner, outer = found[inside][-1] if inside.any() else last, found[~inside][0]
        shift, margin = sign * (inner + outer) / 2, (outer - inner) / 2
        count = count_below(matrix.sparse(), shift, margin)
        if count is None:
            return np.nan
        count = count if sign > 0 else len(nodes) - count
        if count != np.sum(inside):
            raise SolverError(
                f"The {which} eigencomponents of a part of {len(nodes):,} nodes: the solver found {np.sum(inside)} "
                f"eigenvalues {'below' if sign > 0 else 'above'} {shift:.6g}, and there are {count}; ask for more or "
                "fewer of them, or for all, and please report this graph."
            )
        nearest = min(nearest, sign * shift)
    return sign * nearest


def _matrices(stratum: Stratum, operator: Operator) -> list[_Matrix]:
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
    """The zero component of one part, and the wanted end of its spectrum."""
    size = len(matrix.nodes)
    wanted = min(count, size - 1)
    solve = _solve_dense if size <= DENSE_PART or wanted > size // 4 else _solve_block
    values, vectors = solve(matrix, wanted, which, bound)
    values = off_zero_values(values, 2.0 * float(matrix.diagonal.max()))
    return matrix.nodes, np.append(0.0, values), np.column_stack([matrix.null, vectors])


def _solve_dense(matrix: _Matrix, wanted: int, which: str, bound: float) -> tuple[np.ndarray, np.ndarray]:
    """One end of the spectrum by LAPACK, the null vector moved past the top as in ``solve``."""
    from scipy.linalg import eigh

    size = len(matrix.nodes)
    ends = [0, wanted - 1] if which == "lowest" else [size - 1 - wanted, size - 2]
    dense = matrix.dense(1.5 * bound)
    return eigh(dense, subset_by_index=ends, driver="evr", overwrite_a=True, check_finite=False)


def _numbered_from_below(basis: EigenBasis, matrices: list[_Matrix], bound: float) -> EigenBasis:
    """Eigenspaces numbered over the whole spectrum, for components kept from its top.

    Where a part is too large for a dense solve, the eigenvalues below those kept count as simple.
    """
    from scipy.linalg import eigvalsh

    assert basis.cut is not None
    local = basis.cut.eigenspace - basis.cut.eigenspace[0]
    if max(len(matrix.nodes) for matrix in matrices) > DENSE_PART:
        zeros = basis.n_nodes - sum(len(matrix.nodes) - 1 for matrix in matrices)
        below = 1 + basis.cut.first - zeros
    else:
        values = [eigvalsh(matrix.dense(1.5 * bound))[:-1] for matrix in matrices]
        spaces = spaces_of(np.sort(np.concatenate(values)), None, EIGENSPACE_TOLERANCE["float64"] * bound)
        below = 1 + int(spaces[-1]) - int(local[-1])
    return replace(basis, cut=replace(basis.cut, eigenspace=below + local))


def _solve_block(matrix: _Matrix, wanted: int, which: str, bound: float) -> tuple[np.ndarray, np.ndarray]:
    """One end of the spectrum by filtered subspace iteration on a block orthogonal to the null vector."""
    size = len(matrix.nodes)
    width = min(size - 1, wanted + max(GUARD, wanted // 4))
    block = np.random.default_rng(0).standard_normal((size, width))
    edge, margin = bound / 2, 0.0
    for _ in range(ROUNDS):
        damped = (edge, bound) if which == "lowest" else (0.0, edge)
        block = _filter(matrix.times, block, *damped)
        block -= np.outer(matrix.null, matrix.null @ block)
        block, _ = np.linalg.qr(block)
        image = matrix.times(block)
        values, rotation = np.linalg.eigh(block.T @ image)
        block, image = block @ rotation, image @ rotation
        keep = slice(0, wanted) if which == "lowest" else slice(width - wanted, width)
        residual = np.linalg.norm(image[:, keep] - block[:, keep] * values[keep], axis=0)
        if residual.max() <= PART_TOLERANCE * bound:
            return values[keep], block[:, keep]
        # An eigenvalue of more copies than the block has columns lies on the edge, where nothing grows: the
        # damped part of the spectrum then begins beyond it.
        last, wanted_last = (values[-1], values[wanted - 1]) if which == "lowest" else (values[0], values[-wanted])
        if abs(last - wanted_last) <= COPIES * bound:
            margin = min(0.5, max(MARGIN, 4 * margin))
        edge = last + margin * (bound - last) if which == "lowest" else last - margin * last
    raise SolverError(
        f"The {wanted} {which} eigencomponents of a part of {size:,} nodes did not settle in {ROUNDS} rounds; "
        "ask for more or fewer of them, or for all."
    )


def _filter(apply, block: np.ndarray, low: float, high: float) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Apply a Chebyshev polynomial of the Laplacian that is small on ``[low, high]`` and grows outside."""
    centre, half = (high + low) / 2, (high - low) / 2
    before, now = block, (apply(block) - centre * block) / half
    for _ in range(DEGREE - 1):
        before, now = now, (2.0 / half) * (apply(now) - centre * now) - before
        scale = np.abs(now).max()
        if scale > 1e100:
            before, now = before / scale, now / scale
    return now


def _assemble(
    stratum: Stratum, pieces: list[Solved], count: int, which: str, bound: float, operator: Operator
) -> tuple[EigenBasis, bool]:
    """The wanted components of all parts in order, and whether the outermost eigenspace was seen whole."""
    singles = np.flatnonzero(stratum.counts == 0)
    values, places, single_places = merge_values(pieces, singles)
    total, n_zero = len(values), len(pieces) + len(singles)
    spaces = spaces_of(values, np.arange(total) < n_zero, EIGENSPACE_TOLERANCE["float64"] * bound)
    if which == "lowest":
        kept = slice(0, min(count, total))
    else:  # the highest nonzero ones, then zeros only when all others are there
        kept = slice(total - min(count, total if total == stratum.n_nodes else total - n_zero), total)
    parts = []
    for (nodes, own, vectors), place in zip(pieces, places, strict=True):
        here = (place >= kept.start) & (place < kept.stop)
        if here.any():
            chosen = np.asfortranarray(vectors[:, here])
            fix_signs(chosen)
            parts.append(Part(nodes, own[here], chosen, place[here] - kept.start))
    alone = (single_places >= kept.start) & (single_places < kept.stop)
    multiplicity = np.bincount(spaces)[spaces]
    first = 0 if which == "lowest" else stratum.n_nodes - (kept.stop - kept.start)
    basis = make_basis(
        stratum,
        operator,
        values[kept],
        parts,
        singles[alone],
        single_places[alone] - kept.start,
        zeros=max(0, min(n_zero, kept.stop) - kept.start),
        cut=Cut(stratum.n_nodes, first, bound, spaces[kept], multiplicity[kept]),
    )
    return basis, _seen_whole(pieces, basis.values, which, bound)


def _seen_whole(pieces: list[Solved], kept: np.ndarray, which: str, bound: float) -> bool:
    """Whether every part shows an eigenvalue past the outermost kept one, so that none of its copies is missing."""
    gap = EIGENSPACE_TOLERANCE["float64"] * bound
    for nodes, values, _ in pieces:
        if len(values) == len(nodes):
            continue  # all of this part was found
        if which == "lowest" and values[-1] <= kept[-1] + gap:
            return False
        if which == "highest" and values[1] >= kept[0] - gap:
            return False
    return True
