"""What a result cannot answer is refused in one sentence, and what does not belong together is refused naming both."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

import calls
import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.results.schema import view

RING, PATH = nx.cycle_graph(8), nx.path_graph(8)
RNG = np.random.default_rng(0)
ONE, OTHER, MANY = RNG.standard_normal((8, 2)), RNG.standard_normal((8, 2)), RNG.standard_normal((6, 8, 2))


def ring(signal=ONE, **options):
    return calls.spectra(RING, signal, hops=2, **options)


# --- some of the components ---------------------------------------------------------------------------------

CUTS = {
    "lowest": lambda: ring(n_eigs=4),
    "highest": lambda: ring(n_eigs=4, which="highest"),
    "a component of a pair left out": lambda: ring().isel(component=[0, 1, 3, 4, 5, 6, 7]),
    "the last left out": lambda: ring().isel(component=slice(0, 7)),
    "zero left out": lambda: ring().isel(component=slice(1, None)),
}
READERS = {
    "off_zero": st.off_zero,
    "compare": lambda ds: st.compare(ds, ds),
    "response": lambda ds: st.response(ds, ds),
}


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("reader", READERS)
def test_a_cut_spectrum_is_not_read_as_a_whole_one(reader, cut, merged):
    ds = CUTS[cut]()
    ds = st.merge_eigenspaces(ds) if merged else ds
    assert not view(ds).complete.all()
    with pytest.raises(ResultError, match=r"holds \d of the 8 components at hop \d, and .* needs all of them"):
        READERS[reader](ds)


@pytest.mark.parametrize("cut", CUTS)
def test_a_summary_of_a_cut_spectrum_has_no_shares(cut):
    table = st.summary(CUTS[cut]())
    for column in ("off_zero", "lowest", "highest", "centroid", "cosine_flat"):
        assert table[column].isna().all()
    assert table["status"].str.contains("of 8 components, so no shares").all()


def test_a_cut_eigenspace_is_merged_to_nan_with_a_status():
    """Eigenvalues of the ring: 0, then pairs, then 4. Two components hold half of the first pair."""
    whole, some = (st.merge_eigenspaces(ds) for ds in (ring(), ring(n_eigs=2)))
    assert some["multiplicity"].sel(hop=1).values.tolist() == [1, 2]
    found = some["magnitude"].sel(algorithm="gft", hop=1).values
    assert_allclose(found[0], whole["magnitude"].sel(algorithm="gft", hop=1).values[0])
    assert np.isnan(found[1])
    assert some["status"].sel(algorithm="gft", hop=1).item() == "an eigenspace is cut: NaN"


@pytest.mark.parametrize("read", [st.off_zero, lambda ds: st.compare(ds, ds, zero=True)])
def test_dropped_zero_components_are_missed(read):
    with pytest.raises(ResultError, match=r"zero components dropped, and .* needs them"):
        read(st.stats.drop_zero(ring()))


def test_sizes_that_are_gone_are_missed():
    unit = st.stats.normalize(ring())
    with pytest.raises(ResultError, match="unit length, and a response needs their sizes"):
        st.response(unit, unit)


# --- two results --------------------------------------------------------------------------------------------

FORMS = {
    "graph": (lambda: st.spectra(PATH, OTHER, hops=2), "different graphs"),
    "laplacian": (lambda: ring(OTHER, laplacian="random_walk"), "Laplacians differ"),
    "self-loops": (lambda: ring(OTHER, laplacian="random_walk", self_loops=True), "Laplacians differ"),
    "metric": (lambda: ring(OTHER, metric="euclidean"), "metrics differ"),
    "orientation": (lambda: ring(OTHER, orientation="index"), "orientation differ"),
    "scaling": (lambda: ring(OTHER, scaling="program"), "scaling differ"),
    "cut": (lambda: ring(OTHER, n_eigs=4), "different components"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("call", [st.compare, st.response, st.stats.distinguish])
def test_results_that_do_not_belong_together(form, call):
    make, words = FORMS[form]
    with pytest.raises(ResultError, match=words):
        call(ring(), make())
    with pytest.raises(ResultError, match=words):
        call(make(), ring())


@pytest.mark.parametrize("option", [{"orientation": "index"}, {"scaling": "program"}, {"ens_weights": "fast"}])
def test_options_that_no_shared_algorithm_reads_may_differ(option):
    one = ring(algorithms=["gft", "in_agg"])
    other = ring(OTHER, algorithms=["gft", "in_agg"], **option)
    assert_array_equal(
        st.compare(one, other)["cosine"], st.compare(one, ring(OTHER)).sel(algorithm=["gft", "in_agg"])["cosine"]
    )


def test_snapshots_of_other_labels_are_refused():
    a, b = ring(MANY[:3]), ring(MANY[3:])
    renamed = b.assign_coords(snapshot=["x", "y", "z"])
    with pytest.raises(ResultError, match="not the same"):
        st.compare(a, renamed)


def test_components_of_a_distinction_are_named_by_label():
    ds = st.spectra(PATH, MANY, "gft", hops=1)
    groups = [ds.isel(snapshot=[0, 1, 2]), ds.isel(snapshot=[3, 4, 5])]
    dropped = [st.stats.drop_zero(group) for group in groups]
    unit = [st.stats.normalize(group)["magnitude"].values[0, :, 0] for group in dropped]
    gap = np.abs(unit[0].mean(axis=0) - unit[1].mean(axis=0))
    found = st.stats.distinguish(*dropped, draws=0)
    assert int(found["at_component"].item()) == np.nanargmax(gap)
    top = [group.isel(component=slice(3, None)) for group in groups]
    assert int(st.stats.distinguish(*top, draws=0)["at_component"].item()) >= 3


def test_scores_are_matched_by_label():
    ds = st.spectra(
        RING, xr.DataArray(MANY, dims=("epoch", "node", "dimension"), coords={"epoch": range(10, 16)}), hops=1
    )
    labels = list(range(10, 16))
    score = np.arange(6.0) ** 2
    expected = st.stats.correlate(ds, score)["pearson"]
    order = [3, 0, 5, 1, 4, 2]
    series = pd.Series(score[order], index=[labels[i] for i in order])
    for given in (
        series,
        series.to_dict(),
        xr.DataArray(series.to_numpy(), dims="epoch", coords={"epoch": series.index}),
    ):
        assert_allclose(st.stats.correlate(ds, given)["pearson"], expected)
    with pytest.raises(OptionError, match="score is labelled and lacks 10"):
        st.stats.correlate(ds, pd.Series(score, index=range(11, 17)))


# --- joined results -----------------------------------------------------------------------------------------


def test_results_of_other_operators_that_were_joined_are_refused():
    others = [ring(MANY[:2]), ring(MANY[2:], laplacian="random_walk").assign_coords(snapshot=[2, 3, 4, 5])]
    with pytest.raises(ResultError, match=r"joins spectra made with .* which cannot be compared|differs along"):
        st.off_zero(xr.concat(others, dim="snapshot", data_vars="all", coords="different", compat="equals"))


@pytest.mark.parametrize(
    "by", [lambda ds: ds["eigenvalue"] < 2, lambda ds: ds["hop"] < 2, lambda ds: ds["n_parts"] < 2]
)
def test_a_masked_result_is_refused(by):
    """``where`` leaves NaN in the place of numbers and words, and gives variables dimensions that are not theirs."""
    with pytest.raises(ResultError, match="it was masked; select with sel or isel"):
        st.off_zero(ring().where(by))
