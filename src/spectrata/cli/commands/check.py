"""``spectrata check``: whether a recorded run shows what a build should fail on."""

from pathlib import Path
from typing import Annotated, Any

import typer

from spectrata.cli.failures import Code
from spectrata.cli.options import COMPUTED, JSON, option
from spectrata.cli.render import as_json, text
from spectrata.errors import FileFormatError, ResultError

FAIL_ON = ("collapse", "unjudged")


def check(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The log of a watched model, .zarr, or saved layers.")],
    fail_on: str = option(
        "collapse", COMPUTED, "collapse", "collapse, or unjudged: that no layer was judged fails too."
    ),
    json: bool = JSON,
) -> None:
    """Check the last evaluation in RUN; exit with code 3 if a layer has collapsed, is dead or not finite."""
    from spectrata.inputs.numbers import one_of
    from spectrata.results.files import open as open_result
    from spectrata.stats.findings.verdict import verdicts

    one_of(fail_on, "fail_on", FAIL_ON)
    unfinished = _unfinished(run)
    if unfinished and not Path(run).exists():
        raise FileFormatError(unfinished[0])
    try:
        found = verdicts(judged_pass(open_result(run), run))
    except ResultError as problem:  # what was named on the command line is input
        raise FileFormatError(str(problem)) from problem
    unjudged = all(one.kind == "training" for one in found)
    notes = [*found.notes, *(["No layer was judged; this is no sign that the run is sound."] * unjudged), *unfinished]
    failed = bool(found.failed) or (unjudged and fail_on == "unjudged")
    if json:
        facts = {"command": "check", "run": run, "fail_on": fail_on, "failed": failed}
        as_json(facts | {"findings": found.to_frame().to_dict("records"), "notes": notes})
    else:
        for line in [*(one.text for one in found), *notes]:
            text(line)
    if failed:
        raise typer.Exit(Code.FOUND)


def judged_pass(ds: Any, path: str) -> Any:
    """Layers of the pass that is judged, of a log, a saved run or saved layers."""
    from spectrata.stats.findings.verdict import is_layers
    from spectrata.stats.findings.watched import is_rows, is_run, last_pass, one_pass

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
