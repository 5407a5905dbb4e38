"""The study's graphs: from files, or generated with planted classes and noisy features."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from reproduction.studies.models.protocol import GraphSpec
from spectrata.errors import InputError

Pairs = np.ndarray  # (m, 2), each edge once
SPLITS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class StudyGraph:
    """A graph with what a model is trained on."""

    name: str
    edges: Pairs  # each once, smaller node first, without loops
    features: np.ndarray  # (n, f) of float32
    labels: np.ndarray  # (n,) of int
    splits: Mapping[str, np.ndarray]  # nodes of "train", "val" and "test"
    score: str = "accuracy"

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1

    def baseline(self, split: str) -> float:
        """Score without a model: the share of the most frequent class of the split, .5 for ROC-AUC."""
        if self.score == "auc":
            return 0.5
        nodes = self.splits[split]
        return float(np.bincount(self.labels[nodes]).max() / len(nodes))


def load(spec: GraphSpec, data: str | Path | None, seed: int) -> StudyGraph:
    """The graph of a spec: read from ``data/NAME.npz``, or generated."""
    if spec.source != "file":
        return generate(spec, seed)
    with np.load(file_of(spec, data), allow_pickle=False) as held:
        parts = tuple(held[f"features_{name}"] for name in ("data", "indices", "indptr"))
        features = csr_array(parts, shape=tuple(held["features_shape"].tolist())).toarray().astype(np.float32)
        splits = {name: held[name].astype(np.int64) for name in SPLITS}
        edges = undirected(held["edges"].astype(np.int64))
        return StudyGraph(spec.name, edges, features, held["labels"].astype(np.int64), splits, spec.score)


def file_of(spec: GraphSpec, data: str | Path | None) -> Path:
    if data is None:
        raise InputError(
            f"The graph {spec.name} is read from a file; give the folder with {spec.name}.npz as --data FOLDER, "
            "or run the small study with --quick."
        )
    if not (path := Path(data) / f"{spec.name}.npz").is_file():
        raise InputError(f"The study needs {path}, which is not there; give the folder of the graphs as --data.")
    return path


def undirected(edges: Pairs) -> Pairs:
    """Each edge once, smaller node first, without loops and repeats.

    Examples
    --------
    >>> undirected(np.array([[1, 0], [0, 1], [2, 2], [1, 2]])).tolist()
    [[0, 1], [1, 2]]
    """
    edges = np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1)
    return np.unique(edges, axis=0)


def generate(spec: GraphSpec, seed: int) -> StudyGraph:
    """A graph with planted classes; features are the class's mean vector plus unit Gaussian noise."""
    options = dict(spec.options)
    rng = np.random.default_rng([seed, *spec.name.encode()])
    labels, edges = GENERATORS[spec.source](options, rng)
    n, dimensions, classes = len(labels), options["dimensions"], options["classes"]
    means = rng.standard_normal((classes, dimensions))
    means *= options["signal"] / np.linalg.norm(means, axis=1, keepdims=True)
    features = means[labels] + rng.standard_normal((n, dimensions))
    order = rng.permutation(n)
    ends = np.cumsum([int(options["train"] * n), int(options["val"] * n)])
    splits = dict(zip(SPLITS, np.split(order, ends), strict=True))
    return StudyGraph(spec.name, undirected(edges), features.astype(np.float32), labels, splits, spec.score)


def _draw(probability: np.ndarray, rng: np.random.Generator) -> Pairs:
    """Edges drawn independently with the probabilities of the upper triangle."""
    return np.argwhere(np.triu(rng.random(probability.shape) < probability, 1))


def _blocks(options: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, Pairs]:
    """Equal blocks; a share ``homophily`` of a node's edges stays inside, the rest goes to all others or to one."""
    classes, n = options["classes"], options["nodes"]
    labels = np.arange(n) % classes
    share = np.eye(classes) * options["homophily"]
    if options["partner"] == "pair":
        share[np.arange(classes), np.arange(classes) ^ 1] = 1 - options["homophily"]
    else:
        share += (1 - np.eye(classes)) * (1 - options["homophily"]) / (classes - 1)
    return labels, _draw(share[np.ix_(labels, labels)] * options["degree"] * classes / n, rng)


def _geometric(options: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, Pairs]:
    """Points of the unit square joined within a radius; the classes are its vertical strips."""
    points = rng.random((options["nodes"], 2))
    squared = np.sum((points[:, None] - points[None]) ** 2, axis=2)
    radius = options["degree"] / (np.pi * options["nodes"])
    return (points[:, 0] * options["classes"]).astype(int), np.argwhere(np.triu(squared < radius, 1))


def _small_world(options: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, Pairs]:
    """A ring with some edges rewired (Watts and Strogatz); the classes are arcs."""
    n = options["nodes"]
    start = np.repeat(np.arange(n), options["degree"] // 2)
    end = (start + np.tile(np.arange(1, options["degree"] // 2 + 1), n)) % n
    moved = rng.random(len(end)) < options["rewired"]
    end = np.where(moved, rng.integers(0, n, len(end)), end)
    return np.arange(n) * options["classes"] // n, np.column_stack([start, end])


def _preferential(options: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, Pairs]:
    """Preferential attachment; a node has the class of the first of a few random nodes it is nearest to."""
    n, links = options["nodes"], options["links"]
    ends = list(range(links + 1))
    edges = [(a, b) for a in range(links + 1) for b in range(a)]
    for node in range(links + 1, n):
        chosen: set[int] = set()
        while len(chosen) < links:
            chosen.add(int(ends[rng.integers(len(ends))]))
        edges += [(node, other) for other in sorted(chosen)]
        ends += [node] * links + sorted(chosen)
    pairs = np.array(edges)
    adjacency = csr_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    centres = rng.choice(n, options["classes"], replace=False)
    distances = dijkstra(adjacency, directed=False, indices=centres, unweighted=True)
    return np.argmin(distances + 0.5 * rng.random(distances.shape), axis=0), pairs


def _communities(options: Mapping[str, Any], rng: np.random.Generator) -> tuple[np.ndarray, Pairs]:
    """Many small groups, each of one class, with few edges between groups."""
    n = options["nodes"]
    group = np.arange(n) // options["group"]
    labels = rng.integers(0, options["classes"], group[-1] + 1)
    labels[: options["classes"]] = np.arange(options["classes"])  # every class has a group
    same = group[:, None] == group[None]
    probability = np.where(same, options["inside"] / options["group"], options["outside"] / n)
    return labels[group], _draw(probability, rng)


GENERATORS = {made.__name__[1:]: made for made in (_blocks, _geometric, _small_world, _preferential, _communities)}
