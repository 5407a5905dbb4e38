"""Take the screenshots of the documentation: `python docs/draw/screens.py`, after `make docs`.

`report.png` is the first screen of the report that the site shows, `site.png` the first page of the site, on a desktop
and on a phone in the dark scheme. It needs playwright and Chromium, as the tests of the report page do.
"""

import os
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

DOCS = Path(__file__).parents[1]
SITE = DOCS / "_build" / "html"
REPORT = "karate-report.html"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def shot(browser: Browser, page: str, file: Path, width: int, height: int, scheme: str = "light") -> Path:
    """One page of the site as a picture."""
    view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    view.goto((SITE / page).as_uri())
    view.wait_for_timeout(1500)  # the pictures of a report appear one after the other
    view.screenshot(path=file)
    view.close()
    return file


def beside(left: Path, right: Path, file: Path) -> None:
    """Two pictures side by side, the second in place of the first's empty margin."""
    first, second = Image.open(left).convert("RGB"), Image.open(right).convert("RGB")
    both = Image.new("RGB", (first.width + second.width + 20, max(first.height, second.height)), "white")
    both.paste(first, (0, 0))
    both.paste(second, (first.width + 20, 0))
    both.save(file, optimize=True)
    left.unlink()
    right.unlink()


def main() -> None:
    """All screenshots."""
    program = os.environ.get("SPECTRATA_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)))
    images = DOCS / "images"
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shot(browser, REPORT, images / "report.png", 1100, 820)
        desktop = shot(browser, "index.html", images / "desktop.png", 1100, 844)
        phone = shot(browser, "index.html", images / "phone.png", 390, 844, "dark")
        beside(desktop, phone, images / "site.png")
        browser.close()


if __name__ == "__main__":
    main()
