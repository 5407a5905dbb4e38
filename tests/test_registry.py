"""One function and one row make an algorithm: it works in every public call, or is refused there by name."""

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose

import calls
import spectrata as st
from commanding import run as command
from spectrata.core.hop import Output
from spectrata.core.registry import ALGORITHMS, Algorithm, row_of
from spectrata.errors import InputError, OptionError, ResultError
from spectrata.kernels import edge_sums

NAME = "twice"
GRAPH = nx.cycle_graph(8)  # repeated eigenvalues
RNG = np.random.default_rng(0)
SIGNAL, OTHER, MANY = RNG.standard_normal((8, 2)), RNG.standard_normal((8, 2)), RNG.standard_normal((5, 8, 2))


def twice(hop, options):
    """Twice the magnitude of gft, so that every number is known."""
    return Output(2.0 * edge_sums.lengths(hop.project(hop.potential)[0]))


ROW = {
    "laplacians": ("combinatorial", "random_walk", "normalized"),
    "stacks": True,
    "differentiable": True,
    "invariant": lambda options: True,
}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The row that all calls find."""
    monkeypatch.setitem(ALGORITHMS, NAME, Algorithm(NAME, twice, **ROW))


def pair(signal=SIGNAL, **options):
    return calls.spectra(GRAPH, signal, ["gft", NAME], **options)


def assert_twice(found, names=("magnitude",), factor=2.0):
    for name in names:
        ours, theirs = (found[name].sel(algorithm=algorithm).values for algorithm in (NAME, "gft"))
        assert_allclose(ours, factor * theirs, rtol=1e-12, atol=1e-12, err_msg=name)


# --- computing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"laplacian": "normalized"},
        {"laplacian": "random_walk", "self_loops": True},
        {"n_eigs": 3},
        {"dtype": "float32"},
    ],
)
def test_spectra(options):
    assert_twice(pair(**options))
    strat = st.Stratification(GRAPH)
    assert_twice(calls.spectra(strat, MANY, [NAME, "gft"], **options))
    alone = calls.spectra(strat, SIGNAL, NAME.upper(), **options)
    assert alone["algorithm"].values.tolist() == [NAME]


def test_what_its_row_does_not_allow_is_refused_by_name(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, NAME, Algorithm(NAME, twice, whole_spectrum=True))
    refused = (
        ({"laplacian": "random_walk"}, "not defined for laplacian='random_walk'"),
        ({"n_eigs": 3}, "takes all components"),
    )
    for options, words in refused:
        with pytest.raises(OptionError, match=f"^{NAME}: {words}"):
            calls.spectra(GRAPH, SIGNAL, NAME, **options)
    with pytest.raises(OptionError, match=f"ens_weights names {NAME}"):
        st.spectra(GRAPH, SIGNAL, "ens", ens={"weights": {NAME: 1.0}})


def test_ensembles_may_have_it_as_a_member(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, NAME, Algorithm(NAME, twice, member=True))
    ds = st.spectra(GRAPH, SIGNAL, [NAME, "ens_raw"], ens={"weights": {NAME: 1.0, "in_agg": 0.0}})
    assert_allclose(ds["magnitude"].sel(algorithm="ens_raw"), ds["magnitude"].sel(algorithm=NAME))


def test_it_runs_unasked_where_its_row_says_so(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, NAME, Algorithm(NAME, twice, default=True))
    assert NAME in st.spectra(GRAPH, SIGNAL)["algorithm"].values
    assert NAME not in st.spectra(GRAPH, SIGNAL, laplacian="normalized")["algorithm"].values


def test_many_graphs():
    many = st.spectra_many([(GRAPH, SIGNAL), (nx.path_graph(5), OTHER[:5])], algorithms=["gft", NAME])
    assert_twice(many)
    assert (many["state"] == "done").all()


def test_gradients():
    import torch

    from spectrata.torch import magnitudes

    x = torch.tensor(SIGNAL, requires_grad=True)
    found = magnitudes(st.Stratification(GRAPH), x, NAME)
    assert_allclose(found.detach(), pair()["magnitude"].sel(algorithm=NAME), rtol=1e-12, atol=1e-12)
    found.sum().backward()
    assert x.grad.abs().sum() > 0


def test_gradients_refuse_it_by_name(monkeypatch):
    import torch

    from spectrata.torch import magnitudes

    monkeypatch.setitem(ALGORITHMS, NAME, Algorithm(NAME, twice))
    with pytest.raises(OptionError, match=NAME):
        magnitudes(st.Stratification(GRAPH), torch.tensor(SIGNAL, requires_grad=True), NAME)


def test_watched_layers():
    import torch

    from spectrata.torch import watch

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    with watch(model, GRAPH, layers=["0", "2"], algorithms=["gft", NAME], mode="both") as watched:
        model(torch.tensor(SIGNAL, dtype=torch.float32))
    ours, theirs = (watched.dataset["magnitude"].sel(algorithm=name).values for name in (NAME, "gft"))
    assert_allclose(ours, 2 * theirs, rtol=1e-4, atol=1e-5)


# --- reading ------------------------------------------------------------------------------------------------


def test_calibrate():
    for level in ("component", "eigenspace", "band"):
        found = st.calibrate(GRAPH, SIGNAL, draws=39, algorithms=["gft", NAME], level=level)
        assert_twice(found)
        assert_allclose(found["p"].sel(algorithm=NAME), found["p"].sel(algorithm="gft"))
    exact = st.calibrate(GRAPH, SIGNAL, draws=0, algorithms=["gft", NAME])
    assert exact["chance"].sel(algorithm="gft").notnull().any()
    assert exact["chance"].sel(algorithm=NAME).isnull().all(), "only the exact algorithm has a closed form"


def test_response():
    one, other = pair(), pair(OTHER)
    ours, theirs = (st.response(one, other, algorithm=name) for name in (NAME, "gft"))
    for name in ("response", "relative", "share_after"):
        assert_allclose(ours[name], theirs[name], rtol=1e-9)
    signals = st.response(SIGNAL, OTHER, GRAPH, algorithm=NAME)
    assert_allclose(signals["relative"], theirs["relative"], rtol=1e-9)


def test_compare():
    found = st.compare(pair(), pair(OTHER))
    assert_twice(found, ("correlation", "cosine", "largest_difference", "wasserstein", "energy_shift"), factor=1.0)


def test_groups_and_scores():
    ds = pair(MANY)
    found = st.stats.distinguish(ds.isel(snapshot=[0, 1]), ds.isel(snapshot=[2, 3, 4]), draws=9)
    assert_twice(found, ("wasserstein",), factor=1.0)
    found = st.stats.correlate(pair(MANY, metric="euclidean"), range(5), of="magnitude")
    assert_twice(found, ("pearson",), factor=1.0)


def test_merging_unit_length_zeros_and_tables(monkeypatch):
    ds = pair()
    merged = st.merge_eigenspaces(ds)
    assert_twice(merged)
    assert merged["merge_rule"].values.tolist() == ["l2", "l2"]
    assert not merged["ambiguous"].any()
    assert_twice(st.stats.normalize(ds), factor=1.0)
    assert_twice(st.stats.drop_zero(ds))
    table = st.to_table(ds)
    assert (table["algorithm"] == NAME).sum() == ds["magnitude"].sel(algorithm=NAME).size
    summed = st.summary(ds).set_index("algorithm")
    assert_allclose(summed.loc[NAME, "norm"], 2 * summed.loc["gft", "norm"])
    assert summed.loc[NAME, "off_zero"].isna().all()
    monkeypatch.setitem(ALGORITHMS, NAME, Algorithm(NAME, twice, sums=lambda options: True))
    merged = st.merge_eigenspaces(ds)
    assert merged["merge_rule"].values.tolist() == ["l2", "sum"]
    assert merged["ambiguous"].sel(algorithm=NAME).any()
    total = merged["magnitude"].sel(algorithm=NAME).sum("component")
    assert_allclose(total, ds["magnitude"].sel(algorithm=NAME).sum("component"))


def test_the_share_off_zero_and_findings_read_the_exact_algorithm():
    ds = pair()
    assert_allclose(st.off_zero(ds), st.off_zero(ds.sel(algorithm=["gft"])))
    assert [finding.text for finding in st.diagnose(ds)] == [
        finding.text for finding in st.diagnose(ds.sel(algorithm=["gft"]))
    ]
    with pytest.raises(ResultError, match=f"holds {NAME} but not gft"):
        st.off_zero(ds.sel(algorithm=[NAME]))


def test_a_result_of_an_algorithm_that_is_gone_is_read_or_refused_by_name(monkeypatch, tmp_path):
    path = st.save(pair(), tmp_path / "result.nc")
    monkeypatch.delitem(ALGORITHMS, NAME)
    ds = st.open(path)
    assert st.off_zero(ds).notnull().all()
    with pytest.raises(InputError, match=f"no algorithm '{NAME}'"):
        st.merge_eigenspaces(ds)


# --- pictures, pages, commands ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["spectra", "compare", "spectrogram"])
def test_pictures(kind):
    from matplotlib.text import Text

    ds, many = pair(), pair(MANY)
    drawn = {
        "spectra": lambda: st.plot.spectra(ds, algorithms=[NAME]),
        "compare": lambda: st.plot.compare(st.compare(ds, pair(OTHER), draws=0), algorithm=NAME),
        "spectrogram": lambda: st.plot.spectrogram(many, algorithm=NAME),
    }
    figure = np.ravel(drawn[kind]())[0].figure
    assert any(NAME in text.get_text().lower() for text in figure.findobj(Text)), "the picture does not name it"


def test_report(tmp_path):
    st.write_report(pair(), path=tmp_path / "page.html")
    assert NAME in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_command_line(karate):
    done = command("profile", "karate.txt", "degree.npy", "--algorithms", NAME, "--hops", 1, "--out", "out")
    assert done.exit_code == 0, done.output
    (result,) = karate.glob("out/**/*.nc")
    assert st.open(result)["algorithm"].values.tolist() == [NAME]


def test_command_line_names_all_algorithms_when_it_refuses_one(karate):
    done = command("profile", "karate.txt", "degree.npy", "--algorithms", "fourier", "--out", "out")
    assert done.exit_code == 2
    assert NAME in done.output


# --- unknown names ------------------------------------------------------------------------------------------

UNKNOWN = {
    "spectra": lambda: st.spectra(GRAPH, SIGNAL, "fourier"),
    "calibrate": lambda: st.calibrate(GRAPH, SIGNAL, algorithms="fourier"),
    "response of signals": lambda: st.response(SIGNAL, OTHER, GRAPH, algorithm="fourier"),
    "response of results": lambda: st.response(pair(), pair(OTHER), algorithm="fourier"),
    "spectra_many": lambda: st.spectra_many([(GRAPH, SIGNAL)], algorithms="fourier"),
    "band_spectra": lambda: calls.band_spectra(GRAPH, SIGNAL, algorithms="fourier"),
    "plot": lambda: st.plot.spectra(pair(), algorithms="fourier"),
    "ens_weights": lambda: st.spectra(GRAPH, SIGNAL, "ens", ens={"weights": {"fourier": 1.0}}),
    "row": lambda: row_of("fourier"),
}


@pytest.mark.parametrize("call", UNKNOWN)
def test_an_unknown_name_is_refused_everywhere(call):
    with pytest.raises((InputError, ResultError), match="fourier"):
        UNKNOWN[call]()
