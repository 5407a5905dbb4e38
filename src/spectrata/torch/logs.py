"""Make the writers that ``log=`` names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spectrata.errors import OptionError
from spectrata.torch.wandb_log import WandbWriter
from spectrata.torch.writers import TableWriter, TensorBoardWriter, Writer
from spectrata.torch.zarr_log import ZarrLog


def make_writers(log: Any) -> tuple[list[Writer], ZarrLog | None]:
    """Writers from paths, and the Zarr log among them."""
    if log is None:
        return [], None
    items: Sequence[Any] = log if isinstance(log, list | tuple) else [log]
    writers: list[Any] = []
    for item in items:
        if hasattr(item, "write") and hasattr(item, "close"):
            writers.append(item)
        elif hasattr(item, "log") and hasattr(item, "define_metric"):
            writers.append(WandbWriter(item))
        elif Path(item).suffix == ".zarr":
            writers.append(ZarrLog(item))
        elif Path(item).suffix in (".csv", ".jsonl"):
            writers.append(TableWriter(item))
        else:
            writers.append(TensorBoardWriter(item))
    stores = [writer for writer in writers if isinstance(writer, ZarrLog)]
    if len(stores) > 1:
        raise OptionError("One Zarr log is enough; give a single path that ends in .zarr.")
    return writers, stores[0] if stores else None
