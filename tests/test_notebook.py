"""What notebooks show of objects: escaped, short, and the report as a page or a file."""

import base64
import gzip
import html
import os
import re

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.errors import ResultError
from spectrata.report import Report

MARIMO_BYTES = 8_000_000  # its default limit of what a cell shows
EVIL = "<script>alert(1)</script>"


def rows(text):
    """Cells of a table; marimo resets the styles of tables, so that each cell brings its own."""
    assert text.count("<t") == text.count("<table>") + text.count("<tr>") + text.count('style="padding')
    return [tuple(re.findall(r"<t[hd] [^>]*>(.*?)</t[hd]>", row)) for row in re.findall("<tr>(.*?)</tr>", text)]


def test_a_stratification_shows_its_hops():
    text = st.Stratification(nx.cycle_graph(6))._repr_html_()
    assert rows(text) == [
        ("K", "edges", "parts", "single nodes"),
        *((k, "6", p, "0") for k, p in [("1", "1"), ("2", "2")]),
        ("3", "3", "3", "0"),
    ]
    long = st.Stratification(nx.path_graph(20))._repr_html_()
    assert "7 more rows are not shown" in long


def test_findings_show_their_table_and_lines():
    values = np.arange(40.0)
    found = st.diagnose(nx.path_graph(40), values, hops=1)
    text = found._repr_html_()
    assert all(html.escape(line) in text for line in found.lines)
    assert text.count("<tr>") == 2


def test_a_report_is_a_page_and_stands_for_its_path(tmp_path):
    ds = st.spectra(nx.cycle_graph(6), [3.0, 1.0, 0.0, 2.0, 1.0, 0.5])
    report = st.write_report(ds, title=EVIL)
    assert isinstance(report, Report)
    assert report.path is None
    with pytest.raises(ResultError, match=r"report\.save\(path\)"):
        os.fspath(report)
    text = report._repr_html_()
    assert "<script" not in text
    assert 'sandbox="allow-scripts allow-downloads"' in text
    packed = re.search('atob\\("(.*?)"\\)', html.unescape(text))[1]
    assert gzip.decompress(base64.b64decode(packed)).decode() == report.html
    assert len(text) < MARIMO_BYTES / 2
    saved = report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report.html
    assert os.fspath(saved) == str(saved) == str(tmp_path / "page.html")


@pytest.mark.needs("torch")
def test_a_watched_model_shows_its_layers():
    import torch

    from spectrata.torch import watch

    model = torch.nn.Linear(2, 3)
    with watch(model, nx.cycle_graph(4), layers=[model], hops=1, mode="train") as w:
        model(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]]))
        w.step(loss=0.5)
    text = w._repr_html_()
    assert "Watch: recorded 1 of 1 passes" in text
    assert "Linear" in text
    assert "Scores: loss" in text
