"""A real Chromium for the tests of the report page, and what they read back from it."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

OUTPUT = Path(__file__).parents[1] / "test-output" / "report"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing(message):
    """Nothing may be skipped in CI."""
    pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)


@contextmanager
def chromium():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    found = os.environ.get("SPECTRATA_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        missing("no Chromium was found; install it, or set SPECTRATA_CHROMIUM to its path")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=[*FLAGS, "--disable-sync", "--no-first-run"])
        yield browser
        browser.close()


class Page:
    """An open report that remembers whatever it complained about or asked for."""

    def __init__(self, browser, path, width=1360, height=900, **context):
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=True, **context
        )
        self.tab = self.context.new_page()
        self.said, self.asked = [], []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        clock = self.context.new_cdp_session(self.tab)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.tab.goto(Path(path).resolve().as_uri())
        self.tab.wait_for_selector("html[data-ready=yes]")
        self.seconds = self.evaluate("() => performance.now() / 1000")
        # What the page itself worked; on a busy machine the clock on the wall measures the others.
        metrics = clock.send("Performance.getMetrics")["metrics"]
        self.work_seconds = next(one["value"] for one in metrics if one["name"] == "ThreadTime")

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        self.context.close()
        if kind is None:
            assert self.said == []
            assert [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))] == []

    def evaluate(self, script, argument=None):
        return self.tab.evaluate(script, argument)

    def settle(self):
        """Wait until what an event asked for has been drawn."""
        self.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def traces(self, figure, meta=None):
        """Data of a figure as Plotly holds it: x, y and the markers' colours."""
        found = self.evaluate(
            """([id, meta]) => document.getElementById(id).data.filter(t => !meta || t.meta === meta).map(t => ({
                 x: t.x && Array.from(t.x), y: t.y && Array.from(t.y), z: t.z && t.z.map(r => Array.from(r)),
                 color: t.marker && t.marker.color && t.marker.color.length && typeof t.marker.color !== 'string' ?
                     Array.from(t.marker.color) : null, axis: t.xaxis || 'x'}))""",
            [figure, meta],
        )
        for one in found:
            for name in ("x", "y", "color"):
                if one[name] is not None and not any(isinstance(v, str) for v in one[name]):
                    one[name] = np.array([np.nan if v is None else v for v in one[name]], dtype=float)
        return found

    def node(self, figure, index, panel=0):
        """Where on the screen a node is drawn."""
        self.evaluate("id => document.getElementById(id).scrollIntoView({block: 'center'})", figure)
        self.settle()
        return self.evaluate(
            """([id, i, panel]) => { const host = document.getElementById(id), box = host.getBoundingClientRect();
                 const [x, y] = host.placeOf(i, panel); return [box.left + x, box.top + y]; }""",
            [figure, index, panel],
        )

    def hover_node(self, figure, index):
        x, y = self.node(figure, index)
        self.tab.mouse.move(x, y)
        self.settle()
        return self.tab.text_content(f"#{figure} .tip")

    def point(self, figure, curve, index):
        """Where on the screen a point of a trace is drawn."""
        self.evaluate("id => document.getElementById(id).scrollIntoView({block: 'center'})", figure)
        self.settle()
        return self.evaluate(
            """([id, meta, k, i]) => {
                 const gd = document.getElementById(id), t = gd.data.filter(t => !meta || t.meta === meta)[k];
                 const name = a => a[0] + 'axis' + a.slice(1);
                 const xa = gd._fullLayout[name(t.xaxis || 'x')], ya = gd._fullLayout[name(t.yaxis || 'y')];
                 const box = gd.getBoundingClientRect();
                 return [box.left + xa._offset + xa.d2p(t.x[i]), box.top + ya._offset + ya.d2p(t.y[i])]; }""",
            [figure, curve[0], curve[1], index],
        )

    def click_point(self, figure, curve, index):
        self.hover_point(figure, curve, index)  # Plotly hovers before it clicks
        self.tab.mouse.down()
        self.tab.mouse.up()
        self.settle()

    def hover_point(self, figure, curve, index):
        x, y = self.point(figure, curve, index)
        self.tab.mouse.move(1, 1)
        self.tab.wait_for_function(f"() => !document.querySelector('#{figure} .hoverlayer .hovertext')")
        self.tab.mouse.move(x, y)
        self.tab.wait_for_selector(f"#{figure} .hoverlayer .hovertext")
        return self.tab.text_content(f"#{figure} .hoverlayer")

    def under_buttons(self):
        """What Plotly's buttons lie on, of the plots that are shown: plot areas, colour bars, legends, texts."""
        return self.evaluate(
            """() => [...document.querySelectorAll('.js-plotly-plot')].filter(one => one.offsetParent).flatMap(plot => {
                 const bar = plot.querySelector('.modebar').getBoundingClientRect();
                 const over = (a, b) => a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
                 return [...plot.querySelectorAll('.main-svg :is(text, .colorbar, .legend, .nsewdrag)')]
                   .filter(part => over(part.getBoundingClientRect(), bar))
                   .map(part => `${plot.id}: ${part.textContent || part.getAttribute('class')}`); })"""
        )

    def screenshot(self, name):
        OUTPUT.mkdir(parents=True, exist_ok=True)
        self.tab.screenshot(path=OUTPUT / f"{name}.png", full_page=True)
        return OUTPUT / f"{name}.png"

    def text(self, selector):
        return self.tab.text_content(selector)

    def saved(self, selector):
        with self.tab.expect_download() as waiting:
            self.tab.click(selector)
        return Path(waiting.value.path()).read_bytes()
