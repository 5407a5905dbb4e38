"""Store the results of varied calls and compare them with those of another version, to see what a rewrite changed.

    python tools/stored_results.py store before.npz            # in the old checkout
    python tools/stored_results.py compare before.npz          # in the new one; exit code 1 where a value differs

Every call is made from its number, so that both versions make the same ones. Values may differ by ``TOLERANCE`` of
the largest in their array; a call that raises an error in one version only counts as a difference.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import spectrata as st

CALLS = 500
TOLERANCE = 1e-12
SINGLE = 1e-6  # the same for calls in single precision, whose unit is 1.2e-7

warnings.simplefilter("ignore")


def graph_of(rng: np.random.Generator) -> nx.Graph:
    """A graph of 8 to 60 nodes: connected or not, with hubs, trees or isolated nodes; half of them have weights."""
    n, seed = int(rng.integers(8, 60)), int(rng.integers(1 << 30))
    makers: list[Callable[[], nx.Graph]] = [
        lambda: nx.gnp_random_graph(n, 0.15, seed=seed),
        lambda: nx.barabasi_albert_graph(n, 2, seed=seed),
        lambda: nx.watts_strogatz_graph(n, 4, 0.3, seed=seed),
        lambda: nx.random_geometric_graph(n, 0.3, seed=seed),
        lambda: nx.disjoint_union(nx.gnp_random_graph(n, 0.2, seed=seed), nx.path_graph(5)),
        lambda: nx.random_labeled_tree(n, seed=seed),
    ]
    graph = makers[int(rng.integers(len(makers)))]()
    if graph.number_of_edges() == 0:
        graph.add_edge(0, 1)
    for _, _, facts in graph.edges(data=True):
        facts.clear()
        facts["strength"] = float(rng.uniform(0.2, 3))
    return graph


def signal_of(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers, vectors, snapshots, counts, a shifted or a heavy-tailed signal."""
    kind = int(rng.integers(6))
    shape = [(n,), (n, 3), (3, n, 2), (n,), (n,), (n,)][kind]
    values = rng.normal(size=shape)
    return [values, values, values, rng.poisson(1.0, n).astype(float), values + 100, rng.standard_t(2, n)][kind]


def calls(number: int) -> tuple[str, Callable[[], Any]]:
    """The call with this number: its name, and what makes it."""
    rng = np.random.default_rng([20261118, number])
    graph = graph_of(rng)
    n = graph.number_of_nodes()
    signal = signal_of(rng, n)
    flat = rng.normal(size=n)
    classes = [f"class {one}" for one in rng.integers(3, size=n)]
    weights: Any = "strength" if rng.random() < 0.5 else False
    hops = [1, 2, [2], None][int(rng.integers(4))]
    how: dict[str, Any] = {"hops": hops, "weights": weights}
    operator = [{}, {"laplacian": "random_walk"}, {"laplacian": "random_walk", "self_loops": True}][
        int(rng.integers(3))
    ]
    metric = ["auto", "euclidean"][int(rng.integers(2))]
    draws = {"draws": 199, "seed": number}
    names = {
        "spectra": lambda: st.spectra(graph, signal, metric=metric, **how, **operator),
        "spectra normalized": lambda: st.spectra(
            graph, signal, algorithms="gft", laplacian="normalized", metric=metric, **how
        ),
        "spectra ens": lambda: st.spectra(graph, flat, algorithms=["ens", "ens_raw", "ln_vx"], hops=1, weights=False),
        "spectra separate": lambda: st.spectra(graph, rng.normal(size=(n, 3)), columns="separate", **how),
        "preset paper": lambda: st.spectra(graph, flat, preset="paper", hops=1, weights=False),
        "stratification": lambda: st.Stratification(
            graph, hops, weights=weights, hop_weights=["product", "unit"][number % 2], **operator
        ).spectra(signal, metric=metric),
        "n_eigs": lambda: st.Stratification(graph, 1, weights=weights, n_eigs=5).spectra(flat),
        "float32": lambda: st.Stratification(graph, 1, weights=weights, dtype="float32").spectra(flat),
        "distance": lambda: st.Stratification(graph, distance="strength", bins=[0, 1, 2, 4]).spectra(flat),
        "positions": lambda: st.Stratification.from_positions(rng.normal(size=(n, 2)), bins=[0, 0.5, 1]).spectra(flat),
        "tensor": lambda: _tensor(graph, flat, weights),
        "bands": lambda: st.band_spectra(graph, flat, 4, hops=1, weights=weights),
        "many": lambda: _many(rng),
        "filter": lambda: st.filter_signal(graph, flat, band=(None, 1.0), weights=weights),
        "node energy": lambda: st.node_energy(graph, flat, bands=3, hops=1, weights=weights),
        "smoothness": lambda: st.smoothness(graph, signal, metric=metric, **how),
        "off zero": lambda: st.off_zero(st.spectra(graph, signal, **how)),
        "merge": lambda: st.merge_eigenspaces(st.spectra(graph, flat, **how)),
        "summary": lambda: st.summary(st.spectra(graph, flat, **how)),
        "table": lambda: st.to_table(st.spectra(graph, flat, **how)),
        "response": lambda: st.response(st.spectra(graph, flat, **how), st.spectra(graph, 0.5 * flat + 1, **how)),
        "file": lambda: _file(st.spectra(graph, signal, **how)),
        "correlogram": lambda: st.correlogram(graph, flat, **how, **draws)[["r", "participation", "n_pairs"]],
        "homophily": lambda: st.homophily(graph, classes, **how, **draws)[["r"]],
        "local": lambda: st.local(graph, flat, hops=1, weights=weights, **draws)[["r"]],
        "decoupling": lambda: (
            st.decoupling(graph, flat, weights=weights, draws=0)
            if nx.is_connected(graph)
            else st.smoothness(graph, flat, **how)
        ),
    }
    name = list(names)[number % len(names)]
    return f"{number:03d} {name}", names[name]


def _tensor(graph: nx.Graph, flat: np.ndarray, weights: Any) -> Any:
    import torch

    return st.spectra(graph, torch.as_tensor(flat), hops=1, weights=weights)


def _many(rng: np.random.Generator) -> Any:
    pairs = []
    for _ in range(4):
        graph = graph_of(rng)
        pairs.append((graph, rng.normal(size=graph.number_of_nodes())))
    return st.spectra_many(pairs, hops=2, weights=False)


def _file(ds: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        st.save(ds, Path(folder) / "a.nc")
        return st.open(Path(folder) / "a.nc").load()


def numbers_of(result: Any) -> dict[str, np.ndarray]:
    """Every array of numbers that a result holds, by name."""
    if hasattr(result, "data_vars"):
        found = {str(name): result[name].values for name in {**result.data_vars, **result.coords}}
    elif hasattr(result, "select_dtypes"):
        found = {str(name): result[name].to_numpy() for name in result.select_dtypes("number")}
    else:
        found = {"value": np.asarray(result)}
    return {name: np.asarray(value) for name, value in found.items() if np.asarray(value).dtype.kind in "fiub"}


def results() -> dict[str, np.ndarray]:
    """All calls; ``error`` where a call raises one."""
    found: dict[str, np.ndarray] = {}
    for number in range(CALLS):
        name, call = calls(number)
        try:
            found |= {f"{name}/{key}": value for key, value in numbers_of(call()).items()}
        except Exception as problem:
            found[f"{name}/error"] = np.array(type(problem).__name__)
    return found


def differences(before: Any, after: dict[str, np.ndarray]) -> list[str]:
    """One line for each array that is not the same."""
    lines = []
    for name in sorted({*before} | {*after}):
        if name not in before or name not in after:
            lines.append(f"{name}: only {'after' if name in after else 'before'}")
            continue
        old, new = before[name], after[name]
        if old.shape != new.shape or old.dtype.kind in "US":
            if old.shape != new.shape or str(old) != str(new):
                lines.append(f"{name}: {old.shape} {new.shape}")
            continue
        old, new = old.astype(float), new.astype(float)
        if (np.isnan(old) != np.isnan(new)).any():
            lines.append(f"{name}: NaN elsewhere")
        elif old.size:
            scale = np.nanmax(np.abs(old), initial=0.0)
            worst = np.nanmax(np.abs(np.where(old == new, 0.0, old - new)), initial=0.0)
            if worst > (SINGLE if "float32" in name else TOLERANCE) * max(scale, 1e-300):
                lines.append(f"{name}: differs by {worst:.2g}, largest value {scale:.2g}")
    return lines


def main() -> int:
    """Store or compare."""
    task, path = sys.argv[1:]
    found = results()
    made = {name.split("/")[0] for name in found}
    failed = {name.split("/")[0] for name in found if name.endswith("/error")}
    print(f"{len(made)} calls, {len(found):,} arrays, {len(failed)} calls with an error")
    if task == "store":
        np.savez_compressed(path, **found)
        return 0
    with np.load(path, allow_pickle=False) as before:
        lines = differences({name: before[name] for name in before.files}, found)
    changed = {line.split("/")[0] for line in lines}
    print(f"{len(made) - len(changed)} calls give the same values")
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
