"""Other libraries, which compute some of the same numbers. ``make oracles`` installs them and runs these tests."""

import importlib
import os
import warnings

import numpy as np
import pytest


def outside(name):
    """Import a library; skip the file where it is not installed, except in the leg that installs all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a library warns of itself while it loads
        if os.environ.get("SPECTRATA_ORACLES"):
            return importlib.import_module(name)
        return pytest.importorskip(name, reason=f"{name.split('.')[0]} is not installed here; make oracles installs it")


def by_space(values, energies):
    """Energies summed over repeated eigenvalues, which two libraries may split differently."""
    opens = np.append(True, np.diff(values) > 1e-6 * values[-1])
    return np.bincount(np.cumsum(opens) - 1, energies)
