"""Pictures of a result; nothing here computes mathematics.

``spectra``
    magnitudes over eigenvalues, one panel per hop

Every function takes a Dataset and, if wanted, axes to draw on, and gives back the axes. Figures
are made without pyplot, so nothing stays open and no display is needed:
``plot.spectra(ds)[0].figure.savefig("spectra.png")``.
"""

from spectrata.plot.spectra import spectra

__all__ = ["spectra"]
