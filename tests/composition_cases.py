"""What chains of calls are made of: small graphs, signals in every form a user may hold, and settings."""

from dataclasses import dataclass, field
from functools import cache, cached_property

import networkx as nx
import numpy as np
import pandas as pd
import xarray as xr

import brute
import calls
import oracle
import spectrata as st

LARGE_MEAN = 2.0**40
DEFAULT = ("gft", "apprx_ls", "in_agg", "adj_diff")


def _random(n, rng):
    return nx.gnp_random_graph(n, rng.uniform(0.2, 0.7), seed=int(rng.integers(2**31)))


def _with_singletons(n, rng):
    return nx.disjoint_union(_random(max(n - 2, 2), rng), nx.empty_graph(int(rng.integers(1, 3))))


def _parts(n, rng):
    halves = ([nx.path_graph, nx.cycle_graph, nx.complete_graph][int(rng.integers(3))](max(3, n // 2)) for _ in "ab")
    return nx.disjoint_union(*halves)


FAMILIES = {
    "random": _random,
    "tree": lambda n, rng: nx.random_labeled_tree(n, seed=int(rng.integers(2**31))),
    "path": lambda n, rng: nx.path_graph(n),
    "ring": lambda n, rng: nx.cycle_graph(n),
    "star": lambda n, rng: nx.star_graph(n - 1),
    "complete": lambda n, rng: nx.complete_graph(n),
    "disconnected": _parts,
    "singletons": _with_singletons,
    "grid": lambda n, rng: nx.convert_node_labels_to_integers(nx.grid_2d_graph(2, max(n // 2, 2))),
}


@dataclass(eq=False)
class Case:
    """A named graph, and its strata by brute force."""

    graph: nx.Graph
    edges: list
    names: list
    _operators: dict = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.names)

    @cached_property
    def strata(self) -> dict:
        return dict(enumerate(oracle.strata_adjacencies(self.edges, self.n), 1))

    def operator(self, hop, laplacian, self_loops=False) -> brute.Operator:
        key = (hop, laplacian, self_loops)
        if key not in self._operators:
            self._operators[key] = brute.operator(self.strata[hop], laplacian, self_loops)
        return self._operators[key]

    def is_clear(self) -> bool:
        return all(brute.is_clear(self.operator(hop, name)) for hop in self.strata for name in laplacians())


def draw_case(rng) -> Case:
    """A graph with at least one edge whose eigenvalues are plainly equal or plainly different."""
    while True:
        family = list(FAMILIES)[int(rng.integers(len(FAMILIES)))]
        plain = FAMILIES[family](int(rng.integers(3, 15)), rng)
        if not plain.number_of_edges():
            continue
        n = len(plain)
        order = rng.permutation(n)
        edges = [(int(order[x]), int(order[y])) for x, y in plain.edges]
        kind = rng.choice(["rows", "text", "numbers"], p=[0.5, 0.3, 0.2])
        names = list(range(n))
        if kind == "text":
            names = [f"v{i}" for i in rng.permutation(n)]
        if kind == "numbers":
            names = [int(i) for i in 10 + rng.permutation(n)]
        graph = nx.Graph()
        graph.add_nodes_from(names)
        graph.add_edges_from((names[x], names[y]) for x, y in edges)
        case = Case(graph, edges, names)
        if case.is_clear():
            return case


# --- Signals ------------------------------------------------------------------------------------------------


def _near_constant(n, d, rng):
    return LARGE_MEAN + np.round(rng.normal(size=(n, d)) * 1024) / 1024


SHAPES = {
    "noise": lambda n, d, rng: rng.normal(size=(n, d)),
    "constant": lambda n, d, rng: np.tile(rng.uniform(0.5, 1.5, d), (n, 1)),
    "large mean": _near_constant,
    "ties": lambda n, d, rng: rng.integers(1, 4, (n, d)).astype(float),
    "shifted": lambda n, d, rng: rng.normal(size=(n, d)) + 100,
    "one-hot": lambda n, d, rng: np.eye(max(n, d))[int(rng.integers(n))][:n, None] * np.ones(d),
}


def draw_signal(case, rng, d=None, snapshots="any"):
    """Values by snapshot label (None: without snapshots), all of one width."""
    d = d or int(rng.choice([1, 1, 2, 3]))
    count = int(rng.choice([0, 0, 1, 2, 3, 5])) if snapshots == "any" else snapshots
    labels = [None] if not count else draw_labels(count, rng)
    shapes = [str(rng.choice(list(SHAPES), p=[0.4, 0.08, 0.12, 0.2, 0.12, 0.08])) for _ in labels]
    return {label: SHAPES[shape](case.n, d, rng) for label, shape in zip(labels, shapes, strict=True)}


def draw_labels(count, rng):
    """Snapshot labels: counted from 0, or text."""
    if rng.random() < 0.5:
        return list(range(count))
    return [f"step {i}" for i in rng.permutation(20)[:count]]


def as_given(case, signal, rng):
    """The signal in one of the forms a user may hold, and a word for it."""
    labels = list(signal)
    rows = rng.permutation(case.n)
    names = [case.names[row] for row in rows]
    if labels == [None]:
        values = signal[None]
        columns = rng.permutation(values.shape[1])
        kind = str(rng.choice(["array", "frame", "mapping", "series"]))
        if kind == "frame":
            return pd.DataFrame(values[rows][:, columns], index=names, columns=[f"c{c}" for c in columns]), kind
        if kind == "mapping":
            return dict(zip(names, values[rows].tolist(), strict=True)), kind
        if kind == "series" and values.shape[1] == 1:
            return pd.Series(values[rows, 0], index=names), kind
        return (values[:, 0] if values.shape[1] == 1 and rng.random() < 0.5 else values), "array"
    stacked = np.stack([signal[label] for label in labels])
    if labels == list(range(len(labels))) and rng.random() < 0.5:
        return stacked, "array"
    coords = {"snapshot": labels, "node": [str(name) for name in names]}
    return xr.DataArray(stacked[:, rows], coords, ("snapshot", "node", "dimension")), "labelled array"


# --- Settings -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """The arguments of ``spectra`` that decide numbers."""

    algorithms: tuple = DEFAULT
    metric: str = "auto"
    laplacian: str = "combinatorial"
    orientation: str = "rms"
    scaling: str = "unit"
    n_eigs: int | None = None
    which: str = "lowest"
    zero_vectors: str = "error"

    def arguments(self) -> dict:
        """As keyword arguments, those at their defaults left out."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        given = {name: value for name, value in plain.items() if value != getattr(Settings(), name)}
        if "n_eigs" in given:
            given["which"] = self.which
        return given


def is_known(**arguments) -> bool:
    """Whether the library takes these arguments: what arrives later joins the chains by itself."""
    try:
        calls.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], **arguments)
    except st.InputError:
        return False
    return True


@cache
def laplacians() -> tuple:
    return tuple(name for name in brute.LAPLACIANS if is_known(laplacian=name, algorithms="gft"))


@cache
def scalings() -> tuple:
    names = ("unit", "eigenvalue", "program")
    return tuple(name for name in names if is_known(scaling=name, algorithms="adj_diff"))


@cache
def allowed(laplacian) -> tuple:
    """The algorithms a laplacian serves."""
    return ("gft",) if laplacian == "normalized" else DEFAULT


@cache
def can_cut(laplacian) -> bool:
    return is_known(laplacian=laplacian, algorithms="gft", n_eigs=2)


def draw_settings(case, rng, cut=0.25) -> Settings:
    """Random settings the library allows together."""
    laplacian = str(rng.choice(laplacians(), p=_first_heavy(len(laplacians()))))
    names = list(allowed(laplacian))
    chosen = [name for name in rng.permutation(names) if name == "gft" or rng.random() < 0.7]
    n_eigs = int(rng.integers(1, case.n + 2)) if rng.random() < cut and can_cut(laplacian) else None
    return Settings(
        algorithms=tuple(str(name) for name in chosen),
        metric=str(rng.choice(["auto", "euclidean", "angular"], p=[0.5, 0.3, 0.2])),
        laplacian=laplacian,
        orientation=str(rng.choice(["rms", "index"], p=[0.7, 0.3])) if "apprx_ls" in chosen else "rms",
        scaling=str(rng.choice(scalings())) if "adj_diff" in chosen else "unit",
        n_eigs=n_eigs,
        which=str(rng.choice(["lowest", "highest"])) if n_eigs else "lowest",
        zero_vectors=str(rng.choice(["error", "nan"])),
    )


def _first_heavy(count):
    rest = 0.3 / max(count - 1, 1)
    return [1.0] if count == 1 else [0.7] + [rest] * (count - 1)


def draw_hops(case, rng):
    """An argument ``hops``, and the hops it stands for."""
    every = list(case.strata)
    kind = str(rng.choice(["all", "up to", "list"]))
    if kind == "up to":
        most = int(rng.integers(1, len(every) + 1))
        return most, every[:most]
    if kind == "list":
        chosen = sorted(int(h) for h in rng.permutation(every)[: int(rng.integers(1, len(every) + 1))])
        return chosen, chosen
    return None, every
