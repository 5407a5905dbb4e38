"""Where results go while a run lasts: a Zarr log, tables, TensorBoard, Weights & Biases."""

from pathlib import Path
from typing import Any

from spectrata.errors import OptionError
from spectrata.torch.log.scalars import TensorBoardWriter, WandbWriter
from spectrata.torch.log.tables import TableWriter, Writer
from spectrata.torch.log.zarr import ZarrLog


def make_writers(log: Any) -> list[Writer]:
    """Writers of what ``log=`` names: paths, writers, or runs of Weights & Biases."""
    items = [] if log is None else list(log) if isinstance(log, list | tuple) else [log]
    writers = [_writer(item) for item in items]
    if sum(isinstance(one, ZarrLog) for one in writers) > 1:
        raise OptionError("One Zarr log is enough; give a single path that ends in .zarr.")
    return writers


def _writer(item: Any) -> Any:
    if hasattr(item, "write") and hasattr(item, "close"):
        return item
    if hasattr(item, "log") and hasattr(item, "define_metric"):
        return WandbWriter(item)
    kinds = {".zarr": ZarrLog, ".csv": TableWriter, ".jsonl": TableWriter}
    return kinds.get(Path(item).suffix, TensorBoardWriter)(item)
