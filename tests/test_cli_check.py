"""``spectrata check``: exit codes and findings of a recorded run."""

import json

import networkx as nx
import torch
from typer.testing import CliRunner

import spectrata as st
from spectrata.cli.app import app
from spectrata.stats.collapse import above_levels, collapsed, levels
from spectrata.torch import watch
from torch_models import Net, fit, small_data


def recorded(path, common, model=None, start=0, **given):
    """A short run; with a large bias the outputs of all nodes have one direction."""
    torch.manual_seed(0)
    model, data = model or Net(), small_data()
    model.conv2.bias.data += common
    with watch(model, data, hops=1, every=2, log=path, **({"control": "no_messages"} | given)) as w:
        fit(model, data, 3, after=lambda epoch: w.step(epoch=start + epoch))
    return w


def test_a_control_of_earlier_weights_is_not_quoted(tmp_path):
    """A log that was continued without a control holds that of the weights before."""
    path, model = tmp_path / "run.zarr", Net()
    recorded(path, 1000.0, model)
    w = recorded(path, 0.0, model, start=3, control=None, evaluate=True)
    assert int(w.over_layers().attrs["pass_epoch"]) == 5
    found = CliRunner().invoke(app, ["check", str(path)])
    assert found.exit_code == 3
    assert "With the same weights" not in found.output
    assert "This alone does not show that message passing is the cause" in found.output


def test_a_collapsed_layer_fails_and_a_healthy_run_does_not(tmp_path):
    path = tmp_path / "run.zarr"
    w = recorded(path, 1000.0)
    assert '"spectrata check LOG" judges the last' in str(st.diagnose(st.open(path)))  # a log has all passes
    assert float(w.over_layers()["off_zero_live"][-1]) < levels()["outputs"]["level"]
    found = CliRunner().invoke(app, ["check", str(path), "--fail-on", "collapse"])
    assert found.exit_code == 3
    want = [one.text for one in collapsed(w.over_layers(), w.over_layers(mode="control"))]
    assert want
    assert all(text in found.output for text in want)
    told = json.loads(CliRunner().invoke(app, ["check", str(path), "--json"]).output)
    assert told["failed"] is True
    assert [one["text"] for one in told["findings"]] == want
    path = tmp_path / "healthy.zarr"
    w = recorded(path, 0.0)
    judged = collapsed(w.over_layers())
    found = CliRunner().invoke(app, ["check", str(path)])
    assert found.exit_code == 0
    assert not judged
    assert all(text in found.output for text in above_levels(w.over_layers()))
    assert "does not show that the model is healthy" in found.output


def test_what_cannot_be_checked_is_refused(tmp_path):
    st.save(st.spectra(nx.path_graph(3), [1.0, 2.0, 3.0]), tmp_path / "plain.nc")
    recorded(tmp_path / "run.zarr", 0.0)
    for arguments in ([str(tmp_path / "plain.nc")], [str(tmp_path / "run.zarr"), "--fail-on", "boredom"]):
        assert CliRunner().invoke(app, ["check", *arguments]).exit_code in (1, 2)
