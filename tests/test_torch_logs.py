"""Writers, the append-only log, and what a kill leaves behind."""

import json
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import spectrata as st
import spectrata.torch
from spectrata.errors import OptionError, ResultError, SpectrataError, SpectrataWarning
from spectrata.torch import SpectrumProbe, ZarrLog, recover, watch
from spectrata.torch.buffer import CopyBuffer, Snapshot, read_snapshot, write_snapshot
from torch_models import Net, fit, small_data
from torch_plain import EDGES, PlainNet, fit_plain

PROBE = {"hops": 2, "dtype": "float64"}
ARGUMENTS = PROBE | {"states": ()}


def run(log, epochs, seed=0, **arguments):
    """A short watched run; gives the watch."""
    torch.manual_seed(seed)
    model, data = Net(), small_data()
    with watch(model, data, log=log, **(ARGUMENTS | arguments)) as w:
        fit(model, data, epochs, before=lambda epoch: w.step(epoch=epoch))
    return w


def run_plain(log, epochs):
    """The run of ``KILLED``, in this process and to its end."""
    torch.manual_seed(0)
    model = PlainNet()
    with watch(model, EDGES, log=log, measures=False, **ARGUMENTS) as w:
        fit_plain(model, epochs)
    return w


def test_tensorboard_reads_its_own_tags_back(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    w = run(tmp_path / "board", 6, every=2)
    events = EventAccumulator(str(tmp_path / "board"), size_guidance={"scalars": 0, "images": 0}).Reload()
    tags = events.Tags()
    for tag in (
        "conv1/K=1/off_zero",
        "conv2/K=2/gft_band_4",
        "conv1/K=1/adj_diff_band_1",
        "conv1/dirichlet",
        "conv2/mad",
    ):
        assert tag in tags["scalars"]
    assert "conv1/hops_by_frequency" in tags["images"]
    found = events.Scalars("conv1/K=1/off_zero")
    assert [event.step for event in found] == [0, 2, 4]
    want = w.dataset["off_zero"].sel(layer="conv1", hop=1).values
    np.testing.assert_allclose([event.value for event in found], want, rtol=1e-6)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_tables_grow_and_read_back(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    w = run(path, 5, flush_every=2)
    found = pd.read_csv(path) if suffix == "csv" else pd.read_json(path, lines=True)
    want = w.table()
    assert list(found.columns) == list(want.columns)
    np.testing.assert_allclose(found["off_zero"], want["off_zero"], rtol=1e-9)
    run(path, 2)
    assert len(path.read_text().splitlines()) == len(want) * 7 // 5 + (suffix == "csv")
    if suffix == "jsonl":
        assert all(json.loads(line)["layer"].startswith("conv") for line in path.read_text().splitlines())
    else:
        with pytest.raises(ResultError, match="other columns"):
            run(path, 1, bands=2)


def test_the_log_is_a_result_and_grows(tmp_path):
    path = tmp_path / "run.zarr"
    w = run(path, 7, flush_every=2)
    found = st.open(path)
    xr.testing.assert_allclose(found["magnitude"], w.snapshots["magnitude"])
    assert found["layer"].values.tolist() == w.snapshots["layer"].values.tolist()
    assert found["epoch"].values.tolist() == w.snapshots["epoch"].values.tolist()
    assert found.attrs == w.snapshots.attrs
    for name in ("is_zero", "complete", "component", "eigenvalue", "made_with"):
        np.testing.assert_array_equal(found[name], w.snapshots[name])
    assert st.off_zero(found).notnull().all()
    assert not Path(f"{path}.copies").exists()


def test_a_resumed_run_continues_the_log(tmp_path):
    path = tmp_path / "run.zarr"
    run(path, 3)
    w = run(path, 2, seed=1)
    assert w.dataset["step"].values.tolist() == [0, 1, 2, 3, 4]
    assert st.open(path)["step"].values.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    for other in ({"hops": 1}, {"adj_diff": {"scaling": "program"}}, {"laplacian": "random_walk"}):
        with pytest.raises(ResultError, match="another run"):
            run(path, 1, **{"hops": 2} | other)


def test_labels_that_come_late_reach_the_log(tmp_path):
    path = tmp_path / "run.zarr"
    model, data = Net(), small_data()
    with watch(model, data, log=path, flush_every=1, **ARGUMENTS) as w:
        fit(model, data, 3, after=lambda epoch: w.step(epoch=epoch + 100))
    found = st.open(path)
    assert found["epoch"].values.tolist() == [100, 100, 101, 101, 102, 102]
    assert found["snapshot"].values[-1] == "conv2, epoch 102"


def test_readers_see_whole_batches_alone(tmp_path, monkeypatch):
    """A failure between writing the arrays and the commit leaves the old rows, and the next run overwrites the rest."""
    path = tmp_path / "run.zarr"
    run(path, 3)
    before = st.open(path)

    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("spectrata.torch.zarr_log._write_text", fail)
    probe = SpectrumProbe(small_data(), writers=[ZarrLog(path)], **PROBE)
    probe.record({"conv1": torch.randn(30, 4), "conv2": torch.randn(30, 4)}, step=50)
    with pytest.raises(KeyboardInterrupt):
        probe.flush()
    probe.writers[0].close()
    xr.testing.assert_identical(st.open(path), before)
    monkeypatch.undo()
    run(path, 1, seed=2)
    after = st.open(path)
    assert after["step"].values.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(after["magnitude"].values[:, :6], before["magnitude"].values)
    assert np.isfinite(after["magnitude"].values).all()


KILLED = textwrap.dedent(
    """
    import sys
    sys.path.insert(0, sys.argv[2])
    import torch
    from spectrata.torch import watch
    from torch_plain import EDGES, PlainNet, fit_plain

    def after(epoch):
        print(epoch, flush=True)
        if epoch == 25:
            sys.stdin.read()  # wait here to be killed

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = PlainNet()
    arguments = {"hops": 2, "dtype": "float64", "states": (), "measures": False, "flush_every": int(sys.argv[3])}
    with watch(model, EDGES, log=sys.argv[1], **arguments):
        fit_plain(model, 1000, after)
    """
)


@pytest.mark.parametrize("flush_every", [10, 1000])
def test_a_kill_loses_at_most_the_last_snapshot(tmp_path, flush_every):
    path = tmp_path / "run.zarr"
    arguments = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent), str(flush_every)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        seen = -1
        while seen < 25:
            line = process.stdout.readline()
            assert line, "the run ended early"
            seen = int(line)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL
    if flush_every == 10:  # what was transformed is readable as it is
        assert sorted(set(st.open(path)["step"].values.tolist())) == list(range(20))
    copies = sorted(Path(f"{path}.copies").glob("*.npz"))
    assert [int(copy.stem) for copy in copies] == list(range(20 if flush_every == 10 else 0, 26))
    assert read_snapshot(copies[-1], 24).layers["first"].shape == (24, 16)
    found = recover(path)
    assert sorted(set(found["step"].values.tolist())) == list(range(26))
    assert not Path(f"{path}.copies").exists()
    # The same run, never killed, has the same numbers.
    whole = run_plain(None, 26)
    np.testing.assert_allclose(found["magnitude"].values, whole.snapshots["magnitude"].values, rtol=1e-9, atol=1e-12)


def test_recovered_rows_have_the_weights_of_the_graph(tmp_path):
    """A run that ended before its copies were transformed, on a weighted graph."""
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(EDGES))
    strat = st.Stratification(edges=EDGES, n_nodes=24, hops=2, weights=weights, hop_weights="product")
    log = ZarrLog(tmp_path / "run.zarr")
    probe = SpectrumProbe(strat, folder=log.copies, measures=False)
    log.prepare(probe.settings_json())
    x = torch.randn(24, 3, dtype=torch.float64)
    probe.record({"layer": x})
    log.close()
    found = recover(log.path)
    want = strat.spectra(x.numpy(), ("gft", "adj_diff"))
    np.testing.assert_allclose(found["magnitude"].values[:, 0], want["magnitude"].values, rtol=1e-9)
    assert found["made_with"].item() == want["made_with"].item()
    with pytest.raises(OptionError, match="edge weights"):
        SpectrumProbe(strat, algorithms="ln_vx")
    with pytest.raises(ResultError, match="another run"):
        SpectrumProbe(st.Stratification(strat.graph, hops=2, hop_weights="unit")).resume(log)


def test_a_kill_at_any_moment_leaves_a_readable_log(tmp_path):
    """Killed in the middle of work, wherever that is; then continued by another run."""
    path = tmp_path / "run.zarr"
    code = KILLED.replace("epoch == 25", "False")
    arguments = [sys.executable, "-c", code, str(path), str(Path(__file__).parent), "1"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(6):
            last = int(process.stdout.readline())
        time.sleep(0.05)
        process.kill()
        rest = process.stdout.read().split()
    last = int(rest[-1]) if rest else last
    w = run_plain(path, 1)
    steps = w.dataset["step"].values.tolist()
    assert steps[:-1] == list(range(len(steps) - 1))
    assert len(steps) - 1 >= last  # pass `last` was announced after it was recorded, the one under way may be lost
    assert np.isfinite(st.open(path)["magnitude"].values).all()


def test_recover_says_what_is_missing(tmp_path):
    with pytest.raises(ResultError, match="does not exist"):
        recover(tmp_path / "none.zarr")
    with pytest.raises(ResultError, match="zarr"):
        ZarrLog(tmp_path / "log.nc")
    with pytest.raises(OptionError):
        spectrata.torch.TableWriter(tmp_path / "log.txt")


@pytest.mark.parametrize(
    "words", ["{", "[]", '{"edges": 5}', '{"edges": [[0, 1]], "n_nodes": "x", "hops": 1}', "[" * 5000, "\\", ""]
)
def test_recover_says_when_settings_cannot_be_read(tmp_path, words):
    log = ZarrLog(tmp_path / "run.zarr")
    log.copies.mkdir()
    write_snapshot(log.copies, Snapshot(0, 0, "train", {"a": np.ones((4, 2))}))
    (log.copies / "settings.json").write_text(words)
    with pytest.raises(SpectrataError, match=r"settings\.json|n_nodes"):
        recover(log.path)
    assert len(CopyBuffer(folder=log.copies, n_nodes=4)) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"step": -1}, "whole numbers"),
        ({"step": 10**30}, "whole numbers"),
        ({"epoch": "three"}, "whole numbers"),
        ({"mode": "x"}, "does not say"),
        ({"missing": {"a": 3}}, "does not say"),
        ({"layers": {"a": np.ones((5, 2))}}, "for 4 nodes"),
        ({"layers": {"a": np.ones(4)}}, "for 4 nodes"),
        ({"layers": {"a": np.full((4, 1), "x")}}, "for 4 nodes"),
    ],
)
def test_a_copy_that_no_pass_can_be_is_refused(tmp_path, change, reason):
    sound = Snapshot(1, 1, "train", {"a": np.ones((4, 2))})
    read_snapshot(write_snapshot(tmp_path, sound), 4)
    path = write_snapshot(tmp_path, replace(sound, **change))
    with pytest.raises(ResultError, match=reason):
        read_snapshot(path, 4)


@pytest.mark.parametrize(
    "graph",
    [
        {},
        {"edge_index": np.zeros((3, 1), int), "batch": np.zeros(4, int)},
        {"edge_index": np.array([[0], [4]]), "batch": np.zeros(4, int)},
        {"edge_index": np.array([[0], [1]]), "batch": np.full(4, 10**12)},
        {"edge_index": np.array([[0], [1]]), "batch": np.zeros(3, int)},
    ],
)
def test_a_copy_with_a_graph_that_cannot_be_is_refused(tmp_path, graph):
    path = write_snapshot(tmp_path, Snapshot(0, 0, "train", {"a": np.ones((4, 2))}, graph=graph))
    with pytest.raises(ResultError, match="not a readable snapshot"):
        read_snapshot(path, None)


def test_a_copy_may_be_as_large_as_its_file(tmp_path, monkeypatch):
    """The bound on files of others is not one on what we wrote ourselves; what is packed tightly we did not write."""
    monkeypatch.setattr("spectrata.inputs.readers.files.MAX_BYTES", 1000)
    path = write_snapshot(tmp_path, Snapshot(0, 0, "train", {"a": np.ones((4, 500))}))
    assert read_snapshot(path, 4).layers["a"].shape == (4, 500)
    with np.load(path) as held:
        np.savez_compressed(path, **dict(held))
    with pytest.raises(ResultError, match="it may have; it is refused"):
        read_snapshot(path, 4)


def test_half_a_copy_is_left_out(tmp_path):
    buffer = CopyBuffer(folder=tmp_path, n_nodes=4)
    for step in range(3):
        buffer.add(Snapshot(step, step, "train", {"a": np.full((4, 2), step, dtype=np.float32)}))
    path = tmp_path / "000000001.npz"
    path.write_bytes(path.read_bytes()[:40])
    (tmp_path / ".000000009.npz.part").write_bytes(b"half")
    again = CopyBuffer(folder=tmp_path, n_nodes=4)
    with pytest.warns(SpectrataWarning, match=r"left out.*000000001\.npz is not a readable snapshot"):
        assert [snapshot.step for batch in again.batches() for snapshot in batch] == [0, 2]
    assert path.exists()


def test_labels_of_copies_survive(tmp_path):
    buffer = CopyBuffer(folder=tmp_path, n_nodes=4)
    buffer.add(Snapshot(0, None, "train", {"a": np.zeros((4, 2))}))
    buffer.label([0], 7)
    with (tmp_path / "labels.jsonl").open("a") as file:
        file.write('{"step": 1, "epo')
    with (tmp_path / "labels.jsonl").open("ab") as file:
        file.write(b'\n\xf0\xff\n{"step": 0, "epoch": 1e999}\n' + b"[" * 5000)
    (batch,) = CopyBuffer(folder=tmp_path, n_nodes=4).batches()
    assert batch[0].epoch == 7
