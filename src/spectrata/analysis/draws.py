"""Signals drawn under a null, in bounded batches that can be made again at every hop."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from spectrata.analysis.nulls import permute_nodes, rotate_signal
from spectrata.inputs.signals import Potential, Signal, potential

BATCH = 2**22  # numbers per batch of drawn signals, and of their magnitudes
Sample = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]
SAMPLES: dict[str, Sample] = {"permute": permute_nodes, "rotate": rotate_signal}


@dataclass(frozen=True, eq=False)
class Draws:
    """Drawn signals as potentials; iterating again makes the same ones, so that each hop sees all of them.

    Attributes
    ----------
    values : ndarray, shape (T, n, d)
        The signal.
    sample : callable
        ``sample(values, count, rng)``: ``(S, n, d) -> (S, count, n, d)``.
    draws, seed : int
    metric : str
    width : int
        Numbers that one drawn signal takes in the largest array made of it.
    """

    values: np.ndarray
    sample: Sample
    draws: int
    metric: str
    seed: list[int] = field(default_factory=list)
    width: int = 1

    @cached_property
    def layout(self) -> list[tuple[slice, int]]:
        """The snapshots of every batch, and how many draws it has of each."""
        snapshots, n, dims = self.values.shape
        fit = max(1, BATCH // max(n * dims, self.width))
        per_call = min(self.draws, fit)
        together = max(1, fit // max(1, self.draws))
        return [
            (slice(first, min(first + together, snapshots)), min(per_call, self.draws - done))
            for first in range(0, snapshots if self.draws else 0, together)
            for done in range(0, self.draws, per_call)
        ]

    def __iter__(self) -> Iterator[Potential]:
        rng = np.random.default_rng(self.seed)
        for rows, count in self.layout:
            batch = self.sample(self.values[rows], count, rng)  # (S, c, n, d)
            yield potential(Signal(batch.reshape(-1, *batch.shape[2:]), None), self.metric, "zero")
