"""Powers of two taken out and put back, so that squares neither overflow nor underflow.

A square leaves double precision for numbers beyond about 1e154, and below 1e-154 it loses
digits or is 0. Dividing by a power of two changes no digit, so whatever is squared is brought
to about 1 first. What cannot be said in double precision in the end is refused.
"""

from typing import Any

import numpy as np

from spectrata.errors import SignalValueError
from spectrata.kernels.backend import like, namespace, to_numpy

# Lengths below this are taken again after scaling: the squares behind them have lost digits.
TINY = {"float64": 1e-140, "float32": 1e-15}
# Numbers in this range may be squared twice, in single precision once, and still be apart.
ORDINARY = (1e-6, 1e6)
# Largest and smallest numbers whose squares, summed and averaged, stay within double precision.
SQUARABLE = (1e-140, 1e140)


def binary_scale(largest: np.ndarray) -> np.ndarray:
    """The power of two just below each number outside ``ORDINARY``; 1 for the others and for 0.

    Examples
    --------
    >>> binary_scale(np.array([0.0, 3.0, 5e8])).tolist()
    [1.0, 1.0, 268435456.0]
    """
    extreme = (largest > ORDINARY[1]) | ((largest > 0) & (largest < ORDINARY[0]))
    # One less than frexp's exponent: 2**1024 itself would overflow.
    return np.ldexp(1.0, np.where(extreme, np.frexp(np.where(extreme, largest, 1.0))[1] - 1, 0))


def squarable(values: np.ndarray, axis: int | tuple[int, ...] = -1) -> tuple[np.ndarray, np.ndarray]:
    """The values over powers of two along ``axis``, and these powers; NaN and infinite values are passed over."""
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    scale = binary_scale(finite.max(axis=axis, keepdims=True, initial=0.0))
    return (values if np.all(scale == 1.0) else values / scale), scale


def lengths(values: Any) -> Any:
    """l2 norms over the last axis, those of tiny vectors with all their digits: ``(..., d) -> (...)``.

    Examples
    --------
    >>> lengths(np.array([[3.0, 4.0], [3e-200, 4e-200]])).tolist()
    [5.0, 5e-200]
    """
    xp = namespace(values)
    if values.shape[-1] == 1:
        return xp.abs(values[..., 0])
    found = xp.sqrt(xp.sum(values * values, axis=-1))
    tiny = found < _tiny(values)
    if bool(xp.any(tiny)):
        found[tiny] = scaled_lengths(values[tiny])
    return found


def scaled_lengths(values: Any) -> Any:
    """l2 norms over the last axis, each vector brought to 1 first: ``(k, d) -> (k,)``."""
    xp = namespace(values)
    largest = xp.max(xp.abs(values), axis=-1)
    unit = values / xp.where(largest > 0, largest, xp.ones_like(largest))[:, None]
    return largest * xp.sqrt(xp.sum(unit * unit, axis=-1))


def raise_tiny(gradient: Any) -> tuple[Any, np.ndarray]:
    """Gradients whose largest is tiny brought to about 1, and the factors taken out: ``(T, m) -> (T, m), (T,)``."""
    xp = namespace(gradient)
    largest = to_numpy(xp.max(gradient, axis=1)).astype(np.float64)
    tiny = (largest > 0) & (largest < np.sqrt(_tiny(gradient)))
    if not tiny.any():
        return gradient, np.ones(len(largest))
    factor = np.ldexp(1.0, np.where(tiny, np.frexp(largest)[1], 0))
    return gradient / like(factor.astype(_precision(gradient)), gradient)[:, None], factor


def put_back(values: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """``values * factor`` in the signal's own units; refused when that leaves double precision."""
    with np.errstate(over="ignore"):
        grown = values * factor
    if np.isinf(grown).any():
        raise SignalValueError(
            f"The signal's values reach about {np.max(factor):.0e}, and its magnitudes leave the range of double "
            "precision; divide the signal by its largest value."
        )
    return grown


def require_squarable(values: np.ndarray, what: str) -> None:
    """Refuse a signal ``(T, n, d)`` whose squares leave double precision, for results that are squares."""
    largest = np.abs(values).max(axis=(1, 2))
    bad = (largest > SQUARABLE[1]) | ((largest > 0) & (largest < SQUARABLE[0]))
    if bad.any():
        raise SignalValueError(
            f"{what} are squares, and those of a signal whose largest value is {largest[bad][0]:.1e} leave the "
            "range of double precision; divide the signal by its largest value."
        )


def _precision(values: Any) -> str:
    return "float32" if "float32" in str(values.dtype) else "float64"


def _tiny(values: Any) -> float:
    return TINY[_precision(values)]
