"""Verdicts on the layers of a trained model: collapsed, not collapsed, dead, not finite, or still training.

Everything is read from a recorded pass (``w.over_layers()``, also when it was saved), without torch. The levels come
from a study over trained models (``reproduction``, page "Over-smoothing in trained models"), for ``off_zero_live`` at
K = 1 at two places, the last hidden layer and the outputs. Dead and not finite layers are reported wherever they are.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MEASURE = "off_zero_live"
CONTROL = f"{MEASURE}_control"  # of the same layers without messages
RECENT, CONTROL_RECENT = f"{MEASURE}_recent", f"{CONTROL}_recent"  # of both at the last evaluations
LEGEND = "off_zero: share that varies between nodes; r: of neighbours; rank: effective."
AT_CHANCE = "train accuracy at chance"
RECENT_PASSES = 5  # evaluations at the end of a run that say whether a verdict holds
MARGIN = 5.0  # how many times the layer's value the control must be before messages are the cause
ENOUGH_EPOCHS = 50  # without a loss, a shorter run counts as still training
STILL = 0.05  # change of the loss between the last two tenths, of its total change, up to which training has ended
FEWEST = 30  # losses from which on their course is read: three in each tenth
LAST_HIDDEN, OUTPUTS = "last hidden", "outputs"
STUDY = "Over-smoothing in trained models"  # the page of the documentation that describes the study
# benchmarks/trained_models.py remedies, read by benchmarks/verdicts.py: deep GCNs on the five public graphs.
REMEDY = (
    "What to try next: residual connections with LayerNorm. Of 50 plain GCNs of 16 and 32 layers on five graphs, 21 "
    "collapsed together with their control; residual connections with LayerNorm then gave the best test score of three "
    "remedies in 20 cases (mean .51 instead of .38; the others were PairNorm and DropEdge)."
)
FAILURES = ("collapsed", "dead", "not_finite")
SHOWN = {
    "collapsed": "COLLAPSED",
    "not_collapsed": "not collapsed",
    "dead": "DEAD, the vectors of all nodes are zero",
    "not_finite": "NOT FINITE",
    "training": "training, not judged",
}
SIGNS = {"collapsed": "<", "not_collapsed": ">="}


class Level(NamedTuple):
    """A level of ``off_zero_live``, and what it flagged on graphs that were not used to choose it."""

    level: float
    hit: float  # share of the failed models below the level
    failed: int
    alarm: float  # share of the good models below the level
    good: int


# 3,888 models of the study's full protocol (digest 73db75fc910a2ba0): the rates are those of its held-out graphs.
LEVELS = {LAST_HIDDEN: Level(0.022, 0.5192, 495, 0.0, 614), OUTPUTS: Level(0.077, 0.5177, 537, 0.0058, 685)}


@dataclass(frozen=True)
class Verdict:
    """The verdict on one layer."""

    kind: str  # "collapsed", "not_collapsed", "dead", "not_finite" or "training"
    snapshot: str  # the layer, by its name in the result
    place: str = ""  # "last hidden", "outputs", or "" for another layer that is dead or not finite
    value: float = float("nan")  # off_zero_live
    level: float = float("nan")  # of its place
    below: int = 0  # how many of the last evaluations were below the level
    evaluations: int = 0
    control: float = float("nan")  # the value of the same weights without messages
    cause: str = ""  # of a collapse: "too" (the control collapsed too), "messages", "open" (not settled)
    reason: str = ""  # why the layer is not judged
    scores: str = ""  # what the scores given to w.step add
    rank: float = float("nan")  # effective rank
    dead: float = float("nan")  # share of the nodes whose vector is zero

    @property
    def failed(self) -> bool:
        """Whether ``spectrata check`` fails on it."""
        return self.kind in FAILURES

    @property
    def text(self) -> str:
        """The verdict in one line."""
        name = self.snapshot.replace("/hidden", " hidden") + (" (outputs)" if self.place == OUTPUTS else "")
        said = f"{name}: {SHOWN[self.kind]}"
        if self.kind in SIGNS:
            count = self.below if self.kind == "collapsed" else self.evaluations - self.below
            said += f" {self.value:.2g} {SIGNS[self.kind]} {self.level:g} at {count} of {self.evaluations} evaluations"
        if self.reason:
            said += f" ({self.reason})"
        if self.kind == "collapsed" and self.cause:
            words = {"too": "too", "messages": f"{self.control:.2g}, so messages are the cause"}
            said += f"; control without messages: {words.get(self.cause, f'{self.control:.2g}, cause not settled')}"
        return f"{said}; {self.scores}" if self.scores else said

    def explain(self) -> str:
        """The rates and limits of the verdict, in sentences."""
        if self.kind == "not_finite":
            return f"{self.snapshot} has NaN or infinite values: the model diverged. Look at the learning rate first."
        if self.kind == "dead":
            return f"{self.snapshot} gives every node a zero vector: nothing behind it can tell nodes apart."
        if self.kind == "training":
            words = f"{self.snapshot} is not judged: {self.reason}. The levels hold for the end of training"
            return f"{words}; give the loss to w.step(loss=...), or train for longer."
        known = LEVELS[self.place]
        lines = [
            f"{self.snapshot} ({self.place}): of the energy of the nodes' directions, {self.value:.3g} varies from "
            f"node to node within the graph's connected parts taken together; the level is {known.level:g}. A study of "
            f'trained models chose it (page "{STUDY}"). On graphs not used to choose it, it flagged '
            f"{100 * known.hit:.3g} % of {known.failed} failed and {100 * known.alarm:.2g} % of {known.good} "
            "good models."
        ]
        if self.kind == "not_collapsed":
            lines.append(f"A layer above it may still fail: {100 - 100 * known.hit:.3g} % of the failed models were.")
        lines.append(f"The effective rank is {self.rank:.3g}; {100 * self.dead:.3g} % of the nodes have a zero vector.")
        if self.kind == "collapsed":
            lines.append(self._explain_control())
        return " ".join(lines)

    def _explain_control(self) -> str:
        if not self.cause:
            return 'watch(..., control="no_messages") compares with the same weights without messages.'
        limit = "The weights were trained with messages; a network trained without them was not compared."
        rule = f"above the level and at least {MARGIN:g} times the layer's value at each of the last {RECENT_PASSES}"
        said = {
            "too": "is below the level too, so messages are not needed to explain the collapse.",
            "messages": f"is {rule} evaluations, so messages are the cause.",
            "open": f"is not {rule} evaluations, so the cause is not settled.",
        }[self.cause]
        advice = f" {REMEDY}" if self.cause == "too" else ""
        return f"Without messages the same weights give {self.control:.3g}, which {said} {limit}{advice}"


class Verdicts(list[Verdict]):
    """The verdicts on one pass; prints a line each, ``notes`` on what was not judged, then the table of ``layers``."""

    def __init__(self, found: list[Verdict], notes: list[str] | None = None, layers: str = "") -> None:
        super().__init__(found)
        self.notes, self.layers = notes or [], layers

    @property
    def failed(self) -> list[Verdict]:
        return [one for one in self if one.failed]

    def to_frame(self) -> "pd.DataFrame":
        """One row per judged layer."""
        import pandas as pd

        names = ["kind", "hop", "column", "snapshot", "value", "level", "below", "evaluations", "control", "cause"]
        rows = [{**vars(one), "hop": 1, "column": None, "text": one.text} for one in self]
        return pd.DataFrame(rows, columns=[*names, "text"])

    def explain(self) -> str:
        return "\n".join([*(one.explain() for one in self), *self.notes])

    def __str__(self) -> str:
        return "\n".join([*(one.text for one in self), *self.notes, *([self.layers] if self.layers else [])])


def verdicts(ds: "xr.Dataset", control: "xr.Dataset | None" = None) -> Verdicts:
    """Judge the layers of one pass: the last hidden layer, the outputs, and the first dead or not finite layer.

    ``control`` has the same layers of the same network without message passing; by default it is what the layers carry,
    where a control followed their evaluation.
    """
    if not is_layers(ds):
        raise OptionError("Only layers of a watched model are judged; give w.over_layers().")
    ds = ds if control is None else _with_control(ds, control)
    reason, scores, broken = still_training(ds), accuracy_words(ds), _broken(ds)
    rows = dict.fromkeys(list(broken)[:1], "") | {row: place for place, row in places(ds).items()}
    found, notes = [], []
    for row, place in rows.items():
        one = ds.isel(snapshot=row)
        name = str(one["snapshot"].item())
        if row in broken:
            said = scores if place else ""  # of the judged layers
            found.append(Verdict(broken[row], name, place, scores=said, dead=float(one["dead_rows"])))
        elif "width" in one.coords and one["width"] == 1:
            notes.append(f"{name}: one column has no directions, and is not judged.")
        elif not np.isnan(one[MEASURE]):
            found.append(_judge(one, name, place, reason, scores))
    return Verdicts(found, notes, layer_table(ds))


def _judge(one: "xr.Dataset", name: str, place: str, reason: str, scores: str) -> Verdict:
    value, level = float(one[MEASURE]), LEVELS[place].level
    recent = one[RECENT].values if RECENT in one and one.sizes["evaluation"] else np.array([value])
    kind = "training" if reason else "collapsed" if value < level else "not_collapsed"
    if kind == "collapsed" and scores == AT_CHANCE:
        scores += " as well"
    below, cause = int(np.sum(recent < level)), _cause(one, recent, level)
    control, rank, dead = (float(one.get(other, np.nan)) for other in (CONTROL, "effective_rank", "dead_rows"))
    numbers = value, level, below, len(recent), control
    return Verdict(kind, name, place, *numbers, cause, reason, scores, rank, dead)


def _cause(one: "xr.Dataset", recent: np.ndarray, level: float) -> str:
    """Name the cause only where the control names it at each of the last evaluations."""
    if CONTROL not in one or np.isnan(one[CONTROL]):
        return ""
    past = one[CONTROL_RECENT].values if CONTROL_RECENT in one else np.empty(0)
    if len(past) == RECENT_PASSES and np.all((past >= level) & (past >= MARGIN * recent)):
        return "messages"
    return "too" if one[CONTROL] < level else "open"


def _with_control(ds: "xr.Dataset", control: "xr.Dataset") -> "xr.Dataset":
    """The layers with the values of a control that was given; one of another epoch had other weights."""
    if not is_layers(control):
        raise OptionError("control must be layers of a watched model, as w.over_layers(mode='control') gives them.")
    epoch, other = (int(one.attrs["pass_epoch"]) for one in (ds, control))
    if min(epoch, other) >= 0 and epoch != other:
        words = f"The layers are those of epoch {epoch} and control those of epoch {other}, which had other weights"
        raise OptionError(f"{words}; give the control of the same evaluation.")
    known = dict(zip(control["snapshot"].values.tolist(), control[MEASURE].values, strict=True))
    values = [known.get(name, np.nan) for name in ds["snapshot"].values.tolist()]
    return ds.drop_vars(CONTROL_RECENT, errors="ignore").assign({CONTROL: ("snapshot", values)})


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


def when(ds: "xr.Dataset") -> str:
    """Which pass is judged, in words."""
    epoch, step = int(ds.attrs["pass_epoch"]), int(ds.attrs["pass_step"])
    noun = "evaluation" if ds.attrs["pass_mode"] == "eval" else f"{ds.attrs['pass_mode']} pass"
    return f"the {noun} at {f'epoch {epoch}' if epoch >= 0 else f'pass {step} (all modes counted)'}"


def _broken(ds: "xr.Dataset") -> dict[int, str]:
    """Find the layers that are dead or not finite, in the order of the model; the input is not one of them."""
    dead = ds["dead_rows"].values
    lost = np.isnan(dead)
    if "status" in ds:
        words = ds["status"].transpose("snapshot", ...).values.reshape(len(dead), -1)[:, 0].astype(str)
        lost = np.char.startswith(words, "undefined: NaN")
    rows = np.flatnonzero((ds["role"].values != "input") & (lost | (dead == 1))).tolist()
    return {row: "dead" if dead[row] == 1 else "not_finite" for row in rows}


def scores_of(ds: "xr.Dataset") -> dict[str, list[float]]:
    """The scores given to ``w.step``, by name, in the order of their epochs."""
    return {name: one for name, one in json.loads(ds.attrs.get("scores", "{}")).items() if name != "epoch"}


def still_training(ds: "xr.Dataset") -> str:
    """Why the model counts as still training; empty where it does not.

    The median loss of the last tenth of the epochs is compared with that of the tenth before. From ``ENOUGH_EPOCHS``
    losses on, a difference within twice its own standard error counts as none: a loss that only scatters has ended.
    """
    scores = scores_of(ds)  # a loss of training says it if there is one, else any score
    name = min(scores, key=lambda one: ("loss" not in one.lower(), _is_held_out(one)), default="")
    values = finite(scores.get(name, []))
    if len(values) < FEWEST:
        epochs = int(ds.attrs.get("epochs", ENOUGH_EPOCHS))
        return f"only {epochs} epochs" if 0 < epochs < ENOUGH_EPOCHS else ""
    size = len(values) // 10
    last, before = values[-size:], values[-2 * size : -size]
    change, total = abs(np.median(last) - np.median(before)), np.ptp(values)
    scatter = 1.25 * np.sqrt((last.var() + before.var()) / size) if len(values) >= ENOUGH_EPOCHS else 0.0
    if change <= max(STILL * total, 2 * scatter):
        return ""
    return f"{name} still changes, by {100 * change / total:.0f} % of its total change in a tenth of the epochs"


def finite(values: Any) -> np.ndarray:
    found = np.array(values, dtype=float)
    return found[np.isfinite(found)]


def _is_held_out(name: str) -> bool:
    return any(word in name.lower() for word in ("val", "test"))


def accuracy_words(ds: "xr.Dataset") -> str:
    """Describe the accuracy of training, beside that of always naming the largest class where labels are known."""
    known = scores_of(ds)
    own = [name for name in known if "acc" in name.lower() and not _is_held_out(name)]
    values = finite(known[own[0]] if own else [])
    if not len(values):
        return ""
    accuracy = float(np.median(values[-max(1, len(values) // 10) :]))
    accuracy = accuracy / 100 if accuracy > 1 else accuracy
    share, count = ds.attrs.get("largest_class"), ds.attrs.get("labelled")
    if share is None or not count:
        return f"train accuracy {accuracy:.2g}"
    if accuracy <= share + 2 * np.sqrt(share * (1 - share) / count):
        return AT_CHANCE
    return f"train accuracy {accuracy:.2g} (largest class {share:.2g})"


def layer_table(ds: "xr.Dataset") -> str:
    """Measures of the hidden states and the outputs as a text table of at most 80 columns, control beside."""
    roles = ds["role"].values
    shown = ds.isel(snapshot=np.isin(roles, ["hidden" if "hidden" in roles else "layer", "output"]))
    columns = {"off_zero": MEASURE, "control": CONTROL, "r": "r", "r control": "r_control", "rank": "effective_rank"}
    known = {name: shown[other].values for name, other in columns.items() if other in ds}
    names = [str(name) for name in shown["snapshot"].values]
    width = min(24, max(map(len, [*names, "layer"])))
    lines = ["layer".ljust(width) + "".join(name.rjust(11) for name in known)]
    for row, name in enumerate(names):
        cells = (f"{float(values[row]):.3g}".rjust(11) for values in known.values())
        lines.append((name if len(name) <= width else f"...{name[3 - width :]}").ljust(width) + "".join(cells))
    return "\n".join([*lines, LEGEND])
