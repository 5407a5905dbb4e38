"""Damaged input for every reader and the command line: the same every time, more and others on request.

SPECTRATA_FUZZ=75000 SPECTRATA_FUZZ_SEED=1 pytest tests/test_fuzz.py -k "edge list"
"""

import os
import signal
import time
import warnings
from random import Random

import pytest

from fuzz import containers, driver, mutate
from fuzz.targets import TARGETS, Target
from spectrata.errors import InputError

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="children are bounded by means of Linux")
INPUTS, SEED = (int(os.environ.get(name, 0)) for name in ("SPECTRATA_FUZZ", "SPECTRATA_FUZZ_SEED"))


def crashes(outcomes):
    return [words for words in outcomes if words.startswith("crash")]


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_only_documented_errors(name):
    outcomes = driver.fuzz(TARGETS[name], INPUTS or TARGETS[name].inputs, SEED)
    assert crashes(outcomes) == []
    assert sum(outcomes.values()) == (INPUTS or TARGETS[name].inputs)
    # A target that refuses every input at its first line tests nothing; netCDF's seal lets next to none through.
    assert outcomes["accepted"] or name == "netCDF"


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.inputs >= 1000])
def test_a_share_of_it(name):
    """Seeds are accepted for the most part, damage depends on the seed alone, and a few damaged inputs do no harm."""
    target = TARGETS[name]
    seeds = target.seeds()
    assert driver.unharmed(target)["accepted"] >= len(seeds) / 2
    assert target.mutate(seeds[0], Random(5), seeds) == target.mutate(seeds[0], Random(5), seeds)
    assert crashes(driver.fuzz(target, 40, seed=1)) == []


# ---- the fuzzer itself


def outcome(read, data=b""):
    return driver.outcome_of(Target("made up", "x.bin", lambda: [], mutate.raw, read), data)


def test_a_crash_is_found_with_its_input():
    def read(path):
        if b"\xff" in path.read_bytes():
            raise KeyError("inside")

    found = crashes(driver.fuzz(Target("made up", "x.bin", lambda: [b"seed"], mutate.raw, read), 400))
    assert found
    assert all("KeyError" in words and "\\xff" in words for words in found)


def test_a_native_crash_is_found():
    def read(path):
        if path.read_bytes().startswith(b"\xff"):
            os.abort()

    (found,) = crashes(driver.fuzz(Target("made up", "x.bin", lambda: [b"seed"], mutate.raw, read), 1500))
    assert found.startswith("crash: exit code -6 | b'\\xff")


def test_a_hang_and_a_flood_are_found(monkeypatch):
    monkeypatch.setattr(driver, "SECONDS", 0.3)

    def endless(path):
        while True:
            pass

    def deaf(path):
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        endless(path)

    assert "Hang" in outcome(endless)
    assert "MemoryError" in outcome(lambda path: bytearray(2 * driver.MEMORY))
    monkeypatch.setattr(driver, "STILL", 2)
    assert "no signal" in outcome(lambda path: time.sleep(1000))
    monkeypatch.setattr(driver, "STILL", 10**6)
    monkeypatch.setattr(driver, "STUBBORN", 1.0)
    assert "no signal" in outcome(deaf)


def test_a_stray_warning_and_a_long_message_are_crashes():
    def shout(path):
        raise InputError("x" * 10_000)

    assert outcome(lambda path: warnings.warn("from inside", UserWarning, stacklevel=1)).startswith("crash: warning")
    assert outcome(shout).startswith("crash: message of 10000")


def test_folders_are_packed_and_unpacked():
    files = {"a/b": b"1", "é": b""}
    assert containers.unpack(containers.pack(files)) == files
