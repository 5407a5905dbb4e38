"""Weights, rules for further hops, Laplacians and self-loops in every call, against dense numpy.

``smoothness``, ``node_energy`` and ``filter_signal`` have the same grid in files of their own.
"""

import json
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

import brute
import brute_readers
import calls
import spectrata as st
from commanding import run
from test_weights_everywhere import weighted

GRAPH = weighted(seed=4, n=10)
X = np.random.default_rng(2).normal(size=(10, 3)) + np.array([1.0, 0.0, 0.0])
T = np.asarray(brute.potential(X, "angular"), dtype=float)
BESIDE = [(weighted(seed=1, n=10), X[::-1]), (GRAPH, X), (weighted(seed=2, n=14), np.resize(X, (14, 3)))]
LABELS = [0, 1, 1, 0, 2, 2, 0, 1, 2, 0]
CASES = [  # laplacian, self-loops, hop, rule: every one of each
    ("combinatorial", False, 1, "bottleneck"),
    ("combinatorial", False, 2, "product"),
    ("random_walk", False, 2, "bottleneck"),
    ("random_walk", True, 1, "unit"),
    ("random_walk", True, 2, "product"),
    ("normalized", False, 2, "unit"),
    ("normalized", True, 2, "bottleneck"),
]


class Dense:
    """One stratum as numpy has it."""

    def __init__(self, laplacian, loops, hop, rule):
        self.hop = hop
        self.w = brute.pair_weights(GRAPH, hop, rule)
        self.op = brute.operator(self.w, laplacian, loops)
        self.merged = brute.merged(brute.gft(self.op, T), self.op.space)
        self.edges = np.linspace(0.0, 1.01 * self.op.values[-1], 4)
        self.read_as = {"weights": "w", "hop_weights": rule}
        self.how = self.read_as | {"laplacian": laplacian, "self_loops": loops}

    def energies(self):
        """Sums over the components of each band."""
        values, off, energy = self.op.values, self.op.space > 0, brute.gft(self.op, T) ** 2
        return [energy[off & (values > low) & (values <= high)].sum() for low, high in pairwise(self.edges)]

    def decoupling(self):
        inner = self.op.phi * np.sqrt(self.op.c)[:, None]  # u
        root = np.ones(10) if self.op.laplacian == "normalized" else np.sqrt(self.op.c)
        coefficients = inner.T @ (root[:, None] * X)
        share = np.cumsum(np.sum(coefficients**2, axis=1)) / np.sum(coefficients**2)
        low = np.arange(10) <= np.flatnonzero(share >= 0.5)[0]
        low |= self.op.space == self.op.space[low].max()
        parts = [np.linalg.norm(inner[:, one] @ coefficients[one], axis=1) for one in (~low, low)]
        return parts[0] / parts[1]

    def same_label(self):
        same = np.equal.outer(LABELS, LABELS)
        return (self.w * same).sum() / self.w.sum()

    def shares(self):
        """Shares of the energy off zero, by eigenspace."""
        return self.merged[1:] ** 2 / np.sum(self.merged[1:] ** 2)


def merged(ds, hop):
    return st.merge_eigenspaces(ds).sel(algorithm="gft", hop=hop)["magnitude"].values[..., :10]


def known(values):
    """What is not padding."""
    return values[~np.isnan(values)]


def by_strat(d):
    strat = st.Stratification(GRAPH, hops=[d.hop], **d.read_as)
    how = {name: value for name, value in d.how.items() if name not in d.read_as}
    return known(merged(calls.spectra(strat, X, "gft", **how), d.hop))


def many_bands(d):
    ds = calls.spectra_many([(GRAPH, X)], hops=[d.hop], algorithms="gft", bands=d.edges, **d.how)
    return ds["energy"].sel(algorithm="gft", hop=d.hop).values[0]


def findings(d):
    """The number that the sentence on pairs is bound to."""
    found = st.diagnose(stratified(d), X, draws=99)
    (value,) = [one.value for one in found if one.statistic == "r"]
    return value


def stratified(d):
    return st.Stratification(GRAPH, [d.hop], **d.read_as)


def end_correlation(d, values=T):
    """r of dense weights."""
    k = d.w.sum(axis=1)
    centred = values - k @ values / k.sum()
    return np.sum(centred * (d.w @ centred)) / np.sum(k[:, None] * centred**2)


def page(d, tmp_path):
    ds = calls.spectra(GRAPH, X, "gft", hops=[d.hop], **d.how)
    from test_report import rest_of, unpacked

    eigenvalues = unpacked(rest_of(st.write_report(ds, path=tmp_path / "a.html"))["result"]["eigenvalue"])
    return eigenvalues[np.isfinite(eigenvalues)]


def command(d, tmp_path):
    nx.write_graphml(GRAPH, tmp_path / "g.graphml")
    np.save(tmp_path / "x.npy", X)
    words = ["profile", tmp_path / "g.graphml", tmp_path / "x.npy", "--hops", f"{d.hop},{d.hop}", "--algorithms", "gft"]
    words += ["--draws", "0", "--weights", "w", "--hop-weights", d.how["hop_weights"]]
    words += ["--laplacian", d.how["laplacian"], *(["--self-loops"] * d.how["self_loops"]), "-o", tmp_path / "out"]
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["options"]["laplacian"] == d.how["laplacian"]
    return known(merged(st.open(tmp_path / "out" / "spectra.nc"), d.hop))


def losses(d):
    import torch

    from spectrata.torch import magnitudes

    found = calls.with_graph(magnitudes, GRAPH, torch.tensor(X), "gft", hops=[d.hop], **d.how)
    return brute.merged(found.numpy()[0], d.op.space)


def watched(d):
    import torch

    from spectrata.torch import watch

    model = torch.nn.Sequential(torch.nn.Identity())
    strat = st.Stratification(GRAPH, hops=[d.hop], **d.how)
    with watch(model, strat, layers=["0"], algorithms="gft", states=(), mode="train") as w:
        model(torch.tensor(X))
    assert w.problems == []
    return brute.merged(w.snapshots["magnitude"].values.reshape(-1), d.op.space)


CALLS = {
    "spectra": (lambda d: known(merged(calls.spectra(GRAPH, X, "gft", hops=[d.hop], **d.how), d.hop)), "merged"),
    "Stratification.spectra": (by_strat, "merged"),
    "spectra_many": (
        lambda d: known(merged(calls.spectra_many(BESIDE, hops=[d.hop], algorithms="gft", **d.how), d.hop)[1]),
        "merged",
    ),
    "spectra_many(bands=)": (many_bands, Dense.energies),
    "band_spectra": (
        lambda d: calls.band_spectra(GRAPH, X, d.edges, hops=[d.hop], algorithms="gft", **d.how)["energy"].values[0, 0],
        Dense.energies,
    ),
    "calibrate": (
        lambda d: known(calls.with_graph(st.calibrate, GRAPH, X, hops=[d.hop], draws=0, **d.how)["share"].values),
        Dense.shares,
    ),
    "response": (
        lambda d: calls.with_graph(
            lambda graph, **more: st.response(X, X, graph, **more)["share_before"].values.ravel(),
            GRAPH,
            hops=[d.hop],
            **d.how,
        ),
        lambda d: brute_readers.band_shares(d.merged, d.op.sizes),
    ),
    "decoupling": (
        lambda d: (
            st.decoupling(
                st.Stratification(GRAPH, [d.hop], **d.read_as),
                X,
                hop=d.hop,
                draws=0,
                laplacian=d.op.laplacian,
                self_loops=d.how["self_loops"],
            )["decoupling"].values
        ),
        Dense.decoupling,
    ),
    "correlogram": (lambda d: st.correlogram(stratified(d), X, draws=0)["r"].item(), end_correlation),
    "diagnose": (findings, end_correlation),
    "homophily": (
        lambda d: st.homophily(stratified(d), LABELS, draws=0)["homophily"].sel(measure="edge").values,
        Dense.same_label,
    ),
    "torch.magnitudes": (losses, "merged"),
    "torch.watch": (watched, "merged"),
}
NEEDS = {"torch.magnitudes": ["torch"], "torch.watch": ["torch"]}


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.needs(*NEEDS.get(name, []))) for name in CALLS])
def test_a_call_reads_weights_and_laplacian(name, case):
    dense = Dense(*case)
    call, wanted = CALLS[name]
    wanted = dense.merged if wanted == "merged" else wanted(dense)
    np.testing.assert_allclose(np.squeeze(call(dense)), wanted, atol=1e-10)


@pytest.mark.parametrize("case", CASES[2:5], ids=str)
def test_a_page_has_the_spectrum_of_its_laplacian(case, tmp_path):
    dense = Dense(*case)
    np.testing.assert_allclose(page(dense, tmp_path), dense.op.values, atol=1e-5)


@pytest.mark.parametrize("case", CASES[2:5], ids=str)
def test_flags_are_the_arguments(case, tmp_path):
    dense = Dense(*case)
    np.testing.assert_allclose(command(dense, tmp_path), dense.merged, atol=1e-10)


# ---- bad input, in one sentence with what, where and what to do


@pytest.mark.parametrize(
    ("lines", "flags", "words"),
    [
        ("0 1 2\n1 2 -1\n", [], "The weight of the edge 1 to 2 is -1"),
        ("0 1 2\n1 2 3\n1 0 5\n", [], "edge 0 to 1 disagree"),
        (
            "0 1 2\n1 2 3\n",
            ["--hop-weights", "mean"],
            "--hop-weights mean is not one of 'bottleneck', 'product', 'unit'",
        ),
        ("0 1 2\n1 2 3\n", ["--laplacian", "signless"], "--laplacian signless"),
        ("0 1 2\n1 2 3\n", ["--self-loops"], "--laplacian random_walk"),
        ("0 1 2\n1 2 3\n", ["--laplacian", "normalized", "--algorithms", "in_agg"], "in_agg"),
        ("0 1 2\n1 2 3\n", ["--algorithms", "ln_vx"], "ln_vx: not defined for edge weights"),
    ],
)
def test_the_command_line_refuses(lines, flags, words, tmp_path):
    (tmp_path / "g.txt").write_text(lines)
    np.save(tmp_path / "x.npy", np.arange(3.0))
    weights = [] if "--weights" in flags else ["--weights", "true"]
    result = run("profile", tmp_path / "g.txt", tmp_path / "x.npy", *weights, *flags, "-o", tmp_path / "out")
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.strip().splitlines()
    assert words in line
    assert not (tmp_path / "out").exists()
