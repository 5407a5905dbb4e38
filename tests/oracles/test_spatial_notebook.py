"""The notebook on AnnData runs, and its stored numbers are those of a fresh run."""

import json
from pathlib import Path

import pytest

from outside import outside

squidpy, scanpy = outside("squidpy"), outside("scanpy")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages
NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebooks" / "spatial_genes.ipynb"


def test_the_notebook_prints_what_it_stores(capsys):
    import matplotlib

    matplotlib.use("agg")
    scanpy.settings.autoshow = False
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    names, checked = {}, 0
    for cell in cells:
        capsys.readouterr()
        exec("".join(cell["source"]), names)
        printed = capsys.readouterr().out
        for stored in cell["outputs"]:
            if stored["output_type"] == "stream":
                assert "".join(stored["text"]).strip() in printed
                checked += 1
    assert checked >= 3
    adata = names["adata"]
    found = adata.var.index[adata.var["spectrata_verdict"].isin(["alike", "unlike"])]
    assert set(found) == set(names["planted"])
