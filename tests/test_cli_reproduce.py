"""``spectrata reproduce``: what is run, what is refused and what is printed."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from commanding import run
from spectrata.experiments.studies import fidelity
from spectrata.experiments.tasks.settings import FULL, QUICK


def test_the_table_of_planted_spectra_is_printed_as_json(tmp_path, monkeypatch):
    kept = pd.DataFrame({"algorithm": ["gft", "in_agg"], "correlation": [1.0, 0.25]})
    asked = []
    monkeypatch.setattr(fidelity, "run", lambda *given: (asked.append(given), kept)[1])
    result = run("reproduce", "fidelity", "--quick", "--seed", "5", "-o", tmp_path, "--json")
    assert json.loads(result.stdout) == kept.to_dict(orient="records")
    result = run("reproduce", "fidelity", "-o", tmp_path)
    assert result.stdout.split() == [
        "written:",
        f"{tmp_path}/fidelity/fidelity.md,",
        f"{tmp_path}/fidelity/fidelity.csv",
    ]
    assert asked == [(tmp_path / "fidelity", 5, True), (tmp_path / "fidelity", 0, False)]


@pytest.mark.needs("sklearn")
def test_verdicts_are_those_of_the_file_and_other_studies_come_first(tmp_path, monkeypatch):
    from spectrata.experiments import runner
    from spectrata.experiments.tasks import settings

    small = replace(QUICK, trials=2, few_trials=2, ln_vx_epochs=20)
    monkeypatch.setattr(settings, "QUICK", small)
    monkeypatch.setattr(fidelity, "run", lambda *given: pd.DataFrame())
    monkeypatch.setattr(runner, "reproduce", partial(runner.reproduce, pictures=False))
    result = run("reproduce", "fidelity", "text", "--quick", "--jobs", "1", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))["claims"]
    verdicts = Counter(one["verdict"] for one in claims)
    assert f"{verdicts['holds']} hold" in result.stdout
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line[:1].isalpha()}
    assert all(one["verdict"] in rows[one["id"]] for one in claims)
    assert result.stdout.index("fidelity.md") < result.stdout.index("intro-4-cycle")
    assert "note: sections 1 and 2" in result.stderr


@pytest.mark.needs("sklearn")
def test_sizes_seed_and_processes_reach_the_run(tmp_path, monkeypatch):
    from spectrata.experiments import runner

    asked = []

    def record(tasks, folder, settings, jobs, say):
        asked.append((tuple(tasks), settings.seed, settings.runs, jobs))
        folder.mkdir(exist_ok=True)
        (folder / "claims.json").write_text('{"claims": []}', encoding="utf-8")
        return []

    monkeypatch.setattr(runner, "reproduce", record)
    assert run("reproduce", "3", "--seed", "7", "--jobs", "2", "-o", tmp_path / "a", "--json").stdout.strip() == (
        '{"claims": []}'
    )
    assert run("reproduce", "--quick", "-o", tmp_path / "b", "--json").exit_code == 0
    assert asked == [(("3",), 7, FULL.runs, 2), ((), 0, QUICK.runs, None)]


def test_a_seed_below_zero_is_refused(tmp_path):
    result = run("reproduce", "text", "--seed", "-1", "-o", tmp_path)
    assert (result.exit_code, result.stderr.strip()) == (2, "error: --seed -1 must be a whole number, 0 or more.")


@pytest.mark.parametrize(("task", "package", "extra"), [("text", "sklearn", "probe"), ("models", "torch", "torch")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, task, package, extra):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    monkeypatch.setattr("spectrata.cli.reproduce.find_spec", lambda name: None)
    result = run("reproduce", task, "-o", tmp_path)
    assert result.exit_code == 1
    assert f"pip install 'spectrata[{extra}]'" in result.stderr


@pytest.mark.needs("torch")
def test_a_finished_study_of_models_is_reported(tmp_path, monkeypatch):
    from spectrata.experiments.studies.models import report, running

    def write(protocol, folder, data, say):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / report.LEVELS).write_text('{"positions": {}}', encoding="utf-8")

    monkeypatch.setattr(running, "run", lambda *given, **named: 0)
    monkeypatch.setattr(running, "unpack", lambda protocol, folder, place: 12)
    monkeypatch.setattr(report, "report", write)
    result = run("reproduce", "models", "--quick", "-o", tmp_path, "--resume", "old", "--json")
    assert json.loads(result.stdout) == {"positions": {}}
    assert "note: 12 units taken from old" in result.stderr
    result = run("reproduce", "models", "--quick", "-o", tmp_path)
    assert result.stdout.startswith("written: ")
    assert report.LEVELS in result.stdout
