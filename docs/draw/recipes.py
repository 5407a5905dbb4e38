"""Draw the pictures of the recipe pages by running the pages' own code: `python docs/draw/recipes.py`.

A page leaves its pictures in the variable `figure`, one after the other.
`benchmarks/label_spectra.py` draws that of the label spectra.
"""

import os
import re
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1]
# The pictures of a page, in the order of its figures.
PAGES = {"recipes.md": ("recipe_augmented", "recipe_filters"), "nodes.md": ("recipe_nodes",)}


def figures_of(page: Path) -> list:
    """The figures that the code of a page makes, in their order."""
    names: dict = {"__name__": "__main__"}
    found: list = []
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for code in blocks:
            exec(compile(code, str(page), "exec"), names)
            if names.get("figure") is not None and all(names["figure"] is not one for one in found):
                found.append(names["figure"])
        os.chdir(DOCS)
    return found


if __name__ == "__main__":
    for page, pictures in PAGES.items():
        for name, figure in zip(pictures, figures_of(DOCS / page), strict=True):
            figure.savefig(DOCS / "images" / f"{name}.png", dpi=100 if name == "recipe_nodes" else 150)
