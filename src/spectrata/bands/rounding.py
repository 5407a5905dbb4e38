"""Bounds on the rounding error of a recurrence, by the precision in which its vectors are stored."""

from typing import Any, NamedTuple

from spectrata.kernels.backend import precision


class Rounding(NamedTuple):
    """Allowances of bounds.

    Attributes
    ----------
    widened : float
        How far rounding may spread an eigenvalue, as a share of the largest one.
    mass : float
        By how much of a column's energy bounds are wider than computed: what rounding can move in sums of weights.
    """

    widened: float
    mass: float


# The theorems give the form of these allowances and not their size, which rests on the runs of benchmarks/bounds.py
# (with --single for blocks in single precision: a hundredth of its allowance was too little there, a tenth enough).
DOUBLE = Rounding(1e-10, 1e-9)
SINGLE = Rounding(1e-5, 1e-5)
# Blocks of this many nodes or more are stored in single precision, where bounds of this width or more are asked for:
# half as much memory is read. Sums are in double precision.
SINGLE_NODES = 2**17
SINGLE_TOL = 1e-3


def storage(n: int, tol: float) -> str:
    """The precision in which the vectors of a recurrence on ``n`` nodes are stored, for bounds within ``tol``."""
    return "float32" if n >= SINGLE_NODES and tol >= SINGLE_TOL else "float64"


def rounding_of(block: Any) -> Rounding:
    """The allowances for a block of vectors."""
    return SINGLE if precision(block) == "float32" else DOUBLE
