"""Run a model in evaluation mode, and restore its state."""

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch


@contextmanager
def evaluation_mode(model: torch.nn.Module, uncached: bool = False) -> Iterator[None]:
    """Evaluation mode; modes, buffers, random states and cached adjacencies are as before afterwards.

    ``uncached``: layers with ``cached=True`` forget the graph that they cached, because another one follows.
    """
    training = {module: module.training for module in model.modules()}
    caching = [module for module in model.modules() if getattr(module, "cached", None) is True]
    held = [{name: one for name, one in vars(module).items() if name.startswith("_cached")} for module in caching]
    buffers = [
        (module, name, buffer, _version(buffer), buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=_devices(model)):
        try:
            model.eval()
            for module, values in zip(caching, held, strict=True) if uncached else ():
                vars(module).update(dict.fromkeys(values), cached=False)
            yield
        finally:
            for module, mode in training.items():
                module.training = mode
            for module, values in zip(caching, held, strict=True):
                vars(module).update(values, cached=True)
            for module, name, buffer, version, before in buffers:
                module._buffers[name] = buffer
                if version is None or _version(buffer) != version:
                    with torch.no_grad():
                        buffer.copy_(before)
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002


def uncompiled() -> AbstractContextManager[Any]:
    """Run compiled modules as they were written, so that their hooks are called."""
    return torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else nullcontext()


def _version(tensor: torch.Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version


def _devices(model: torch.nn.Module) -> list[Any]:
    """The accelerators a model lives on, whose random states a pass may move."""
    found = {tensor.device for tensor in (*model.parameters(), *model.buffers()) if tensor.device.type == "cuda"}
    return sorted(found, key=str)
