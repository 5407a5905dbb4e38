"""Surrogates of ``agree`` against Moran spectral randomisation in BrainSpace."""

import networkx as nx
import numpy as np

import spectrata as st
from outside import outside

moran = outside("brainspace.null_models.moran")


def test_interval_of_chance():
    """On a torus the Moran eigenvectors are those of the Laplacian, so both nulls spread r alike."""
    torus = nx.convert_node_labels_to_integers(nx.grid_2d_graph(9, 10, periodic=True))
    rng = np.random.default_rng(0)
    heat = {"response": lambda lam: np.exp(-0.7 * lam)}
    a, b = (st.filter_signal(torus, rng.normal(size=90), **heat).values for _ in range(2))
    vectors, _ = moran.compute_mem(nx.to_numpy_array(torus), tol=1e-7)
    surrogates = moran.moran_randomization(a, vectors, n_rep=4000, procedure="singleton", random_state=0)
    theirs = np.quantile([np.corrcoef(one, b)[0, 1] for one in surrogates], [0.025, 0.975])
    found = st.agree(torus, a, b, draws=3999).sel(hop=0)
    ours = [found["chance_low"].item(), found["chance_high"].item()]
    assert np.isclose(found["r"].item(), np.corrcoef(a, b)[0, 1], rtol=1e-12)
    # ours is the widest over surrogates of a and of b, theirs that of a alone
    assert ours[0] <= theirs[0] * 0.9
    assert ours[1] >= theirs[1] * 0.9
    assert ours[1] <= theirs[1] * 1.4
