"""Calibration of p-values: how often signals without structure are called significant.

Signals of six kinds are drawn at random, so that every finding is false, on connected, disconnected and symmetric
graphs. For a valid test the share of p <= a is at most a; signals of few distinct values tie with their permutations
and have less.

``python -m reproduction calibration`` writes ``calibration.csv`` and ``calibration.md``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.studies.tables import markdown, write_table
from spectrata.core.registry import PAPER
from spectrata.core.spectra import spectra
from spectrata.core.stratification import Stratification
from spectrata.stats.verbs.calibrate import calibrate

SIGNALS, QUICK_SIGNALS = 1_000, 100
DRAWS, LEVELS = 9_999, (0.05, 0.01, 0.001)
KINDS = ("normal", "cauchy", "pulses", "binary", "one-hot", "lognormal")


def graphs(seed: int = 0) -> dict[str, Any]:
    import networkx as nx

    parts = nx.disjoint_union(nx.gnp_random_graph(24, 0.2, seed=seed + 3), nx.path_graph(8))
    parts.add_nodes_from([32, 33, 34, 35])
    return {
        "small world": nx.connected_watts_strogatz_graph(40, 4, 0.3, seed=seed),
        "power law": nx.barabasi_albert_graph(40, 2, seed=seed),
        "tree": nx.balanced_tree(2, 4),
        "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6)),
        "parts and singletons": parts,
        "karate": nx.Graph(nx.karate_club_graph().edges),
        "4-cube": nx.convert_node_labels_to_integers(nx.hypercube_graph(4)),
        "Petersen": nx.petersen_graph(),
    }


def signals(kind: str, count: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Random signals without structure: ``(count, n, d)``."""
    if kind in ("normal", "standard_cauchy", "lognormal"):
        return getattr(rng, kind)(size=(count, n, 1))
    if kind == "one-hot":
        return np.eye(4)[rng.integers(4, size=(count, n))]
    ones = 2 if kind == "pulses" else max(1, round(0.1 * n))
    return rng.permuted(np.tile(np.arange(n) < ones, (count, 1)).astype(float), axis=1)[..., None]


def run(out: str | Path, seed: int = 0, quick: bool = False) -> pd.DataFrame:
    count, rows = QUICK_SIGNALS if quick else SIGNALS, []
    for name, graph in graphs(seed).items():
        strat = Stratification(graph, hops=1)
        for kind in KINDS:
            rng = np.random.default_rng([seed, strat.graph.n_nodes, KINDS.index(kind)])
            values = signals("standard_cauchy" if kind == "cauchy" else kind, count, strat.graph.n_nodes, rng)
            for level in ("eigenspace", "band"):
                found = calibrate(strat, values, level=level, metric="euclidean", seed=seed + 1, draws=DRAWS)
                rows += shares({"graph": name, "signal": kind, "level": level}, found, count)
        vectors = np.random.default_rng([seed, strat.graph.n_nodes, 3]).standard_normal((count, strat.graph.n_nodes, 3))
        ds = spectra(strat, vectors, PAPER, seed=seed + 1, ln_vx={"trials": 5})
        found = calibrate(ds, vectors, PAPER, draws=39, seed=seed + 1)
        rows += shares({"graph": name, "signal": "vectors", "level": "eigenspace"}, found, count)
    table = pd.DataFrame(rows)
    write_table(table, Path(out), "calibration", markdown(table, 4))
    return table


def shares(labels: dict[str, Any], found: Any, count: int) -> list[dict[str, Any]]:
    """Per algorithm the mean shares of p <= a over the cells, and the excess in standard errors."""
    rows = []
    for algorithm in found["algorithm"].values:
        p = found["p"].loc[algorithm].values
        known = ~np.isnan(p).all(axis=0)
        cells = known & ~(p == 1.0).all(axis=0)  # where p is always 1 no permutation changes the share
        row = labels | {"algorithm": str(algorithm), "cells": int(cells.sum())}
        row["degenerate"] = int((known & ~cells).sum())
        for alpha in LEVELS if cells.any() else ():
            rate = float(np.nanmean(p[:, cells] <= alpha * (1 + 1e-12)))
            row[f"p <= {alpha:g}"] = rate
            row[f"excess {alpha:g}"] = (rate - alpha) / np.sqrt(alpha * (1 - alpha) / count)
        rows.append(row)
    return rows
