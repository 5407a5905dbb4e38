"""Verdicts on layers: the levels of the study's file, quoted with its rates, at the two places they were chosen for."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import spectrata as st
from spectrata.analysis import collapse
from spectrata.errors import OptionError

FILE = json.loads((Path(collapse.__file__).parent / "collapse_levels.json").read_text())["positions"]
NAMES = ("input", "convs.0", "convs.0/hidden", "convs.1/hidden", "convs.2")
ROLES = ("input", "layer", "hidden", "hidden", "output")


def layers(values, dead=0.0, mode="eval", **more):
    """What a watched run gives for its layers, as far as a verdict reads it."""
    count = len(values)
    facts = {"snapshot_kind": "layers", "pass_mode": mode, "pass_epoch": 7, "pass_step": 70} | more
    coords = {"snapshot": list(NAMES), "role": ("snapshot", list(ROLES)), "hop": [1]}
    data = {"off_zero_live": values, "dead_rows": np.full(count, dead), "effective_rank": np.full(count, 1.5)}
    return xr.Dataset({name: ("snapshot", np.asarray(one, dtype=float)) for name, one in data.items()}, coords, facts)


def test_levels_and_rates_are_those_of_the_file():
    for place in ("last hidden", "outputs"):
        own, known = FILE[place]["off_zero"], collapse.levels()[place]
        assert known["level"] == own["level"]
        assert known["failed"] == (own["report"]["failed"]["rate"], own["report"]["failed"]["models"])
        assert known["good"] == (own["report"]["good"]["rate"], own["report"]["good"]["models"])


def test_only_the_last_hidden_layer_and_the_outputs_are_judged():
    level = {place: FILE[place]["off_zero"]["level"] for place in ("last hidden", "outputs")}
    assert collapse.collapsed(layers([0.0, 0.0, 0.0, level["last hidden"], level["outputs"]])) == []
    found = collapse.collapsed(layers([0.5, 0.5, 0.5, 0.99 * level["last hidden"], 0.99 * level["outputs"]]))
    assert [(one.kind, one.snapshot) for one in found] == [("collapsed", "convs.1/hidden"), ("collapsed", "convs.2")]
    for one, place in zip(found, ("last hidden", "outputs"), strict=True):
        rates = FILE[place]["off_zero"]["report"]
        assert f"{100 * rates['failed']['rate']:.3g} % of {rates['failed']['models']:,} failed" in one.text
        assert f"{100 * rates['good']['rate']:.2g} % of {rates['good']['models']:,} good" in one.text
        assert f"the level is {level[place]:.3g}" in one.text
        assert "evaluation at epoch 7" in one.text
        assert "message passing" not in one.text
    training = collapse.collapsed(layers([0.5, 0.5, 0.5, 0.0, 0.5], mode="train"))
    assert "of the train pass at epoch 7" in training[0].text


def test_silence_is_explained_with_the_share_of_failed_models_it_misses():
    level = {place: FILE[place]["off_zero"]["level"] for place in ("last hidden", "outputs")}
    hidden, outputs = collapse.above_levels(layers([0.0, 0.0, 0.0, level["last hidden"], 0.5]))
    for text, name, place in ((hidden, "convs.1/hidden", "last hidden"), (outputs, "convs.2", "outputs")):
        missed = 100 * (1 - FILE[place]["off_zero"]["report"]["failed"]["rate"])
        verb = "are" if place == "outputs" else "is"
        assert f"({name}) of the evaluation at epoch 7 {verb} above the level of collapse: " in text
        assert f"the level is {level[place]:.3g}" in text
        assert f"{missed:.3g} % of the failed models were above it" in text
    assert len(collapse.above_levels(layers([0.5, 0.5, 0.5, 0.0, 0.5]))) == 1  # the other place is a finding
    assert collapse.above_levels(layers([np.nan] * 5, 1.0)) == []


def test_message_passing_is_named_only_against_a_control():
    ds, low, high = (layers([0.5, 0.5, 0.5, value, 0.5]) for value in (1e-4, 1e-3, 0.3))
    assert "because of message passing" in collapse.collapsed(ds, high)[0].text
    assert "it has collapsed without message passing too" in collapse.collapsed(ds, low)[0].text
    carried = ds.assign(off_zero_live_control=high["off_zero_live"])
    assert collapse.collapsed(carried) == collapse.collapsed(ds, high)
    with pytest.raises(OptionError, match="control"):
        collapse.collapsed(ds, xr.Dataset(attrs={"snapshot_kind": "epochs"}))


def test_dead_rows_are_counted_and_all_dead_is_dead():
    assert (
        "12.5 % of the nodes have a zero vector" in collapse.collapsed(layers([0.5, 0.5, 0.5, 0.0, 0.5], 0.125))[0].text
    )
    result = layers([np.nan] * 5, 1.0)
    found = collapse.collapsed(result)
    assert {one.kind for one in found} == {"dead"}
    for one in found:  # the call gives the value again
        assert one.value == 1.0
        assert float(eval(one.call, {"result": result})) == one.value


def test_other_snapshots_are_not_judged():
    for facts in ({"snapshot_kind": "epochs"}, {"kind": "mini-batches"}):
        with pytest.raises(OptionError, match="over_layers"):
            collapse.collapsed(layers([0.0] * 5, **facts))
    with pytest.raises(OptionError):
        collapse.collapsed(layers([0.0] * 5).assign_coords(hop=[2]))


def diagnose_of_page(layers):
    """The findings that a report prints first."""
    from spectrata.report.contents import contents
    from spectrata.results.schema import view

    return contents(view(layers), None, None, 10).findings


def test_a_watched_network_is_judged_and_a_shallow_one_is_not():
    torch = pytest.importorskip("torch")
    nn = pytest.importorskip("torch_geometric.nn")
    import networkx as nx

    from spectrata.torch import watch

    graph = nx.planted_partition_graph(2, 20, 0.4, 0.1, seed=0)
    edges = torch.tensor(list(graph.to_directed().edges)).T
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    found = {}
    for depth in (2, 24):
        torch.manual_seed(1)
        model = nn.GCN(6, 8, depth, 3)
        with watch(model, graph, hops=1, mode="eval", control="no_messages") as w, torch.no_grad():
            model.eval()(x, edges)
        found[depth] = st.diagnose(w.over_layers(), control=w.over_layers(mode="control"))
    assert "collapsed" not in found[2].kinds
    assert sum("above the level of collapse" in line for line in found[2].notes) == 2
    assert found[24][0].kind == "collapsed"  # first of all
    assert "message passing" in found[24][0].text
    assert st.diagnose(w.over_layers())[0].text == found[24][0].text  # the layers carry their control
    assert found[24][0].text in str(diagnose_of_page(w.over_layers()))
    signal = w.over_layers()["off_zero_live"]
    for one in found[24].of("collapsed"):
        assert one.value == pytest.approx(float(eval(one.call, {"result": {"off_zero_live": signal}})))
