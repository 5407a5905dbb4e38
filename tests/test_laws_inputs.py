"""What a graph and a signal come in changes nothing: files, objects of other libraries, types and layouts of arrays."""

import hypothesis.strategies as hs
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr
from hypothesis import given
from numpy.testing import assert_array_equal

import spectrata as st
from roads import ROADS
from spectrata.inputs.graphs import as_graph
from spectrata.inputs.signals import as_signal
from strategies import DEFAULT, cases_times, cases_with_signals

ALL = (*DEFAULT, "ln_vx", "ens", "ens_raw")
seeds = hs.integers(0, 2**32 - 1)


# --- signals ------------------------------------------------------------------------------------------------


def tensor(values):
    import torch

    return torch.as_tensor(np.array(values))


def dask_array(values):
    import dask.array

    return dask.array.from_array(values, chunks=2)


FORMS = {
    "lists": lambda s: s.tolist(),
    "fortran": np.asfortranarray,
    "matrix": lambda s: s.view(np.matrix),
    "big-endian": lambda s: s.astype(">f8"),
    "long double": lambda s: s.astype(np.longdouble),
    "every second row": lambda s: np.repeat(s, 2, axis=0)[::2],
    "backwards twice": lambda s: s[::-1].copy()[::-1],
    "a column of a table": lambda s: np.stack([s, s], axis=2)[:, :, 0],
    "broadcast": lambda s: np.broadcast_to(s, (1, *s.shape))[0],
    "masked, nothing masked": lambda s: np.ma.MaskedArray(s, mask=False),
    "torch": tensor,
    "torch with gradient": lambda s: tensor(s).requires_grad_(),
    "torch transposed": lambda s: tensor(s.T.copy()).T,
    "dask": dask_array,
    "sparse": sp.csr_array,
    "mapping": lambda s: {node: s[node] for node in reversed(range(len(s)))},
    "pandas": lambda s: pd.DataFrame(s).sample(frac=1, random_state=0),
    "xarray": lambda s: xr.DataArray(s, dims=("node", "dim"), coords={"node": range(len(s))})[::-1],
}


@cases_times(0.5)
@given(drawn=cases_with_signals(max_nodes=9))
def test_signals_of_every_kind_give_the_same(drawn):
    case, signal = drawn
    for form, given_as in FORMS.items():
        assert_array_equal(as_signal(given_as(signal), as_graph(case.graph)).values[0], signal, err_msg=form)


# --- nothing is changed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ROADS, ids=[road.name for road in ROADS])
@cases_times(0.08)
@given(drawn=cases_with_signals(), extreme=hs.booleans())
def test_inputs_are_left_as_they_are(road, drawn, extreme):
    """The signal may be read-only memory, and is the same afterwards; so is the graph."""
    case, signal = drawn
    signal = signal * (1e-200 if extreme else 1.0)
    before = signal.copy()
    edges = case.edges.copy()
    signal.setflags(write=False)
    case.edges.setflags(write=False)
    road.spectra(case, signal, DEFAULT)
    assert_array_equal(signal, before)
    assert_array_equal(case.edges, edges)


@cases_times(0.2)
@given(cases_with_signals(max_nodes=8, dims=(2, 3)))
def test_readings_leave_their_inputs_as_they_are(drawn):
    case, signal = drawn
    strat = st.Stratification(case.graph)
    signal.setflags(write=False)
    ds = strat.using(keep=("signal", "eigenvectors")).spectra(signal)
    before = ds.copy(deep=True)
    for read in (
        st.stats.normalize,
        st.merge_eigenspaces,
        st.stats.drop_zero,
        st.off_zero,
        st.summary,
        st.to_table,
        st.diagnose,
    ):
        read(ds)
    st.compare(ds, ds)
    st.smoothness(strat, signal)
    st.calibrate(strat, signal, draws=39)
    xr.testing.assert_identical(ds, before)
