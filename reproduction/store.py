"""Finished units of work on disk, so that a killed run goes on where it was.

A unit is what one graph, or one run of the learning, gives: a few arrays in one ``.npz`` file. Its folder is named
after a digest of everything the unit depends on, so a run with other settings never meets it, and a run with more
graphs finds the ones that are already there. Files appear whole or not at all.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spectrata._version import __version__
from spectrata.inputs.readers.files import open_npz
from spectrata.results.atomic_io import tidy, written_whole

FORMAT = 3  # raise it when a unit's arrays change their meaning
NAMES = "__names__"  # of the arrays of a unit
Arrays = dict[str, np.ndarray]


def write_text(path: Path, text: str) -> None:
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Store:
    folder: Path

    @classmethod
    def at(cls, out: str | Path, name: str, depends: Mapping[str, object]) -> "Store":
        text = json.dumps({"version": __version__, "format": FORMAT, **depends}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return cls(Path(out) / "units" / f"{name}-{digest}")

    def path(self, unit: str) -> Path:
        return self.folder / f"{unit}.npz"

    def save(self, unit: str, arrays: Mapping[str, np.ndarray]) -> None:
        with written_whole(self.path(unit)) as beside:
            np.savez(beside, **{NAMES: np.array(sorted(arrays), dtype=str)}, **arrays)  # type: ignore[arg-type]

    def load(self, unit: str) -> Arrays | None:
        """A finished unit, or None when there is none that can be read."""
        tidy(self.path(unit))
        try:
            with open_npz(self.path(unit)) as held:
                names = held.labels(NAMES)  # a damaged list of an archive's files can be short and look whole
                return {str(name): held[str(name)] for name in names}
        except Exception:  # a damaged archive raises almost anything
            return None
