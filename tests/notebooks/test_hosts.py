"""What a cell shows in JupyterLab and in marimo, driven in a real browser: ``make notebooks``."""

import pytest

from browsing import OUTPUT, chromium
from hosts import HOSTS, SECONDS, needs

pytestmark = pytest.mark.needs("playwright", "torch")
TABLES = ("Stratification: 34 nodes", "largest degree", "corrected p", "1 of 1 passes recorded")


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("host", HOSTS)
def test_cells_show_tables_and_the_explorer(host, theme, browser, tmp_path):
    needs(host)
    serve, run, output = HOSTS[host]
    # The scheme of the system is left as it is: a forced one would hide that of the notebook.
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="null", accept_downloads=True)
    context.set_default_timeout(SECONDS * 1000)
    tab, said = context.new_page(), []
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    with serve(tmp_path, theme) as address:
        run(tab, address)
        frame = tab.wait_for_selector("iframe.spectrata-report").content_frame()
        frame.wait_for_selector("html[data-ready=yes]")
        said.clear()  # what the notebook itself said before
        check_explorer(tab, frame, theme)
        OUTPUT.mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=OUTPUT / f"{host}-{theme}.png")
        check_tables(tab, output)
        tab.screenshot(path=OUTPUT / f"{host}-{theme}-tables.png")
        assert said == []
    context.close()


def check_explorer(tab, frame, theme):
    """The controls of the page work inside its frame, which follows the theme and is not cut."""
    dark = frame.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert dark is (theme == "dark")
    assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert frame.evaluate("innerHeight") >= 500
    frame.click(".card >> nth=1")
    frame.wait_for_function("() => document.getElementById('map-title').textContent.includes('2 hops')")
    frame.select_option("#choose", label="0")
    frame.wait_for_function("() => document.getElementById('headline').textContent.includes(', 0: ')")
    frame.evaluate("document.getElementById('map').scrollIntoView({block: 'center'})")
    x, y = frame.evaluate("document.getElementById('map').at(33)")
    frame.hover("#map", position={"x": x, "y": y})
    frame.wait_for_function("() => !document.querySelector('#maps .tip').hidden")
    assert "33" in frame.text_content("#maps .tip")
    frame.click("#tests > summary")
    with tab.expect_download():
        frame.click("#tests .save")


def check_tables(tab, output):
    """Numbers keep their distance, and lists their dots, whatever styles the notebook resets."""
    text = "\n".join(one.text_content() for one in tab.query_selector_all(output))
    for words in TABLES:
        assert words in text
    cell = tab.wait_for_selector(f"{output} td")
    cell.scroll_into_view_if_needed()
    look = cell.evaluate("e => [getComputedStyle(e).textAlign, parseFloat(getComputedStyle(e).paddingRight)]")
    assert look[0] == "right"
    assert look[1] > 2
    dots = tab.evaluate("s => getComputedStyle(document.querySelector(`${s} ul`)).listStyleType", output)
    assert dots == "disc"
