"""Errors and warnings, by kind.

Every message is one sentence that says what was wrong, where, and what to do. ``InputError`` and its kinds mean the
caller's data or arguments; the command line answers them with exit code 2, any other ``SpectrataError`` with 1.
A message writes an argument by ``argument``: as ``hops=3`` in Python, and as ``--hops 3`` while a command runs.
"""

import sys
import warnings
from typing import Any


class SpectrataError(Exception):
    """Base class of all errors of spectrata.

    Examples
    --------
    >>> import spectrata as st
    >>> try:
    ...     st.open("nowhere.nc")
    ... except st.SpectrataError as problem:
    ...     print(problem)
    nowhere.nc does not exist; check the name.
    """


class SpectrataWarning(UserWarning):
    """A warning that input was changed or ignored.

    Examples
    --------
    >>> import warnings, spectrata as st
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     strat = st.Stratification(edges=[(0, 1), (1, 2), (2, 2)])
    >>> print(found[0].message)
    Dropped 1 self-loop: a node has hop distance 0 to itself.
    """


class InputError(SpectrataError, ValueError):
    """The data or the arguments are not valid.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> try:
    ...     st.spectra(nx.path_graph(3), [1.0, 2.0])
    ... except st.InputError as problem:
    ...     print(type(problem).__name__)
    NodeCountError
    """


# graphs


class GraphTypeError(InputError, TypeError):
    """The graph is of a kind that is not understood."""


class AmbiguousGraphError(InputError):
    """An array could be an adjacency matrix or a list of edges."""


class DirectedGraphError(InputError):
    """The graph is directed."""


class EmptyGraphError(InputError):
    """The graph has no nodes, a single node, or no edge."""


class EdgeRangeError(InputError):
    """An edge names a row that does not exist."""


# signals


class SignalTypeError(InputError, TypeError):
    """The signal is of a kind or shape that is not understood."""


class SignalValueError(InputError):
    """The signal holds NaN or infinite values, or results of it would be infinite."""


class ZeroVectorError(InputError):
    """A zero vector has no direction, so the angular metric is undefined."""


class NodeCountError(InputError):
    """Graph and signal disagree on the number of nodes."""


# names, files, options


class DuplicateNameError(InputError):
    """A node name occurs twice."""


class UnknownNameError(InputError):
    """A node of the signal is not in the graph, or the other way round."""


class FileFormatError(InputError):
    """A file is missing, damaged, unsafe, or of an unknown format."""


class HopError(InputError):
    """A hop distance that the graph does not have."""


class OptionError(InputError):
    """An argument has a value, or a combination of values, that is not allowed."""


class LineGraphSizeError(InputError):
    """A line graph is larger than ``max_line_nodes``."""


# the machine


class MemoryEstimateError(SpectrataError, MemoryError):
    """The work would need more memory than there is."""


class MissingExtraError(SpectrataError, ImportError):
    """An optional package is not installed."""


class SolverError(SpectrataError, ArithmeticError):
    """A decomposition did not reach its accuracy."""


class ResultError(SpectrataError):
    """A result could not be written, or a file is not a spectrata result."""


_SHOWN = 80  # characters of a name in a message; a name may be megabytes long


def shown(value: object) -> str:
    """A value from the outside as a message shows it: quoted, on one line, and not too long."""
    return shortened(repr(value))


def shortened(text: str, most: int = _SHOWN) -> str:
    """Text on one line: what cannot be printed is escaped, and the middle of what is long left out."""
    half = most // 2
    text = text if len(text) <= most else f"{text[:half]}...{text[-half:]}"
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


# The flags of the command that is running, by the argument they set: how each is written, and whether it takes a value.
FLAGS: dict[str, tuple[str, bool]] = {}
_NO_VALUE = object()


def argument(name: str, value: Any = _NO_VALUE) -> str:
    """An argument as the caller writes it.

    Examples
    --------
    >>> argument("metric", "euclidean"), argument("weights")
    ("metric='euclidean'", 'weights=')
    >>> FLAGS["metric"] = "--metric", True
    >>> argument("metric", "euclidean")
    '--metric euclidean'
    >>> FLAGS.clear()
    """
    if name not in FLAGS:
        return f"{name}=" + ("" if value is _NO_VALUE else shown(value))
    flag, takes_value = FLAGS[name]
    if value is _NO_VALUE or not takes_value:
        return flag if value is not False else f"no {flag}"
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    return f"{flag} {shortened(str(value).lower() if isinstance(value, (bool, type(None))) else str(value))}"


def missing_extra(package: str, extra: str, purpose: str) -> MissingExtraError:
    """The error for an optional package that is needed but not installed."""
    return MissingExtraError(f"{purpose} needs {package}; install it with: pip install 'spectrata[{extra}]'")


def warn(message: str) -> None:
    """Warn at the first caller outside the package, where the user can act on it."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("spectrata."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, SpectrataWarning, stacklevel=level)
