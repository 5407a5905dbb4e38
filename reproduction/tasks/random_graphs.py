"""The random graphs and signals of Tasks 1 and 2.

Four series of the paper, drawn as its released program draws them, and what the text says where that differs: ERM
graphs with ``p = 0.1`` instead of a symmetrised pattern of density 0.05, and a number of blocks per graph instead of
per series. The text's series are cheap ones, without LN-VX's learning.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reproduction.tasks.settings import generator

NODES = 50
BLOCKS = (2, 10)
BLOCK_PROBABILITY = (0.01, 0.2)


@dataclass(frozen=True)
class Series:
    """One series of graphs with one signal each."""

    name: str
    number: int  # part of every seed
    model: str  # "erm" or "sbm"
    pulse: bool
    as_text: bool = False

    @property
    def slug(self) -> str:
        """The name for files."""
        return self.name.lower().replace(" ", "-").replace("(", "").replace(")", "")


SERIES = (
    Series("ERM-Rand", 0, "erm", pulse=False),
    Series("ERM-Pulse", 1, "erm", pulse=True),
    Series("SBM-Rand", 2, "sbm", pulse=False),
    Series("SBM-Pulse", 3, "sbm", pulse=True),
)
TEXT_SERIES = (
    Series("ERM-Rand (text)", 4, "erm", pulse=False, as_text=True),
    Series("ERM-Pulse (text)", 5, "erm", pulse=True, as_text=True),
    Series("SBM-Rand (text)", 6, "sbm", pulse=False, as_text=True),
)


def draw(series: Series, index: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A connected graph ``(n, n)`` of the series and its signal ``(n,)``."""
    rng = generator(seed, 1, series.number, index)
    adjacency = _connected(series, rng, seed)
    if series.pulse:
        signal = np.zeros(NODES)
        signal[rng.integers(NODES)] = 1.0
        return adjacency, signal
    return adjacency, rng.uniform(-1.0, 1.0, NODES)


def block_count(series: Series, seed: int) -> int:
    """The number of blocks of a series: the released program draws one for all its graphs."""
    return int(generator(seed, 2, series.number).integers(BLOCKS[0], BLOCKS[1] + 1))


def _connected(series: Series, rng: np.random.Generator, seed: int) -> np.ndarray:
    while True:
        if series.model == "erm":
            adjacency = _erm_text(rng) if series.as_text else _erm_released(rng)
        else:
            per_graph = int(rng.integers(BLOCKS[0], BLOCKS[1] + 1))
            adjacency = _sbm(per_graph if series.as_text else block_count(series, seed), rng)
        if connected_components(coo_array(adjacency), directed=False)[0] == 1:
            return adjacency


def _erm_text(rng: np.random.Generator) -> np.ndarray:
    """Every pair with probability 0.1."""
    return _symmetric(np.triu(rng.random((NODES, NODES)) < 0.1, 1))


def _erm_released(rng: np.random.Generator) -> np.ndarray:
    """A pattern with 5 in 100 of all entries, joined with its transpose: p is about 0.0975."""
    pattern = np.zeros(NODES * NODES, dtype=bool)
    pattern[rng.choice(NODES * NODES, size=NODES * NODES // 20, replace=False)] = True
    return _symmetric(pattern.reshape(NODES, NODES))


def _sbm(blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Even blocks; probabilities uniform on [0.01, 0.2], averaged with their transpose."""
    probability = rng.uniform(*BLOCK_PROBABILITY, size=(blocks, blocks))
    probability = (probability + probability.T) / 2.0
    block = np.arange(NODES) * blocks // NODES
    return _symmetric(np.triu(rng.random((NODES, NODES)) < probability[np.ix_(block, block)], 1))


def _symmetric(pattern: np.ndarray) -> np.ndarray:
    joined = pattern | pattern.T
    np.fill_diagonal(joined, False)
    return joined.astype(np.int8)
