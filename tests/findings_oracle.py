"""Sentences of ``diagnose`` against brute force: families of graphs, kinds of signals, permutation tests of its own.

Nothing here but the call of ``diagnose`` comes from the package. By hand, the whole study::

    python tests/findings_oracle.py              # every family and signal
    python tests/findings_oracle.py --null 1000  # so many signals without structure per family and kind

``--workers`` gives processes, ``--seed`` other graphs and signals.
"""

import argparse
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import networkx as nx
import numpy as np

import spectrata as st

DRAWS = 4999
BANDS = 4
LEAST = 8


# ---- graphs of 30 to 120 nodes


def hexagons(rng):
    return nx.convert_node_labels_to_integers(nx.hexagonal_lattice_graph(4, 5))


def connectome(rng):
    """A dense weighted graph: weights fall with the distance of random points."""
    points = rng.normal(size=(50, 3))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    graph = nx.Graph()
    graph.add_nodes_from(range(50))
    for x in range(50):
        for y in range(x):
            if rng.random() < np.exp(-1.5 * apart[x, y]):
                graph.add_edge(x, y, weight=float(rng.lognormal(-apart[x, y], 0.7)))
    return largest(graph)


def largest(graph):
    part = graph.subgraph(max(nx.connected_components(graph), key=len))
    return nx.convert_node_labels_to_integers(nx.Graph(part))


def seeded(rng):
    return int(rng.integers(2**31))


def two_parts(rng):
    return nx.disjoint_union(nx.connected_watts_strogatz_graph(30, 4, 0.2, seed=seeded(rng)), nx.grid_2d_graph(4, 6))


def with_singletons(rng):
    graph = nx.random_geometric_graph(50, 0.22, seed=seeded(rng))
    graph = nx.Graph(graph.edges)
    return nx.convert_node_labels_to_integers(nx.disjoint_union(graph, nx.empty_graph(12)))


FAMILIES = {
    "geometric": lambda rng: largest(nx.random_geometric_graph(80, 0.2, seed=seeded(rng))),
    "hex grid": hexagons,
    "small world": lambda rng: nx.connected_watts_strogatz_graph(70, 4, 0.1, seed=seeded(rng)),
    "power law": lambda rng: nx.barabasi_albert_graph(80, 2, seed=seeded(rng)),
    "tree": lambda rng: nx.random_labeled_tree(60, seed=seeded(rng)),
    "bipartite": lambda rng: largest(nx.bipartite.random_graph(30, 30, 0.1, seed=seeded(rng))),
    "block model": lambda rng: largest(nx.planted_partition_graph(3, 20, 0.4, 0.04, seed=seeded(rng))),
    "connectome": connectome,
    "Les Miserables": lambda rng: nx.convert_node_labels_to_integers(nx.les_miserables_graph()),
    "karate": lambda rng: nx.from_numpy_array(nx.to_numpy_array(nx.karate_club_graph(), weight=None)),
    "disconnected": lambda rng: nx.convert_node_labels_to_integers(two_parts(rng)),
    "singletons": with_singletons,
}


def is_weighted(name):
    return name == "connectome"


# ---- signals


def smoothed(graph, rng):
    matrix = nx.to_numpy_array(graph, weight=None) + np.eye(len(graph))
    return np.linalg.matrix_power(matrix / matrix.sum(axis=1, keepdims=True), 3) @ rng.normal(size=len(graph))


def spectral_layout(graph, rng):
    _, vectors = np.linalg.eigh(nx.laplacian_matrix(graph, weight=None).toarray().astype(float))
    return vectors[:, 1:3]


def coordinates(graph, rng):
    return np.array([xy for _, xy in sorted(nx.spring_layout(graph, seed=1).items())])


def communities(graph, rng):
    parts = nx.community.greedy_modularity_communities(graph)
    label = {node: index for index, part in enumerate(parts) for node in part}
    return np.eye(len(parts))[[label[node] for node in range(len(graph))]]


def pulses(graph, rng):
    out = np.zeros(len(graph))
    out[rng.choice(len(graph), 4, replace=False)] = 1.0
    return out


SIGNALS = {
    "noise": lambda graph, rng: rng.normal(size=len(graph)),
    "smoothed": smoothed,
    "spectral layout": spectral_layout,
    "coordinates": coordinates,
    "labels": communities,
    "degree": lambda graph, rng: np.array([d for _, d in sorted(graph.degree)], dtype=float),
    "pulses": pulses,
    "heavy tails": lambda graph, rng: rng.standard_cauchy(len(graph)),
    "vectors of noise": lambda graph, rng: rng.normal(size=(len(graph), 5)),
    "shifted and smoothed": lambda graph, rng: 30.0 + smoothed(graph, rng),
}
NULLS = {
    "normal": lambda n, rng: rng.normal(size=n),
    "Cauchy": lambda n, rng: rng.standard_cauchy(n),
    "pulses": lambda n, rng: rng.permutation(np.r_[np.ones(3), np.zeros(n - 3)]),
    "binary": lambda n, rng: rng.permutation(np.r_[np.ones(n // 10), np.zeros(n - n // 10)]),
    "one-hot": lambda n, rng: np.eye(4)[rng.permutation(np.arange(n) % 4)],
    "lognormal": lambda n, rng: rng.lognormal(0, 2, size=n),
}


# ---- brute force


def bottleneck(graph, hops):
    """Weights of pairs at each hop: the best, over shortest paths, of the smallest weight on the path."""
    weights = {}
    for source in graph:
        best, front, hop = {source: np.inf}, {source}, 0
        while front and hop < max(hops):
            hop, reached = hop + 1, {}
            for x in front:
                for y in graph[x]:
                    if y not in best:
                        reached[y] = max(reached.get(y, 0.0), min(best[x], graph[x][y]["weight"]))
            best |= reached
            front = set(reached)
            for y, weight in reached.items():
                weights[hop, source, y] = weight
    return weights


def adjacencies(graph, weighted):
    """Weighted adjacency of every hop."""
    n, found = len(graph), {}
    for x, near in nx.all_pairs_shortest_path_length(graph):
        for y, hop in near.items():
            if hop:
                found.setdefault(hop, np.zeros((n, n)))[x, y] = 1.0
    if weighted:
        for (hop, x, y), weight in bottleneck(graph, list(found)).items():
            found[hop][x, y] = weight
    return dict(sorted(found.items()))


def spectral_forms(laplacian):
    """Projections on the lowest and highest quarter off zero and the Fiedler eigenspace; None below eight."""
    values, vectors = np.linalg.eigh(laplacian)
    zeros = int(np.sum(values <= 1e-9 * values[-1]))
    off = np.arange(zeros, len(values))
    if len(off) < LEAST:
        return None
    spaces = np.split(off, np.flatnonzero(np.diff(values[off]) > 1e-8 * values[-1]) + 1)
    quarter = [int(BANDS * ((space[0] + space[-1] + 1) / 2 - zeros) / len(off)) for space in spaces]
    low, high = (
        np.concatenate([s for s, q in zip(spaces, quarter, strict=True) if q == want] or [[]]).astype(int)
        for want in (0, 3)
    )
    return [vectors[:, part] @ vectors[:, part].T for part in (low, high, spaces[0])]


def statistics(graph, weighted):
    """Names and quadratic forms of everything that is tested: ``{(statistic, hop): (n, n)}``."""
    forms = {}
    for hop, matrix in adjacencies(graph, weighted).items():
        laplacian = np.diag(matrix.sum(axis=1)) - matrix
        forms["pairs", hop] = laplacian / (matrix.sum() / 2)
        spectral = spectral_forms(laplacian)
        if spectral:
            for name, form in zip(("low", "high", "fiedler"), spectral, strict=True):
                forms[name, hop] = form
    return forms


def directions(signal):
    return signal / np.linalg.norm(signal, axis=1, keepdims=True) / 2


class Oracle:
    """Observed statistics, permuted ones, and p of each, corrected two ways."""

    def __init__(self, forms, t, rng, draws=DRAWS):
        t = t[:, None] if t.ndim == 1 else t
        t = t - t.mean(axis=0)
        self.names = list(forms)
        stack = np.stack([forms[name] for name in self.names]).reshape(len(forms), -1)
        gram = t @ t.T
        self.observed = stack @ gram.ravel()
        orders = [rng.permutation(len(t)) for _ in range(draws)]
        drawn = np.stack([stack @ gram[np.ix_(order, order)].ravel() for order in orders])
        pooled = np.vstack([self.observed, drawn])
        size = np.abs(pooled).max(axis=0) + 1e-300
        pooled = np.round(pooled / size, 10)  # ties are ties
        self.fixed = pooled.std(axis=0) < 1e-9
        rank_above = (len(pooled) - np.stack([np.searchsorted(np.sort(c), c, "left") for c in pooled.T], 1)) / len(
            pooled
        )
        rank_below = np.stack([np.searchsorted(np.sort(c), c, "right") for c in pooled.T], 1) / len(pooled)
        self.mean = pooled[1:].mean(axis=0) * size
        self.sign = np.where(self.observed > self.mean, 1, -1)
        two_sided = np.array([name == "pairs" for name, _ in self.names])
        small = np.where(two_sided, np.minimum(rank_above, rank_below), rank_above)
        small[:, self.fixed] = 1.0
        self.p = np.where(two_sided, np.minimum(1, 2 * small[0]), small[0])
        smallest = small[1:].min(axis=1)
        self.corrected = np.array([(1 + np.sum(smallest <= one)) / (draws + 1) for one in small[0]])


def judge(family, kind, seed=0, draws=DRAWS):
    """The product's findings and what is wrong with them."""
    rng = np.random.default_rng([seed, *map(ord, family + kind)])
    graph = FAMILIES[family](rng)
    signal = SIGNALS[kind](graph, rng)
    weighted = is_weighted(family)
    angular = signal.ndim > 1 and not (np.linalg.norm(signal, axis=1) == 0).any()
    metric = "angular" if angular and rng.random() < 0.5 else "euclidean"
    found = st.diagnose(graph, signal, metric=metric, weights="weight" if weighted else False, seed=seed)
    oracle = Oracle(statistics(graph, weighted), directions(signal) if metric == "angular" else signal, rng, draws)
    return found, oracle, problems(found, oracle)


WORDS = {
    ("pairs", 1): "unlike",
    ("pairs", -1): "alike",
    ("low", 1): "smooth",
    ("high", 1): "rough",
    ("fiedler", 1): "coarse",
}


def problems(found, oracle):
    """Sentences that brute force denies, and what it finds that no sentence says."""
    out = []
    place = {name: index for index, name in enumerate(oracle.names)}
    statistic = {word: name for (name, _), word in WORDS.items()}
    said = {(one.kind, one.hop): one for one in found.significant}
    for (kind, hop), one in said.items():
        index = place[statistic[kind], hop]
        if WORDS.get((statistic[kind], oracle.sign[index])) != kind:
            out.append(f"{kind} at {hop}: brute force has the other sign")
        if oracle.p[index] > 0.05:
            out.append(f"{kind} at {hop}: brute force has p = {oracle.p[index]:.3g}")
        if abs(one.value - oracle.observed[index]) > 1e-8 * abs(oracle.observed[index]):
            out.append(f"{kind} at {hop}: value {one.value}, brute force {oracle.observed[index]}")
        if abs(one.chance - oracle.mean[index]) > 0.2 * abs(oracle.mean[index]):
            out.append(f"{kind} at {hop}: chance {one.chance}, brute force {oracle.mean[index]}")
    for name, index in place.items():
        word = WORDS.get((name[0], oracle.sign[index]))
        if word and oracle.corrected[index] < 0.01 and (word, name[1]) not in said:
            out.append(f"{word} at {name[1]}: no sentence, brute force has corrected p = {oracle.corrected[index]:.3g}")
    toward = {"alike": 1, "smooth": 1, "coarse": 1, "unlike": -1, "rough": -1}
    for hop in {one.hop for one in found.significant}:
        here = [one for one in found.significant if one.hop == hop]
        if len({toward[one.kind] for one in here}) > 1 and len({one.text for one in here}) > 1:
            out.append(f"hop {hop}: findings that point different ways stand in different sentences")
    return out


def smallest_p(family, kind, runs, draws=199, seed=0):
    """Smallest corrected p of each of some signals without structure, and the draws it rests on."""
    rng = np.random.default_rng([7, seed, *map(ord, family + kind)])
    graph = FAMILIES[family](rng)
    strat = st.Stratification(graph, weights="weight" if is_weighted(family) else False)
    signals = [NULLS[kind](len(graph), rng) for _ in range(runs)]
    found = [
        st.diagnose(strat, signal, metric="euclidean", draws=draws, seed=run) for run, signal in enumerate(signals)
    ]
    assert all(bool(one.significant) <= (one.smallest <= 0.05) for one in found)
    return np.array([one.smallest for one in found])


def study(task):
    """One family and kind of signal, for a pool of processes."""
    warnings.simplefilter("ignore")
    family, kind, seed = task
    found, _, wrong = judge(family, kind, seed)
    return family, kind, [one.kind for one in found], len(found.significant), wrong


def null_study(task):
    warnings.simplefilter("ignore")
    family, kind, runs, draws, seed = task
    return family, kind, smallest_p(family, kind, runs, draws, seed)


def run_nulls(given):
    """Print the share of results with any finding, per family and kind; give how many exceed two standard errors."""
    tasks = [(family, kind, given.null, given.draws, given.seed) for family in FAMILIES for kind in NULLS]
    levels, everything, above = (0.05, 0.01), [], 0
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for family, kind, values in pool.map(null_study, tasks):
            everything.append(values)
            shares = [float(np.mean(values <= level)) for level in levels]
            limits = [level + 2 * np.sqrt(level * (1 - level) / len(values)) for level in levels]
            above += sum(share > limit for share, limit in zip(shares, limits, strict=True))
            print(f"{family:15} {kind:10} p <= .05: {shares[0]:.4f}   p <= .01: {shares[1]:.4f}", flush=True)
    values = np.concatenate(everything)
    print(f"{len(values)} results, p <= .05: {np.mean(values <= 0.05):.4f}, p <= .01: {np.mean(values <= 0.01):.4f}; ")
    print(f"{above} of {2 * len(tasks)} shares are more than two standard errors above their level")


def run_study(given):
    """Print the problems of every family and signal; give their number."""
    tasks = [(family, kind, given.seed) for family in FAMILIES for kind in SIGNALS]
    bad, counts = 0, Counter()
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for family, kind, kinds, significant, wrong in pool.map(study, tasks):
            counts.update(kinds)
            bad += len(wrong)
            print(
                f"{family:15} {kind:22} {significant:3} findings", *wrong, sep="\n    " if wrong else "  ", flush=True
            )
    print(f"{len(tasks)} cases, {dict(counts)}, {bad} problems")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--null", type=int, help="signals without structure per family and kind")
    parser.add_argument("--draws", type=int, default=199, help="permutations of each signal without structure")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    sys.exit(bool(run_nulls(given) if given.null else run_study(given)))


if __name__ == "__main__":
    main()
