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
    from spectrata.stats.collapse import above_levels, collapsed

    if fail_on not in FAILURES:
        raise OptionError(f"--fail-on {fail_on} is not known; it may be {', '.join(FAILURES)}.")
    judged = last_pass(st.open(path), path)
    found, above = collapsed(judged), above_levels(judged)
    if as_json:
        rows = [{"kind": one.kind, "snapshot": one.snapshot, "value": one.value, "text": one.text} for one in found]
        typer.echo(
            describe.to_json({"run": path, "fail_on": fail_on, "failed": bool(found), "findings": rows, "notes": above})
        )
    else:
        for line in [*map(str, found), *above]:
            print_text(line)
    if found:
        raise typer.Exit(FAILED)


def last_pass(ds: Any, path: str) -> Any:
    """Layers of the pass that is judged, the last in evaluation mode or else the last, with its control."""
    from spectrata.torch.shape import one_pass

    if "snapshot" not in ds.dims or not {"layer", "mode", "role", "step"} <= set(ds.coords):
        raise ResultError(f"{path} is not the log of a watched model; give the .zarr that watch(..., log=) wrote.")
    return one_pass(ds, None, None)
