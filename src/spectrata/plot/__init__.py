"""Pictures of a result; nothing here computes mathematics.

``spectra``
    magnitudes over eigenvalues, one panel per hop
``hops``
    hop by frequency, as a heat map
``spectrogram``
    frequency by layer or epoch, one panel per hop
``correlogram``
    likeness of nodes per hop, with the band that chance allows
``columns``
    the clearest of many columns, ranked: a cell per hop or band
``strata``
    sizes per hop, and the graphs themselves when small
``compare``
    two results over each other
``evolution``
    measures along layers or epochs
``training``
    any measure of a watched model over layers and epochs, with its scores
``layers``
    spectra of the layers of one pass in bins, with those of labels over them
``collapse``
    how far each layer has collapsed, against its control and the levels of the study
``filters``
    the frequency response of each layer
``embedding``
    nodes where their vectors are
``nodes``
    values painted on the graph: energies per band, filtered signals

Every function takes a Dataset and, if wanted, axes to draw on, and gives back the axes. Several results of one graph
may be given by name, as ``{"start": a, "end": b}``, and are drawn as snapshots. Figures are made without pyplot, so
nothing stays open and no display is needed: ``plot.spectra(ds)[0].figure.savefig("spectra.png")``.
"""

from spectrata.plot.change import compare, evolution
from spectrata.plot.collapse import collapse
from spectrata.plot.columns import columns
from spectrata.plot.correlogram import correlogram
from spectrata.plot.embedding import embedding
from spectrata.plot.heat import hops, spectrogram
from spectrata.plot.layers import filters, layers
from spectrata.plot.nodes import nodes
from spectrata.plot.spectra import spectra
from spectrata.plot.strata import strata
from spectrata.plot.training import training

__all__ = [
    "collapse",
    "columns",
    "compare",
    "correlogram",
    "embedding",
    "evolution",
    "filters",
    "hops",
    "layers",
    "nodes",
    "spectra",
    "spectrogram",
    "strata",
    "training",
]
