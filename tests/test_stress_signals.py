"""Signals that are hard on arithmetic: tiny and huge values, and mixtures of both.

A number is right, or it is refused or marked: nothing overflows, underflows or loses its digits without a word.
"""

import networkx as nx
import numpy as np
import pytest
import torch
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

import calls
import spectrata as st
import spectrata.torch
from roads import ALL, INCIDENCE, ROADS
from spectrata.errors import ResultError, SignalValueError
from spectrata.stats.describe.summary import strongest_rows
from strategies import DEFAULT, Case, assert_near, case_of, run

GRAPH = nx.disjoint_union(nx.gnp_random_graph(14, 0.25, seed=2), nx.path_graph(3))
CASE = case_of(GRAPH)
STRAT = st.Stratification(GRAPH)
RNG = np.random.default_rng(0)
ONE, OTHER = (RNG.uniform(0.5, 1.5, (17, 3)) * RNG.choice([-1, 1], (17, 3)) for _ in range(2))
FACTORS = [1e-300, 1e-200, 1e-160, 1e-100, 1e-30, 1e30, 1e100, 1e160, 1e200, 1e300]
SQUARABLE = [1e-130, 1e-100, 1e-30, 1e30, 1e100, 1e130]
every_road = pytest.mark.parametrize("road", ROADS, ids=[road.name for road in ROADS])


# --- sizes --------------------------------------------------------------------------------------------------


def measures(signal, other):
    """Everything that is read from magnitudes without a square in its unit, by name; none depends on the size."""
    ds, second = (STRAT.spectra(s, metric="euclidean") for s in (signal, other))
    compared = st.compare(ds, second)
    found = {f"compare {name}": compared[name] for name in ("cosine", "correlation", "wasserstein", "energy_shift")}
    found["normalize"] = st.stats.normalize(ds)["magnitude"]
    found["off_zero"] = st.off_zero(ds)
    found["merged"] = st.stats.normalize(st.merge_eigenspaces(ds))["magnitude"]
    found["response"] = st.response(signal, other, STRAT, metric="euclidean")["relative"]
    found["response share"] = st.response(signal, other, STRAT, metric="euclidean")["share_after"]
    columns = ["off_zero", "lowest", "highest", "centroid", "peak", "cosine_flat"]
    found["summary"] = xr.Dataset.from_dataframe(st.summary(ds)[columns]).to_array()
    calibrated = st.calibrate(STRAT, signal, draws=39, metric="euclidean")
    found |= {f"calibrated {name}": calibrated[name] for name in ("p", "q", "share", "chance", "chance_high", "ratio")}
    found["diagnosed"] = xr.DataArray([len(st.diagnose(ds))])
    many = STRAT.spectra(np.stack([signal + k * other for k in range(6)]), metric="euclidean")
    for of in ("magnitude_norm", "gradient_norm", "magnitude"):
        found[f"correlated {of}"] = st.stats.correlate(many, np.arange(6.0) ** 2, of=of)["pearson"]
    axes = st.plot.spectra(ds, cumulative=True)
    found["drawn"] = xr.DataArray(np.concatenate([line.get_ydata() for line in axes[0].get_lines()]).astype(float))
    strongest = strongest_rows(ds)[0]["strongest"]
    found["strongest"] = xr.DataArray([one["eigenvalue"] for one in strongest])
    found["strongest share"] = xr.DataArray([one["magnitude"] / strongest[0]["magnitude"] for one in strongest])
    return found


@pytest.fixture(scope="module")
def ordinary():
    return measures(ONE, OTHER)


@pytest.mark.parametrize("factor", FACTORS)
def test_readings_do_not_depend_on_the_size(factor, ordinary):
    for name, found in measures(ONE * factor, OTHER * factor).items():
        assert_allclose(found, ordinary[name], rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("factor", SQUARABLE)
def test_energies_grow_by_the_square(factor):
    """Where squares fit: smoothness and bands."""
    one, grown = (st.smoothness(STRAT, s, metric="euclidean") for s in (ONE, ONE * factor))
    powers = {"dirichlet": 2, "dirichlet_mean": 2, "dirichlet_normalized": 2}
    powers |= dict.fromkeys(("norm", "spectral_norm", "mean_row_norm"), 1)
    for name in one.data_vars:
        assert_allclose(grown[name] / factor ** powers.get(str(name), 0), one[name], rtol=1e-9, err_msg=name)
    options = {"bands": 3, "metric": "euclidean"}
    one, grown = (calls.band_spectra(GRAPH, s, **options) for s in (ONE, ONE * factor))
    for name, power in (("energy", 2), ("zero_energy", 2), ("magnitude", 1), ("gradient_norm", 1), ("cumulative", 0)):
        assert_allclose(grown[name] / factor**power, one[name], rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_squares_that_double_precision_cannot_say_are_refused(factor):
    with pytest.raises(SignalValueError, match="squares"):
        calls.band_spectra(GRAPH, ONE * factor, metric="euclidean")
    with pytest.raises(SignalValueError, match="Dirichlet energies are squares"):
        st.smoothness(STRAT, ONE * factor)


@every_road
def test_magnitudes_that_double_precision_cannot_say_are_refused(road):
    signal = 1.7e308 * np.where(np.arange(17) % 2, 1.0, -1.0)[:, None]
    with pytest.raises((SignalValueError, ResultError), match="leave the range of double precision"):
        road.spectra(CASE, signal, DEFAULT)


def test_subnormal_numbers_are_numbers():
    """5e-324 is the smallest there is: exact where it stands alone, a direction like any other."""
    ds = run(Case(np.array([[0, 1]]), 2), np.array([0.0, 5e-324]))
    assert ds["gradient_norm"].item() == 5e-324
    ds = run(Case(np.array([[0, 1]]), 2), np.array([[5e-324, 0.0], [5e-324, 5e-324]]))
    assert ds["gradient_norm"].item() == pytest.approx(np.sin(np.pi / 8), rel=1e-15)


# --- mixtures -----------------------------------------------------------------------------------------------


@every_road
@pytest.mark.parametrize("small", [1e-12, 1e-60, 1e-140])
def test_small_differences_beside_large_values_elsewhere(road, small):
    """A hop that joins small values only keeps its digits, though an isolated node holds 1.

    One power of two is taken out of a snapshot: squares of what is 1e-150 times smaller than its largest leave
    double precision.
    """
    case = Case(np.array([[0, 1], [1, 2], [2, 3]]), 5)
    signal = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5], [2.0, 2.0], [1.0 / small, 0.0]]) * small
    alone = run(Case(case.edges, 4), signal[:4] / small, metric="euclidean")
    ds = road.spectra(case, signal, DEFAULT, metric="euclidean")
    assert_allclose(ds["gradient_norm"] / small, alone["gradient_norm"], rtol=1e-9)
    for k, parts in enumerate(alone["n_parts"].values):
        for algorithm in DEFAULT:
            ours = ds["magnitude"].loc[algorithm].values[k][parts + 1 :] / small
            theirs = alone["magnitude"].loc[algorithm].values[k][parts:]
            simple = alone["multiplicity"].values[k][parts:] == 1
            assert_allclose(ours[simple], theirs[simple], rtol=1e-9, atol=1e-9)


def test_values_beyond_reach_of_the_largest_count_as_zero():
    ds = run(Case(np.array([[0, 1], [1, 2]]), 3), np.array([1e-300, 1e300, -1e-300]))
    assert ds["gradient_norm"].sel(hop=1).item() == pytest.approx(np.sqrt(2) * 1e300)


def test_rows_of_every_size_have_directions():
    """Angular: 1e-300 beside 1e300 in neighbouring rows, and inside one row."""
    sizes = 10.0 ** np.array([-300, 300, -150, 150, 0, -5, 5])[np.arange(17) % 7][:, None]
    one, other = (calls.spectra(STRAT, s, ALL, metric="angular", **INCIDENCE) for s in (ONE, ONE * sizes))
    for algorithm in ALL[:-2]:
        assert_near(other["magnitude"].loc[algorithm], one["magnitude"].loc[algorithm], 1e-9)
    found = st.smoothness(STRAT, ONE * np.where(sizes > 1, 1.0, sizes))  # squares of the largest must fit
    assert_allclose(found["mad"], st.smoothness(STRAT, ONE)["mad"], rtol=1e-9)
    pair = np.array([[1e300, 1e-300], [1e300, -1e-300]])
    assert run(Case(np.array([[0, 1]]), 2), pair)["gradient_norm"].item() == pytest.approx(0.0, abs=1e-300)


# --- constant signals, and what gradients pass through ------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["gft", "adj_diff", "in_agg", "apprx_ls"])
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e-30, 1e30, 1e160, 1e300])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_formulas_with_gradients_at_every_size(algorithm, factor, dtype):
    x = torch.tensor(ONE * factor, requires_grad=True)
    found = spectrata.torch.magnitudes(STRAT, x, algorithm, metric="euclidean", dtype=dtype)
    plain = torch.tensor(ONE, requires_grad=True)
    expected = spectrata.torch.magnitudes(STRAT, plain, algorithm, metric="euclidean", dtype=dtype)
    assert_near(found.detach().numpy() / factor, expected.detach().numpy(), 1e-5 if dtype == torch.float32 else 1e-10)
    share, known = (spectrata.torch.off_zero(STRAT, tensor, metric="euclidean").item() for tensor in (x, plain))
    assert share == pytest.approx(known, rel=1e-9)
    if dtype == torch.float64:  # a norm is of degree one, so its gradient is of degree zero
        found.sum().backward()
        expected.sum().backward()
        assert_near(x.grad.numpy(), plain.grad.numpy(), 1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_watched_layers_at_every_size(metric, dtype):
    """Recorded activations of 1e-300 to 1e300, one beside the other, and one whose magnitudes cannot be said."""
    from spectrata.core.plan import make_plan
    from spectrata.torch.watching.rows import Row
    from spectrata.torch.watching.spectra import TOO_LARGE, Settings, spectra_of

    layers = [np.array(ONE * factor) for factor in FACTORS]
    layers.append(1.7e308 * np.sign(ONE))
    rows = [
        Row("layer", "layer", step, "train", ONE.shape[1], None, values=torch.tensor(values))
        for step, values in enumerate(layers)
    ]
    plan = make_plan(DEFAULT, {}, 0, keep=(), dtype=dtype, solved_in_double=True, diagnose=False)
    ds = spectra_of(STRAT, rows, Settings(DEFAULT, plan, metric, "nan"))
    plain = STRAT.spectra(ONE, DEFAULT, metric=metric)
    share = st.off_zero(plain)
    for t, factor in enumerate(FACTORS):
        size = factor if metric == "euclidean" else 1.0
        at = ds.isel(snapshot=t)
        assert_allclose(at["gradient_norm"] / size, plain["gradient_norm"], rtol=1e-5)
        assert_allclose(at["off_zero"], share, rtol=1e-4)
        for algorithm in DEFAULT:
            ours, theirs = at["magnitude"].loc[algorithm] / size, plain["magnitude"].loc[algorithm]
            assert_near(ours, theirs, 1e-4 if dtype == "float32" else 1e-9)
    last = ds.isel(snapshot=-1)
    assert (last["status"] == (TOO_LARGE if metric == "euclidean" else "ok")).all()
    assert last["magnitude"].isnull().all() == (metric == "euclidean")


# --- chance, snapshot by snapshot ---------------------------------------------------------------------------


@pytest.mark.parametrize("null", ["permutation", "draws"])
def test_snapshots_of_very_different_sizes_are_calibrated_one_by_one(null):
    """Each in its own units, against the same orders or the same given draws as alone."""
    sizes = [1.0, 1e-60, 1e60]
    many = np.stack([ONE * size for size in sizes])
    given = null if null == "permutation" else RNG.standard_normal((39, *ONE.shape))
    options = {"metric": "euclidean", "null": given, "draws": 39}
    together = st.calibrate(STRAT, many, **options)
    for t in range(len(sizes)):
        alone, here = st.calibrate(STRAT, many[t], **options), together.isel(snapshot=t)
        for name in ("magnitude", "gradient_norm", "share", "chance", "chance_low", "p", "q"):
            assert_allclose(here[name], alone[name], rtol=1e-9, atol=1e-300, err_msg=f"{name} {t}")


def test_untrained_models_of_another_size_are_compared_by_their_shares():
    drawn = np.random.default_rng(3).standard_normal((39, *ONE.shape))
    one, grown = (st.calibrate(STRAT, ONE * 1e-100, null=drawn * size, metric="euclidean") for size in (1.0, 1e60))
    for name in ("p", "q", "status"):
        assert_array_equal(grown[name], one[name])
