"""What watching costs, measured while it happens."""

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
        Forward passes of the chosen mode and those given by hand, and how many of them were kept.
    copies : int
        Activations copied: one per kept or extra pass and layer.
    record : float
        Time inside hooks: finding, copying and storing activations.
    elapsed : float
        Wall time of the watched block, recording, bases and transforms included.
    basis : float
        Solving the graph's eigenbases, once.
    transform : float
        Spectra of all copies, in batches.
    transformed, batches : int
        Copies transformed so far, and in how many batches.
    measure : float
        Smoothness measures of all copies, writing results, and all else that is not the training.
    evaluate : float
        Extra passes in evaluation mode (``evaluate=``, ``control=``), copies aside.
    evaluations : int
        How many of them.

    Examples
    --------
    >>> from spectrata.torch import Overhead
    >>> cost = Overhead(passes=100, recorded=10, copies=20, record=0.1, elapsed=6.0, transform=0.9, transformed=20)
    >>> round(cost.record_share, 3)
    0.02
    """

    passes: int = 0
    recorded: int = 0
    copies: int = 0
    record: float = 0.0
    elapsed: float = 0.0
    basis: float = 0.0
    transform: float = 0.0
    transformed: int = 0
    batches: int = 0
    measure: float = 0.0
    evaluate: float = 0.0
    evaluations: int = 0

    @property
    def training(self) -> float:
        """Wall time of the block without recording, evaluation passes and what is computed from the copies."""
        return max(0.0, self.elapsed - self.record - self.evaluate - self.computed)

    @property
    def computed(self) -> float:
        """Time for what is computed from the copies: bases, transforms, measures and writing."""
        return self.basis + self.transform + self.measure

    @contextmanager
    def counting_rest(self) -> Iterator[None]:
        """Count the time of a block that is not counted inside it as ``measure``."""
        start, before = time.perf_counter(), self.computed
        try:
            yield
        finally:
            self.measure += time.perf_counter() - start - (self.computed - before)

    @property
    def record_share(self) -> float:
        """Time for recording over time for training."""
        return self.record / self.training if self.training > 0 else float("nan")

    @property
    def per_copy(self) -> float:
        """Transform time per copy, in batches."""
        return self.transform / self.transformed if self.transformed else float("nan")

    @property
    def recorded_words(self) -> str:
        """Which passes were recorded, in words.

        Examples
        --------
        >>> Overhead(passes=100, recorded=10, evaluations=4).recorded_words
        '10 of 100 passes and 4 extra passes in evaluation mode'
        >>> Overhead(evaluations=4).recorded_words
        '4 extra passes in evaluation mode'
        """
        own = [f"{self.recorded:,} of {self.passes:,} passes"] if self.passes or not self.evaluations else []
        extra = [f"{self.evaluations:,} extra passes in evaluation mode"] if self.evaluations else []
        return " and ".join(own + extra)

    def count(self, seconds: float, copies: int) -> None:
        """Count a batch of transformed copies."""
        self.transform += seconds
        self.transformed += copies
        self.batches += 1

    def __str__(self) -> str:
        parts = [
            f"Recording {self.recorded_words} ({self.copies} activations) took "
            f"{self.record:.3f} s, {100 * self.record_share:.1f} % of {self.training:.1f} s of training."
        ]
        if self.evaluations:
            parts.append(f"The extra passes took {self.evaluate:.2f} s.")
        if self.transformed:
            batches = "1 batch" if self.batches == 1 else f"{self.batches} batches"
            parts.append(
                f"Bases took {self.basis:.1f} s, once; transforming {self.transformed} activations in "
                f"{batches} took {self.transform:.2f} s, {1000 * self.per_copy:.1f} ms each; "
                f"measures and writing {self.measure:.2f} s."
            )
        parts.append(f"The block took {self.elapsed:.1f} s in all.")
        return " ".join(parts)
