"""Results in a real AnnData: the page's example runs and prints what it shows, and the file can be written and read."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spectrata as st
from outside import outside
from spectrata.errors import GraphTypeError, SpectrataWarning

anndata, scanpy = outside("anndata"), outside("scanpy")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages
PAGE = Path(__file__).parents[2] / "docs" / "maps.md"


def tissue():
    rng = np.random.default_rng(0)
    where = np.column_stack(np.divmod(np.arange(144), 12)).astype(float)
    rate = rng.uniform(0.5, 1.5, size=(144, 1)) * np.column_stack([4 + where[:, 0], *[np.full(144, 6.0)] * 4])
    genes, cells = (
        pd.Index([f"{word}{i}" for i in range(n)], dtype=object) for word, n in (("Gene", 5), ("spot", 144))
    )
    counts = rng.poisson(rate).astype(np.float32)
    adata = anndata.AnnData(counts, obs=pd.DataFrame(index=cells), var=pd.DataFrame(index=genes))
    adata.obsm["spatial"], adata.obs["total_counts"] = where, counts.sum(axis=1)
    return adata


def test_the_example_of_the_page_prints_what_it_shows(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    first = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    code, shown = re.search(r"```python\n(import anndata\n.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()
    names = {"st": st}
    exec(first, names)
    capsys.readouterr()
    exec(code, names)
    assert capsys.readouterr().out == shown
    assert names["adata"].obs["spectrata_verdict"].notna().all()


def test_results_can_be_written_and_read(tmp_path):
    adata = tissue()
    scanpy.pp.neighbors(adata, use_rep="spatial", n_neighbors=5)
    given = ["degree", "total_counts"]
    st.rank_columns(adata, weights=False, given=given, draws=199, write=True)
    st.agree(adata, "X", "Gene0", weights=False, given=given, draws=199, write=True)
    st.local(adata, "Gene0", weights=False, given=given, draws=199, write=True)
    st.correlogram(adata, "Gene0", hops=2, weights=False, draws=199, write=True)
    adata.write_h5ad(tmp_path / "tissue.h5ad")
    again = anndata.read_h5ad(tmp_path / "tissue.h5ad")
    assert again.var["spectrata_verdict"].tolist() == adata.var["spectrata_verdict"].tolist()
    assert again.uns["spectrata_rank_columns"]["arguments"]["given"] == "degree, total_counts"
    assert {"Gene0"} < set(again.uns["spectrata_rank_columns"]["table"]["column"])
    assert again.obs["spectrata_r"].sum() == pytest.approx(adata.var.loc["Gene0", "spectrata_r"])


def test_a_graph_of_expression_is_told_from_one_of_positions():
    adata = tissue()
    with pytest.raises(GraphTypeError, match=r"scanpy\.pp\.neighbors\(adata, use_rep='spatial'\)"):
        st.rank_columns(adata)
    scanpy.pp.neighbors(adata, n_neighbors=5)
    with pytest.warns(SpectrataWarning, match="alike on it by construction; scanpy.pp.neighbors"):
        st.rank_columns(adata, weights=False, draws=99)


def test_rows_of_another_order():
    adata = tissue()
    strat = st.Stratification.from_positions(adata, bins=[0, 1, 2])
    given = ["degree", "total_counts"]
    mixed = adata[np.random.default_rng(1).permutation(144)].copy()
    one, other = (st.rank_columns(strat, data, given=given, draws=199) for data in (adata, mixed))
    pd.testing.assert_frame_equal(one, other)
