"""The worked examples, at their small size."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.long
FOLDER = Path(__file__).parents[1] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_depth_collapses_a_gcn_and_a_spectral_loss_does_not_let_it(tmp_path, capsys):
    found = {one.name: one for one in example("gcn_depth").main(["--small", "--out", str(tmp_path)])["planted"]}
    assert found["plain 2"].accuracy > 0.9
    assert found["plain 2"].off_zero > 0.3
    assert found["plain 8"].off_zero < 0.05
    assert found["loss 8"].off_zero > 0.25
    lost = {name: "collapsed" in one.findings.kinds for name, one in found.items()}
    assert lost == {"plain 2": False, "plain 8": True, "loss 8": False}
    assert "collapsed" in capsys.readouterr().out
    pages = sorted(path.name for path in tmp_path.glob("*.html"))
    assert pages == ["planted-loss-8.html", "planted-plain-2.html", "planted-plain-8.html"]


def test_a_watched_run_as_a_figure_and_a_report(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    w = example("watched_run").main(["--small", "--depth", "6", "--epochs", "8", "--out", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {f"watched-run.{end}" for end in ("html", "pdf", "png")}
    assert sorted(set(w.snapshots["mode"].values.tolist())) == ["control", "eval", "train"]
    out = capsys.readouterr().out
    assert "8 of 8 passes, evaluations: 8, controls: 8" in out
    assert "convs.4 hidden: training, not judged" in out  # 8 epochs are few
    figure = example("watched_run").figure(w)
    assert len([ax for ax in figure.axes if ax.get_title(loc="left").startswith("(")]) == 4


def test_good_and_bad_seeds(tmp_path, capsys):
    study = example("good_and_bad_seeds").main(["--small", "--out", str(tmp_path)])
    assert study.accuracy[study.good].min() > study.accuracy[~study.good].max()
    assert study.report.stat().st_size > 10_000
    p = study.distinguished["p"].sel(pair="AB-AA", kind="mean").values
    assert np.isfinite(p).all()
    out = capsys.readouterr().out
    assert "good seeds" in out
    assert "good against good" in out
