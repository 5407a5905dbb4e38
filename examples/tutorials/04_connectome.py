"""
Lesson 4: a connectome
======================

A weighted graph of brain regions and the activity of each region over time. Which activity follows the wiring, and in
which regions does it not? The data are generated, so that we know the answer.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import spectrata as st

# %%
# Generate a connectome
# ---------------------
#
# 120 regions on a sphere. Two regions are joined where they are near, and the weight of a tract falls with the
# distance: larger weights mean closer, as spectrata expects. In 10 regions the activity is independent of the wiring,
# and twice as strong.

rng = np.random.default_rng(0)
place = rng.normal(size=(120, 3))
place /= np.linalg.norm(place, axis=1, keepdims=True)
distance = np.linalg.norm(place[:, None] - place[None], axis=2)
graph = nx.Graph()
graph.add_nodes_from(range(120))
for a, b in zip(*np.nonzero(np.triu(distance < 0.55, 1)), strict=True):
    graph.add_edge(int(a), int(b), tracts=float(np.exp(-3 * distance[a, b])))
print(f"{len(graph)} regions, {graph.number_of_edges()} connections")
print(f"connected: {nx.is_connected(graph)}")

noise = rng.normal(size=(120, 200))
heat = st.filter_signal(
    graph, noise, response=lambda lam: np.exp(-4 * lam), weights="tracts"
)
activity = heat.values
activity /= activity.std(axis=1, keepdims=True)
apart = np.arange(10)
activity[apart] = 2 * rng.normal(size=(10, 200))

# %%
# Does activity follow the wiring?
# --------------------------------
#
# Regions that are connected have similar time courses. The metric is Euclidean: a row is the time course of a region.

strat = st.Stratification(graph, hops=3, weights="tracts")
print(st.diagnose(strat, activity, metric="euclidean"))

# %%
# How far the likeness reaches, in hops:

found = st.correlogram(strat, activity, metric="euclidean")
figure, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
st.plot.correlogram(found, ax=ax)

# %%
# Which regions do not follow it?
# -------------------------------
#
# The structural decoupling index of a region divides the norm of its high-frequency activity by that of its
# low-frequency activity (Preti and Van De Ville, 2019). Surrogates with random signs of the coefficients give p and q.

decoupled = st.decoupling(strat, activity, draws=199)
index = decoupled["decoupling"].values.ravel()
strongest = np.argsort(-index)[:10]
print("10 most decoupled regions:", sorted(strongest.tolist()))
print("regions without coupling by construction:", len(set(strongest) & set(apart)))

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
look = {"s": 35, "edgecolors": "gray", "linewidths": 0.6}
for ax, values, title, cmap in (
    (axes[0], activity[:, 0], "activity at one time", "RdBu_r"),
    (axes[1], np.log2(index), "log2 of the decoupling index", "PuOr_r"),
):
    end = np.abs(values).max()
    dots = ax.scatter(*place[:, :2].T, c=values, cmap=cmap, vmin=-end, vmax=end, **look)
    figure.colorbar(dots, ax=ax, shrink=0.8)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
axes[1].scatter(*place[apart, :2].T, s=100, facecolors="none", edgecolors="tab:green")

# %%
# The green circles mark the ten regions whose activity was drawn without regard to the wiring.
