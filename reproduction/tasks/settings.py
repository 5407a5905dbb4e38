"""How large a run of the experiments is, and where every random number comes from."""

from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Sizes of a run; the defaults are the paper's.

    Attributes
    ----------
    seed : int
        Decides everything random, unit by unit (see :func:`generator`).
    graphs : int
        Graphs per series of Tasks 1 and 2.
    trials, few_trials : int
        Learning trials of LN-VX in Tasks 1 and 2, and in Tasks 3 to 8.
    ln_vx_epochs : int
        Most epochs of a learning trial of LN-VX.
    low_pass_epochs : int
        Epochs of the regularised learning of Task 3.
    runs, epochs : int
        Runs of the unregularised learning of Tasks 4 to 8, and epochs of each.
    bases : int
        Random bases drawn inside repeated eigenspaces in Task 3.
    resamples : int
        Resamplings behind every confidence interval.
    frames : int
        Frames of each animation.
    """

    seed: int = 0
    graphs: int = 100
    trials: int = 50
    few_trials: int = 20
    ln_vx_epochs: int = 1000
    low_pass_epochs: int = 3500
    runs: int = 500
    epochs: int = 1000
    bases: int = 100
    resamples: int = 2000
    frames: int = 60

    def to_dict(self) -> dict[str, int]:
        """The settings as plain numbers."""
        return asdict(self)


FULL = Settings()
QUICK = Settings(graphs=10, runs=50, bases=20, frames=16)


def generator(seed: int, *unit: int) -> np.random.Generator:
    """A generator for one unit of work, the same whatever ran before it."""
    return np.random.default_rng([seed, *unit])


def unit_seed(seed: int, *unit: int) -> int:
    """A whole number for one unit of work, to be passed on as its seed."""
    return int(np.random.SeedSequence([seed, *unit]).generate_state(1)[0])
