"""``python -m reproduction``: what is run, what is refused and what is printed."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest

from reproduction.__main__ import main
from reproduction.studies import fidelity
from reproduction.tasks.settings import FULL, QUICK
from spectrata.kernels import threads


@pytest.mark.needs("sklearn")
def test_verdicts_are_those_of_the_file_and_studies_come_first(tmp_path, monkeypatch, capsys):
    from reproduction import runner
    from reproduction.tasks import settings

    asked = []
    monkeypatch.setattr(settings, "QUICK", replace(QUICK, trials=2, few_trials=2, ln_vx_epochs=20))
    monkeypatch.setattr(fidelity, "run", lambda *given: (asked.append(given), pd.DataFrame())[1])
    monkeypatch.setattr(runner, "reproduce", partial(runner.reproduce, pictures=False))
    assert main(["fidelity", "text", "--quick", "--jobs", "1", "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))["claims"]
    verdicts = Counter(one["verdict"] for one in claims if not one["of"])
    assert f"{verdicts['holds']} hold" in printed.out
    rows = {line.split()[-1]: line for line in printed.out.splitlines()}
    assert all(one["verdict"] in rows[one["id"]] for one in claims)
    assert printed.out.index("fidelity.md") < printed.out.index("intro-4-cycle")
    assert "sections 1 and 2" in printed.err
    assert asked == [(tmp_path / "fidelity", 0, True)]


@pytest.mark.needs("sklearn")
def test_sizes_seed_and_processes_reach_the_run(tmp_path, monkeypatch):
    from reproduction import runner

    asked = []

    def record(tasks, folder, settings, jobs, say):
        asked.append((tuple(tasks), settings.seed, settings.runs, jobs))
        return []

    monkeypatch.setattr(runner, "reproduce", record)
    assert main(["3", "--seed", "7", "--jobs", "2", "-o", str(tmp_path)]) == 0
    assert main(["--quick", "-o", str(tmp_path)]) == 0
    assert asked == [(("3",), 7, FULL.runs, 2), ((), 0, QUICK.runs, threads.threads())]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["text", "--seed", "-1"], "--seed -1 must be a whole number, 0 or more."),
        (["text", "--jobs", "0"], "--jobs 0 must be a whole number, 1 or more."),
        pytest.param(["9"], "There is no task '9'", marks=pytest.mark.needs("sklearn")),
    ],
)
def test_what_cannot_be_run_is_refused(tmp_path, capsys, words, said):
    assert main([*words, "-o", str(tmp_path)]) == 2
    assert f"error: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(("task", "extra"), [("text", "probe"), ("models", "torch")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, capsys, task, extra):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main([task, "-o", str(tmp_path)]) == 2
    assert f"pip install 'spectrata[{extra}]'" in capsys.readouterr().err


@pytest.mark.needs("torch")
def test_a_finished_study_of_models_is_reported_and_one_with_units_left_is_not(tmp_path, monkeypatch, capsys):
    from reproduction.studies.models import report, running

    told = []
    monkeypatch.setattr(running, "run", lambda *given, **named: 0)
    monkeypatch.setattr(report, "report", lambda *given: told.append("report"))
    monkeypatch.setattr(report, "publish", lambda *given: told.append("publish"))
    assert main(["models", "--quick", "-o", str(tmp_path)]) == 0
    assert told == ["report"]  # nothing is published unless a place is named
    monkeypatch.setattr(running, "run", lambda *given, **named: 3)
    assert main(["models", "--quick", "-o", str(tmp_path)]) == 1
    assert "3 units are left; run the same command to continue." in capsys.readouterr().out
    assert told == ["report"]
