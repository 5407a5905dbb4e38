"""What the introduction and section 2 state about the algorithms, measured on small graphs."""

from itertools import product

import networkx as nx
import numpy as np

from reproduction.pool import one_thread
from reproduction.tasks.caveman import NODES, caveman_graph, start_signal, true_labels
from reproduction.tasks.random_graphs import SERIES, draw
from reproduction.tasks.settings import Settings, generator, unit_seed
from reproduction.tasks.smoothing import normalised
from reproduction.tasks.task1 import cosine
from spectrata.core.algorithms.ln_vx import Learned
from spectrata.core.engine import apply
from spectrata.core.plan import make_plan
from spectrata.core.spectra import spectra
from spectrata.core.stratification import Stratification

Numbers = dict[str, float | list[float]]
PULSES = 20  # pulses tried for Proposition 1
ACTIVATION_GRAPHS, ACTIVATION_TRIALS = 5, 10


def measure(settings: Settings) -> dict[str, Numbers]:
    """Everything below, on one thread so that its bits do not depend on the machine's load."""
    with one_thread():
        return {
            "four_cycle": four_cycle(),
            "algorithm_1": algorithm_1(settings.seed),
            "definition_2": definition_2(settings.seed),
            "fact_1": fact_1(),
            "proposition_1": proposition_1(settings.seed),
            "constant": constant_signals(settings),
            "ln_vx": ln_vx_limits(settings),
            "activation": activations(settings),
            "adj_diff": adj_diff_limits(settings.seed),
        }


def four_cycle() -> Numbers:
    """Two signals with one quadratic form: their forms, and how their energy spreads over eigenvalues 0, 2, 4."""
    signals = np.array([[np.sqrt(2.0), 0.0, 0.0, 0.0], [2.0, 1.0, 2.0, 1.0]])
    ds = spectra(nx.cycle_graph(4), signals[:, :, None], "gft", hops=1)
    squares = ds["magnitude"].loc["gft"].values[:, 0] ** 2
    merged = np.add.reduceat(squares, [0, 1, 3], axis=1)
    found = {"forms": ds["gradient_norm"].values[:, 0] ** 2, "pulse": merged[0], "oscillation": merged[1]}
    return {name: values.tolist() for name, values in found.items()} | {
        "cosine": float(cosine(*np.sqrt(merged[:, 1:])))
    }


def algorithm_1(seed: int) -> Numbers:
    """Pairs on which the matrix powers of Algorithm 1 and the hop distances disagree, over four graphs."""
    graphs = [nx.to_numpy_array(caveman_graph()), *(draw(SERIES[0], i, seed)[0] for i in range(3))]
    wrong = 0
    for adjacency in graphs:
        strat = Stratification(adjacency=adjacency.astype(int))
        power, seen = np.eye(len(adjacency)), np.zeros_like(adjacency, dtype=float)
        for stratum in strat.strata:
            power = np.minimum(power @ adjacency, 1.0)  # delta(A^K), without the growth of the counts
            printed = np.maximum(power - seen, 0.0)
            np.fill_diagonal(printed, 0.0)
            seen += printed
            ours = np.zeros_like(printed)
            ours[tuple(stratum.edges.T)] = 1.0
            wrong += int(np.count_nonzero(printed != ours + ours.T))
    return {"wrong": float(wrong), "graphs": float(len(graphs))}


def definition_2(seed: int) -> Numbers:
    """Largest difference between ``sqrt((1 - cos)/2)`` and half the Euclidean distance of unit vectors."""
    a, b = normalised(generator(seed, 20).standard_normal((2, 1000, 3)))
    angular = np.sqrt(np.maximum(1.0 - np.sum(a * b, axis=1), 0.0) / 2.0)
    return {"difference": float(np.abs(angular - np.linalg.norm(a - b, axis=1) / 2.0).max())}


def fact_1() -> Numbers:
    """The smallest least-squares residual over all orientations: a triangle of orthogonal vectors, and a path."""
    found: Numbers = {}
    for name, graph in (("triangle", nx.complete_graph(3)), ("path", nx.path_graph(3))):
        incidence = nx.incidence_matrix(graph, oriented=True).toarray().T
        flows = np.sqrt(0.5) * np.array(list(product((1.0, -1.0), repeat=len(incidence)))).T  # (edge, orientation)
        fitted = np.linalg.lstsq(incidence, flows, rcond=None)[0]
        found[name] = float(np.linalg.norm(incidence @ fitted - flows, axis=0).min())
    return found


def proposition_1(seed: int) -> Numbers:
    """How well ``abs(f(x) - f(y))`` of IN-AGG orders the edges by their gradient, on a graph of mean degree 40.

    For pulses: the chance that an edge at the pulse gets more than one that is not (area under the curve); for random
    signals: Spearman's correlation over the edges.
    """
    from scipy.stats import mannwhitneyu, spearmanr

    rng = generator(seed, 21)
    n = 200
    upper = np.triu(rng.random((n, n)) < 0.2, 1)
    x, y = np.nonzero(upper)
    joined = upper | upper.T
    strat = Stratification(adjacency=joined.astype(int), hops=1)
    plan = make_plan("in_agg", {}, n)

    def aggregated(signal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        work = strat.work(*strat.prepared(1, plan), signal[None, :, None], plan)
        f = work.node_means()[0]
        return work.gradient[0], np.abs(f[x] - f[y])

    found: dict[str, list[float]] = {"one_pulse": [], "two_pulses": [], "random": []}
    for _ in range(PULSES):
        first = int(rng.integers(n))
        second = int(rng.choice(np.flatnonzero(~joined[first] & (np.arange(n) != first))))
        for name, nodes in (("one_pulse", [first]), ("two_pulses", [first, second])):
            gradient, difference = aggregated(np.isin(np.arange(n), nodes).astype(float))
            above, below = difference[gradient > 0], difference[gradient == 0]
            found[name].append(float(mannwhitneyu(above, below).statistic) / (len(above) * len(below)))
        found["random"].append(float(spearmanr(*aggregated(rng.uniform(-1.0, 1.0, n))).statistic))
    found["degree"] = [float(joined.sum(axis=1).mean())]
    return {name: float(np.mean(values)) for name, values in found.items()}


def constant_signals(settings: Settings) -> Numbers:
    """Largest magnitude of every algorithm on a constant vector signal, over all hops of the 13-node graph."""
    signal = np.tile([0.6, 0.0, 0.8], (len(NODES), 1))
    names = ["gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx"]
    learning = {"trials": 2, "max_epochs": settings.ln_vx_epochs}
    ds = spectra(caveman_graph(), signal, names, preset="paper", ln_vx=learning)
    return {name: float(np.abs(ds["magnitude"].loc[name].values).max()) for name in names}


def ln_vx_limits(settings: Settings) -> Numbers:
    """Errors with and without parts, the bound for few edges, norms of rows, and how far trials differ."""
    strat, seed = Stratification(caveman_graph()), unit_seed(settings.seed, 22)
    learning = {"trials": settings.few_trials, "max_epochs": settings.ln_vx_epochs}
    whole, by_part = (
        strat.spectra(start_signal(), "ln_vx", preset="paper", seed=seed, ln_vx=learning | {"by_part": alone})
        for alone in (False, True)
    )
    n, m = len(NODES), whole["n_edges"].values
    found = {"bound": np.maximum(0.0, (n - m) / n**2), "n_edges": m, "n_parts": whole["n_parts"].values}
    found |= {"mse": whole["ln_vx_mse"].mean("trial").values, "mse_by_part": by_part["ln_vx_mse"].mean("trial").values}
    return {name: values.tolist() for name, values in found.items()} | _trials_differ(settings)


def _trials_differ(settings: Settings) -> Numbers:
    """On a 50-node graph at K = 1: participation of line components, norms of rows, agreement of trials."""
    adjacency, signal = draw(SERIES[0], 0, settings.seed)
    strat = Stratification(adjacency=adjacency, hops=1)
    options = {"ln_vx": {"trials": settings.few_trials, "max_epochs": settings.ln_vx_epochs}}
    plan = make_plan("ln_vx", options, len(signal), preset="paper", seed=unit_seed(settings.seed, 23))
    made: dict = {}
    work = strat.work(*strat.prepared(1, plan), signal[None, :, None], plan, scratch=made)
    output = apply(work, plan)["ln_vx"]
    learned = next(thing for thing in made.values() if isinstance(thing, Learned))
    size, norms = np.abs(learned.weights), learned.row_norms
    participation = size.sum(axis=2) ** 2 / (size**2).sum(axis=2) / size.shape[2]
    trials = output.extras["ln_vx_trial_magnitude"].values[:, 0]  # (trial, n)
    half = len(trials) // 2
    between = [float(cosine(trials[i], trials[i + half])) for i in range(half)]
    found = {
        "participation": participation.mean(),
        "norm_ratio": (norms.max(axis=2) / norms.min(axis=2)).mean(),
        "weights_cosine": cosine(learned.weights[:half].ravel(), learned.weights[half : 2 * half].ravel()),
        "trial_cosine": np.mean(between),
        "averaged_cosine": cosine(trials[:half].mean(axis=0), trials[half : 2 * half].mean(axis=0)),
    }
    return {name: float(value) for name, value in found.items()}


def activations(settings: Settings) -> Numbers:
    """Final error and cosine with the GFT at K = 1, per activation, over a few ERM graphs with random signals."""
    found: Numbers = {}
    learning = {"literal": True, "trials": min(ACTIVATION_TRIALS, settings.trials), "max_epochs": settings.ln_vx_epochs}
    for name in (None, "selu", "relu"):
        options = {"preset": "paper", "ln_vx": learning | {"activation": name}}
        errors, cosines = [], []
        for index in range(min(ACTIVATION_GRAPHS, settings.graphs)):
            adjacency, signal = draw(SERIES[0], index, settings.seed)
            strat, seed = Stratification(adjacency=adjacency, hops=1, keep=()), unit_seed(settings.seed, 24, index)
            ds = strat.spectra(signal, ["gft", "ln_vx"], seed=seed, **options)
            errors.append(float(ds["ln_vx_mse"].mean()))
            cosines.append(float(cosine(*ds["magnitude"].values[:, 0])))
        found |= {f"{name or 'none'}_mse": float(np.mean(errors)), f"{name or 'none'}_cosine": float(np.mean(cosines))}
    return found


def adj_diff_limits(seed: int) -> Numbers:
    """Mean cosine between difference vectors, and the share of the Fiedler differences on edges between communities."""
    adjacency, _ = draw(SERIES[0], 0, seed)
    strat = Stratification(adjacency=adjacency, hops=1)
    x, y = strat.strata.at(1).edges.T
    vectors = strat.basis(1).dense()
    differences = np.abs(vectors[x] - vectors[y])[:, 1:]
    unit = differences / np.linalg.norm(differences, axis=0)
    cosines = (unit.T @ unit)[np.triu_indices(unit.shape[1], 1)]
    small = Stratification(caveman_graph(), hops=1)
    (x, y), labels = small.strata.at(1).edges.T, true_labels()
    fiedler = small.basis(1).dense()[:, 1:3]  # one eigenspace: the squares add up the same in any basis
    squares = np.sum((fiedler[x] - fiedler[y]) ** 2, axis=1)
    return {"cosine": float(cosines.mean()), "boundary": float(squares[labels[x] != labels[y]].sum() / squares.sum())}
