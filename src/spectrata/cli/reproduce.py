"""``spectrata reproduce``: the paper's experiments, figures and a verdict on every claim."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from spectrata.cli import files
from spectrata.cli.terminal import console, say
from spectrata.errors import OptionError, missing_extra

DEFAULT_FOLDER = "spectrata-reproduction"


def reproduce(
    tasks: list[str] | None = None,
    *,
    out: str | None = None,
    quick: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    as_json: bool = False,
    scheduler: str | None = None,
) -> None:
    """Run the tasks, write the claims page, and print the verdicts."""
    if seed < 0:
        raise OptionError(f"seed={seed} must be a whole number, 0 or more.")
    folder = files.chosen_folder(out, DEFAULT_FOLDER)
    if "fidelity" in (tasks or ()):
        _fidelity(folder / "fidelity", seed, quick, as_json)
        tasks = [task for task in tasks or () if task != "fidelity"]
        if not tasks:
            return
    try:
        import sklearn  # noqa: F401
    except ImportError as problem:
        raise missing_extra("scikit-learn", "experiments", "Reproducing the paper") from problem
    from spectrata.experiments.runner import reproduce as run
    from spectrata.experiments.tasks.settings import FULL, QUICK

    settings = replace(QUICK if quick else FULL, seed=seed)
    with _cluster(scheduler):
        records = run(tasks or (), folder, settings, jobs, say=lambda text: say(f"note: {text}"))
    if as_json:
        console().print((folder / "claims.json").read_text(encoding="utf-8"), soft_wrap=True)
        return
    _print(records, folder)


@contextmanager
def _cluster(scheduler: str | None) -> Iterator[None]:
    """Units of work on a Dask cluster inside the block, where one is asked for."""
    if scheduler is None:
        yield
        return
    from spectrata.experiments.tasks.parallel import units_on
    from spectrata.many.dask import dask_executor

    with dask_executor(scheduler) as executor, units_on(executor):
        yield


def _fidelity(folder: Path, seed: int, quick: bool, as_json: bool) -> None:
    """How well each algorithm recovers planted spectra: no claim of the paper's, so without a verdict."""
    from spectrata.experiments.studies.fidelity import run

    table = run(folder, seed, quick)
    if as_json:
        console().print(table.to_json(orient="records"), soft_wrap=True)
    else:
        console().print(f"written: {folder / 'fidelity.md'}, {folder / 'fidelity.csv'}", soft_wrap=True)


def _print(records: list, folder: Path) -> None:
    from rich.table import Table

    from spectrata.experiments.claims.page import counts

    table = Table("claim", "task", "verdict", "checks", box=None, pad_edge=False)
    for record in records:
        table.add_row(record.id, record.task, record.verdict, record.checks)
    console().print(table)
    console().print(f"{counts(records)}; the page is {folder / 'index.html'}")
