"""Powers of two taken out of extreme signals at the input, and multiplied back into results.

A square leaves double precision for numbers beyond about 1e154, and below 1e-154 it loses digits or is 0. Dividing by
a power of two changes no digit, so that a signal of extreme size is brought to about 1 where it enters, and its
magnitudes to its own units where the result is built.
"""

from typing import Any

import numpy as np

from spectrata.errors import SignalValueError
from spectrata.kernels.backend import namespace, to_numpy

# Numbers in this range may be squared twice, in single precision once, and still be apart.
ORDINARY = (1e-6, 1e6)
# Exponents of ten within which powers, summed and averaged, stay in double precision.
RANGE = 280
# Values that spread by no more than this share of the largest differ by the rounding of the input.
LAST_DIGITS = 4 * float(np.finfo(float).eps)


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
    """The values over powers of two along ``axis``, and these powers; NaN and infinite values are ignored."""
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    scale = binary_scale(finite.max(axis=axis, keepdims=True, initial=0.0))
    return (values if np.all(scale == 1.0) else values / scale), scale


def rescale(values: np.ndarray, factor: Any) -> np.ndarray:
    """``values * factor`` in the signal's own units; refused when that leaves double precision."""
    with np.errstate(over="ignore"):
        grown = values * factor
    if np.isinf(grown).any():
        raise SignalValueError(
            f"The signal's values reach about {np.max(factor):.0e}, and its magnitudes leave the range of double "
            "precision; divide the signal by its largest value."
        )
    return grown


def largest_values(values: Any) -> np.ndarray:
    """The largest absolute value of each snapshot ``(T, n, d)``, in main memory: ``(T,)``."""
    xp = namespace(values)
    return to_numpy(xp.max(xp.abs(values), axis=(1, 2)))


def require_squarable(values: Any, what: str, power: int = 2) -> None:
    """Refuse a signal ``(T, n, d)`` whose powers leave double precision, for results that need them."""
    largest = largest_values(values)
    bad = ~representable(largest, power)
    if bad.any():
        raise SignalValueError(
            f"{what} are squares, and those of a signal whose largest value is {largest[bad][0]:.1e} leave the "
            "range of double precision; divide the signal by its largest value."
        )


def representable(largest: np.ndarray, power: int = 2) -> np.ndarray:
    """Whether powers of these numbers stay within double precision; 0 does."""
    limit = 10.0 ** (RANGE / power)
    return (largest == 0) | ((largest > 1 / limit) & (largest < limit))
