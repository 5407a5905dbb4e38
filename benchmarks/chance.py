"""Level, power and stability of ``st.diagnose``, ``st.correlogram`` and ``st.rank_columns``.

    python benchmarks/chance.py level 500 > level.csv   # signals that depend on degree alone
    python benchmarks/chance.py tails 20000 > tails.csv # p at .05, .01, .001 on heavy tails
    python benchmarks/chance.py seeds 30 > seeds.csv    # verdicts that differ between seeds
    python benchmarks/chance.py genes 5 > genes.csv     # planted spatial genes: found, and false
    python benchmarks/chance.py functions 40            # 1 over degree on geometric graphs, which is degree alone

Further arguments name graphs. ``level`` uses every core. ``../shared/data/cora.npz`` adds Cora where it is there.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import networkx as nx
import numpy as np

import spectrata as st

DRAWS = 399  # of each call of ``level``: one look; the level does not depend on their number
CORA = Path(__file__).parents[2] / "shared" / "data" / "cora.npz"
GRAPHS: dict[str, Callable[[], nx.Graph]] = {
    "lesmis": nx.les_miserables_graph,
    "karate": nx.karate_club_graph,
    "ba": lambda: nx.barabasi_albert_graph(300, 3, seed=0),
    "powerlaw cluster": lambda: nx.powerlaw_cluster_graph(300, 3, 0.5, seed=0),
    "watts-strogatz": lambda: nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=0),
    "geometric": lambda: nx.random_geometric_graph(300, 0.11, seed=0),
    "lollipop": lambda: nx.lollipop_graph(40, 6),  # nearly explained by the covariates: the nodes of its tail
}
if CORA.is_file():
    GRAPHS["cora"] = lambda: cora()
Maker = Callable[[np.random.Generator, np.ndarray], np.ndarray]
# Independent given degree d: what degree explains, and nothing else.
GIVEN_DEGREE: dict[str, Maker] = {
    "noise": lambda rng, d: rng.normal(size=len(d)),
    "noise times degree": lambda rng, d: d * rng.normal(size=len(d)),
    "noise over degree": lambda rng, d: rng.normal(size=len(d)) / np.maximum(d, 1),
    "degree and noise": lambda rng, d: d + d.std() * rng.normal(size=len(d)),
    "t2 times root degree": lambda rng, d: np.sqrt(d) * rng.standard_t(2, size=len(d)),
    "lognormal of log degree": lambda rng, d: np.exp(np.log1p(d) / 2 + rng.normal(size=len(d))),
    "counts with 90 % zeros": lambda rng, d: rng.poisson(0.105 * d / d.mean()).astype(float),
    "binary": lambda rng, d: (rng.random(len(d)) < 0.5 * d / d.max() + 0.1).astype(float),
}
HEAVY: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "t2": lambda rng, n: rng.standard_t(2, n),
    "spikes": lambda rng, n: rng.permutation(np.r_[np.ones(8), -np.ones(8), np.zeros(n - 16)]),
    "sparse counts": lambda rng, n: rng.poisson(0.1, n).astype(float),
    "differences of counts": lambda rng, n: (rng.poisson(0.1, n) - rng.poisson(0.1, n)).astype(float),
}


def cora() -> nx.Graph:
    """Cora, as the shared data has it."""
    data = np.load(CORA)
    graph = nx.empty_graph(int(data["n_nodes"]))
    graph.add_edges_from(data["edges"].tolist())
    return graph


@cache
def strat_of(name: str, hops: int = 3) -> st.Stratification:
    """The graph of a name, read once in each process."""
    return st.Stratification(GRAPHS[name](), hops, weights=False)


@cache
def hop_driven(name: str) -> dict[str, np.ndarray]:
    """Participation at hops 2 and 3, and closeness, of every node."""
    strat, graph = strat_of(name), nx.convert_node_labels_to_integers(GRAPHS[name]())
    found = {f"participation at {hop}": np.log1p(strat.strata.at(hop).degrees) for hop in (2, 3)}
    closeness = nx.closeness_centrality(graph)
    closeness = np.array([closeness[node] for node in range(len(graph))])
    return found | {"closeness": closeness, "closeness and given too": closeness}


@cache
def level_signals(name: str) -> dict[str, Callable[[np.random.Generator], np.ndarray]]:
    """Makers of signals that are independent given degree, or given participation or closeness."""
    degree = np.diff(strat_of(name).graph.indptr).astype(float)
    found = {kind: partial(make, d=degree) for kind, make in GIVEN_DEGREE.items()}
    for kind, driver in hop_driven(name).items() if name != "cora" else ():
        found[kind] = lambda rng, x=driver: x + x.std() * rng.normal(size=len(x))
    return found


def one_level(name: str, kind: str, seed: int) -> tuple[bool, np.ndarray]:
    """Whether a call has any line beyond degree, and the p_given of its tests."""
    values = level_signals(name)[kind](np.random.default_rng([seed, 7]))
    given = ["degree", hop_driven(name)["closeness"]] if kind.endswith("given too") else "degree"
    frame = st.diagnose(strat_of(name), values, columns="joint", given=given, seed=seed, draws=DRAWS).to_frame()
    tests = frame[frame["statistic"] != ""]
    return bool(tests["beyond_degree"].any()), tests["p_given"].to_numpy(float)


def level(count: int, names: list[str]) -> None:
    """Share of calls with a line beyond degree (at most .08; driven by hops .15), and of cells with p_given <= .05."""
    print("graph,signal,calls,any_beyond_degree,cells,cells_p_given,worst_cell")
    with ProcessPoolExecutor() as pool:
        for name in names:
            calls = max(1, 2 * count // 5) if name == "cora" else count
            for kind in level_signals(name):
                rows = list(pool.map(partial(one_level, name, kind), range(calls), chunksize=4))
                width = max(len(p) for _, p in rows)  # statistics and hops; a constant signal has r alone
                cells = np.array([p for _, p in rows if len(p) == width])  # (calls, width)
                known = np.isfinite(cells)
                each = np.sum(cells <= 0.05, axis=0) / np.maximum(known.sum(axis=0), 1)
                shares = f"{known.sum()},{np.sum(cells <= 0.05) / max(known.sum(), 1):.3f},{each.max():.3f}"
                print(f"{name},{kind},{calls},{np.mean([any_ for any_, _ in rows]):.3f},{shares}", flush=True)


def tails(count: int, names: list[str]) -> None:
    """Share of cells with p at most .05, .01, .001 on heavy-tailed noise, and the excess in standard errors."""
    print("graph,nodes,signal,cells,level,share,ratio,standard_errors")
    for shape in ((10, 20), (25, 40), (50, 100)):
        n = shape[0] * shape[1]
        graphs = {
            "torus": nx.convert_node_labels_to_integers(nx.grid_2d_graph(*shape, periodic=True)),
            "ba": nx.barabasi_albert_graph(n, 3, seed=0),
            "geometric": nx.random_geometric_graph(n, np.sqrt(8 / (np.pi * n)), seed=0),  # mean degree about 8
        }
        for graph_name, graph in graphs.items():
            if graph_name not in names:
                continue
            strat = st.Stratification(graph, 1)
            for kind, make in HEAVY.items():
                rng = np.random.default_rng(1)
                table = np.column_stack([make(rng, n) for _ in range(count)])
                table = table[:, table.std(axis=0) > 0]
                p = st.correlogram(strat, table, columns="separate", given=None)["p"].values.ravel()
                for at in (0.05, 0.01, 0.001):
                    share, error = np.mean(p <= at), np.sqrt(at * (1 - at) / len(p))
                    numbers = f"{share:.5f},{share / at:.2f},{(share - at) / error:.1f}"
                    print(f"{graph_name},{n},{kind},{len(p)},{at},{numbers}", flush=True)


def data_sets() -> Iterator[tuple[str, str, object]]:
    """Ten graphs with signals, as (name, graph, signal)."""
    for name in ("karate", "lesmis", "ba", "watts-strogatz", "geometric"):
        graph = GRAPHS[name]()
        labels = list(graph)
        yield name, "degree", dict(graph.degree)
        rng = np.random.default_rng(3)
        smooth = nx.to_numpy_array(graph, weight=None) + np.eye(len(graph))
        smooth /= smooth.sum(axis=1, keepdims=True)
        noise = rng.normal(size=len(graph))
        yield name, "weak pattern", dict(zip(labels, (noise + 1.5 * (smooth @ smooth @ noise)).tolist(), strict=True))


def seeds(count: int, names: list[str]) -> None:
    """Verdicts that differ between seeds though no seed marks them as near the level; and the share that is marked."""
    print("graph,signal,verdicts,flipped,marked_near")
    for name, kind, values in data_sets():
        if name not in names:
            continue
        found = [st.correlogram(strat_of(name), values, seed=seed) for seed in range(count)]
        verdicts = np.array([one["verdict"].values for one in found])
        near = np.array([one["near_level"].values for one in found])
        flips = (verdicts != verdicts[0]).any(axis=0) & ~near.any(axis=0)
        print(f"{name},{kind},{verdicts.size},{int(flips.sum())},{near.mean():.3f}", flush=True)


def genes(count: int, names: list[str]) -> None:
    """Planted genes, 30 of 300 columns on 2,000 spots: those found at q <= .05, and those found falsely."""
    del names
    print("seed,found_of_30,false_of_270")
    for seed in range(count):
        rng = np.random.default_rng(seed)
        xy = rng.random((2000, 2))
        graph = nx.random_geometric_graph(2000, 0.035, pos=dict(enumerate(xy)), seed=0)
        waves = np.sin(2 * np.pi * (xy @ rng.normal(size=(2, 30)) * 1.5 + rng.random(30)))
        rates = np.full((2000, 300), 1.0)
        rates[:, :30] = np.exp(0.35 * waves)
        ranked = st.rank_columns(graph, rng.poisson(rates).astype(float), hops=1)
        frame = ranked.to_frame() if hasattr(ranked, "to_frame") else ranked
        chosen = set(frame.loc[frame["q"] <= 0.05, "column"].astype(int))
        print(f"{seed},{len([c for c in chosen if c < 30])},{len([c for c in chosen if c >= 30])}", flush=True)


def functions(count: int, names: list[str]) -> None:
    """Share of geometric graphs on which 1 over degree, which the covariates do not contain, has a line beyond them."""
    found = []
    for seed in range(count):
        graph = nx.random_geometric_graph(200, 0.12, seed=seed)
        graph.remove_nodes_from([*nx.isolates(graph)])
        inverse = {node: 1 / degree for node, degree in graph.degree()}
        found.append([any(one.beyond_degree for one in st.diagnose(graph, inverse, hops=hops)) for hops in (1, 3)])
    print("graphs,hops 1,hops 1 to 3")
    print(f"{count},{','.join(f'{share:.3f}' for share in np.mean(found, axis=0))}")


def main() -> None:
    """Run the study that is asked for."""
    study, count, *only = sys.argv[1:]
    warnings.simplefilter("ignore")
    {"level": level, "tails": tails, "seeds": seeds, "genes": genes, "functions": functions}[study](
        int(count), only or list(GRAPHS) + ["torus"] * (study == "tails")
    )


if __name__ == "__main__":
    main()
