"""Killed at any operation on the file system, and in the middle of any write: nothing is lost, nothing is half there.

A sample of the points here; more with ``SPECTRATA_FAULTS=100``, or all of them (see tests/README.md).
"""

import io
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

import fault_cases
import spectrata as st
from faults import Fault, leftovers, points, run, sizes
from spectrata.many.store import open_many

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the injectors need Linux"),
]
PROFILE = ["likeness.png", "spectra.nc", "spectra.csv", "findings.csv", "report.html"]


class Case:
    """One way to work: how its folder begins, what may be found after a kill, and what the end must be."""

    name = ""
    few = 6  # points tried when not all are

    def begin(self, folder):
        """Fill the folder before the fault."""
        folder.mkdir()

    def look(self, folder, ended):
        """What is under final names must be right; ``ended`` tells what had been finished."""

    def same(self, folder, whole):
        """After the same call again: what an undisturbed run gives."""


class Profile(Case):
    name, few = "profile", 3

    def begin(self, folder):
        fault_cases.write_inputs(folder.parent / "inputs")
        assert run("profile 1", folder).code == 0

    def look(self, folder, ended):
        for name in PROFILE:
            found = folder / name
            assert any(same_file(found, other / name) for other in (self.old, self.whole)), name

    def same(self, folder, whole):
        assert all(same_file(folder / name, whole / name) for name in PROFILE)


class Save(Case):
    name, few = "save", 3

    def begin(self, folder):
        super().begin(folder)
        fault_cases.save_zarr(folder, None, number=1)

    def look(self, folder, ended):
        found = st.open(folder / "result.zarr")
        assert any(found.identical(st.open(other / "result.zarr")) for other in (self.old, self.whole))

    def same(self, folder, whole):
        assert st.open(folder / "result.zarr").identical(st.open(whole / "result.zarr"))


class Cache(Case):
    name, few = "cache", 3

    def look(self, folder, ended):
        for path in folder.glob("bases/*.npz"):
            assert path.read_bytes() == (self.whole / "bases" / path.name).read_bytes()

    def same(self, folder, whole):
        assert names(folder) == names(whole)
        self.look(folder, None)


class Many(Case):
    name, few = "many", 4

    def look(self, folder, ended):
        told = max(map(int, ended.said), default=0)
        if not (folder / "run.zarr" / ".zmetadata").exists():
            assert told == 0
            return
        found, whole = (open_many(place / "run.zarr").load() for place in (folder, self.whole))
        assert (found["state"] != "missing").sum() >= told
        for row in np.flatnonzero(found["state"].values == "done"):
            mine, theirs = found["magnitude"].values[row], whole["magnitude"].values[row]
            hops, n = mine.shape[1:]
            np.testing.assert_array_equal(mine, theirs[:, :hops, :n])
            assert np.isnan(theirs[:, hops:]).all()
            assert np.isnan(theirs[:, :, n:]).all()

    def same(self, folder, whole):
        assert open_many(folder / "run.zarr").load().identical(open_many(whole / "run.zarr").load())


class ManyAgain(Many):
    name, few = "many again", 2

    def begin(self, folder):
        super().begin(folder)
        fault_cases.many(folder, int)

    def look(self, folder, ended):
        super().look(folder, ended)
        assert (open_many(folder / "run.zarr")["state"].values[[0, 2, 3, 4]] == "done").all()


class Watch(Case):
    name, few = "watch", 5

    def look(self, folder, ended):
        log = folder / "run.zarr"
        if log.exists():
            self.begins_as_the_whole(st.open(log))
        if (folder / "run.csv").exists():
            self.rows_are_those_of_the_whole((folder / "run.csv").read_text())
        logged = set(st.open(log)["step"].values.tolist()) if log.exists() else set()
        if ended.killed:  # no pass that was recorded is lost
            assert {int(step) for step in ended.said} <= logged

    def begins_as_the_whole(self, found):
        whole, rows = st.open(self.whole / "run.zarr"), found.sizes["snapshot"]
        np.testing.assert_array_equal(found["step"], whole["step"][:rows])
        np.testing.assert_allclose(found["magnitude"], whole["magnitude"][:, :rows], rtol=1e-12)

    def rows_are_those_of_the_whole(self, text):
        """Every line that ends; the last one may be cut."""
        lines = text[: text.rfind("\n") + 1]
        found = pd.read_csv(io.StringIO(lines or "layer,step,hop\n")).set_index(["layer", "step", "hop"])
        whole = pd.read_csv(self.whole / "run.csv").set_index(["layer", "step", "hop"]).loc[found.index]
        for name in set(found.columns) - {"epoch"}:  # a label may come after its row
            if whole[name].dtype.kind == "f":
                np.testing.assert_allclose(found[name], whole[name], rtol=1e-6, err_msg=name)
            else:
                assert found[name].tolist() == whole[name].tolist(), name

    def same(self, folder, whole):
        found, expected = (st.open(place / "run.zarr") for place in (folder, whole))
        np.testing.assert_array_equal(found["step"], expected["step"])
        np.testing.assert_array_equal(found["layer"], expected["layer"])
        np.testing.assert_allclose(found["magnitude"], expected["magnitude"], rtol=1e-12)
        labels = found["epoch"].values
        assert (
            (labels == expected["epoch"].values) | (labels == -1)
        ).all()  # a label can be lost with its call, and none is wrong
        table, rows = pd.read_csv(folder / "run.csv"), pd.read_csv(whole / "run.csv")
        keys = ["layer", "step", "hop"]
        assert set(map(tuple, table[keys].values)) == set(map(tuple, rows[keys].values))
        assert not (folder / "run.zarr.journal").exists()


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def same_file(a, b):
    if a.suffix == ".nc":
        return st.open(a).identical(st.open(b))
    return a.read_bytes() == b.read_bytes()


CASES = [Profile, Save, Cache, Many, ManyAgain, Watch]


MADE = {}


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request, tmp_path_factory):
    """A case with an undisturbed run to compare with, made once."""
    name = request.param.name
    if name not in MADE:
        MADE[name] = prepared(request.param, tmp_path_factory.mktemp(name.replace(" ", "-")))
    return MADE[name]


def prepared(case, root, fault=None):
    """A case with its folder at the beginning and after an undisturbed run."""
    made = case()
    made.old, made.whole, made.root = root / "old", root / "whole", root
    made.begin(made.old)
    shutil.copytree(made.old, made.whole)
    made.ended = run(made.name, made.whole, fault)
    assert made.ended.code == 0, made.ended.out
    return made


def disturb(case, fault):
    """Run under a fault, look, run again, compare; gives how the first run ended."""
    folder = case.root / "killed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(case.old, folder)
    ended = run(case.name, folder, fault)
    case.look(folder, ended)
    again = run(case.name, folder)
    assert again.code == 0, again.out
    case.same(folder, case.whole)
    assert leftovers(folder) == []
    shutil.rmtree(folder)
    return ended


def test_killed_at_an_operation(case):
    tried = points(case.ended.operations, case.few)
    killed = [disturb(case, Fault(at=at)).killed for at in tried]
    print(f"{case.name}: killed at {sum(killed)} of {case.ended.operations} operations")
    assert killed.count(True) >= len(killed) - max(
        2, len(killed) // 10
    )  # threads can need fewer operations the next time


def test_killed_in_the_middle_of_a_write(case):
    files = [path for path in case.whole.rglob("*") if path.is_file()]
    if case.name == "many again":  # no array grows, so that no metadata are written
        files = [path for path in files if not path.name.startswith(".")]
    largest = max(path.stat().st_size for path in files)
    killed = [disturb(case, Fault(size=size)).killed for size in sizes(largest, 2 if case.name == "watch" else 1)]
    print(f"{case.name}: killed in the middle of a write {sum(killed)} times")
    # What is tried again writes only the smaller of its files.
    assert killed.count(True) >= (1 if case.name == "many again" else len(killed) - 1)
