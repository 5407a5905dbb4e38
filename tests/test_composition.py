"""Random chains of public calls on one result, every number compared with brute force after every call.

More chains, new ones every time: ``HYPOTHESIS_PROFILE=heavy pytest tests/test_composition.py``.
"""

import copy
import pickle
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import hypothesis.strategies as hs
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given
from numpy.testing import assert_allclose

import brute
import brute_readers
import calls
import spectrata as st
from spectrata.errors import InputError, ResultError
from strategies import cases, cases_times

INVARIANT = brute.INVARIANT  # sums over an eigenspace do not depend on the basis: every chain has one answer
SHAPES = {
    "noise": lambda rng, shape: rng.normal(size=shape),
    "ties": lambda rng, shape: rng.integers(1, 4, shape).astype(float),
    "shifted": lambda rng, shape: rng.normal(size=shape) + 100,
    "constant": lambda rng, shape: np.ones(shape) * rng.uniform(0.5, 1.5, shape[1]),
    "zero": lambda rng, shape: np.zeros(shape),
}


@dataclass(frozen=True)
class Known:
    """A result beside what brute force says: ``rows[algorithm, snapshot, hop]`` has one value per eigenspace."""

    ds: xr.Dataset
    ops: dict  # hop -> brute.Operator
    rows: dict  # None for a signal without directions
    hops: tuple
    algorithms: tuple
    snapshots: tuple  # (None,) without
    held: tuple  # numbers of the components that are there
    values: np.ndarray  # (snapshots, n, d)
    call: tuple  # graph, signal and options as given
    steps: tuple = ()

    @property
    def n(self):
        return next(iter(self.ops.values())).n

    @property
    def is_cut(self):
        return len(self.held) < self.n

    def cells(self):
        """Every spectrum: its labels, its position in arrays (algorithm, snapshot, hop), operator and row."""
        for a, algorithm in enumerate(self.algorithms):
            for s, snapshot in enumerate(self.snapshots):
                for h, hop in enumerate(self.hops):
                    yield (algorithm, snapshot, hop), (a, s, h), self.ops[hop], self.rows[algorithm, snapshot, hop]


def array(ds, name):
    """A variable as (algorithm, snapshot, hop, ...)."""
    found = ds[name] if "snapshot" in ds[name].dims else ds[name].expand_dims("snapshot")
    return found.transpose("algorithm", "snapshot", "hop", ...).values


def rounding(op, row):
    """Relative to the whole spectrum, and to the smallest frequency that is divided by."""
    return 1e-10 * max(np.nanmax(row, initial=0.0), 1e-3) * max(1.0, 1 / op.levels[1]) * len(row)


def is_readable(row):
    """Whether more than rounding is off zero."""
    return np.nansum(row[1:] ** 2) > 1e-12 * np.nansum(row**2)


# --- one result, made in a random way -----------------------------------------------------------------------


def drawn_graph(draw):
    """A graph with or without names and weights, how to read it, and its adjacency matrices by brute force."""
    case, rng = draw(cases(max_nodes=9)), np.random.default_rng(draw(hs.integers(0, 2**32 - 1)))
    names = [f"v{i}" for i in rng.permutation(case.n)] if draw(hs.booleans()) else list(range(case.n))
    weights, rule = draw(hs.booleans()), draw(hs.sampled_from(brute.RULES))
    plain = case.graph
    for edge in plain.edges.values():
        edge["w"] = float(rng.integers(1, 9)) if weights else 1.0
    lengths = [max(reached.values()) for _, reached in nx.all_pairs_shortest_path_length(plain)]
    strata = {hop: brute.pair_weights(plain, hop, rule) for hop in range(1, max(lengths) + 1)}
    read = {"weights": "w", "hop_weights": rule} if weights else {"weights": False}
    return nx.relabel_nodes(plain, dict(enumerate(names))), names, strata, read


def as_given(form, names, values):
    """The signal (snapshots, n, d) in a form a user may hold, its rows in another order where they are named."""
    rows = np.random.default_rng(len(names)).permutation(len(names))
    named = [names[row] for row in rows]
    if form == "labelled":
        coords = {"snapshot": [f"step {i}" for i in range(len(values))], "node": [str(name) for name in named]}
        return xr.DataArray(values[:, rows], coords, ("snapshot", "node", "dimension"))
    if form == "snapshots":
        return values
    if form == "frame":
        return pd.DataFrame(values[0][rows], index=named, columns=[f"c{i}" for i in range(values.shape[2])])
    return dict(zip(named, values[0][rows].tolist(), strict=True)) if form == "mapping" else values[0]


@hs.composite
def makers(draw, cut=True):
    """``make(seed)`` gives a result and what is known of it; another seed is another signal on the same graph."""
    graph, names, strata, read = drawn_graph(draw)
    hops = tuple(sorted(draw(hs.sets(hs.sampled_from(list(strata)), min_size=1))))
    laplacian = draw(hs.sampled_from(brute.LAPLACIANS))
    loops = laplacian != "combinatorial" and draw(hs.booleans())
    ops = {hop: brute.operator(strata[hop], laplacian, loops) for hop in hops}
    assume(all(brute.is_clear(op) for op in ops.values()))
    chosen = draw(hs.lists(hs.sampled_from(INVARIANT), min_size=1, unique=True))
    algorithms = ("gft",) if laplacian == "normalized" else tuple(chosen)
    d, n, metric = draw(hs.integers(1, 3)), len(names), draw(hs.sampled_from(["auto", "euclidean"]))
    n_eigs = draw(hs.integers(1, n)) if cut and not draw(hs.integers(0, 3)) else n
    which = draw(hs.sampled_from(["lowest", "highest"]))
    form = draw(hs.sampled_from(["array", "frame", "mapping", "snapshots", "labelled"]))
    count = draw(hs.integers(1, 3)) if form in ("snapshots", "labelled") else 1
    shapes = draw(hs.lists(hs.sampled_from(list(SHAPES)), min_size=count, max_size=count))
    options = {"laplacian": laplacian, "self_loops": loops, "metric": metric, "zero_vectors": "nan", "hops": hops}
    options |= read | ({"n_eigs": n_eigs, "which": which} if n_eigs < n else {})

    def make(seed):
        rng = np.random.default_rng(seed)
        values = np.stack([SHAPES[shape](rng, (n, d)) for shape in shapes])
        call = graph, as_given(form, names, values), options
        ds = calls.spectra(*call[:2], algorithms, **options)
        labels = tuple(ds["snapshot"].values.tolist()) if "snapshot" in ds["magnitude"].dims else (None,)
        rows = {}
        for label, value in zip(labels, values, strict=True):
            t = brute.potential(value, brute.resolve_metric(metric, value))
            for hop, op in ops.items():
                for name in algorithms:
                    found = None if t is None else brute.merged(brute.magnitudes(name, op, t), op.space)
                    rows[name, label, hop] = found
        first = 0 if which == "lowest" else n - n_eigs
        return Known(ds, ops, rows, hops, algorithms, labels, tuple(range(first, first + n_eigs)), values, call)

    return make


# --- what changes a result ----------------------------------------------------------------------------------


def select(dim, name):
    """Some labels of one dimension, in any order."""

    def change(known, rng):
        labels = getattr(known, name)
        if labels == (None,):
            return known
        order = rng.permutation(len(labels))[: rng.integers(1, len(labels) + 1)].tolist()
        return replace(known, ds=known.ds.isel({dim: order}), **{name: tuple(labels[i] for i in order)})

    return change


def select_one_snapshot(known, rng):
    if known.snapshots == (None,):
        return known
    label = known.snapshots[0]
    rows = {(a, None, h): row for (a, s, h), row in known.rows.items() if s == label}
    return replace(known, ds=known.ds.isel(snapshot=0), rows=rows, snapshots=(None,))


def select_components(known, rng):
    if known.steps:
        return known
    count = int(rng.integers(1, len(known.held) + 1))
    chosen = slice(0, count) if rng.random() < 0.5 else slice(len(known.held) - count, None)
    return replace(known, ds=known.ds.isel(component=chosen), held=known.held[chosen])


def drop_zero(known, rng):
    rows = {
        key: row if row is None else np.append(np.nan, row[1:] * is_readable(row)) for key, row in known.rows.items()
    }
    return replace(known, ds=st.stats.drop_zero(known.ds), rows=rows, steps=(*known.steps, "drop"))


def merge(known, rng):
    return replace(known, ds=st.merge_eigenspaces(known.ds), steps=(*known.steps, "merge"))


def normalize(known, rng):
    if known.is_cut or not all(row is None or is_readable(row) for row in known.rows.values()):
        return known
    rows = {key: row if row is None else brute_readers.normalized(row) for key, row in known.rows.items()}
    return replace(known, ds=st.stats.normalize(known.ds), rows=rows, steps=(*known.steps, "normalize"))


def save_and_open(known, rng):
    with tempfile.TemporaryDirectory() as folder:
        return replace(known, ds=st.open(st.save(known.ds, Path(folder) / f"r.{rng.choice(['nc', 'zarr'])}")))


CHANGES = {
    "hops": select("hop", "hops"),
    "snapshots": select("snapshot", "snapshots"),
    "algorithms": select("algorithm", "algorithms"),
    "one snapshot": select_one_snapshot,
    "components": select_components,
    "drop_zero": drop_zero,
    "merge": merge,
    "normalize": normalize,
    "file": save_and_open,
    "pickle": lambda known, rng: replace(known, ds=pickle.loads(pickle.dumps(known.ds))),
    "deepcopy": lambda known, rng: replace(known, ds=copy.deepcopy(known.ds)),
}


def check(known):
    """Labels, eigenspaces, counts, gradients and every magnitude."""
    ds = known.ds
    assert ds["hop"].values.tolist() == list(known.hops)
    assert ds["algorithm"].values.tolist() == list(known.algorithms)
    for h, hop in enumerate(known.hops):
        op, one = known.ops[hop], ds.isel(hop=h)
        counts = [int(one[name]) for name in ("n_edges", "n_parts", "n_singletons")]
        assert counts == [len(op.edges), op.n_parts, op.n_singletons]
        there = one["multiplicity"].values > 0  # merged hops of few eigenspaces are padded
        spaces = one["eigenspace"].values[there]
        expected = np.unique(op.space[list(known.held)]) if "merge" in known.steps else op.space[list(known.held)]
        assert spaces.tolist() == expected.tolist()
        assert_allclose(one["eigenvalue"].values[there], op.levels[spaces], atol=1e-9 * op.values[-1])
        assert one["multiplicity"].values[there].tolist() == op.sizes[spaces].tolist()
        assert one["is_zero"].values[there].tolist() == (spaces == 0).tolist()
    magnitudes, status, spaces = array(ds, "magnitude"), array(ds, "status"), ds["eigenspace"].values
    for labels, (a, s, h), op, row in known.cells():
        seen = magnitudes[a, s, h]
        if row is None:
            assert np.isnan(seen).all(), labels
            assert status[a, s, h] != "ok", labels
            continue
        whole = np.bincount(op.space[list(known.held)], minlength=len(op.sizes)) == op.sizes
        there = ds["multiplicity"].values[h] > 0
        found = np.sqrt(np.bincount(spaces[h][there], np.nan_to_num(seen[there]) ** 2, len(row)))
        assert_allclose(found[whole], np.nan_to_num(row)[whole], rtol=0, atol=rounding(op, row), err_msg=str(labels))
        if not known.steps and not whole.all():  # a part of an eigenspace has at most its energy
            assert (found <= row + rounding(op, row)).all()


@given(makers(), hs.lists(hs.sampled_from(list(CHANGES)), max_size=6), hs.integers(0, 2**32 - 1))
def test_every_chain_of_calls_keeps_the_numbers(make, chain, seed):
    known = make(seed)
    check(known)
    for i, name in enumerate(chain):
        known = CHANGES[name](known, np.random.default_rng([seed, i]))
        check(known)
    check_off_zero(known)
    check_summary(known)
    check_table(known)


# --- what reads a result ------------------------------------------------------------------------------------


def check_off_zero(known):
    if "gft" not in known.algorithms:
        with pytest.raises(ResultError):
            st.off_zero(known.ds)
        return
    try:
        share = st.off_zero(known.ds)
    except (InputError, ResultError):
        assert known.is_cut or "drop" in known.steps
        return
    share = share if "snapshot" in share.dims else share.expand_dims("snapshot")
    share = share.transpose("snapshot", "hop").values
    for (algorithm, *_), (_, s, h), _, row in known.cells():
        if algorithm == "gft":
            unknown = row is None or known.is_cut or "drop" in known.steps or not np.nansum(row**2)
            assert_allclose(share[s, h], np.nan if unknown else brute_readers.off_zero(row), rtol=1e-6, atol=1e-12)


def check_summary(known):
    try:
        table = st.summary(known.ds)
    except (InputError, ResultError):
        assert known.is_cut
        return
    keys = ["algorithm", *(["snapshot"] if known.snapshots != (None,) else []), "hop"]
    table = table.set_index(keys)
    for labels, _, op, row in known.cells():
        found = table.loc[tuple(label for label in labels if label is not None)]
        if known.is_cut:
            assert found[["off_zero", "lowest", "highest", "centroid", "cosine_flat"]].isnull().all()
        elif row is not None and is_readable(row):
            expected = brute_readers.summary(op.levels, op.sizes, row)
            for name in ("lowest", "highest", "centroid", "cosine_flat", "norm", "eigenspaces", "ambiguous"):
                assert_allclose(float(found[name]), expected[name], rtol=1e-5, atol=1e-9, err_msg=f"{labels} {name}")
            known_share = labels[0] == "gft" and "drop" not in known.steps
            assert np.isnan(found["off_zero"]) != known_share


def check_table(known):
    table, ds = st.to_table(known.ds), known.ds
    there = (ds["multiplicity"] > 0).broadcast_like(ds["magnitude"])
    assert len(table) == int(there.sum())
    assert_allclose(
        np.sort(table["magnitude"]), np.sort(ds["magnitude"].values[there.transpose(*ds["magnitude"].dims)])
    )


@cases_times(0.6)
@given(
    makers(cut=False), hs.integers(0, 2**31), hs.lists(hs.sampled_from(["drop_zero", "merge", "hops"])), hs.booleans()
)
def test_two_results_are_compared_by_label(make, seed, chain, zero):
    """``compare`` and ``response`` of results in different orders of hops, after the same steps."""
    one, two = make(seed), make(seed + 1)
    for name in chain:
        if name != "hops":
            one, two = (CHANGES[name](known, None) for known in (one, two))
    two = CHANGES["hops"](two, np.random.default_rng(seed)) if "hops" in chain else two
    one = replace(one, ds=one.ds.sel(hop=sorted(two.hops)), hops=tuple(sorted(two.hops)))
    zero = zero and "drop" not in one.steps
    found = st.compare(one.ds, two.ds, zero=zero, draws=9).sel(hop=list(one.hops), algorithm=list(one.algorithms))
    for labels, (a, s, h), op, row in one.cells():
        other = two.rows[labels]
        if row is None or other is None or not (is_readable(row) and is_readable(other)):
            continue
        expected = brute_readers.compare(op.levels, op.sizes, row, other, zero)
        for name in expected.keys() - {"at_eigenspace", "largest_difference"}:
            top = {"wasserstein": op.levels[-1], "correlation": 1e3}.get(name, 1.0)
            assert_allclose(array(found, name)[a, s, h], expected[name], rtol=0, atol=1e-6 * top, err_msg=name)
        largest, places = array(found, "largest_difference")[a, s, h], expected["at_eigenspace"]
        assert_allclose(abs(largest), abs(expected["largest_difference"]), atol=1e-6)
        if abs(largest) > 1e-5:  # in ties every place is right, with its own sign
            at = int(array(found, "at_eigenspace")[a, s, h])
            assert_allclose(largest, places[at], atol=1e-6)
            assert_allclose(array(found, "at_eigenvalue")[a, s, h], op.levels[at], atol=1e-9 * op.levels[-1])
    if one.snapshots == (None,) and "drop" not in one.steps:
        for level in ("band", "eigenspace"):
            check_response(one, two, level)


def check_response(one, two, level):
    for (algorithm, snapshot, hop), _, op, row in one.cells():
        after = two.rows[algorithm, snapshot, hop]
        if row is not None and is_readable(row) and is_readable(after):
            found = st.response(one.ds, two.ds, algorithm=algorithm, level=level).sel(hop=hop)
            gain, ratio, start = brute_readers.response(op.sizes, row, after, level)
            assert_allclose(found["gain"], gain, rtol=1e-5)
            assert_allclose(found["relative"], found["response"] / gain, rtol=1e-5)
            use = (np.nan_to_num(start) > 1e-3 * np.linalg.norm(row[1:])) & (np.arange(len(start)) >= (level != "band"))
            assert_allclose(found["response"].values[: len(ratio)][use], ratio[use], rtol=1e-4, atol=1e-4 * gain)


@cases_times(0.4)
@given(makers(cut=False), hs.integers(0, 2**31), hs.sampled_from(["component", "eigenspace", "band"]))
def test_chance_is_the_mean_over_all_orders(make, seed, level):
    """Shares of gft energy, and what permutations give on average."""
    known = make(seed)
    (graph, signal, options), (hop, op) = known.call, next(iter(known.ops.items()))
    t = None if known.snapshots != (None,) else brute.potential(known.values[0], known.ds.attrs["metric"])
    assume(t is not None and op.laplacian != "normalized" and np.ptp(known.values[0], axis=0).any())
    options = {name: value for name, value in options.items() if name != "zero_vectors"}
    found = calls.with_graph(st.calibrate, graph, signal, draws=0, level=level, **options).sel(algorithm="gft", hop=hop)
    energy, off = brute.gft(op, t) ** 2, np.flatnonzero(op.space > 0)
    assume(energy[off].sum() > 1e-9 * energy.sum())
    bands = brute_readers.bands_of(op.sizes)[op.space]
    groups = {"component": np.arange(op.n), "eigenspace": op.space, "band": bands}[level]
    for position in np.unique(groups[off]):
        columns = np.flatnonzero(groups == position)
        if level == "component" and op.sizes[op.space[position]] > 1:
            continue  # depends on the basis
        assert_allclose(found["share"][position], energy[columns].sum() / energy[off].sum(), atol=1e-6)
        means = [brute.null_mean(op, t, one) for one in (columns, off)]
        assert_allclose(found["chance"][position], means[0] / means[1], atol=1e-7)
