"""Calibration of p-values: rejections at the 5 % level for signals without structure.

Signals are drawn at random, so that every finding is false, and calibrated on connected, disconnected and highly
symmetric graphs. A valid test rejects in 5 % of cases; one whose draws tie with the observed, in fewer.

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

SIGNALS, DRAWS, LEVEL = 10_000, 39, 0.05
QUICK_SIGNALS = 1_000


def graphs(seed: int = 0) -> dict[str, Any]:
    """Small graphs of each kind, as networkx graphs on 0 .. n-1."""
    import networkx as nx

    parts = nx.disjoint_union(nx.gnp_random_graph(12, 0.3, seed=seed + 3), nx.path_graph(5))
    parts.add_nodes_from([17, 18, 19])
    return {
        "connected: random, 20 nodes": nx.connected_watts_strogatz_graph(20, 4, 0.5, seed=seed),
        "disconnected: 2 parts, 3 singletons": parts,
        "symmetric: 4-cube": nx.convert_node_labels_to_integers(nx.hypercube_graph(4)),
        "symmetric: Petersen": nx.petersen_graph(),
    }


def run(out: str | Path, seed: int = 0, quick: bool = False) -> pd.DataFrame:
    """Write the table of rejection rates and give it back."""
    rows = []
    for name, graph in graphs(seed).items():
        for dims in (1, 3):
            rows += rates(name, graph, dims, QUICK_SIGNALS if quick else SIGNALS, seed)
    table = pd.DataFrame(rows)
    write_table(table, Path(out), "calibration", markdown(table))
    return table


def rates(name: str, graph: Any, dims: int, signals: int, seed: int) -> list[dict[str, Any]]:
    """Share of rejections per algorithm: over all cells, and in the least and most rejecting one."""
    strat = Stratification(graph, hops=2)
    n = strat.graph.n_nodes
    values = np.random.default_rng([seed, n, dims]).standard_normal((signals, n, dims))
    rows = []
    ds = spectra(strat, values, PAPER, seed=seed + 1, ln_vx={"trials": 5})
    found = calibrate(ds, values, PAPER, draws=DRAWS, seed=seed + 1)
    for algorithm in found["algorithm"].values:
        p = found["p"].loc[algorithm].values
        known = ~np.isnan(p).all(axis=0)
        cells = known & ~(p == 1.0).all(axis=0)  # where p is always 1 no permutation changes the share
        rejected = (p <= LEVEL + 1e-12).mean(axis=0)[cells]
        row = {"graph": name, "d": dims, "algorithm": str(algorithm), "cells": int(cells.sum())}
        if cells.any():  # else, as for apprx_ls on graphs whose edges are all alike, there is nothing to reject
            row |= {"rejected": rejected.mean(), "least": rejected.min(), "most": rejected.max()}
        row["degenerate"] = int(known.sum() - cells.sum())
        rows.append(row)
    return rows
