"""Graphs and signals in any form users hold, turned into plain arrays.

``graphs``
    a canonical simple undirected graph.
``weights``
    which edge weights are meant, one per edge.
``signals``
    a ``(T, n, d)`` array in the graph's row order, and the metric.
``formats``
    one file per family of files and objects.
"""
