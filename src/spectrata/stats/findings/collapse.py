"""Verdicts on the layers of a trained model: collapsed, not collapsed, dead, not finite, or not judged.

Only evaluations at the end of training are judged. Everything is read from a recorded pass (``w.over_layers()``, also
when it was saved): torch is not needed. The levels come from a study over trained models (``reproduction``, page
"Over-smoothing in trained models"). They were chosen for ``off_zero_live`` at K = 1 (directions of the nodes whose
vector is not zero, combinatorial Laplacian) at two places, the last hidden layer and the outputs. Dead and not finite
layers are reported wherever they are.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr

MEASURE = "off_zero_live"
CONTROL = f"{MEASURE}_control"  # of the same layers without messages
RECENT, CONTROL_RECENT = f"{MEASURE}_recent", f"{CONTROL}_recent"  # of both at the last evaluations
LEGEND = """off_zero_live: share that varies between live nodes, whose vector is not zero
(only this has a level); r: of neighbours, zero vectors included;
rank: effective rank of the vectors as they are; zero: share of zero vectors."""
MOST_ROWS = 28  # of the table of layers; of more, those in the middle are left out
RECENT_PASSES = 5  # evaluations at the end of a run that say whether a verdict holds
MARGIN = 5.0  # how many times the layer's value the control must be before messages are the cause
LAST_HIDDEN, OUTPUTS = "last hidden", "outputs"
STUDY = "Over-smoothing in trained models"  # the page of the documentation that describes the study
# benchmarks/trained_models.py remedies, read by benchmarks/verdicts.py: deep GCNs on the five public graphs.
REMEDY = (
    "What to try next: residual connections with LayerNorm. Of 50 plain GCNs of 16 and 32 layers on five graphs, 21 "
    "collapsed together with their control; residual connections with LayerNorm then gave the best test score of three "
    "remedies in 20 cases (mean .51 instead of .38; the others were PairNorm and DropEdge)."
)
MESSAGES, COLLAPSED_TOO, UNSETTLED = "messages", "collapsed without messages too", "not settled"  # causes of a collapse
OPTIMISATION = (
    "Nothing collapsed, but the training accuracy is low. Look at the optimisation:",
    "learning rate, normalisation, residual connections.",
)
FAILURES = ("collapsed", "dead", "not_finite")
SHOWN = {
    "collapsed": "COLLAPSED",
    "not_collapsed": "not collapsed",
    "dead": "DEAD",
    "not_finite": "NOT FINITE",
    "training": "training, not judged",
}
SIGNS = {"collapsed": "<", "not_collapsed": ">="}
AT_CHANCE = "train accuracy at chance"
ENOUGH_EPOCHS = 50  # without a loss, a shorter run counts as still training
STILL = 0.05  # change of the loss between the last two tenths, of its total change, up to which training has ended
MEDIAN_ERROR = 1.25  # standard error of a median in those of a mean, of normal values: the root of pi / 2
FEWEST = 30  # losses from which on their course is read: three in each tenth
POOR = 0.5  # training accuracy, from the largest class (0) to 1, below which a model has not learned its training nodes
GOOD = 0.9  # from here on it fits them, as in the study
DIVERGED = 2.0  # times its start that the loss ends at
MANY_ZERO = 0.5  # share of zero vectors from which on a line names it
# Share of zero vectors from which on a layer is dead: off_zero_live then describes less than 5 % of the nodes, and all
# others have one vector. Models that learned their training nodes had at most .47 (docs/activations.md, "Dead layers").
DEAD = 0.95


class Level(NamedTuple):
    """A level of ``off_zero_live``, and what it flagged on graphs that were not used to choose it."""

    level: float
    hit: float  # share of the failed models below the level
    failed: int
    alarm: float  # share of the good models below the level
    good: int


# 3,888 models of the study's full protocol (digest 73db75fc910a2ba0): the rates are those of its held-out graphs.
LEVELS = {LAST_HIDDEN: Level(0.022, 0.5192, 495, 0.0, 614), OUTPUTS: Level(0.077, 0.5177, 537, 0.0058, 685)}


class Ending(NamedTuple):
    """Whether training has ended, as far as a run tells."""

    reason: str = ""  # why layers are not judged
    advice: str = ""  # what to do about it
    unchecked: str = ""  # why layers are judged although the end of training is not known


ENDED = Ending()


@dataclass(frozen=True)
class Verdict:
    """The verdict on one layer."""

    kind: str  # "collapsed", "not_collapsed", "dead", "not_finite" or "training"
    snapshot: str  # the layer, by its name in the result
    place: str = ""  # "last hidden", "outputs", or "" for another layer that is dead or not finite
    value: float = float("nan")  # off_zero_live
    level: float = float("nan")  # of its place
    agreeing: int = 0  # how many of the last evaluations were on the same side of the level as the judged one
    evaluations: int = 0
    control: float = float("nan")  # the value of the same weights without messages
    cause: str = ""  # of a collapse, where there was a control: MESSAGES, COLLAPSED_TOO or UNSETTLED
    ending: Ending = ENDED
    scores: str = ""  # what the scores given to w.step add
    progress: float = float("nan")  # training accuracy by them, from the largest class (0) to 1
    rank: float = float("nan")  # effective rank
    dead: float = float("nan")  # share of the nodes whose vector is zero

    @property
    def failed(self) -> bool:
        """Whether ``spectrata check`` fails on it: not where the model has learned its training nodes all the same.

        Numbers that are not finite fail whatever was learned before, and so does a layer without a live node.
        """
        spared = self.kind == "collapsed" or (self.kind == "dead" and self.dead < 1)
        return self.kind in FAILURES and not (spared and self.progress >= POOR)

    @property
    def facts(self) -> dict[str, Any]:
        """The verdict as one row of a table."""
        names = ("snapshot", "value", "level", "agreeing", "evaluations", "control", "cause", "dead", "failed", "text")
        return {"kind": self.kind, "hop": 1, "column": None} | {name: getattr(self, name) for name in names}

    @property
    def text(self) -> str:
        """The verdict in one line."""
        place, other = " (outputs)" if self.place == OUTPUTS else "", self.evaluations - self.agreeing
        said = f"{_spelled(self.snapshot)}{place}: {SHOWN[self.kind]}"
        if self.kind in SIGNS:
            side = "above" if self.kind == "collapsed" else "below"
            times = f"now, {side} it at {other}" if other else f"at {self.agreeing}"
            said += f" {self.value:.2g} {SIGNS[self.kind]} {self.level:g} {times} of {self.evaluations} evaluations"
        said += f" ({self.ending.reason})" if self.ending.reason else ""
        if self.dead > MANY_ZERO:
            said += f"{',' if self.kind == 'dead' else ';'} {100 * self.dead:.3g} % of its vectors are zero"
        if self.cause:
            words = {MESSAGES: "so messages are the cause", UNSETTLED: "cause not settled"}
            why = "too" if self.cause == COLLAPSED_TOO else f"{self.control:.2g}, {words[self.cause]}"
            said += f"; control without messages: {why}"
        said += f"; {self.scores}" if self.scores else ""
        if self.kind in FAILURES and not self.failed:
            said += ", so the model still tells classes apart" + " by small differences" * (self.kind == "collapsed")
        return said + (f" ({self.ending.unchecked})" if self.ending.unchecked else "")

    def explain(self) -> str:
        """The rates and limits of the verdict, in sentences."""
        if self.kind not in SIGNS:
            why = "The levels hold for evaluations at the end of training."
            said = {
                "not_finite": "has NaN or infinite values: the model diverged. Look at the learning rate first.",
                "dead": f"gives {100 * self.dead:.3g} % of the nodes a zero vector: nothing behind tells them apart.",
                "training": f"is not judged: {self.ending.reason}. {why} {self.ending.advice}",
            }
            return f"{self.snapshot} {said[self.kind]}"
        known = LEVELS[self.place]
        text = (
            f"{self.snapshot} ({self.place}): scale the vector of each node to length 1, leave out vectors that are "
            "zero, and subtract the mean of each connected part of the graph; of the sum of squares "
            f"{self.value:.3g} is left. The level is {known.level:g}. A study of "
            f'trained models chose it (page "{STUDY}"). On graphs not used to choose it, it flagged '
            f"{100 * known.hit:.3g} % of {known.failed} failed and {100 * known.alarm:.2g} % of {known.good} "
            "good models."
        )
        if self.kind == "not_collapsed":
            text += f" A model above it may still fail: {100 - 100 * known.hit:.3g} % of the failed ones were."
        text += f" The effective rank of the vectors is {self.rank:.3g} (no level is set for it);"
        text += f" {100 * self.dead:.3g} % of the nodes have a zero vector."
        return text + (f" {self._explain_control()}" if self.kind == "collapsed" else "")

    def _explain_control(self) -> str:
        if not self.cause:
            return "Without a control (the same weights without messages) the cause is not known."
        rule = f"above the level and at least {MARGIN:g} times the layer's value at each of the last {RECENT_PASSES}"
        said = {
            COLLAPSED_TOO: "is below the level too, so messages are not needed to explain the collapse.",
            MESSAGES: f"is {rule} evaluations, so messages are the cause.",
            UNSETTLED: f"is not {rule} evaluations, so it is not settled whether messages are the cause.",
        }[self.cause]
        limit = "The weights were trained with messages; a network trained without them was not compared."
        advice = f" {REMEDY}" if self.cause == COLLAPSED_TOO and self.failed else ""
        return f"Without messages the same weights give {self.control:.3g}, which {said} {limit}{advice}"


def _spelled(layer: str) -> str:
    return layer.replace("/hidden", " hidden")


def verdicts(ds: "xr.Dataset", control: "xr.Dataset | None" = None) -> tuple[list[Verdict], list[str]]:
    """Judge the layers of one evaluation: the last hidden layer, the outputs, and the first dead or not finite layer.

    Also gives notes on what was not judged. ``control`` has the same layers of the same network without message
    passing; by default it is what the layers carry, where a control followed their evaluation.
    """
    if not is_layers(ds):
        raise OptionError("Only layers of a watched model are judged; give w.over_layers().")
    ds = ds if control is None else _with_control(ds, control)
    ending, broken, judged = ending_of(ds), _broken(ds), places(ds)
    scores, progress = accuracy_words(ds)
    rows = dict.fromkeys(list(broken)[:1], "") | {row: place for place, row in judged.items()}
    found, notes = [], _divergence(ds)
    for row, place in rows.items():
        one = ds.isel(snapshot=row)
        name = str(one["snapshot"].item())
        if row in broken:
            value, dead = float(one[MEASURE]), float(one["dead_rows"])
            found.append(Verdict(broken[row], name, place, value, dead=dead, scores=scores, progress=progress))
        elif "width" in one.coords and one["width"] == 1:
            notes.append(f"{name}: one column has no directions, and is not judged.")
        elif not np.isnan(one[MEASURE]):
            found.append(_judge(one, name, place, ending, scores, progress))
    level, hit, *_ = LEVELS[LAST_HIDDEN]
    low = np.flatnonzero((ds[MEASURE].values < level) & _is_state(ds))
    if len(low) and low[0] < judged.get(LAST_HIDDEN, 0):
        name, value = _spelled(str(ds["snapshot"].values[low[0]])), float(ds[MEASURE][low[0]])
        notes.append(f"First below {level:g}: {name}, {value:.2g} (described, not judged).")
    if found and all(one.kind == "not_collapsed" for one in found) and not (progress >= GOOD or _divergence(ds)):
        usual = f"A model can fail without collapse: {100 - 100 * hit:.0f} % of the study's failed models did."
        notes += OPTIMISATION if progress < POOR else [usual]
    return found, notes


def _is_state(ds: "xr.Dataset") -> np.ndarray:
    """Which rows are hidden states, or layers where there are none, and the outputs."""
    roles = ds["role"].values
    return np.isin(roles, ["hidden" if "hidden" in roles else "layer", "output"])


def _judge(one: "xr.Dataset", name: str, place: str, ending: Ending, scores: str, progress: float) -> Verdict:
    value, level = float(one[MEASURE]), LEVELS[place].level
    recent = one[RECENT].values if RECENT in one and one.sizes["evaluation"] else np.array([value])
    kind = "training" if ending.reason else "collapsed" if value < level else "not_collapsed"
    if kind == "collapsed" and scores == AT_CHANCE:
        scores += " as well"
    agreeing = int(np.sum((recent < level) == (value < level)))
    cause = _cause(one, recent, level) if kind == "collapsed" else ""
    control, rank, dead = (float(one.get(other, np.nan)) for other in (CONTROL, "effective_rank", "dead_rows"))
    facts: dict[str, Any] = {"control": control, "cause": cause, "ending": ending, "rank": rank, "dead": dead}
    return Verdict(kind, name, place, value, level, agreeing, len(recent), scores=scores, progress=progress, **facts)


def _cause(one: "xr.Dataset", recent: np.ndarray, level: float) -> str:
    """Name the cause only where the control names it at each of the last evaluations."""
    if CONTROL not in one or np.isnan(one[CONTROL]):
        return ""
    past = one[CONTROL_RECENT].values if CONTROL_RECENT in one else np.empty(0)
    if len(past) == RECENT_PASSES and np.all((past >= level) & (past >= MARGIN * recent)):
        return MESSAGES
    return COLLAPSED_TOO if one[CONTROL] < level else UNSETTLED


def _with_control(ds: "xr.Dataset", control: "xr.Dataset") -> "xr.Dataset":
    """The layers with the values of a control that was given; one of another epoch had other weights."""
    if not is_layers(control):
        raise OptionError("control must be layers of a watched model, as w.over_layers(mode='control') gives them.")
    epoch, other = (int(one.attrs["pass_epoch"]) for one in (ds, control))
    if min(epoch, other) >= 0 and epoch != other:
        raise OptionError(
            f"The layers are those of epoch {epoch} and control those of epoch {other}, which had other weights; "
            "give the control of the same evaluation."
        )
    known = dict(zip(control["snapshot"].values.tolist(), control[MEASURE].values, strict=True))
    values = [known.get(name, np.nan) for name in ds["snapshot"].values.tolist()]
    return ds.drop_vars(CONTROL_RECENT, errors="ignore").assign({CONTROL: ("snapshot", values)})


def is_layers(ds: Any) -> bool:
    """Whether a result has the layers of one pass over a whole graph as its snapshots, with what a verdict needs."""
    whole_graph = ds.attrs.get("kind") != "mini-batches"
    return ds.attrs.get("snapshot_kind") == "layers" and whole_graph and MEASURE in ds and 1 in ds["hop"].values


def places(ds: "xr.Dataset") -> dict[str, int]:
    """Rows of the last hidden state and of the outputs.

    Without hidden states, the last layer before the outputs counts. So does a layer after the last hidden state: its
    output goes into the last layer unchanged, and was not recorded as a hidden state.
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
    gone = dead >= (1.0 if ending_of(ds).reason else DEAD)  # dropout makes vectors zero, and training may revive some
    rows = np.flatnonzero((ds["role"].values != "input") & (lost | gone)).tolist()
    return {row: "dead" if gone[row] else "not_finite" for row in rows}


def layer_table(ds: "xr.Dataset") -> str:
    """Measures of the hidden states, the outputs and the judged layers, at most 80 columns wide, control beside."""
    heads = {MEASURE: MEASURE, CONTROL: "control", "r": "r", "r_control": "r control", "effective_rank": "rank"}
    heads, wide = heads | {"dead_rows": "zero"}, {MEASURE: 14, "effective_rank": 7, "dead_rows": 8}
    judged = {*list(_broken(ds))[:1], *places(ds).values()}
    shown = sorted(judged.union(np.flatnonzero(_is_state(ds)).tolist()))
    if "status" in ds and np.isnan(ds["dead_rows"].values[shown]).all():
        return f"No layer has a number ({ds['status'].isel(snapshot=shown[-1]).values.ravel()[0]})."
    known = ds[[name for name in heads if name in ds]].isel(snapshot=shown)
    labels = [str(name) for name in known["snapshot"].values]
    width = min(21, max(map(len, [*labels, "layer"])))

    def line(label: str, cells: Iterable[str]) -> str:
        label = label if len(label) <= width else f"...{label[3 - width :]}"
        sizes = (wide.get(str(name), 10) for name in known)
        return label.ljust(width) + "".join(cell.rjust(size) for cell, size in zip(cells, sizes, strict=True))

    rows = zip(labels, *(known[name].values.tolist() for name in known), strict=True)
    lines = [line(label, (f"{value:.3g}" for value in values)) for label, *values in rows]
    if len(lines) > MOST_ROWS:
        half = MOST_ROWS // 2
        kept = [one for row, one in zip(shown[half:-half], lines[half:-half], strict=True) if row in judged]
        lines[half:-half] = [*kept, f"... {len(lines) - MOST_ROWS - len(kept)} more layers, in w.over_layers()"]
    return "\n".join([line("layer", (heads[str(name)] for name in known)), *lines, LEGEND])


def scores_of(ds: "xr.Dataset") -> dict[str, np.ndarray]:
    """The finite scores given to ``w.step``, by name, in the order of their epochs."""
    known = {name: np.array(one, dtype=float) for name, one in json.loads(ds.attrs.get("scores", "{}")).items()}
    return {name: one[np.isfinite(one)] for name, one in known.items() if name != "epoch"}


def ending_of(ds: "xr.Dataset") -> Ending:
    """Tell whether training has ended, and whether what is judged is an evaluation.

    The median loss of the last tenth of the epochs is compared with that of the tenth before. From ``ENOUGH_EPOCHS``
    losses on, a difference within twice its own standard error counts as none: a loss that only scatters has ended.
    """
    if ds.attrs["pass_mode"] != "eval":
        kind = "training" if ds.attrs["pass_mode"] == "train" else "control"
        return Ending(f"a {kind} pass: use evaluate=10", "Passes recorded by hand are evaluations with mode='eval'.")
    scores = scores_of(ds)  # a loss of training says it if there is one, else any score
    name = min(scores, key=lambda one: ("loss" not in one.lower(), _is_held_out(one)), default="")
    values = scores.get(name, np.empty(0))
    if len(values) < FEWEST:
        epochs = int(ds.attrs.get("epochs", 0))  # 0: not known, or no training was seen
        given = f"{len(values)} values of {name}" if len(values) else "no loss"
        if 0 < epochs < ENOUGH_EPOCHS:
            advice = (
                f"Train for longer; w.step(loss=...) in each epoch tells the end of training from {FEWEST} epochs on."
            )
            return Ending(f"only {epochs} epochs, {given} given", advice)
        return Ending(unchecked=f"{given} given: end of training not checked" if epochs else "")
    size = len(values) // 10
    last, before = values[-size:], values[-2 * size : -size]
    change, total = abs(np.median(last) - np.median(before)), np.ptp(values)
    scatter = MEDIAN_ERROR * np.sqrt((last.var() + before.var()) / size) if len(values) >= ENOUGH_EPOCHS else 0.0
    limit = max(STILL * total, 2 * scatter)
    if change <= limit:
        return ENDED
    said = f"{100 * change / total:.1f} % of its total change in the last tenth of the epochs"
    return Ending(f"{name} still changes, by {said}; limit {100 * limit / total:.1f} %", "Train for longer.")


def _is_held_out(name: str) -> bool:
    return any(word in name.lower() for word in ("val", "test"))


def accuracy_words(ds: "xr.Dataset") -> tuple[str, float]:
    """Describe the median training accuracy of the last tenth of the epochs, and give it from the largest class to 1.

    Where labels are known, it stands beside that of always naming the largest class; else the progress is known where
    it would be poor or good in any case. Accuracies not called that of training keep their names and decide nothing.
    """
    known = scores_of(ds).items()
    ends = {name: one[-max(1, one.size // 10) :] for name, one in known if "acc" in name.lower() and one.size}
    own = [name for name in ends if "train" in name.lower() and not _is_held_out(name)]
    if not own:
        return ", ".join(f"{name} {np.median(last):.2g}" for name, last in ends.items()), float("nan")
    accuracy, epochs = float(np.median(ends[own[0]])), len(ends[own[0]])
    accuracy = accuracy / 100 if accuracy > 1 else accuracy
    words = f"train accuracy {accuracy:.2g}" + f" in the last {epochs} epochs" * (epochs > 1)
    share, count = ds.attrs.get("largest_class", 0.0), ds.attrs.get("labelled", 0)
    if not (share and count):
        return words, float("nan") if POOR <= accuracy < GOOD else accuracy
    # Two standard errors of guesses. The largest class alone is named without error, and guesses that also name others
    # lose by it: with a large class it takes less than that to exceed its share twice their standard error.
    margin = 2 * np.sqrt(share * (1 - share) / count)
    margin *= min(1.0, margin / max(2 * share - 1, margin, 1e-12))
    by_chance = accuracy <= share + max(margin, 1 / count)
    return AT_CHANCE if by_chance else f"{words} (largest class {share:.2g})", (accuracy - share) / (1 - share + 1e-12)


def _divergence(ds: "xr.Dataset") -> list[str]:
    """A note where the loss of training ended far above its start."""
    for name, values in scores_of(ds).items():
        last = np.median(values[-max(1, len(values) // 10) :]) if len(values) >= 10 else -np.inf
        if "loss" in name.lower() and not _is_held_out(name) and last > DIVERGED * values[0] > 0:
            return [f"The {name} ended at {last:.3g}, above its start {values[0]:.3g}: the training diverged."]
    return []
