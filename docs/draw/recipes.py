"""Draw the pictures of the recipe pages by running the pages' own code: `python docs/draw/recipes.py`.

Every page leaves its picture in the variable `figure`. `benchmarks/label_spectra.py` draws that of the label spectra.
"""

import os
import re
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGES = {
    "recipe_augmented": "recipe_augmented.md",
    "recipe_anomalies": "recipe_anomalies.md",
    "recipe_filters": "recipe_filters.md",
    "recipe_nodes": "nodes.md",
}


def figure_of(page: Path):
    """The figure that the code of a page makes."""
    names: dict = {"__name__": "__main__"}
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for code in blocks:
            exec(compile(code, str(page), "exec"), names)
        os.chdir(DOCS)
    return names["figure"]


if __name__ == "__main__":
    for name, page in PAGES.items():
        figure_of(DOCS / page).savefig(DOCS / "images" / f"{name}.png", dpi=150)
