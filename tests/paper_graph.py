"""The graph of the paper's Task 3 and its start signal s0, nodes A to M in the order of rows."""

import numpy as np


def letters(text):
    """Edges from pairs of letters, A being row 0."""
    return [(ord(x) - ord("A"), ord(y) - ord("A")) for x, y in text.split()]


def start_signal():
    values = dict.fromkeys("AKLM", (0.58, 0.58, 0.58)) | dict.fromkeys("FGJ", (-1, 0, 0))
    values |= dict.fromkeys("EHI", (0, -1, 0)) | {"B": (1, 0, 0), "C": (0, 1, 0), "D": (0, 0, 1)}
    return np.array([values[name] for name in "ABCDEFGHIJKLM"], dtype=float)


EDGES, N = letters("AB AC AD BE BF EF CG CH GH DI DJ IJ EK GL IM"), 13
SIGNAL, METRIC = start_signal(), "angular"
