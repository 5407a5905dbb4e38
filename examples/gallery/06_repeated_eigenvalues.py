"""
Repeated eigenvalues
====================

Symmetric graphs have repeated eigenvalues. Inside one, any rotation of the eigenvectors is as good as any other, and
so the split of a magnitude over them means nothing: another solver gives another one.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import spectrata as st

# 16 nodes; eigenvalues 0, 2, 4, 6 and 8, of multiplicity 1, 4, 6, 4 and 1
graph = nx.hypercube_graph(4)
rng = np.random.default_rng(5)
signal = dict(zip(graph, rng.normal(size=16), strict=True))
algorithms = ["gft", "adj_diff"]

# %%
# The same graph and signal with the nodes in 100 other orders: the solver returns other eigenvectors.

names = list(graph)
results = []
for _ in range(100):
    shuffled = nx.Graph()
    shuffled.add_nodes_from(names[row] for row in rng.permutation(16))
    shuffled.add_edges_from(graph.edges)
    results.append(st.spectra(shuffled, signal, algorithms, hops=1))

# %%
# Bars go from the smallest to the largest value, points are those of the first order. Single components (left) could
# be almost anything. Taken together per eigenspace (right), ``gft`` is the same in every basis; ``adj_diff`` is not,
# and the bar is its range.

figure, axes = plt.subplots(2, 2, figsize=(7.5, 5), sharey="row", layout="constrained")
levels = {
    "component": results,
    "eigenspace": [st.merge_eigenspaces(ds) for ds in results],
}
for row, algorithm in zip(axes, algorithms, strict=True):
    for ax, (level, found) in zip(row, levels.items(), strict=True):
        value = np.stack(
            [one["magnitude"].sel(algorithm=algorithm, hop=1) for one in found]
        )
        real = np.isfinite(value[0])
        places = np.arange(real.sum())
        low, high = value.min(axis=0), value.max(axis=0)
        ax.vlines(places, low[real], high[real], linewidth=6, color="#f5b7b1")
        ax.plot(places, value[0, real], "o", markersize=5, color="#1f5fa8")
        eigenvalue = found[0]["eigenvalue"].sel(hop=1).values[real]
        ax.set_xticks(places, [f"{number:.0f}" for number in eigenvalue])
        ax.set_title(f"{algorithm}, per {level}", fontsize=10)
    row[0].set_ylabel("magnitude")
for ax in axes[-1]:
    ax.set_xlabel("eigenvalue")

# %%
# ``merge_eigenspaces`` gives the values on the right.

one = levels["eigenspace"][0].sel(algorithm="gft", hop=1)
print(one["multiplicity"].values, one["magnitude"].values.round(3))
