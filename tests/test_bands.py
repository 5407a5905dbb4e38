"""Bands against the exact result: bounds, errors, breakdowns, operators, and what accepts the Dataset."""

from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import calls
import spectrata as st
from spectrata.bands.lanczos import BlockLanczos
from spectrata.bands.operators import Operator, RowLaplacian
from spectrata.bands.quadrature import gauss
from spectrata.bands.result import NAMES
from spectrata.bands.settings import orientation_keys
from spectrata.core.registry import ALGORITHMS as ROWS
from spectrata.errors import HopError, MemoryEstimateError, OptionError, ResultError, SpectrataError
from spectrata.inputs.graphs import as_graph
from spectrata.results import schema
from test_bands_weighted import assert_bands_hold

ALGORITHMS = ("gft", "in_agg", "apprx_ls")


def _graph(kind, seed):
    if kind == "grid":
        return nx.convert_node_labels_to_integers(nx.grid_2d_graph(16, 25))
    if kind == "barabasi-albert":
        return nx.barabasi_albert_graph(400, 1 + seed % 4, seed=seed)
    if kind == "disconnected":
        return nx.fast_gnp_random_graph(400, 1.5 / 400, seed=seed)
    return nx.fast_gnp_random_graph(400, 8 / 400, seed=seed)


@pytest.fixture(params=["decomposed", "recurrence", pytest.param("single precision", marks=pytest.mark.long)])
def road(request, monkeypatch):
    """Small graphs by a decomposition, or by the recurrences of large ones, whose vectors may be stored shorter."""
    if request.param != "decomposed":
        monkeypatch.setattr("spectrata.bands.exact.EXACT_NODES", 0)
    if request.param == "single precision":
        monkeypatch.setattr("spectrata.bands.operators.SINGLE_NODES", 0)
    return request.param


def _exact(ds, exact, algorithm, hop=1):
    """Cumulative shares of the energy off zero at the upper edges of bands."""
    values, off = exact["eigenvalue"].sel(hop=hop).values, ~exact["is_zero"].sel(hop=hop).values
    energy = np.where(off, exact["magnitude"].loc[algorithm, hop].values ** 2, 0.0)
    edges = ds["band_upper"].sel(hop=hop).values[:-1]
    return np.array([energy[values <= edge].sum() for edge in edges]) / energy.sum(), energy.sum()


@pytest.mark.parametrize("kind", ["erdos-renyi", "grid", "barabasi-albert", "disconnected"])
def test_every_cumulative_value_is_inside_its_bounds_and_within_tol(kind, road):
    """Thousands more by hand: ``benchmarks/bounds.py runs``."""
    rng = np.random.default_rng(len(kind))
    for seed in range(3 if road == "decomposed" else 1):
        graph = _graph(kind, seed)
        strat = st.Stratification(graph, hops=[1])
        for d in (1, int(rng.integers(2, 17))):
            signal = rng.standard_normal((len(graph), d)) + 0.3
            ds = calls.band_spectra(graph, signal, bands=int(rng.integers(8, 40)), orientation="index")
            exact = strat.spectra(signal, ALGORITHMS, apprx_ls={"orientation": "index"})
            assert_bands_hold(ds, exact)


def test_bounds_tighten_with_tol_and_few_steps_leave_them_wide(monkeypatch):
    monkeypatch.setattr("spectrata.bands.exact.EXACT_NODES", 0)
    graph = _graph("erdos-renyi", 1)
    signal = np.random.default_rng(0).standard_normal((400, 4))
    widths = []
    for tol in (0.05, 0.01):
        ds = calls.band_spectra(graph, signal, algorithms="gft", tol=tol)
        widths.append(float((ds["cumulative_upper"] - ds["cumulative_lower"]).max()) / 2)
        assert widths[-1] <= tol
    few = calls.band_spectra(graph, signal, algorithms="gft", steps=5)
    assert int(few["steps"][0, 0]) == 5
    assert str(few["status"].values.item()).startswith("not settled to 0.01 after 5 steps: bounds of ±")
    assert float((few["cumulative_upper"] - few["cumulative_lower"]).max()) / 2 > 0.05
    exact = st.spectra(graph, signal, "gft", hops=[1])
    share, _ = _exact(few, exact, "gft")
    assert np.all(few["cumulative_lower"].values[0, 0, :-1] <= share + 1e-12)
    assert np.all(share <= few["cumulative_upper"].values[0, 0, :-1] + 1e-12)


@pytest.mark.usefixtures("road")
def test_an_eigenvalue_on_an_edge_belongs_to_the_band_below():
    # Every eigenvalue of the hypercube is even, and the edge of 6 is one of them.
    graph = nx.convert_node_labels_to_integers(nx.hypercube_graph(6))
    signal = np.random.default_rng(0).standard_normal(64)
    ds = calls.band_spectra(graph, signal, bands=[0, 3, 6, 9, 12], algorithms="gft").sel(algorithm="gft", hop=1)
    exact = st.spectra(graph, signal, "gft", hops=[1])
    values, energy = exact["eigenvalue"].values[0], exact["magnitude"].values[0, 0] ** 2
    atoms = [energy[np.isclose(values, value)].sum() for value in (2, 4, 6, 8, 10, 12)]
    expected = [atoms[0], atoms[1] + atoms[2], atoms[3], atoms[4] + atoms[5]]
    np.testing.assert_allclose(ds["energy"], expected, rtol=1e-7)
    np.testing.assert_allclose(ds["edge_energy"], [0, atoms[2], 0, atoms[5]], rtol=1e-7, atol=1e-12)
    assert str(ds["status"].values) == "ok"
    assert bool(ds["complete"])


@pytest.mark.usefixtures("road")
def test_energy_outside_the_edges_is_reported_apart():
    graph = nx.path_graph(40)
    signal = np.random.default_rng(1).standard_normal(40)
    values = 2 - 2 * np.cos(np.pi * np.arange(40) / 40)
    modes = np.cos(np.pi * np.outer(np.arange(40) + 0.5, np.arange(40)) / 40)
    energy = (signal @ (modes / np.linalg.norm(modes, axis=0))) ** 2
    ds = calls.band_spectra(graph, signal, bands=[1.0, 2.0, 3.0], algorithms="gft", tol=1e-6).sel(
        algorithm="gft", hop=1
    )
    inside = [energy[(values > low) & (values <= low + 1)].sum() for low in (1.0, 2.0)]
    outside = energy[((values > 1e-9) & (values <= 1)) | (values > 3)].sum()
    np.testing.assert_allclose(ds["energy"], inside, rtol=1e-4)
    assert float(ds["energy_outside"]) == pytest.approx(outside, rel=1e-4)
    below = energy[(values > 1e-9) & (values <= 2)].sum() / energy[1:].sum()
    assert float(ds["cumulative"][0]) == pytest.approx(below, abs=1e-6)
    assert not bool(ds["complete"])
    with pytest.raises(ResultError):
        st.off_zero(calls.band_spectra(graph, signal, bands=[1.0, 2.0, 3.0], algorithms="gft"))


def test_a_column_that_breaks_down_stops_alone():
    graph = as_graph(nx.star_graph(199))
    rng = np.random.default_rng(0)
    block = np.stack([rng.standard_normal(200), np.zeros(200), np.eye(200)[0], np.ones(200)], axis=1)
    run = BlockLanczos(RowLaplacian(graph.indptr, graph.indices), block.copy())
    run.advance(30)
    assert run.steps.tolist() == [3, 0, 2, 1]  # three eigenvalues; nothing; two of them; the zero one
    assert run.whole.all()
    path = as_graph(nx.disjoint_union(nx.path_graph(40), nx.path_graph(2)))
    mixed = np.zeros((42, 2))
    mixed[:40, 0], mixed[40, 1] = rng.standard_normal(40), 1.0
    run = BlockLanczos(RowLaplacian(path.indptr, path.indices), mixed)
    run.advance(20)
    assert run.steps.tolist() == [20, 2]
    assert run.whole.tolist() == [False, True]
    values, weights = gauss(*run.jacobi(1))
    np.testing.assert_allclose(values, [0, 2], atol=1e-12)
    np.testing.assert_allclose(weights, [0.5, 0.5])


@pytest.mark.parametrize("threads", ["1", "3"])
def test_bits_do_not_depend_on_threads(threads, monkeypatch):
    n = 30_000
    graph = as_graph(nx.fast_gnp_random_graph(n, 8 / n, seed=1))
    signal = np.random.default_rng(1).standard_normal((n, 3))
    monkeypatch.setenv("SPECTRATA_THREADS", "2")
    expected = calls.band_spectra(graph, signal, steps=10)
    monkeypatch.setenv("SPECTRATA_THREADS", threads)
    assert calls.band_spectra(graph, signal, steps=10).identical(expected)


def test_hops_are_asked_for_as_elsewhere():
    graph, signal = nx.path_graph(5), [0.0, 1.0, 4.0, 9.0, 16.0]
    for hops, expected in ((None, [1, 2, 3, 4]), (np.int64(2), [1, 2]), (10**15, [1, 2, 3, 4]), ([3, 1], [1, 3])):
        found = calls.band_spectra(graph, signal, bands=2, hops=hops, algorithms="gft")
        assert found["hop"].values.tolist() == expected
        assert st.correlogram(graph, signal, hops=hops, draws=0)["hop"].values.tolist() == expected
    for hops in ("two", 2.5, [1.5], [0], [], 0, True, {1: 2}.get):
        for call in (partial(st.band_spectra, bands=2), st.correlogram):
            with pytest.raises(HopError, match="hops"):
                call(graph, signal, hops=hops)


def test_intervals_over_orientations_cover(monkeypatch):
    """Pooled over bands and seeds, the 95 % intervals hold the mean over all orientations."""
    graph = nx.fast_gnp_random_graph(40, 5 / 40, seed=4)
    signal = np.random.default_rng(3).standard_normal((40, 3))
    truth = calls.band_spectra(graph, signal, bands=8, algorithms="apprx_ls", tol=1e-4)
    edges = np.append(truth["band_lower"].values[0], truth["band_upper"].values[0, -1])
    monkeypatch.setattr("spectrata.bands.exact.EXACT_NODES", 0)
    inside = []
    for seed in range(25):
        found = calls.band_spectra(graph, signal, bands=edges, algorithms="apprx_ls", tol=1e-4, seed=seed)
        held = (found["energy_lower"] <= truth["energy"]) & (truth["energy"] <= found["energy_upper"])
        inside.append(held.values[..., truth["band_size"].values[0] > 0].ravel())
    assert 0.9 <= np.mean(inside) <= 0.99  # benchmarks/bounds.py coverage has more of it


def test_signs_are_fair_and_opposite():
    from spectrata.bands import compiled

    edges = np.random.default_rng(0).integers(10**6, size=(4000, 2))
    edges = np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1)
    for key in orientation_keys(0, 1, 3):
        seen = np.array([compiled.sign(x, y, key) for x, y in edges])
        assert abs(seen.mean()) < 0.06
        assert all(compiled.sign(y, x, key) == -sign for (x, y), sign in zip(edges, seen, strict=True))
    assert all(compiled.sign(x, y, np.uint64(0)) == 1 for x, y in edges)


def test_any_linear_operator_will_do():
    graph = as_graph(_graph("barabasi-albert", 1))
    operator = RowLaplacian(graph.indptr, graph.indices)
    signal = np.random.default_rng(5).standard_normal((400, 2))
    given = aslinearoperator(operator.times(np.eye(400)))
    # As many steps as stay orthogonal: beyond, rounding moves values inside their bounds.
    ds = calls.band_spectra(given, signal, algorithms="gft", steps=15)
    expected = calls.band_spectra(graph, signal, algorithms="gft", steps=15)
    np.testing.assert_allclose(ds["energy"], expected["energy"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ds["gradient_norm"], expected["gradient_norm"])
    with pytest.raises(OptionError, match="gft"):
        calls.band_spectra(given, signal)
    with pytest.raises(HopError):
        calls.band_spectra(given, signal, hops=2)
    assert isinstance(operator, Operator)


@pytest.mark.usefixtures("road")
def test_an_operator_in_parts_keeps_its_energy_at_zero():
    graph = nx.disjoint_union(nx.cycle_graph(20), nx.path_graph(15))
    signal = np.random.default_rng(5).standard_normal((35, 2)) + 3.0
    matrix = nx.laplacian_matrix(graph).astype(float)
    options = {"bands": [0, 1, 2, 3, 4.5], "algorithms": "gft", "tol": 1e-4, "metric": "euclidean"}
    found = calls.band_spectra(aslinearoperator(matrix), signal, **options).sel(algorithm="gft", hop=1)
    expected = calls.band_spectra(graph, signal, **options).sel(algorithm="gft", hop=1)
    assert str(found["status"].values) == "ok"
    np.testing.assert_allclose(found["zero_energy"], expected["zero_energy"], rtol=1e-6)
    np.testing.assert_allclose(found["energy"], expected["energy"], rtol=1e-3)
    assert np.all(found["cumulative_lower"] <= expected["cumulative"] + 1e-9)
    assert np.all(found["cumulative_upper"] >= expected["cumulative"] - 1e-9)
    assert int(found["n_parts"]) in (2, -1)


def test_snapshots_undefined_ones_and_constant_signals():
    graph = _graph("erdos-renyi", 5)
    values = np.random.default_rng(6).standard_normal((3, 400, 2))
    values[1, 7] = 0.0
    ds = calls.band_spectra(graph, values, bands=6, zero_vectors="nan")
    assert ds["energy"].dims == ("algorithm", "snapshot", "hop", "band")
    assert bool(ds["energy"].isel(snapshot=1).isnull().all())
    assert set(ds["status"].isel(snapshot=1).values.ravel()) == {"undefined: zero vector"}
    alone = calls.band_spectra(graph, values[2], bands=6)
    np.testing.assert_allclose(ds["energy"].isel(snapshot=2), alone["energy"], rtol=1e-9)
    flat = calls.band_spectra(graph, np.full(400, 3.0), bands=6)
    assert float(flat["energy"].sum()) == 0.0
    assert set(flat["status"].values.ravel()) == {"no energy off zero"}


SPECTRA = {
    "path": nx.path_graph(400),
    "star": nx.star_graph(399),
    "hubs": nx.barabasi_albert_graph(400, 3, seed=3),
    "complete": nx.complete_graph(30),
    "two": nx.complete_bipartite_graph(40, 60),
    "random": nx.fast_gnp_random_graph(400, 3 / 400, seed=4),
    "edge": nx.path_graph(2),
}


@pytest.mark.long
@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("kind", SPECTRA)
def test_no_band_holds_more_than_half_unless_one_eigenspace_does(kind):
    graph = SPECTRA[kind]
    signal = np.random.default_rng(7).standard_normal(len(graph))
    values = np.linalg.eigvalsh(nx.laplacian_matrix(graph).toarray().astype(float))
    off = values[nx.number_connected_components(graph) :]
    largest = np.max(np.sum(np.isclose(off[:, None], off), axis=1))
    for bands in (2, 3, 4, 8, 32):
        ds = calls.band_spectra(graph, signal, bands=bands, algorithms="gft")
        edges = np.append(ds["band_lower"].values[0], ds["band_upper"].values[0, -1])
        assert np.all(np.diff(edges) > 0)
        counts = np.diff(np.searchsorted(off, edges + 1e-9 * off[-1], side="right"))
        assert counts.sum() == len(off)
        limit = max(len(off) / 2, largest)
        assert counts.max() <= (np.ceil(limit) if int(ds["steps"][0, 0]) == 0 else limit * 1.08 + 1)


@pytest.mark.parametrize("spacing", ["log", "width", "count"])
def test_sizes_of_bands_are_counted_or_lie_within_their_errors(spacing, monkeypatch):
    graph = _graph("barabasi-albert", 3)
    signal = np.random.default_rng(7).standard_normal(400)
    values = st.spectra(graph, signal, "gft", hops=[1])["eigenvalue"].values[0]
    for nodes in (1500, 0):
        monkeypatch.setattr("spectrata.bands.exact.EXACT_NODES", nodes)
        ds = calls.band_spectra(graph, signal, bands=4, algorithms="gft", spacing=spacing, seed=1).sel(hop=1)
        counts = np.histogram(values[1:], np.append(ds["band_lower"].values, 1e9))[0]
        error = ds["band_size_error"].values
        assert np.all(np.abs(ds["band_size"].values - counts) <= 3 * error + 1e-6)
        assert np.all(error == 0) if nodes else np.all(error < 60)
        np.testing.assert_allclose(ds["band_size"].sum(), 399, rtol=1e-6)
        np.testing.assert_allclose(ds["chance"], ds["band_size"] / 399)
        if spacing == "count":
            assert np.abs(counts - 399 / 4).max() < (2 if nodes else 20)


def test_compare_calibrate_plots_files_and_report_accept_it(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    graph = nx.cycle_graph(200)
    slow = np.sin(np.arange(200) * 2 * np.pi / 200)
    noise = np.random.default_rng(0).standard_normal(200)
    a, b = (calls.band_spectra(graph, signal, bands=8) for signal in (slow, noise))
    found = st.compare(a, b)
    assert float(found["energy_shift"].loc["gft", 1][0]) < -0.3
    with pytest.raises(ResultError, match="different"):
        st.compare(a, calls.band_spectra(graph, noise, bands=9))
    with pytest.raises(ResultError, match="'bands' and 'none'"):
        st.compare(a, st.spectra(graph, noise, hops=[1]))
    judged = st.calibrate(a, slow, draws=39)
    assert float(judged["p"].loc["gft", 1][0]) == 0.05
    assert np.all(judged["ratio"].loc["gft", 1][1:] < 0.1)
    ratio = st.calibrate(b, noise, draws=39)["ratio"].loc["gft", 1].values
    assert np.all((ratio > 0.3) & (ratio < 2))
    with pytest.raises(OptionError, match="permutation"):
        st.calibrate(a, slow, null="rotate")
    for name in ("a.nc", "a.zarr"):
        assert st.open(st.save(a, tmp_path / name)).identical(a)
    for draw in (st.plot.spectra, st.plot.spectrogram, st.plot.strata):
        np.ravel(draw(a))[0].figure.canvas.draw()
    st.plot.compare(st.compare(a, b))[0].figure.canvas.draw()
    st.plot.spectra({"slow": a, "noise": b})[0].figure.canvas.draw()
    assert float(st.off_zero(a)[0]) == pytest.approx(1.0)


def test_the_result_has_the_one_schema():
    graph = nx.disjoint_union(nx.path_graph(30), nx.path_graph(4))
    ds = calls.band_spectra(graph, np.arange(34.0), bands=3, seed=4)
    assert schema.is_bands(ds)
    result = schema.view(ds)
    assert result.is_zero.tolist() == [[True, False, False, False]]
    assert result.complete.tolist() == [True]
    assert result.multiplicity.tolist() == [[2, 1, 1, 1]]
    edges = np.append(ds["band_lower"].values[0], ds["band_upper"].values[0, -1])
    np.testing.assert_allclose(result.eigenvalue[0], np.append(0.0, (edges[1:] + edges[:-1]) / 2))
    np.testing.assert_allclose(result.magnitude[:, 0, :, 1:] ** 2, ds["energy"], rtol=1e-12)
    np.testing.assert_allclose(result.magnitude[:, 0, :, 0] ** 2, ds["zero_energy"], rtol=1e-12)
    facts = {"kind": "bands", "laplacian": "combinatorial", "self_loops": 0, "seed": 4, "dtype": "float64"}
    assert facts.items() <= ds.attrs.items()
    assert (result.options["bands"], result.options["steps"]) == (3, "auto")
    assert all("long_name" in ds[name].attrs for name in NAMES)


def test_an_algorithm_is_measured_or_refused_by_its_row(monkeypatch):
    graph, signal = nx.path_graph(9), np.arange(9.0) ** 2
    row = replace(ROWS["in_agg"], name="throw_away")
    monkeypatch.setitem(ROWS, "throw_away", row)
    found = calls.band_spectra(graph, signal, bands=2)
    assert found["algorithm"].values.tolist() == ["gft", "apprx_ls", "in_agg", "throw_away"]
    np.testing.assert_array_equal(found["energy"].loc["throw_away"], found["energy"].loc["in_agg"])
    monkeypatch.setitem(ROWS, "throw_away", replace(row, in_bands=""))
    assert "throw_away" not in calls.band_spectra(graph, signal, bands=2)["algorithm"].values
    with pytest.raises(OptionError, match=r"throw_away: .*bands have gft, apprx_ls, in_agg\."):
        calls.band_spectra(graph, signal, bands=2, algorithms="throw_away")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"algorithms": "ln_vx"}, OptionError),
        ({"bands": 0}, OptionError),
        ({"bands": [3, 2, 1]}, OptionError),
        ({"tol": 0}, OptionError),
        ({"steps": 0}, OptionError),
        ({"steps": "many"}, OptionError),
        ({"solver": "lu"}, OptionError),
        ({"orientation": "up"}, OptionError),
        ({"spacing": "equal"}, OptionError),
        ({"hops": [99]}, HopError),
        ({"signal": None}, SpectrataError),
        ({"apprx_ls": 3}, OptionError),
        ({"step": 3}, OptionError),
    ],
)
def test_bad_arguments(arguments, kind):
    with pytest.raises(kind):
        calls.band_spectra(**({"graph": nx.path_graph(9), "signal": range(9)} | arguments))


def test_a_graph_too_large_to_decompose_names_the_call_that_works(monkeypatch):
    monkeypatch.setattr("spectrata.core.resources.available_memory", lambda: 10**5)
    with pytest.raises(MemoryEstimateError, match=r"GiB|MiB.*band_spectra"):
        st.spectra(nx.path_graph(2000), range(2000))
    monkeypatch.setattr("spectrata.core.resources.available_memory", lambda: 10**7)
    with pytest.raises(MemoryEstimateError, match=r"decomposition of 2,000 nodes.*band_spectra"):
        st.spectra(nx.path_graph(2000), range(2000), hops=1)
