"""The 13-node graph of the paper's Tasks 3-8, its start signal and its communities."""

import networkx as nx
import numpy as np

NODES = tuple("ABCDEFGHIJKLM")
EDGES = ("AB", "AC", "AD", "BE", "BF", "EF", "CG", "CH", "GH", "DI", "DJ", "IJ", "EK", "GL", "IM")
COMMUNITIES = ("A", "BEFK", "CGHL", "DIJM")

# s0 as printed in Task 3.
_START = {
    "AKLM": (0.58, 0.58, 0.58),
    "B": (1.0, 0.0, 0.0),
    "C": (0.0, 1.0, 0.0),
    "D": (0.0, 0.0, 1.0),
    "FGJ": (-1.0, 0.0, 0.0),
    "EHI": (0.0, -1.0, 0.0),
}


def caveman_graph() -> nx.Graph:
    """Make the paper's variant of the caveman graph: nodes A to M in order, 15 edges, diameter 6."""
    graph = nx.Graph()
    graph.add_nodes_from(NODES)
    graph.add_edges_from(EDGES)
    return graph


def start_signal() -> np.ndarray:
    """Give the start signal s0 of Task 3, shape (13, 3), rows in the order A to M."""
    return np.array([next(vector for nodes, vector in _START.items() if node in nodes) for node in NODES])


def true_labels() -> np.ndarray:
    """Give the community of each node as a number from 0 to 3, shape (13,)."""
    return np.array([next(label for label, nodes in enumerate(COMMUNITIES) if node in nodes) for node in NODES])
