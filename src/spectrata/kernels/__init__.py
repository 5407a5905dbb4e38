"""Free functions on plain arrays: no labels, no objects, nothing of this package but errors.

``reference``
    the clear versions, each a transcription of its formula; the oracle of the tests.
``fast``
    the same functions at bounded memory and full speed, compared with the reference by value: numpy for small inputs,
    compiled loops for large ones.
``compiled``
    those loops, imported when first needed.

Shapes: ``T`` snapshots, ``n`` nodes, ``m`` edges, ``d`` signal dimensions, ``c`` eigenvectors. Edges are ``(m, 2)``
integer rows ``x < y``.
"""
