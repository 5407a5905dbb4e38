"""Watch a model train: spectra of every layer, every epoch.

>>> import spectrata.torch
>>> with spectrata.torch.watch(model, data) as w:  # doctest: +SKIP
...     train(model, data)
>>> w.table()  # doctest: +SKIP

``watch``, ``Watch``
    forward hooks that copy activations, and spectra of the copies in batches
``SpectrumProbe``
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

if TYPE_CHECKING:
    from spectrata.torch.differentiable import effective_rank, magnitudes, off_zero
    from spectrata.torch.hop_influence import influence
    from spectrata.torch.layers import find_layers
    from spectrata.torch.lightning import SpectrumCallback
    from spectrata.torch.overhead import Overhead
    from spectrata.torch.probe import SpectrumProbe
    from spectrata.torch.views import SpectralViews
    from spectrata.torch.wandb_log import WandbWriter
    from spectrata.torch.watching import Watch, watch
    from spectrata.torch.writers import TableWriter, TensorBoardWriter
    from spectrata.torch.zarr_log import ZarrLog, recover

_HOME = {
    "Overhead": "overhead",
    "SpectralViews": "views",
    "SpectrumCallback": "lightning",
    "SpectrumProbe": "probe",
    "TableWriter": "writers",
    "TensorBoardWriter": "writers",
    "WandbWriter": "wandb_log",
    "Watch": "watching",
    "ZarrLog": "zarr_log",
    "effective_rank": "differentiable",
    "find_layers": "layers",
    "influence": "hop_influence",
    "magnitudes": "differentiable",
    "off_zero": "differentiable",
    "recover": "zarr_log",
    "watch": "watching",
}

__all__ = [
    "Overhead",
    "SpectralViews",
    "SpectrumCallback",
    "SpectrumProbe",
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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'spectrata.torch' has no attribute {name!r}")
    value = getattr(import_module(f"spectrata.torch.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
