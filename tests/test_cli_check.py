"""``spectrata check``: exit codes and findings of a recorded run."""

import json
import sys
import types

import networkx as nx
import pytest
import torch
import xarray as xr
from typer.testing import CliRunner

import spectrata as st
from spectrata.analysis.findings import Finding
from spectrata.cli.app import app
from spectrata.torch import watch
from torch_models import Net, fit, small_data


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.zarr"
    torch.manual_seed(0)
    model, data = Net(), small_data()
    with watch(model, data, hops=1, every=2, evaluate=True, log=path) as w:
        fit(model, data, 3, after=lambda epoch: w.step(epoch=epoch))
    return path


def judged(monkeypatch, level):
    """A stand-in for the levels of the study: layers whose live rows have less than ``level`` off zero."""
    seen = []

    def collapsed(ds):
        seen.append(ds)
        low = [row for row in range(ds.sizes["snapshot"]) if float(ds["off_zero_live"][row]) < level]
        return [Finding("collapsed", f"{ds['layer'].values[row]} has collapsed.", 1, "x", {"v": 1.0}) for row in low]

    module = types.ModuleType("spectrata.analysis.collapse")
    module.collapsed = collapsed
    monkeypatch.setitem(sys.modules, "spectrata.analysis.collapse", module)
    return seen


def test_a_collapsed_layer_fails_and_a_healthy_run_does_not(run, monkeypatch):
    seen = judged(monkeypatch, 2.0)
    found = CliRunner().invoke(app, ["check", str(run), "--fail-on", "collapse"])
    assert found.exit_code == 3
    assert "conv2 has collapsed." in found.output
    assert seen[0].attrs["pass_mode"] == "eval"
    assert seen[0].attrs["snapshot_kind"] == "layers"
    assert seen[0]["snapshot"].values.tolist() == ["input", "conv1", "conv1/hidden", "conv2"]
    told = json.loads(CliRunner().invoke(app, ["check", str(run), "--json"]).output)
    assert told["failed"] is True
    assert len(told["findings"]) == 4
    judged(monkeypatch, -1.0)
    found = CliRunner().invoke(app, ["check", str(run)])
    assert found.exit_code == 0
    assert "no layer" in found.output


def test_what_cannot_be_checked_is_refused(run, tmp_path, monkeypatch):
    judged(monkeypatch, 0.0)
    st.save(st.spectra(nx.path_graph(3), [1.0, 2.0, 3.0]), tmp_path / "plain.nc")
    for arguments in ([str(tmp_path / "plain.nc")], [str(run), "--fail-on", "boredom"]):
        assert CliRunner().invoke(app, ["check", *arguments]).exit_code in (1, 2)


def test_the_log_opens_as_a_result(run):
    assert isinstance(st.open(run), xr.Dataset)
