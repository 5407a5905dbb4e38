"""APPRX-LS against least squares over all orientations; the rest: test_laws_roads."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import oracle
from spectrata.core.stratification import Stratification
from strategies import assert_near, case_of, cases_times, cases_with_signals, merged, oracle_hops, run, scale_of


def small(drawn):
    """At most nine edges in every stratum, so that all orientations can be tried."""
    return all(len(edges) <= 9 for edges, *_ in oracle_hops(*drawn))


@cases_times(0.2)
@given(cases_with_signals(max_nodes=6, kinds=("random connected", "tree", "ring", "star", "two nodes")).filter(small))
def test_rms_is_the_mean_over_all_orientations(drawn):
    case, signal = drawn
    rms = run(case, signal, "apprx_ls")
    one, index = (run(case, signal, "apprx_ls", orientation=kind, seed=5) for kind in ("random", "index"))
    for k, (edges, _, basis, g) in enumerate(oracle_hops(case, signal)):
        spaces, scale = rms["eigenspace"].values[k], scale_of(signal)
        every, residuals = [], []
        for signs in np.ndindex(*[2] * len(edges)):
            signs = 1 - 2 * np.array(signs)
            every.append(merged(oracle.apprx_ls(basis, edges, g, signs), spaces))
            incidence = oracle.oriented_incidence(edges, case.n, signs)
            residuals.append(np.sum((incidence @ np.linalg.lstsq(incidence, g, rcond=1e-10)[0] - g) ** 2))
        every = np.array(every)
        mean = np.sqrt(np.mean(every**2, axis=0))
        assert_near(merged(rms["magnitude"].values[0, k], spaces), mean, 1e-9, scale)
        # The random orientation is one of them.
        found = merged(one["magnitude"].values[0, k], spaces)
        assert np.abs(every - found).max(axis=1).min() <= 1e-9 * scale
        assert_near(merged(index["magnitude"].values[0, k], spaces), every[0], 1e-9, scale)
        if np.linalg.norm(g) > 1e-9 * scale:
            for ds, misfit in ((rms, np.mean(residuals)), (index, residuals[0])):
                expected = np.sqrt(misfit) / np.linalg.norm(g)
                assert ds["ls_residual"].values[k] == pytest.approx(expected, abs=1e-6)


@pytest.mark.long
def test_rms_is_the_mean_over_many_random_orientations():
    """Monte Carlo: 800 seeds; the mean square within 5 standard errors, at every component."""
    case = case_of(nx.gnp_random_graph(14, 0.3, seed=2))
    signal = np.random.default_rng(0).uniform(-1, 1, 14)
    strat = Stratification(case.graph)
    runs = [
        strat.using(keep=()).spectra(signal, "apprx_ls", seed=seed, apprx_ls={"orientation": "random"})
        for seed in range(800)
    ]
    squares = np.array([ds["magnitude"].values[0] for ds in runs]) ** 2
    error = squares.std(axis=0, ddof=1) / np.sqrt(len(squares))
    rms = strat.using(keep=()).spectra(signal, "apprx_ls")["magnitude"].values[0]
    assert (np.abs(squares.mean(axis=0) - rms**2) <= 5 * error + 1e-14).all()
    assert error.max() > 1e-3  # they do differ from seed to seed
    assert (error <= 0.1 * rms**2 + 1e-14).all()  # and the bound above is narrow
