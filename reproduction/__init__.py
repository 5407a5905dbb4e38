"""The paper's experiments: run them, judge its claims, draw its figures; and studies of this package.

``runner.reproduce``
    everything by one call; ``python -m reproduction`` on the command line
``tasks/``
    Tasks 1 and 2 on random graphs (``random_graphs``, ``task1``, ``task2``); the 13-node graph, its model and its
    clustering (``caveman``, ``smoothing``, ``clustering``); Task 3 and its spread over bases of repeated eigenspaces
    (``task3``, ``bases``); Tasks 4 to 8 (``smoothing_runs``, ``measures``); statements of sections 1 and 2
    (``section2``). ``released`` computes spectra as the released program does; ``settings``, ``store`` and
    ``parallel`` hold sizes and seeds, finished units on disk, and processes
``claims/``
    what the paper states (``text``, ``cells``, ``task1`` and so on, with the numbers in ``published``), the rules
    that judge it (``claim``), slips in the text (``errata``), and the page of verdicts (``page``)
``figures/``
    pictures and films
``studies/``
    ``fidelity`` and ``calibration``: how right this package's own statements are; ``models``:
    what activations tell about a trained model

Needs the extra ``probe`` (scikit-learn); ``studies/models`` needs the extra ``torch`` instead.
"""
