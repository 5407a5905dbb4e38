"""
Will a model gain from this graph?
==================================

Before training a graph neural network: do neighbours help to predict the labels, and with which filter?
"""

import networkx as nx
import numpy as np

import spectrata as st

random = np.random.default_rng(0)
labels = np.repeat(range(3), 60)
features = random.normal(size=(180, 6)) + 0.5 * np.eye(3, 6)[labels]
edges = np.array(nx.planted_partition_graph(3, 60, 0.08, 0.01, seed=1).edges)

found = st.probe(edges, features, labels)
print(found)

# %%
# Each view of the features is scored on the training nodes. Crosses are the best view on graphs with the same degrees
# and random edges: there no gain is left.

figure = st.plot.probe(found).figure
