"""Where arrays live: numpy on the processor, or torch or cupy on an accelerator.

The backend follows from the signal. Nothing here imports torch or cupy before the caller has, except on an explicit
``device="cuda"``.
"""

import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from spectrata.errors import OptionError, argument, missing_extra

# An array of numpy, torch or cupy. The three share the array API, and no type that says so.
Array = Any


@dataclass(frozen=True)
class Backend:
    """An array library and the device its arrays are on."""

    name: str = "numpy"
    device: str = "cpu"

    def asarray(self, array: Any, dtype: str | None = None) -> Any:
        """A numpy array moved here, its type changed on request; a tensor stays one, with its gradient."""
        if self.name == "torch" and hasattr(array, "detach"):
            return array.to(self.device)
        plain = np.asarray(array, dtype=dtype)
        if self.name == "numpy":
            return plain
        if self.name == "torch":
            import torch

            if self.device == "cpu" and plain.flags.writeable and min(plain.strides, default=0) >= 0:
                return torch.from_numpy(plain)  # the same memory
            return torch.tensor(plain, device=self.device)
        import cupy

        with self.active():
            return cupy.asarray(plain)

    def sparse_rows(self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, n_columns: int) -> Any:
        """A sparse tensor of torch in compressed rows."""
        import torch

        whole, shape = np.result_type(indptr, indices), (len(indptr) - 1, n_columns)
        rows, columns = (self.asarray(array.astype(whole, copy=False)) for array in (indptr, indices))
        entries = self.asarray(values)
        with warnings.catch_warnings():
            # That they are in beta, and that their invariants are not checked: ours keep them by construction.
            warnings.filterwarnings("ignore", "Sparse ")
            return torch.sparse_csr_tensor(rows, columns, entries, shape, device=self.device, check_invariants=False)

    @property
    def has_cupy(self) -> bool:
        """Whether arrays live on an NVIDIA GPU and cupy is there to compile kernels for it."""
        return self.device.startswith("cuda") and ("cupy" in sys.modules or find_spec("cupy") is not None)

    def active(self) -> AbstractContextManager:
        """A block in which cupy allocates and computes on this device."""
        if not self.has_cupy:
            return nullcontext()
        import cupy

        return cupy.cuda.Device(self._number)

    def free_memory(self) -> int | None:
        """Bytes free on an accelerator; None for main memory."""
        if self.device == "cpu":
            return None
        pooled = 0  # what cupy holds for its next arrays
        if "cupy" in sys.modules:
            with self.active():
                pooled = int(sys.modules["cupy"].get_default_memory_pool().free_bytes())
        if self.name == "torch":
            import torch

            return int(torch.cuda.mem_get_info(self.device)[0]) + pooled
        import cupy

        return int(cupy.cuda.Device(self._number).mem_info[0]) + pooled

    @property
    def _number(self) -> int:
        return int(self.device.rpartition(":")[2])


NUMPY = Backend()


def backend_of(signal: Any, device: "str | Backend | None" = None) -> Backend:
    """The backend of a signal, or of ``device`` when one is asked for.

    Tensors in main memory are worked on by numpy, which shares their memory.
    """
    if isinstance(device, Backend):
        return device
    if device is None:
        return _of_signal(signal)
    if device == "cpu":
        return NUMPY
    if not isinstance(device, str) or device.partition(":")[0] != "cuda":
        raise OptionError(f"{argument('device', device)} is not understood; give None, 'cpu', 'cuda' or 'cuda:0'.")
    found = _of_signal(signal)
    if found != NUMPY:
        return Backend(found.name, device if ":" in device else found.device)
    number = device if ":" in device else "cuda:0"
    for name in ("torch", "cupy"):
        if find_spec(name) is not None and import_module(name).cuda.is_available():
            return Backend(name, number)
    raise OptionError(
        f"device={device!r} needs an NVIDIA GPU that torch or cupy can see; leave device out to use the CPU."
    )


def _of_signal(signal: Any) -> Backend:
    library = type(signal).__module__.partition(".")[0]
    if library == "torch" and "torch" in sys.modules and signal.device.type != "cpu":
        return Backend("torch", str(signal.device))
    if library == "cupy":
        return Backend("cupy", f"cuda:{signal.device.id}")
    if library == "cupyx":  # a sparse matrix
        return Backend("cupy", f"cuda:{signal.data.device.id}")
    return NUMPY


def namespace(array: Any) -> ModuleType:
    if isinstance(array, np.ndarray):
        return np
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise missing_extra("array-api-compat", "gpu", "An array of another library than NumPy") from None
    return array_namespace(array)


def to_numpy(array: Any) -> np.ndarray:
    """The array in main memory."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):
        return array.detach().cpu().numpy()
    return array.get()


def like(array: np.ndarray, example: Any) -> Any:
    """A numpy array moved to where ``example`` is."""
    if isinstance(example, np.ndarray):
        return array
    if hasattr(example, "detach"):
        import torch

        return torch.tensor(array, device=example.device)
    return namespace(example).asarray(array)


def precision(array: Any) -> str:
    """``"float32"`` or ``"float64"``."""
    return "float32" if "float32" in str(array.dtype) else "float64"


def matching(array: np.ndarray, example: Any) -> Any:
    """Plain numbers moved to where ``example`` is, in its precision."""
    return like(array.astype(precision(example)), example)
