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
graph = nx.Graph(club.edges)  # without the weights
places = nx.kamada_kawai_layout(graph)  # member -> (x, y)

ds = st.spectra(graph, places, hops=3, metric="euclidean")
print(st.summary(ds)[["algorithm", "hop", "norm", "off_zero", "eigenspaces", "status"]])

# %%
# First, the members where the embedding puts them, coloured by the side they took when the club split. Then, for each
# hop distance K, the magnitude at each eigenvalue, from patterns that are smooth over the graph (left) to those
# that change from neighbour to neighbour (right).
#
# At K = 1 nearly all of it is at the smooth end: friends are put near each other. At K = 3 much is at the other end:
# members three hops apart are put far apart.

side = [club.nodes[member]["club"] for member in graph]
figure, axes = plt.subplots(2, 2, figsize=(7.5, 6.5), layout="constrained")
st.plot.embedding(ds, ax=axes.flat[0], color=side)
st.plot.spectra(ds, ax=axes.flat[1:], algorithms="gft")

# %%
# Select one algorithm and one hop by label.

print(ds.sel(algorithm="gft", hop=1)["magnitude"].values.round(2)[:6])
