"""Writers, the append-only log, and what a kill leaves behind."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import spectrata as st
import spectrata.torch
from spectrata.errors import OptionError, ResultError, SpectrataWarning
from spectrata.stats.findings.collapse import scores_of, verdicts
from spectrata.stats.findings.watched import layers_of
from spectrata.torch import Recorder, ZarrLog, recover, watch
from torch_models import Net, fit, small_data

SPECTRA = {"algorithms": ("gft", "adj_diff"), "hops": 2}


def run(log, epochs, seed=0, start=0, **arguments):
    """A short watched run; gives the watch."""
    torch.manual_seed(seed)
    model, data = Net(), small_data()
    with watch(model, data, log=log, states=(), mode="train", **arguments) as w:
        fit(model, data, epochs, before=lambda epoch: w.step(epoch=start + epoch))
    return w


@pytest.mark.parametrize("everything", [False, True])
def test_tensorboard_reads_its_own_tags_back(tmp_path, everything):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    writer = spectrata.torch.TensorBoardWriter(tmp_path / "board", everything)
    w = run(writer, 6, every=2, **SPECTRA)
    events = EventAccumulator(str(tmp_path / "board"), size_guidance={"scalars": 0}).Reload()
    tags = set(events.Tags()["scalars"])
    three = {f"{layer}/{name}" for layer in ("conv1", "conv2") for name in ("off_zero_live", "r", "effective_rank")}
    assert tags >= three | {"conv2/K=2/gft_highest", "conv1/norm"} if everything else tags == three
    found = events.Scalars("conv1/off_zero_live")
    assert [event.step for event in found] == [0, 2, 4]
    want = w.dataset["off_zero_live"].sel(layer="conv1").values
    np.testing.assert_allclose([event.value for event in found], want, rtol=1e-6)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_tables_grow_and_read_back(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    w = run(path, 5, flush_every=2)
    found = pd.read_csv(path) if suffix == "csv" else pd.read_json(path, lines=True)
    want = w.table()
    assert list(found.columns) == list(want.columns)
    np.testing.assert_allclose(found["off_zero_live"], want["off_zero_live"], rtol=1e-9)
    with path.open("a") as file:
        file.write("half a li")  # of a killed run
    run(path, 2)
    assert len(path.read_text().splitlines()) == len(want) * 7 // 5 + (suffix == "csv")
    if suffix == "jsonl":
        assert all(json.loads(line)["layer"].startswith("conv") for line in path.read_text().splitlines())
    else:
        with pytest.raises(ResultError, match="other columns"):
            run(path, 1, **SPECTRA)


@pytest.mark.parametrize("arguments", [{}, SPECTRA | {"flush_every": 2}])
def test_the_log_is_a_result_and_grows(tmp_path, arguments):
    path = tmp_path / "run.zarr"
    w = run(path, 7, **arguments)
    found = st.open(path)
    xr.testing.assert_allclose(found["off_zero_live"], w.snapshots["off_zero_live"])
    for name in ("layer", "epoch", "snapshot"):
        assert found[name].values.tolist() == w.snapshots[name].values.tolist()
    assert found.attrs == w.snapshots.attrs
    if arguments:
        for name in ("is_zero", "complete", "component", "eigenvalue", "made_with", "magnitude"):
            np.testing.assert_array_equal(found[name], w.snapshots[name])
    assert not Path(f"{path}.journal").exists()


def test_a_resumed_run_continues_the_log(tmp_path):
    path = tmp_path / "run.zarr"
    run(path, 3, **SPECTRA)
    w = run(path, 2, seed=1, start=3, **SPECTRA)
    assert w.dataset["epoch"].values.tolist() == [0, 1, 2, 3, 4]
    assert st.open(path)["step"].values.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    for other in ({"hops": 1}, {"adj_diff": {"scaling": "program"}}, {"algorithms": None}):
        with pytest.raises(ResultError, match="another hops or options"):
            run(path, 1, **SPECTRA | other)


def trained(path, epochs, start=0, **scores):
    torch.manual_seed(0)
    model, data = Net(), small_data()
    with watch(model, data, log=path, evaluate=10) as w:
        fit(model, data, epochs, after=lambda epoch: w.step(epoch=start + epoch, **scores))
    return w


def test_verdicts_of_a_log_that_starts_again_are_those_of_its_last_run(tmp_path):
    """Its epochs begin anew: evaluations and scores of the run before do not count. A continued run says nothing."""
    path = tmp_path / "run.zarr"
    trained(path, 60, loss=9.0)
    continued = trained(path, 60, start=60, loss=9.0)
    assert [one.evaluations for one in verdicts(continued.over_layers())[0]] == [5, 5]
    with pytest.warns(SpectrataWarning, match="holds an earlier run up to epoch 119"):
        again = trained(path, 40, train_acc=0.5)
    for layers in (again.over_layers(), layers_of(again.dataset), layers_of(st.open(path))):
        assert [one.evaluations for one in verdicts(layers)[0]] == [2, 2]  # at 30 and 40: the second half of this run
        assert list(scores_of(layers)) == ["train_acc"]
    assert len(again.scores) == 40
    with pytest.warns(SpectrataWarning, match="earlier run"), watch(Net(), small_data(), log=path) as w:
        w.listener.model(small_data().x, small_data().edge_index)
    assert w.over_layers().sizes["evaluation"] == 1


def test_a_killed_run_that_started_again_is_recovered_alone(tmp_path):
    path = tmp_path / "run.zarr"
    trained(path, 20, loss=9.0)
    model, data = Net(), small_data()
    left = watch(model, data, log=path, evaluate=5)
    left.start()
    with pytest.warns(SpectrataWarning, match="earlier run"):
        fit(model, data, 10, after=lambda epoch: left.step(epoch=epoch, train_acc=0.5))
    left.listener.detach()
    left.log.close()
    recover(path)
    layers = layers_of(st.open(path))
    assert list(scores_of(layers)) == ["train_acc"]
    assert layers.sizes["evaluation"] == 1  # the other one is in the first half of the run


def test_labels_that_come_late_reach_the_log(tmp_path):
    path = tmp_path / "run.zarr"
    model, data = Net(), small_data()
    with watch(model, data, log=path, flush_every=1, states=(), mode="train") as w:
        fit(model, data, 3, after=lambda epoch: w.step(epoch=epoch + 100))
        assert w.dataset["epoch"].values.tolist() == [100, 101, 102]
    found = st.open(path)
    assert found["epoch"].values.tolist() == [100, 100, 101, 101, 102, 102]
    assert found["snapshot"].values[-1] == "conv2, epoch 102"


def test_readers_see_whole_batches_alone(tmp_path, monkeypatch):
    """A failure between writing the arrays and the metadata leaves the old rows; the next run overwrites the rest."""
    path = tmp_path / "run.zarr"
    run(path, 3, **SPECTRA)
    before = st.open(path)

    def fail(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("zarr.consolidate_metadata", fail)
    recorder = Recorder(small_data(), writers=[ZarrLog(path)], **SPECTRA)
    with pytest.raises(KeyboardInterrupt):
        recorder.record({"conv1": torch.randn(30, 4), "conv2": torch.randn(30, 4)}, step=50)
    recorder.log.close()
    monkeypatch.undo()
    xr.testing.assert_identical(st.open(path), before)
    run(path, 1, seed=2, start=3, **SPECTRA)
    after = st.open(path)
    assert after["step"].values.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(after["magnitude"].values[:, :6], before["magnitude"].values)
    assert np.isfinite(after["magnitude"].values).all()


def test_a_recovered_run_is_judged_as_one_that_ended(tmp_path):
    """The same run twice, left open and ended: verdicts, epochs and what the data say are the same."""
    data, found = small_data(), []
    for killed in (True, False):
        torch.manual_seed(0)
        model, path = Net(), tmp_path / f"{killed}.zarr"
        w = watch(model, data, evaluate=10, control="no_messages", log=path)
        w.start()
        fit(model, data, 60, after=lambda epoch, w=w: w.step(epoch, loss=1 / (epoch + 1), train_acc=0.5))
        if killed:
            w.listener.detach()
            w.log.close()
            found.append(recover(path))
        else:
            w.stop()
            found.append(st.open(path))
    assert str(st.diagnose(found[0])) == str(st.diagnose(found[1]))
    assert found[0].attrs == found[1].attrs
    assert found[0].attrs["epochs"] == 60


@pytest.mark.parametrize("line", ["{", "[]", "5", "[" * 5000, "\\", "", '{"rows": [{}, 5]}', '{"steps": [0]}'])
def test_a_damaged_journal_is_left_out(tmp_path, line):
    path = tmp_path / "run.zarr"
    run(path, 2)
    Path(f"{path}.journal").write_text(line + "\n")
    assert recover(path).sizes["snapshot"] == 4


def test_recover_says_what_is_missing(tmp_path):
    with pytest.raises(ResultError, match="does not exist"):
        recover(tmp_path / "none.zarr")
    with pytest.raises(ResultError, match="zarr"):
        ZarrLog(tmp_path / "log.nc")
    with pytest.raises(OptionError):
        spectrata.torch.TableWriter(tmp_path / "log.txt")
