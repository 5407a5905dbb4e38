"""Reading results: merged eigenspaces, chance, comparison, findings; Dataset in, Dataset or table out.

``normalize``, ``drop_zero``
    spectra of unit length; zero components set aside.
``distinguish``, ``correlate``
    groups of spectra told apart; spectra against a score.
``profile``
    all that the command ``profile`` and a report show, computed once.

The more common functions are at the top level of the package.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "correlate": "describe.snapshots",
    "distinguish": "describe.snapshots",
    "drop_zero": "describe.spectrum",
    "normalize": "describe.spectrum",
    "profile": "verbs.profile",
}
__all__ = ["correlate", "distinguish", "drop_zero", "normalize", "profile"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'spectrata.stats' has no attribute {name!r}")
    return getattr(import_module(f"spectrata.stats.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
