"""
A first spectrum
================

Zachary's karate club, and for every member a place in the plane. How smooth is this embedding among friends, and
among friends of friends?
"""

import matplotlib.pyplot as plt
import networkx as nx

import spectrata as st

club = nx.karate_club_graph()
graph = nx.Graph(club.edges)  # hop distances have no use for the weights
places = nx.kamada_kawai_layout(graph)  # member -> (x, y)

ds = st.spectra(graph, places, hops=3, metric="euclidean")
print(st.summary(ds)[["method", "hop", "norm", "off_zero", "eigenspaces", "status"]])

# %%
# Left: the members where the embedding puts them, coloured by the side they took when the club split. Right: the
# magnitude of each eigencomponent, from patterns that are smooth over the graph (left) to those that change from
# neighbour to neighbour (right).
#
# At K = 1 nearly all of it is at the smooth end: friends are put near each other. At K = 3 much is at the other end:
# members three hops apart are put far apart.

side = [club.nodes[member]["club"] for member in graph]
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", width_ratios=[1.2, 1, 1, 1])
st.plot.embedding(ds, ax=axes[0], color=side)
st.plot.spectra(ds, ax=axes[1:], methods="gft")

# %%
# One method's numbers are chosen with ``loc``: ``method`` is a word of xarray's own ``sel``, which would ignore it.

print(ds["magnitude"].loc["gft", 1].values.round(2)[:6])
