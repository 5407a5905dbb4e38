"""The graph Fourier transform and the structural-decoupling index against NiGSP, on connectomes."""

import numpy as np
import pytest

import spectrata as st
from outside import outside

laplacian, timeseries, metrics = (
    outside(f"nigsp.operations.{name}") for name in ("laplacian", "timeseries", "metrics")
)


def connectome(seed, n=40):
    """Weights that fall with the distance of points, cut to the heavier third; without isolated nodes."""
    places = np.random.default_rng(seed).random((n, 3))
    weights = np.exp(-4 * np.linalg.norm(places[:, None] - places, axis=2))
    np.fill_diagonal(weights, 0)
    weights[weights < np.quantile(weights, 2 / 3)] = 0
    weights = np.maximum(weights, weights.T)
    assert (weights.sum(axis=1) > 0).all()
    return weights


def theirs(weights, signal, kind):
    matrix, degree = laplacian.compute_laplacian(weights)
    if kind == "normalized":
        matrix = laplacian.normalisation(matrix, degree, norm="symmetric")
    values, vectors = laplacian.decomposition(matrix)
    return values, vectors, timeseries.graph_fourier_transform(signal, vectors, energy=True)


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_transform(seed, kind):
    weights = connectome(seed)
    signal = np.random.default_rng(seed + 10).standard_normal((40, 120))
    values, _, energy = theirs(weights, signal, kind)
    ds = st.spectra(weights, signal, "gft", hops=1, weights=True, metric="euclidean", laplacian=kind)
    np.testing.assert_allclose(ds["eigenvalue"].sel(hop=1), values, atol=1e-12)
    assert np.diff(values).min() > 1e-9  # all simple, so that components compare one by one
    ours = ds["magnitude"].sel(algorithm="gft", hop=1) ** 2
    np.testing.assert_allclose(ours, energy.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
@pytest.mark.parametrize("split", [3, 11, 30])
def test_the_decoupling_index(kind, split):
    """NiGSP gives the logarithm to base 2. Its first high component is number ``split``."""
    weights = connectome(4)
    rng = np.random.default_rng(7)
    signal = np.linalg.matrix_power(np.eye(40) + weights / weights.sum(axis=1)[:, None], 2) @ rng.normal(size=(40, 90))
    values, vectors, _ = theirs(weights, signal, kind)
    parts = timeseries.graph_filter(signal, vectors, split)[1]
    cutoff = (values[split - 1] + values[split]) / 2
    found = st.decoupling(weights, signal, weights=True, laplacian=kind, cutoff=cutoff, draws=0)
    np.testing.assert_allclose(np.log2(found["decoupling"]), metrics.sdi(parts), rtol=1e-8, atol=1e-10)
    assert found["low_components"].item() == split


def test_where_the_energy_is_halved():
    """The two halve differently: NiGSP takes the area under the spectrum by trapezoids, spectrata the sum of energies.

    The sum is the definition of the paper (equal energy on both sides). On these signals the two differ by at most two
    components.
    """
    weights, apart = connectome(5), []
    for seed in range(20):
        signal = np.random.default_rng(seed).standard_normal((40, 60))
        energy = theirs(weights, signal, "normalized")[2]
        split = timeseries.median_cutoff_frequency_idx(energy)
        found = st.decoupling(weights, signal, weights=True, draws=0)["low_components"].item()
        share = np.cumsum(energy.sum(axis=1)) / energy.sum()
        assert share[found - 1] >= 0.5 > share[found - 2]
        apart.append(split - found)
    assert np.abs(apart).max() <= 2
    assert any(apart)
