"""Free functions on plain arrays: no labels, no objects, nothing of this package but errors.

``searches``, ``edge_sums``
    at bounded memory and full speed: numpy for small inputs, compiled loops for large ones.
``compiled``
    those loops, imported when first needed.

Shapes: ``T`` snapshots, ``n`` nodes, ``m`` edges, ``d`` signal dimensions, ``c`` eigenvectors. Edges are ``(m, 2)``
integer rows ``x < y``.
"""
