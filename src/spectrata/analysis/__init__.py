"""Reading results: what a magnitude means, and whether it is more than chance.

``normalize``, ``drop_zero``, ``off_zero``
    spectra of unit length, zero components set aside, energy off zero
``merge_eigenspaces``, ``basis_spread``
    values that no choice of basis moves, and how far the others move
``calibrate``
    z, p and q against permuted nodes, rotated signals, rewired graphs or untrained models
``compare``, ``response``
    two results, or the two sides of a step
``distinguish``, ``correlate``
    many snapshots: two groups, or a score
``smoothness``
    the measures of over-smoothing people quote
``summary``, ``diagnose``
    a table, and findings in words with their evidence

Behind them: ``layout`` (eigenspaces, bands), ``nulls`` and ``draws`` (what chance looks like), ``tally`` (p
and q), ``moments`` (the exact permutation null of the GFT), ``reading`` and ``findings`` (what a diagnosis
rests on). This room reads results and stratifications; it draws and prints nothing.
"""
