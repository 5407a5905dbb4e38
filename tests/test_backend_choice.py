"""Where work is done: the signal's device or the one asked for, with stand-ins for a GPU."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from spectrata.errors import OptionError
from spectrata.kernels import backend
from spectrata.kernels.backend import NUMPY, Backend, backend_of

X = np.zeros((4, 2))


def of(module, **facts):
    """An object of a class of another library."""
    return type("Array", (SimpleNamespace,), {"__module__": module})(**facts)


@pytest.fixture
def libraries(monkeypatch):
    """Say whether torch and cupy are installed, and whether they see a GPU."""

    def install(**seen):
        monkeypatch.setattr(backend, "find_spec", lambda name: name if seen.get(name) is not None else None)
        for name, works in seen.items():
            if works is not None:
                module = ModuleType(name)
                module.cuda = SimpleNamespace(is_available=lambda works=works: works)
                monkeypatch.setitem(sys.modules, name, module)

    return install


def test_signals_in_main_memory_are_worked_on_by_numpy():
    assert backend_of(X) == backend_of(X, "cpu") == backend_of([1.0, 2.0]) == NUMPY
    other = Backend("torch", "cuda:1")
    assert backend_of(X, other) is other


def test_arrays_on_a_gpu_stay_there_and_another_one_can_be_asked_for():
    device = SimpleNamespace(id=2)
    assert backend_of(of("cupy._core.core", device=device)) == Backend("cupy", "cuda:2")
    assert backend_of(of("cupyx.scipy.sparse", data=SimpleNamespace(device=device))) == Backend("cupy", "cuda:2")
    assert backend_of(of("cupy", device=device), "cuda") == Backend("cupy", "cuda:2")
    assert backend_of(of("cupy", device=device), "cuda:0") == Backend("cupy", "cuda:0")


@pytest.mark.needs("torch")
def test_a_tensor_off_the_processor_stays_on_its_device():
    import torch

    assert backend_of(torch.empty(2, device="meta")) == Backend("torch", "meta")
    assert backend_of(torch.empty(2)) == NUMPY


def test_a_gpu_is_taken_by_torch_before_cupy(libraries):
    libraries(torch=True, cupy=True)
    assert backend_of(X, "cuda") == Backend("torch", "cuda:0")
    assert backend_of(X, "cuda:3") == Backend("torch", "cuda:3")
    libraries(torch=False, cupy=True)
    assert backend_of(X, "cuda") == Backend("cupy", "cuda:0")
    libraries(torch=None, cupy=True)
    assert backend_of(X, "cuda") == Backend("cupy", "cuda:0")


@pytest.mark.parametrize("seen", [{"torch": False, "cupy": False}, {"torch": None, "cupy": None}])
def test_without_a_gpu_the_device_is_refused(libraries, seen):
    libraries(**seen)
    with pytest.raises(OptionError, match="device='cuda' needs an NVIDIA GPU that torch or cupy can see"):
        backend_of(X, "cuda")


@pytest.mark.parametrize("device", [0, "gpu", "CUDA", "mps:0"])
def test_other_devices_are_not_understood(device):
    with pytest.raises(OptionError, match="is not understood; give None, 'cpu', 'cuda' or 'cuda:0'"):
        backend_of(X, device)


def test_free_memory_is_that_of_the_device(monkeypatch):
    assert NUMPY.free_memory() is None
    cupy = ModuleType("cupy")

    class Device:
        def __init__(self, number):
            self.mem_info = (1000 * (number + 1), 5000)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

    cupy.cuda = SimpleNamespace(Device=Device)
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 7)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert Backend("cupy", "cuda:1").free_memory() == 2007
