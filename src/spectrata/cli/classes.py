"""Class labels on the command line, where no code chooses them: what ``--missing`` leaves out, and what to warn of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectrata.errors import FLAGS, argument, shown, warn
from spectrata.inputs.labels import Labels, coded
from spectrata.inputs.readers.files import MISSING, is_number, number
from spectrata.inputs.signals import Signal

MANY = 20  # classes above which labels may be names


def warn_of_classes(texts: Iterable[tuple[Any, Labels]]) -> None:
    """Warn of labels of some columns that may not be meant as classes: marks for no value, and names."""
    for name, own in texts:
        where = "" if name is None else f" in column {shown(name)}"
        counts = np.bincount(own.codes[own.codes >= 0], minlength=len(own.classes)).tolist()
        for label, count in zip(own.classes, counts, strict=True):
            if label in MISSING:
                nodes = f"{count:,} node{' has' if count == 1 else 's have'} the label {shown(label)}{where}"
                how = "an empty cell"
                if "missing" in FLAGS and label != "None":
                    how = f"{argument('missing', label)} (or {how})"
                warn(f"{nodes}, a class like the others; {how} means no value.")
        if len(counts) > max(MANY, sum(counts) / 2):
            words = f"{sum(counts):,} nodes have {len(counts):,} different labels{where}"
            warn(f"{words}; labels are classes that nodes share, and these may be names.")


def leave_out(signal: Signal, missing: Sequence[str]) -> Signal:
    """The signal with no value where it is one of ``missing``; warns of labels that may not be meant as classes."""
    values, texts = signal.values, signal.texts
    if missing:
        numbers = [number(word) for word in missing if is_number(word)]
        values = np.where(np.isin(values, numbers), np.nan, values)
        cells = ([None if code < 0 else own.classes[code] for code in own.codes.tolist()] for _, own in texts)
        texts = tuple((name, coded(some, missing)) for (name, _), some in zip(texts, cells, strict=True))
    warn_of_classes(texts)
    return replace(signal, values=values, texts=texts)


def of_labels(labels: Mapping[Any, Labels]) -> Signal:
    """Labels by the names of columns, as a signal without numbers."""
    n = len(next(iter(labels.values())).codes)
    return Signal(np.empty((1, n, 0)), None, texts=tuple(labels.items()))
