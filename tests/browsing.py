"""A real Chromium for the tests of the report page, and what they read back from it."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

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

    def __init__(self, browser, path, width=1280, height=900, **context):
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=True, **context
        )
        self.context.set_default_timeout(0)  # a busy machine may take its time
        self.tab = self.context.new_page()
        self.said, self.asked = [], []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(Path(path).resolve().as_uri())
        self.tab.wait_for_selector("html[data-ready=yes]", state="attached")

    def __enter__(self):
        return self

    def __exit__(self, kind, *error):
        self.context.close()
        if kind is None:
            assert self.said == []
            assert [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))] == []

    def evaluate(self, script, argument=None):
        return self.tab.evaluate(script, argument)

    def text(self, selector):
        return self.tab.text_content(selector)

    def texts(self, selector):
        return [one.text_content() for one in self.tab.query_selector_all(selector)]

    def open(self, section):
        """Open a folded section, and wait until it is filled."""
        self.tab.click(f"#{section} > summary")
        filled = "id => document.querySelector(`#${id} :is(td, .stem, p:not(:empty))`)"
        self.tab.wait_for_function(filled, arg=section)

    def screenshot(self, name):
        OUTPUT.mkdir(parents=True, exist_ok=True)
        self.tab.screenshot(path=OUTPUT / f"{name}.png", full_page=True)

    def saved(self, selector):
        with self.tab.expect_download() as waiting:
            self.tab.click(selector)
        return Path(waiting.value.path()).read_bytes()
