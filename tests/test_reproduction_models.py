"""The study over trained models: its protocol, networks and measures against outside sources, resumption, reports."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from spectrata.core.stratification import Stratification

pytestmark = pytest.mark.needs("torch")
torch = pytest.importorskip("torch")

from reproduction.studies.models import graphs, measures, networks, protocol, structure, training  # noqa: E402
from reproduction.studies.models.protocol import FULL, MESSAGES, QUICK, SELF_LOOPS  # noqa: E402

CPU = torch.device("cpu")


def small_graph(n: int = 60, seed: int = 0, features: int = 7) -> graphs.StudyGraph:
    """Two parts and an isolated node."""
    rng = np.random.default_rng(seed)
    half = n // 2
    edges = [(a, b) for start in (0, half) for a in range(start, start + half - 1) for b in (a + 1,)]
    extra = rng.integers(0, half, (n, 2)) + half * rng.integers(0, 2, n)[:, None]
    known = graphs.undirected(np.concatenate([edges, extra]))
    known = known[(known != n - 1).all(axis=1)]
    labels = rng.integers(0, 3, n)
    splits = dict(zip(graphs.SPLITS, np.split(rng.permutation(n), [n // 3, n // 2]), strict=True))
    return graphs.StudyGraph("small", known, rng.standard_normal((n, features)).astype(np.float32), labels, splits)


def prepared(graph, tmp_path, plan=QUICK):
    return structure.structure_of(graph, plan, CPU, tmp_path)


# ---- protocol


def test_the_full_protocol_is_large_enough_and_its_halves_are_fixed():
    assert len(FULL.graphs) >= 8
    models = sum(len(training.runs_of(FULL, unit)) for unit in training.units(FULL))
    assert models >= 1000
    assert set(FULL.architectures) <= set(networks.FORWARD)
    halves = {half: {g.name for g in FULL.graphs if g.half == half} for half in (protocol.CHOOSE, protocol.REPORT)}
    assert sum(map(len, halves.values())) == len(FULL.graphs)
    for names in halves.values():  # both halves have graphs from files and generated ones
        assert {FULL.graph(name).source == "file" for name in names} == {True, False}
    assert {unit.trained for unit in training.units(FULL)} == {MESSAGES, SELF_LOOPS}


def test_every_unit_has_its_own_name():
    names = [unit.name for unit in training.units(FULL)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("spec", [g for g in FULL.graphs if g.source != "file"], ids=lambda spec: spec.name)
def test_generated_graphs_are_the_same_every_time_and_as_declared(spec):
    one, two = graphs.load(spec, None, 0), graphs.load(spec, None, 0)
    assert np.array_equal(one.edges, two.edges)
    assert np.array_equal(one.features, two.features)
    assert one.classes == spec.options["classes"]
    assert sorted(np.concatenate(list(one.splits.values()))) == list(range(one.n))
    degree = 2 * len(one.edges) / one.n
    wanted = spec.options.get("degree", 2 * spec.options.get("links", 0) or spec.options.get("inside", 0))
    assert degree == pytest.approx(wanted, rel=0.15)
    if "homophily" in spec.options:
        same = one.labels[one.edges[:, 0]] == one.labels[one.edges[:, 1]]
        assert same.mean() == pytest.approx(spec.options["homophily"], abs=0.04)


# ---- networks against torch_geometric


def peer(architecture, weights, graph, edges):
    """The first run's outputs by torch_geometric's layers with the same weights."""
    from torch_geometric import nn

    w = {name: value[0].detach() for name, value in weights.items()}
    x = torch.as_tensor(graph.features)
    both = torch.as_tensor(np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.copy())
    if edges == SELF_LOOPS:
        both = torch.arange(graph.n).repeat(2, 1)
    if architecture == "gcnii":
        h = first = (x @ w["input"] + w["input.bias"]).relu()
        for layer in range(2):
            conv = nn.GCN2Conv(h.shape[1], 0.1, 0.5, layer + 1, shared_weights=True)
            conv.weight1.data = w[f"conv{layer}"]
            h = conv(h, first, both).relu()
        return h @ w["output"] + w["output.bias"]
    if architecture == "appnp":
        h = (x @ w["hidden"] + w["hidden.bias"]).relu() @ w["output"] + w["output.bias"]
        return nn.APPNP(2, 0.1)(h, both)
    for layer in range(2):
        last = layer == 1
        columns = w[f"conv{layer}" if architecture != "sage" else f"root{layer}"].shape[1]
        if architecture == "sage":
            conv = nn.SAGEConv(x.shape[1], columns)
            conv.lin_l.weight.data, conv.lin_r.weight.data = w[f"neighbours{layer}"].T, w[f"root{layer}"].T
            conv.lin_l.bias.data = w[f"root{layer}.bias"]
        elif architecture == "gat":
            heads = 1 if last else 8
            conv = nn.GATConv(x.shape[1], columns // heads, heads)
            conv.lin.weight.data = w[f"conv{layer}"].T
            conv.att_src.data, conv.att_dst.data = w[f"attention{layer}.from"][None], w[f"attention{layer}.to"][None]
            conv.bias.data = w[f"conv{layer}.bias"]
        else:
            conv = nn.GCNConv(x.shape[1], columns)
            conv.lin.weight.data, conv.bias.data = w[f"conv{layer}"].T, w[f"conv{layer}.bias"]
        h = conv(x, both)
        if not last and architecture == "pairnorm":
            h = nn.PairNorm()(h)
        if not last and architecture == "layernorm":
            h = torch.nn.functional.layer_norm(h, h.shape[1:], w["norm0.scale"], w["norm0.shift"])
        x = h if last else torch.nn.functional.elu(h) if architecture == "gat" else h.relu()
    return x


@pytest.mark.parametrize("edges", [MESSAGES, SELF_LOOPS])
@pytest.mark.parametrize("architecture", [a for a in FULL.architectures if a not in ("mlp", "residual")])
def test_networks_are_those_of_torch_geometric(architecture, edges):
    graph = small_graph()
    net = networks.Network(architecture, 2, 16, 7, 3, [0.0, 0.0], [1, 2], CPU)
    x = torch.as_tensor(graph.features)
    net(x, structure.messages(graph, CPU, MESSAGES))
    with torch.no_grad():
        for name, weight in net.weights.items():
            if weight.ndim == 2:  # biases start as constants
                weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(len(name)))
        outputs = net(x, structure.messages(graph, CPU, edges))[-1]
        expected = peer(architecture, net.weights, graph, edges)
    torch.testing.assert_close(outputs[:, 0], expected, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(outputs[:, 0], outputs[:, 1])


@pytest.mark.parametrize("architecture", FULL.architectures)
@pytest.mark.parametrize("depth", [1, 3])
def test_hidden_states_and_depth(architecture, depth):
    graph = small_graph()
    net = networks.Network(architecture, depth, 16, 7, 3, [0.0], [1], CPU)
    states = net(torch.as_tensor(graph.features), structure.messages(graph, CPU, MESSAGES))
    hidden = {"gcnii": depth + 1, "appnp": 1}.get(architecture, depth - 1)
    assert [tuple(state.shape) for state in states] == [(60, 1, 16)] * hidden + [(60, 1, 3)]
    if architecture != "gat":  # ELU
        assert all((state >= 0).all() for state in states[:-1])


@pytest.mark.parametrize("architecture", ["gcn", "gat", "pairnorm", "gcnii"])
def test_runs_trained_together_are_runs_trained_alone(architecture, tmp_path):
    graph = small_graph()
    plain = replace(QUICK, recipes=(protocol.Recipe("decay", 0.0, 1e-2), protocol.Recipe("none", 0.0, 0.0)), epochs=15)
    held = prepared(graph, tmp_path)
    unit = training.Unit("small", architecture, 2, MESSAGES)
    runs = training.runs_of(plain, unit)
    together = training.fit(unit, held, plain, runs)(held.features, held.messages())[-1]
    for index, run in enumerate(runs):
        alone = training.fit(unit, held, plain, [run])(held.features, held.messages())[-1]
        torch.testing.assert_close(together[:, index], alone[:, 0], rtol=1e-3, atol=1e-3)


def test_training_is_adam_with_weight_decay(tmp_path):
    """One linear layer, against torch's own optimiser."""
    graph = small_graph()
    held = prepared(graph, tmp_path)
    plan = replace(QUICK, recipes=(protocol.Recipe("decay", 0.0, 1e-2),), seeds=1, epochs=10)
    unit = training.Unit("small", "mlp", 1, MESSAGES)
    network = training.fit(unit, held, plan, training.runs_of(plan, unit))
    fresh = training.fit(unit, held, replace(plan, epochs=0), training.runs_of(plan, unit))
    weight, bias = (fresh.weights[name][0].detach().clone().requires_grad_() for name in ("layer0", "layer0.bias"))
    adam = torch.optim.Adam([weight, bias], lr=plan.learning_rate, weight_decay=1e-2)
    nodes = held.splits["train"]
    for _ in range(10):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(held.features[nodes] @ weight + bias, held.labels[nodes]).backward()
        adam.step()
    torch.testing.assert_close(network.weights["layer0"][0], weight, rtol=1e-4, atol=1e-5)


def test_dropout_keeps_the_mean_and_each_runs_rate():
    net = networks.Network("gcn", 2, 16, 7, 3, [0.5, 0.0], [1, 2], CPU)
    net.training = True
    torch.manual_seed(0)
    dropped = net.drop(torch.ones((4000, 2, 16)))
    assert (dropped[:, 1] == 1).all()
    assert set(dropped[:, 0].unique().tolist()) == {0.0, 2.0}
    assert dropped[:, 0].mean().item() == pytest.approx(1, abs=0.03)


# ---- measures


def measured(values, held):
    """Measures of one state by name."""
    state = torch.as_tensor(np.asarray(values, dtype=float))[:, None]
    return dict(zip(measures.MEASURES, measures.measure_states([state], held)[0, 0], strict=True))


def edges_of(graph):
    known = nx.empty_graph(graph.n)
    known.add_edges_from(graph.edges.tolist())
    return known


def test_dead_rows_against_the_definition(tmp_path):
    """The formula, written with loops; and the plain identity for one direction with some dead rows."""
    graph = small_graph()
    held = prepared(graph, tmp_path)
    rng = np.random.default_rng(5)
    values = rng.standard_normal((60, 4)) + 1
    values[rng.random(60) < 0.3] = 0
    found = measured(values, held)
    norms = np.linalg.norm(values, axis=1)
    t = values / np.where(norms > 0, norms, 1)[:, None] / 2
    live = norms > 0
    part = held.strat.strata.at(1).parts
    common = common_zero = 0.0
    for label in np.unique(part):
        members = (part == label) & live
        if members.any():
            common += np.sum(t[members].sum(axis=0) ** 2) / members.sum()
        common_zero += np.sum(t[part == label].sum(axis=0) ** 2) / np.sum(part == label)
    total = np.sum(t**2)
    assert found["off_zero"] == pytest.approx(1 - common / total)
    assert found["off_zero_dead_as_zero"] == pytest.approx(1 - common_zero / total)
    assert found["dead_share"] == pytest.approx(np.mean(~live))
    mads = []
    for node in range(60):
        near = {*graph.edges[graph.edges[:, 0] == node, 1], *graph.edges[graph.edges[:, 1] == node, 0]}
        distances = [1 - 4 * t[node] @ t[other] for other in near if live[node] and live[other]]
        if distances:
            mads.append(np.mean(distances))
    assert found["mad"] == pytest.approx(np.mean(mads))


def test_one_direction_with_dead_rows_has_collapsed(tmp_path):
    held = prepared(small_graph(), tmp_path)
    values = np.outer(np.where(np.arange(60) % 4 == 0, 0.0, 1 + np.arange(60)), [1.0, 2.0])
    found = measured(values, held)
    assert found["off_zero"] == pytest.approx(0, abs=1e-15)
    assert found["off_zero_dead_as_zero"] > 0.2
    assert found["directions_effective_rank"] == pytest.approx(1)


def test_dead_states_and_states_that_are_not_finite(tmp_path):
    held = prepared(small_graph(), tmp_path)
    dead = measured(np.zeros((60, 3)), held)
    assert dead["dead_share"] == 1
    assert np.isnan([dead[name] for name in ("off_zero", "mad", "rayleigh", "effective_rank", "contrast_4")]).all()
    broken = measured(np.full((60, 3), np.inf), held)
    assert np.isnan(list(broken.values())).all()


def test_contrast_and_bands_against_spectrata(tmp_path):
    graph = small_graph()
    held = prepared(graph, tmp_path, replace(QUICK, pairs=10**6))
    rng = np.random.default_rng(7)
    values = rng.standard_normal((60, 3)) + 0.3
    found = measured(values, held)
    t = values / np.linalg.norm(values, axis=1, keepdims=True)
    everyone = np.mean([np.sum((t[a] - t[b]) ** 2) for a in range(60) for b in range(a)])
    strat = Stratification(edges_of(graph), hops=4)
    for hop in protocol.HOPS:
        pairs = strat.strata.at(hop).edges
        near = np.mean(np.sum((t[pairs[:, 0]] - t[pairs[:, 1]]) ** 2, axis=1))
        assert found[f"contrast_{hop}"] == pytest.approx(1 - near / everyone)
    ds = strat.spectra(values, "gft", metric="angular")
    energy = ds["magnitude"].sel(algorithm="gft").values ** 2  # (hop, component)
    for row, hop in enumerate(protocol.HOPS):
        off = np.flatnonzero(~ds["is_zero"].values[row])
        band = np.zeros(60, dtype=int)
        for space in np.unique(ds["eigenspace"].values[row, off]):
            members = np.flatnonzero(ds["eigenspace"].values[row, off] == space)
            band[off[members]] = 1 + int(4 * (members.mean() + 0.5) / len(off))
        shares = np.bincount(band, energy[row], 5) / energy[row].sum()
        assert [found[f"band_{hop}_{b}"] for b in range(5)] == pytest.approx(shares.tolist())
        if hop == 1:
            assert shares[0] == pytest.approx(1 - found["off_zero"])


def test_many_pairs_are_sampled_without_bias(tmp_path):
    graph = small_graph()
    few = prepared(graph, tmp_path, replace(QUICK, pairs=40))
    assert len(few.pairs[1]) == len(graph.edges)
    assert len(few.pairs[2]) == 40
    distance = dict(nx.all_pairs_shortest_path_length(edges_of(graph)))
    assert all(distance[a][b] == 2 for a, b in few.pairs[2])
