"""Scalars of a watched model for TensorBoard and Weights & Biases: three per layer, the rest on request."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import missing_extra
from spectrata.torch.log.tables import table

if TYPE_CHECKING:
    import xarray as xr

THREE = ("off_zero_live", "r", "effective_rank")
KEYS = ("layer", "role", "step", "epoch", "mode", "hop", "status")
PREFIX = "spectrata"
AXIS = f"{PREFIX}/epoch"


def scalars(ds: "xr.Dataset", everything: bool = False) -> Iterator[tuple[str, float, int]]:
    """Tag, value and epoch (or step) of finite numbers of rows; passes that do not train have their mode first."""
    per_layer = [str(name) for name in ds.data_vars if ds[name].dims == ("snapshot",)]
    for row in table(ds).to_dict("records"):
        when = int(row["epoch"] if row["epoch"] >= 0 else row["step"])
        layer = str(row["layer"]) if row["mode"] == "train" else f"{row['mode']}/{row['layer']}"
        for name, value in row.items():
            if name in KEYS or not np.isfinite(value) or not (everything or name in THREE):
                continue
            yield f"{layer}/{name}" if name in per_layer else f"{layer}/K={row['hop']}/{name}", float(value), when


class TensorBoardWriter:
    """Scalars per layer: ``LAYER/off_zero_live``, ``LAYER/r``, ``LAYER/effective_rank``, and ``score/NAME``.

    Tags of passes in evaluation mode begin with ``eval/``. The step is the label given by hand, else the number of
    the pass.

    Parameters
    ----------
    folder : path
    everything : bool
        All columns of the table, those of spectra as ``LAYER/K=1/off_zero`` and so on.

    Examples
    --------
    >>> import networkx as nx, os, tempfile, torch
    >>> from spectrata.torch import Recorder, TensorBoardWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recorder = Recorder(nx.cycle_graph(4), writers=[TensorBoardWriter(folder)])
    ...     recorder.record({"conv1": torch.eye(4)}, epoch=0)
    ...     recorder.close()
    ...     [name.split(".")[0] for name in os.listdir(folder)]
    ['events']
    """

    def __init__(self, folder: str | os.PathLike, everything: bool = False) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise missing_extra("tensorboard", "tensorboard", "Writing for TensorBoard") from None
        self.folder, self.everything = Path(folder), everything
        self._writer = SummaryWriter(str(folder))

    def write(self, ds: "xr.Dataset") -> None:
        """Write the scalars of the next rows."""
        for tag, value, when in scalars(ds, self.everything):
            self._writer.add_scalar(tag, value, when)
        self._writer.flush()

    def write_scores(self, epoch: int, scores: dict[str, float]) -> None:
        """Write scores as ``score/NAME``."""
        for name, value in scores.items():
            self._writer.add_scalar(f"score/{name}", value, epoch)

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


class WandbWriter:
    """Log scalars to Weights & Biases, under ``spectrata/``.

    Results come later than the passes they are of. So they have an axis of their own, ``spectrata/epoch`` (the label
    given by hand, else the number of the pass), and do not touch the run's step.

    Parameters
    ----------
    run : wandb.Run, optional
        By default the active run, or a new one, which :meth:`close` finishes.
    everything : bool
        All columns of the table; by default three numbers per layer.
    **arguments
        Of ``wandb.init``, for a new run: ``project``, ``mode="offline"``, ``dir`` ...

    Examples
    --------
    >>> import networkx as nx, torch
    >>> from unittest.mock import Mock
    >>> from spectrata.torch import Recorder, WandbWriter
    >>> run = Mock()
    >>> recorder = Recorder(nx.cycle_graph(4), writers=[WandbWriter(run)])
    >>> recorder.record({"conv1": torch.eye(4)}, epoch=7)
    >>> recorder.close()
    >>> numbers = run.log.call_args.args[0]
    >>> numbers["spectrata/epoch"], round(numbers["spectrata/conv1/off_zero_live"], 3)
    (7, 0.75)
    """

    def __init__(self, run: Any = None, everything: bool = False, **arguments: Any) -> None:
        self._own, self.run, self.everything = False, run, everything
        if run is None:
            try:
                import wandb
            except ImportError:
                raise missing_extra("wandb", "wandb", "Logging to Weights & Biases") from None
            self._own = wandb.run is None
            self.run = wandb.init(**arguments) if self._own else wandb.run
        self.run.define_metric(AXIS)
        self.run.define_metric(f"{PREFIX}/*", step_metric=AXIS)

    def write(self, ds: "xr.Dataset") -> None:
        """Log the next rows, one call per epoch."""
        rows = sorted(scalars(ds, self.everything), key=lambda row: row[2])
        for when, group in groupby(rows, key=lambda row: row[2]):
            self.run.log({AXIS: when} | {f"{PREFIX}/{tag}": value for tag, value, _ in group})

    def write_scores(self, epoch: int, scores: dict[str, float]) -> None:
        """Log scores as ``spectrata/score/NAME``."""
        self.run.log({AXIS: epoch} | {f"{PREFIX}/score/{name}": value for name, value in scores.items()})

    def close(self) -> None:
        """Finish the run where it was started here."""
        if self._own:
            self.run.finish()
