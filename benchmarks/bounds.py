"""Whether the bounds of band_spectra contain the truth.

    python benchmarks/bounds.py runs [--runs 10000] [--seed 0] [--jobs 2] [--single]
    python benchmarks/bounds.py lattices [--nodes 1000000] [--kind torus]
    python benchmarks/bounds.py coverage [--repetitions 300]

``runs``: random graphs, signals, Laplacians, tolerances and bands; every cumulative share against a dense
decomposition made here. Half of the runs use recurrences on small graphs too, where the default is a decomposition.
With ``--single`` the vectors of recurrences are stored in single precision, as they are on a GPU, and a run that needs
double precision is repeated in it.
``lattices``: tori and grids, whose eigenvalues and eigenvectors are known in closed form.
``coverage``: how often intervals of apprx_ls hold the mean over all orientations.
"""

import argparse
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import networkx as nx
import numpy as np

import spectrata as st
from spectrata.bands import exact, operators
from spectrata.inputs.graphs import as_graph

ON_EDGE = 2e-10  # of the largest eigenvalue: what lies this close above an edge lies on it
ALLOWED = 1e-9  # of the energy off zero
TOLERANCES = (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6)
LAPLACIANS = (("combinatorial", False),) * 3 + (("random_walk", False), ("random_walk", True), ("normalized", True))
KINDS = {
    "random": lambda n, rng: nx.fast_gnp_random_graph(n, min(1.0, rng.uniform(0.5, 8) / n), seed=_seed(rng)),
    "hubs": lambda n, rng: nx.barabasi_albert_graph(max(n, 4), 2, seed=_seed(rng)),
    "tree": lambda n, rng: nx.random_labeled_tree(n, seed=_seed(rng)),
    "path": lambda n, rng: nx.path_graph(n),
    "ring": lambda n, rng: nx.cycle_graph(max(n, 3)),
    "star": lambda n, rng: nx.star_graph(n - 1),
    "complete": lambda n, rng: nx.complete_graph(min(n, 60)),
    "grid": lambda n, rng: nx.grid_2d_graph(max(2, int(n**0.5)), max(2, int(n**0.5))),
    "cube": lambda n, rng: nx.hypercube_graph(min(8, max(1, int(np.log2(n))))),
    "caves": lambda n, rng: nx.connected_caveman_graph(max(2, n // 6), 6),
    "barbell": lambda n, rng: nx.barbell_graph(max(3, min(n // 3, 40)), max(0, n // 3)),
    "islands": lambda n, rng: nx.disjoint_union_all(
        [
            nx.cycle_graph(max(3, n // 6)),
            nx.path_graph(max(2, n // 6)),
            nx.star_graph(max(1, n // 6)),
            nx.empty_graph(3),
        ]
    ),
}


def _seed(rng):
    return int(rng.integers(2**31))


def dense_truth(graph, t, laplacian, self_loops, algorithms):
    """Eigenvalues off zero and energies, straight from the definitions: ``(n,)`` and ``(algorithm, n)``."""
    n = graph.n_nodes
    x, y = graph.edges.T
    w = np.ones(len(x)) if graph.weights is None else graph.weights
    matrix = np.zeros((n, n))
    matrix[x, y] = matrix[y, x] = w
    degree = matrix.sum(axis=0)
    c = np.where(degree > 0, degree + self_loops, 1.0) if laplacian != "combinatorial" else np.ones(n)
    root = np.sqrt(c)
    values, vectors = np.linalg.eigh((np.diag(degree) - matrix) / np.outer(root, root))
    parts = nx.number_connected_components(nx.from_numpy_array(matrix))
    off = np.arange(n) >= parts
    g = np.linalg.norm(t[x] - t[y], axis=1)
    energies = []
    for name in algorithms:
        if name == "gft":  # a mean lies at 0 unless "normalized", and costs digits elsewhere
            coefficients = vectors.T @ (t if laplacian == "normalized" else root[:, None] * (t - t.mean(axis=0)))
        elif name == "in_agg":
            sums = np.bincount(x, w * g, n) + np.bincount(y, w * g, n)
            mean = np.divide(sums, degree, out=np.zeros(n), where=degree > 0)
            coefficients = vectors.T @ (root * mean)[:, None]
        else:  # apprx_ls, edges from lower to higher rows
            divergence = np.bincount(x, w * g, n) - np.bincount(y, w * g, n)
            projected = vectors.T @ (divergence / root)
            coefficients = np.divide(projected, values, out=np.zeros(n), where=off)[:, None]
        energies.append(np.where(off, np.sum(coefficients**2, axis=1), 0.0))
    return values, off, np.array(energies)


def draw_case(rng, most=3000):
    """One random run: a graph, a signal and the arguments of the call."""
    kind = list(KINDS)[rng.integers(len(KINDS))]
    largest = min(most, 300 if rng.random() < 0.97 else 3000)
    n = int(np.exp(rng.uniform(np.log(2), np.log(largest))))
    plain = nx.convert_node_labels_to_integers(KINDS[kind](n, rng))
    if plain.number_of_edges() == 0:
        plain.add_edge(0, plain.number_of_nodes())
    weights = None
    if rng.random() < 0.4:
        spread = rng.uniform(0, 2)
        weights = 10 ** rng.uniform(-spread, spread, plain.number_of_edges())
    graph = as_graph(plain, weights=weights)
    n, d = graph.n_nodes, int(rng.integers(1, 5))
    laplacian, self_loops = LAPLACIANS[rng.integers(len(LAPLACIANS))]
    signal = draw_signal(graph, d, rng)
    asked = {"laplacian": laplacian, "self_loops": self_loops, "metric": "euclidean"}
    asked["apprx_ls"] = {"orientation": "index"}
    asked |= {"tol": float(rng.choice(TOLERANCES)), "seed": int(rng.integers(1000))}
    if laplacian == "normalized":
        asked["algorithms"] = ["gft"]
    elif rng.random() < 0.7:
        asked["algorithms"] = ["gft", "in_agg"]
    else:
        asked["algorithms"] = ["gft", "in_agg", "apprx_ls"]
    return kind, graph, signal, asked


def draw_signal(graph, d, rng):
    """Noise, noise smoothed along the edges, a spike, or steps; with and without a large mean."""
    n = graph.n_nodes
    signal = rng.standard_normal((n, d))
    which = rng.integers(4)
    if which == 1:
        x, y = graph.edges.T
        for _ in range(int(rng.integers(1, 20))):
            sums = np.zeros((n, d))
            np.add.at(sums, x, signal[y])
            np.add.at(sums, y, signal[x])
            signal = (signal + sums) / (1 + np.bincount(graph.edges.ravel(), minlength=n))[:, None]
    elif which == 2:
        signal = np.zeros((n, d))
        signal[rng.integers(n, size=d), np.arange(d)] = 1.0
    elif which == 3:
        signal = np.repeat((np.arange(n) < n // 2).astype(float)[:, None], d, axis=1) * rng.standard_normal(d)
    return signal + 10.0 ** rng.integers(-1, 3) * (rng.random() < 0.3)


def draw_bands(values, off, rng):
    """Bands of all kinds: numbers with each spacing; edges anywhere, on eigenvalues, on whole numbers, above 0."""
    which = rng.integers(8)
    top = values[-1]
    if which < 4:
        return {"bands": int(rng.integers(1, 33)), "spacing": ["log", "log", "width", "count"][which]}
    count = int(rng.integers(1, 9))
    if which == 4:
        edges = rng.uniform(0, 1.1 * top, count)
    elif which == 5:
        edges = rng.choice(values[off], count)
    elif which == 6:
        edges = rng.integers(1, int(top) + 2, count).astype(float)
    else:
        edges = np.append(rng.choice(values[off], count), rng.uniform(0, top, count))
    spaced = np.unique(edges)
    spaced = spaced[np.append(True, np.diff(spaced) > 1e-6 * top)]
    start = [0.0] if rng.random() < 0.7 else []
    spaced = np.unique(np.concatenate([start, spaced, [1.2 * top] if rng.random() < 0.7 or len(spaced) < 2 else []]))
    return {"bands": spaced if len(spaced) > 1 else np.append(0.0, spaced)}


def one_run(seed, recurrence, most=3000):
    """One run against the truth: a row of facts per algorithm."""
    rng = np.random.default_rng([seed, 5])
    kind, graph, signal, asked = draw_case(rng, most)
    values, off, energies = dense_truth(graph, signal, asked["laplacian"], asked["self_loops"], asked["algorithms"])
    asked |= draw_bands(values, off, rng)
    kept, exact.EXACT_NODES = exact.EXACT_NODES, 0 if recurrence else exact.EXACT_NODES
    start = time.perf_counter()
    try:
        on_graph = {name: asked.pop(name) for name in ("laplacian", "self_loops", "hop_weights") if name in asked}
        strat = st.Stratification(graph, asked.pop("hops", [1]), **on_graph)
        found = st.band_spectra(strat, signal, **asked)
        asked |= on_graph
    finally:
        exact.EXACT_NODES = kept
    seconds = time.perf_counter() - start
    edges = np.append(found["band_lower"].values[0][:1], found["band_upper"].values[0])
    rows = []
    for name, energy in zip(asked["algorithms"], energies, strict=True):
        one = found.sel(algorithm=name, hop=1)
        total, status = energy.sum(), str(one["status"].values)
        row = {"seed": seed, "kind": kind, "n": graph.n_nodes, "algorithm": name, "recurrence": recurrence}
        row |= {"tol": asked["tol"], "status": status, "seconds": seconds, "steps": int(one["steps"])}
        everything = total + float(one["zero_energy"])
        if status == "no energy off zero" or total <= 1e-12 * everything:
            rows.append(row | {"outside": 0.0, "half": 0.0, "shift": 0.0, "empty": True})
            continue
        share = np.array([energy[values <= edge + ON_EDGE * values[-1]].sum() for edge in edges]) / total
        lower, upper = one["cumulative_lower"].values, one["cumulative_upper"].values
        if isinstance(asked["bands"], int):
            share[-1] = 1.0
        outside = np.maximum(lower - share[1:], share[1:] - upper).max()
        error = np.abs(one["energy"].values / total - np.diff(share)).max()
        rows.append(row | {"outside": outside, "half": (upper - lower).max() / 2, "shift": error, "empty": False})
    return rows


def judge(rows, say=print):
    """Print what the rows show, and whether it is what was promised."""
    outside = [row for row in rows if row["outside"] > ALLOWED]
    wrong = [row for row in rows if row["status"] == "ok" and row["half"] > row["tol"] * (1 + 1e-9)]
    far = [row for row in rows if row["status"] == "ok" and row["shift"] > 2 * row["tol"] + ALLOWED]
    asked = [row for row in rows if row["tol"] >= 1e-3 and not row["empty"]]
    ok = sum(row["status"] == "ok" for row in asked)
    recurrences, empty = (sum(row[name] for row in rows) for name in ("recurrence", "empty"))
    worst = max(row["outside"] for row in rows)
    say(f"{len(rows)} values, {recurrences} by recurrences; {empty} without energy off zero")
    say(f"outside their bounds by more than {ALLOWED:g}: {len(outside)}, worst {worst:.2e}")
    say(f"ok, and bounds wider than tol: {len(wrong)}; ok, and a band off by more than 2 tol: {len(far)}")
    say(f"tol >= 1e-3: {ok} of {len(asked)} ok ({ok / max(1, len(asked)):.2%})")
    by = [row for row in asked if row["recurrence"]]
    say(f"    by recurrences: {sum(row['status'] == 'ok' for row in by) / max(1, len(by)):.2%}")
    for row in sorted(outside, key=lambda row: -row["outside"])[:10]:
        say(f"    {row}")
    bad = [row for row in by if row["status"] != "ok"]
    say(f"    not ok: {Counter((row['kind'], row['algorithm']) for row in bad).most_common(8)}")
    for row in bad[:8]:
        say(f"    seed {row['seed']}, {row['n']} nodes, {row['algorithm']}: {row['status']}")
    return not outside and not wrong and not far and ok >= 0.9 * len(asked)


def _of_seed(seed):
    return one_run(seed, seed % 2 == 1)


def runs(count, seed, jobs):
    rows, start = [], time.perf_counter()
    with ProcessPoolExecutor(jobs) as pool:
        for index, found in enumerate(pool.map(_of_seed, range(seed, seed + count), chunksize=10)):
            rows += found
            if (index + 1) % 500 == 0:
                print(f"{index + 1} runs, {time.perf_counter() - start:.0f} s", flush=True)
                judge(rows)
    print("as promised" if judge(rows) else "NOT as promised")
    slowest = max(rows, key=lambda row: row["seconds"])
    print(f"slowest: {slowest}")


def lattice_edges(side, torus):
    """Edges of a square lattice, and its eigenvalues off the diagonal order of its transform: ``(side, side)``."""
    rows = np.arange(side * side).reshape(side, side)
    pairs = [(rows[1:], rows[:-1]), (rows[:, 1:], rows[:, :-1])]
    if torus:
        pairs += [(rows[0], rows[-1]), (rows[:, 0], rows[:, -1])]
    edges = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
    angle = (2 if torus else 1) * np.pi * np.arange(side) / side
    return edges, 4 - 2 * np.cos(angle)[:, None] - 2 * np.cos(angle)


def lattices(nodes, tol=0.01, say=print, kinds=("torus", "grid")):
    """Tori and grids against their closed-form spectra; gives the largest step outside the bounds."""
    from scipy.fft import dctn, fft2

    rng, worst = np.random.default_rng(0), 0.0
    side = int(nodes**0.5)
    for torus in [kind == "torus" for kind in kinds]:
        edges, values = lattice_edges(side, torus)
        graph = as_graph(edges=edges, n_nodes=side * side)
        x, y = np.meshgrid(np.arange(side) / side, np.arange(side) / side)
        noise = rng.standard_normal((side, side))
        signals = {"noise": noise, "wave": np.sin(2 * np.pi * (3 * x + y)) + 0.1 * noise, "half": (x < 0.5) + 0.0}
        for name, signal in signals.items():
            energy = np.abs(fft2(signal)) ** 2 / signal.size if torus else dctn(signal, norm="ortho") ** 2
            energy[0, 0] = 0.0
            for spacing in ("log", "width", "count"):
                start = time.perf_counter()
                asked = {"bands": 32, "spacing": spacing, "algorithms": "gft", "tol": tol}
                found = st.band_spectra(graph, signal.ravel(), **asked).sel(algorithm="gft", hop=1)
                seconds = time.perf_counter() - start
                cut = found["band_upper"].values[:-1]
                share = np.array([energy[values <= edge + ON_EDGE * 8].sum() for edge in cut]) / energy.sum()
                lower, upper = (found[f"cumulative_{side_}"].values[:-1] for side_ in ("lower", "upper"))
                outside = float(np.maximum(lower - share, share - upper).max())
                counts = np.histogram(values[values > 1e-14], np.append(0.0, np.append(cut, 9.0)))[0]
                off = np.abs(found["band_size"].values - counts)
                within = float(np.mean(off <= 2 * found["band_size_error"].values + 1e-6))
                worst, fullest = max(worst, outside), counts.max() / counts.sum()
                say(
                    f"{'torus' if torus else 'grid'} {side} x {side}, {name}, {spacing}: {found['status'].values}, "
                    f"outside by {outside:.1e}, ±{(upper - lower).max() / 2:.4f}, {int(found['steps'])} steps, "
                    f"{seconds:.1f} s; sizes within two errors {within:.2f}, fullest band {fullest:.2f}"
                )
    return worst


def coverage(repetitions, say=print):
    """How often the 95 % intervals of apprx_ls hold the mean over all orientations; the share pooled over bands."""
    rng, pooled = np.random.default_rng(0), []
    graphs = {
        "random": nx.fast_gnp_random_graph(120, 5 / 120, seed=1),
        "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(10, 12)),
        "hubs": nx.barabasi_albert_graph(120, 3, seed=2),
    }
    kept = exact.EXACT_NODES
    for name, graph in graphs.items():
        for orientations in (4, 8):
            inside = []
            for seed in range(repetitions):
                signal = rng.standard_normal((len(graph), 3))
                bands = {"bands": 12, "spacing": ("log", "width", "count")[seed % 3]}
                asked = {"algorithms": "apprx_ls", "tol": 1e-5, "seed": seed}
                asked["apprx_ls"] = {"orientations": orientations}
                truth = st.band_spectra(graph, signal, **bands, **asked)
                cut = np.append(truth["band_lower"].values[0], truth["band_upper"].values[0, -1])
                exact.EXACT_NODES = 0
                try:
                    found = st.band_spectra(graph, signal, bands=cut, **asked)
                finally:
                    exact.EXACT_NODES = kept
                held = (found["energy_lower"] <= truth["energy"]) & (truth["energy"] <= found["energy_upper"])
                inside.append(held.values[0, 0][truth["band_size"].values[0] > 0])
            share = np.concatenate(inside).mean()
            pooled.append(share)
            say(f"{name}, {orientations} orientations: {share:.4f} of {sum(map(len, inside))} intervals")
    say(f"pooled: {np.mean(pooled):.4f}")
    return float(np.mean(pooled))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("runs")
    one.add_argument("--runs", type=int, default=10_000)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--jobs", type=int, default=2)
    one.add_argument("--single", action="store_true")
    one = commands.add_parser("lattices")
    one.add_argument("--nodes", type=int, default=1_000_000)
    one.add_argument("--kind", action="append", choices=["torus", "grid"], help="both without it")
    one = commands.add_parser("coverage")
    one.add_argument("--repetitions", type=int, default=300)
    given = parser.parse_args()
    if given.command == "runs" and given.single:
        operators.SINGLE_NODES = 0
    if given.command == "runs":
        runs(given.runs, given.seed, given.jobs)
    elif given.command == "lattices":
        print(f"largest step outside the bounds: {lattices(given.nodes, kinds=given.kind or ('torus', 'grid')):.1e}")
    else:
        coverage(given.repetitions)


if __name__ == "__main__":
    main()
