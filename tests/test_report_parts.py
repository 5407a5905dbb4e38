"""What a page leaves out, and the sentence that says so."""

import os

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import ResultError
from spectrata.report import contents as making
from spectrata.report.layout import drawing
from spectrata.results.schema import view

PATH = nx.path_graph(8)
VALUES = np.random.default_rng(0).normal(size=8)


def contents(result, strat=None, signal=None):
    return making.contents(result, strat, signal, 10)


@pytest.fixture(scope="module")
def weighted():
    graph = nx.path_graph(8)
    for k, (x, y) in enumerate(graph.edges):
        graph[x][y]["weight"] = 1.0 + k
    return graph


def test_a_stratification_with_other_weights_beyond_one_hop_is_refused(weighted):
    ds = st.spectra(st.Stratification(weighted, hops=2, weights=True, hop_weights="bottleneck"), VALUES, "gft")
    other = st.Stratification(weighted, hops=2, weights=True, hop_weights="product")
    with pytest.raises(ResultError, match="has hop_weights='product', and the result has 'bottleneck'"):
        contents(view(ds), other, VALUES)
    same = st.Stratification(weighted, hops=2, weights=True, hop_weights="bottleneck")
    assert contents(view(ds), same, VALUES).strat is same


def test_hops_with_gaps_are_listed_and_others_are_a_range():
    def left_out(hops):
        found = contents(view(st.spectra(st.Stratification(PATH, hops=hops, keep=["signal"]), VALUES, "gft")))
        return next(line for line in found.missing if "the diameter is 7" in line)

    assert left_out([1, 3, 4]).startswith("K = 2, 5, 6, 7: not asked for")
    assert left_out([1, 2]).startswith("K = 3 to 7: not asked for")
    assert left_out([1, 2, 3, 4, 5, 6]).startswith("K = 7: not asked for")


def test_a_large_graph_without_its_stratification_has_spectra_and_says_what_it_lacks(monkeypatch):
    monkeypatch.setattr(making, "REBUILT", 5)
    ds = st.spectra(st.Stratification(PATH, hops=1, keep=["signal"]), VALUES, "gft")
    found = contents(view(ds))
    assert found.strat is None
    assert found.calibrated is None
    assert found.smoothness is None
    assert any("more than 5 nodes, and neither it nor its stratification was given" in line for line in found.missing)
    assert drawing(found).spaces == [[]]
    text = st.write_report(ds).html
    assert "8 nodes, 7 edges, connected" in text  # and no diameter


def test_ensembles_with_weights_of_a_function_are_drawn_and_the_function_is_not_asked_for():
    def given(hop):
        return {"apprx_ls": 1, "in_agg": 1 / hop}

    ds = st.spectra(st.Stratification(PATH, hops=2, keep=["signal"]), VALUES, ["gft", "ens"], ens={"weights": given})
    found = contents(view(ds))
    assert found.calibrated["algorithm"].values.tolist() == ["gft"]
    assert any(line.startswith("Chance for ens: ") for line in found.missing)


def test_a_report_that_was_not_written_has_no_path(tmp_path):
    report = st.write_report(st.spectra(PATH, VALUES, "gft", hops=1))
    with pytest.raises(ResultError, match=r"not written to a file; write it with report\.save\(path\)"):
        os.fspath(report)
    assert os.fspath(report.save(tmp_path / "page.html")) == str(tmp_path / "page.html")
