"""``spectrata check``: exit codes and verdicts of recorded runs, without torch."""

import json

import networkx as nx
import torch
from typer.testing import CliRunner

import spectrata as st
from spectrata.cli.app import app
from spectrata.torch import watch
from torch_models import Net, fit, small_data


def recorded(path, common=0.0, model=None, start=0, epochs=60, **given):
    """A run; with a large bias the outputs of all nodes have one direction."""
    torch.manual_seed(0)
    model, data = model or Net(), small_data()
    model.conv2.bias.data += common
    with watch(model, data, hops=1, every=20, log=path, **({"control": "no_messages"} | given)) as w:
        fit(model, data, epochs, after=lambda epoch: w.step(epoch=start + epoch))
    return w


def check(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_a_control_of_earlier_weights_is_not_quoted(tmp_path):
    """A log that was continued without a control holds that of the weights before."""
    path, model = tmp_path / "run.zarr", Net()
    recorded(path, 1000.0, model)
    assert "control without messages: too" in check(path).output
    w = recorded(path, 0.0, model, start=60, control=None, evaluate=True)
    assert int(w.over_layers().attrs["pass_epoch"]) == 119
    found = check(path)
    assert found.exit_code == 3
    assert "control" not in found.output


def test_a_collapsed_layer_fails_and_a_healthy_run_does_not(tmp_path):
    path = tmp_path / "run.zarr"
    w = recorded(path, 1000.0)
    assert '"spectrata check LOG" judges the last' in str(st.diagnose(st.open(path)))  # a log has all passes
    found = check(path, "--fail-on", "collapse")
    assert found.exit_code == 3
    assert "conv2 (outputs): COLLAPSED" in found.output
    st.save(w.over_layers(), tmp_path / "layers.nc")
    assert check(tmp_path / "layers.nc").output == found.output
    told = json.loads(check(path, "--json").output)
    assert told["failed"] is True
    assert [one["kind"] for one in told["findings"]] == ["not_collapsed", "collapsed"]
    recorded(tmp_path / "healthy.zarr")
    found = check(tmp_path / "healthy.zarr")
    assert found.exit_code == 0
    assert "conv2 (outputs): not collapsed" in found.output


def test_what_cannot_be_checked_is_refused(tmp_path):
    st.save(st.spectra(nx.path_graph(3), [1.0, 2.0, 3.0]), tmp_path / "plain.nc")
    recorded(tmp_path / "run.zarr", epochs=2)
    for arguments in ([tmp_path / "plain.nc"], [tmp_path / "run.zarr", "--fail-on", "boredom"]):
        assert check(*arguments).exit_code in (1, 2)
