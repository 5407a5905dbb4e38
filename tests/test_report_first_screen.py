"""The first screen of a report in a real browser, and the report inside a notebook cell."""

import json
import re

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from browsing import Page, chromium
from spectrata.stats.describe.cumulative import cumulative_energy
from spectrata.stats.verdict import LEVELS

pytestmark = pytest.mark.needs("playwright", "plotly")
GRAPH = nx.planted_partition_graph(2, 20, 0.3, 0.04, seed=2)
SIGNAL = np.random.default_rng(0).normal(size=40) + 2.0 * (np.arange(40) < 20)
POSITIONS = np.random.default_rng(1).uniform(size=(40, 2))


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    strat = st.Stratification(GRAPH)
    ds = strat.spectra(SIGNAL, ["gft", "adj_diff"])
    path = tmp_path_factory.mktemp("first") / "first.html"
    return st.write_report(ds, path, strat, pos=POSITIONS, graph_name="Two blocks", signal_name="levels"), strat


def test_the_first_screen_holds_the_numbers(browser, report):
    page_file, strat = report
    pairs = st.correlogram(strat, SIGNAL, draws=0)
    found = st.diagnose(strat, SIGNAL)
    with Page(browser, page_file) as page:
        assert page.text("#title") == "Two blocks · levels"
        tiles = page.evaluate(
            "() => [...document.querySelectorAll('#strip button')].map(b => [b.className, b.innerText])"
        )
        assert len(tiles) == len(strat.hops)
        for (name, text), hop in zip(tiles, strat.hops, strict=True):
            (word,) = [one.verdict for one in found if one.hop == hop and one.statistic == "r"]
            assert name == (word if word in ("alike", "unlike") else "same")
            shown = re.search(r"r = (\S+)", text)[1].replace("\N{MINUS SIGN}", "-")
            assert float(shown) == pytest.approx(float(pairs["r"].sel(hop=hop)), rel=0.01, abs=1e-3)
        told = [one for one in found if one.kind != "chance" or one.statistic == "r"]
        assert all(one.text in page.text("#findings") for one in told)
        bands = st.calibrate(strat, SIGNAL, algorithms="gft", level="band", bands=8, draws=0)["ratio"].loc["gft"].values
        heat = page.traces("hops", "chance")[0]["z"]
        drawn = np.array([[np.nan if v is None else v for v in row] for row in heat], dtype=float)
        np.testing.assert_allclose(drawn, np.clip(np.log2(bands), -3, 3), atol=1e-4)
        np.testing.assert_allclose(page.traces("correlogram", "r")[0]["y"], pairs["r"], rtol=1e-5)
        bars = page.traces("correlogram", "chance")[0]["y"].reshape(-1, 3)
        own = [(one.chance_low, one.chance_high) for one in found if one.statistic == "r"]
        np.testing.assert_allclose(bars[:, :2], own, rtol=1e-5)
        painted = page.traces("signal")[1]
        np.testing.assert_allclose(painted["color"], SIGNAL, rtol=1e-5)
        span = np.ptp(POSITIONS, axis=0).max() / 2  # the user's places, in one scale
        np.testing.assert_allclose(np.ptp(painted["x"]), np.ptp(POSITIONS[:, 0]) / span, rtol=1e-5)
        np.testing.assert_allclose(np.argsort(painted["y"]), np.argsort(POSITIONS[:, 1]))
        assert page.under_buttons() == []
        offered = "() => [...document.querySelectorAll('#hops .modebar-btn')].map(button => button.dataset.title)"
        assert page.evaluate(offered) == ["Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]  # nothing is uploaded
        page.screenshot("first-screen")


def test_a_hop_of_the_strip_is_shown_and_keys_reach_the_nodes(browser, report):
    page_file, strat = report
    with Page(browser, page_file, width=390, height=844) as page:
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert page.under_buttons() == []
        page.tab.focus("#strip button:nth-child(2)")
        page.tab.keyboard.press("Enter")
        page.settle()
        assert page.text("#cumulative-title") == "Cumulative energy at 2 hops"
        own = cumulative_energy(strat, SIGNAL, draws=0).isel(hop=1)
        line = page.traces("cumulative", "cumulative")[0]
        used = np.isfinite(own["frequency"].values)
        np.testing.assert_allclose(line["x"][1:], own["frequency"].values[used], rtol=1e-5)
        np.testing.assert_allclose(line["y"][1:], own["share"].values[used], rtol=1e-4)
        page.tab.focus("#signal")
        page.tab.keyboard.press("ArrowRight")
        strongest = int(np.argmax(np.abs(SIGNAL)))
        assert page.text("#signal .tip").startswith(f"\u2068{strongest}\u2069\nvalue")
        page.tab.keyboard.press("+")
        before = page.node("signal", 0)
        page.tab.keyboard.press("0")
        assert page.node("signal", 0) != before


def test_columns_go_by_their_names(browser, tmp_path):
    import pandas as pd

    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["height", "<b>width"])
    strat, saved = st.Stratification(GRAPH, hops=1), tmp_path / "kept.nc"
    st.save(strat.spectra(table, "gft"), saved)
    kept = st.write_report(st.open(saved), tmp_path / "kept.html")
    given = st.write_report(strat.using(keep=()).spectra(table, "gft"), tmp_path / "given.html", strat, signal=table)
    unit = table.to_numpy() / np.linalg.norm(table.to_numpy(), axis=1, keepdims=True)
    words = "the columns \u2068height\u2069 and \u2068<b>width\u2069"
    for report in (kept, given):
        with Page(browser, report) as page:
            assert page.text("#title") == "Graph of 40 nodes · height, <b>width"
            options = page.evaluate("() => [...document.getElementById('paint').options].map(one => one.text)")
            assert options == ["height", "<b>width"]
            assert words in page.text("#signal-caption")
            assert words in page.text("#embedding-caption")
            assert "Vectors of 2 columns are compared by direction" in page.text("#findings")
            page.tab.select_option("#paint", label="<b>width")
            page.settle()
            np.testing.assert_allclose(page.traces("signal")[1]["color"], unit[:, 1], rtol=1e-5)
            assert "first column" not in page.evaluate("() => document.body.innerText")
    assert st.write_report(strat.spectra(table.to_numpy(), "gft")).title == "Graph of 40 nodes · 2 columns"


# The policy of VS Code's notebooks (backLayerWebView.ts, `notebook.experimental.enableCsp`), and a base as there.
WEBVIEW = """<!doctype html><base href="https://example.invalid/notebook/"><meta http-equiv="Content-Security-Policy"
content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src https: http:
data:; font-src https:; connect-src https:; child-src https: data:;"><body class="vscode-dark"><p id="own">cell</p>
<div id="output"></div><script>document.getElementById("output").innerHTML = %s;</script>"""


@pytest.mark.parametrize("host", ["plain page", "strict webview"])
def test_it_shows_itself_in_an_isolated_frame(host, browser, report, tmp_path):
    """A notebook puts what ``_repr_html_`` gives into its own page."""
    shown, cell, outer = report[0]._repr_html_(), tmp_path / "cell.html", tmp_path / "outer.html"
    strict = host == "strict webview"
    script = json.dumps(shown).replace("<", "\\u003c")
    cell.write_text(WEBVIEW % script if strict else f"<!doctype html><p id='own'>cell</p>{shown}", "utf-8")
    sandbox = 'sandbox="allow-scripts allow-same-origin allow-forms allow-downloads"'
    outer.write_text(f'<!doctype html><iframe src="cell.html" width=1100 height=900 {sandbox}></iframe>', "utf-8")
    context = browser.new_context(color_scheme="null", accept_downloads=True)
    tab = context.new_page()
    said = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(outer.as_uri())
    frame = tab.frame_locator("iframe").frame_locator("iframe.spectrata-report").locator("html[data-ready=yes]")
    frame.wait_for()
    frame = frame.element_handle().owner_frame()
    assert frame.text_content("#title") == "Two blocks · levels"
    assert frame.evaluate("document.documentElement.dataset.scheme") == ("dark" if strict else "light")
    reach = "() => { try { return parent.document.getElementById('own').textContent; } catch (e) { return e.name; } }"
    assert frame.evaluate(reach) == "SecurityError"
    frame.click("#strip button >> nth=1")
    frame.wait_for_function("() => document.getElementById('pick-hop').value === '1'")
    frame.focus(".skip")
    tab.keyboard.press("Enter")  # "#spectra-section" would be an address of the notebook
    frame.wait_for_function("() => document.activeElement.id === 'spectra'")
    saved = ["#downloads button >> nth=0", "[data-save='hops.svg']", "[data-save='signal.png']"]
    saved += [] if strict else ["[data-save='hops.png']"]  # Plotly paints a blob, which this policy does not show
    for button in saved:
        with tab.expect_download():
            frame.click(button)
    assert said == []
    context.close()


@pytest.mark.needs("torch")
def test_the_map_of_a_watched_run(browser, tmp_path):
    import torch

    from spectrata.torch import Recorder

    probe = Recorder(GRAPH, hops=1, algorithms="gft")
    torch.manual_seed(0)
    for epoch in range(4):
        probe.record({"conv1": torch.randn(40, 3), "conv2": torch.randn(40, 3)}, epoch=epoch)
        probe.score(epoch, {"accuracy": 0.1 * epoch})
    with Page(browser, probe.report(tmp_path / "run.html")) as page:
        drawn = np.array(page.traces("run", "run")[0]["z"], dtype=float)
        np.testing.assert_allclose(drawn, probe.dataset["off_zero_live"].values, rtol=1e-5)
        np.testing.assert_allclose(page.traces("run", "score")[0]["y"], [0, 0.1, 0.2, 0.3], rtol=1e-5, atol=1e-7)
        page.tab.select_option("#run-measure", label="effective rank")
        page.settle()
        assert "effective_rank" in page.text("#run-caption")
        assert page.text("body").count('st.torch.watch(model, data, keep=("signal",)), then use w.report(path)') == 1


@pytest.mark.needs("torch")
def test_modes_decades_and_the_control_of_a_watched_run(browser, tmp_path):
    """A page of a run with three modes, a measure over seven decades, and a control; on a wide and a narrow screen."""
    import torch

    from spectrata.torch import Recorder

    probe = Recorder(GRAPH, hops=1, algorithms="gft")
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shifts = {"train": 1.0, "eval": 30.0, "control": 1e9}
    for epoch in range(4):
        for mode, shift in shifts.items():
            probe.record({"conv1": x, "conv2": x + shift * (1 + epoch), "head": x + 1.0}, epoch=epoch, mode=mode)
    rows = probe.table()
    names = ["conv1", "conv2", "head"]
    value = {
        mode: rows[rows["mode"] == mode].pivot(index="layer", columns="epoch", values="off_zero_live")
        for mode in shifts
    }
    report = probe.report(tmp_path / "run.html")
    with Page(browser, report, width=390, height=844) as page:
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert page.under_buttons() == []
    with Page(browser, report) as page:
        assert page.under_buttons() == []
        drawn = np.array(page.traces("run", "run")[0]["z"], dtype=float)  # evaluations first, logarithmic
        np.testing.assert_allclose(10**drawn, value["eval"].loc[names].to_numpy(), rtol=1e-5)
        assert "evaluation passes. Colours are logarithmic" in page.text("#run-caption")
        page.tab.select_option("#run-mode", label="training")
        page.settle()
        drawn = np.array(page.traces("run", "run")[0]["z"], dtype=float)  # one decade: as they are
        np.testing.assert_allclose(drawn, value["train"].loc[names].to_numpy(), rtol=1e-5)
        page.tab.select_option("#run-mode", label="without messages")
        page.settle()
        control = value["control"].loc[names].to_numpy()
        drawn = np.array(page.traces("run", "run")[0]["z"], dtype=float)
        np.testing.assert_allclose(10**drawn, np.maximum(control, 1e-7 * control.max()), rtol=1e-5)
        for key, mode in (("values", "eval"), ("control", "control")):
            curve = page.traces("collapse", key)[0]["y"]
            np.testing.assert_allclose(curve, np.maximum(value[mode].loc[names, 3], 1e-7), rtol=1e-5)
        late = value["eval"].loc["conv2", [2, 3]]  # the second half of the run
        span = page.traces("collapse", "range")[0]["y"][3:5]
        np.testing.assert_allclose(span, [late.min(), late.max()], rtol=1e-5)
        assert page.traces("collapse", "level")[0]["y"][0] == LEVELS["last hidden"].level
        page.screenshot("watched-run")
