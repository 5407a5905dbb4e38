"""Units of work on disk: found again, kept apart, and never half written."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from many_cases import die_at
from reproduction.pool import one_thread, run_calls, run_units, units_on
from reproduction.store import Store
from reproduction.tasks.settings import generator, unit_seed
from spectrata.errors import SpectrataError
from spectrata.kernels import threads
from test_parallel import blas_threads, many_blas_threads  # noqa: F401 - a fixture


def square(number):
    return {"square": np.array(number * number)}


def refuse(number):
    raise RuntimeError(f"{number} should have been stored")


UNITS = [(f"n-{i}", (i,)) for i in range(4)]


def test_finished_units_are_not_computed_again(tmp_path):
    store = Store.at(tmp_path, "squares", {"seed": 0})
    first = run_units(square, UNITS, store)
    again = run_units(refuse, UNITS, store)
    assert [int(unit["square"]) for unit in first] == [int(unit["square"]) for unit in again] == [0, 1, 4, 9]
    with pytest.raises(RuntimeError, match="4 should have been stored"):
        run_units(refuse, [*UNITS, ("n-4", (4,))], store)


def test_processes_give_what_one_gives(tmp_path):
    alone = run_units(square, UNITS, Store.at(tmp_path, "alone", {}), jobs=1)
    together = run_units(square, UNITS, Store.at(tmp_path, "together", {}), jobs=2)
    assert [unit["square"] for unit in alone] == [unit["square"] for unit in together]
    assert run_calls([(square, (i,)) for i in range(3)], jobs=2) == [square(i) for i in range(3)]


def test_a_failing_unit_stops_the_run_and_keeps_the_others(tmp_path):
    store = Store.at(tmp_path, "failing", {})
    store.save("n-0", square(0))
    with pytest.raises(RuntimeError, match="should have been stored"):
        run_units(refuse, UNITS[:3], store, jobs=2)
    assert store.load("n-0") is not None
    assert store.load("n-1") is None


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", b"\x93NUMPY"])
def test_a_damaged_unit_is_computed_again(tmp_path, damage):
    store = Store.at(tmp_path, "squares", {})
    run_units(square, UNITS, store)
    store.path("n-2").write_bytes(damage)
    assert store.load("n-2") is None
    assert int(run_units(square, UNITS, store)[2]["square"]) == 4
    assert int(store.load("n-2")["square"]) == 4


def test_other_settings_are_another_store(tmp_path):
    places = {Store.at(tmp_path, "a", {"seed": s, "trials": t}).folder for s in (0, 1) for t in (20, 50)}
    assert len(places) == 4
    assert Store.at(tmp_path, "a", {"x": 1, "y": 2}) == Store.at(tmp_path, "a", {"y": 2, "x": 1})


def test_seeds_depend_on_the_unit_alone():
    draws = [generator(0, 1, 0, i).random() for i in range(5)]
    assert draws[3] == generator(0, 1, 0, 3).random()
    assert len({unit_seed(s, 3, t, i) for s in range(3) for t in range(4) for i in range(5)}) == 60


@pytest.mark.usefixtures("many_blas_threads")
def test_one_thread_puts_the_setting_back(monkeypatch):
    monkeypatch.setenv("SPECTRATA_THREADS", "3")
    before = blas_threads()
    with one_thread():
        assert threads.threads() == 1
        assert set(blas_threads()) == {1}
    assert threads.threads() == 3
    assert blas_threads() == before


def test_a_unit_that_ends_its_worker_is_named(tmp_path):
    units = [(f"n-{i}", (i, str(tmp_path / "healed"))) for i in range(6)]
    store = Store.at(tmp_path, "units", {})
    with pytest.raises(SpectrataError, match=r"worker process died.* at n-.*run the same again"):
        run_units(die_at, units, store, jobs=2)
    kept = [name for name, _ in units if store.load(name) is not None]
    assert "n-3" not in kept
    (tmp_path / "healed").write_text("")
    assert [int(unit["square"]) for unit in run_units(die_at, units, store, jobs=2)] == [0, 1, 4, 9, 16, 25]
    with pytest.raises(SpectrataError, match="die_at"):
        run_calls([(die_at, (3, str(tmp_path / "never"))), (die_at, (1, ""))], jobs=2)


def test_units_run_on_an_executor(tmp_path):
    units = [(f"unit-{i}", (i,)) for i in range(5)]
    store = Store.at(tmp_path, "squares", {})
    with ThreadPoolExecutor(2) as executor, units_on(executor):
        found = run_units(lambda i: {"square": np.array([i * i])}, units, store)
    assert [int(arrays["square"][0]) for arrays in found] == [0, 1, 4, 9, 16]
    assert store.load("unit-3")["square"].tolist() == [9]
