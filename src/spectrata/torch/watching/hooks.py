"""Hooks on modules, and copies of tensors on their way to main memory."""

import contextlib
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import torch


class Hook:
    """A hook that belongs to the model as watched, not to copies of it.

    ``copy.deepcopy(model)`` and ``torch.save(model)`` take hooks along. A copy gets a callable of the standard library
    that does nothing, so that it is not recorded, and loads where spectrata is not installed.
    """

    def __init__(self, owner: Any, act: Callable[..., None]) -> None:
        self._owner, self._act = weakref.ref(owner), act

    def __call__(self, *given: Any) -> None:
        """Do what the owner does with this call; nothing while a compiler traces the model."""
        if torch.compiler.is_compiling():
            return
        owner = self._owner()
        if owner is not None:
            self._act(owner, *given)

    def __reduce__(self) -> tuple:
        return getattr, (contextlib.nullcontext(), "__exit__")

    def __deepcopy__(self, memory: Any) -> Any:
        return contextlib.nullcontext().__exit__


class HostCopy:
    """A tensor on its way to main memory; ``numpy()`` waits for it.

    One of a GPU is first copied there, in its stream: the model does not wait, and no page-locked memory is allocated,
    which takes longer than a layer. It moves on when :class:`DeviceRoom` is full, or when ``numpy()`` is called. The
    model waits for one that is larger than a quarter of that room: it goes to main memory at once.
    """

    def __init__(self, tensor: torch.Tensor) -> None:
        source = tensor.detach()
        if source.layout != torch.strided:
            source = source.to_dense()
        if source.dtype == torch.bfloat16:
            source = source.float()
        self.nbytes = source.numel() * source.element_size()
        if source.device.type == "cuda" and self.nbytes <= ROOM.most // 4:
            self._here = _clone(source)
            ROOM.add(self)
        else:
            self._here = source.to("cpu", copy=True)

    def equals(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor in main memory holds the same numbers."""
        return tensor.dtype == self._here.dtype and torch.equal(tensor.detach(), self._here)

    @property
    def tensor(self) -> torch.Tensor:
        """The copy, where it is now."""
        return self._here

    def numpy(self) -> Any:
        """The copy, once it has arrived."""
        if self._here.device.type == "cuda":
            torch.cuda.synchronize(self._here.device)  # the stream that made it may not be the one of this thread
            self._here = self._here.cpu()
        return self._here.numpy()


class DeviceRoom:
    """Copies that are still on a GPU: together no more than some bytes, so that the model keeps its memory."""

    def __init__(self, most: int) -> None:
        self.most, self._held = most, 0
        self._copies: deque[weakref.ref[HostCopy]] = deque()

    def add(self, copy: HostCopy) -> None:
        """Take one in; where they are too many, all move to main memory."""
        self._copies.append(weakref.ref(copy))
        self._held += copy.nbytes
        if self._held > self.most:
            self.clear()

    def clear(self) -> None:
        """Move all copies to main memory."""
        self._held = 0
        while self._copies:
            copy = self._copies.popleft()()
            if copy is not None:
                copy.numpy()


ROOM = DeviceRoom(2**28)


def _clone(source: torch.Tensor) -> torch.Tensor:
    """A copy in the same memory; where that is full, the copies there make room first."""
    try:
        return source.clone()
    except torch.cuda.OutOfMemoryError:
        ROOM.clear()
        return source.clone()


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


def is_compiled(model: torch.nn.Module) -> bool:
    """Whether the model, or a part of it, runs compiled, where hooks are not called."""
    for module in model.modules():
        if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
            return True
        if isinstance(module, torch.jit.ScriptModule):
            return True
    return False
