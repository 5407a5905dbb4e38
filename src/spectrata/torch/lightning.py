"""A callback for Lightning's Trainer."""

from typing import Any

import torch

from spectrata.errors import missing_extra

try:
    from lightning.pytorch import Callback, LightningModule
except ImportError:
    try:
        from pytorch_lightning import Callback, LightningModule  # type: ignore[assignment]
    except ImportError:
        raise missing_extra("lightning", "lightning", "SpectrumCallback") from None

from spectrata.torch.watching.layers import resolve_layers
from spectrata.torch.watching.record import TAKEN
from spectrata.torch.watching.watch import Watch, watch


class SpectrumCallback(Callback):
    """Watch a LightningModule while a Trainer fits it.

    A pass is one batch of the loop (``training_step`` or ``validation_step``), whether or not the step calls the
    module's own ``forward``; labels are the Trainer's epochs, and what the module logs are its scores. Evaluations
    repeat the last call of the module; where it has no ``forward`` of its own, of the part that holds the layers.

    Parameters
    ----------
    data : graph-like or None
        The graph; None to read it from every batch.
    **arguments
        As for :func:`spectrata.torch.watch`: ``layers``, ``every``, ``evaluate``, ``control``, ``log`` ...

    Attributes
    ----------
    watch : Watch or None
        From the start of ``fit`` on: ``callback.watch.dataset``, ``table()``, ``over_layers()``, ``overhead``.

    Examples
    --------
    >>> import networkx as nx
    >>> from spectrata.torch import SpectrumCallback
    >>> callback = SpectrumCallback(nx.cycle_graph(4), evaluate=5)
    >>> callback.watch is None, callback.arguments
    (True, {'evaluate': 5})
    """

    def __init__(self, data: Any = None, **arguments: Any) -> None:
        super().__init__()
        self.data, self.arguments = data, arguments
        self.watch: Watch | None = None
        self._open: Watch | None = None  # the same, while it lasts

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Put the hooks on."""
        model = pl_module
        if self.arguments.get("evaluate") or not self.arguments.get("mode"):
            model = _called(pl_module, self.arguments.get("layers"))
        self.watch = self._open = watch(model, self.data, **self.arguments)
        self.watch.listener.by_hand = True  # the Trainer's sanity check is no pass
        self.watch.start()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Begin a pass."""
        self._begin(True, batch)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End a pass."""
        if self._open is not None:
            self._open.listener.end()

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Begin a pass in evaluation mode; the Trainer's sanity check does not count."""
        if not trainer.sanity_checking:
            self._begin(False, batch)

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """End a pass."""
        self.on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Label the passes of the epoch, take the metrics that were logged, and evaluate where that is due."""
        if self._open is not None:
            logged = {name: value for name, value in trainer.callback_metrics.items() if name not in TAKEN}
            self._open.step(int(trainer.current_epoch), **{name: float(value) for name, value in logged.items()})

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Take the hooks off and compute what is left."""
        self._stop(quiet=False)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Take the hooks off; the exception goes on."""
        self._stop(quiet=True)

    def _begin(self, training: bool, batch: Any) -> None:
        if self._open is not None:
            self._open.listener.begin(training, (batch,))

    def _stop(self, quiet: bool) -> None:
        one, self._open = self._open, None
        if one is not None:
            one.stop(quiet=quiet)


def _called(module: torch.nn.Module, layers: Any) -> torch.nn.Module:
    """The model of a training step: the module, or the part of one without its own forward that holds all layers."""
    if type(module).forward is not LightningModule.forward:
        return module
    watched = {id(one) for one in resolve_layers(module, layers).values()}
    for child in module.children():
        if watched <= {id(one) for one in child.modules()} and not isinstance(child, torch.nn.ModuleList):
            return child
    return module
