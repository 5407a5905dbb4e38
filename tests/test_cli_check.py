"""``spectrata check``: exit codes and verdicts of recorded runs, without torch."""

import json
import subprocess
import sys

import networkx as nx
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCN
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
    with watch(model, data, hops=1, log=path, **given) as w:
        fit(model, data, epochs, after=lambda epoch: w.step(epoch=start + epoch))
    return w


def check(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_a_control_of_earlier_weights_is_not_quoted(tmp_path):
    """A log that was continued without a control holds that of the weights before."""
    path, model = tmp_path / "run.zarr", Net()
    recorded(path, 1000.0, model)
    assert "control without messages: too" in " ".join(check(path).output.split())
    w = recorded(path, 0.0, model, start=60, control=None, evaluate=True)
    assert int(w.over_layers().attrs["pass_epoch"]) == 119
    found = check(path)
    assert found.exit_code == 3
    assert "control" not in found.output


def test_a_collapsed_layer_fails_and_a_healthy_run_does_not(tmp_path):
    path = tmp_path / "run.zarr"
    w = recorded(path, 1000.0)
    assert st.diagnose(st.open(path)).kinds == {"collapsed", "not_collapsed"}  # of the last pass
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


def test_a_run_that_is_not_judged_says_so_and_fails_on_request(tmp_path):
    recorded(tmp_path / "short.zarr", 1000.0, epochs=12)
    recorded(tmp_path / "trained.zarr", 1000.0, mode="train", evaluate=False)
    for name, why in (("short", "only 12 epochs, no loss given"), ("trained", "a training pass: use evaluate=10")):
        found = check(tmp_path / f"{name}.zarr")
        assert found.exit_code == 0
        assert f"training, not judged ({why})" in " ".join(found.output.split())
        assert "No layer was judged" in found.output
        assert check(tmp_path / f"{name}.zarr", "--fail-on", "unjudged").exit_code == 3


def test_what_cannot_be_checked_is_refused(tmp_path):
    st.save(st.spectra(nx.path_graph(3), [1.0, 2.0, 3.0]), tmp_path / "plain.nc")
    recorded(tmp_path / "run.zarr", epochs=2)
    for arguments in ([tmp_path / "plain.nc"], [tmp_path / "run.zarr", "--fail-on", "boredom"]):
        assert check(*arguments).exit_code in (1, 2)


def test_a_diverged_run_fails_without_torch(tmp_path):
    """The model diverges after two epochs; the command that judges its log does not import torch."""
    path, model, data = tmp_path / "run.zarr", Net(), small_data()

    def diverge(epoch):
        if epoch == 2:
            model.conv1.lin.weight.data *= torch.inf
        w.step(epoch=epoch)

    with pytest.warns(match="NaN"), watch(model, data, evaluate=5, log=path) as w:
        fit(model, data, 5, after=diverge)
    code = "import sys; from spectrata.cli.app import app\ntry: app()\nfinally: assert 'torch' not in sys.modules"
    found = subprocess.run(
        [sys.executable, "-c", code, "check", str(path)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 3, found.stderr
    assert "conv1: NOT FINITE" in found.stdout


@pytest.mark.parametrize("seed", range(4))
def test_models_that_fit_later_raise_no_alarm_at_epoch_ten(seed):
    """With a loss and without one, whatever the value of the layers; trained on, the model fits its labels."""
    torch.manual_seed(seed)
    data = small_data(seed)
    model = GCN(8, 16, 3, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for given in (True, False):
        with watch(model, data, evaluate=True) as w:
            for epoch in range(10):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(data.x, data.edge_index), data.y)
                loss.backward()
                optimizer.step()
                w.step(epoch=epoch, **({"loss": loss} if given else {}))
        layers = w.over_layers()
        layers["off_zero_live"][:] = 1e-4
        assert {one.kind for one in st.diagnose(layers)} == {"training"}
    fit(model, data, 150)
    assert (model.eval()(data.x, data.edge_index).argmax(dim=1) == data.y).float().mean() > 0.9


def test_passes_that_a_killed_run_left_are_named(tmp_path):
    recorded(tmp_path / "run.zarr", epochs=2)
    (tmp_path / "run.zarr.journal").write_text('{"epoch": 3, "steps": [9]}\n')
    assert "spectrata.torch.recover(" in check(tmp_path / "run.zarr").output
    (tmp_path / "killed.zarr.journal").write_text('{"epoch": 3, "steps": [9]}\n')  # before its log was made
    killed = check(tmp_path / "killed.zarr")
    assert killed.exit_code == 2
    assert "spectrata.torch.recover(" in killed.output
