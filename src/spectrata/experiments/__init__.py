"""The paper's experiments: run them, judge its claims, draw its figures.

``runner.reproduce``
    everything by one call; ``spectrata reproduce`` on the command line
``random_graphs``, ``task1``, ``task2``
    the algorithms against the GFT and against each other, on random graphs
``caveman``, ``smoothing``, ``clustering``, ``spectra13``
    the 13-node graph, the shallow model, spectral clustering, and spectra as the released program computes them
``task3``, ``bases``, ``smoothing_runs``, ``measures``
    Task 3, its spread over bases of repeated eigenspaces, and Tasks 4 to 8
``section2``, ``errata``
    statements of sections 1 and 2, and slips in the text
``claims`` and ``claims_*``, ``published``
    what the paper states, its figures, and the rules that judge them
``settings``, ``store``, ``parallel``
    sizes and seeds, finished units on disk, processes
``drawing``, ``figures_*``, ``animation``, ``page``
    pictures, films and the page

Needs the extra ``experiments`` (scikit-learn).
"""
