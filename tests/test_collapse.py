"""Verdicts on layers: the levels of the study's file, quoted with its rates, at the two places they were chosen for."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import spectrata as st
from spectrata.errors import OptionError
from spectrata.stats import collapse

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


def test_the_study_is_named_by_the_title_of_its_page():
    page = Path(__file__).parents[1] / "docs" / "activations.md"
    assert page.read_text(encoding="utf-8").splitlines()[0] == f"# {collapse.STUDY}"


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
        assert "connected part of the graph the nodes point almost the same way" in one.text
        assert "This alone does not show that message passing is the cause" in one.text
        assert 'control="no_messages"' in one.text
        assert "because of message passing" not in one.text
    training = collapse.collapsed(layers([0.5, 0.5, 0.5, 0.0, 0.5], mode="train"))
    assert "of the train pass at epoch 7" in training[0].text


def test_the_last_hidden_layer_is_the_state_that_the_outputs_are_made_of():
    """A layer whose output the last one is given as it is has no row of its own hidden state."""
    ds = layers([0.5] * 5)
    names = {("hidden", "layer"): 3, ("layer", "hidden"): 3, ("layer", "layer"): 3, ("hidden", "hidden"): 3}
    for (one, other), row in names.items():
        roles = ("snapshot", ["input", "layer", one, other, "output"])
        assert collapse.places(ds.assign_coords(role=roles)) == {"last hidden": row, "outputs": 4}
    # the model returned a sum of the last layer and a state: that layer's output is not a state
    returned = ds.assign_coords(
        snapshot=[*NAMES[:4], "output"], role=("snapshot", ["input", "layer", "hidden", "layer", "output"])
    )
    assert collapse.places(returned) == {"last hidden": 2, "outputs": 4}


def test_silence_is_explained_with_the_share_of_failed_models_it_misses():
    level = {place: FILE[place]["off_zero"]["level"] for place in ("last hidden", "outputs")}
    hidden, outputs = collapse.above_levels(layers([0.0, 0.0, 0.0, level["last hidden"], 0.5]))
    for text, name, place in ((hidden, "convs.1/hidden", "last hidden"), (outputs, "convs.2", "outputs")):
        missed = 100 * (1 - FILE[place]["off_zero"]["report"]["failed"]["rate"])
        verb = "are" if place == "outputs" else "is"
        assert f"({name}) of the evaluation at epoch 7 {verb} above the level of collapse: " in text
        assert f"the level is {level[place]:.3g}" in text
        assert f"{missed:.3g} % of the failed models of the study were above it" in text
    assert len(collapse.above_levels(layers([0.5, 0.5, 0.5, 0.0, 0.5]))) == 1  # the other place is a finding
    assert collapse.above_levels(layers([np.nan] * 5, 1.0)) == []


def test_message_passing_is_named_only_against_a_control():
    ds, low, high = (layers([0.5, 0.5, 0.5, value, 0.5]) for value in (1e-4, 1e-3, 0.3))
    text = collapse.collapsed(ds, high)[0].text
    assert "above the level and 3,000 times as large: the layer has collapsed because of message passing" in text
    text = collapse.collapsed(ds, low)[0].text
    assert "the layer has collapsed without message passing as well. Messages make the value 10 times smaller" in text
    text = collapse.collapsed(ds, layers([0.5, 0.5, 0.5, 1.5e-4, 0.5]))[0].text
    assert "collapsed without message passing as well. The weights" in text
    carried = ds.assign(off_zero_live_control=high["off_zero_live"])
    assert collapse.collapsed(carried) == collapse.collapsed(ds, high)
    with pytest.raises(OptionError, match="control"):
        collapse.collapsed(ds, xr.Dataset(attrs={"snapshot_kind": "epochs"}))


def test_values_below_rounding_error_are_not_compared():
    """A share of 1e-31 beside one of 5e-16 says nothing about messages."""
    for value in (0.0, 1.1e-31):
        ds = layers([0.5, 0.5, 0.5, value, 0.5])
        text = collapse.collapsed(ds, layers([0.5, 0.5, 0.5, 5e-16, 0.5]))[0].text
        assert "directions, below 1e-12 varies within" in text
        assert "the value is below 1e-12, below the level: the layer has collapsed without message passing" in text
        assert "Messages make" not in text
    text = collapse.collapsed(ds, layers([0.5, 0.5, 0.5, 1e-3, 0.5]))[0].text
    assert "Messages make the value more than a million times smaller" in text


def test_a_control_of_another_epoch_is_refused():
    """Its weights are not those of the layers; a control that counted no epochs is taken."""
    ds = layers([0.5, 0.5, 0.5, 1e-4, 0.5])
    with pytest.raises(OptionError, match="those of epoch 7 and control those of epoch 3"):
        collapse.collapsed(ds, layers([0.5, 0.5, 0.5, 0.3, 0.5], pass_epoch=3))
    assert collapse.collapsed(ds, layers([0.5, 0.5, 0.5, 0.3, 0.5], pass_epoch=-1))


def test_a_control_close_to_the_value_with_messages_names_no_cause():
    level = FILE["last hidden"]["off_zero"]["level"]
    below, above = (layers([0.5, 0.5, 0.5, factor * level, 0.5]) for factor in (0.99, 1.01))
    text = collapse.collapsed(below, above)[0].text
    assert "above the level but less than 2 times as large: whether message passing is the cause is not settled" in text
    assert "because of message passing" not in text


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


def test_one_column_is_not_judged():
    """All nodes on one side have one direction, however their values differ."""
    ds = layers([0.5, 0.5, 0.5, 0.0, 0.0]).assign_coords(width=("snapshot", [9, 9, 9, 9, 1]))
    assert [one.snapshot for one in collapse.collapsed(ds)] == ["convs.1/hidden"]
    (note,) = collapse.above_levels(ds)
    assert note.startswith("The outputs (convs.2) have one column and no directions to judge")


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
    assert "With the same weights and self-loops as the only edges" in found[24][0].text
    assert "This alone does not show" not in found[24][0].text
    assert st.diagnose(w.over_layers())[0].text == found[24][0].text  # the layers carry their control
    assert found[24][0].text in str(diagnose_of_page(w.over_layers()))
    signal = w.over_layers()["off_zero_live"]
    for one in found[24].of("collapsed"):
        assert one.value == pytest.approx(float(eval(one.call, {"result": {"off_zero_live": signal}})))


def recent(values, control=None, epochs=(10, 20, 30, 40, 50)):
    """Layers whose last hidden state had these values at the last evaluations; the last is judged."""
    ds = layers([0.5, 0.5, 0.5, values[-1], 0.5], pass_epoch=epochs[-1]).assign_coords(evaluation=list(epochs))
    for name, own in (("off_zero_live_recent", values), ("off_zero_live_control_recent", control)):
        if own is not None:
            rows = np.full((len(NAMES), len(own)), 0.5)
            rows[3] = own
            ds[name] = (("snapshot", "evaluation"), rows)
    return ds if control is None else ds.assign(off_zero_live_control=("snapshot", [0.5, 0.5, 0.5, control[-1], 0.5]))


def test_a_verdict_that_changes_between_evaluations_says_so():
    low, high = 1e-3, 0.3
    (found,) = collapse.collapsed(recent([low, high, low, high, low]))
    assert "It was below the level at 3 of the last 5 evaluations (epochs 10 to 50): the verdict is not" in found.text
    (found,) = collapse.collapsed(recent([low] * 5))
    assert "It was below the level at all of the last 5 evaluations (epochs 10 to 50)." in found.text
    hidden, outputs = collapse.above_levels(recent([low, low, high, high, high]))
    assert "It was below the level at 2 of the last 5 evaluations (epochs 10 to 50): the verdict is not" in hidden
    assert "evaluations (" not in outputs
    assert "evaluations (" not in collapse.collapsed(recent([low], epochs=[50]))[0].text


def test_a_cause_that_changes_between_evaluations_is_not_named():
    low, high = 1e-3, 0.3
    (found,) = collapse.collapsed(recent([high, low, low, low, low], [low, high, low, high, high]))
    assert (
        "Of the 4 evaluations below the level, this control was above it at 3 and below it at 1: whether message "
        "passing is the cause is not settled." in found.text
    )
    assert "because of message passing" not in found.text
    (found,) = collapse.collapsed(recent([high, low, low], [low, high, high], (1, 2, 3)))
    assert "because of message passing" in found.text  # the control counts where the layer was below the level
    other = layers([0.5, 0.5, 0.5, high / 2, 0.5], pass_epoch=50)  # a control whose earlier evaluations are not known
    (found,) = collapse.collapsed(recent([low] * 5, [low] * 5), other)
    assert "because of message passing" in found.text


def test_counts_of_a_watched_run_are_those_of_its_rows():
    """A last layer with a bias that jumps: counted from the table of the run, by hand."""
    torch = pytest.importorskip("torch")
    from spectrata.torch import watch
    from torch_models import Net, fit, small_data

    torch.manual_seed(0)
    model, data, level = Net(), small_data(), FILE["outputs"]["off_zero"]["level"]
    with watch(model, data, hops=1, every=3, evaluate=1, control="no_messages") as w:
        for epoch, shift in enumerate([0, 0, 500, 0, 500, 0, 500, 500]):
            fit(model, data, 1)
            with torch.no_grad():
                model.conv2.bias += shift
            w.step(epoch=epoch)
            with torch.no_grad():
                model.conv2.bias -= shift
        model.conv2.bias.data += 500
    rows = w.table()
    rows = rows[(rows["layer"] == "conv2") & (rows["mode"] == "eval")].sort_values("step")
    late = rows[rows["epoch"] >= 3.5]["off_zero_live"].to_numpy()[-5:]  # the second half of the run
    below = int(np.sum(late < level))
    assert 0 < below < len(late)
    (found,) = [one for one in st.diagnose(w.over_layers()).of("collapsed") if one.snapshot == "conv2"]
    assert f"They were below the level at {below} of the last {len(late)} evaluations (epochs 4 to 7)" in found.text
    whole = st.diagnose(w.dataset)  # the same verdict, and which pass it is about
    assert found.text in whole.sentences
    assert "w.over_layers(step=...)" in whole.notes[0]
    assert "w.over_epochs(layer)" in whole.notes[0]
