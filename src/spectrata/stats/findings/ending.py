"""What the scores of a watched run say: whether training has ended, and how accurate the model is on its own nodes."""

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

AT_CHANCE = "train accuracy at chance"
ENOUGH_EPOCHS = 50  # without a loss, a shorter run counts as still training
STILL = 0.05  # change of the loss between the last two tenths, of its total change, up to which training has ended
FEWEST = 30  # losses from which on their course is read: three in each tenth
POOR = 0.5  # training accuracy, from the largest class (0) to 1, below which a model has not learned its training nodes


class Ending(NamedTuple):
    """Whether training has ended, as far as a run tells."""

    reason: str = ""  # why layers are not judged
    advice: str = ""  # what to do about it
    unchecked: str = ""  # why layers are judged although the end of training is not known


ENDED = Ending()


def scores_of(ds: "xr.Dataset") -> dict[str, list[float]]:
    """The scores given to ``w.step``, by name, in the order of their epochs."""
    return {name: one for name, one in json.loads(ds.attrs.get("scores", "{}")).items() if name != "epoch"}


def ending_of(ds: "xr.Dataset") -> Ending:
    """Whether training has ended, and what is judged is an evaluation.

    The median loss of the last tenth of the epochs is compared with that of the tenth before. From ``ENOUGH_EPOCHS``
    losses on, a difference within twice its own standard error counts as none: a loss that only scatters has ended.
    """
    if ds.attrs["pass_mode"] != "eval":
        kind = "training" if ds.attrs["pass_mode"] == "train" else "control"
        return Ending(f"a {kind} pass: use evaluate=10", "Passes recorded by hand are evaluations with mode='eval'.")
    scores = scores_of(ds)  # a loss of training says it if there is one, else any score
    name = min(scores, key=lambda one: ("loss" not in one.lower(), _is_held_out(one)), default="")
    values = np.array(scores.get(name, []), dtype=float)
    values = values[np.isfinite(values)]
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
    scatter = 1.25 * np.sqrt((last.var() + before.var()) / size) if len(values) >= ENOUGH_EPOCHS else 0.0
    limit = max(STILL * total, 2 * scatter)
    if change <= limit:
        return ENDED
    said = f"{100 * change / total:.1f} % of its total change in the last tenth of the epochs"
    return Ending(f"{name} still changes, by {said}; limit {100 * limit / total:.1f} %", "Train for longer.")


def _is_held_out(name: str) -> bool:
    return any(word in name.lower() for word in ("val", "test"))


def accuracy_words(ds: "xr.Dataset") -> tuple[str, bool]:
    """Describe the median accuracy of training in the last tenth of the epochs, and whether it is poor.

    Where labels are known, it stands beside that of always naming the largest class.
    """
    known = scores_of(ds)
    own = [name for name in known if "acc" in name.lower() and not _is_held_out(name)]
    values = np.array(known[own[0]] if own else [], dtype=float)
    values = values[np.isfinite(values)]
    if not len(values):
        return "", False
    accuracy = float(np.median(values[-max(1, len(values) // 10) :]))
    accuracy = accuracy / 100 if accuracy > 1 else accuracy
    share, count = ds.attrs.get("largest_class", 0.0), ds.attrs.get("labelled")
    words = f"train accuracy {accuracy:.2g}" + (f" (largest class {share:.2g})" if share and count else "")
    if share and count and accuracy <= share + 2 * np.sqrt(share * (1 - share) / count):
        words = AT_CHANCE
    return words, accuracy < share + POOR * (1 - share)
