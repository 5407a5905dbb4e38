"""Pictures of results. A picture draws what a result holds and computes no statistics.

Likeness: ``diagnose`` (findings beside the graph), ``correlogram``, ``agree``, ``columns`` (the clearest of many),
``local`` (a map of nodes). Spectra: ``spectra``, ``compare``, ``spectrogram``. Graphs:
``nodes``, ``embedding``, ``strata``. Models: ``probe``, ``training``, ``collapse``, ``layers``, ``filters``.
``dark`` is a context in which pictures are dark.

Every function takes a result and, if wanted, axes to draw on, and gives back the axes. Several results of one graph
may be given by name, as ``{"start": a, "end": b}``, and are drawn as snapshots. Figures are made without pyplot, so
nothing stays open and no display is needed: ``plot.spectra(ds)[0].figure.savefig("spectra.png")``.
"""

from spectrata.plot.graphs import embedding, strata
from spectrata.plot.likeness import agree, compare, correlogram, diagnose
from spectrata.plot.maps import filters, layers, spectrogram
from spectrata.plot.painting import local, nodes
from spectrata.plot.run import collapse, training
from spectrata.plot.spectrum import spectra
from spectrata.plot.style import dark
from spectrata.plot.table import columns, probe

__all__ = [
    "agree", "collapse", "columns", "compare", "correlogram", "dark", "diagnose", "embedding", "filters",
    "layers", "local", "nodes", "probe", "spectra", "spectrogram", "strata", "training",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
