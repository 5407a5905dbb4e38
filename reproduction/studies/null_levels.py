"""Level of p-values for signals of every kind: shares of small p without structure.

Six kinds of random signals on six families of graphs. For a valid test the share of p <= a is at most a; signals of
few distinct values tie with their permutations and have less.

``python -m reproduction null_levels`` writes ``null_levels.csv`` and ``null_levels.md``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.studies.tables import markdown, write_table
from spectrata.core.stratification import Stratification
from spectrata.stats.verbs.calibrate import calibrate

SIGNALS, QUICK_SIGNALS = 1_000, 100
LEVELS = (0.05, 0.01, 0.001)
DRAWS = 9_999
KINDS = ("normal", "cauchy", "pulses", "binary", "one-hot", "lognormal")


def graphs(seed: int = 0) -> dict[str, Any]:
    """Small graphs of each family, as networkx graphs on 0 .. n-1."""
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
    }


def signals(kind: str, count: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Random signals without structure: ``(count, n, d)``."""
    if kind == "normal":
        return rng.normal(size=(count, n, 1))
    if kind == "cauchy":
        return rng.standard_cauchy(size=(count, n, 1))
    if kind == "lognormal":
        return rng.lognormal(size=(count, n, 1))
    if kind == "one-hot":
        return np.eye(4)[rng.integers(4, size=(count, n))]
    ones = 2 if kind == "pulses" else max(1, round(0.1 * n))
    return rng.permuted(np.tile(np.arange(n) < ones, (count, 1)).astype(float), axis=1)[..., None]


def run(out: str | Path, seed: int = 0, quick: bool = False) -> pd.DataFrame:
    """Write the table of shares and give it back."""
    count = QUICK_SIGNALS if quick else SIGNALS
    rows = [
        shares(name, graph, kind, level, count, seed)
        for name, graph in graphs(seed).items()
        for kind in KINDS
        for level in ("eigenspace", "band")
    ]
    table = pd.DataFrame(rows)
    write_table(table, Path(out), "null_levels", markdown(table, 4))
    return table


def shares(name: str, graph: Any, kind: str, level: str, count: int, seed: int) -> dict[str, Any]:
    """Mean shares of p <= a over the cells of one family, kind and level, and the largest excess in standard errors."""
    strat = Stratification(graph, hops=1)
    rng = np.random.default_rng([seed, strat.graph.n_nodes, KINDS.index(kind)])
    values = signals(kind, count, strat.graph.n_nodes, rng)
    found = calibrate(strat, values, level=level, metric="euclidean", seed=seed + 1, draws=DRAWS)
    p = found["p"].values[0]
    cells = ~np.isnan(p).all(axis=0) & ~(p == 1.0).all(axis=0)  # (hop, cell)
    p = p[:, cells]
    row: dict[str, Any] = {"graph": name, "signal": kind, "level": level, "cells": int(cells.sum())}
    for alpha in LEVELS:
        rate = np.nanmean(p <= alpha * (1 + 1e-12), axis=0)
        error = np.sqrt(alpha * (1 - alpha) / count)
        row |= {f"p <= {alpha:g}": float(rate.mean()), f"excess {alpha:g}": float((rate.mean() - alpha) / error)}
    return row
