"""``python -m reproduction``: the paper's tasks with a verdict on every claim, and the studies of this package."""

import argparse
import contextlib
import importlib
import importlib.util
import math
import sys
from dataclasses import replace
from pathlib import Path

from spectrata.errors import OptionError, SpectrataError, missing_extra
from spectrata.kernels import threads

STUDIES = ("fidelity", "calibration", "models")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    words = f"text, 1 to 8, all (default), or a study: {', '.join(STUDIES)}"
    made.add_argument("tasks", nargs="*", metavar="TASK", help=words)
    made.add_argument(
        "-o", "--out", type=Path, default="spectrata-reproduction", help="folder to write to (default: %(default)s)"
    )
    made.add_argument("--quick", action="store_true", help="10 graphs per series and 50 runs; a few small models")
    made.add_argument("--seed", type=int, default=0, help="seed of graphs, signals, initial values and learning")
    made.add_argument("--jobs", type=int, help="number of processes (default: one per core)")
    made.add_argument("--scheduler", help="Dask cluster that the tasks run on, as tcp://host:8786")
    models = made.add_argument_group("the study of models")
    models.add_argument("--data", type=Path, help="folder of the graphs' files, needed without --quick")
    models.add_argument("--limit-seconds", type=float, default=math.inf, help="start no training after this time")
    models.add_argument("--device", default="", help="cuda or cpu")
    models.add_argument("--no-report", action="store_true", help="train and measure only")
    models.add_argument("--publish", type=Path, help="checkout whose levels, page and figures are replaced")
    return made


def main(words: list[str] | None = None) -> int:
    """Run what the words ask for; 2 where they cannot be followed, 1 where work is left."""
    given = parser().parse_args(words)
    try:
        if given.seed < 0:
            raise OptionError(f"--seed {given.seed} must be a whole number, 0 or more.")
        if given.jobs is not None and given.jobs < 1:
            raise OptionError(f"--jobs {given.jobs} must be a whole number, 1 or more.")
        left = [run_study(name, given) for name in STUDIES if name in given.tasks]
        tasks = [task for task in given.tasks if task not in STUDIES]
        if tasks or not given.tasks:
            run_tasks(tasks, given)
    except SpectrataError as problem:
        say(f"error: {problem}")
        return 2
    return 1 if any(left) else 0


def run_tasks(tasks: list[str], given: argparse.Namespace) -> None:
    need("sklearn", "probe", "Reproducing the paper")
    from reproduction.claims import page
    from reproduction.runner import reproduce
    from reproduction.tasks.settings import FULL, QUICK

    settings = replace(QUICK if given.quick else FULL, seed=given.seed)
    with contextlib.ExitStack() as stack:
        if given.scheduler:
            from reproduction.pool import units_on
            from spectrata.many.dask import dask_executor

            stack.enter_context(units_on(stack.enter_context(dask_executor(given.scheduler))))
        records = reproduce(tasks, given.out, settings, given.jobs or threads.threads(), say)
    for record in records:
        print(f"{record.task:4} {record.verdict:10} {record.checks:17} {record.id}")
    print(f"{page.told(records)}; the page is {given.out / 'index.html'}")


def need(package: str, extra: str, purpose: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise missing_extra(package, extra, purpose)


def run_study(name: str, given: argparse.Namespace) -> int:
    folder = given.out / name
    if name != "models":
        importlib.import_module(f"reproduction.studies.{name}").run(folder, given.seed, given.quick)
        print(f"written: {folder / name}.md, {folder / name}.csv")
        return 0
    need("torch", "torch", "The study of trained models")
    from reproduction.studies.models import running
    from reproduction.studies.models.protocol import FULL, QUICK

    protocol, jobs = replace(QUICK if given.quick else FULL, seed=given.seed), given.jobs or threads.threads()
    left = running.run(protocol, folder, given.data, jobs, given.limit_seconds, given.device, say)
    if left:
        print(f"{left} units are left; run the same command to continue.")
    elif not given.no_report:
        from reproduction.studies.models.report import publish, report

        report(protocol, folder, given.data, say)
        print(f"written: {folder}")
        if given.publish:
            publish(folder, given.publish)
    return left


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
