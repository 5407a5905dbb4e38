"""How large a run of the experiments is, and where every random number comes from."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Sizes of a run; the defaults are the paper's."""

    seed: int = 0  # decides everything random, unit by unit (see generator)
    graphs: int = 100  # per series of Tasks 1 and 2
    trials: int = 50  # of LN-VX's learning in Tasks 1 and 2
    few_trials: int = 20  # the same in Tasks 3 to 8
    ln_vx_epochs: int = 1000  # at most, of a trial of LN-VX
    low_pass_epochs: int = 3500  # of the regularised learning of Task 3
    runs: int = 500  # of the unregularised learning of Tasks 4 to 8
    epochs: int = 1000  # of each of these runs
    bases: int = 100  # drawn at random inside repeated eigenspaces in Task 3
    resamples: int = 2000  # behind every confidence interval
    frames: int = 60  # of each animation


FULL = Settings()
QUICK = Settings(graphs=10, runs=50, bases=20, frames=16)


def generator(seed: int, *unit: int) -> np.random.Generator:
    """A generator for one unit of work, the same whatever ran before it."""
    return np.random.default_rng([seed, *unit])


def unit_seed(seed: int, *unit: int) -> int:
    """A whole number for one unit of work, to be passed on as its seed."""
    return int(np.random.SeedSequence([seed, *unit]).generate_state(1)[0])
