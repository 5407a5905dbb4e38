"""Some of the eigencomponents: the lowest or the highest of a stratum, multiplicities right.

Each connected part is solved by itself and its zero component is known, so that none
is lost on a disconnected graph. Small parts are solved densely; large sparse ones by
subspace iteration with a Chebyshev filter on a block of vectors, which finds an
eigenvalue as often as it occurs, where a Krylov space from one vector sees it once.
"""

from dataclasses import dataclass

import numpy as np

from spectrata.core.bases.solve import (
    EIGENSPACE_TOLERANCE,
    Cut,
    EigenBasis,
    Part,
    checked,
    fix_signs,
    spaces_of,
)
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError

DENSE_PART = 1500  # up to here a dense solve of the wanted end of the spectrum is quicker
GUARD = 12  # eigenvalues beyond the wanted ones: they complete the last eigenspace and speed up the iteration
DEGREE = 24  # of the Chebyshev filter
ROUNDS = 300
COPIES, MARGIN = 1e-7, 1e-3  # eigenvalues this close are copies of one, and widen the margin, from this on
PART_TOLERANCE = 1e-11  # residual of one vector, relative to the bound on the largest eigenvalue


@dataclass(frozen=True, eq=False)
class _Piece:
    """The wanted end of one part's spectrum, without its zero component."""

    nodes: np.ndarray
    values: np.ndarray  # ascending
    vectors: np.ndarray  # (c, k)


def partial_basis(stratum: Stratum, count: int, which: str) -> EigenBasis:
    """The ``count`` lowest or highest components of a stratum's combinatorial Laplacian.

    Examples
    --------
    >>> ring = Stratum(1, 6, np.array([[0, 1], [0, 5], [1, 2], [2, 3], [3, 4], [4, 5]]))
    >>> basis = partial_basis(ring, 2, "lowest")
    >>> basis.values.round(6).tolist(), basis.multiplicity.tolist()
    ([0.0, 1.0], [1, 2])
    """
    n, bound = stratum.n_nodes, 2.0 * float(stratum.degrees.max())
    extra = GUARD
    while True:
        pieces = _solve_pieces(stratum, count + extra, which, bound)
        basis, complete = _assemble(stratum, pieces, min(count, n), which, bound)
        if complete:
            return checked(basis, stratum, "combinatorial")
        extra *= 2  # an eigenspace goes on past everything found


def _solve_pieces(stratum: Stratum, count: int, which: str, bound: float) -> list[_Piece]:
    from scipy.sparse import coo_array

    n = stratum.n_nodes
    ones = np.ones(stratum.n_edges)
    upper = coo_array((ones, stratum.edges.T), shape=(n, n)).tocsr()
    adjacency = upper + upper.T
    order = np.argsort(stratum.parts, kind="stable")
    pieces = []
    for nodes in np.split(order, np.cumsum(np.bincount(stratum.parts))[:-1]):
        if len(nodes) > 1:
            links = adjacency[nodes][:, nodes]
            degrees = stratum.degrees[nodes].astype(float)
            wanted = min(count, len(nodes) - 1)
            dense = len(nodes) <= DENSE_PART or wanted > len(nodes) // 4
            solve = _solve_dense if dense else _solve_block
            pieces.append(_Piece(nodes, *solve(links, degrees, wanted, which, bound)))
    return pieces


def _solve_dense(links, degrees, wanted: int, which: str, bound: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """One end of the spectrum by LAPACK, the constant vector moved past the top as in ``eigen``."""
    from scipy.linalg import eigh

    size = len(degrees)
    matrix = np.diag(degrees) - links.toarray() + 1.5 * bound / size
    ends = [0, wanted - 1] if which == "lowest" else [size - 1 - wanted, size - 2]
    return eigh(matrix, subset_by_index=ends, driver="evr", overwrite_a=True, check_finite=False)


def _solve_block(links, degrees, wanted: int, which: str, bound: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """One end of the spectrum by filtered subspace iteration on a block orthogonal to the constant vector."""
    size = len(degrees)
    width = min(size - 1, wanted + max(GUARD, wanted // 4))

    def apply(block: np.ndarray) -> np.ndarray:
        return degrees[:, None] * block - links @ block

    block = np.random.default_rng(0).standard_normal((size, width))
    edge, margin = bound / 2, 0.0
    for _ in range(ROUNDS):
        damped = (edge, bound) if which == "lowest" else (0.0, edge)
        block = _filter(apply, block, *damped)
        block -= block.mean(axis=0)
        block, _ = np.linalg.qr(block)
        image = apply(block)
        values, rotation = np.linalg.eigh(block.T @ image)
        block, image = block @ rotation, image @ rotation
        keep = slice(0, wanted) if which == "lowest" else slice(width - wanted, width)
        residual = np.linalg.norm(image[:, keep] - block[:, keep] * values[keep], axis=0)
        if residual.max() <= PART_TOLERANCE * bound:
            return values[keep], block[:, keep]
        # An eigenvalue of more copies than the block has columns lies on the edge, where nothing grows: the
        # damped part of the spectrum then begins beyond it.
        last, wanted_last = (
            (values[-1], values[wanted - 1]) if which == "lowest" else (values[0], values[-wanted])
        )
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
    stratum: Stratum, pieces: list[_Piece], count: int, which: str, bound: float
) -> tuple[EigenBasis, bool]:
    """The wanted components of all parts in order, and whether the outermost eigenspace was seen whole."""
    singles = np.flatnonzero(stratum.degrees == 0)
    n_zero = len(pieces) + len(singles)
    # Zeros first, in the order of the parts' first nodes, singletons among them.
    owners = [*range(len(pieces)), *[-1 - index for index in range(len(singles))]]
    owners.sort(key=lambda owner: pieces[owner].nodes[0] if owner >= 0 else singles[-1 - owner])
    source = [(0.0, owner, -1) for owner in owners]
    rest = [(v, index, j) for index, piece in enumerate(pieces) for j, v in enumerate(piece.values)]
    source += sorted(rest, key=lambda item: (item[0], pieces[item[1]].nodes[0]))
    values = np.array([value for value, _, _ in source])
    is_zero = np.arange(len(source)) < n_zero
    spaces = spaces_of(values, is_zero, EIGENSPACE_TOLERANCE["float64"] * bound)
    multiplicity = np.bincount(spaces)[spaces]
    if which == "lowest":
        kept = np.arange(min(count, len(source)))
    else:
        have = len(source) - n_zero  # the highest nonzero ones, then zeros only when all others are there
        kept = np.arange(
            len(source) - min(count, have if have < stratum.n_nodes - n_zero else len(source)), len(source)
        )
    complete = _seen_whole(stratum, pieces, values, kept, which, bound)
    cut = Cut(stratum.n_nodes, int(is_zero[kept].sum()), bound, multiplicity[kept])
    columns = {int(index): position for position, index in enumerate(kept)}
    parts, single_nodes, single_columns = [], [], []
    chosen: dict[int, list[tuple[int, int]]] = {}
    for index, (_, owner, j) in enumerate(source):
        if index in columns and owner < 0:
            single_nodes.append(int(singles[-1 - owner]))
            single_columns.append(columns[index])
        elif index in columns:
            chosen.setdefault(owner, []).append((j, columns[index]))
    for owner, picked in sorted(chosen.items(), key=lambda item: pieces[item[0]].nodes[0]):
        piece = pieces[owner]
        vectors = np.empty((len(piece.nodes), len(picked)), order="F")
        for position, (j, _) in enumerate(picked):
            vectors[:, position] = len(piece.nodes) ** -0.5 if j < 0 else piece.vectors[:, j]
        fix_signs(vectors)
        own = np.array([0.0 if j < 0 else piece.values[j] for j, _ in picked])
        parts.append(Part(piece.nodes, own, vectors, np.array([column for _, column in picked])))
    basis = EigenBasis(
        values[kept],
        tuple(parts),
        np.array(single_nodes, dtype=np.int64),
        np.array(single_columns, dtype=np.int64),
        cut=cut,
    )
    return basis, complete


def _seen_whole(
    stratum: Stratum, pieces: list[_Piece], values: np.ndarray, kept: np.ndarray, which: str, bound: float
) -> bool:
    """Whether every part shows an eigenvalue past the outermost kept one, so that none of its copies is missing."""
    gap = EIGENSPACE_TOLERANCE["float64"] * bound
    for piece in pieces:
        if len(piece.values) == len(piece.nodes) - 1:
            continue  # all of this part was found
        if which == "lowest" and piece.values[-1] <= values[kept[-1]] + gap:
            return False
        if which == "highest" and piece.values[0] >= values[kept[0]] - gap:
            return False
    return True
