"""Differentiable magnitudes: the package's values, correct gradients, and nothing infinite."""

import networkx as nx
import numpy as np
import pytest
import torch

import brute
import calls
import spectrata as st
import spectrata.torch
from spectrata.errors import HopError, NodeCountError, OptionError, SignalTypeError, SignalValueError

ALGORITHMS = ("gft", "adj_diff", "in_agg", "apprx_ls")
KARATE = nx.empty_graph(34)
KARATE.add_edges_from(nx.karate_club_graph().edges)
GRAPHS = {
    "karate": KARATE,
    "parts and a singleton": nx.disjoint_union_all([nx.cycle_graph(7), nx.star_graph(4), nx.empty_graph(1)]),
    "one edge": nx.path_graph(2),
    "hypercube": nx.convert_node_labels_to_integers(nx.hypercube_graph(3)),
}
OPERATORS = [{"laplacian": laplacian, "self_loops": loops} for laplacian, loops in brute.OPERATORS]


@pytest.fixture(params=list(GRAPHS))
def strat(request):
    return st.Stratification(GRAPHS[request.param])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("d", [1, 3])
def test_values_are_those_of_spectra(strat, algorithm, d):
    x = np.random.default_rng(0).normal(size=(3, strat.graph.n_nodes, d))
    want = strat.spectra(x, algorithms=algorithm)["magnitude"].loc[algorithm].values
    found = spectrata.torch.magnitudes(strat, torch.tensor(x), algorithm)
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_single_precision_keeps_what_varies_beside_a_large_mean(algorithm):
    """Over-smoothed: the mean is a million times what varies, and six digits of that must remain."""
    strat = st.Stratification(GRAPHS["karate"], hops=2)
    x = 1.0 + 1e-6 * np.random.default_rng(1).normal(size=(34, 4))
    want = strat.spectra(x, algorithms=algorithm)["magnitude"].loc[algorithm].values[:, 1:]
    found = spectrata.torch.magnitudes(strat, torch.tensor(x), algorithm, dtype=torch.float32)[:, 1:].numpy()
    assert np.abs(found - want).max() <= 1e-5 * want.max()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("d", [1, 3])
def test_gradcheck_at_generic_points(algorithm, d):
    strat = st.Stratification(GRAPHS["parts and a singleton"], hops=2)
    x = torch.tensor(np.random.default_rng(2).normal(size=(strat.graph.n_nodes, d)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: spectrata.torch.magnitudes(strat, z, algorithm), (x,))


def test_gradcheck_of_off_zero():
    strat = st.Stratification(GRAPHS["parts and a singleton"], hops=2)
    x = torch.tensor(np.random.default_rng(2).normal(size=(13, 3)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: spectrata.torch.off_zero(strat, z, hop=2), (x,))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("what", ["constant", "zero", "equal neighbours", "a dead row"])
@pytest.mark.parametrize("d", [1, 4])
def test_gradients_stay_finite(algorithm, what, d):
    strat = st.Stratification(GRAPHS["karate"], hops=3)
    x = torch.ones(34, d)
    if what == "zero":
        x = torch.zeros(34, d)
    elif what == "equal neighbours":
        x[17:] = torch.randn(17, d, generator=torch.Generator().manual_seed(0))
    elif what == "a dead row":
        x = torch.randn(34, d, generator=torch.Generator().manual_seed(0))
        x[5] = 0
    x.requires_grad_()
    found = spectrata.torch.magnitudes(strat, x, algorithm)
    assert found.isfinite().all()
    found.sum().backward()
    assert x.grad.isfinite().all()


def test_descent_raises_the_energy_off_zero():
    strat = st.Stratification(GRAPHS["karate"], hops=1)
    x = (1 + 0.05 * torch.randn(34, 4, generator=torch.Generator().manual_seed(0))).requires_grad_()
    before = float(spectrata.torch.off_zero(strat, x.detach()))
    optimizer = torch.optim.SGD([x], lr=50.0)
    for _ in range(50):
        optimizer.zero_grad()
        (-spectrata.torch.off_zero(strat, x)).backward()
        optimizer.step()
    after = float(st.off_zero(strat.spectra(x.detach().numpy(), "gft")).sel(hop=1))
    assert before < 0.01
    assert after > 0.5


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_off_zero_is_that_of_the_package(operator, monkeypatch):
    strat = st.Stratification(GRAPHS["parts and a singleton"], hops=3)
    x = np.random.default_rng(3).normal(size=(2, 13, 3))
    want = st.off_zero(calls.spectra(strat, x, "gft", **operator))
    bare = st.Stratification(GRAPHS["parts and a singleton"], hops=3)
    monkeypatch.setattr("spectrata.core.stratification.decompose", None)  # it needs no decomposition
    for hop in strat.hops:
        found = spectrata.torch.off_zero(bare, torch.tensor(x), hop=hop, **operator).numpy()
        np.testing.assert_allclose(found, want.sel(hop=hop).values, rtol=1e-9)


def test_graphs_are_taken_in_every_form():
    from torch_geometric.data import Data

    ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    x = torch.tensor([2.0, 1.0, 2.0, 1.0], requires_grad=True)
    strat = st.Stratification(nx.cycle_graph(4), hops=2)
    for graph in (nx.cycle_graph(4), Data(x=x, edge_index=torch.cat([ring, ring.flip(0)], dim=1))):
        for hop in (1, 2):
            share = spectrata.torch.off_zero(graph, x, hop=hop)
            torch.testing.assert_close(share, spectrata.torch.off_zero(strat, x, hop=hop))
        found = spectrata.torch.magnitudes(graph, x, hops=[2])
        torch.testing.assert_close(found, spectrata.torch.magnitudes(strat, x)[1:])


OPTIONS = [
    ("gft", {"laplacian": "normalized"}),
    ("gft", {"laplacian": "random_walk", "self_loops": True}),
    ("adj_diff", {"laplacian": "random_walk"}),
    ("adj_diff", {"adj_diff": {"scaling": "program"}}),
    ("adj_diff", {"adj_diff": {"scaling": "eigenvalue"}}),
    ("in_agg", {"laplacian": "random_walk", "self_loops": True}),
    ("apprx_ls", {"laplacian": "random_walk"}),
    ("apprx_ls", {"apprx_ls": {"orientation": "index"}}),
    ("apprx_ls", {"apprx_ls": {"orientation": "random"}, "seed": 3}),
]


@pytest.mark.parametrize(("algorithm", "options"), OPTIONS, ids=str)
def test_options_are_those_of_spectra_with_right_gradients(algorithm, options):
    strat = st.Stratification(GRAPHS["parts and a singleton"], hops=2)
    x = np.random.default_rng(2).normal(size=(13, 2))
    want = calls.spectra(strat, x, algorithms=algorithm, **options)["magnitude"].loc[algorithm].values
    given = torch.tensor(x, requires_grad=True)
    found = spectrata.torch.magnitudes(strat, given, algorithm, **options)
    np.testing.assert_allclose(found.detach().numpy(), want, rtol=1e-10, atol=1e-12)
    with torch.no_grad():
        plain = spectrata.torch.magnitudes(strat, given, algorithm, **options)
    np.testing.assert_allclose(plain.numpy(), want, rtol=1e-10, atol=1e-12)
    numbers = ~np.isnan(want)
    assert torch.autograd.gradcheck(
        lambda z: spectrata.torch.magnitudes(strat, z, algorithm, **options)[numbers], (given,)
    )


def test_precision_and_shape_follow_the_tensor():
    strat = st.Stratification(GRAPHS["karate"], hops=2)
    x = torch.randn(34, 4)
    assert spectrata.torch.magnitudes(strat, x).dtype == torch.float32
    assert spectrata.torch.magnitudes(strat, x.half()).dtype == torch.float32
    assert spectrata.torch.magnitudes(strat, x[None]).shape == (1, 2, 34)
    assert spectrata.torch.magnitudes(strat, x, hops=[2]).shape == (1, 34)
    assert spectrata.torch.magnitudes(strat, x, hops=1).shape == (1, 34)
    assert spectrata.torch.magnitudes(strat, x[:, 0]).shape == (2, 34)


@pytest.mark.parametrize(
    ("x", "arguments", "kind"),
    [
        (torch.randn(33, 2), {}, NodeCountError),
        (torch.zeros(34, 2, dtype=torch.int64), {}, SignalTypeError),
        (torch.randn(1, 1, 34, 2), {}, SignalTypeError),
        (torch.randn(34, 2), {"algorithm": "ln_vx"}, OptionError),
        (torch.randn(34, 2), {"algorithm": "ens"}, OptionError),
        (torch.randn(34, 2), {"algorithm": "gtf"}, OptionError),
        (torch.randn(34, 2), {"algorithm": "in_agg", "laplacian": "normalized"}, OptionError),
        (torch.randn(34, 2), {"dtype": torch.float16}, OptionError),
        (torch.randn(34, 2), {"hops": [4]}, HopError),
    ],
)
def test_refusals(x, arguments, kind):
    strat = st.Stratification(GRAPHS["karate"], hops=2)
    with pytest.raises(kind):
        spectrata.torch.magnitudes(strat, x, **arguments)


def test_the_one_cache_is_used_and_bounded(monkeypatch):
    """Bases and edges are kept by the stratification, within its bound, and are not copied for tensors."""
    graph, x = GRAPHS["karate"], torch.randn(34, 3, requires_grad=True, dtype=torch.float64)
    strat = st.Stratification(graph, hops=1)
    spectrata.torch.magnitudes(strat, x).sum().backward()
    basis, stratum = strat.basis(1), strat.strata.at(1)
    assert strat.memory.nbytes == basis.nbytes + stratum.nbytes
    tight = st.Stratification(graph, hops=1, max_basis_bytes=0)
    solved = []
    solve = spectrata.core.stratification.decompose
    monkeypatch.setattr(
        "spectrata.core.stratification.decompose", lambda *given, **named: solved.append(1) or solve(*given, **named)
    )
    for _ in range(2):
        spectrata.torch.magnitudes(tight, x)
    assert len(solved) == 2
    assert not tight.memory.kept


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("what", ["zeros", "ones", "dead rows", "one row alone"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_log_form_is_finite_with_finite_gradients(what, d, dtype):
    strat = st.Stratification(GRAPHS["parts and a singleton"], hops=1)
    x = {
        "zeros": torch.zeros(13, d),
        "ones": torch.ones(13, d),
        "dead rows": torch.randn(13, d) * (torch.arange(13) % 3 > 0)[:, None],
        "one row alone": torch.eye(13)[:, :1].expand(13, d),
    }[what].to(dtype)
    moving = x.clone().requires_grad_()
    for value in (spectrata.torch.off_zero(strat, moving, log=True), spectrata.torch.effective_rank(moving)):
        assert torch.isfinite(value)
        assert torch.isfinite(torch.autograd.grad(value, moving)[0]).all()
    if what == "ones":
        assert float(spectrata.torch.off_zero(strat, x, log=True)) == pytest.approx(np.log(1e-12), rel=1e-3)
    if what == "dead rows":
        share, log = (spectrata.torch.off_zero(strat, x, log=log) for log in (False, True))
        assert float(log) == pytest.approx(float(torch.log(share)), rel=1e-5)


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (2, 12, 5)])
def test_effective_rank_is_that_of_the_singular_values(shape):
    x = np.random.default_rng(0).normal(size=shape) @ np.diag(np.geomspace(1, 1e-3, shape[-1]))
    want = st.smoothness(nx.path_graph(shape[-2]), x, hops=1)["effective_rank"].values
    found = spectrata.torch.effective_rank(torch.tensor(x))
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(spectrata.torch.effective_rank(torch.tensor(x).float()).numpy(), want, rtol=1e-5)
    assert torch.autograd.gradcheck(spectrata.torch.effective_rank, (torch.tensor(x, requires_grad=True),))
    with pytest.raises(SignalTypeError):
        spectrata.torch.effective_rank(torch.ones(4))


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_nan_is_refused_in_one_sentence(d, bad):
    strat = st.Stratification(GRAPHS["karate"], hops=1)
    x = torch.randn(34, d)
    x[5, d - 1] = bad
    for loss in (spectrata.torch.magnitudes, spectrata.torch.off_zero, lambda _, x: spectrata.torch.effective_rank(x)):
        with pytest.raises(SignalValueError, match=r"The signal is (nan|inf) at .*\(1 NaN"):
            loss(strat, x)
