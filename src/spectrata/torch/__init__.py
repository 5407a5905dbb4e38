"""Watch a model train: measures of every layer, and spectra where asked for.

>>> import spectrata.torch
>>> with spectrata.torch.watch(model, data) as w:  # doctest: +SKIP
...     train(model, data)
>>> w.table()  # doctest: +SKIP

``watch``, ``Watch``
    forward hooks that measure activations, and spectra of them where asked for
``Recorder``
    the same without hooks: record tensors by hand
``SpectrumCallback``
    for Lightning's Trainer
``magnitudes``, ``off_zero``, ``effective_rank``
    spectra and measures that gradients pass through, for a loss
``TensorBoardWriter``, ``WandbWriter``, ``TableWriter``, ``ZarrLog``, ``recover``
    where results go while a run lasts, and how to read a log that a crash left behind
``SpectralViews``
    a transform of PyTorch Geometric: the views of ``st.probe`` as features
``influence``
    how much a layer reads from each hop, beside what it shows there

Only this package imports torch (and ``kernels`` on a GPU); ``import spectrata`` does not.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from spectrata.errors import missing_extra

if find_spec("torch") is None:
    raise missing_extra("torch", "torch", "spectrata.torch")

from spectrata.torch.hop_influence import influence
from spectrata.torch.log.scalars import TensorBoardWriter, WandbWriter
from spectrata.torch.log.tables import TableWriter
from spectrata.torch.log.zarr import ZarrLog, recover
from spectrata.torch.losses import effective_rank, magnitudes, off_zero
from spectrata.torch.watching.layers import find_layers
from spectrata.torch.watching.overhead import Overhead
from spectrata.torch.watching.record import Recorder
from spectrata.torch.watching.watch import Watch, watch

if TYPE_CHECKING:
    from spectrata.torch.lightning import SpectrumCallback
    from spectrata.torch.views import SpectralViews

__all__ = [
    "Overhead",
    "Recorder",
    "SpectralViews",
    "SpectrumCallback",
    "TableWriter",
    "TensorBoardWriter",
    "WandbWriter",
    "Watch",
    "ZarrLog",
    "effective_rank",
    "find_layers",
    "influence",
    "magnitudes",
    "off_zero",
    "recover",
    "watch",
]
# They need Lightning, and PyTorch Geometric.
_LATER = {"SpectrumCallback": "lightning", "SpectralViews": "views"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'spectrata.torch' has no attribute {name!r}")
    return getattr(import_module(f"spectrata.torch.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
