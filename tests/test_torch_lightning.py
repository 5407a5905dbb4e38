"""The callback, run by Lightning's own Trainer."""

import json
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from spectrata.torch import SpectrumCallback
from torch_models import Net, small_data

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import lightning.pytorch as pl
    from torch_geometric.loader import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's own advice about workers and loggers


class Module(pl.LightningModule):
    """``training_step`` calls the inner model, and nobody calls ``forward``."""

    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, index):
        if getattr(self, "broken", False) and self.current_epoch == 2:
            raise RuntimeError("mine")
        loss = F.cross_entropy(self.net(batch.x, batch.edge_index), batch.y)
        self.log("train_loss", loss, batch_size=1)
        return loss

    def validation_step(self, batch, index):
        self.net(batch.x, batch.edge_index)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def trainer(callbacks, tmp_path, epochs=4):
    return pl.Trainer(
        max_epochs=epochs,
        callbacks=callbacks,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )


def fit(tmp_path, callback=None, broken=False):
    pl.seed_everything(0, verbose=False)
    module, loader = Module(), DataLoader([small_data()], batch_size=1)
    module.broken = broken
    trainer([callback] if callback else [], tmp_path).fit(module, loader, loader)
    return module


@pytest.mark.parametrize(("mode", "passes"), [("train", 4), ("both", 8)])
def test_the_trainer_runs_the_callback(tmp_path, mode, passes):
    callback = SpectrumCallback(small_data(), hops=2, mode=mode, states=(), log=tmp_path / "run.zarr")
    watched = fit(tmp_path, callback)
    ds = callback.watch.dataset
    assert callback.watch.overhead.recorded == passes
    assert sorted(set(ds["epoch"].values.tolist())) == [0, 1, 2, 3]
    assert ds["layer"].values.tolist() == ["net.conv1", "net.conv2"]
    assert not any(len(module._forward_hooks) for module in watched.modules())
    plain = fit(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters(), strict=True))


def test_the_graph_is_read_from_the_batch(tmp_path):
    callback = SpectrumCallback(every=2, mode="train")
    fit(tmp_path, callback)
    assert callback.watch.dataset["off_zero_live"].sizes["epoch"] == 2


def test_by_default_the_end_is_evaluated(tmp_path):
    callback = SpectrumCallback(small_data())
    fit(tmp_path, callback)
    assert callback.watch.over_layers().attrs["pass_mode"] == "eval"
    assert "off_zero_live_control" in callback.watch.over_layers()
    assert not callback.watch.problems


def test_an_exception_leaves_no_hook_and_keeps_what_was_recorded(tmp_path):
    callback = SpectrumCallback(small_data(), mode="train")
    with pytest.raises(RuntimeError, match="mine"):
        fit(tmp_path, callback, broken=True)
    assert callback.watch.dataset.sizes["epoch"] == 2
    assert not any(len(module._forward_hooks) for module in callback.watch.listener.model.modules())


def test_evaluations_with_their_control_and_logged_metrics(tmp_path):
    callback = SpectrumCallback(small_data(), evaluate=2, control="no_messages")
    watched = fit(tmp_path, callback)
    ds = callback.watch.dataset
    assert ds["mode"].values.tolist() == ["eval", "control"]
    assert ds["epoch"].values.tolist() == [1, 3]
    assert np.isfinite(ds["train_loss"].values).all()
    assert len(json.loads(callback.watch.over_layers().attrs["scores"])["train_loss"]) == 4
    assert callback.watch.over_layers().attrs["pass_epoch"] == 3
    plain = fit(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters(), strict=True))
