"""A run killed in the middle, run again, ends with the numbers of one that was never stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CODE = """
import sys
from pathlib import Path

from reproduction.runner import reproduce
from reproduction.tasks.settings import Settings

if __name__ == "__main__":
    tiny = Settings(graphs=2, trials=2, few_trials=2, ln_vx_epochs=60, low_pass_epochs=50, runs=10, epochs=60,
                    bases=2, resamples=20)
    reproduce([sys.argv[1]], Path(sys.argv[2]), tiny, int(sys.argv[3]), pictures=False)
"""


def start(task: str, out: Path, script: Path, jobs: int) -> subprocess.Popen:
    script.write_text(CODE)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, str(script), task, str(out), str(jobs)], env=environment)


def units(out: Path, prefix: str) -> list[Path]:
    return [path for path in out.glob(f"units/*/{prefix}*.npz") if not path.parent.name.startswith(".")]


@pytest.mark.long
@pytest.mark.needs("sklearn")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize(("task", "prefix", "jobs"), [("1", "erm-rand", 2), ("6", "epochs", 1)])
def test_killed_and_run_again(tmp_path, task, prefix, jobs):
    script, killed, whole = tmp_path / "run.py", tmp_path / "killed", tmp_path / "whole"
    process = start(task, killed, script, jobs)
    while not units(killed, prefix) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    time.sleep(0.3)  # workers notice that their parent is gone
    before = {path: path.stat().st_mtime_ns for path in units(killed, prefix)}
    assert before
    assert not (killed / "claims.json").exists()

    assert start(task, killed, script, jobs).wait() == 0
    assert start(task, whole, script, jobs).wait() == 0
    assert len(units(killed, prefix)) > len(before)  # it was in the middle
    assert all(path.stat().st_mtime_ns == written for path, written in before.items())  # and went on from there
    assert (killed / "claims.json").read_text() == (whole / "claims.json").read_text()
    judged = [claim for claim in json.loads((whole / "claims.json").read_text())["claims"] if claim["task"] == task]
    assert {claim["verdict"] for claim in judged} != {"unchecked"}
