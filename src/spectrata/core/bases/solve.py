"""Eigenbases of strata: one dense solve per connected part.

Solving part by part makes the zero eigenvectors the parts' indicators, lets
singletons cost nothing, and keeps the work at the sum of cubes of the parts.

Tolerances, all documented here:

* an eigenvalue is zero exactly when it belongs to a part's indicator; there is
  one per connected part, by structure and not by size;
* neighbouring nonzero eigenvalues share an eigenspace when they differ by no more
  than ``EIGENSPACE_TOLERANCE`` times the largest eigenvalue: below that gap,
  double precision leaves an eigenvector fewer than half of its digits;
* the residual ``norm(L U - U lam)`` must stay below ``RESIDUAL_TOLERANCE n norm(L)``;
* in single precision, on request, both tolerances are wider.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core.strata import Stratum
from spectrata.errors import SolverError
from spectrata.kernels import fast
from spectrata.kernels.backend import like, namespace, to_numpy

EIGENSPACE_TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
JACOBI = (
    512  # up to here torch may rotate single precision by Jacobi's algorithm, which stops two digits early
)
RESIDUAL_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}
SIGN_TOLERANCE = 1e-8
# Parts up to this size are solved in one batch per size: the call, not the arithmetic, is their cost.
BATCHED_PART = 64


@dataclass(frozen=True, eq=False)
class Part:
    """One connected part of at least two nodes with its own eigenbasis, or some of it.

    ``vectors[:, j]`` lives on ``nodes`` and is component ``columns[j]`` of the stratum.
    The values are in main memory, the rest where the stratum's edges are.
    """

    nodes: np.ndarray  # (c,) rows of the graph
    values: np.ndarray  # (c,) ascending; the indicator's, when there, is first and exactly 0
    vectors: np.ndarray  # (c, c), orthonormal columns
    columns: np.ndarray  # (c,) positions among the stratum's components

    @property
    def nonzero(self) -> slice:
        """The columns but the indicator's."""
        return slice(int(len(self.values) > 0 and self.values[0] == 0.0), None)


@dataclass(frozen=True, eq=False)
class Cut:
    """What a basis of some of the components knows of the whole spectrum."""

    n_nodes: int
    zeros: int  # zero components among those kept
    norm: float  # a bound on the largest eigenvalue
    multiplicity: np.ndarray  # (kept,) dimensions of the whole eigenspaces


@dataclass(frozen=True, eq=False)
class EigenBasis:
    """All eigencomponents of a stratum, ascending, kept part by part.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Eigenvalues, ascending.
    parts : tuple of Part
        Connected parts of two nodes or more.
    singletons, singleton_columns : ndarray, shape (s,)
        Nodes without an edge and the components they are.
    residual : float
        Estimate of ``norm(L U - U lam) / (n norm(L))``, Frobenius over 2-norm.
    cut : Cut, optional
        What a part of the spectrum has to know of the rest; None for a whole basis.
    """

    values: np.ndarray
    parts: tuple[Part, ...]
    singletons: np.ndarray
    singleton_columns: np.ndarray
    residual: float = 0.0
    dtype: str = "float64"
    cut: Cut | None = None

    @property
    def n(self) -> int:
        """Number of components."""
        return len(self.values)

    @property
    def n_nodes(self) -> int:
        """Number of nodes; that of components too, for a whole basis."""
        return self.n if self.cut is None else self.cut.n_nodes

    @property
    def norm(self) -> float:
        """The Laplacian's norm, or a bound on it."""
        return float(self.values[-1]) if self.cut is None else self.cut.norm

    @property
    def nbytes(self) -> int:
        """Memory held by the eigenvectors."""
        return sum(int(part.vectors.nbytes) for part in self.parts)

    @cached_property
    def is_zero(self) -> np.ndarray:
        """Which components are the indicator of a connected part, shape (n,)."""
        zeros = len(self.parts) + len(self.singletons) if self.cut is None else self.cut.zeros
        return np.arange(self.n) < zeros

    @cached_property
    def eigenspace(self) -> np.ndarray:
        """Index of each component's eigenspace, ascending from 0, shape (n,)."""
        return spaces_of(self.values, self.is_zero, EIGENSPACE_TOLERANCE[self.dtype] * self.norm)

    @cached_property
    def multiplicity(self) -> np.ndarray:
        """Dimension of each component's eigenspace, shape (n,)."""
        if self.cut is not None:
            return self.cut.multiplicity
        return np.bincount(self.eigenspace)[self.eigenspace]

    def project(self, signals: Any) -> Any:
        """``U^T signals``: ``(nodes, p) -> (components, p)``."""
        out = namespace(signals).empty_like(signals[: self.n])
        out[like(self.singleton_columns, signals)] = signals[like(self.singletons, signals)]
        for part in self.parts:
            out[part.columns] = part.vectors.T @ signals[part.nodes]
        return out

    def rebuild(self, coefficients: Any) -> Any:
        """``U coefficients``: ``(components, p) -> (nodes, p)``."""
        xp = namespace(coefficients)
        shape = (self.n_nodes, coefficients.shape[1])
        out = xp.zeros(shape, dtype=coefficients.dtype, device=coefficients.device)
        out[like(self.singletons, coefficients)] = coefficients[like(self.singleton_columns, coefficients)]
        for part in self.parts:
            out[part.nodes] = part.vectors @ coefficients[part.columns]
        return out

    def dense(self) -> np.ndarray:
        """``U`` as one matrix in main memory, nodes by components."""
        matrix = np.zeros((self.n_nodes, self.n), dtype=self.dtype)
        matrix[self.singletons, self.singleton_columns] = 1.0
        for part in self.parts:
            matrix[np.ix_(to_numpy(part.nodes), to_numpy(part.columns))] = to_numpy(part.vectors)
        return matrix


def spaces_of(values: np.ndarray, is_zero: np.ndarray, gap: float) -> np.ndarray:
    """Index of the eigenspace of each ascending eigenvalue; zeros are a space of their own."""
    opens = np.diff(values) > gap
    opens |= is_zero[:-1] != is_zero[1:]
    return np.concatenate([[0], np.cumsum(opens)])


def decompose(stratum: Stratum, laplacian: str = "combinatorial", dtype: str = "float64") -> EigenBasis:
    """Solve ``L = U diag(lam) U^T`` for the Laplacian of a stratum, part by part.

    Parameters
    ----------
    stratum : Stratum
    laplacian : {"combinatorial", "normalized"}
        ``D - A``, or ``I - D^-1/2 A D^-1/2`` on the nodes that have edges.
    dtype : {"float64", "float32"}

    Examples
    --------
    >>> path = Stratum(1, 3, np.array([[0, 1], [1, 2]]))
    >>> decompose(path).values.round(6).tolist()
    [0.0, 1.0, 3.0]
    """
    solved = sorted(_solve_parts(stratum, laplacian, dtype), key=lambda item: item[0][0])
    singletons = np.flatnonzero(stratum.degrees == 0)
    values, columns, singleton_columns = _merge_values(solved, singletons)
    parts = tuple(
        Part(like(nodes, stratum.edges), part_values, vectors, like(position, stratum.edges))
        for (nodes, part_values, vectors), position in zip(solved, columns, strict=True)
    )
    return checked(EigenBasis(values, parts, singletons, singleton_columns, dtype=dtype), stratum, laplacian)


def checked(basis: EigenBasis, stratum: Stratum, laplacian: str) -> EigenBasis:
    """The basis with its residual, which must be small."""
    residual, limit = residual_of(stratum, basis, laplacian), RESIDUAL_TOLERANCE[basis.dtype]
    if not residual <= limit:
        raise SolverError(
            f"The eigenbasis at hop {stratum.hop} has residual {residual:.1e} (relative, at most "
            f"{limit:.0e} is accepted); please report this graph."
        )
    return replace(basis, residual=residual)


Solved = tuple[np.ndarray, np.ndarray, Any]  # nodes and values in main memory, vectors where the edges are


def _solve_parts(stratum: Stratum, laplacian: str, dtype: str) -> Iterator[Solved]:
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
            stack = _laplacians(int(size), slot[used], edges[used], len(chosen), laplacian, dtype)
            values, vectors = _solve_stack(*stack)
            host = to_numpy(values).astype(float)
            for row, part in enumerate(chosen):
                # One memory layout for all, so that equal bases give equal bits wherever they come from.
                own = np.asfortranarray(vectors[row]) if isinstance(vectors, np.ndarray) else vectors[row]
                yield order[starts[part] : starts[part + 1]], host[row], own


def _laplacians(
    size: int, slot: Any, edges: Any, count: int, laplacian: str, dtype: str
) -> tuple[Any, Any, float]:
    """Laplacians of ``count`` parts of one size, their unit null vectors, and a shift past the spectrum."""
    xp = namespace(edges)
    stack = xp.zeros((count, size, size), dtype=getattr(xp, dtype), device=edges.device)
    x, y = edges[:, 0], edges[:, 1]
    stack[slot, x, y] = -1.0
    stack[slot, y, x] = -1.0
    degrees = -xp.sum(stack, axis=2)
    if laplacian == "normalized":
        roots = xp.sqrt(degrees)
        stack /= roots[:, :, None]
        stack /= roots[:, None, :]
        diagonal, null, shift = xp.ones_like(degrees), roots, 3.0
    else:
        diagonal, null = degrees, xp.ones_like(degrees)
        shift = 3.0 * float(xp.max(degrees))  # no eigenvalue exceeds twice the largest degree
    rows = like(np.arange(size), edges)
    stack[:, rows, rows] = diagonal
    return stack, null / xp.sqrt(xp.sum(null * null, axis=1))[:, None], shift


def _solve_stack(stack: Any, null: Any, shift: float) -> tuple[Any, Any]:
    """Ascending eigenpairs of stacked Laplacians ``(p, c, c)`` whose null vectors are known.

    The null vector is moved to the top of the spectrum before the solve, where
    nothing is close to it: every other eigenvector comes out orthogonal to it to
    machine precision, however small the smallest nonzero eigenvalue.
    """
    xp = namespace(stack)
    for matrix, vector in zip(stack, null, strict=True):
        matrix += (shift * vector)[:, None] * vector[None, :]
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


def _merge_values(
    solved: list[Solved], singletons: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Ascending eigenvalues of all parts, and where each part's and singleton's went.

    Ties keep the order of the parts' first nodes, zeros included, so that the
    k-th zero component is the k-th part.
    """
    values = np.concatenate([part_values for _, part_values, _ in solved] + [np.zeros(len(singletons))])
    first = np.concatenate([np.full(len(nodes), nodes[0]) for nodes, _, _ in solved] + [singletons])
    order = np.lexsort((first, values))
    position = np.empty(len(values), dtype=np.int64)
    position[order] = np.arange(len(values))
    bounds = np.cumsum([len(nodes) for nodes, _, _ in solved], dtype=int)
    *columns, singleton_columns = np.split(position, bounds)
    return values[order], columns, singleton_columns


def residual_of(stratum: Stratum, basis: EigenBasis, laplacian: str, probes: int = 4) -> float:
    """Estimate ``norm(L U - U lam, F) / (n norm(L, 2))`` from random combinations of the columns.

    For Gaussian ``z`` the mean of ``norm((L U - U lam) z)^2`` is the squared
    Frobenius norm, at the cost of a few matrix-vector products instead of ``n``.
    """
    if basis.norm == 0.0:
        return 0.0
    z = np.random.default_rng(0).standard_normal((basis.n, probes))
    mixed = basis.rebuild(like(z.astype(basis.dtype), stratum.edges))
    scaled = basis.rebuild(like((basis.values[:, None] * z).astype(basis.dtype), stratum.edges))
    difference = to_numpy(_apply_laplacian(stratum, mixed, laplacian) - scaled)
    return float(np.sqrt(np.mean(np.sum(difference**2, axis=0))) / (basis.n_nodes * basis.norm))


def _apply_laplacian(stratum: Stratum, signals: Any, laplacian: str) -> Any:
    """``L signals`` from the edges alone: ``(n, p) -> (n, p)``."""
    x, y = stratum.edges[:, 0], stratum.edges[:, 1]
    if laplacian == "combinatorial":
        return fast.divergence(stratum.edges, (signals[x] - signals[y]).T, stratum.n_nodes).T
    roots = like(np.sqrt(np.maximum(stratum.degrees, 1)), signals)[:, None]
    scaled = signals / roots
    return fast.divergence(stratum.edges, (scaled[x] - scaled[y]).T, stratum.n_nodes).T / roots
