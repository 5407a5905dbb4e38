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
    Give it a run, or give the run itself: ``watch(model, data, log=wandb.init(project="gcn"))``. Here a stand-in shows
    what a run gets.

    >>> import networkx as nx, torch
    >>> from unittest.mock import Mock
    >>> from spectrata.torch import SpectrumProbe, WandbWriter
    >>> run = Mock()
    >>> probe = SpectrumProbe(nx.cycle_graph(4), hops=1, writers=[WandbWriter(run)])
    >>> probe.record({"conv1": torch.eye(4)}, epoch=7)
    >>> probe.close()
    >>> numbers = run.log.call_args.args[0]
    >>> numbers["spectrata/epoch"], round(numbers["spectrata/conv1/K=1/off_zero"], 3)
    (7, 0.75)
    """

    def __init__(self, run: Any = None, **arguments: Any) -> None:
        self._own, self.run = False, run
        if run is None:
            self._own, self.run = _active_run(arguments)
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


def _active_run(arguments: dict[str, Any]) -> tuple[bool, Any]:
    """The active run, or a new one; whether it is new."""
    try:
        import wandb
    except ImportError:
        raise missing_extra("wandb", "wandb", "Logging to Weights & Biases") from None
    own = wandb.run is None
    return own, wandb.init(**arguments) if own else wandb.run
