"""``spectrata reproduce``: the paper's experiments, figures and a verdict on every claim."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from spectrata.cli import files
from spectrata.cli.tables import print_table, print_text
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
    data: str | None = None,
    limit_seconds: float | None = None,
    resume: str | None = None,
) -> None:
    """Run the tasks, write the claims page, and print the verdicts."""
    if seed < 0:
        raise OptionError(f"seed={seed} must be a whole number, 0 or more.")
    folder = files.chosen_folder(out, DEFAULT_FOLDER)
    if "models" in (tasks or ()):
        _models(folder / "models", seed, quick, jobs, as_json, data, limit_seconds, resume)
        tasks = [task for task in tasks or () if task != "models"]
        if not tasks:
            return
    if "fidelity" in (tasks or ()):
        _fidelity(folder / "fidelity", seed, quick, as_json)
        tasks = [task for task in tasks or () if task != "fidelity"]
        if not tasks:
            return
    try:
        import sklearn  # noqa: F401
    except ImportError as problem:
        raise missing_extra("scikit-learn", "probe", "Reproducing the paper") from problem
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
        print_text(f"written: {folder / 'fidelity.md'}, {folder / 'fidelity.csv'}")


def _models(
    folder: Path,
    seed: int,
    quick: bool,
    jobs: int | None,
    as_json: bool,
    data: str | None,
    limit_seconds: float | None,
    resume: str | None,
) -> None:
    """What activations tell about trained models; reported once every model has its record."""
    if find_spec("torch") is None:
        raise missing_extra("torch", "torch", "The study over trained models")
    from spectrata.experiments.studies.models import running
    from spectrata.experiments.studies.models.protocol import FULL, QUICK
    from spectrata.experiments.studies.models.report import LEVELS, report
    from spectrata.kernels import fast

    protocol = replace(QUICK if quick else FULL, seed=seed)

    def note(text: str) -> None:
        say(f"note: {text}")

    if resume is not None:
        note(f"{running.unpack(protocol, folder, resume)} units taken from {resume}")
    left = running.run(protocol, folder, data, jobs or fast.threads(), limit_seconds, say=note)
    if left:
        print_text(f"{left} units are left; run the same command to continue.")
        return
    report(protocol, folder, data, note)
    if as_json:
        console().print((folder / LEVELS).read_text(encoding="utf-8"), soft_wrap=True)
    else:
        print_text(f"written: {folder / LEVELS}, {folder / 'tables'}, {folder / 'figures'}")


def _print(records: list, folder: Path) -> None:
    from spectrata.experiments.claims.page import counts

    print_text(f"{counts(records)}; the page is {folder / 'index.html'}")
    names = ("task", "verdict", "checks")
    columns = {name: [str(getattr(record, name)) for record in records] for name in names}
    print_table({"claim": [record.id for record in records]}, columns, left=("claim", *names))
