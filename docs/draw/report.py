"""Make the screenshots of `docs/report.md` in a real browser: `python docs/draw/report.py`.

Needs playwright and a Chromium (`SPECTRATA_CHROMIUM` names one that is not on the path).
"""

import os
import shutil
import tempfile
from pathlib import Path

import networkx as nx
from playwright.sync_api import sync_playwright

import spectrata as st

IMAGES = Path(__file__).parents[1] / "images"
SHOTS = {  # width, height, scheme
    "report.png": (1280, 1010, "light"),
    "report-phone.png": (390, 844, "dark"),
}


def example(path: Path) -> Path:
    """The page of a signal on the characters of Les Misérables: where a layout puts them, from left to right."""
    graph = nx.Graph(nx.les_miserables_graph().edges)
    places = nx.spring_layout(graph, seed=0)
    strat = st.Stratification(graph)
    ds = strat.spectra({name: place[0] for name, place in places.items()})
    names = {"graph_name": "Les Misérables", "signal_name": "character position"}
    report = st.write_report(ds, path, strat, pos=places, **names)
    assert report.path is not None
    return report.path


def shoot(page_file: Path) -> None:
    """The first screen of the page, on a desk and on a phone, in at most 128 colours."""
    from PIL import Image

    found = os.environ.get("SPECTRATA_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name, (width, height, scheme) in SHOTS.items():
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab.goto(page_file.as_uri())
            tab.wait_for_selector("html[data-ready=yes]")
            tab.screenshot(path=IMAGES / name)
            Image.open(IMAGES / name).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(
                IMAGES / name, optimize=True
            )
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        shoot(example(Path(folder) / "report.html"))
