"""The three stages of LAPACK's ``syevd``, called without the interpreter's lock.

scipy exports LAPACK's functions for Cython; ctypes calls them by their addresses and lets other threads run meanwhile,
which ``scipy.linalg.eigh`` does not. Stage by stage, nothing is copied, and a caller that needs no eigenvectors stops
after the first.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from spectrata.errors import SolverError

PREFIX = {"float64": "d", "float32": "s"}


@dataclass(frozen=True, eq=False)
class Tridiagonal:
    """``A = Q T Q^T``: the diagonals of ``T``, and ``Q`` as reflectors.

    Attributes
    ----------
    reflectors : ndarray, shape (n, n)
        In the memory of ``A``, below its diagonal, in Fortran's order.
    factors : ndarray, shape (n - 1,)
        Of the reflectors.
    diagonal, off : ndarray, shapes (n,) and (n - 1,)
    """

    reflectors: np.ndarray
    factors: np.ndarray
    diagonal: np.ndarray
    off: np.ndarray

    @property
    def nbytes(self) -> int:
        return int(self.reflectors.nbytes)


def is_in_range(norm: float, dtype: np.dtype) -> bool:
    """Whether a matrix of this norm needs no scaling before its decomposition."""
    info = np.finfo(dtype)
    smallest = float(np.sqrt(info.tiny / info.eps))
    return smallest < norm < 1.0 / smallest


def tridiagonalise(matrix: np.ndarray) -> Tridiagonal:
    """``A = Q T Q^T`` of a symmetric matrix in Fortran's order, which is overwritten."""
    n = len(matrix)
    real = matrix.dtype
    diagonal, off, factors = np.empty(n, real), np.empty(max(n - 1, 0), real), np.empty(max(n - 1, 0), real)
    _call("sytrd", real, b"L", n, _fortran(matrix), n, diagonal, off, factors)
    return Tridiagonal(matrix, factors, diagonal, off)


def solve_tridiagonal(diagonal: np.ndarray, off: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Ascending eigenvalues ``(n,)``, by divide and conquer; eigenvectors into ``(n, n)`` in Fortran's order."""
    n = len(diagonal)
    values, rest = diagonal.copy(), off.copy()
    _call("stedc", diagonal.dtype, b"I", n, values, rest, _fortran(vectors), n, whole_work=True)
    return values


def apply_reflectors(tri: Tridiagonal, columns: np.ndarray, *, transposed: bool = False) -> None:
    """``Q columns``, or ``Q^T columns``, in the place of columns ``(n, p)`` in Fortran's order."""
    (n, p), real = columns.shape, columns.dtype
    which = b"T" if transposed else b"N"
    _call("ormtr", real, b"L", b"L", which, n, p, tri.reflectors, n, tri.factors, _fortran(columns), n)


def _fortran(matrix: np.ndarray) -> np.ndarray:
    if not matrix.flags.f_contiguous:
        raise ValueError("LAPACK works in place on arrays in Fortran's order")
    return matrix


def _call(name: str, real: np.dtype, *given: bytes | int | np.ndarray, whole_work: bool = False) -> None:
    """Call a function with work space as large as it asks for; all its arguments are addresses."""
    function = _function(PREFIX[real.name] + name, len(given) + (4 if whole_work else 2) + 1)
    info, size, whole_size = ctypes.c_int(0), ctypes.c_int(-1), ctypes.c_int(-1)
    space, whole_space = np.empty(1, real), np.empty(1, np.intc)
    kept = [_held(value) for value in given]
    for _ in range(2):  # the first call only says how much space the second needs
        extra = [space.ctypes.data, ctypes.addressof(size)]
        if whole_work:
            extra += [whole_space.ctypes.data, ctypes.addressof(whole_size)]
        function(*(address for address, _ in kept), *extra, ctypes.addressof(info))
        if info.value:
            raise SolverError(f"LAPACK's {name} stopped with info = {info.value}; please report this graph.")
        if size.value == -1:
            size.value, whole_size.value = int(space[0]), int(whole_space[0])
            space, whole_space = np.empty(size.value, real), np.empty(max(1, whole_size.value), np.intc)


def _held(value: bytes | int | np.ndarray) -> tuple[int, object]:
    """The address of an argument, and what must live as long as it is used."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data, value
    plain = ctypes.c_char(value) if isinstance(value, bytes) else ctypes.c_int(value)
    return ctypes.addressof(plain), plain


@cache
def _function(name: str, arguments: int) -> Callable[..., None]:
    """A LAPACK function of scipy's own library, by its address."""
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    name_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    made = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return made(address_of(capsule, name_of(capsule)))
