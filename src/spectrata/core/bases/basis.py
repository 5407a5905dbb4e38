"""The eigencomponents of a stratum: kept part by part, whole or one end of the spectrum."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.kernels.backend import Backend, like, namespace, to_numpy
from spectrata.results.build import Axis

# Neighbouring eigenvalues share an eigenspace when they differ by no more than this share of the largest: below
# that gap, double precision leaves an eigenvector fewer than half of its digits.
EIGENSPACE_TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
SUM_ROUNDING = 4.0  # units of rounding per root of the number of nodes in a sum over nodes or edges


@dataclass(frozen=True, eq=False)
class Part:
    """One connected part of two nodes or more with its own eigenbasis; all but its values lie where the edges do."""

    nodes: np.ndarray  # (c,) rows of the graph
    values: np.ndarray  # (c,) ascending; the indicator's, when there, is first and exactly 0
    vectors: np.ndarray  # (c, c), orthonormal columns
    columns: np.ndarray  # (c,) positions among the stratum's components

    @property
    def nonzero(self) -> slice:
        return slice(int(np.count_nonzero(self.values == 0.0)), None)


@dataclass(frozen=True, eq=False)
class EigenBasis:
    """Eigencomponents of a stratum, ascending, kept part by part: orthonormal ``u_i``, ``phi_i = C^-1/2 u_i``."""

    values: np.ndarray  # (n,) eigenvalues, ascending
    parts: tuple[Part, ...]  # connected parts of two nodes or more
    alone: np.ndarray  # (2, s) nodes without an edge, and the components they are
    zeros: int  # components with eigenvalue 0: the first ones, one per connected part
    n_nodes: int  # that of components too, for a whole basis
    norm: float  # the Laplacian's norm, or a bound on it
    eigenspace: np.ndarray  # (n,) numbered over the whole spectrum
    multiplicity: np.ndarray  # (n,) dimensions of the whole eigenspaces
    first: int = 0  # position of the first component among all of the stratum
    beyond: float = np.inf  # no component that is not here lies on this side of it; NaN where that is not known
    operator: Laplacian = COMBINATORIAL
    root: np.ndarray | None = None  # (n,) square roots of the node measure; None where it is 1
    column_residual: np.ndarray | None = None  # (n,) bounds on norm(L u_i - lam_i u_i), as ``verify`` measured them
    column_gram: np.ndarray | None = None  # (n,) the same of row i of U^T U - I
    dtype: str = "float64"
    by_structure: bool = True  # whether zero component k is the null vector of part k, and no rotation of these
    tolerance: float = EIGENSPACE_TOLERANCE["float64"]
    is_factored: bool = False  # whether eigenvectors of large parts are products, which project and rebuild and no more

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def is_whole(self) -> bool:
        """Whether all components are here."""
        return self.n == self.n_nodes

    @property
    def nbytes(self) -> int:
        return sum(int(part.vectors.nbytes) for part in self.parts)

    @cached_property
    def is_zero(self) -> np.ndarray:
        """Which components have eigenvalue 0, by structure, shape (n,)."""
        return np.arange(self.n) < self.zeros

    @cached_property
    def unresolved(self) -> np.ndarray:
        """Which components off zero have an eigenvalue that cannot be told from 0, shape (n,)."""
        error = self.column_residual
        if error is None:  # not measured: what rounding leaves of the largest eigenvalue of the part
            error = np.zeros(self.n)
            for part in self.parts:
                norm = part.values[-1] if self.is_whole else self.norm
                error[to_numpy(part.columns)] = sum_rounding(len(part.nodes), self.dtype) * norm
        return unresolved_values(self.values, error, self.is_zero, self.eigenspace)

    @property
    def axis(self) -> Axis:
        """The components as a result labels them."""
        places = np.arange(self.first, self.first + self.n)
        return Axis(places, self.values, self.eigenspace, self.multiplicity, self.is_zero, self.is_whole)

    def single(self) -> "EigenBasis":
        """The same basis with its vectors in single precision; eigenvalues and eigenspaces stay as they are."""
        xp = namespace(self.parts[0].vectors) if self.parts else np
        parts = tuple(replace(part, vectors=xp.astype(part.vectors, xp.float32)) for part in self.parts)
        # An eigenvector moves by its rounding, whatever the gaps: residuals in double say how far it leans to others.
        gram = None if self.column_gram is None else self.column_gram + float(np.finfo(np.float32).eps)
        return replace(self, parts=parts, dtype="float32", column_gram=gram)

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
        nodes, columns = like(self.alone, signals)
        out[columns] = signals[nodes]
        for part in self.parts:
            out[part.columns] = part.vectors.T @ signals[part.nodes]
        return out

    def rebuild(self, coefficients: Any) -> Any:
        """``U coefficients``: ``(components, p) -> (nodes, p)``."""
        xp = namespace(coefficients)
        shape = (self.n_nodes, coefficients.shape[1])
        out = xp.zeros(shape, dtype=coefficients.dtype, device=coefficients.device)
        nodes, columns = like(self.alone, coefficients)
        out[nodes] = coefficients[columns]
        for part in self.parts:
            out[part.nodes] = part.vectors @ coefficients[part.columns]
        return out

    def dense(self) -> np.ndarray:
        """``U`` as one matrix in main memory, nodes by components."""
        matrix = np.zeros((self.n_nodes, self.n), dtype=self.dtype)
        matrix[tuple(self.alone)] = 1.0
        for part in self.parts:
            matrix[np.ix_(to_numpy(part.nodes), to_numpy(part.columns))] = to_numpy(part.vectors)
        return matrix


def coefficients_of(basis: EigenBasis) -> np.ndarray:
    """The matrix ``A``, nodes by components, with the transform ``A^T t`` of a signal: ``C phi``, or ``U``."""
    matrix = basis.dense().astype(np.float64)
    return matrix * basis.root[:, None] if basis.operator.weighs_signals and basis.root is not None else matrix


def off_zero_values(values: np.ndarray, norm: Any, dtype: Any = "float64") -> np.ndarray:
    """Eigenvalues off zero, which structure says are above 0: at least the rounding error of the matrix's norm."""
    return np.maximum(values, np.finfo(dtype).eps * norm)


def unresolved_values(values: np.ndarray, error: np.ndarray, is_zero: np.ndarray, spaces: np.ndarray) -> np.ndarray:
    """Which components, ``(n,)`` or ``(g, n)``, share an eigenspace with one off zero within its own error."""
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
