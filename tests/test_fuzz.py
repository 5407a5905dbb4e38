"""The bounded share of the fuzzing: the same inputs every time, for every reader and the command line.

The long run is by hand: ``python -m tests.fuzz --inputs 75000``.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from fuzz import containers, driver, mutate, seeds
from fuzz.branches import Branches
from fuzz.targets import TARGETS, Target, read_graph

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="inputs are tried in forked children")


def outcomes(crashes):
    """All targets, in a process that has not started any library's threads."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.fuzz", "--json", "--crashes", str(crashes)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_only_documented_errors(tmp_path):
    """One test of all targets: in several, each process of the tests would fuzz again."""
    all_found = outcomes(tmp_path)
    names = [name for name, target in TARGETS.items() if not target.by_hand]
    assert {name: all_found[name]["crashes"] for name in names} == {name: [] for name in names}
    for name in names:
        found = all_found[name]
        assert found["inputs"] == TARGETS[name].bounded, name
        assert found["accepted"] + sum(found["refused"].values()) == found["inputs"], name
        # A target that refuses every input at its first line tests nothing; netCDF's seal lets next to none through.
        assert found["accepted"] > 0 or name == "netCDF", name
        assert found["reached"] > 0.3 * found["branches"] > 0, name  # of all formats that share the files


# ---- the fuzzer itself


def _target(read) -> Target:
    return Target("made up", "x.bin", lambda: [b"seed"], mutate.raw, read, ("readers/files.py",))


def test_every_seed_is_sound():
    """What the damage starts from is accepted, for the most part: else nothing deep is ever reached."""
    for name, target in TARGETS.items():
        if not target.slow:
            with driver.workplace() as place:
                outcomes = [driver.try_input(target, place, data) for data in target.seeds()]
            assert outcomes.count("accepted") >= len(outcomes) / 2, (name, outcomes)


def test_damage_depends_on_the_seed_alone():
    for target in TARGETS.values():
        if not target.slow:
            first = target.seeds()
            made = [target.mutate(first[0], Random(5), first) for _ in range(2)]
            assert made[0] == made[1]


def test_a_crash_is_found_and_made_small():
    def read(path):
        if b"\xff" in path.read_bytes():
            raise KeyError("inside")

    target = _target(read)
    outcome = driver.run(target, 400)
    words = next(iter(outcome.crashes))
    assert "KeyError" in words
    assert driver.minimise(target, outcome.crashes[words], words) == b"\xff"


def test_a_native_crash_is_found_and_the_rest_goes_on():
    def read(path):
        if path.read_bytes().startswith(b"\xff"):
            os.abort()

    outcome = driver.run(_target(read), 1500)
    assert "crash: killed by signal 6" in outcome.crashes
    assert outcome.inputs == 1500


def test_a_hang_and_a_flood_are_found(monkeypatch):
    monkeypatch.setattr(driver, "SECONDS", 0.3)

    def endless(path):
        while True:
            pass

    def flood(path):
        bytearray(2 * driver.MEMORY)

    def sleeping(path):
        time.sleep(1000)

    def deaf(path):
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        endless(path)

    assert "Hang" in driver.outcome_of(_target(endless), b"")
    monkeypatch.setattr(driver, "STILL", 2)
    assert "no signal" in driver.outcome_of(_target(sleeping), b"")
    monkeypatch.setattr(driver, "STILL", 10**6)
    monkeypatch.setattr(driver, "STUBBORN", 1.0)
    assert "no signal" in driver.outcome_of(_target(deaf), b"")
    assert "MemoryError" in driver.outcome_of(_target(flood), b"")


def test_a_stray_warning_and_a_long_message_are_crashes(tmp_path):
    import warnings

    from spectrata.errors import InputError

    def warn(path):
        warnings.warn("from inside", UserWarning, stacklevel=1)

    def shout(path):
        raise InputError("x" * 10_000)

    assert driver.outcome_of(_target(warn), b"").startswith("crash: warning UserWarning")
    assert driver.outcome_of(_target(shout), b"").startswith("crash: message of 10000")


def test_branches_are_counted_both_ways(tmp_path):
    seen = Branches([__file__])

    def fork(way):
        return 1 if way else 2

    seen.watch(lambda: fork(True))
    assert (seen.reached, seen.total) == (1, 2)
    seen.watch(lambda: fork(False))
    assert (seen.reached, seen.total) == (2, 2)


def test_folders_are_packed_and_unpacked():
    files = {"a/b": b"1", "é": b""}
    assert containers.unpack(containers.pack(files)) == files


def test_what_cannot_be_a_graph_is_told(tmp_path):
    (tmp_path / "g.txt").write_bytes(seeds.edge_lists()[0])
    read_graph(tmp_path / "g.txt")
