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
signal = dict(zip(graph, np.random.default_rng(5).normal(size=16), strict=True))
strat = st.Stratification(graph, hops=1)

ds = strat.spectra(signal, algorithms=["gft", "adj_diff"])
merged = st.merge_eigenspaces(ds)
spread = {
    level: st.stats.basis_spread(strat, signal, ["gft", "adj_diff"], level=level)
    for level in ("component", "eigenspace")
}

# %%
# Bars go from the smallest to the largest value over 100 random bases, points are what the solver gave. Single
# components (left) could be almost anything. Taken together per eigenspace (right), ``gft`` is the same in every
# basis; ``adj_diff`` is not, and the bar is its range.

figure, axes = plt.subplots(2, 2, figsize=(7.5, 5), sharey="row", layout="constrained")
for row, algorithm in zip(axes, ("gft", "adj_diff"), strict=True):
    for ax, (level, result) in zip(row, spread.items(), strict=True):
        one = result.sel(algorithm=algorithm, hop=1)
        low, high = one["basis_low"].values, one["basis_high"].values
        value = one["magnitude"].values
        real = np.isfinite(value)
        places = np.arange(real.sum())
        ax.vlines(places, low[real], high[real], linewidth=6, color="#f5b7b1")
        ax.plot(places, value[real], "o", markersize=5, color="#1f5fa8")
        ax.set_xticks(
            places, [f"{number:.0f}" for number in one["eigenvalue"].values[real]]
        )
        ax.set_title(f"{algorithm}, per {level}", fontsize=10)
    row[0].set_ylabel("magnitude")
for ax in axes[-1]:
    ax.set_xlabel("eigenvalue")

# %%
# ``merge_eigenspaces`` gives the values on the right.

one = merged.sel(algorithm="gft", hop=1)
print(one["multiplicity"].values, one["magnitude"].values.round(3))
