"""Digits at risk: tiny angles, huge offsets, narrow floats, and whole numbers too long for a double."""

import networkx as nx
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import calls
import oracle
import spectrata as st
import spectrata.torch
from roads import ROADS
from spectrata.errors import SignalValueError, SpectrataWarning
from strategies import DEFAULT, Case, assert_near, case_of, run

GRAPH = nx.disjoint_union(nx.gnp_random_graph(14, 0.25, seed=2), nx.path_graph(3))
CASE = case_of(GRAPH)
STRAT = st.Stratification(GRAPH)
RNG = np.random.default_rng(0)
ONE = RNG.uniform(0.5, 1.5, (17, 3)) * RNG.choice([-1, 1], (17, 3))
every_road = pytest.mark.parametrize("road", ROADS, ids=[road.name for road in ROADS])


# --- angles -------------------------------------------------------------------------------------------------


def near(angle, d, rng):
    """Two vectors of d coordinates at an angle, of any lengths."""
    a, b = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    return np.stack([a, a * np.cos(angle) + b * np.sin(angle)]) * 10 ** rng.uniform(-5, 5, (2, 1))


ROUTES = {
    **{road.name: (lambda v, road=road: road.spectra(PAIR, v, "gft")["gradient_norm"].item()) for road in ROADS},
    "float32": lambda v: run(PAIR, v, "gft", dtype="float32")["gradient_norm"].item(),
    "bands": lambda v: calls.band_spectra(PAIR.graph, v, bands=2)["gradient_norm"].item(),
    "torch formulas": lambda v: (
        float(spectrata.torch.magnitudes(st.Stratification(PAIR.graph), torch.tensor(v))[0, 1]) * 2**0.5
    ),
    "smoothness": lambda v: (st.smoothness(st.Stratification(PAIR.graph), v)["mad"].item() / 2) ** 0.5,
}
PAIR = Case(np.array([[0, 1]]), 2)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("d", [2, 64])
@pytest.mark.parametrize(("angle", "relative"), [(1e-6, 1e-9), (1e-9, 1e-6), (1e-12, 1e-3)])
def test_tiny_angles_keep_their_digits(route, d, angle, relative):
    """Against 500 digits: what is lost is 2e-16 over the angle, no more; at 1e-9 six digits stand."""
    rng = np.random.default_rng(d)
    for _ in range(3):
        vectors = near(angle, d, rng)
        slack = max(relative, 2e-7) if route == "float32" else relative
        assert ROUTES[route](vectors) == pytest.approx(oracle.angular_gradient(*vectors), rel=slack)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-9, 1e-6])
def test_opposite_vectors_are_one_apart(route, off):
    vectors = near(np.pi - off, 5, np.random.default_rng(0))
    assert ROUTES[route](vectors) == pytest.approx(1.0, rel=1e-6 if route == "float32" else 1e-14)


# --- offsets and narrow floats ------------------------------------------------------------------------------


@every_road
def test_a_huge_offset_costs_what_the_input_lost(road):
    """1e8 plus something of size 1 has eight digits of that left, and all of them come through."""
    offset = 1e8
    rounded = (ONE + offset) - offset  # what the input still knows
    options = {"metric": "euclidean", "hops": 2}
    one, other = (road.spectra(CASE, s, DEFAULT, **options) for s in (rounded, ONE + offset))
    zero = np.arange(CASE.n) < one["n_parts"].values[:, None]
    for algorithm in DEFAULT:
        ours, theirs = (np.where(zero, 0.0, ds["magnitude"].loc[algorithm].values) for ds in (other, one))
        assert_near(ours, theirs, 1e-6)
    assert_allclose(other["gradient_norm"], one["gradient_norm"], rtol=1e-14)


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e5, 1e8])
@pytest.mark.parametrize("factor", [1e-30, 1.0, 1e30])
def test_single_precision_keeps_four_digits_whatever_the_mean_and_the_size(offset, factor):
    graph = nx.gnp_random_graph(40, 0.2, seed=3)
    strat = st.Stratification(graph, hops=2)
    signal = (np.random.default_rng(0).standard_normal((40, 2)) + offset) * factor
    one, other = (strat.using(dtype=dtype).spectra(signal, metric="euclidean") for dtype in ("float64", "float32"))
    simple = (one["multiplicity"].values == 1) & (other["multiplicity"].values == 1) & (one["eigenvalue"].values > 0)
    for algorithm in DEFAULT:
        ours, theirs = (ds["magnitude"].loc[algorithm].values[simple] for ds in (other, one))
        assert_near(ours, theirs, 1e-4)
    assert_allclose(other["gradient_norm"], one["gradient_norm"], rtol=1e-6)
    zero = one["eigenvalue"].values == 0
    ours, theirs = (ds["magnitude"].loc["gft"].values[zero] for ds in (other, one))
    assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("device", ["numpy", "torch"])
def test_over_smoothed_vectors_in_single_precision(device):
    """Directions that differ by 1e-6: float32 products still know them, since means are taken off before."""
    from spectrata.kernels.backend import Backend

    rng = np.random.default_rng(0)
    signal = np.array([1.0, 2.0, -1.0]) + 1e-6 * rng.standard_normal((17, 3))
    one = STRAT.spectra(signal)
    other = STRAT.using(dtype="float32", device=Backend(device, "cpu")).spectra(signal)
    assert_allclose(other["gradient_norm"], one["gradient_norm"], rtol=1e-6)
    assert_allclose(st.off_zero(other), st.off_zero(one), rtol=1e-5)


# --- whole numbers and long floats --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_too_long_for_double_precision_are_said(dtype):
    """2^60 + 1 is 2^60 as a double: the difference is gone, with a word."""
    values = np.array([2**60, 2**60 + 1, 2**60 + 4096], dtype=dtype)
    case = Case(np.array([[0, 1], [1, 2]]), 3)
    with pytest.warns(SpectrataWarning, match="1 whole numbers of the signal, beyond 2\\^53, lost digits"):
        run(case, values)
    assert run(case, values[[0, 0, 2]])["gradient_norm"].sel(hop=2).item() == 4096.0  # exact ones are no news


def test_long_doubles_beyond_doubles_are_refused():
    with pytest.raises(SignalValueError, match="inf"):
        run(Case(np.array([[0, 1]]), 2), np.array([np.longdouble("1e400"), 1]))
