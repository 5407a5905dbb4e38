"""Laws of what is read from a result: merged, normalised, compared, calibrated, saved and opened; and of bands."""

import tempfile
from pathlib import Path

import hypothesis.strategies as hs
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given
from numpy.testing import assert_allclose, assert_array_equal

import calls
import spectrata as st
from roads import ALL, INCIDENCE
from strategies import Case, assert_near, cases_times, cases_with_signals, scale_of, sorted_edges

seeds = hs.integers(0, 2**32 - 1)
varied = {"shapes": ("random", "pulse")}  # signals whose differences are more than rounding


@hs.composite
def results(draw, **options):
    """A result, with snapshots or without, some of them undefined."""
    case, signal = draw(cases_with_signals(max_nodes=9, dims=(2, 3)))
    if draw(hs.booleans()):
        signal = np.stack([signal, signal + 0.5, 0.0 * signal])
    metric = draw(hs.sampled_from(["angular", "euclidean"]))
    keep = draw(hs.sampled_from([(), ("signal",), ("signal", "eigenvectors")]))
    return calls.spectra(case.graph, signal, ALL, metric=metric, zero_vectors="nan", keep=keep, **INCIDENCE | options)


@hs.composite
def pairs(draw):
    """Two results on one graph."""
    case, signal = draw(cases_with_signals(dims=(1, 3)))
    other = np.random.default_rng(draw(seeds)).uniform(-1, 1, signal.shape)
    strat = st.Stratification(case.graph)
    return strat.using(keep=()).spectra(signal), strat.using(keep=()).spectra(other)


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@cases_times(0.2)
@given(ds=results(), make=hs.sampled_from([st.merge_eigenspaces, st.stats.normalize, st.stats.drop_zero]))
def test_saved_and_opened_is_the_same(suffix, make, ds):
    """And so is what is read from it: reading commutes with saving."""
    made = make(ds)
    with tempfile.TemporaryDirectory() as folder:
        xr.testing.assert_identical(st.open(st.save(made, Path(folder) / f"r{suffix}")), made)
        again = st.open(st.save(ds, Path(folder) / f"s{suffix}"))
        xr.testing.assert_identical(again, ds)
        xr.testing.assert_identical(make(again), made)


@cases_times(0.3)
@given(results())
def test_the_table_is_the_result(ds):
    table = st.to_table(ds)
    order = [name for name in ("algorithm", "snapshot", "hop", "component") if name in table]
    back = xr.DataArray.from_series(table.set_index(order)["magnitude"]).reindex_like(ds["magnitude"])
    assert_array_equal(back.transpose(*ds["magnitude"].dims), ds["magnitude"])
    assert len(table) == ds["magnitude"].size


# --- merged, normalised -------------------------------------------------------------------------------------


@cases_times(0.5)
@given(results())
def test_merging_keeps_the_energy_and_is_done_once(ds):
    merged = st.merge_eigenspaces(ds)
    xr.testing.assert_identical(st.merge_eigenspaces(merged), merged)
    for algorithm in ds["algorithm"].values:
        power = 1 if algorithm == "ln_vx" else 2
        sums = [(one["magnitude"].loc[algorithm] ** power).sum("component") for one in (merged, ds)]
        assert_allclose(*sums, rtol=1e-12)
    last = merged["n_eigenspaces"].values
    assert_array_equal(merged["multiplicity"].sum("component"), ds.sizes["component"])
    assert_array_equal(last, ds["eigenspace"].max("component") + 1)


@cases_times(0.5)
@given(results(), hs.integers(-900, 900))
def test_normalised_spectra_have_length_one_and_forget_their_size(ds, power):
    unit = st.stats.normalize(ds)
    squares = (unit["magnitude"] ** 2).sum("component")
    norms = unit["magnitude_norm"].fillna(0.0)
    assert_allclose(squares, xr.where(norms > 0, 1.0, 0.0), rtol=1e-12)
    assert_allclose(
        (unit["magnitude"] * norms).transpose(*ds["magnitude"].dims).fillna(0.0),
        ds["magnitude"].fillna(0.0),
        rtol=1e-12,
        atol=1e-300,
    )
    assert_allclose(st.stats.normalize(unit)["magnitude"], unit["magnitude"], rtol=1e-12, atol=1e-300)
    grown = ds.assign(magnitude=ds["magnitude"] * 2.0**power)
    loose = {"rtol": 1e-12, "atol": 1e-15}
    assert_allclose(st.stats.normalize(grown)["magnitude"], unit["magnitude"], **loose)
    assert_allclose(st.off_zero(grown), st.off_zero(ds), **loose)
    some = (
        st.summary(one).drop(columns=["algorithm", "snapshot", "status", "norm"], errors="ignore")
        for one in (grown, ds)
    )
    assert_allclose(*(frame.astype(float) for frame in some), rtol=1e-9, atol=1e-12)


@cases_times(0.5)
@given(results())
def test_energy_off_zero_is_a_share(ds):
    share = st.off_zero(ds)
    assert ((share >= 0) & (share <= 1 + 1e-12) | share.isnull()).all()
    left = st.stats.drop_zero(ds)["magnitude"].loc["gft"]
    whole = (ds["magnitude"].loc["gft"] ** 2).sum("component")
    assert_allclose((share * whole).fillna(0.0), (left**2).sum("component"), rtol=1e-12, atol=1e-300)


# --- compared -----------------------------------------------------------------------------------------------


@cases_times(0.5)
@given(pairs())
def test_comparing_a_result_with_itself_finds_nothing(pair):
    found = st.compare(pair[0], pair[0])
    for name, value in (
        ("cosine", 1),
        ("correlation", 1),
        ("wasserstein", 0),
        ("largest_difference", 0),
        ("energy_shift", 0),
    ):
        assert_allclose(found[name].fillna(value), value, atol=1e-12)
    off, whole = ((one["magnitude"] ** 2).sum("component") ** 0.5 for one in (st.stats.drop_zero(pair[0]), pair[0]))
    empty = found["cosine"].isnull()
    assert empty.values[off.values == 0].all()
    assert (off.values[empty.values] <= 1e-12 * whole.values[empty.values]).all()


@cases_times(0.5)
@given(pairs(), hs.booleans())
def test_comparing_backwards_turns_differences_around(pair, zero):
    one, other = (st.compare(*two, zero=zero, draws=9) for two in (pair, pair[::-1]))
    for name in ("cosine", "correlation", "wasserstein"):
        assert_allclose(one[name], other[name], rtol=1e-12, atol=1e-12)
    assert_allclose(one["energy_shift"], -other["energy_shift"], atol=1e-12)
    assert_allclose(one["largest_difference"], -other["largest_difference"], atol=1e-12)
    assert_array_equal(one["cosine_flat_a"], other["cosine_flat_b"])
    for name in ("cosine", "correlation"):
        assert (np.abs(one[name].fillna(0.0)) <= 1 + 1e-12).all()


@cases_times(0.3)
@given(cases_with_signals(dims=(1, 3), **varied), hs.floats(1e-6, 1e6))
def test_a_step_that_multiplies_everything_filters_nothing(drawn, gain):
    """The response to it is flat, and the gain is the factor."""
    case, signal = drawn
    strat = st.Stratification(case.graph)
    found = st.response(signal, gain * signal, strat, metric="euclidean")
    assert_allclose(found["relative"].fillna(1.0), 1.0, rtol=1e-6)
    known = found["gain"].notnull()
    assert_allclose(found["gain"][known], gain, rtol=1e-9)


# --- smoothness ---------------------------------------------------------------------------------------------

GROWING = {
    "dirichlet": 2,
    "dirichlet_mean": 2,
    "dirichlet_normalized": 2,
    "norm": 1,
    "spectral_norm": 1,
    "mean_row_norm": 1,
}


@cases_times(0.3)
@given(cases_with_signals(dims=(2, 4), **varied), seeds, hs.sampled_from([1.0, 1e-3, 7.0, 1e60, 1e-60]))
def test_smoothness_turns_moves_and_grows_as_it_should(drawn, seed, factor):
    """Rotated and relabelled it stays; multiplied, energies grow by the square and lengths with it."""
    case, signal = drawn
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((signal.shape[1],) * 2))[0]
    new = rng.permutation(case.n)
    moved = Case(sorted_edges(new[case.edges]), case.n)
    turned = np.empty_like(signal)
    turned[new] = factor * (signal @ turn)
    one = st.smoothness(st.Stratification(case.graph), signal)
    other = st.smoothness(st.Stratification(moved.graph), turned)
    for name in one.data_vars:
        expected = one[name] * factor ** GROWING.get(str(name), 0)
        assert_near(other[name], expected, 1e-9, 1e-9 * factor ** GROWING.get(str(name), 0))


@cases_times(0.3)
@given(cases_with_signals(dims=(1, 3)), hs.floats(-2, 2))
def test_dirichlet_energy_is_the_spectrums(drawn, shift):
    """sum lam gft^2 = dirichlet, which a constant does not change; off zero is the same share."""
    case, signal = drawn
    strat = st.Stratification(case.graph)
    one, moved = (st.smoothness(strat, s, metric="euclidean") for s in (signal, signal + shift))
    ds = strat.using(keep=()).spectra(signal, "gft", metric="euclidean")
    energy = (ds["eigenvalue"] * ds["magnitude"].loc["gft"] ** 2).sum("component")
    slack = 1e-12 * case.n**2
    assert_allclose(one["dirichlet"], energy, rtol=1e-9, atol=slack)
    assert_allclose(one["dirichlet"], ds["gradient_norm"] ** 2, rtol=1e-12)
    assert_allclose(moved["dirichlet"], one["dirichlet"], rtol=1e-9, atol=slack)
    assert_allclose(one["off_zero"], st.off_zero(ds), rtol=1e-9, atol=1e-12)
    assert_allclose(one["dirichlet_share"] * one["norm"] ** 2, one["dirichlet"], rtol=1e-12)


# --- chance -------------------------------------------------------------------------------------------------


@cases_times(0.12)
@given(cases_with_signals(max_nodes=8, dims=(1, 3), **varied), seeds, hs.sampled_from([2.0**-200, 8.0, 2.0**200]))
def test_chance_knows_no_size_and_is_the_same_again(drawn, seed, factor):
    case, signal = drawn
    strat = st.Stratification(case.graph)
    options = {"draws": 39, "seed": seed, "metric": "euclidean"}
    one, again = (st.calibrate(strat, signal, **options) for _ in range(2))
    xr.testing.assert_identical(one, again)
    grown = st.calibrate(strat, signal * factor, **options)
    for name in ("p", "q", "status"):
        assert_array_equal(grown[name], one[name])
    for name in ("share", "chance", "chance_low", "chance_high", "ratio"):
        assert_allclose(grown[name], one[name], rtol=1e-9)
    for name, power in (("magnitude", 1), ("energy", 2), ("gradient_norm", 1)):
        assert_allclose(grown[name], one[name] * factor**power, rtol=1e-12)
    p, q = one["p"].values, one["q"].values
    known = ~np.isnan(p)
    assert (p[known] >= 2 / 40 - 1e-15).all()
    assert (p[known] <= 1).all()
    assert (q[known] >= p[known] - 1e-15).all()


@cases_times(0.2)
@given(cases_with_signals(dims=(1, 3), **varied), seeds)
def test_the_exact_null_does_not_see_the_order_of_the_nodes(drawn, seed):
    """What chance gives gft does not depend on the order of the vectors, and adds up to 1."""
    case, signal = drawn
    strat = st.Stratification(case.graph)
    shuffled = np.random.default_rng(seed).permutation(signal)
    one, other = (st.calibrate(strat, s, draws=0, algorithms="gft", metric="euclidean") for s in (signal, shuffled))
    assert_allclose(one["chance"], other["chance"], rtol=1e-9)
    assert_allclose(one["chance"].where(~one["is_zero"]).sum("component"), 1.0, rtol=1e-9)


# --- bands --------------------------------------------------------------------------------------------------


def band_edges(values):
    """Two edges in the widest gaps between eigenvalues, so that every band is certain."""
    levels = np.unique(np.round(values[values > 1e-9], 6))
    assume(len(levels) >= 3)
    gaps = np.argsort(np.diff(levels))[-2:]
    inner = np.sort((levels[gaps] + levels[gaps + 1]) / 2)
    return [0.0, *inner.tolist(), float(levels[-1] + 1.0)]


@cases_times(0.4)
@given(
    cases_with_signals(dims=(1, 3), kinds=("random connected", "random disconnected", "tree", "grid", "many parts")),
    hs.sampled_from(["auto", "euclidean"]),
    seeds,
)
def test_bands_of_small_graphs_are_sums_over_components(drawn, metric, seed):
    """With as many steps as nodes bands are exact; relabelled and rotated they stay."""
    case, signal = drawn
    exact = st.spectra(st.Stratification(case.graph, hops=1, keep=()), signal, ("gft", "in_agg"), metric=metric)
    values = exact["eigenvalue"].values[0]
    edges = band_edges(values)
    options = {"bands": edges, "algorithms": ("gft", "in_agg"), "metric": metric, "tol": 1e-6}
    found = calls.band_spectra(case.graph, signal, **options)
    band = np.digitize(values, edges[1:-1])
    rng = np.random.default_rng(seed)
    new = rng.permutation(case.n)
    turned = np.empty_like(signal)
    turned[new] = signal @ np.linalg.qr(rng.standard_normal((signal.shape[1],) * 2))[0]
    moved = calls.band_spectra(Case(sorted_edges(new[case.edges]), case.n).graph, turned, **options)
    for algorithm in ("gft", "in_agg"):
        squares = exact["magnitude"].loc[algorithm].values[0] ** 2
        off = exact["eigenspace"].values[0] > 0
        slack = 1e-7 * squares.sum() + 1e-16 * scale_of(signal) ** 2 * case.n
        for ds in (found, moved):
            assert_allclose(ds["energy"].loc[algorithm].values[0], np.bincount(band[off], squares[off], 3), atol=slack)
            assert_allclose(ds["zero_energy"].loc[algorithm].item(), squares[~off].sum(), atol=slack)
    assert_allclose(found["gradient_norm"], exact["gradient_norm"], rtol=1e-12)


# --- a graph of two edges -----------------------------------------------------------------------------------


def test_results_of_two_edges_are_not_taken_for_a_matrix():
    """Two edges are a 2 x 2 array; what rebuilds the graph of a result must know them for rows."""
    graph, signal = nx.path_graph(3), [[0.0, 1.0], [1.0, 2.0], [4.0, 1.0]]
    strat = st.Stratification(graph)
    ds = strat.spectra(signal)
    assert st.diagnose(ds, draws=39).tests
    assert st.response(ds, strat.spectra([[1.0, 1.0], [1.0, 3.0], [2.0, 1.0]]))["share_after"].notnull().any()
    found = st.calibrate(strat, signal, null="rewire", draws=39, level="band", bands=1)
    assert found.attrs["draws"] == 39


def test_rounding_off_zero_is_no_spectrum():
    """A constant signal has nothing off zero but rounding: nothing is compared, shared out or gained there."""
    strat = st.Stratification(nx.gnp_random_graph(30, 0.2, seed=1), hops=2)
    rng = np.random.default_rng(0)
    other = strat.spectra(rng.standard_normal((30, 3)), "gft")
    direction = np.array([0.1, 0.7, 0.3])
    collapsed = strat.spectra(direction * rng.uniform(0.5, 3.0, (30, 1)), "gft")
    assert (st.stats.drop_zero(collapsed)["magnitude"].sum("component") > 0).all(), "no rounding to be mistaken"
    found = st.compare(collapsed, other)
    assert found["cosine"].isnull().all()
    assert (found["status"] == "undefined: a spectrum without energy").all()
    assert st.summary(collapsed)["centroid"].isnull().all()
    found = st.response(collapsed, other)
    assert found["gain"].isnull().all()
    assert (found["status"] == "undefined: no energy before or after").all()
    found = st.calibrate(strat, direction * np.ones((30, 1)), draws=39)
    assert found["share"].isnull().all()
    assert (found["status"] == "undefined: no energy off zero").all()


def test_an_undefined_snapshot_has_no_length_to_correlate():
    """A zero vector leaves a snapshot NaN; its length is not 0, and no coefficient is given with it."""
    rng = np.random.default_rng(0)
    many = rng.standard_normal((6, 5, 2))
    ds = st.spectra(nx.path_graph(5), many, "in_agg", hops=1)
    whole = st.stats.correlate(ds, range(6), of="magnitude_norm")
    assert whole["pearson"].notnull().all()
    many[3, 2] = 0.0
    ds = st.spectra(nx.path_graph(5), many, "in_agg", hops=1, zero_vectors="nan")
    assert st.stats.correlate(ds, range(6), of="magnitude_norm")["pearson"].isnull().all()


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_correlations_and_pictures_do_not_depend_on_the_size(factor):
    rng = np.random.default_rng(0)
    many = rng.standard_normal((6, 5, 2))
    one, grown = (st.spectra(nx.path_graph(5), s, metric="euclidean", hops=2) for s in (many, many * factor))
    for of in ("magnitude_norm", "gradient_norm", "magnitude"):
        found, expected = (st.stats.correlate(ds, np.arange(6.0) ** 2, of=of)["pearson"] for ds in (grown, one))
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    curves = []
    for ds in (grown, one):
        axes = st.plot.spectra(ds.isel(snapshot=0), cumulative=True)
        curves.append([line.get_ydata() for line in axes[0].get_lines()])
        plt.close(axes[0].figure)
    for found, expected in zip(*curves, strict=True):
        assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-6, atol=1e-9)
    from spectrata.cli.details import strongest_rows

    top = [strongest_rows(ds)[0]["strongest"] for ds in (grown, one)]
    for found, expected in zip(*top, strict=True):
        assert found["magnitude"] / factor == pytest.approx(expected["magnitude"])
        assert found["eigenvalue"] == expected["eigenvalue"]
