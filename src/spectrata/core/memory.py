"""Things that depend on a graph alone, kept between calls within a budget of bytes."""

import threading
from collections.abc import Callable
from typing import Any


class Memory:
    """Things made once, by key, while they fit in ``max_bytes``; safe to use from several threads."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.nbytes = max_bytes, 0
        self.kept: dict[tuple, Any] = {}
        self.lock = threading.RLock()
        self._making: dict[tuple, threading.RLock] = {}  # one for each thing that is being made

    def __reduce__(self) -> tuple:
        """Another process gets the budget, not the contents, which are made again there."""
        return Memory, (self.max_bytes,)

    def remember(self, key: tuple, make: Callable[[], Any]) -> Any:
        """The result of the first ``make()``, while it fits; each thing has one maker at a time."""
        with self.lock:
            if key in self.kept:
                return self.kept[key]
            maker = self._making.setdefault(key, threading.RLock())
        with maker:
            with self.lock:
                if key in self.kept:  # made by the thread before
                    return self.kept[key]
            made = make()
            with self.lock:
                if key not in self.kept and self.nbytes + made.nbytes <= self.max_bytes:
                    self.kept[key] = made
                    self.nbytes += made.nbytes
                self._making.pop(key, None)
            return made
