"""``spectrata check``: whether a recorded run shows what a build should fail on."""

from pathlib import Path
from typing import Any

import typer

from spectrata.cli import describe
from spectrata.cli.tables import print_text
from spectrata.errors import OptionError, ResultError

FAIL_ON = ("collapse",)
FAILED = 3  # exit code: 1 and 2 are for a check that could not be made


def check(path: str, *, fail_on: str, as_json: bool) -> None:
    """Print the verdicts on the last evaluation of a run; exit code 3 where a layer failed."""
    import spectrata as st
    from spectrata.stats.verdict import verdicts

    if fail_on not in FAIL_ON:
        raise OptionError(f"--fail-on {fail_on} is not known; it may be {', '.join(FAIL_ON)}.")
    found = verdicts(judged_pass(st.open(path), path))
    notes = [*found.notes, *_unfinished(path)]
    if as_json:
        rows = found.to_frame().astype(object).where(lambda cell: cell.notna(), None).to_dict("records")
        facts = {"run": path, "fail_on": fail_on, "failed": bool(found.failed), "findings": rows, "notes": notes}
        typer.echo(describe.to_json(facts))
    else:
        for line in [*(one.text for one in found), *notes]:
            print_text(line)
    if found.failed:
        raise typer.Exit(FAILED)


def judged_pass(ds: Any, path: str) -> Any:
    """Layers of the pass that is judged, of a log, a saved run or saved layers."""
    from spectrata.stats.verdict import is_layers
    from spectrata.stats.watched import is_rows, is_run, last_pass, one_pass

    if is_rows(ds):
        return one_pass(ds)
    layers = last_pass(ds) if is_run(ds) else ds
    if not is_layers(layers):
        raise ResultError(
            f"{path} is not a recorded run; give the .zarr that watch(..., log=) wrote, or a saved w.over_layers()."
        )
    return layers


def _unfinished(path: str) -> list[str]:
    """Whether a killed run left passes beside its log."""
    journal = Path(f"{path}.journal")
    if not journal.is_file() or not journal.stat().st_size:
        return []
    return [f"{journal} holds passes that are not in the log; spectrata.torch.recover({path!r}) adds them."]
