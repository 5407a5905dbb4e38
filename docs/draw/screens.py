"""Take the screenshots of the documentation in a real browser: `python docs/draw/screens.py`, after `make docs`.

`report.png` and `report-phone.png` show the first screen of a report, on a desktop and on a phone in the dark scheme;
`site.png` shows the first page of the site on both. It needs playwright and a Chromium (`SPECTRATA_CHROMIUM` names one
that is not on the path).
"""

import os
import shutil
import tempfile
from pathlib import Path

import networkx as nx
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import spectrata as st

DOCS = Path(__file__).parents[1]
IMAGES = DOCS / "images"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Width, height and scheme.
REPORT, REPORT_PHONE = (1280, 1060, "light"), (390, 876, "dark")
SITE, SITE_PHONE = (1280, 844, "light"), (390, 844, "dark")
GAP = 20  # pixels between two screens in one picture


def example(path: Path) -> Path:
    """The page of the club's members."""
    return Path(st.write_report(nx.karate_club_graph(), "club", path, weights=False, title="Karate club"))


def shot(browser: Browser, page: Path, folder: Path, width: int, height: int, scheme: str, ready: str) -> Image.Image:
    """The first screen of a page."""
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    tab.goto(page.as_uri())
    tab.wait_for_selector(ready, state="attached")
    tab.wait_for_timeout(500)
    tab.screenshot(path=folder / "screen.png")
    tab.close()
    return Image.open(folder / "screen.png").convert("RGB")


def beside(left: Image.Image, right: Image.Image) -> Image.Image:
    """Two screens in one picture."""
    both = Image.new("RGB", (left.width + right.width + GAP, max(left.height, right.height)), "white")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + GAP, 0))
    return both


def main() -> None:
    """All screenshots."""
    program = os.environ.get("SPECTRATA_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        report, site = example(folder / "report.html"), DOCS / "_build" / "html" / "index.html"
        for file, screen in {"report.png": REPORT, "report-phone.png": REPORT_PHONE}.items():
            shot(browser, report, folder, *screen, "html[data-ready=yes]").save(IMAGES / file, optimize=True)
        screens = [shot(browser, site, folder, *screen, "article img") for screen in (SITE, SITE_PHONE)]
        beside(*screens).save(IMAGES / "site.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
