"""The random graphs and signals of Tasks 1 and 2.

Four series of the paper, drawn as its released program draws them, and what the text says where that differs: ERM
graphs with ``p = 0.1`` instead of a symmetrised pattern of density 0.05, and a number of blocks per graph instead of
per series. The text's series are cheap ones, without LN-VX's learning.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reproduction.tasks.settings import generator

NODES = 50
BLOCKS = (2, 10)


@dataclass(frozen=True)
class Series:
    name: str
    number: int  # part of every seed
    model: str  # "erm" or "sbm"
    pulse: bool
    as_text: bool = False

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-").replace("(", "").replace(")", "")


SERIES = (
    Series("ERM-Rand", 0, "erm", pulse=False),
    Series("ERM-Pulse", 1, "erm", pulse=True),
    Series("SBM-Rand", 2, "sbm", pulse=False),
    Series("SBM-Pulse", 3, "sbm", pulse=True),
)
TEXT_SERIES = tuple(replace(s, name=f"{s.name} (text)", number=s.number + 4, as_text=True) for s in SERIES[:3])


def draw(series: Series, index: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = generator(seed, 1, series.number, index)
    adjacency = _connected(series, rng, seed)
    return adjacency, np.eye(NODES)[rng.integers(NODES)] if series.pulse else rng.uniform(-1.0, 1.0, NODES)


def block_count(series: Series, seed: int) -> int:
    """The number of blocks of a series: the released program draws one for all its graphs."""
    return int(generator(seed, 2, series.number).integers(BLOCKS[0], BLOCKS[1] + 1))


def _connected(series: Series, rng: np.random.Generator, seed: int) -> np.ndarray:
    while True:
        if series.model == "erm":
            adjacency = _joined(0.1, rng) if series.as_text else _erm_released(rng)
        else:
            per_graph = int(rng.integers(BLOCKS[0], BLOCKS[1] + 1))
            adjacency = _sbm(per_graph if series.as_text else block_count(series, seed), rng)
        if connected_components(coo_array(adjacency), directed=False)[0] == 1:
            return adjacency


def _joined(probability: float | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _symmetric(np.triu(rng.random((NODES, NODES)) < probability, 1))


def _erm_released(rng: np.random.Generator) -> np.ndarray:
    """A pattern with 5 in 100 of all entries, joined with its transpose: p is about 0.0975."""
    pattern = np.zeros(NODES * NODES, dtype=bool)
    pattern[rng.choice(NODES * NODES, size=NODES * NODES // 20, replace=False)] = True
    return _symmetric(pattern.reshape(NODES, NODES))


def _sbm(blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Even blocks; probabilities uniform on [0.01, 0.2], averaged with their transpose."""
    probability = rng.uniform(0.01, 0.2, size=(blocks, blocks))
    probability = (probability + probability.T) / 2.0
    block = np.arange(NODES) * blocks // NODES
    return _joined(probability[np.ix_(block, block)], rng)


def _symmetric(pattern: np.ndarray) -> np.ndarray:
    joined = pattern | pattern.T
    np.fill_diagonal(joined, False)
    return joined.astype(np.int8)
