"""Scalars of a watched model in a run of Weights & Biases."""

from itertools import groupby
from typing import TYPE_CHECKING, Any

from spectrata.errors import missing_extra
from spectrata.torch.writers import scalars

if TYPE_CHECKING:
    import xarray as xr

PREFIX = "spectrata"
AXIS = f"{PREFIX}/epoch"


class WandbWriter:
    """Log scalars to Weights & Biases, under ``spectrata/``.

    Results come in batches, later than the passes they are of. So they have an axis of their own, ``spectrata/epoch``
    (the label given by hand, else the number of the pass), and do not touch the run's step.

    Parameters
    ----------
    run : wandb.Run, optional
        By default the active run, or a new one, which :meth:`close` finishes.
    **arguments
        Of ``wandb.init``, for a new run: ``project``, ``mode="offline"``, ``dir`` ...

    Examples
    --------
    >>> import networkx as nx, torch, wandb  # doctest: +SKIP
    >>> from spectrata.torch import WandbWriter, watch
    >>> run = wandb.init(project="gcn", mode="offline")  # doctest: +SKIP
    >>> with watch(model, data, every=10, log=WandbWriter(run)) as w:  # doctest: +SKIP
    ...     train(model, data)
    """

    def __init__(self, run: Any = None, **arguments: Any) -> None:
        try:
            import wandb
        except ImportError:
            raise missing_extra("wandb", "wandb", "Logging to Weights & Biases") from None
        self._own = run is None and wandb.run is None
        self.run = run or wandb.run or wandb.init(**arguments)
        self.run.define_metric(AXIS)
        self.run.define_metric(f"{PREFIX}/*", step_metric=AXIS)

    def write(self, ds: "xr.Dataset") -> None:
        """Log the next rows, one call per epoch."""
        rows = sorted(scalars(ds), key=lambda row: row[2])
        for when, group in groupby(rows, key=lambda row: row[2]):
            self.run.log({AXIS: when} | {f"{PREFIX}/{tag}": value for tag, value, _ in group})

    def write_scores(self, epoch: int, scores: dict[str, float]) -> None:
        """Log scores as ``spectrata/score/NAME``."""
        self.run.log({AXIS: epoch} | {f"{PREFIX}/score/{name}": value for name, value in scores.items()})

    def close(self) -> None:
        """Finish the run where it was started here."""
        if self._own:
            self.run.finish()
