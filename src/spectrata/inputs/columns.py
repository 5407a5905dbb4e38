"""The columns of a signal: read as one vector per node, or as one signal each."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spectrata.errors import DuplicateNameError, OptionError, UnknownNameError, shown
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Signal

COLUMNS = ("auto", "joint", "separate")


def by_column(signal: Signal, columns: str, metric: str = "auto") -> Signal:
    """The signal as ``columns`` asks for: as it is, or every column as a signal of one number per node.

    Parameters
    ----------
    signal : Signal
    columns : {"auto", "joint", "separate"}
        "joint": the d columns are one vector per node. "separate": d scalar signals; the rows of the result are
        snapshots times columns, the columns inside. "auto": ``signal.reading``, and "joint" for directions.
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
    if columns == "auto":
        columns = "joint" if metric == "angular" else signal.reading
    if columns == "joint":
        return signal
    if metric not in ("auto", "euclidean"):
        raise OptionError(
            f"columns='separate' reads every column as single numbers, whose metric is euclidean; leave out "
            f"metric={metric!r}, or use columns='joint'."
        )
    snapshots, n, d = signal.values.shape
    labels = signal.columns if signal.columns is not None and len(signal.columns) == d else tuple(range(d))
    # A view where there is one snapshot: tables of many columns are not copied.
    values = np.moveaxis(signal.values, 2, 1).reshape(snapshots * d, n, 1)
    return replace(signal, values=values, columns=None, separate=labels)


def pick_columns(signal: Signal, names: Sequence[str]) -> Signal:
    """Some columns of a signal by name, or by number where they have no names.

    Examples
    --------
    >>> table = Signal(np.array([[[1.0, 10.0], [2.0, 20.0]]]), None, columns=("left", "right"))
    >>> pick_columns(table, ["right"]).values.ravel().tolist()
    [10.0, 20.0]
    """
    width = signal.values.shape[2]
    known = [str(name) for name in (range(width) if signal.columns is None else signal.columns)]
    for at, name in enumerate(names):
        if name not in known:
            raise UnknownNameError(f"The signal has no column {shown(name)}; it has {_likely(name, known)}.")
        if name in names[:at]:
            raise DuplicateNameError(f"The column {shown(name)} is asked for twice; name it once.")
    places = [known.index(name) for name in names]
    kept = None if signal.columns is None else tuple(signal.columns[place] for place in places)
    return replace(signal, values=np.ascontiguousarray(signal.values[:, :, places]), columns=kept)


def _likely(name: str, known: Sequence[str]) -> str:
    """All names where they are few, else how many there are and those most like the one given."""
    if len(known) <= 8:
        return ", ".join(shown(one) for one in known)
    import difflib

    near = difflib.get_close_matches(name, known, 3, 0.0)
    return f"{len(known)} others, such as {', '.join(shown(one) for one in near)}"
