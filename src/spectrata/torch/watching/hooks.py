"""Hooks on modules, and copies of the tensors that they see."""

import contextlib
import weakref
from collections.abc import Callable
from typing import Any

import torch


class Hook:
    """A hook that belongs to the model as watched, not to copies of it.

    ``copy.deepcopy(model)`` and ``torch.save(model)`` take hooks along. A copy gets a callable of the standard library
    that does nothing, so that it is not recorded, and loads where spectrata is not installed.
    """

    def __init__(self, owner: Any, act: Callable[..., None], *first: Any) -> None:
        self._owner, self._act, self._first = weakref.ref(owner), act, first

    def __call__(self, *given: Any) -> None:
        """Do what the owner does with this call; nothing while a compiler traces the model."""
        if torch.compiler.is_compiling():
            return
        owner = self._owner()
        if owner is not None:
            self._act(owner, *self._first, *given)

    def __reduce__(self) -> tuple:
        return getattr, (contextlib.nullcontext(), "__exit__")

    def __deepcopy__(self, memory: Any) -> Any:
        return contextlib.nullcontext().__exit__


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy where the tensor is, in main memory if a GPU is full; dense, and in a precision that numpy has."""
    source = tensor.detach()
    source = source if source.layout == torch.strided else source.to_dense()
    source = source.float() if source.dtype == torch.bfloat16 else source
    try:
        return source.clone()
    except torch.cuda.OutOfMemoryError:
        return source.cpu()


class Seen:
    """A tensor as it was when seen: held, so that its memory is not used again, with its version."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.version = None if tensor.is_inference() else tensor._version

    def is_still(self, other: torch.Tensor) -> bool:
        """Whether another tensor is the same numbers in the same place; False where that cannot be known."""
        one = self.tensor
        if self.version is None or other.is_inference() or other.shape != one.shape or other._version != self.version:
            return False
        if one.layout != torch.strided or other.layout != torch.strided:
            return one is other
        return one.data_ptr() == other.data_ptr() and one.stride() == other.stride()


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether this is a stand-in of vmap or grad, which has no numbers of its own."""
    check = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
    return bool(check(tensor)) if check is not None else False
