"""Rows of recorded passes as one labelled Dataset.

Rows of the ``snapshot`` dimension are (pass, layer) pairs; ``layer``, ``role``, ``step``, ``epoch``, ``mode`` and
``width`` are coordinates along it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.core.hop import OK
from spectrata.results.build import made_with
from spectrata.results.schema import LONG_NAMES
from spectrata.stats.findings.watched import NO_LABEL, row_label
from spectrata.torch.watching.measures import MEASURES

if TYPE_CHECKING:
    import xarray as xr

TEXT = {"layer": "<U96", "role": "<U6", "mode": "<U7", "status": "<U128", "snapshot": "<U160"}  # so that logs can grow


@dataclass(frozen=True, eq=False)
class Row:
    """One activation: a layer at one pass, with its measures; ``reason`` says why it has none."""

    layer: str
    role: str
    step: int
    mode: str
    width: int
    measures: dict[str, float] | None
    reason: str = OK
    values: Any = None  # a copy of the activation, (n, d)

    @property
    def array(self) -> np.ndarray | None:
        """The activation, where it is finite and was kept."""
        return None if self.values is None or self.reason != OK else self.values.numpy()

    def to_json(self) -> dict[str, Any]:
        """This row for a log, without its activation."""
        return {name: value for name, value in vars(self).items() if name != "values"}


def layer_name(name: str) -> str:
    """A layer's name; one too long for a log has a hash in its middle, so that no two become one."""
    word = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return name if len(name) <= 96 else f"{name[:40]}~{word}~{name[-46:]}"


def row_coordinates(rows: Sequence[Row]) -> dict[str, Any]:
    """Layer, role, mode, step and width of each row, along ``snapshot``; labels come later."""
    columns = {name: [getattr(row, name) for row in rows] for name in ("layer", "role", "mode", "step", "width")}
    columns["epoch"] = [NO_LABEL] * len(rows)
    return {name: ("snapshot", np.array(one, dtype=TEXT.get(name, np.int64))) for name, one in columns.items()}


def measures_of(rows: Sequence[Row], batches: bool) -> "xr.Dataset":
    """The measures of rows: one number each, and a status."""
    import xarray as xr

    variables: dict[str, Any] = {"status": ("snapshot", np.array([row.reason for row in rows], dtype=TEXT["status"]))}
    for name, words in MEASURES.items():
        values = [float("nan") if row.measures is None else row.measures[name] for row in rows]
        variables[name] = ("snapshot", np.array(values), {"long_name": words})
    facts = {"spectrata_version": __version__, "kind": "mini-batches" if batches else "measures"}
    return xr.Dataset(variables, row_coordinates(rows) | {"hop": [1]}, facts)


def labelled(ds: "xr.Dataset", labels: Mapping[int, int]) -> "xr.Dataset":
    """Rows with their epochs, and what each is in words. The only place where passes get their labels."""
    steps = ds["step"].values.tolist()
    held = ds["epoch"].values.tolist()
    epochs = [labels.get(step, epoch) for step, epoch in zip(steps, held, strict=True)]
    names = zip(ds["layer"].values.tolist(), steps, epochs, ds["mode"].values.tolist(), strict=True)
    words = np.array([row_label(*name) for name in names], dtype=TEXT["snapshot"])
    ds = ds.assign_coords(snapshot=words, epoch=("snapshot", np.array(epochs, dtype=np.int64)))
    return ds.assign_coords(made_with=made_with(ds.attrs)) if "magnitude" in ds else ds


def join(pieces: "list[xr.Dataset]") -> "xr.Dataset":
    """Pieces one after the other; what does not belong to rows is that of the first."""
    import xarray as xr

    fixed = pieces[0].drop_dims("snapshot")
    moving = [piece.drop_vars([name for name in piece.data_vars if name in fixed]) for piece in pieces]
    how: Any = {"data_vars": "all", "coords": "minimal", "compat": "override", "join": "override"}
    joined = xr.concat(moving, dim="snapshot", combine_attrs="override", **how)
    attributes = reduce(joined_attributes, (piece.attrs for piece in pieces))
    return joined.assign({name: fixed[name] for name in fixed.data_vars}).assign_attrs(attributes)


def joined_attributes(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of rows of two pieces: the wider, and ``"auto"`` for two metrics."""
    found = dict(one)
    if "n_dimensions" in one and "n_dimensions" in other:
        found["n_dimensions"] = max(int(one["n_dimensions"]), int(other["n_dimensions"]))
    if "metric" in one and one["metric"] != other.get("metric"):
        found["metric"] = "auto"
    return found


def with_signal(ds: "xr.Dataset", kept: Mapping[tuple[str, int], np.ndarray]) -> "xr.Dataset":
    """A selection with its activations; narrow ones have columns of zeros, which change no distance."""
    rows = zip(ds["layer"].values.tolist(), ds["recorded_step"].values.tolist(), strict=True)
    found = [kept.get((str(name), int(step))) for name, step in rows]
    shapes = [array.shape for array in found if array is not None]
    if not shapes:
        return ds
    n, widest = np.max(shapes, axis=0).tolist()
    signal = np.zeros((len(found), n, widest))
    for row, array in enumerate(found):
        signal[row, :, : widest if array is None else array.shape[1]] = np.nan if array is None else array
    words = {"long_name": f"{LONG_NAMES['signal']}; columns of zeros beyond its width"}
    return ds.assign(signal=(("snapshot", "node", "dimension"), signal, words)).assign_attrs(n_dimensions=widest)
