"""What was reached: jumps between lines while running, both ways of every conditional jump afterwards."""

import dis
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any


class Lines:
    """Jumps from line to line inside some source files; cheap enough to steer by."""

    def __init__(self, files: Iterable[str]) -> None:
        self.base = {file: (number + 1) * 100_000 for number, file in enumerate(sorted(files))}
        self.seen: set[int] = set()
        self._last = 0

    def new(self, work: Callable[[], None]) -> bool:
        """Do the work; say whether it went where no work went before."""
        before, self._last = len(self.seen), 0
        sys.settrace(self._enter)
        try:
            work()
        finally:
            sys.settrace(None)
        return len(self.seen) > before

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self._line if frame.f_code.co_filename in self.base else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            here = self.base[frame.f_code.co_filename] + frame.f_lineno
            self.seen.add(self._last * 10_000_000 + here)
            self._last = here
        return self._line


class Branches:
    """Both ways of every conditional jump, by bytecode, in the functions that were entered."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = set(files)
        self.jumps: dict[int, dict[int, set[int]]] = {}
        self.taken: set[tuple[int, int, int]] = set()
        self._codes: list[CodeType] = []  # kept, so that an id is never given twice

    def watch(self, work: Callable[[], None]) -> None:
        """Do the work and note every branch it takes."""
        sys.settrace(self._enter)
        try:
            work()
        finally:
            sys.settrace(None)

    @property
    def reached(self) -> int:
        """Branches taken."""
        return len(self.taken)

    @property
    def total(self) -> int:
        """Branches there are in the functions entered."""
        return 2 * sum(len(offsets) for offsets in self.jumps.values())

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self.files:
            return None
        if id(code) not in self.jumps:
            self._codes.append(code)
            self.jumps[id(code)] = _jumps(code)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        last = [-1]
        jumps, taken, key = self.jumps[id(code)], self.taken, id(code)

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "opcode":
                here = frame.f_lasti
                if here in jumps.get(last[0], ()):
                    taken.add((key, last[0], here))
                last[0] = here
            return step

        return step


def _jumps(code: CodeType) -> dict[int, set[int]]:
    """Where each conditional jump may go; an error raised at one is no branch of it."""
    steps = list(dis.get_instructions(code))
    ends = [step.offset for step in steps[1:]] + [-1]
    return {
        step.offset: {end, step.argval}
        for step, end in zip(steps, ends, strict=True)
        if step.opname == "FOR_ITER" or ("JUMP" in step.opname and "_IF_" in step.opname)
    }
