"""
Test a spectrum against chance
==============================

Every signal has a spectrum, random signals included. ``calibrate`` permutes the signal over the nodes many times, and
marks the magnitudes that differ from chance.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import spectrata as st

club = nx.karate_club_graph()
graph = nx.Graph(club.edges)
strat = st.Stratification(graph, hops=2)

faction = np.array(
    [1.0 if club.nodes[member]["club"] == "Mr. Hi" else -1.0 for member in graph]
)
shuffled = np.random.default_rng(1).permutation(faction)

# %%
# The same values twice: as the club split, and shuffled among the members.

signals = {"the club's split": faction, "the same, shuffled": shuffled}
judged = {
    name: st.calibrate(
        strat, dict(zip(graph, signal, strict=True)), algorithms="gft", draws=999
    )
    for name, signal in signals.items()
}

figure, axes = plt.subplots(2, 2, figsize=(7.5, 5), sharey=True, layout="constrained")
for row, (name, result) in zip(axes, judged.items(), strict=True):
    for ax, hop in zip(row, (1, 2), strict=True):
        one = result.sel(algorithm="gft", hop=hop)
        ratio, q, value = one["ratio"].values, one["q"].values, one["eigenvalue"].values
        ax.axhline(1, color="0.6", linewidth=1)
        ax.vlines(value, 1, ratio, color="0.8", linewidth=1)
        ax.scatter(
            value, ratio, c=np.where(q <= 0.05, "#c0392b", "#7f8c8d"), s=22, zorder=3
        )
        ax.set_title(f"{name}, K = {hop}", fontsize=10)
        ax.set_xlabel("eigenvalue")
    row[0].set_ylabel("energy over chance")

# %%
# Red: q at most .05, for more energy than chance or for less. The split has 20 times the energy of chance in the
# lowest frequency at K = 1, and almost none at the highest; no eigenspace of the shuffled values is significant.
# Findings:

for name, signal in signals.items():
    print(f"{name}: {st.diagnose(strat, dict(zip(graph, signal, strict=True)))}")
