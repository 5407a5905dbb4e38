"""What went wrong in a watched block, in sentences: nothing heard, and nothing but NaN."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from spectrata.torch.passes import INPUT

if TYPE_CHECKING:
    from spectrata.torch.watching import Watch


def silence(watch: "Watch") -> Iterator[str]:
    """Why no pass was recorded, or that some had no watched layer."""
    silent = watch.recorder.silent
    if watch.overhead.passes > silent:
        if silent:
            yield f"in {silent} passes no watched layer was called"
    elif watch.recorder.mode == "none" and watch.overhead.evaluations and not silent:
        return
    elif watch.compiled:
        yield (
            "the model is compiled and its layers do not call hooks, so nothing was recorded: watch and call the "
            "uncompiled model for the passes to record, or give activations to w.record({name: tensor})"
        )
    elif silent:
        yield (
            f"{silent} forward passes called none of the watched layers ({', '.join(watch.layers)})"
            "; is a compiled copy of the model being trained?"
        )
    elif not watch.overhead.evaluations:
        yield (
            "no forward pass of the watched model was seen in the chosen mode "
            f"({watch.recorder.mode!r}); was another copy of it called, or a compiled one?"
        )


def undefined(counted: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Layers without one finite activation, of rows and undefined rows by layer."""
    found = {name: rows for name, rows in counted.items() if name != INPUT}
    bad = [name for name, (rows, without) in found.items() if without == rows]
    if bad and len(bad) == len(found):
        yield "every activation of every layer has NaN or infinite values"
    elif bad:
        names = ", ".join(bad[:4]) + (" and others" if len(bad) > 4 else "")
        yield f"every activation of {names} has NaN or infinite values"
