"""
Lesson 1: a first spectrum
==========================

A graph, one number per node, and the question: are neighbours alike, and how far does the likeness reach?

The graph is Zachary's karate club: 34 members, joined when they met outside the club. The signal is 1 for members who
followed the officer when the club split, and 0 for the others.
"""

import matplotlib.pyplot as plt
import networkx as nx

import spectrata as st

graph = nx.karate_club_graph()
split = {member: float(side == "Officer") for member, side in graph.nodes(data="club")}

# %%
# Look at the data
# ----------------
#
# Each panel joins the nodes that are exactly K hops apart. This graph is the *stratum* at K; at K = 1 it is the graph
# itself. Orange members followed the officer.

strat = st.Stratification(graph, hops=3, weights=False)
layout = nx.spring_layout(graph, weight=None, seed=3)
colors = ["#D55E00" if split[node] else "#0072B2" for node in graph]
figure, axes = plt.subplots(1, 3, figsize=(8, 2.8), layout="constrained")
for hop, ax in zip((1, 2, 3), axes, strict=True):
    pairs = strat.strata.at(hop).edges
    nodes = list(graph)
    joined = nx.Graph([(nodes[a], nodes[b]) for a, b in pairs])
    nx.draw_networkx_edges(joined, layout, ax=ax, alpha=0.25)
    nx.draw_networkx_nodes(graph, layout, ax=ax, node_size=30, node_color=colors)
    ax.set(title=f"K = {hop}: {len(pairs)} pairs")
    ax.axis("off")

# %%
# Findings
# --------
#
# ``diagnose`` has one row per hop: alike, unlike or neither. It tests twice, against chance (the same values, on nodes
# in random order), and after degree is taken out.

print(st.diagnose(strat, split))

# %%
# Likeness per hop
# ----------------
#
# The correlogram is the statistic behind the verdicts: ``r``, the correlation between the two ends of a pair. Members
# one and two hops apart are alike, members three hops apart are unlike.

found = st.correlogram(strat, split)
print(found.to_dataframe()[["n_pairs", "r", "p", "p_given", "verdict"]].round(3))
figure, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
st.plot.correlogram(found, ax=ax)

# %%
# The spectrum
# ------------
#
# The graph Fourier transform distributes the energy of the signal over frequencies, the eigenvalues of the Laplacian
# of each stratum. At K = 1 the energy lies at low frequencies: the signal is smooth. At K = 3 it lies at high ones.

ds = strat.spectra(split)
figure, axes = plt.subplots(1, 3, figsize=(9.2, 3), layout="constrained")
st.plot.spectra(ds, algorithms="gft", ax=axes)

# %%
# The result is an ``xarray.Dataset``. Select by label:

one = ds.sel(algorithm="gft", hop=1)
print(one["eigenvalue"].values[:5].round(2))
print(one["magnitude"].values[:5].round(2))

# %%
# Keep it
# -------
#
# ``st.save(ds, "spectra.nc")`` writes a netCDF file, ``st.write_report(ds, path="report.html")`` a page that works
# offline.
# The same from a terminal: ``spectrata profile graph.txt signal.csv --report``.
