"""The paper's experiments: run them, judge its claims, draw its figures; and studies of this package.

``python -m reproduction`` runs everything (``runner.reproduce``), ``make reproduce`` a small run.

``tasks/``
    Tasks 1 to 8, and the statements of sections 1 and 2; ``released`` computes spectra as the released program does
``claims/``
    what the paper states, with rules and checks (``claims.toml``), slips in its text (``errata.toml``), what their
    expressions use (``numbers``), verdicts (``judge``) and the page (``page``)
``figures/``
    pictures and films
``studies/``
    ``fidelity`` and ``calibration``: how right this package's own statements are; ``models``: what
    activations tell about a trained model
``pool``, ``store``, ``bases``, ``words``
    processes; finished units on disk; random bases of repeated eigenspaces; words of pages and figures

Needs the extra ``probe`` (scikit-learn); ``studies/models`` needs the extra ``torch``.
"""
