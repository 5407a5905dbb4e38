"""The weighted graph Fourier transform and filters against PyGSP, on three of its graphs."""

import numpy as np
import pytest

import spectrata as st
from outside import by_space, outside

graphs, filters = outside("pygsp.graphs"), outside("pygsp.filters")


def sensor():
    return graphs.Sensor(80, seed=3)


def swiss_roll():
    return graphs.SwissRoll(90, seed=5)


def sphere():
    return graphs.Sphere(nb_pts=70, seed=2)


@pytest.mark.filterwarnings("ignore")  # those of PyGSP itself
@pytest.mark.parametrize("lap_type", ["combinatorial", "normalized"])
@pytest.mark.parametrize("make", [sensor, swiss_roll, sphere])
class TestAgainstPyGSP:
    def prepared(self, make, lap_type):
        graph = make()
        graph.compute_laplacian(lap_type)
        graph.compute_fourier_basis()
        weights = np.asarray(graph.W.todense())
        assert len(np.unique(weights[weights > 0].round(9))) > 10
        return graph, np.random.default_rng(0).standard_normal((graph.N, 4))

    def test_the_transform(self, make, lap_type):
        graph, signal = self.prepared(make, lap_type)
        ds = st.spectra(graph, signal, "gft", hops=1, weights=True, metric="euclidean", laplacian=lap_type)
        values = ds["eigenvalue"].sel(hop=1).values
        np.testing.assert_allclose(values, graph.e, atol=1e-10 * graph.e[-1])
        theirs = np.sum(graph.gft(signal) ** 2, axis=1)
        ours = ds["magnitude"].sel(algorithm="gft", hop=1).values ** 2
        np.testing.assert_allclose(by_space(values, ours), by_space(values, theirs), rtol=1e-8, atol=1e-10)

    def test_a_filter(self, make, lap_type):
        graph, signal = self.prepared(make, lap_type)
        heat = filters.Filter(graph, lambda lam: np.exp(-3.0 * lam / graph.e[-1]))
        theirs = heat.filter(signal, method="exact")
        strat = st.Stratification(graph, hops=[1], weights=True, laplacian=lap_type)
        ours = st.filter_signal(strat, signal, response=lambda lam: np.exp(-3.0 * lam / graph.e[-1]))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)

    def test_the_dirichlet_energy(self, make, lap_type):
        graph, signal = self.prepared(make, lap_type)
        name = {"combinatorial": "dirichlet", "normalized": "dirichlet_normalized"}[lap_type]
        ours = st.smoothness(graph, signal, hops=1, weights=True, columns="separate")[name]
        theirs = [graph.dirichlet_energy(column) for column in signal.T]
        np.testing.assert_allclose(ours.values.ravel(), theirs, rtol=1e-10)
