"""Loss of power at any moment: what was finished is there, and nothing half written is read (see ``power.py``).

A sample of the states here; more with ``SPECTRATA_FAULTS=1000``, or all of them (see tests/README.md).
"""

import random
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import calls
import fault_cases
import power
import spectrata as st
from faults import ASKED, Ended, Fault
from spectrata.errors import ResultError, SpectrataWarning
from spectrata.many.store import open_many
from test_faults_kill import Cache, Many, Profile, Save, Watch, prepared

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the recorder needs Linux"),
]


class CacheAfterCut(Cache):
    """A cache does not wait for the disk: what was damaged is found, and made again."""

    def look(self, folder, ended):
        arguments = {"algorithms": "gft"}
        expected = calls.spectra(fault_cases.GRAPH, fault_cases.signal(1), **arguments)["magnitude"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpectrataWarning)
            found = calls.spectra(fault_cases.GRAPH, fault_cases.signal(1), cache=folder / "bases", **arguments)
        np.testing.assert_allclose(found["magnitude"], expected, rtol=1e-12, atol=1e-14)

    def same(self, folder, whole):
        self.look(folder, None)


class ManyAfterCut(Many):
    """A store under way may be refused, and gives no other number; a finished one is there."""

    def look(self, folder, ended):
        try:
            found, whole = (open_many(place / "run.zarr").load() for place in (folder, self.whole))
        except ResultError:
            return
        for row in np.flatnonzero(found["state"].values == "done"):
            mine, theirs = found["magnitude"].values[row], whole["magnitude"].values[row]
            np.testing.assert_array_equal(mine, theirs[:, : mine.shape[1], : mine.shape[2]])


class WatchAfterCut(Watch):
    """A log does not wait for the disk either: it may be refused, and gives no other number."""

    def look(self, folder, ended):
        try:
            found = st.open(folder / "run.zarr")
        except ResultError:
            return
        self.begins_as_the_whole(found)

    def same(self, folder, whole):
        self.look(folder, None)


# With the number of states tried when not all are; 0: by hand alone.
CASES = {Profile: 4, Save: 12, ManyAfterCut: 16}
CASES |= {CacheAfterCut: 0, WatchAfterCut: 0}


@pytest.fixture
def fast_disk(tmp_path):
    """A folder in memory where there is one: syncing takes no time, and inodes are not used twice."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory)) if memory.is_dir() else tmp_path
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def recorded(case, root):
    """An undisturbed run of a case, with its record."""
    made = prepared(case, root, Fault("power"))
    return made, power.Record.read(f"{made.whole}.notes.power")


def cut(made, record, count):
    """Look at the folders that a loss of power may leave; gives how many there are, and how many were tried."""
    last = len(record.moments) - 1
    moments = None if ASKED else {last * (i + 1) // count for i in range(count)}
    found = list(power.states(record, moments))
    count = len(found) if ASKED == "all" else min(int(ASKED or count), len(found))
    sample = random.Random(0).sample(found, count)
    ends = [state for state in found if state[0] == last]
    for index, said, files in sample + ends[:: max(1, len(ends) * 2 // count)]:
        folder = made.root / "cut"
        shutil.rmtree(folder, ignore_errors=True)
        power.lay_out(files, folder)
        try:
            made.look(folder, Ended(0, said, 0, ""))
            if index == last:  # the call had returned
                made.same(folder, made.whole)
        except BaseException as problem:
            problem.add_note(f"power lost at moment {index} of {last}")
            raise
    return len(found), len(sample)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_power_lost_at_any_moment(case, fast_disk):
    if not (CASES[case] or ASKED):
        pytest.skip("by hand, with SPECTRATA_FAULTS set")
    made, record = recorded(case, fast_disk)
    found, tried = cut(made, record, CASES[case])
    print(f"{made.name}: {len(record.moments)} moments, {found} states, {tried} tried")
    assert tried >= CASES[case]


class Careless(Save):
    name = "save careless"


def test_a_writer_that_does_not_wait_for_the_disk_is_caught(fast_disk):
    made, record = recorded(Careless, fast_disk)
    with pytest.raises((ResultError, AssertionError)):
        cut(made, record, CASES[Save])
