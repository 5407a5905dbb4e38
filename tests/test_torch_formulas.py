"""Differentiable magnitudes: the package's values, correct gradients, and nothing infinite."""

import networkx as nx
import numpy as np
import pytest
import torch

import spectrata as st
import spectrata.torch
from spectrata.errors import HopError, NodeCountError, OptionError, SignalTypeError
from spectrata.torch.bases import tensor_basis

ALGORITHMS = ("gft", "adj_diff", "in_agg", "apprx_ls")
GRAPHS = {
    "karate": nx.Graph(nx.karate_club_graph().edges),
    "parts and a singleton": nx.disjoint_union_all([nx.cycle_graph(7), nx.star_graph(4), nx.empty_graph(1)]),
    "one edge": nx.path_graph(2),
    "hypercube": nx.convert_node_labels_to_integers(nx.hypercube_graph(3)),
}


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


def test_off_zero_is_that_of_the_package():
    strat = st.Stratification(GRAPHS["parts and a singleton"], hops=3)
    x = np.random.default_rng(3).normal(size=(2, 13, 3))
    want = st.off_zero(strat.spectra(x, "gft"))
    for hop in strat.hops:
        found = spectrata.torch.off_zero(strat, torch.tensor(x), hop=hop).numpy()
        np.testing.assert_allclose(found, want.sel(hop=hop).values, rtol=1e-9)


def test_precision_and_shape_follow_the_tensor():
    strat = st.Stratification(GRAPHS["karate"], hops=2)
    x = torch.randn(34, 4)
    assert spectrata.torch.magnitudes(strat, x).dtype == torch.float32
    assert spectrata.torch.magnitudes(strat, x.half()).dtype == torch.float32
    assert spectrata.torch.magnitudes(strat, x[None]).shape == (1, 2, 34)
    assert spectrata.torch.magnitudes(strat, x, hops=2).shape == (1, 34)
    assert spectrata.torch.magnitudes(strat, x[:, 0]).shape == (2, 34)


@pytest.mark.parametrize(
    ("x", "arguments", "kind"),
    [
        (torch.randn(33, 2), {}, NodeCountError),
        (torch.zeros(34, 2, dtype=torch.int64), {}, SignalTypeError),
        (torch.randn(1, 1, 34, 2), {}, SignalTypeError),
        (torch.randn(34, 2), {"algorithm": "ln_vx"}, OptionError),
        (torch.randn(34, 2), {"hops": [4]}, HopError),
    ],
)
def test_refusals(x, arguments, kind):
    strat = st.Stratification(GRAPHS["karate"], hops=2)
    with pytest.raises(kind):
        spectrata.torch.magnitudes(strat, x, **arguments)


def test_bases_are_cached_on_disk(tmp_path, monkeypatch):
    graph = GRAPHS["parts and a singleton"]
    first = st.Stratification(graph, hops=2, cache=tmp_path)
    x = torch.randn(13, 3, dtype=torch.float64)
    expected = spectrata.torch.magnitudes(first, x)
    assert len(list(tmp_path.glob("*.npz"))) == 2
    second = st.Stratification(graph, hops=2)
    second.use_cache(tmp_path)
    monkeypatch.setattr("spectrata.core.stratification.decompose", None)  # solving again would fail
    assert torch.equal(spectrata.torch.magnitudes(second, x), expected)
    for hop in (1, 2):
        a, b = tensor_basis(first, hop, x.device), tensor_basis(second, hop, x.device)
        assert torch.equal(a.values, b.values)
        assert all(torch.equal(p.vectors, q.vectors) for p, q in zip(a.parts, b.parts, strict=True))
