"""Spectra by frequency band, without eigenvectors: for graphs past one full decomposition.

- ``operators``: Laplacians as products with blocks of columns
- ``lanczos``: one recurrence per column, all columns over one product
- ``quadrature``: from recurrences to cumulative energies with bounds
- ``measure``: steps added until the bounds are close enough; probes of the spectrum
- ``edges``: where bands begin and end
- ``exact``: small graphs, decomposed
- ``solve``: the Laplacian solve of APPRX-LS
- ``settings``: the arguments, checked
- ``one_hop``, ``spectra``: from an operator, and from a graph and a signal, to energies; ``result``: the Dataset
- ``compiled``: the loops, imported when first needed; ``fused_laplacian``: operators on a GPU
"""
