"""Load, small: what benchmarks/load.py does by hand at full size, in a few seconds."""

import gc
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

import spectrata as st
from spectrata.torch import watch

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import load

pytestmark = pytest.mark.long


EDGES = np.array([[i, (i + k) % 12] for i in range(12) for k in (1, 3)])


def run_watched(log, first, count, **arguments):
    """Passes with vectors that depend on their number alone; gives the watch."""
    model = torch.nn.Identity()
    with watch(model, EDGES, [""], log=log, hops=1, algorithms="gft", states=(), mode="train", **arguments) as w:
        for step in range(first, first + count):
            with torch.no_grad():
                model(torch.from_numpy(np.random.default_rng(step).standard_normal((12, 2))))
            w.step(epoch=step)
    return w


def test_a_long_watch_holds_no_results_in_memory(tmp_path):
    """What stays allocated does not grow with the number of snapshots; the log does, and its last row is right."""
    log = tmp_path / "run.zarr"
    run_watched(log, 0, 60, flush_every=20)  # whatever is made once
    gc.collect()
    tracemalloc.start()
    try:
        w = run_watched(log, 60, 240, flush_every=20)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert not w._pieces
    assert held < 240 * 1000, held  # a row in memory takes kilobytes
    found = st.open(log)
    assert found["step"].values.tolist() == list(range(300))
    assert found["epoch"].values.tolist() == list(range(300))
    last = st.spectra(
        st.Stratification(edges=EDGES, n_nodes=12, hops=1), np.random.default_rng(299).standard_normal((12, 2))
    )
    groups = last["eigenspace"].values[0]
    for ours, theirs in ((found["magnitude"].values[0, -1, 0], last["magnitude"].loc["gft"].values[0]),):
        np.testing.assert_allclose(np.bincount(groups, ours**2), np.bincount(groups, theirs**2), atol=1e-12)
    files = [path for path in log.rglob("*") if path.is_file()]
    assert len(files) < 200  # not a file a row and array


def test_views_of_a_long_log_read_what_they_show(tmp_path):
    w = run_watched(tmp_path / "run.zarr", 0, 30, flush_every=7)
    assert w.over_layers(12)["epoch"].values.tolist() == [12]
    assert w.over_epochs("").sizes["snapshot"] == 30
    assert w.dataset.sizes["epoch"] == 30
    without = run_watched(None, 0, 30, flush_every=1)
    np.testing.assert_allclose(w.snapshots["magnitude"], without.snapshots["magnitude"], rtol=1e-12)
    assert without.snapshots["snapshot"].values.tolist() == w.snapshots["snapshot"].values.tolist()


def test_pieces_in_memory_stay_few():
    """Each repeats what all share, so they are joined when they are read; labels reach all of them."""
    w = run_watched(None, 0, 100, flush_every=1)
    w.label([3, 97], 1000)
    found = w.snapshots["epoch"].values
    assert len(w._pieces) == 1
    assert found[[3, 97]].tolist() == [1000, 1000]
    assert found[[4, 96]].tolist() == [4, 96]


@pytest.mark.parametrize("name", ["spectra", "Stratification.spectra", "band_spectra", "spectra_many", "calibrate",
                                  "plot.spectra", "save and open"])  # fmt: skip
def test_repeated_calls_leave_nothing(tmp_path, name):
    """Open files, threads and figures stay as they were, and what is allocated does not grow from call to call."""
    call, times = load.kinds(tmp_path)[name], 2 if name in load.SLOW else 6
    for _ in range(2):
        call()
    gc.collect()
    before = load.state()
    tracemalloc.start()
    try:
        call()
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(times):
            call()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
    assert load.state() == before
    # Bytes: a result or a figure for each call takes more, what Python keeps at hand takes less.
    assert grown < 20_000 + times * 15_000, grown
