"""
Which nodes are like their neighbours?
======================================

One correlation hides where it comes from. Here a grid has one warm and one cold region, and one warm node among cold
ones.
"""

import networkx as nx
import numpy as np

import spectrata as st

side = 16
grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
places = {node: divmod(node, side)[::-1] for node in grid}
y, x = np.divmod(np.arange(side**2), side)
signal = np.exp(-((x - 4) ** 2 + (y - 4) ** 2) / 8) - np.exp(
    -((x - 11) ** 2 + (y - 11) ** 2) / 8
)
signal += 0.1 * np.random.default_rng(0).normal(size=side**2)
signal[11 * side + 11] = 0.6

found = st.local(grid, signal)
print(found["verdict"].to_series().value_counts())

# %%
# The parts of the nodes add up to the correlation of the whole graph. Each is tested by itself, and q is corrected over
# all nodes.

figure = st.plot.local(found, pos=places).figure
