"""Spectra by frequency band, without eigenvectors: for graphs past one full decomposition.

``operators``    Laplacians as products with blocks of columns ``lanczos``      one recurrence per column, all columns
over one product ``quadrature``   from recurrences to cumulative energies with rigorous bounds ``measure``      steps
added until the cumulative distribution settles ``solve``        the Laplacian solve of APPRX-LS ``settings``     the
arguments, checked ``spectra``      ``band_spectra``: from a graph and a signal to a Dataset ``labels``       the
Dataset ``compiled``, ``spheres``  the loops, imported when first needed
"""
