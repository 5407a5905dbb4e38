"""Collapsed layers of a trained model: absolute levels from the study over trained models, quoted with their rates.

The levels live in ``collapse_levels.json``, which the study writes (``python -m reproduction models``). They hold
for the measure they were chosen for: ``off_zero_live``, the share of energy off the zero components at K = 1, of
the directions of the nodes whose vector is not zero, combinatorial Laplacian. They were chosen for two places, the
last hidden layer and the outputs, and no other place is judged.
"""

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.stats.findings import Finding

if TYPE_CHECKING:
    import xarray as xr

MEASURE = "off_zero_live"
CONTROL = f"{MEASURE}_control"  # of the same layers without messages
RECENT, CONTROL_RECENT = f"{MEASURE}_recent", f"{CONTROL}_recent"  # of both at the last evaluations
TINY = 1e-12  # smaller values are printed as "below 1e-12"
MARGIN = 2.0  # a control nearer to the value with messages than this factor names no cause
RECENT_PASSES = 5  # evaluations at the end of a run that say whether a verdict holds
LAST_HIDDEN, OUTPUTS = "last hidden", "outputs"
STUDY = "Over-smoothing in trained models"  # the page of the documentation that describes the study
VARIES = "varies within connected parts of the graph (off the zero components, K = 1)"
WORDS = {LAST_HIDDEN: "last hidden layer", OUTPUTS: "outputs"}


@cache
def levels() -> dict[str, Any]:
    """What the study wrote: the level of every place, and the share of failed and good models below it.

    Examples
    --------
    >>> sorted(levels())
    ['last hidden', 'outputs']
    >>> 0 < levels()["outputs"]["level"] < 0.5
    True
    """
    text = files("spectrata.stats").joinpath("collapse_levels.json").read_text(encoding="utf-8")
    places = json.loads(text)["positions"]
    return {place: _level(places[place]["off_zero"]) for place in (LAST_HIDDEN, OUTPUTS)}


def _level(found: dict[str, Any]) -> dict[str, Any]:
    held_out = found["report"]
    return {
        "level": found["level"],
        "failed": (held_out["failed"]["rate"], held_out["failed"]["models"]),
        "good": (held_out["good"]["rate"], held_out["good"]["models"]),
    }


def collapsed(ds: "xr.Dataset", control: "xr.Dataset | None" = None) -> list[Finding]:
    """Judge the layers of one pass: the last hidden layer and the outputs.

    Parameters
    ----------
    ds : Dataset
        Layers as snapshots, from ``w.over_layers()``.
    control : Dataset, optional
        The same layers of the same network without message passing, from ``w.over_layers(mode="control")``; by default
        what the layers carry, where a control followed their evaluation.

    Returns
    -------
    list of Finding
        Kind "collapsed" for a place below its level, "dead" for one whose vectors are all zero.
    """
    if not is_layers(ds):
        raise OptionError("Only layers of a watched model are judged; give w.over_layers().")
    if control is not None and not is_layers(control):
        raise OptionError("control must be layers of a watched model, as w.over_layers(mode='control') gives them.")
    if control is not None:
        _require_same_pass(ds, control)
    source, name = (ds, CONTROL) if control is None else (control, MEASURE)
    known = dict(zip(source["snapshot"].values.tolist(), source[name].values, strict=True)) if name in source else {}
    found = [_judge(ds, place, row, known) for place, row in places(ds).items()]
    return [one for one in found if one is not None]


def _require_same_pass(ds: "xr.Dataset", control: "xr.Dataset") -> None:
    """Refuse a control of another epoch, which had other weights; one without an epoch is taken as it is."""
    epoch, other = (int(one.attrs["pass_epoch"]) for one in (ds, control))
    if min(epoch, other) >= 0 and epoch != other:
        raise OptionError(
            f"The layers are those of epoch {epoch} and control those of epoch {other}, which had other weights; "
            "give the control of the same evaluation."
        )


def is_layers(ds: Any) -> bool:
    """Whether a result has the layers of one pass over a whole graph as its snapshots, with what a verdict needs."""
    whole_graph = ds.attrs.get("kind") != "mini-batches"
    return ds.attrs.get("snapshot_kind") == "layers" and whole_graph and MEASURE in ds and 1 in ds["hop"].values


def places(ds: "xr.Dataset") -> dict[str, int]:
    """Rows of the last hidden state and of the outputs.

    Without hidden states, the layer before the outputs counts. So does a layer after the last hidden state whose
    output the last layer is given as it is, which therefore has no hidden state of its own.
    """
    roles, names = ds["role"].values.tolist(), ds["snapshot"].values.tolist()
    found: dict[str, int] = {}
    if "output" in roles:
        found[OUTPUTS] = len(roles) - 1 - roles[::-1].index("output")
    end = found.get(OUTPUTS, len(roles))
    hidden, layers = ([row for row in range(end) if roles[row] == role] for role in ("hidden", "layer"))
    given_on = end < len(roles) and names[end] != "output"  # the outputs are those of a layer
    last = hidden if hidden and not (given_on and layers and layers[-1] > hidden[-1]) else layers
    return ({LAST_HIDDEN: last[-1]} if last else {}) | found


def judged(ds: "xr.Dataset") -> list[Any]:
    """Labels of the layers that :func:`collapsed` judges; none where snapshots are not layers of a pass."""
    return [ds["snapshot"].values[row].item() for row in places(ds).values()] if is_layers(ds) else []


def _has_directions(ds: "xr.Dataset", row: int) -> bool:
    """Whether a layer has vectors, which the levels were chosen for, and not one number per node."""
    return "width" not in ds.coords or int(ds["width"].values[row]) != 1


def _judge(ds: "xr.Dataset", place: str, row: int, control: dict[str, float]) -> Finding | None:
    name, known = str(ds["snapshot"].values[row]), levels()[place]
    value, dead = float(ds[MEASURE].values[row]), float(ds["dead_rows"].values[row])
    who = f"The {WORDS[place]} ({name}) of {when(ds)}"
    if dead == 1.0:
        text = f"{who} are dead: the vectors of all nodes are zero." if place == OUTPUTS else ""
        text = text or f"{who} is dead: the vectors of all nodes are zero."
        return Finding("dead", text, 1, name, value=dead)
    if known["level"] is None or not value < known["level"] or not _has_directions(ds, row):
        return None
    (hit, failed), (alarm, good) = known["failed"], known["good"]
    verb = "have" if place == OUTPUTS else "has"
    text = (
        f"{who} {verb} collapsed: in each connected part of the graph the nodes point almost the same way. Of "
        f"the energy of their directions, {_shown(value)} {VARIES}, and the level is {known['level']:.3g}. A study "
        f'over trained models chose this level (documentation page "{STUDY}"; "python -m reproduction models" repeats '
        f"it). It flagged {100 * hit:.3g} % of {failed:,} failed and {100 * alarm:.2g} % of {good:,} good models, on "
        f"graphs that were not used to choose it. The effective rank is {float(ds['effective_rank'].values[row]):.3g}"
    )
    text += f", and {100 * dead:.3g} % of the nodes have a zero vector." if dead else "."
    text += _stability(ds, place, row) + _because(ds, row, control.get(name, float("nan")), known["level"])
    return Finding("collapsed", text, 1, name, value=value)


def above_levels(ds: "xr.Dataset") -> list[str]:
    """What the silence of :func:`collapsed` means: one sentence per place that has not collapsed.

    Examples
    --------
    >>> import xarray as xr
    >>> facts = {"snapshot_kind": "layers", "pass_mode": "eval", "pass_epoch": 7, "pass_step": 70}
    >>> rows = {"off_zero_live": [0.9, 0.4], "dead_rows": [0.0, 0.0]}
    >>> coords = {"snapshot": ["input", "conv"], "role": ("snapshot", ["input", "output"]), "hop": [1]}
    >>> print(above_levels(xr.Dataset({k: ("snapshot", v) for k, v in rows.items()}, coords, facts))[0][:87])
    The outputs (conv) of the evaluation at epoch 7 are above the level of collapse: 0.4 of
    """
    found = []
    for place, row in places(ds).items():
        known, value = levels()[place], float(ds[MEASURE].values[row])
        if not _has_directions(ds, row):
            found.append(
                f"The {WORDS[place]} ({ds['snapshot'].values[row]}) {'have' if place == OUTPUTS else 'has'} one column "
                "and no directions to judge: the levels of collapse were chosen for vectors."
            )
            continue
        if known["level"] is None or not value >= known["level"]:
            continue
        who = f"The {WORDS[place]} ({ds['snapshot'].values[row]}) of {when(ds)}"
        found.append(
            f"{who} {'are' if place == OUTPUTS else 'is'} above the level of collapse: {value:.3g} of the energy of "
            f"the nodes' directions {VARIES}, and the level is {known['level']:.3g}. This "
            f"does not show that the model is healthy: {100 - 100 * known['failed'][0]:.3g} % of the failed models of "
            f'the study were above it (documentation page "{STUDY}").' + _stability(ds, place, row)
        )
    return found


def of_batches(ds: "xr.Dataset") -> list[str]:
    """Descriptions of mini-batches: measures of the two places, and no verdict."""
    lines = [
        "Mini-batches are described, not judged: the levels of collapse were chosen on whole graphs, and batches share "
        "no graph to test on."
    ]
    if ds.attrs.get("snapshot_kind") != "layers":
        return [*lines, "Give w.over_layers() for the measures of one pass."]
    for place, row in places(ds).items():
        value, name = float(ds[MEASURE].values[row]), ds["snapshot"].values[row]
        lines.append(
            f"The {WORDS[place]} ({name}) of {when(ds)}: {value:.3g} of the energy of the nodes' directions {VARIES}; "
            "mean over the graphs of the batch."
        )
    return lines


def when(ds: "xr.Dataset") -> str:
    """Which pass is judged, in words."""
    epoch, step = int(ds.attrs["pass_epoch"]), int(ds.attrs["pass_step"])
    at = f"epoch {epoch}" if epoch >= 0 else f"pass {step} (all modes counted)"
    return f"the {_noun(ds)} at {at}"


def _noun(ds: "xr.Dataset") -> str:
    """What a pass of this mode is called."""
    return "evaluation" if ds.attrs["pass_mode"] == "eval" else f"{ds.attrs['pass_mode']} pass"


def _stability(ds: "xr.Dataset", place: str, row: int) -> str:
    """How often a place was below its level at the last evaluations; empty where it never was, or there is one."""
    values, level = _recent(ds, RECENT, row), levels()[place]["level"]
    below, count = int(np.sum(values < level)), len(values)
    if count < 2 or not below:
        return ""
    first, last = (int(one) for one in ds["evaluation"].values[[0, -1]])
    span = f"{'epochs' if int(ds.attrs['pass_epoch']) >= 0 else 'passes'} {first} to {last}"
    who = "They were" if place == OUTPUTS else "It was"
    often = f"all of the last {count}" if below == count else f"{below} of the last {count}"
    text = f" {who} below the level at {often} {_noun(ds)}{'es' if _noun(ds).endswith('s') else 's'} ({span})"
    return text + ("." if below == count else ": the verdict is not the same at all of them.")


def _recent(ds: "xr.Dataset", name: str, row: int) -> np.ndarray:
    return ds[name].transpose("snapshot", "evaluation").values[row] if name in ds else np.empty(0)


def _because(ds: "xr.Dataset", row: int, value: float, level: float) -> str:
    """What a control without messages says about the cause, and whether it says so at the last evaluations."""
    if np.isnan(value):
        return (
            ' This alone does not show that message passing is the cause; watch(..., control="no_messages") compares '
            "with the same weights without messages."
        )
    text = f" With the same weights and self-loops as the only edges the value is {_shown(value)}"
    past = _recent(ds, CONTROL_RECENT, row)
    past = past[np.isfinite(past) & (_recent(ds, RECENT, row) < level)] if len(past) and past[-1] == value else past[:0]
    above = int(np.sum(past >= level))
    if 0 < above < len(past):
        text += (
            f". Of the {len(past)} evaluations below the level, this control was above it at {above} and below it at "
            f"{len(past) - above}: whether message passing is the cause is not settled."
        )
    else:
        text += _compared(value, float(ds[MEASURE].values[row]), level)
    return text + " The weights were trained with messages: a network trained without them was not compared."


def _shown(value: float) -> str:
    return f"{value:.3g}" if value >= TINY else f"below {TINY:g}"


def _compared(control: float, value: float, level: float) -> str:
    """What the value without messages says of the collapse with them; nothing where the two are close."""
    times = control / max(value, TINY)  # two values below it differ by rounding
    factor = f"{float(f'{times:.2g}'):,g} times" if times < 1e6 else "more than a million times"
    if control >= level and times >= MARGIN:
        return f", above the level and {factor} as large: the layer has collapsed because of message passing."
    if control >= level:
        return (
            f", above the level but less than {MARGIN:g} times as large: whether message passing is the cause is not "
            "settled."
        )
    if times >= MARGIN:
        return (
            f", below the level: the layer has collapsed without message passing as well. Messages make the value "
            f"{factor} smaller."
        )
    return ", below the level: the layer has collapsed without message passing as well."
