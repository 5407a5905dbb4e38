"""The columns of a signal: read as one vector per node, or as one signal each."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spectrata.errors import DuplicateNameError, OptionError, UnknownNameError, argument, shown
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import Signal

COLUMNS = ("auto", "joint", "separate")


def by_column(signal: Signal, columns: str, metric: str = "auto") -> Signal:
    """The signal as it is ("joint"), or its columns as snapshots of one number ("separate"), time by time."""
    one_of(columns, "columns", COLUMNS)
    if columns == "auto":
        columns = "joint" if metric == "angular" else signal.reading
    if columns == "joint":
        return signal
    if metric not in ("auto", "euclidean"):
        words = f"{argument('columns', 'separate')} reads every column as single numbers, whose metric is euclidean"
        raise OptionError(f"{words}; leave out {argument('metric', metric)}, or use {argument('columns', 'joint')}.")
    snapshots, n, d = signal.values.shape
    labels = signal.columns if signal.columns is not None and len(signal.columns) == d else tuple(range(d))
    # A view where there is one snapshot: tables of many columns are not copied.
    values = np.moveaxis(signal.values, 2, 1).reshape(snapshots * d, n, 1)
    return replace(signal, values=values, columns=None, separate=labels)


def pick_columns(signal: Signal, names: Sequence[str]) -> Signal:
    """Some columns of a signal by name, or by number where they have no names; the whole table stays beside them."""
    numbers = [str(name) for name in (range(signal.values.shape[2]) if signal.columns is None else signal.columns)]
    known = [*numbers, *(str(name) for name, _ in signal.texts)]
    for at, name in enumerate(names):
        if name not in known:
            near = [shown(one) for one in difflib.get_close_matches(name, known, 8, 0.0)]
            more = f" and {len(known) - len(near)} others" if len(known) > len(near) else ""
            raise UnknownNameError(f"The signal has no column {shown(name)}; it has {', '.join(near)}{more}.")
        if name in names[:at]:
            raise DuplicateNameError(f"The column {shown(name)} is asked for twice; name it once.")
    places = [numbers.index(name) for name in names if name in numbers]
    kept = None if signal.columns is None else tuple(signal.columns[place] for place in places)
    texts = tuple(one for one in signal.texts if str(one[0]) in names)
    values = np.ascontiguousarray(signal.values[:, :, places])
    return replace(signal, values=values, columns=kept, texts=texts, table=signal)
