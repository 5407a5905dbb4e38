"""The report page in a real browser: what it shows is read back and compared with the numbers."""

import csv
import io
import json
import os

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import spectrata as st
from browsing import Page, chromium, missing

pytestmark = pytest.mark.needs("playwright")
KARATE = nx.karate_club_graph()
NASTY = (
    "<script>window.HACKED = 1</script>",
    "</script><img src=x onerror='window.HACKED = 1'>",
    "\"quotes\" & 'more' &lt;",
    "عقدة\u202eabc",
    "=1+1",
    "a\u2028b",
    "<a href='javascript:window.HACKED=1'>link</a>",
    "{{script}}",
)
FORMS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
SIZE = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def club(tmp_path_factory):
    path = tmp_path_factory.mktemp("club") / "club.html"
    return st.write_report(KARATE, "club", path, weights=False, title="Karate club")


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(49, 4)), columns=["<b>one", "two", "three", "four"])
    table["two"] = np.arange(49.0)
    table["four"] = np.arange(49.0) % 7
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 7), label_attribute="pos")
    return table, st.write_report(graph, table, tmp_path_factory.mktemp("genes") / "genes.html", hops=2)


def test_the_first_screen_and_its_hops(browser, club):
    found = [one for one in st.diagnose(KARATE, "club", weights=False) if one.statistic == "r"]
    with Page(browser, club) as page:
        assert page.text("#headline") == "club: alike up to 2 hops, unlike at 3 and 4 hops"
        cards = [card.replace("\N{NO-BREAK SPACE}", " ") for card in page.texts(".card")]
        for card, one in zip(cards, found, strict=True):
            assert one.verdict in card
            assert f"r = {one.value:+.2f}".replace("-", "\N{MINUS SIGN}") in card
            assert f"p = {one.p_family:.3f}" in card
        drawn = page.evaluate("() => [...document.querySelectorAll('.card canvas')].map(one => one.drawn)")
        assert drawn == [78, 265, 137, 73, 8]
        same = "c => c.getAttribute('fill') === c.getAttribute('stroke')"
        filled = page.evaluate(f"() => [...document.querySelectorAll('.card circle')].map({same})")
        assert filled == [one.verdict in ("alike", "unlike") for one in found]
        page.open("spectra")
        shares = page.evaluate("() => [...document.querySelectorAll('.stem')].map(one => Number(one.dataset.share))")
        page.tab.focus(".card:nth-child(3)")
        page.tab.keyboard.press("Enter")
        assert page.text("#map-title") == "The signal, and pairs 3 hops apart"
        assert page.evaluate("() => document.getElementById('map').drawn") == 137
        page.tab.wait_for_function("() => document.getElementById('spectrum-hop').value === '2'")
        other = page.evaluate("() => [...document.querySelectorAll('.stem')].map(one => Number(one.dataset.share))")
        assert sum(shares) == pytest.approx(1)
        assert sum(other) == pytest.approx(1)
        assert other != shares
        page.screenshot("club")


def test_nodes_by_keyboard_and_pointer_tables_and_summary(browser, club):
    found = st.local(KARATE, "club", weights=False)
    with Page(browser, club, width=390, height=844) as page:
        wide, high = page.evaluate(SIZE)
        assert wide <= 390
        assert high < 4000
        page.tab.focus("#local")
        page.tab.keyboard.press("ArrowRight")
        page.tab.wait_for_selector("#local-figure .tip:not([hidden])")
        strongest = int(np.argmax(np.abs(found["r"].values[0])))
        assert page.text("#local-figure .tip").startswith(f"{strongest}\nMr. Hi\n16 neighbours\nmore of its own class")
        page.tab.locator("#map").scroll_into_view_if_needed()
        x, y = page.evaluate("() => document.getElementById('map').at(33)")
        page.tab.hover("#map", position={"x": x, "y": y})
        page.tab.wait_for_selector("#maps figure:first-child .tip:not([hidden])")
        assert page.text("#maps .tip").startswith("33\nOfficer")
        page.open("tests")
        page.open("nodes")
        saved = list(csv.reader(io.StringIO(page.saved("#nodes .save").decode())))
        assert len(saved) == 35
        rows = {row[0]: float(row[4]) for row in saved[1:]}
        np.testing.assert_allclose([rows[str(node)] for node in KARATE], found["r"].values[0], rtol=1e-5)
        tests = list(csv.reader(io.StringIO(page.saved("#tests .save").decode())))
        assert len(tests) == 1 + len(st.diagnose(KARATE, "club", weights=False).to_frame())
        page.tab.click("#copy")
        page.tab.wait_for_function("() => document.getElementById('copy').dataset.text")
        copied = page.evaluate("() => document.getElementById('copy').dataset.text").splitlines()
        assert copied[0] == "club: alike up to 2 hops, unlike at 3 and 4 hops"
        assert copied[2].startswith("1 hop apart: alike, r = +0.72, p = 0.002 (chance \N{MINUS SIGN}0.25 to +0.15); ")


def test_a_row_of_the_ranking_shows_its_column(browser, genes):
    table, report = genes
    with Page(browser, report) as page:
        assert page.text("#headline") == "Neighbours are alike in 2 of 4 columns"
        assert page.texts("#columns td:first-child")[:2] == page.texts("#columns button")[:2]
        before = page.text("#cards-title")
        page.tab.get_by_role("button", name="<b>one", exact=True).click()
        page.tab.wait_for_function("() => document.getElementById('cards-title').textContent.startsWith('<b>one')")
        assert page.text("#cards-title") != before
        low, high = np.quantile(table["<b>one"], [0.02, 0.98], method="nearest")
        assert f"{low:.3g}".replace("-", "\N{MINUS SIGN}") in page.text("#legend")  # its own colours
        assert f"{high:.3g}" in page.text("#legend")
        page.tab.keyboard.press("Tab")
        page.screenshot("genes")


def test_squares_show_three_states_and_the_map_speaks_of_single_nodes(browser, tmp_path):
    graph = nx.barabasi_albert_graph(80, 3, seed=2)
    degree, noise = np.array([float(k) for _, k in graph.degree]), np.random.default_rng(0).normal(size=80)
    table = pd.DataFrame({"log": np.log(degree) + noise / 20, "noise": noise})
    found = st.local(graph, table, columns="separate").sel(column="log", hop=1)["verdict"].values.tolist()
    with Page(browser, st.write_report(graph, table, tmp_path / "a.html")) as page:
        style = "getComputedStyle(one)"
        squares = page.evaluate(
            f"() => [...document.querySelectorAll('#columns tbody tr:first-child i')].map(one => [one.className, "
            f"{style}.borderTopColor, {style}.backgroundColor])"
        )
        orange, clear = "rgb(196, 79, 0)", "rgba(0, 0, 0, 0)"
        assert squares[:3] == [["unlike open", orange, clear]] * 3
        assert squares[3][0] == ""
        assert squares[3][1] != orange
        words = "alikeunlike (both beyond chance and degree)beyond chance, but not beyond degreeneither"
        assert words in page.text("#columns-caption")
        assert page.evaluate("() => document.querySelectorAll('#columns-caption i').length") == 5
        caption = page.text("#local-caption")
        assert "within chance" not in caption
        pale = sum(word in ("chance", "not beyond degree") for word in found)
        assert f"Pale ({pale} nodes): not shown beyond chance and degree for this node by itself" in caption
        differ = found.count("not beyond degree")
        assert (f"({differ} of them differ" in caption) == (differ > 1)
        assert "A single node has few pairs" in caption
        # A short table stands above the cards, so that no paper is left blank below it.
        table_box, cards_box = (page.tab.locator(f"#{name}").bounding_box() for name in ("columns", "cards"))
        assert cards_box["y"] > table_box["y"] + table_box["height"]


def test_nodes_of_which_many_differ_from_chance_alone_are_counted(browser, tmp_path):
    given = nx.circular_ladder_graph(20)
    values = np.repeat(np.sin(np.arange(20) / 20 * 2 * np.pi)[None], 2, axis=0).ravel()
    covariate = values + np.random.default_rng(0).normal(size=40) / 20
    report = st.write_report(given, values, tmp_path / "a.html", given=covariate)
    words = st.local(given, values, given=covariate)["verdict"].values.ravel().tolist()
    differ = words.count("not beyond covariates")
    assert differ > 1
    with Page(browser, report) as page:
        assert f"({differ} of them differ from chance, but not beyond covariates)" in page.text("#local-caption")
        assert "beyond chance and covariates" in page.text("#local-caption")


def test_a_phone_shows_verdicts_and_that_a_table_goes_on(browser, genes):
    with Page(browser, genes[1], width=390, height=844) as page:
        for name in ("tests", "nodes"):
            page.open(name)
        for selector in ("#columns", "#tests table", "#nodes table"):
            heads = page.texts(f"{selector} th")
            column = heads.index("verdict") + 1
            for cell in page.tab.query_selector_all(f"{selector} tbody td:nth-child({column})")[:20]:
                box = cell.bounding_box()
                assert box["x"] + box["width"] <= 390, (selector, cell.text_content())
        holder = page.tab.locator("#tests .scroll")
        wide, whole = holder.evaluate("one => [one.clientWidth, one.scrollWidth]")
        assert whole > wide  # or there would be nothing to show

        def edges():
            """The grey of the table's left and right edge, 255 for paper."""
            points = np.array(Image.open(io.BytesIO(holder.screenshot())).convert("L"))
            return [float(np.median(points[4:-4, x])) for x in (1, -2)]

        left, right = edges()
        assert (left > 250, right < 235) == (True, True)
        holder.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
        left, right = edges()
        assert (left < 235, right > 250) == (True, True)


def test_nodes_without_an_edge_are_counted_and_lines_follow_weights(browser, tmp_path):
    graph = nx.disjoint_union(nx.path_graph(4), nx.empty_graph(3))
    nx.set_edge_attributes(graph, {(0, 1): 1.0, (1, 2): 2.0, (2, 3): 4.0}, "weight")
    report = st.write_report(graph, range(7), tmp_path / "a.html", weights=True)
    spy = """() => { const pen = CanvasRenderingContext2D.prototype, own = pen.moveTo; window.WIDTHS = [];
      pen.moveTo = function (...at) { WIDTHS.push(this.lineWidth); own.apply(this, at); }; }"""
    with Page(browser, report) as page:
        assert "3 nodes without an edge are not drawn." in page.text("#map-caption")
        assert "Thicker lines have larger weights." in page.text("#legend")
        page.evaluate(spy)
        page.tab.focus(".card")
        page.tab.keyboard.press("Enter")
        widths = page.evaluate("() => WIDTHS.slice(0, 3)")
        assert widths[0] < widths[1] < widths[2]
        seen = set()
        for _ in range(7):  # the arrow keys pass over what is not drawn
            page.tab.focus("#map")
            page.tab.keyboard.press("ArrowRight")
            page.tab.wait_for_selector("#maps .tip:not([hidden])")
            seen.add(page.text("#maps .tip").split()[0])
        assert seen == {"0", "1", "2", "3"}
    with Page(browser, st.write_report(graph, range(7), tmp_path / "b.html", weights=False)) as page:
        assert "Thicker" not in page.text("#legend")


def test_nasty_names_are_shown_and_run_nothing(browser, tmp_path):
    graph = nx.relabel_nodes(nx.cycle_graph(len(NASTY)), dict(enumerate(NASTY)))
    table = pd.DataFrame({name: np.arange(8.0) ** (k % 3 + 1) for k, name in enumerate(NASTY)}, index=list(NASTY))
    page_file = st.write_report(graph, table, tmp_path / "a.html", title=NASTY[0], command=NASTY[1], hops=1)
    with Page(browser, page_file) as page:
        for name in ("nodes", "made", "tests"):
            page.open(name)
        shown = page.text("body")
        for name in NASTY:
            assert name in shown
        saved = page.saved("#nodes .save").decode()
        assert "'=1+1" in saved  # no spreadsheet runs it
        assert page.evaluate("() => window.HACKED") is None
        assert page.evaluate("() => document.querySelectorAll('img, a, iframe').length") == 0


# The policy of VS Code's notebooks (backLayerWebView.ts, `notebook.experimental.enableCsp`), and a base as there.
WEBVIEW = """<!doctype html><base href="https://example.invalid/notebook/"><meta http-equiv="Content-Security-Policy"
content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src https: http:
data:; font-src https:; connect-src https:; child-src https: data:;"><body class="vscode-dark"><p id="own">cell</p>
<div id="output"></div><script>document.getElementById("output").innerHTML = %s;</script>"""


@pytest.mark.parametrize("host", ["plain page", "strict webview"])
def test_it_shows_itself_in_an_isolated_frame(host, browser, club, tmp_path):
    """A notebook puts what ``_repr_html_`` gives into its own page."""
    shown, cell, outer = club._repr_html_(), tmp_path / "cell.html", tmp_path / "outer.html"
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
    frame.wait_for(state="attached")
    frame = frame.element_handle().owner_frame()
    assert frame.text_content("#headline").startswith("club: ")
    dark = frame.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    assert dark is strict
    reach = "() => { try { return parent.document.getElementById('own').textContent; } catch (e) { return e.name; } }"
    assert frame.evaluate(reach) == "SecurityError"
    frame.click(".card >> nth=1")
    frame.wait_for_function("() => document.getElementById('map-title').textContent.includes('2 hops')")
    frame.click("#tests > summary")
    with tab.expect_download():
        frame.click("#tests .save")
    frame.click("#copy")
    frame.wait_for_function("() => document.getElementById('copy').dataset.text")
    assert [line for line in said if "Clipboard" not in line] == []
    context.close()


@pytest.mark.needs("torch")
def test_the_map_of_a_watched_run(browser, tmp_path):
    """Three modes, a measure over several decades, a control, and layers that can be chosen."""
    import torch

    from spectrata.torch import Recorder

    probe = Recorder(KARATE, hops=1, algorithms="gft", keep=("signal",), weights=False)
    x = torch.randn(34, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    shifts = {"train": 1.0, "eval": 30.0, "control": 1e3}
    for epoch in range(4):
        for mode, shift in shifts.items():
            probe.record({"conv1": x, "conv2": x + shift * (1 + epoch), "head": x + 1.0}, epoch=epoch, mode=mode)
        probe.score(epoch, {"accuracy": 0.1 * epoch})
    rows = probe.table()
    value = {
        mode: rows[rows["mode"] == mode].pivot(index="layer", columns="epoch", values="off_zero_live")
        for mode in shifts
    }
    cells = "() => [...document.querySelectorAll('#run .cell')].map(one => Number(one.dataset.value))"
    with Page(browser, probe.report(tmp_path / "run.html", name="GCN")) as page:
        np.testing.assert_allclose(page.evaluate(cells), value["eval"].to_numpy().ravel(), rtol=1e-5)
        page.tab.select_option("#run-mode", label="training")
        np.testing.assert_allclose(page.evaluate(cells), value["train"].to_numpy().ravel(), rtol=1e-5)
        page.tab.select_option("#run-measure", label="effective rank")
        assert "effective" in page.text("#run-caption")
        page.tab.click("#run .cell >> nth=5")  # conv2 at the second epoch
        page.tab.wait_for_function("() => document.getElementById('choose').selectedOptions[0].text === 'conv2'")
        assert page.text("#run-caption").startswith("conv2, epoch 1: ")
        assert "p =" not in page.text("#cards")
        assert page.evaluate("() => document.querySelectorAll('[data-level]').length") == 1
        assert page.evaluate("() => document.querySelectorAll('[data-score]').length") == 1
        page.screenshot("watched-run")
    inside = """() => { const box = document.querySelector('#run svg').getBoundingClientRect();
        return [...document.querySelectorAll('#run svg text')].every((one) => {
            const own = one.getBoundingClientRect();
            return own.left >= box.left - 1 && own.right <= box.right + 1; }); }"""
    with Page(browser, tmp_path / "run.html", width=390, height=844) as page:
        assert page.evaluate(inside)  # the ends of the colour scale among them


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), FORMS)
def test_all_forms_fit_the_screen(browser, club, genes, tmp_path, width, scheme):
    names = ["a very long name of a column that goes on " * 2, "b" * 90]
    long = pd.DataFrame(np.random.default_rng(0).normal(size=(34, 2)), columns=names)
    pages = [
        club,
        genes[1],
        st.write_report(KARATE, long, tmp_path / "long.html", weights=False, hops=2),
        st.write_report(nx.star_graph(3), range(4), tmp_path / "star.html"),
        st.write_report(nx.path_graph(2), [0, 1], tmp_path / "pair.html"),
        st.write_report(
            KARATE, np.random.default_rng(0).normal(size=(3, 34, 2)), tmp_path / "times.html", weights=False
        ),
    ]
    for report in pages:
        with Page(browser, report, width=width, height=844, color_scheme=scheme) as page:
            wide, high = page.evaluate(SIZE)
            assert wide <= width, report
            assert high < 4000
            for name in ("tests", "spectra", "nodes", "made"):
                page.open(name)
            assert page.evaluate(SIZE)[0] <= width
            paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
            assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")


def test_a_browser_is_not_optional_in_ci(monkeypatch):
    monkeypatch.setitem(os.environ, "CI", "1")
    with pytest.raises(pytest.fail.Exception):
        missing("no Chromium")
