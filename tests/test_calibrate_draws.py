"""Chance per component, compared with the same draws made one by one; and what the result says of itself."""

import itertools
import warnings

import networkx as nx
import numpy as np
import pytest
import xarray as xr
from scipy.stats import false_discovery_control

import calls
import spectrata as st
from spectrata.core.bases.solve import decompose as solve
from spectrata.errors import SignalValueError
from spectrata.inputs.graphs import as_graph
from spectrata.stats import draws as module
from spectrata.stats.nulls.surrogates import rewire, rotate_signal
from spectrata.stats.tally import Tally

GRAPH = nx.connected_watts_strogatz_graph(14, 4, 0.3, seed=2)
STRAT = st.Stratification(GRAPH, hops=2)
SIGNAL = np.random.default_rng(4).normal([2.0, 0.0], 1.0, (2, 14, 2))
ALGORITHMS = ["gft", "in_agg", "apprx_ls"]
DRAWS = 12
RNG = np.random.default_rng(5)


def drawn_signals(null, seed, values=SIGNAL):
    """The draws as they come: ``(T, draws, n, d)``."""
    if null == "rotate":
        return np.stack(
            [
                rotate_signal(one[None], 64, np.random.default_rng([seed, 0x5EC, row, 0]))[0]
                for row, one in enumerate(values)
            ]
        )[:, :DRAWS]
    n = values.shape[1]
    common = np.random.default_rng([seed, 0x5EC, 0]).permuted(np.tile(np.arange(n), (64, 1)), axis=1)[:DRAWS]
    own = [np.random.default_rng([seed, 0x5EC, row, 1, 1]).permutation(n) for row in range(len(values))]
    return np.stack([np.stack([one[first][order] for order in common]) for one, first in zip(values, own, strict=True)])


def levels(ds, level):
    """Magnitudes ``(algorithm, T, hop, group)`` of a level, by other means than the code that is tried."""
    if level == "eigenspace":
        ds = st.merge_eigenspaces(ds)
    values = ds["magnitude"].transpose("algorithm", "snapshot", "hop", "component").values
    if level != "band":
        return values
    halves = np.zeros((*values.shape[:3], 2))
    for row, hop in enumerate(ds["hop"].values):
        space, zero = ds["eigenspace"].sel(hop=hop).values, ds["eigenspace"].sel(hop=hop).values == 0
        off = np.flatnonzero(~zero)
        assert len(set(space[off])) == len(off)  # no eigenvalue twice on this graph: equal counts are halves
        for band in (0, 1):
            middle = (np.arange(len(off)) + 0.5) / len(off)
            chosen = off[(middle >= band / 2) & (middle < (band + 1) / 2)]
            halves[:, :, row, band] = np.sqrt(np.nansum(values[:, :, row, chosen] ** 2, axis=-1))
    return halves


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    ("null", "level", "metric"),
    [
        ("permute", "eigenspace", "euclidean"),
        ("permute", "component", "angular"),
        ("rotate", "band", "euclidean"),
        ("rotate", "eigenspace", "angular"),
    ],
)
def test_chance_is_the_draws(null, level, metric, alternative):
    given = {"metric": metric, "seed": 7}
    asked = {"level": level, "bands": 2, "alternative": alternative, "max_draws": DRAWS}
    found = st.calibrate(STRAT, SIGNAL, null, DRAWS, algorithms=ALGORITHMS, **asked, **given)
    observed = levels(calls.spectra(STRAT, SIGNAL, ALGORITHMS, **given), level)
    signals = drawn_signals(null, 7)
    drawn = np.stack([levels(calls.spectra(STRAT, signals[:, k], ALGORITHMS, **given), level) for k in range(DRAWS)])
    near = 1e-9 * np.maximum(drawn, observed)
    counts = (drawn >= observed - near, drawn <= observed + near)
    upper, lower = ((1 + count.sum(axis=0)) / (DRAWS + 1) for count in counts)
    p = {"greater": upper, "less": lower, "two-sided": np.minimum(1, 2 * np.minimum(upper, lower))}[alternative]
    moving = np.ptp(drawn, axis=0) > 1e-9  # but for the constant component
    there = ~np.isnan(observed)
    np.testing.assert_allclose(found["magnitude"].values, observed, rtol=1e-9)
    assert (found["degenerate"].values[there] == ~moving[there]).all()
    np.testing.assert_allclose(found["p"].values[there], np.where(moving, p, 1.0)[there], rtol=1e-12)
    energy = drawn**2
    rows = slice(1, None) if null == "permute" else slice(None)  # gft's moments under permutations are exact
    np.testing.assert_allclose(found["null_energy"].values[rows], energy.mean(axis=0)[rows], rtol=1e-7)
    np.testing.assert_allclose(found["null_std"].values[rows], energy.std(axis=0, ddof=1)[rows], rtol=1e-6, atol=1e-9)
    used = there & moving
    z = (observed**2 - found["null_energy"].values)[used] / found["null_std"].values[used]
    np.testing.assert_allclose(found["z"].values[used], z, rtol=1e-6, atol=1e-7)
    assert np.isnan(found["z"].values[~used]).all()
    ratio = observed[used] ** 2 / found["null_energy"].values[used]
    np.testing.assert_allclose(found["ratio"].values[used], ratio, rtol=1e-6)
    for place in np.ndindex(p.shape[:2]):
        family = used[place]
        np.testing.assert_allclose(found["q"].values[place][family], false_discovery_control(p[place][family]))
    assert (found["draws_used"].values[there] == DRAWS).all()


def test_relative_is_relative_to_all_that_is_off_zero():
    given = {"metric": "euclidean", "seed": 1}
    asked = {"level": "component", "relative": True, "max_draws": DRAWS}
    found = st.calibrate(STRAT, SIGNAL, draws=DRAWS, algorithms="gft", **asked, **given)

    def shares(ds):
        values = ds["magnitude"].transpose("algorithm", "snapshot", "hop", "component").values
        return values / np.sqrt(np.sum(np.where(ds["eigenspace"].values == 0, 0, values) ** 2, axis=-1, keepdims=True))

    np.testing.assert_allclose(
        found["magnitude"].values, shares(calls.spectra(STRAT, SIGNAL, "gft", **given)), rtol=1e-9
    )
    signals = drawn_signals("permute", 1)
    energy = np.stack([shares(calls.spectra(STRAT, signals[:, k], "gft", **given)) for k in range(DRAWS)]) ** 2
    np.testing.assert_allclose(found["null_energy"].values, energy.mean(axis=0), rtol=1e-7)


def test_rewired_graphs_are_counted_hop_by_hop():
    """A hop that a rewired graph lacks is no draw."""
    ring = nx.cycle_graph(8)
    strat = st.Stratification(ring, hops=[1, 4])
    signal = np.random.default_rng(0).normal(size=(1, 8, 1))
    found = st.calibrate(strat, signal, "rewire", 15, algorithms="gft", level="band", bands=1, seed=3)
    rng = np.random.default_rng([3, 0x5EC])
    graphs = [rewire(strat.graph, rng) for _ in range(15)]
    far = sum(4 in st.Stratification(edges=edges, n_nodes=8).hops for edges in graphs)
    used = found["draws_used"].values[0, 0, :, 0].tolist()
    assert used == [15, far]
    assert 0 < far < 15


def test_given_signals_are_the_draws():
    untrained = np.random.default_rng(1).normal(size=(9, 14, 2))
    found = st.calibrate(STRAT, SIGNAL, untrained, algorithms="in_agg", level="component", metric="euclidean")
    energy = STRAT.spectra(untrained, "in_agg", metric="euclidean")["magnitude"].values[0] ** 2  # (draw, hop, n)
    for t in (0, 1):
        np.testing.assert_allclose(found["null_energy"].values[0, t], energy.mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(found["null_std"].values[0, t], energy.std(axis=0, ddof=1), rtol=1e-9)
    assert found.attrs["null"] == "given"
    tiny = SIGNAL * 1e-90
    for pair in ((tiny, untrained), (SIGNAL, untrained * 1e90)):
        with pytest.raises(SignalValueError, match="divide the signal by its largest value"):
            st.calibrate(STRAT, *pair, algorithms="gft", metric="euclidean")
    own = st.calibrate(STRAT, tiny, untrained, algorithms="gft", metric="euclidean", relative=True)
    assert np.isfinite(own["z"].values[..., 1:]).any()


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_own_units_come_back(size):
    given = {"draws": 5, "max_draws": 5, "algorithms": ["gft", "in_agg"], "metric": "euclidean"}
    plain, sized = (st.calibrate(STRAT, signal, **given) for signal in (SIGNAL, SIGNAL * [[[size]], [[1.0]]]))
    factor = np.array([size, 1.0])[None, :, None, None]
    for name, power in {"magnitude": 1, "null_energy": 2, "null_std": 2, "z": 0, "p": 0, "ratio": 0}.items():
        np.testing.assert_allclose(sized[name].values, plain[name].values * factor**power, rtol=1e-7, err_msg=name)
    np.testing.assert_allclose(
        sized["gradient_norm"].transpose("snapshot", "hop"),
        plain["gradient_norm"].transpose("snapshot", "hop") * factor[0, :, 0],
        rtol=1e-9,
    )
    assert sized["magnitude"].dims == plain["magnitude"].dims
    one = st.calibrate(STRAT, SIGNAL[0] * size, **given)
    np.testing.assert_allclose(one["magnitude"].values, sized["magnitude"].values[:, 0], rtol=1e-9)
    with pytest.raises(SignalValueError, match="Energies are squares"):
        st.calibrate(STRAT, SIGNAL * 1e200, **given)
    relative = st.calibrate(STRAT, SIGNAL * 1e200, relative=True, **given)
    assert float(relative["magnitude"].max()) <= 10


def test_labels_and_what_was_done():
    named = xr.DataArray(SIGNAL, dims=("snapshot", "node", "dimension"), coords={"snapshot": ["first", "last"]})
    ds = STRAT.spectra(named, ALGORITHMS)
    for level, last in (("component", "component"), ("eigenspace", "component"), ("band", "band")):
        found = st.calibrate(
            STRAT, named, draws=3, max_draws=3, algorithms=ALGORITHMS, level=level, alternative="less", bands=3
        )
        assert found["p"].dims == ("algorithm", "snapshot", "hop", last)
        assert found["snapshot"].values.tolist() == ["first", "last"]
        said = {"null": "permute", "draws": 3, "alternative": "less", "level": level, "metric": "angular"}
        assert said.items() <= found.attrs.items()
        assert found.attrs["q_family"].startswith("one algorithm and snapshot, all hops")
        for name in ("algorithm", "hop", "n_edges", "n_parts", "n_singletons", "node", "edges", "gradient_norm"):
            np.testing.assert_array_equal(found[name], ds[name], err_msg=name)
        one = st.calibrate(STRAT, SIGNAL[0], draws=3, max_draws=3, algorithms=ALGORITHMS, level=level, bands=3)
        assert one["p"].dims == ("algorithm", "hop", last)
        assert "snapshot" not in one.coords
    st.plot.spectra(st.calibrate(STRAT, SIGNAL, draws=3, max_draws=3, algorithms="gft"))


@pytest.mark.parametrize("graph", [nx.path_graph(4), nx.lollipop_graph(3, 2)], ids=["path", "lollipop"])
def test_moments_over_all_orders_count_the_observed_one(graph):
    """Dense, from the definitions, over all n! orders; the deviation is that of the whole null."""
    n, edges = len(graph), np.array(graph.edges)
    t = np.random.default_rng(n).normal(size=(n, 2))
    values, u = np.linalg.eigh(nx.laplacian_matrix(graph).toarray().astype(float))
    differences = u[edges[:, 0]] - u[edges[:, 1]]
    degrees = np.bincount(edges.ravel(), minlength=n)

    def energies(s):
        g = np.linalg.norm(s[edges[:, 0]] - s[edges[:, 1]], axis=1)
        means = np.bincount(edges.ravel(), np.repeat(g, 2), n) / degrees
        least = np.sqrt(g**2 @ differences**2) / values
        return np.array([(u.T @ means) ** 2, least**2, (g @ np.abs(differences)) ** 2 / values])[:, 1:]

    every = np.array([energies(t[list(order)]) for order in itertools.permutations(range(n))])
    algorithms = ["in_agg", "apprx_ls", "adj_diff"]
    found = st.calibrate(graph, t, algorithms=algorithms, metric="euclidean", hops=1, draws=9, level="component")
    found = found.sel(hop=1).isel(component=slice(1, None))
    np.testing.assert_allclose(found["null_energy"].sel(algorithm=algorithms), every.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found["null_std"].sel(algorithm=algorithms), every.std(axis=0), rtol=1e-6, atol=1e-12)


def test_several_clear_columns_reach_a_level_that_one_alone_cannot():
    """The status names one cell: with the same draws and cells, ties at the floor share a smaller q."""
    graph, steps = nx.connected_watts_strogatz_graph(40, 4, 0.2, seed=1), np.arange(40) / 6
    one = np.random.default_rng(2).normal(size=(40, 5))
    several = one.copy()
    one[:, 2] = np.cos(steps)
    several[:, :3] = np.column_stack([np.cos(steps) + np.sin(steps), np.sin(steps), np.cos(steps)])
    options = {"columns": "separate", "algorithms": "gft", "hops": 2, "level": "band", "draws": 199, "max_draws": 199}
    short, clear = (st.calibrate(graph, signal, **options) for signal in (one, several))
    assert float(short["p"].min()) == float(clear["p"].min()) == 0.01
    assert float(short["q"].min()) > 0.05 > float(clear["q"].min())
    words = set(short["status"].values.ravel().tolist())
    assert words == {"With 199 draws one band alone cannot reach q <= .05; use max_draws=1599"}
    assert set(clear["status"].values.ravel().tolist()) == {"ok"}


def test_what_status_says():
    clique = st.Stratification(nx.complete_graph(6), hops=1)
    noise = np.random.default_rng(0).normal(size=6)
    found = st.calibrate(clique, noise, draws=5, algorithms="gft", level="band", bands=3)
    assert found["status"].values.tolist() == [["degenerate: no draw differs; 2 empty bands"]]
    parts = st.Stratification(nx.disjoint_union(nx.complete_graph(4), nx.path_graph(3)), hops=1)
    noise = np.random.default_rng(0).normal(size=7)
    found = st.calibrate(parts, noise, draws=5, algorithms="gft", level="component")
    assert found["status"].values.tolist() == [["ok"]]
    path = st.calibrate(st.Stratification(nx.path_graph(4), hops=1), [1.0, 2, 3, 5], draws=5, algorithms="gft")
    few = "With all 24 orders of the nodes one eigenspace alone cannot reach q <= .05"
    assert path["status"].values.tolist() == [[f"1 of 4 degenerate: no draw differs there; {few}"]]
    cube = st.Stratification(nx.disjoint_union(nx.path_graph(9), nx.path_graph(2)), hops=1)
    noise = np.random.default_rng(0).normal(size=11)
    for draws, words in ((99, "With 99 draws one band alone cannot reach q <= .05; use max_draws=159"), (159, "ok")):
        found = st.calibrate(cube, noise, draws=draws, max_draws=draws, algorithms="gft", level="band")
        assert found["status"].values.tolist() == [[words]]
    given = st.calibrate(cube, noise, RNG.normal(size=(99, 11, 1)), algorithms="gft", level="band")
    assert given["status"].values.tolist() == [["With 99 draws one band alone cannot reach q <= .05; use draws=159"]]
    constant = st.calibrate(STRAT, np.ones(14), draws=5, algorithms="gft", relative=True)
    assert constant["status"].values.tolist() == [["undefined: no energy off zero"]] * 2 or (
        constant["status"].values.tolist() == [["undefined: no energy off zero", "undefined: no energy off zero"]]
    )
    values = SIGNAL.copy()
    values[1, 3] = 0
    mixed = st.calibrate(STRAT, values, draws=0, algorithms="gft", zero_vectors="nan")
    first, second = mixed["status"].transpose("snapshot", "algorithm", "hop").values
    assert set(first.ravel()) == {"no draws: p and q not computed"}
    assert all(word.startswith("undefined: zero vector") for word in second.ravel())


def test_no_warning_comes_from_inside():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        st.calibrate(STRAT, np.ones(14), draws=3)
        st.calibrate(STRAT, np.zeros(14), draws=3, algorithms="gft", relative=True)


@pytest.mark.parametrize("fit", [1, 3, 12, 13, 25])
def test_every_draw_is_made_whatever_the_batches(monkeypatch, fit):
    monkeypatch.setattr(module, "BATCH", fit * 14 * 2)
    asked = []
    original = module.Permuted.arranged

    def watched(self, rows, orders):
        asked.append((len(rows), len(orders)))
        return original(self, rows, orders)

    monkeypatch.setattr(module.Permuted, "arranged", watched)
    found = st.calibrate(STRAT, SIGNAL, draws=DRAWS, max_draws=DRAWS, algorithms="gft", level="component")
    assert (found["draws_used"].values == DRAWS).all()
    assert sum(rows * draws for rows, draws in asked) == 2 * DRAWS * len(STRAT.hops)  # the same at every hop
    assert max(rows * draws for rows, draws in asked) <= max(fit, 1)


def test_rewiring_visits_all_graphs_alike():
    """Six edges on six nodes of degree 2: a hexagon, or two triangles (60 and 10 of 70)."""
    ring = as_graph(nx.cycle_graph(6))
    rng = np.random.default_rng(0)
    triangles = sum(not nx.is_connected(nx.Graph(rewire(ring, rng).tolist())) for _ in range(2000))
    assert triangles / 2000 == pytest.approx(1 / 7, abs=4 * np.sqrt(1 / 7 * 6 / 7 / 2000))


def test_rotations_prefer_no_direction():
    values = np.random.default_rng(0).normal(size=(1, 5, 1))
    drawn = rotate_signal(values, 20_000, np.random.default_rng(1))[0, :, :, 0]
    centred = drawn - values.mean()
    covariance = centred.T @ centred / len(drawn)
    expected = (np.eye(5) - 1 / 5) * values.var() * 5 / 4
    np.testing.assert_allclose(covariance, expected, atol=0.03 * values.var())
    np.testing.assert_allclose(centred.mean(axis=0), 0, atol=0.05 * values.std())


def test_counts_add_up_over_batches():
    rng = np.random.default_rng(0)
    observed, drawn = rng.random((2, 3, 2, 4)), rng.random((2, 3, 10, 2, 4))
    drawn[0, 0, :4] = observed[0, 0]  # ties
    drawn[1, 2, 5:, 1] = np.nan
    floor = np.zeros((1, 1, 1, 1))
    together, apart = Tally(observed, floor), Tally(observed, floor)
    together.add(slice(None), drawn)
    for rows in (slice(0, 2), slice(2, 3)):
        for draws in (slice(0, 4), slice(4, 10)):
            apart.add(rows, drawn[:, rows, draws])
    for alternative in ("greater", "less", "two-sided"):
        one, two = together.result(alternative), apart.result(alternative)
        for name in one:
            np.testing.assert_allclose(one[name], two[name], rtol=1e-12, atol=1e-12, err_msg=name)


def test_rewiring_keeps_nodes_without_an_edge():
    graph = nx.cycle_graph(8)
    graph.add_node(8)
    found = st.calibrate(st.Stratification(graph, hops=1), np.arange(9.0), "rewire", 5, level="band", algorithms="gft")
    assert np.isfinite(found["null_energy"].values).all()


def test_each_hop_is_decomposed_once_however_many_draws_follow(monkeypatch):
    from spectrata.core import stratification

    solved = []

    def noted(stratum, *more, **options):
        solved.append(stratum.hop)
        return solve(stratum, *more, **options)

    monkeypatch.setattr(stratification, "decompose", noted)
    strat = st.Stratification(nx.path_graph(9), hops=3, max_basis_bytes=0)
    st.calibrate(strat, np.arange(9.0) ** 2, draws=99)
    assert solved == [1, 2, 3]


def test_advice_is_what_would_help_where_the_work_is_bounded(monkeypatch):
    rng = np.random.default_rng(0)
    strat = st.Stratification(nx.cycle_graph(60), hops=1)
    signal = 2 * np.sin(np.arange(60) * 2 * np.pi / 60) + rng.normal(size=60)
    given = {"algorithms": "gft", "draws": 99, "seed": 1}
    free = st.calibrate(strat, signal, max_draws=400, **given)
    assert "use max_draws=1199" in free["status"].item()  # 30 eigenspaces
    monkeypatch.setattr("spectrata.stats.judge.MORE", 1.0)
    for most in (400, 99_999):  # no max_draws is reached
        bound = st.calibrate(strat, signal, max_draws=most, **given)
        assert "With 99 draws one eigenspace alone cannot reach q <= .05; use draws=1199" in bound["status"].item()
    helped = st.calibrate(strat, signal, **given | {"draws": 1199})
    assert "draws" not in helped["status"].item().replace("no draw differs", "")
    assert float(helped["q"].min()) <= 0.05
