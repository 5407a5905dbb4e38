"""The columns of a signal: read as one vector per node, or as one signal each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spectrata.errors import DuplicateNameError, OptionError, shown
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Signal

COLUMNS = ("joint", "separate")


def by_column(signal: Signal, columns: str, metric: str = "auto") -> Signal:
    """The signal as ``columns`` asks for: as it is, or every column as a signal of one number per node.

    Parameters
    ----------
    signal : Signal
    columns : {"joint", "separate"}
        "joint": the d columns are one vector per node. "separate": d scalar signals; the rows of the result are
        snapshots times columns, the columns inside.
    metric : str
        Single numbers have the euclidean metric, so "separate" refuses another.

    Returns
    -------
    Signal

    Examples
    --------
    >>> both = by_column(Signal(np.array([[[1.0, 10.0], [2.0, 20.0]]]), None), "separate")
    >>> both.values[..., 0].tolist(), both.separate
    ([[1.0, 2.0], [10.0, 20.0]], (0, 1))
    """
    one_of(columns, "columns", COLUMNS)
    if columns == "joint":
        return signal
    if metric not in ("auto", "euclidean"):
        raise OptionError(
            f"columns='separate' reads every column as single numbers, whose metric is euclidean; leave out "
            f"metric={metric!r}, or use columns='joint'."
        )
    snapshots, n, d = signal.values.shape
    labels = signal.columns if signal.columns is not None and len(signal.columns) == d else tuple(range(d))
    _refuse_twice(labels)
    # A view where there is one snapshot: tables of many columns are not copied.
    values = np.moveaxis(signal.values, 2, 1).reshape(snapshots * d, n, 1)
    return Signal(values, signal.snapshots, signal.kind, separate=labels, rounding=signal.rounding)


def _refuse_twice(labels: Sequence[Any]) -> None:
    if len(set(labels)) == len(labels):
        return
    twice = next(label for i, label in enumerate(labels) if label in labels[:i])
    raise DuplicateNameError(
        f"The signal has the column {shown(twice)} twice; columns='separate' needs names that differ: rename one, or "
        "give a plain array."
    )
