"""``spectrata check``: whether a recorded run shows what a build should fail on."""

from pathlib import Path
from typing import Annotated

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
    from spectrata.stats.findings.collapse import verdicts
    from spectrata.stats.findings.watched import judged_pass, unfinished_passes

    one_of(fail_on, "fail_on", FAIL_ON)
    unfinished = unfinished_passes(run)
    if unfinished and not Path(run).exists():
        raise FileFormatError(unfinished[0])
    try:
        found, notes = verdicts(judged_pass(open_result(run), run))
    except ResultError as problem:  # what was named on the command line is input
        raise FileFormatError(str(problem)) from problem
    unjudged = all(one.kind == "training" for one in found)
    notes += [*(["No layer was judged; this is no sign that the run is sound."] * unjudged), *unfinished]
    failed = any(one.failed for one in found) or (unjudged and fail_on == "unjudged")
    if json:
        facts = {"command": "check", "run": run, "fail_on": fail_on, "failed": failed}
        as_json(facts | {"findings": [one.facts for one in found], "notes": notes})
    else:
        for line in [*(one.text for one in found), *notes]:
            text(line)
    if failed:
        raise typer.Exit(Code.FOUND)
