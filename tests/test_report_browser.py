"""The report page in a real browser: what is drawn is read back and compared with the numbers."""

import csv
import io
import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from browsing import Page, chromium, missing
from reproduction.tasks import caveman
from reproduction.tasks.smoothing import learn
from spectrata.inputs.signals import Signal
from spectrata.results.build import graph_of

pytestmark = pytest.mark.needs("playwright", "plotly")
SHARED = Path(__file__).parents[2] / "shared" / "data"
NASTY = (
    "<script>window.HACKED = 1</script>",
    "</script><img src=x onerror='window.HACKED = 1'>",
    "\"quotes\" & 'more' &lt;",
    "عقدة\u202eabc",
    "🙂👩‍🚀",
    "$x^2$",
    "%{x}<b>bold</b>",
    "a\u2028b",
    "<a href='javascript:window.HACKED=1'>link</a>",
    "{{script}}",
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """Thirteen snapshots of learning on the paper's graph: path, result, stratification."""
    strat = st.Stratification(caveman.caveman_graph())
    runs = learn(strat.graph, caveman.start_signal()[None], 0.3, 3540, record=295)
    ds = strat.spectra(Signal(runs.recorded[:, 0], tuple(range(0, 3541, 295))))
    path = tmp_path_factory.mktemp("report") / "training.html"
    return st.write_report(ds, path, strat), ds, strat


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    graph = nx.relabel_nodes(nx.path_graph(len(NASTY)), dict(enumerate(NASTY)))
    strat = st.Stratification(graph, hops=2)
    values = np.random.default_rng(0).normal(size=(2, len(NASTY), 2))
    ds = strat.spectra(Signal(values, (NASTY[0], NASTY[3])))
    path = tmp_path_factory.mktemp("report") / "<script>alert(1)<&>.html".replace("/", "")
    names = {"title": NASTY[1], "graph_name": NASTY[0], "signal_name": NASTY[3]}
    return st.write_report(ds, path, strat, command=f"spectrata profile '{NASTY[0]}'", **names)


def merged_magnitudes(ds, algorithm, hop, snapshot):
    merged = st.merge_eigenspaces(ds)
    values = merged["magnitude"].loc[algorithm, snapshot].sel({"hop": hop}).values
    used = merged["multiplicity"].sel({"hop": hop}).values > 0
    return values[used], merged["eigenvalue"].sel({"hop": hop}).values[used]


def shown(value):
    """A number as the page writes it."""
    return f"{float(f'{value:.4g}'):g}"


def check_spectra(page, ds, algorithm, snapshot, scale=lambda values, hop: values):
    curves = page.traces("spectra", "curve")
    curves = [
        c for i, c in enumerate(curves) if i % (len(curves) // len(ds["hop"])) == len(curves) // len(ds["hop"]) - 1
    ]
    for curve, hop in zip(curves, ds["hop"].values, strict=True):
        values, eigenvalues = merged_magnitudes(ds, algorithm, hop, snapshot)
        np.testing.assert_allclose(curve["y"], scale(values, hop), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(curve["x"], eigenvalues, rtol=1e-5, atol=1e-7)


def test_it_opens_quietly_and_shows_the_magnitudes(browser, training):
    path, ds, strat = training
    with Page(browser, path) as page:
        assert page.asked == [path.path.resolve().as_uri()]
        check_spectra(page, ds, "gft", 3540)
        assert "13 nodes, 15 edges, diameter 6, connected" in page.text("#graph-line")
        assert "13 snapshots" in page.text("#signal-line")
        ends = st.diagnose(strat, ds["signal"].isel(snapshot=[0, -1]), metric="angular", columns="joint")
        told = [one for one in ends if one.kind != "chance" or one.statistic == "r"]
        assert {"chance", "undefined"} < {one.kind for one in told}
        for one in told:
            where = "#missing" if one.kind == "undefined" else "#findings"
            assert one.text in page.tab.text_content(where)
        page.screenshot("training-light")


def test_the_algorithm_switch(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "")
        for algorithm in ("in_agg", "adj_diff", "apprx_ls"):
            page.tab.select_option("#algorithm", label=algorithm)
            page.settle()
            check_spectra(page, ds, algorithm, 3540)
            assert algorithm in page.text("#picked")


def test_the_scale_switch(browser, training):
    path, ds, strat = training
    signal = Signal(ds["signal"].values, tuple(ds["snapshot"].values.tolist()))
    chance = st.calibrate(strat, signal, algorithms=list(ds["algorithm"].values), draws=199, metric="angular")
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "")
        page.tab.check("[value=normalised]")
        page.settle()
        check_spectra(page, ds, "gft", 3540, lambda values, hop: values / np.linalg.norm(values))
        page.tab.check("[value=calibrated]")
        page.settle()

        def ratio(values, hop):
            return chance["ratio"].loc["gft", 3540].sel({"hop": hop}).values[: len(values)]

        check_spectra(page, ds, "gft", 3540, ratio)
        assert page.tab.is_disabled("#merged")
        page.tab.check("[value=raw]")
        page.settle()
        bars = page.traces("spectra", "chance")[0]["y"].reshape(-1, 3)  # low, high and a gap for each eigenspace
        at = chance.sel({"hop": 1, "algorithm": "gft", "snapshot": 3540})
        for side, name in enumerate(("chance_low", "chance_high")):
            expected = np.sqrt((at[name] * at["energy"]).values[1:])
            np.testing.assert_allclose(bars[:, side], expected, rtol=1e-4, atol=1e-6)
        page.screenshot("training-raw")


def test_components_one_by_one_and_by_rank(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "")
        page.tab.uncheck("#merged")
        page.tab.check("[value=rank]")
        page.settle()
        curve = page.traces("spectra", "curve")[0]
        np.testing.assert_allclose(curve["y"], ds["magnitude"].loc["gft", 3540, 1], rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(curve["x"], np.arange(13))


def test_a_click_shows_the_component_on_the_graph(browser, training):
    path, ds, _ = training
    vectors = ds["eigenvectors"]
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "")
        page.settle()
        for row, hop in ((0, 1), (1, 2), (4, 5)):
            space = ds["eigenspace"].sel({"hop": hop}).values
            for a in range(1, space.max() + 1):
                page.click_point("spectra", ("curve", row), a)
                colours = page.traces("graph")[1]["color"]
                members = vectors.sel({"hop": hop}).values[:, space == a]
                expected = members[:, 0] if members.shape[1] == 1 else np.linalg.norm(members, axis=1)
                np.testing.assert_allclose(colours, expected, rtol=1e-5, atol=1e-6)
                np.testing.assert_array_equal(page.traces("embedding")[1]["color"], colours)
                assert f"K = {hop}, eigenvalue" in page.text("#picked")
                picked = page.traces("spectra", "picked")[row]
                assert picked["x"][0] == pytest.approx(page.traces("spectra", "curve")[row]["x"][a])
        page.screenshot("training-clicked")


def test_a_click_on_a_single_component_of_a_repeated_eigenvalue(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "")
        page.tab.uncheck("#merged")
        page.tab.check("[value=rank]")
        page.settle()
        assert ds["multiplicity"].loc[1].values[2] > 1
        page.click_point("spectra", ("curve", 0), 2)
        np.testing.assert_allclose(
            page.traces("graph")[1]["color"], ds["eigenvectors"].sel({"hop": 1}).values[:, 2], rtol=1e-5, atol=1e-6
        )
        assert "arbitrary" in page.text("#picked")
        page.tab.select_option("#member", "-1")
        page.settle()
        assert (page.traces("graph")[1]["color"] >= 0).all()


def test_the_slider_moves_spectra_nodes_and_embedding(browser, training):
    path, ds, _ = training
    graph = graph_of(ds)
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "")
        page.tab.focus("#snapshot")
        seen = []
        for key, moment in (("Home", 0), ("ArrowRight", 295), ("End", 3540)):
            page.tab.keyboard.press(key)
            page.settle()
            assert page.text("#snapshot-name") == str(moment)
            check_spectra(page, ds, "gft", moment)
            own = st.node_energy(graph, ds["signal"].sel({"snapshot": moment}).values, metric="angular")["energy"][:, 0]
            for band in range(4):
                colours = page.traces("nodes")[2 * band + 1]["color"]
                np.testing.assert_allclose(colours, own[:, band], rtol=1e-5, atol=1e-7)
            places = page.traces("embedding")[1]
            seen.append(np.stack([places["x"], places["y"]], axis=1))
            norm = f"{float(ds['gradient_norm'].sel({'snapshot': moment, 'hop': 1})):.4g}"
            assert norm in page.text("#strata tr:nth-child(1) td:last-child")
        unit = ds["signal"].values / np.linalg.norm(ds["signal"].values, axis=2, keepdims=True)
        flat = unit.reshape(-1, 3)
        _, _, right = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
        for places, index in zip(seen, (0, 1, 12), strict=True):
            expected = (unit[index] - flat.mean(axis=0)) @ right[:2].T
            np.testing.assert_allclose(np.abs(places), np.abs(expected), atol=1e-5)
        line = page.evaluate("() => document.getElementById('spectrogram').layout.shapes[0].x0")
        assert line == 12


def test_hover_gives_numbers(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "")
        page.settle()
        values, eigenvalues = merged_magnitudes(ds, "gft", 1, 3540)
        text = page.hover_point("spectra", ("curve", 0), 2)
        assert f"eigenvalue {shown(eigenvalues[2])}" in text
        assert f"magnitude {shown(values[2])}" in text
        assert "energy over chance" in text
        text = page.hover_node("graph", 4)
        assert "E" in text
        assert f"value {shown(page.traces('graph')[1]['color'][4])}" in text
        assert "3 neighbours" in text


def test_the_heat_maps_are_the_magnitudes_off_zero(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        (film,) = page.traces("spectrogram")
        space = ds["eigenspace"].sel({"hop": 1}).values
        values = np.where(space > 0, ds["magnitude"].loc["gft", 3540].sel({"hop": 1}).values, 0.0)
        values = values / np.linalg.norm(values)
        even = np.array([np.sqrt(np.mean(values[space == a] ** 2)) for a in space])
        last = np.array([np.nan if row[-1] is None else row[-1] for row in film["z"]], dtype=float)
        np.testing.assert_array_equal(np.isnan(last), space == 0)
        np.testing.assert_allclose(last[space > 0], even[space > 0], rtol=1e-4, atol=1e-7)
        assert len(film["z"][0]) == 13
        shift = page.traces("shift")[0]["z"]
        found = st.compare(*(ds.isel(snapshot=t, drop=True) for t in (0, -1)))
        np.testing.assert_allclose(shift[0], found["energy_shift"].loc["gft", 1], rtol=1e-4, atol=1e-6)


def test_the_overlay_is_the_other_spectrum(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        page.tab.select_option("#overlay", "s0")
        page.settle()
        over = page.traces("spectra", "curve")[0]
        np.testing.assert_allclose(over["y"], merged_magnitudes(ds, "gft", 1, 0)[0], rtol=1e-5, atol=1e-7)


def test_keys_alone_reach_a_component(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        page.tab.focus("#spectra")
        for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
            page.tab.keyboard.press(key)
            page.settle()
        assert page.text("#picked").startswith("K = 2, eigenvalue")
        chosen = int(page.tab.input_value("#pick-number"))
        space = ds["eigenspace"].sel({"hop": 2}).values
        members = ds["eigenvectors"].sel({"hop": 2}).values[:, space == chosen]
        expected = members[:, 0] if members.shape[1] == 1 else np.linalg.norm(members, axis=1)
        np.testing.assert_allclose(page.traces("graph")[1]["color"], expected, rtol=1e-5, atol=1e-6)
        reached = set()
        page.evaluate("() => document.activeElement.blur()")
        for _ in range(120):
            page.tab.keyboard.press("Tab")
            reached.add(page.evaluate("() => document.activeElement.id || document.activeElement.dataset.save || ''"))
        assert {"algorithm", "merged", "log", "overlay", "snapshot", "play", "scheme", "spectra", "next"} <= reached
        assert {"spectra.png", "graph.svg", "hops.png", "embedding.png", "spectrogram.svg"} <= reached


def test_data_and_pictures_are_downloadable(browser, training):
    path, ds, _ = training
    with Page(browser, path) as page:
        rows = list(csv.DictReader(io.StringIO(page.saved("[data-file='spectra.csv']").decode())))
        table = st.to_table(ds)
        assert len(rows) == len(table)
        given = {
            (r["algorithm"], int(r["snapshot"]), int(r["hop"]), int(r["component"])): float(r["magnitude"])
            for r in rows
        }
        for _, line in table.iloc[::97].iterrows():
            key = (line["algorithm"], line["snapshot"], line["hop"], line["component"])
            assert given[key] == pytest.approx(line["magnitude"], rel=1e-5, abs=1e-7)
        vector = page.saved("[data-file='eigenvector.csv']").decode().splitlines()
        assert vector[0] == "node,value"
        assert len(vector) == 14
        for figure in ("spectra", "graph", "hops", "embedding", "nodes", "spectrogram", "shift"):
            assert page.saved(f"[data-save='{figure}.svg']").startswith(b"<svg")
        assert page.saved("[data-save='spectra.png']").startswith(b"\x89PNG")


def test_dark_light_narrow_and_print(browser, training):
    path, _, _ = training
    dark, light = "#14171b", "#ffffff"

    def paper(page):
        return page.evaluate("() => document.getElementById('spectra').layout.paper_bgcolor")

    with Page(browser, path, color_scheme="dark") as page:
        assert paper(page) == dark
        page.screenshot("training-dark")
        page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
        assert paper(page) == light
        page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
        assert paper(page) == dark
        page.tab.click("#scheme")
        assert paper(page) == light
        page.screenshot("training-light-by-button")
        page.tab.pdf(path=Path(page.screenshot("training-print")).with_suffix(".pdf"), format="A4")
    with Page(browser, path, width=390) as page:
        width = page.evaluate("() => document.documentElement.scrollWidth")
        assert width <= 390
        page.screenshot("training-narrow")


def test_nasty_names_are_shown_and_run_nothing(browser, nasty):
    with Page(browser, nasty) as page:
        assert page.evaluate("() => window.HACKED") is None
        assert page.text("#title") == NASTY[1]
        assert page.text("#graph-line bdi") == NASTY[0]
        assert page.text("#signal-line bdi") == NASTY[3]
        assert NASTY[0] in page.text("#command")
        assert page.tab.title() == NASTY[1]
        shown = page.evaluate("() => document.getElementById('graph').data[1].text")
        assert len(shown) == len(NASTY)
        for name, label in zip(NASTY, shown, strict=True):
            start = label.removesuffix("…").replace("\u00a0", " ")
            assert name.replace("\u2028", " ").startswith(start.replace("\u2028", " "))
            assert len(start) >= min(3, len(name))
        for index, name in enumerate(NASTY):
            assert name in page.hover_node("graph", index)
            assert page.evaluate("() => document.querySelectorAll('main a[href], main img, main b').length") == 0
        page.tab.select_option("#overlay", "s0")
        page.tab.focus("#snapshot")
        page.tab.keyboard.press("Home")
        page.settle()
        assert page.text("#snapshot-name") == NASTY[0]
        assert NASTY[0] in page.text("#spectra-caption")
        lines = page.saved("[data-file='eigenvector.csv']").decode()
        assert [row[0] for row in csv.reader(io.StringIO(lines))][1:] == list(NASTY)
        assert page.evaluate("() => window.HACKED") is None
        page.screenshot("nasty-names")


def test_the_policy_stops_scripts_and_requests(browser, nasty):
    page = Page(browser, nasty)
    page.evaluate(
        """() => { const s = document.createElement('script'); s.textContent = 'window.HACKED = 2';
                   document.body.append(s); }"""
    )
    assert page.evaluate("() => window.HACKED") is None
    refused = page.evaluate("() => fetch('https://example.org/').then(() => 'went out', () => 'refused')")
    assert refused == "refused"
    assert any("Content Security Policy" in line for line in page.said)
    page.context.close()


def graph_of_parts():
    graph = nx.disjoint_union_all([nx.star_graph(9), nx.cycle_graph(5), nx.path_graph(2), nx.empty_graph(4)])
    return graph, np.random.default_rng(0).normal(size=(len(graph), 4))


@pytest.mark.parametrize(
    ("name", "graph", "signal"),
    [
        ("one-edge", nx.path_graph(2), np.array([1.0, 3.0])),
        ("parts", *graph_of_parts()),
        ("constant", nx.cycle_graph(6), np.ones(6)),
        ("twenty-hops", nx.path_graph(21), np.arange(21.0) % 3),
    ],
)
def test_small_and_odd_graphs(browser, tmp_path, name, graph, signal):
    ds = st.spectra(graph, signal)
    with Page(browser, st.write_report(ds, tmp_path / f"{name}.html")) as page:
        curves = page.traces("spectra", "curve")
        assert len(curves) == min(12, len(ds["hop"]))
        merged = st.merge_eigenspaces(ds)["magnitude"].loc["gft", 1].values
        np.testing.assert_allclose(curves[0]["y"], merged[~np.isnan(merged)], rtol=1e-5, atol=1e-6)
        places = page.traces("graph")[1]
        assert len(places["x"]) == len(graph)
        assert len(np.unique(np.stack([places["x"], places["y"]]).round(4), axis=1).T) == len(graph)
        page.click_point("spectra", ("curve", 0), 0)  # the zero components: one indicator per part
        parts = [len(c) for c in nx.connected_components(graph) for _ in c]
        order = [node for c in nx.connected_components(graph) for node in c]
        expected = np.empty(len(graph))
        expected[order] = 1 / np.sqrt(parts)
        np.testing.assert_allclose(page.traces("graph")[1]["color"], expected, rtol=1e-5)
        if name == "twenty-hops":
            page.tab.click("#hop-pages button:last-child")
            page.settle()
            assert len(page.traces("spectra", "curve")) == 8
        if name == "constant":
            (heat,) = page.traces("hops")
            assert all(v is None for row in heat["z"] for v in row)
            assert "no energy off zero" in page.text("#cumulative")
        page.screenshot(name)


def test_cora_is_small_and_quick(browser, tmp_path):
    file = SHARED / "cora.npz"
    if not file.exists():
        missing(f"{file} is not there")
    with np.load(file) as data:
        graph = nx.Graph(data["edges"].tolist())
        shape = tuple(data["features_shape"])
        import scipy.sparse as sparse

        features = sparse.csr_array((data["features_data"], data["features_indices"], data["features_indptr"]), shape)
    kept = sorted(max(nx.connected_components(graph), key=len))
    assert len(kept) == 2485
    mixed = features[kept] @ np.random.default_rng(0).normal(size=(shape[1], 16))
    edges = np.array(nx.relabel_nodes(graph.subgraph(kept), {node: i for i, node in enumerate(kept)}).edges)
    strat = st.Stratification(edges=edges, n_nodes=len(kept), hops=4)
    ds = strat.spectra(mixed)
    path = st.write_report(ds, tmp_path / "cora.html", strat, signal=mixed, graph_name="Cora").path
    assert path.stat().st_size < 12e6
    with Page(browser, path) as page:
        assert page.work_seconds < 3
        if os.getloadavg()[0] < (os.cpu_count() or 1):
            assert page.seconds < 3
    with Page(browser, path) as page:
        assert page.tab.is_checked("[value=cumulative]")  # beyond 300 components
        page.screenshot("cora")
        page.tab.check("[value=raw]")
        page.settle()
        merged = st.merge_eigenspaces(ds)
        for row, hop in enumerate(ds["hop"].values):
            curve = page.traces("spectra", "curve")[row]
            values = merged["magnitude"].loc["gft", hop].values
            np.testing.assert_allclose(curve["y"], values[~np.isnan(values)], rtol=1e-5, atol=1e-6)
        marks = page.traces("spectra", "marked")[0]
        index = int(np.argmax(np.where(marks["x"] > 0, marks["y"], 0)))
        page.click_point("spectra", ("marked", 0), index)
        # Several components share a pixel here: one of them is picked.
        space = int(page.tab.input_value("#pick-number"))
        (component,) = np.flatnonzero(ds["eigenspace"].loc[1].values == space)
        assert abs(component - marks["x"][index]) < 20
        vector = strat.basis(1).dense()[:, component]
        step = np.abs(vector).max() / 32767
        np.testing.assert_allclose(page.traces("graph")[1]["color"], vector, atol=step)  # all 2,485 nodes


def test_a_browser_is_not_optional_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "1")
    monkeypatch.delenv("SPECTRATA_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(pytest.fail.Exception, match="Chromium"), chromium():
        pass
