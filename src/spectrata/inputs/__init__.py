"""Graphs and signals in any form users hold, turned into plain arrays.

``graphs``, ``canonical``
    a canonical simple undirected graph, and the one function that makes it so.
``weights``
    which edge weights are meant, one per edge.
``signals``, ``labels``, ``columns``
    a ``(T, n, d)`` array in the graph's row order, and the metric; classes of nodes; which columns are read together.
``rows``
    which row belongs to which node.
``device``
    graphs and signals that stay on a GPU.
``readers``
    files and objects to plain arrays.
"""
