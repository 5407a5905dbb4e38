"""Numbers as arguments: one check, one sentence."""

import operator
from typing import Any

import numpy as np

from spectrata.errors import OptionError, argument, shown


def whole_number(value: Any) -> int | None:
    """The value as an int, or None when it is not a whole number; True is not."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def whole(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """A whole number of at least ``least``, and at most ``most``; refused by the argument's name."""
    number = whole_number(value)
    if number is None or number < least or (most is not None and number > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise OptionError(f"{argument(name, value)} must be a whole number {limits}.")
    return number


def positive(value: Any, name: str) -> float:
    """A finite number above 0; refused by the argument's name."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not real or not np.isfinite(value) or value <= 0:
        raise OptionError(f"{name}={shown(value)} must be a positive number.")
    return float(value)


def flag(value: Any, name: str) -> bool:
    """True or False; refused by the argument's name."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name}={shown(value)} must be True or False.")
    return bool(value)


def one_of(value: Any, name: str, allowed: tuple[str | None, ...]) -> None:
    """Refuse what is not one of a few words."""
    if not (value is None or isinstance(value, str)) or value not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed)
        raise OptionError(f"{argument(name, value)} is not one of {listed}.")
