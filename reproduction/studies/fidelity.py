"""Accuracy of the algorithms: how well each one recovers planted spectra.

Coefficients are planted on the eigencomponents of random, block-model and grid graphs at K = 1: white, low, high or a
band, for 1, 3 and 16 dimensions. Every algorithm's magnitudes are then compared with the planted ones, repeated
eigenvalues evened out and zero components left out: by centred correlation, and by cosine beside that of a flat
spectrum, which knows nothing.

``python -m reproduction fidelity`` writes ``fidelity.csv`` and ``fidelity.md``.
"""

from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.studies.tables import markdown, write_table
from reproduction.words import SENTENCES
from spectrata.core.registry import EXACT
from spectrata.core.stratification import Stratification
from spectrata.stats.describe.compare import measure_pairs, spread_evenly

SPECTRA = ("white", "low", "high", "band")
DIMENSIONS = (1, 3, 16)
COMPARED = ("gft", "apprx_ls", "in_agg", "adj_diff", "ln_vx", "ens")
ALGORITHMS = (*COMPARED, "ln_vx incidence")
COPIES, SIGNALS, TRIALS = 4, 25, 5
KEYS = ["graph", "d", "metric", "planted"]


def graphs(seed: int, copies: int) -> Iterator[tuple[str, Any]]:
    """Connected graphs of about 50 nodes: random, four blocks, and the one grid."""
    import networkx as nx

    makers = {
        "ER": lambda s: nx.gnp_random_graph(50, 0.1, seed=s),
        "SBM": lambda s: nx.stochastic_block_model([12] * 4, 0.27 * np.eye(4) + 0.03, seed=s),
    }
    for name, make in makers.items():
        for graph in islice(filter(nx.is_connected, map(make, count(1000 * seed))), copies):
            yield name, nx.convert_node_labels_to_integers(graph)
    yield "grid", nx.grid_2d_graph(7, 7)


def profile(spectrum: str, eigenvalue: np.ndarray) -> np.ndarray:
    """Planted amplitude along the eigenvalue axis, 0 at eigenvalue zero."""
    x = eigenvalue / eigenvalue[-1]
    shapes = {
        "white": np.ones_like(x),
        "low": np.exp(-5 * x),
        "high": np.exp(-5 * (1 - x)),
        "band": np.exp(-(((x - 0.5) / 0.12) ** 2)),
    }
    return np.where(np.arange(len(x)) == 0, 0.0, shapes[spectrum])


def plant(strat: Stratification, spectrum: str, dims: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Signals ``(count, n, d)`` whose coefficients are Gaussian with the planted amplitude."""
    basis = strat.basis(1)
    amplitude = profile(spectrum, basis.values)
    coefficients = rng.standard_normal((count, basis.n, dims)) * amplitude[:, None] / np.sqrt(dims)
    return np.stack([basis.rebuild(c) for c in coefficients])


def run(out: str | Path, seed: int = 0, quick: bool = False) -> pd.DataFrame:
    copies, number, trials = (1, 4, 1) if quick else (COPIES, SIGNALS, TRIALS)
    pieces = []
    for index, (name, graph) in enumerate(graphs(seed, copies)):
        strat = Stratification(graph, hops=[1])
        for dims in DIMENSIONS:
            for spectrum in SPECTRA:
                rng = np.random.default_rng([seed, index, dims, SPECTRA.index(spectrum)])
                signals = plant(strat, spectrum, dims, number if name != "grid" else number * copies, rng)
                for metric in ("euclidean",) if dims == 1 else ("euclidean", "angular"):
                    piece = recovered(strat, signals, metric, trials, seed)
                    pieces.append(piece.assign(graph=name, d=dims, metric=metric, planted=spectrum))
    groups = pd.concat(pieces).groupby([*KEYS, "algorithm"], sort=False)
    table = groups.agg(
        correlation=("correlation", "mean"),
        correlation_sd=("correlation", "std"),
        cosine=("cosine", "mean"),
        cosine_flat=("cosine_flat", "mean"),
        signals=("cosine", "size"),
    ).reset_index()
    write_table(table, Path(out), "fidelity", report(table))
    return table


def recovered(strat: Stratification, signals: np.ndarray, metric: str, trials: int, seed: int) -> pd.DataFrame:
    """Agreement of every algorithm with the planted magnitudes, one row per signal and algorithm."""
    lean = strat.using(keep=())
    truth = spread_evenly(lean.spectra(signals, EXACT, metric="euclidean"))
    learned = lean.spectra(signals, COMPARED, metric=metric, seed=seed, ln_vx={"trials": trials})
    incidence = lean.spectra(signals, "ln_vx", metric=metric, seed=seed, ln_vx={"transform": "incidence"})
    rows = []
    for ds, names in ((learned, COMPARED), (incidence, ("ln_vx incidence",))):
        measures = measure_pairs(truth, spread_evenly(ds))  # (algorithm, T, hop)
        for row, name in enumerate(names):
            found = {"correlation": measures["correlation"][row, :, 0], "cosine": measures["cosine"][row, :, 0]}
            rows.append(pd.DataFrame(found | {"cosine_flat": measures["cosine_flat_a"][row, :, 0], "algorithm": name}))
    return pd.concat(rows)


def report(table: pd.DataFrame) -> str:
    """The table of the docs: correlation of every algorithm, then cosines beside the flat one's."""
    flat = table.groupby(KEYS, sort=False)["cosine_flat"].first()
    names = [name for name in ALGORITHMS if name in set(table["algorithm"])]
    pivots = table.pivot_table(index=KEYS, columns="algorithm", values=["correlation", "cosine"], sort=False)
    found = {"correlation": pivots["correlation"][names], "cosine": pivots["cosine"][names].assign(flat=flat)}
    return SENTENCES["fidelity"].format_map({name: markdown(one.reset_index(), 2) for name, one in found.items()})
