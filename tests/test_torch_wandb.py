"""Weights & Biases, the real package, without a network."""

import json
import struct

import numpy as np
import pytest

from spectrata.torch import WandbWriter, watch
from torch_models import Net, fit, small_data

wandb = pytest.importorskip("wandb", reason="wandb is not installed (pip install wandb)")


@pytest.mark.filterwarnings("ignore")
def test_scalars_and_scores_reach_an_offline_run(tmp_path, monkeypatch):
    """Against what the run itself recorded, read back from its own file."""
    monkeypatch.setenv("WANDB_SILENT", "true")
    model, data = Net(), small_data()
    run = wandb.init(project="spectrata-tests", mode="offline", dir=str(tmp_path))
    run.log({"loss": 1.0})
    with watch(model, data, mode="train", evaluate=2, log=run) as w:
        fit(model, data, 4, after=lambda epoch: w.step(epoch=epoch, acc=epoch / 4))
    run.finish()
    wandb.teardown()  # waits for the process that writes the file
    (path,) = tmp_path.rglob("*.wandb")
    rows = [row for row in history(path) if "spectrata/epoch" in row]
    tag = "spectrata/conv1/off_zero_live"
    found = {row["spectrata/epoch"]: row[tag] for row in rows if tag in row}
    want = w.dataset["off_zero_live"].sel(layer="conv1", mode="train")
    assert list(found) == want["epoch"].values.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(list(found.values()), want.values, rtol=1e-6)
    assert {row["spectrata/epoch"] for row in rows if "spectrata/eval/conv2/effective_rank" in row} == {1, 3}
    scores = {row["spectrata/epoch"]: row["spectrata/score/acc"] for row in rows if "spectrata/score/acc" in row}
    assert scores == {0: 0.0, 1: 0.25, 2: 0.5, 3: 0.75}


@pytest.mark.filterwarnings("ignore")
def test_a_writer_finishes_its_own_run_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_SILENT", "true")
    writer = WandbWriter(project="spectrata-tests", mode="offline", dir=str(tmp_path))
    assert wandb.run is writer.run
    other = WandbWriter()
    assert other.run is writer.run
    other.close()
    assert wandb.run is writer.run
    writer.close()
    assert wandb.run is None


def history(path):
    """The rows of history in the file of a run."""
    from wandb.proto import wandb_internal_pb2

    for held in records(path.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(held)
        if record.WhichOneof("record_type") == "history":
            pairs = ((item.key or "/".join(item.nested_key), item.value_json) for item in record.history.item)
            yield {key: json.loads(value) for key, value in pairs}


def records(data, block=32768, head=7):
    """The records of a file in LevelDB's log format, which has a head of its own: checksum, length, kind, bytes."""
    place, joined = head, b""
    while place + head <= len(data):
        if block - place % block < head:  # the rest of a block is padding
            place += block - place % block
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + head])
        joined += data[place + head : place + head + length]
        place += head + length
        if kind in (1, 4):  # whole, or the last piece
            yield joined
            joined = b""
