"""The eigencomponents of a stratum: kept part by part, whole or one end of the spectrum."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.errors import SolverError
from spectrata.kernels.backend import Backend, like, namespace, to_numpy
from spectrata.results.build import Axis

# Neighbouring eigenvalues share an eigenspace when they differ by no more than this share of the largest: below
# that gap, double precision leaves an eigenvector fewer than half of its digits.
EIGENSPACE_TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
SUM_ROUNDING = 4.0  # units of rounding per root of the number of nodes in a sum over nodes or edges
UNIT_TOLERANCE = {"float64": 1e-11, "float32": 1e-4}  # of the squared length of an eigenvector


@dataclass(frozen=True, eq=False)
class Part:
    """One connected part of at least two nodes with its own eigenbasis, or some of it.

    ``vectors[:, j]`` lives on ``nodes`` and is component ``columns[j]`` of the stratum. The values are in main
    memory, the rest where the stratum's edges are.
    """

    nodes: np.ndarray  # (c,) rows of the graph
    values: np.ndarray  # (c,) ascending; the indicator's, when there, is first and exactly 0
    vectors: np.ndarray  # (c, c), orthonormal columns
    columns: np.ndarray  # (c,) positions among the stratum's components

    @property
    def nonzero(self) -> slice:
        """The columns off zero."""
        return slice(int(np.count_nonzero(self.values == 0.0)), None)


@dataclass(frozen=True, eq=False)
class Cut:
    """What a basis of some of the components knows of the whole spectrum."""

    n_nodes: int
    first: int  # position of the first component kept
    norm: float  # a bound on the largest eigenvalue
    eigenspace: np.ndarray  # (kept,) numbered over the whole spectrum
    multiplicity: np.ndarray  # (kept,) dimensions of the whole eigenspaces
    beyond: float = np.nan  # no component that is not kept lies on this side of it; NaN where that is not known


@dataclass(frozen=True, eq=False)
class EigenBasis:
    """All eigencomponents of a stratum, ascending, kept part by part: orthonormal ``u_i``, ``phi_i = C^-1/2 u_i``.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Eigenvalues, ascending.
    parts : tuple of Part
        Connected parts of two nodes or more.
    singletons, singleton_columns : ndarray, shape (s,)
        Nodes without an edge and the components they are.
    zeros : int
        How many components have eigenvalue 0: the first ones, one per connected part.
    operator : Operator
        Which Laplacian.
    root : ndarray, shape (n,), optional
        Square roots of the node measure; None where it is 1.
    residual : float
        Estimate of ``norm(L U - U lam) / (n norm(L))``, Frobenius over 2-norm, of the part where it is largest.
    column_residual, column_gram : ndarray, shape (n,), optional
        Bounds on the norm of ``L u_i - lam_i u_i`` and of row ``i`` of ``U^T U - I``, as ``verify`` measured them.
    cut : Cut, optional
        What a part of the spectrum has to know of the rest; None for a whole basis.
    by_structure : bool
        Whether zero component ``k`` is the null vector of part ``k``, and not some rotation of these.
    is_factored : bool
        Whether eigenvectors of large parts are products of factors, which project and rebuild and no more.
    """

    values: np.ndarray
    parts: tuple[Part, ...]
    singletons: np.ndarray
    singleton_columns: np.ndarray
    zeros: int
    operator: Operator = COMBINATORIAL
    root: np.ndarray | None = None
    residual: float = 0.0
    column_residual: np.ndarray | None = None
    column_gram: np.ndarray | None = None
    dtype: str = "float64"
    cut: Cut | None = None
    by_structure: bool = True
    tolerance: float = EIGENSPACE_TOLERANCE["float64"]
    is_factored: bool = False

    @property
    def n(self) -> int:
        """Number of components."""
        return len(self.values)

    @property
    def n_nodes(self) -> int:
        """Number of nodes; that of components too, for a whole basis."""
        return self.n if self.cut is None else self.cut.n_nodes

    @property
    def first(self) -> int:
        """Position of the first component among all of the stratum."""
        return 0 if self.cut is None else self.cut.first

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
        """Which components have eigenvalue 0, by structure, shape (n,)."""
        return np.arange(self.n) < self.zeros

    @cached_property
    def eigenspace(self) -> np.ndarray:
        """Index of each component's eigenspace over the whole spectrum, shape (n,)."""
        if self.cut is not None:
            return self.cut.eigenspace
        return spaces_of(self.values, self.is_zero, self.tolerance * self.norm)

    @cached_property
    def multiplicity(self) -> np.ndarray:
        """Dimension of each component's eigenspace, shape (n,)."""
        if self.cut is not None:
            return self.cut.multiplicity
        return np.bincount(self.eigenspace)[self.eigenspace]

    @cached_property
    def unresolved(self) -> np.ndarray:
        """Which components off zero have an eigenvalue that cannot be told from 0, shape (n,)."""
        error = self.column_residual
        if error is None:  # not measured: what rounding leaves of the largest eigenvalue of the part
            error = np.zeros(self.n)
            for part in self.parts:
                norm = part.values[-1] if self.cut is None else self.norm
                error[to_numpy(part.columns)] = sum_rounding(len(part.nodes), self.dtype) * norm
        return unresolved_values(self.values, error, self.is_zero, self.eigenspace)

    @property
    def axis(self) -> Axis:
        """The components as a result labels them."""
        return Axis(
            component=np.arange(self.first, self.first + self.n),
            eigenvalue=self.values,
            eigenspace=self.eigenspace,
            multiplicity=self.multiplicity,
            is_zero=self.is_zero,
            complete=self.n == self.n_nodes,
        )

    def single(self) -> "EigenBasis":
        """The same basis with its vectors in single precision; eigenvalues and eigenspaces stay as they are."""
        parts = tuple(replace(part, vectors=_as_single(part.vectors)) for part in self.parts)
        rounding = float(np.finfo(np.float32).eps)
        # An eigenvector moves by its rounding, whatever the gaps: residuals in double say how far it leans to others.
        gram = None if self.column_gram is None else self.column_gram + rounding
        return replace(self, parts=parts, dtype="float32", column_gram=gram)

    def only(self, kept: np.ndarray) -> "EigenBasis":
        """The same basis with some components, given as booleans ``(n,)``; zero components are kept all or none.

        Its components stand in their order, without gaps: positions and multiplicities are those of the whole.
        """
        kept = np.where(self.is_zero, kept[self.is_zero].any(), kept)
        place = np.cumsum(kept) - 1
        parts = []
        for part in self.parts:
            columns = to_numpy(part.columns)
            inside = kept[columns]
            if inside.any():
                vectors, values = part.vectors[:, like(np.flatnonzero(inside), part.vectors)], part.values[inside]
                parts.append(Part(part.nodes, values, vectors, like(place[columns[inside]], part.vectors)))
        alone = kept[self.singleton_columns]
        return replace(
            self,
            values=self.values[kept],
            parts=tuple(parts),
            singletons=self.singletons[alone],
            singleton_columns=place[self.singleton_columns[alone]],
            zeros=self.zeros if kept[: self.zeros].any() else 0,
            cut=Cut(self.n_nodes, self.first, self.norm, self.eigenspace[kept], self.multiplicity[kept]),
            column_residual=None,  # what lies between the components kept is not known any more
            column_gram=None,
        )

    def on(self, backend: Backend) -> "EigenBasis":
        """The same basis where a backend keeps arrays; tensors in main memory share the vectors."""
        moved = [
            replace(part, **{name: backend.asarray(getattr(part, name)) for name in ("nodes", "vectors", "columns")})
            for part in self.parts
        ]
        return replace(self, parts=tuple(moved))

    def project(self, signals: Any) -> Any:
        """``U^T signals``: ``(nodes, p) -> (components, p)``; gradients of torch pass."""
        if getattr(signals, "requires_grad", False):
            from spectrata.kernels import autograd

            return autograd.linear(signals, self.project, self.rebuild)
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


def unit_vectors(basis: EigenBasis) -> np.ndarray:
    """``U``, nodes by components, in double precision; refused where a vector has another length than 1."""
    matrix = basis.dense().astype(np.float64)
    off = np.abs(np.einsum("xi,xi->i", matrix, matrix) - 1.0)
    if not (off <= UNIT_TOLERANCE[basis.dtype]).all():
        raise SolverError(
            f"An eigenvector has the length {np.sqrt(1 + np.max(off)):.6g} instead of 1; compute it again."
        )
    return matrix


def coefficients_of(basis: EigenBasis) -> np.ndarray:
    """The matrix ``A``, nodes by components, with the transform ``A^T t`` of a signal: ``C phi``, or ``U``."""
    matrix = unit_vectors(basis)
    return matrix * basis.root[:, None] if basis.operator.weighs_signals and basis.root is not None else matrix


def off_zero_values(values: np.ndarray, norm: Any, dtype: Any = "float64") -> np.ndarray:
    """Eigenvalues off zero, at least the rounding error of the matrix's norm.

    Structure says that they are above 0; a solver may give any number within rounding of a small one, below 0 too.
    """
    return np.maximum(values, np.finfo(dtype).eps * norm)


def unresolved_values(values: np.ndarray, error: np.ndarray, is_zero: np.ndarray, spaces: np.ndarray) -> np.ndarray:
    """Which components share an eigenspace with an eigenvalue off zero that is at most its own error.

    ``(n,)``, or ``(g, n)`` of stacked graphs. Nothing can be divided by such eigenvalues.
    """
    small = ~is_zero & (values <= error)
    if not small.any():
        return small
    apart = spaces + (np.max(spaces) + 1) * np.arange(values.size // values.shape[-1]).reshape(*values.shape[:-1], 1)
    return np.isin(apart, apart[small])


def sum_rounding(n: int, dtype: Any = "float64") -> float:
    """Relative rounding error of a sum over ``n`` nodes."""
    return SUM_ROUNDING * float(np.sqrt(n) * np.finfo(dtype).eps)


def spaces_of(values: np.ndarray, is_zero: np.ndarray | None, gap: Any) -> np.ndarray:
    """Index of the eigenspace of each ascending eigenvalue along the last axis; zeros are a space of their own."""
    opens = np.diff(values) > gap
    if is_zero is not None:
        opens |= is_zero[..., :-1] != is_zero[..., 1:]
    return np.concatenate([np.zeros_like(values[..., :1], dtype=np.int64), np.cumsum(opens, axis=-1)], axis=-1)


def _as_single(vectors: Any) -> Any:
    xp = namespace(vectors)
    return xp.astype(vectors, xp.float32)
