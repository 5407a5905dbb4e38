"""``spectrata check``: whether a recorded run shows what a build should fail on."""

from typing import Any

import typer

from spectrata.cli import describe
from spectrata.cli.tables import print_text
from spectrata.errors import OptionError, ResultError

FAILURES = ("collapse",)
FAILED = 3  # exit code: 1 and 2 are for a check that could not be made


def check(path: str, *, fail_on: str, as_json: bool) -> None:
    """Print what the last evaluation of a run shows; exit code 3 where that is one of ``fail_on``."""
    import spectrata as st

    if fail_on not in FAILURES:
        raise OptionError(f"--fail-on {fail_on} is not known; it may be {', '.join(FAILURES)}.")
    found = judge(layers_of(st.open(path), path))
    if as_json:
        rows = [{"kind": one.kind, "snapshot": one.snapshot, "text": one.text, **one.evidence} for one in found]
        typer.echo(describe.to_json({"run": path, "fail_on": fail_on, "failed": bool(found), "findings": rows}))
    else:
        for one in found:
            print_text(str(one))
        if not found:
            print_text(f"{path}: no layer of the last evaluation has collapsed.")
    if found:
        raise typer.Exit(FAILED)


def layers_of(ds: Any, path: str) -> Any:
    """The layers of the pass that is judged: the last in evaluation mode, or the last where there is none."""
    from spectrata.torch.shape import one_pass

    if "snapshot" not in ds.dims or not {"layer", "mode", "role", "step"} <= set(ds.coords):
        raise ResultError(f"{path} is not the log of a watched model; give the .zarr that watch(..., log=) wrote.")
    return one_pass(ds, None, None)


def judge(ds: Any) -> list[Any]:
    """The layers that have collapsed, as findings."""
    try:
        from spectrata.analysis.collapse import collapsed
    except ImportError:
        raise ResultError(
            "This version of spectrata has no levels for collapse; read off_zero_live, effective_rank and dead_rows "
            "of the log instead."
        ) from None
    return list(collapsed(ds))
