"""What a probe has computed so far: in memory, or in a log, where memory stays flat however long a run is."""

from typing import TYPE_CHECKING

import numpy as np

from spectrata.errors import ResultError
from spectrata.torch.shape import join, relabel

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.torch.zarr_log import ZarrLog

RECENT = 32  # pieces that are joined to one: each has its own copy of what all share
PAGE = 1024  # steps that share a whole number, one bit each


class Steps:
    """A set of whole numbers, close to each other: a bit each.

    Examples
    --------
    >>> steps = Steps()
    >>> for step in range(0, 5000, 10):
    ...     steps.add(step)
    >>> 4990 in steps, 4991 in steps, 0 in steps
    (True, False, True)
    """

    def __init__(self) -> None:
        self._pages: dict[int, int] = {}

    def add(self, step: int) -> None:
        """Put a number in."""
        page, bit = divmod(step, PAGE)
        self._pages[page] = self._pages.get(page, 0) | (1 << bit)

    def __contains__(self, step: int) -> bool:
        page, bit = divmod(step, PAGE)
        return bool(self._pages.get(page, 0) >> bit & 1)


class Results:
    """Rows of (pass, layer), in the order in which they came.

    Parameters
    ----------
    log : ZarrLog, optional
        Where the rows are; in memory without one.
    """

    def __init__(self, log: "ZarrLog | None" = None) -> None:
        self.log = log
        self._layers: dict[str, Steps] = {}
        self._steps = Steps()
        self._pieces: list[xr.Dataset] = []  # each smaller than the one before
        self._recent: list[xr.Dataset] = []

    def has(self, layer: str, step: int) -> bool:
        """Whether a row is here."""
        return layer in self._layers and step in self._layers[layer]

    def has_step(self, step: int) -> bool:
        """Whether any row of a pass is here."""
        return step in self._steps

    def know(self, layers: "list[str]", steps: "list[int]") -> None:
        """Count rows as here."""
        for layer, step in zip(layers, steps, strict=True):
            self._layers.setdefault(layer, Steps()).add(step)
            self._steps.add(step)

    def add(self, ds: "xr.Dataset") -> None:
        """Take the next rows; a log has them already."""
        self.know([str(name) for name in ds["layer"].values], ds["step"].values.tolist())
        if self.log is not None:
            return
        self._recent.append(ds)
        if len(self._recent) < RECENT:
            return
        self._pieces.append(join(self._recent))
        self._recent = []
        while len(self._pieces) > 1 and _rows(self._pieces[-1]) >= _rows(self._pieces[-2]):
            self._pieces[-2:] = [join(self._pieces[-2:])]

    def relabel(self, steps: "list[int]", epoch: int) -> None:
        """Label rows in memory whose label came after them; the newest are looked at first."""
        left = set(steps)
        for pieces in (self._recent, self._pieces):
            for index in reversed(range(len(pieces))):
                held = pieces[index]["step"].values
                here = np.isin(held, list(left))
                if here.any():
                    pieces[index] = relabel(pieces[index], here, epoch)
                    left -= set(held[here].tolist())
                if not left:
                    return

    def view(self) -> "xr.Dataset":
        """All rows; those of a log are read when used."""
        if self.log is not None and self.log.exists():
            return self.log.lazy()
        if not self._pieces and not self._recent:
            raise ResultError("Nothing was recorded; run a forward pass of the watched model first.")
        self._pieces, self._recent = [join([*self._pieces, *self._recent])], []
        return self._pieces[0]

    def all(self) -> "xr.Dataset":
        """All rows, in memory."""
        return self.view().load()


def _rows(ds: "xr.Dataset") -> int:
    return int(ds.sizes["snapshot"])
