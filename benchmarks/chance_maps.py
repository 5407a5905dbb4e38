"""Level and power of ``st.agree`` and ``st.local``: how often independent maps get a finding.

    python benchmarks/chance_maps.py agree 100 > agree.csv
    python benchmarks/chance_maps.py local 200 > local.csv

Prints one line per graph and kind of map, with the share of calls that report a finding. Level: at most .08.
"""

import sys
import warnings

import networkx as nx
import numpy as np

import spectrata as st
from spectrata.stats.nulls.surrogates import LEAST_EFFECTIVE

DRAWS = 399  # one look: the level does not depend on their number
GRAPHS = {
    "lesmis": nx.les_miserables_graph,
    "grid": lambda: nx.convert_node_labels_to_integers(nx.grid_2d_graph(15, 15)),
    "ba": lambda: nx.barabasi_albert_graph(300, 3, seed=0),
    "watts-strogatz": lambda: nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=0),
    "geometric": lambda: largest_part(nx.random_geometric_graph(300, 0.11, seed=0)),
    "powerlaw cluster": lambda: nx.powerlaw_cluster_graph(300, 3, 0.5, seed=0),
}
KINDS = {"heat": (0.5, 2.0, 8.0), "walk": (1, 3, 10), "process": (0.5, 2.0, 8.0)}
MAP_KINDS = ("normal", "noise times degree", "noise over degree", "t2 times root degree", "degree and noise", "counts")


def largest_part(graph: nx.Graph) -> nx.Graph:
    """The largest connected part, nodes numbered."""
    return nx.convert_node_labels_to_integers(graph.subgraph(max(nx.connected_components(graph), key=len)))


def smoother(graph: nx.Graph, kind: str, much: float) -> np.ndarray:
    """A matrix that makes a smooth map of independent noise."""
    w = nx.to_numpy_array(graph, weight=None)
    d = w.sum(axis=1)
    if kind == "walk":  # the mean over a node and its neighbours, repeated
        return np.linalg.matrix_power((w + np.eye(len(w))) / (d + 1)[:, None], int(much))
    values, vectors = np.linalg.eigh(np.diag(d) - w)
    mean = d.mean()
    process = 1 / (1 + much * values / mean)  # a Gaussian process with a Matern spectrum
    gain = np.exp(-much * values / mean) if kind == "heat" else process
    return vectors * gain @ vectors.T


def agree_rates(count: int) -> None:
    """False findings of agree on independent maps, and its power beside them."""
    print("graph,map,smoothness,judged,too_smooth,level_hop0,level_any,level_permutation,power")
    for name, make in GRAPHS.items():
        strat = st.Stratification(make(), 1, weights=False)
        for kind, smoothness in KINDS.items():
            for much in smoothness:
                print(
                    f"{name},{kind},{much}," + ",".join(_agree(strat, smoother(make(), kind, much), count)), flush=True
                )


def _agree(strat: st.Stratification, matrix: np.ndarray, count: int) -> list[str]:
    rng = np.random.default_rng(7)
    zero, either, plain, power, judged = [], [], [], [], 0
    for _ in range(count):
        a, b, c = (matrix @ rng.standard_normal((len(matrix), 3))).T
        found = st.agree(strat, a, b, draws=DRAWS)
        if found.attrs["effective"] < LEAST_EFFECTIVE:
            continue
        judged += 1
        rejected = found["p_family"].values <= 0.05
        zero.append(found["p"].values[0] <= 0.05)
        either.append(rejected.any())
        plain.append(st.agree(strat, a, b, null="permutation", draws=199)["p"].values[0] <= 0.05)
        both = a / a.std() + c / c.std()  # half of the variance is shared
        shared = st.agree(strat, a, both, draws=DRAWS)
        power.append(shared["p"].values[0] <= 0.05)
    rates = [f"{np.mean(one):.3f}" if judged else "" for one in (zero, either, plain, power)]
    return [str(judged), str(count - judged), *rates]


def signal_of(kind: str, degree: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A signal that is independent given degree."""
    noise = rng.standard_normal(len(degree))
    made = {
        "normal": noise,
        "noise times degree": noise * degree,
        "noise over degree": noise / degree,
        "t2 times root degree": rng.standard_t(2, len(degree)) * np.sqrt(degree),
        "degree and noise": np.log(degree) + noise,
        "counts": rng.poisson(0.3 * degree / degree.mean()).astype(float),
    }
    return made[kind]


def local_rates(count: int) -> None:
    """Share of maps of local with a finding, and of nodes that the free draws alone would report."""
    print("graph,signal,maps_with_a_finding,nodes_by_free_draws")
    for name, make in GRAPHS.items():
        graph = make()
        strat = st.Stratification(graph, 1, weights=False)
        degree = np.array([d for _, d in graph.degree], dtype=float)
        for kind in MAP_KINDS:
            rng = np.random.default_rng(11)
            maps, nodes = [], []
            for number in range(count):
                found = st.local(strat, signal_of(kind, degree, rng), seed=number, draws=DRAWS)
                words = found["verdict"].values
                maps.append(
                    np.isin(words, ["high among high", "low among low", "high among low", "low among high"]).any()
                )
                nodes.append(np.mean(found["q"].values <= 0.05))
            print(f"{name},{kind},{np.mean(maps):.3f},{np.mean(nodes):.3f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"agree": agree_rates, "local": local_rates}[sys.argv[1]](int(sys.argv[2]))
