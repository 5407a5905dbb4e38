"""
Compare the algorithms
======================

Plant a known spectrum on a graph and ask every algorithm what it finds. :doc:`/fidelity` does this for many graphs and
signals; here is one, to look at.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import spectrata as st

random = np.random.default_rng(3)
graph = nx.connected_watts_strogatz_graph(60, 6, 0.4, seed=3)
strat = st.Stratification(graph, hops=1)
basis = strat.basis(1)
frequency = np.linspace(0, 1, 60)

# %%
# Three signals of 16 columns, with their energy at the slow end, in the middle, and at the fast end.

shapes = {
    "low": np.exp(-6 * frequency),
    "band": np.exp(-80 * (frequency - 0.5) ** 2),
    "high": np.exp(-6 * (1 - frequency)),
}
planted = {}
for name, amplitude in shapes.items():
    coefficients = amplitude[:, None] * random.normal(size=(60, 16))
    coefficients[0] = 0.0  # nothing at eigenvalue 0
    planted[name] = basis.dense() @ coefficients

algorithms = ["gft", "apprx_ls", "in_agg", "adj_diff"]
found = {
    name: strat.spectra(signal, algorithms, metric="euclidean")
    for name, signal in planted.items()
}

# %%
# Every magnitude is divided by the norm of its spectrum; the grey area is what was planted. The number is the
# correlation between the two, off zero. ``gft`` is exact; ``apprx_ls`` shows low frequencies whatever was planted;
# ``adj_diff`` recovers some of the bands and high frequencies.

figure, axes = plt.subplots(
    3, 4, figsize=(8, 5.6), sharex=True, sharey="row", layout="constrained"
)
for row, (name, ds) in zip(axes, found.items(), strict=True):
    truth = ds.sel(algorithm="gft", hop=1)["magnitude"].values[1:]
    truth = truth / np.linalg.norm(truth)
    for ax, algorithm in zip(row, algorithms, strict=True):
        magnitude = ds.sel(algorithm=algorithm, hop=1)["magnitude"].values[1:]
        magnitude = magnitude / np.linalg.norm(magnitude)
        ax.fill_between(frequency[1:], truth, color="0.85", step="mid")
        ax.plot(frequency[1:], magnitude, ".-", markersize=4, linewidth=0.8)
        ax.set_title(f"correlation {np.corrcoef(truth, magnitude)[0, 1]:.2f}", fontsize=9)
    row[0].set_ylabel(f"{name} planted")
for ax, algorithm in zip(axes[0], algorithms, strict=True):
    ax.set_title(f"{algorithm}\n{ax.get_title()}", fontsize=9)
for ax in axes[-1]:
    ax.set_xlabel("rank, slow to fast")
