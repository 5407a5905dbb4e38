"""A callback for Lightning's Trainer."""

from typing import Any

from spectrata.errors import missing_extra

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback  # type: ignore[assignment]
    except ImportError:
        raise missing_extra("lightning", "lightning", "SpectrumCallback") from None

from spectrata.torch.watching import Watch


class SpectrumCallback(Callback):
    """Watch a LightningModule while a Trainer fits it.

    A pass is one batch of the loop (``training_step`` or ``validation_step``), whether or not the step calls the
    module's own ``forward``; labels are the Trainer's epochs.

    Parameters
    ----------
    data : graph-like or None
        The graph; None to read it from every batch.
    **arguments
        As for :func:`spectrata.torch.watch`: ``layers``, ``every``, ``algorithms``, ``hops``, ``log`` ...

    Attributes
    ----------
    watch : Watch or None
        From the start of ``fit`` on: ``callback.watch.dataset``, ``table()``, ``report(path)``, ``overhead``.

    Examples
    --------
    Given to the Trainer as ``Trainer(callbacks=[callback])``, it watches from the start of ``fit`` on.

    >>> import networkx as nx
    >>> from spectrata.torch import SpectrumCallback
    >>> callback = SpectrumCallback(nx.cycle_graph(4), every=10, hops=2)
    >>> callback.watch is None, callback.arguments
    (True, {'every': 10, 'hops': 2})
    """

    def __init__(self, data: Any = None, **arguments: Any) -> None:
        super().__init__()
        self.data, self.arguments = data, arguments
        self.watch: Watch | None = None
        self._open = False

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Put the hooks on."""
        self.watch = Watch(pl_module, self.data, **self.arguments)
        self.watch.recorder.by_hand = True  # the Trainer's sanity check is no pass
        self.watch.start()
        self._open = True

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Label what follows."""
        if self.watch is not None:
            self.watch.step(epoch=int(trainer.current_epoch))

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Begin a pass."""
        self._begin(True, batch)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End a pass."""
        self._end()

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
        self._end()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Take the hooks off and compute what is left."""
        self._stop(quiet=False)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The same after an exception, which goes on."""
        self._stop(quiet=True)

    def _begin(self, training: bool, batch: Any) -> None:
        if self.watch is not None and self._open:
            self.watch.recorder.begin(training, (batch,))

    def _end(self) -> None:
        if self.watch is not None and self._open:
            self.watch.recorder.end()

    def _stop(self, quiet: bool) -> None:
        if self.watch is not None and self._open:
            self._open = False
            self.watch.stop(quiet=quiet)
