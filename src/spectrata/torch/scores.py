"""Scores of a training run, such as accuracy and loss, beside its spectra."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.errors import OptionError
from spectrata.results.atomic_io import cannot_write
from spectrata.results.schema import FIELDS, ROW_DIMS
from spectrata.torch.transform import MEASURES

if TYPE_CHECKING:
    import xarray as xr

FILE = "scores.jsonl"
MARK = "score"  # attribute of a variable that is a score
TAKEN = {*FIELDS, *ROW_DIMS, *MEASURES, "mode", "role", "width", "off_zero", "band_share", "band_spread", "n_graphs"}


class Scores:
    """Numbers by epoch and name; with a file, each is on disk as soon as it is given.

    Parameters
    ----------
    path : path, optional
        A file of JSON lines; what it holds is read.

    Examples
    --------
    >>> scores = Scores()
    >>> _ = scores.add(3, {"acc": 0.8})
    >>> scores.by_epoch
    {3: {'acc': 0.8}}
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.by_epoch: dict[int, dict[str, float]] = {}
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    row = json.loads(line)
                    numbers = {str(name): float(value) for name, value in row["scores"].items()}
                    self._put(int(row["epoch"]), numbers)
                except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                    continue  # the last line of a killed run may be half a line

    @property
    def names(self) -> list[str]:
        """All names, in the order in which they came."""
        return list(dict.fromkeys(name for scores in self.by_epoch.values() for name in scores))

    def add(self, epoch: int, scores: Mapping[str, Any]) -> dict[str, float]:
        """Take the scores of an epoch; later ones of the same name replace earlier ones."""
        numbers = {name: _number(name, value) for name, value in scores.items()}
        self._put(epoch, numbers)
        if self.path is not None and numbers:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"epoch": epoch, "scores": numbers}) + "\n")
            except OSError as problem:
                raise cannot_write(self.path, problem, "scores are kept in memory") from problem
        return numbers

    def _put(self, epoch: int, numbers: dict[str, float]) -> None:
        self.by_epoch.setdefault(epoch, {}).update(numbers)

    def read(self, ds: "xr.Dataset") -> None:
        """Take the scores that a log holds; newer ones stay."""
        for name in [name for name in ds.data_vars if MARK in ds[name].attrs]:
            for epoch, value in zip(ds["epoch"].values.tolist(), ds[name].values.tolist(), strict=True):
                if math.isfinite(value):
                    self.by_epoch.setdefault(int(epoch), {}).setdefault(str(name), float(value))

    def beside(self, ds: "xr.Dataset") -> "xr.Dataset":
        """A result with one variable per name, along the dimension of its epochs."""
        epochs = ds["epoch"]
        for name in self.names:
            values = [self.by_epoch.get(int(epoch), {}).get(name, math.nan) for epoch in epochs.values.tolist()]
            ds = ds.assign({name: (epochs.dims, values, {"long_name": f"{name}, as given to step()", MARK: 1})})
        return ds


def _number(name: str, value: Any) -> float:
    if name in TAKEN:
        raise OptionError(f"A score cannot be called {name!r}, which names something in every result; choose another.")
    try:
        return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        raise OptionError(f"The score {name}={value!r} is not one number.") from None
