"""The studies regenerate from one seed, and the command line reads results."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from reproduction.studies import calibration, fidelity


@pytest.mark.long
def test_the_fidelity_table_regenerates_from_its_seed(tmp_path):
    one = fidelity.run(tmp_path / "one", seed=3, quick=True)
    two = fidelity.run(tmp_path / "two", seed=3, quick=True)
    pd.testing.assert_frame_equal(one, two)
    assert (tmp_path / "one" / "fidelity.md").read_bytes() == (tmp_path / "two" / "fidelity.md").read_bytes()
    gft = one[(one["algorithm"] == "gft") & (one["metric"] == "euclidean")]
    np.testing.assert_allclose(gft["correlation"], 1, atol=1e-12)
    assert set(one["planted"]) == set(fidelity.SPECTRA)
    assert set(one["d"]) == set(fidelity.DIMENSIONS)
    assert set(one["graph"]) == {"ER", "SBM", "grid"}


def test_the_other_table_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "QUICK_SIGNALS", 20)
    monkeypatch.setattr(calibration, "DRAWS", 99)
    kept = {"symmetric: Petersen": nx.petersen_graph()}
    monkeypatch.setattr(calibration, "graphs", lambda seed: kept)
    table = calibration.run(tmp_path, quick=True)
    gft = table.query("algorithm == 'gft' and level == 'eigenspace'").set_index("signal")
    assert set(gft.index) == {*calibration.KINDS, "vectors"}
    assert gft["p <= 0.05"].dropna().between(0, 0.25).all()
    assert {"adj_diff", "ln_vx", "ens"} <= set(table["algorithm"])
