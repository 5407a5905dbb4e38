"""The cost of watching, measured while it happens."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Overhead:
    """Times of a watched run, in seconds.

    Attributes
    ----------
    passes, recorded : int
        Forward passes of the chosen mode and those given by hand, and how many of them were recorded.
    evaluations, controls, activations : int
        Extra passes in evaluation mode, those without messages, and activations measured in all passes.
    elapsed : float
        Wall time of the watched block.
    record, evaluate, measure, spectra, write : float
        Time inside hooks, of extra passes, of measures, of spectra and their bases, and of writing results.

    Examples
    --------
    >>> from spectrata.torch import Overhead
    >>> print(Overhead(passes=100, recorded=10, activations=20, elapsed=6.0, measure=0.2, record=0.1))
    Watching took 0.30 s, 5.3 % of 5.7 s of training (10 of 100 passes; 20 activations).
    """

    passes: int = 0
    recorded: int = 0
    evaluations: int = 0
    controls: int = 0
    activations: int = 0
    elapsed: float = 0.0
    record: float = 0.0
    evaluate: float = 0.0
    measure: float = 0.0
    spectra: float = 0.0
    write: float = 0.0

    @property
    def computed(self) -> float:
        """Time for measures, spectra and writing."""
        return self.measure + self.spectra + self.write

    @property
    def watching(self) -> float:
        """Time for all of it: what the block took more than the training alone."""
        return self.record + self.evaluate + self.computed

    @property
    def training(self) -> float:
        """Wall time of the block without watching."""
        return max(0.0, self.elapsed - self.watching)

    @property
    def share(self) -> float:
        """Time for watching over time for training."""
        return self.watching / self.training if self.training > 0 else float("nan")

    @contextmanager
    def counting_rest(self) -> Iterator[None]:
        """Count the time of a block that is not counted inside it as ``write``."""
        start, before = time.perf_counter(), self.computed
        try:
            yield
        finally:
            self.write += time.perf_counter() - start - (self.computed - before)

    @property
    def recorded_words(self) -> str:
        """Which passes were recorded, in words."""
        own = [f"{self.recorded:,} of {self.passes:,} passes"] if self.passes or not self.evaluations else []
        extra = [f"evaluations: {self.evaluations:,}"] if self.evaluations else []
        extra += [f"controls: {self.controls:,}"] if self.controls else []
        return ", ".join(own + extra)

    def __str__(self) -> str:
        text = (
            f"Watching took {self.watching:.2f} s, {100 * self.share:.1f} % of {self.training:.1f} s of training "
            f"({self.recorded_words}; {self.activations:,} activations)."
        )
        parts = [(name, getattr(self, name)) for name in ("evaluate", "measure", "spectra", "write")]
        parts = [(name, value) for name, value in parts if value >= 0.005]
        if len(parts) < 2:
            return text
        return f"{text} Of this {', '.join(f'{name} {value:.2f} s' for name, value in parts)}."
