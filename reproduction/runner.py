"""One call that runs the experiments, judges every claim and writes the page."""

from collections.abc import Iterable
from pathlib import Path

from reproduction.claims import page
from reproduction.claims.judge import Record, judge_all, to_csv, to_json
from reproduction.claims.numbers import Results
from reproduction.figures import animation, drawing
from reproduction.figures import runs as figures_runs
from reproduction.figures import task3 as figures_task3
from reproduction.pool import Call, Say, run_calls
from reproduction.store import write_text
from reproduction.tasks import section2, smoothing_runs, task1, task2, task3
from reproduction.tasks.settings import FULL, Settings
from reproduction.words import FIGURES
from spectrata.errors import OptionError
from spectrata.results.atomic_io import written_whole
from spectrata.results.files import to_netcdf

TASKS = ("text", "1", "2", "3", "4", "5", "6", "7", "8")


def resolve_tasks(tasks: Iterable[str]) -> tuple[str, ...]:
    """Check the names of tasks; none or "all" means every one."""
    wanted = {task.lower().removeprefix("task").strip() for task in tasks}
    if not wanted or "all" in wanted:
        return TASKS
    for name in sorted(wanted):
        if name not in TASKS:
            raise OptionError(f"There is no task {name!r}; the tasks are {', '.join(TASKS)}, or all.")
    return tuple(name for name in TASKS if name in wanted)


def reproduce(
    tasks: Iterable[str], out: Path, settings: Settings = FULL, jobs: int = 1, say: Say = print, pictures: bool = True
) -> list[Record]:
    """Run tasks of the paper, judge all its claims and write everything to a folder.

    Finished units of work are kept under ``out/units``; the same call after a stop goes on from them and gives the
    same numbers. Claims whose task is not run are recorded as unchecked.
    """
    chosen = resolve_tasks(tasks)
    results = measure(chosen, out, settings, jobs, say)
    records = judge_all(results)
    save_data(results, out)
    if pictures:
        say("figures and films")
    figures = draw(results, out, settings, jobs) if pictures else {}
    say("writing the page")
    if "text" in chosen:
        write_text(out / "errata.md", page.errata())
    write_page(records, settings, figures, out)
    return records


def measure(chosen: tuple[str, ...], out: Path, settings: Settings, jobs: int, say: Say) -> Results:
    results = Results()
    if "text" in chosen:
        say("sections 1 and 2")
        results.text = section2.measure(settings)
    if "1" in chosen or "2" in chosen:
        say("Task 1: graphs and their spectra")
        results.task1 = task1.run(settings, out, jobs)
        results.task2 = task2.run(results.task1)
    if "3" in chosen:
        say("Task 3: a regularised low-pass filter")
        results.task3 = task3.run(settings, out, jobs)
    if set(chosen) & set("45678"):
        say(f"Tasks 4 to 8: {settings.runs} runs")
        results.runs = smoothing_runs.run(settings, out, jobs)
    return results


def save_data(results: Results, out: Path) -> None:
    named = {"task1": results.task1, "task2": results.task2, "task3": results.task3, "tasks4-8": results.runs}
    for name, ds in named.items():
        if ds is not None:
            with written_whole(out / "data" / f"{name}.nc") as beside:
                to_netcdf(ds, beside)


def draw(results: Results, out: Path, settings: Settings, jobs: int = 1) -> dict[str, Path]:
    """All figures, supplements and films of what was run: title to file."""
    parts = {name: ds for name, ds in vars(results).items() if name in FIGURES and ds is not None}
    more = {"runs": figures_runs.supplements, "task3": figures_task3.supplements}  # the longest first
    calls: list[Call] = [(more[name], (parts[name], out / "supplements")) for name in more if name in parts]
    calls += animation.calls(results.task3, results.runs, settings, out / "films")
    calls += [(drawing.draw, (name, ds, out / "figures")) for name, ds in parts.items()]
    return {title: path for made in run_calls(calls, jobs) for title, path in made.items()}


def write_page(records: list[Record], settings: Settings, figures: dict[str, Path], out: Path) -> None:
    plain = vars(settings)
    write_text(out / "claims.json", to_json(records, plain))
    write_text(out / "claims.csv", to_csv(records))
    write_text(out / "claims.md", page.to_markdown(records, plain))
    write_text(out / "index.html", page.to_html(records, plain, figures, out))
