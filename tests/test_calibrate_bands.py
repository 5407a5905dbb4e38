"""Bands against chance, compared with the same draws made one by one."""

import warnings

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import spectrata as st
from spectrata.errors import OptionError
from spectrata.stats.verbs.calibrate_bands import calibrate_bands

GRAPH = nx.random_regular_graph(3, 40, seed=1)
SIGNAL = np.random.default_rng(4).normal([[[3.0, 0.0]], [[0.0, 1.0]]], 1.0, (2, 40, 2))
OPTIONS = {"bands": 3, "hops": [1, 2], "algorithms": ["gft", "apprx_ls"], "steps": 12, "seed": 5, "orientations": 6}
VARIABLES = ("null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used", "energy", "status")
COORDINATES = ("algorithm", "hop", "band", "band_lower", "band_upper", "band_size", "n_edges", "n_parts")


def one_by_one(signal, draws, rng, alternative, options):
    """Energies of the draws, and what follows from them, without any of the code that is tried."""
    observed = st.band_spectra(GRAPH, signal, **options)["energy"].values
    orders = [rng.permutation(40) for _ in range(draws)]
    drawn = np.stack([st.band_spectra(GRAPH, signal[..., order, :], **options)["energy"].values for order in orders])
    mean, std = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
    upper, lower = ((1 + count.sum(axis=0)) / (draws + 1) for count in (drawn >= observed, drawn <= observed))
    tails = {"greater": upper, "less": lower, "two-sided": np.minimum(1, 2 * np.minimum(upper, lower))}
    p = tails[alternative]
    return {
        "null_energy": mean,
        "null_std": std,
        "ratio": observed / mean,
        "z": (observed - mean) / std,
        "p": p,
        "q": false_discovery(p),
        "draws_used": np.full(p.shape, draws),
    }


def false_discovery(p):
    """Benjamini-Hochberg over hops and bands together, by its definition."""
    q = np.empty_like(p)
    for place in np.ndindex(p.shape[:-2]):
        family = p[place].ravel()
        worse = [[other * family.size / (family <= other).sum() for other in family if other >= one] for one in family]
        q[place] = np.array([min(1.0, *those, 1.0) for those in worse]).reshape(p[place].shape)
    return q


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_chance_is_the_draws(metric, alternative):
    options = OPTIONS | {"metric": metric}
    ds = st.band_spectra(GRAPH, SIGNAL, **options)
    found = st.calibrate(ds, SIGNAL, draws=9, seed=3, alternative=alternative)
    for name, expected in one_by_one(SIGNAL, 9, np.random.default_rng([3, 13]), alternative, options).items():
        np.testing.assert_allclose(found[name].values, expected, rtol=1e-8, err_msg=name)
    assert found["p"].dims == found["null_energy"].dims == ("algorithm", "snapshot", "hop", "band")
    assert not found["degenerate"].values.any()


def test_one_snapshot_is_one_of_two():
    ds = st.band_spectra(GRAPH, SIGNAL[0], **OPTIONS)
    found = st.calibrate(ds, SIGNAL[0], draws=5, seed=3)
    both = st.calibrate(st.band_spectra(GRAPH, SIGNAL, **OPTIONS), SIGNAL, draws=5, seed=3).isel(snapshot=0)
    assert found["p"].dims == ("algorithm", "hop", "band")
    for name in ("null_energy", "null_std", "ratio", "z", "p", "q"):
        np.testing.assert_allclose(found[name].values, both[name].values, rtol=1e-9, err_msg=name)


def test_every_snapshot_keeps_its_size():
    sizes = np.array([1e60, 1e-60])[:, None, None]
    options = OPTIONS | {"metric": "euclidean"}
    plain, sized = (
        st.calibrate(st.band_spectra(GRAPH, signal, **options), signal, draws=5) for signal in (SIGNAL, SIGNAL * sizes)
    )
    for name in ("null_energy", "null_std"):
        np.testing.assert_allclose(
            np.sqrt(sized[name].values), np.sqrt(plain[name].values) * sizes[:, :, None].reshape(1, 2, 1, 1), rtol=1e-8
        )
    for name in ("ratio", "z", "p", "q"):
        np.testing.assert_allclose(sized[name].values, plain[name].values, rtol=1e-8)


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_small_energies_are_energies(size):
    """Nothing is taken for nothing because it is below one."""
    signal = SIGNAL[0] * size
    found = st.calibrate(st.band_spectra(GRAPH, signal, metric="euclidean", bands=3), signal, draws=5)
    assert np.isfinite(found["ratio"].values).all()
    assert np.isfinite(found["z"].values).all()


def test_what_never_changes_is_degenerate_without_a_warning():
    signal = np.ones(40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = calibrate_bands(st.band_spectra(GRAPH, signal, bands=2, algorithms="gft"), signal, 4)
    assert found["degenerate"].values.all()
    assert (found["q"].values == 1).all()
    assert (found["p"].values == 1).all()
    assert np.isnan(found["z"].values).all()
    assert np.isnan(found["ratio"].values).all()


def test_labels_and_what_was_done_come_along():
    ds = st.band_spectra(GRAPH, SIGNAL, **OPTIONS)
    found = st.calibrate(ds, SIGNAL, draws=2, alternative="less")
    assert set(VARIABLES) <= set(found.data_vars)
    for name in (*COORDINATES, "snapshot", "n_singletons"):
        np.testing.assert_array_equal(found.coords[name], ds.coords[name], err_msg=name)
    said = {"null": "permute", "draws": 2, "alternative": "less", "level": "band", "metric": ds.attrs["metric"]}
    assert said.items() <= found.attrs.items()
    np.testing.assert_array_equal(found["energy"], ds["energy"])


def test_seeds_and_operators():
    laplacian = aslinearoperator(nx.laplacian_matrix(GRAPH).astype(float))
    signal = SIGNAL[0, :, 0]
    options = {"bands": 3, "algorithms": "gft", "steps": 12}
    ds = st.band_spectra(laplacian, signal, **options)
    with pytest.raises(OptionError, match="graph="):
        st.calibrate(ds, signal, draws=3)
    found = st.calibrate(ds, signal, draws=5, graph=laplacian, seed=2)
    own = st.calibrate(st.band_spectra(GRAPH, signal, **options), signal, draws=5, seed=2)
    np.testing.assert_allclose(found["null_energy"], own["null_energy"], rtol=1e-7)
    other = st.calibrate(ds, signal, draws=5, graph=laplacian, seed=3)
    assert not np.allclose(found["null_energy"], other["null_energy"], rtol=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"draws": 0}, "draws=0"),
        ({"draws": True}, "draws=True"),
        ({"draws": 2.5}, "draws=2.5"),
        ({"alternative": "both"}, "alternative='both'"),
        ({"null": None}, "permute"),
        ({"algorithms": "gft"}, "algorithms is decided"),
        ({"bands": 3}, "bands is decided"),
        ({"relative": True}, "relative is decided"),
        ({"metric": "angular"}, "metric is decided"),
        ({"level": "eigenvalue"}, "level is decided"),
        ({"color": "red"}, "color is decided"),
    ],
)
def test_what_cannot_be_asked(change, words):
    ds = st.band_spectra(GRAPH, SIGNAL[0], bands=2, algorithms="gft")
    with pytest.raises(OptionError, match=words):
        st.calibrate(ds, SIGNAL[0], **change)


def test_a_result_of_components_is_refused():
    with pytest.raises(OptionError, match="not a result of band_spectra"):
        calibrate_bands(st.spectra(GRAPH, SIGNAL[0], hops=1), SIGNAL[0])


def test_draws_warn_of_no_order_of_nodes():
    """Names in another order than ascending: a user's plain array warns, what is drawn from a matched one does not."""
    graph = nx.Graph([(5, 1), (1, 3), (3, 2), (2, 5), (2, 4)])
    signal = dict(zip(graph, [1.0, 2.0, 4.0, 3.0, 7.0], strict=True))
    ds = st.band_spectra(graph, signal, bands=2, algorithms="gft")
    found = st.calibrate(ds, signal, draws=3)
    assert ((found["p"] > 0) & (found["p"] <= 1)).all()
