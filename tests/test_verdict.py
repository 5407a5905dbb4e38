"""Verdicts on layers: levels and rates, one line per judged layer, the end of training, the cause, the scores."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import spectrata as st
from spectrata.errors import OptionError
from spectrata.stats.findings import collapse
from spectrata.stats.findings.collapse import COLLAPSED_TOO, LEVELS, Verdict, verdicts

ROOT = Path(__file__).parents[1]
NAMES = ("input", "convs.0", "convs.0/hidden", "convs.1/hidden", "convs.2")
ROLES = ("input", "layer", "hidden", "hidden", "output")
LOW, HIGH = 1e-3, 0.3


def layers(values, dead=0.0, mode="eval", **more):
    """What a watched run gives for its layers, as far as a verdict reads it."""
    facts = {"snapshot_kind": "layers", "pass_mode": mode, "pass_epoch": 7, "pass_step": 70} | more
    coords = {"snapshot": list(NAMES), "role": ("snapshot", list(ROLES)), "hop": [1]}
    data = {"off_zero_live": values, "dead_rows": np.full(5, dead), "effective_rank": np.full(5, 1.5)}
    return xr.Dataset({name: ("snapshot", np.asarray(one, dtype=float)) for name, one in data.items()}, coords, facts)


def recent(values, control=None, **more):
    """Layers whose last hidden state had these values at the last evaluations; the last is judged."""
    epochs = list(range(10, 10 * len(values) + 10, 10))
    ds = layers([0.5, 0.5, 0.5, values[-1], 0.5], pass_epoch=epochs[-1], **more).assign_coords(evaluation=epochs)
    for name, own in (("off_zero_live_recent", values), ("off_zero_live_control_recent", control)):
        if own is not None:
            rows = np.full((5, len(own)), 0.5)
            rows[3] = own
            ds[name] = (("snapshot", "evaluation"), rows)
    return ds if control is None else ds.assign(off_zero_live_control=("snapshot", [0.5, 0.5, 0.5, control[-1], 0.5]))


def hidden(ds, **given):
    """The verdict on the last hidden layer."""
    return next(one for one in verdicts(ds, **given)[0] if one.snapshot == "convs.1/hidden")


def given(**scores):
    count = len(next(iter(scores.values())))
    return json.dumps({"epoch": list(range(count))} | {name: list(map(float, one)) for name, one in scores.items()})


def course(kind, count=200):
    """A loss that falls to its end, falls still, only scatters, or waits before it falls."""
    at, noise = np.arange(count), np.random.default_rng(0).normal(size=count)
    return {
        "ended": 2 * np.exp(-at / 20) + 0.001 * noise,
        "falls": 2 - at / count,
        "scatters": 1.95 + 0.002 * noise,
        "waits": 1.95 - 0.001 * at + 0.0005 * noise,
    }[kind]


def test_the_study_is_named_by_the_title_of_its_page():
    page = ROOT / "docs" / "activations.md"
    assert page.read_text(encoding="utf-8").splitlines()[0] == f"# {collapse.STUDY}"


def test_the_last_hidden_layer_and_the_outputs_are_judged_each_by_its_level():
    level = {place: LEVELS[place].level for place in LEVELS}
    at = [0.0, 0.0, 0.0, level["last hidden"], level["outputs"]]
    assert [one.kind for one in verdicts(layers(at))[0]] == ["not_collapsed"] * 2
    found, _ = verdicts(ds := layers([0.5, 0.5, 0.5, 0.99 * at[3], 0.99 * at[4]]))
    assert [(one.kind, one.snapshot) for one in found] == [("collapsed", "convs.1/hidden"), ("collapsed", "convs.2")]
    assert found[0].text == "convs.1 hidden: COLLAPSED 0.022 < 0.022 at 1 of 1 evaluations"
    facts = [[one.facts[name] for name in ("kind", "hop", "value")] for one in found]
    assert facts == [["collapsed", 1, 0.99 * value] for value in at[3:]]
    assert "connected part of" not in str(st.diagnose(ds))


def test_rates_and_limits_are_explained_on_request():
    found, notes = verdicts(layers([0.5, 0.5, 0.5, LOW, 0.5]))
    diagnosed = st.diagnose(layers([0.5, 0.5, 0.5, LOW, 0.5]))
    assert "flagged" not in str(diagnosed)
    for one, place in zip(found, LEVELS, strict=True):
        known = LEVELS[place]
        assert f"{100 * known.hit:.3g} % of {known.failed} failed" in one.explain()
        assert f"{100 * known.alarm:.2g} % of {known.good} good models" in one.explain()
    assert "Without a control" in found[0].explain()
    assert [collapse.REMEDY in hidden(recent([LOW] * 5, [value] * 5)).explain() for value in (LOW, HIGH)] == [
        True,
        False,
    ]
    assert "48.2 % of the failed ones were" in found[1].explain()
    assert "leave out vectors that are zero, and subtract the mean of each connected part" in found[0].explain()
    said = [*(one.text for one in found), *(one.explain() for one in found), *notes]
    assert diagnosed.explain() == "\n".join(said)


def test_the_last_hidden_layer_is_the_state_that_the_outputs_are_made_of():
    """A layer whose output the last one is given as it is has no row of its own hidden state."""
    ds = layers([0.5] * 5)
    for one, other in (("hidden", "layer"), ("layer", "hidden"), ("layer", "layer"), ("hidden", "hidden")):
        roles = ("snapshot", ["input", "layer", one, other, "output"])
        assert collapse.places(ds.assign_coords(role=roles)) == {"last hidden": 3, "outputs": 4}
    # the model returned a sum of the last layer and a state: that layer's output is not a state
    returned = ds.assign_coords(
        snapshot=[*NAMES[:4], "output"], role=("snapshot", ["input", "layer", "hidden", "layer", "output"])
    )
    assert collapse.places(returned) == {"last hidden": 2, "outputs": 4}


@pytest.mark.parametrize(
    ("values", "control", "cause"),
    [
        ([LOW] * 5, [HIGH] * 5, "messages"),
        ([LOW] * 4, [HIGH] * 4, "not settled"),  # fewer than five evaluations
        ([LOW] * 5, [HIGH, HIGH, LOW, HIGH, HIGH], "not settled"),  # below the level at one of them
        ([0.02] * 5, [0.09] * 5, "not settled"),  # less than five times as large
        ([LOW] * 5, [0.02] * 5, COLLAPSED_TOO),
        ([LOW] * 5, None, ""),
    ],
)
def test_messages_are_the_cause_only_where_the_control_says_so_five_times(values, control, cause):
    found = hidden(recent(values, control))
    assert found.cause == cause
    assert ("messages are the cause" in found.text) == (cause == "messages")
    assert ("control without messages: too" in found.text) == (cause == COLLAPSED_TOO)
    assert hidden(recent([HIGH] * len(values), control)).cause == ""  # nothing to explain


def test_a_control_may_be_given_and_must_be_of_the_same_epoch():
    ds = layers([0.5, 0.5, 0.5, LOW, 0.5])
    assert hidden(ds, control=layers([0.5, 0.5, 0.5, 0.01, 0.5])).cause == COLLAPSED_TOO
    assert hidden(ds, control=layers([0.5] * 5, pass_epoch=-1)).cause == "not settled"  # five evaluations are not known
    with pytest.raises(OptionError, match="those of epoch 7 and control those of epoch 3"):
        verdicts(ds, layers([0.5] * 5, pass_epoch=3))
    with pytest.raises(OptionError, match="control"):
        verdicts(ds, xr.Dataset(attrs={"snapshot_kind": "epochs"}))


def test_a_verdict_says_at_how_many_evaluations_it_holds():
    """In the text and in the table alike."""
    for values, words, agreeing in (
        ([LOW, HIGH, LOW, HIGH, LOW], "COLLAPSED 0.001 < 0.022 now, above it at 2 of 5 evaluations", 3),
        ([LOW, LOW, LOW, LOW, HIGH], "not collapsed 0.3 >= 0.022 now, below it at 4 of 5 evaluations", 1),
        ([HIGH] * 5, "not collapsed 0.3 >= 0.022 at 5 of 5 evaluations", 5),
    ):
        found = hidden(recent(values))
        assert words in found.text
        assert (found.agreeing, found.evaluations) == (agreeing, 5)
        assert {"agreeing", "evaluations"} <= set(found.facts)


@pytest.mark.parametrize("mode", ["train", "control"])
def test_only_evaluations_are_judged(mode):
    for value in (LOW, HIGH):
        found = hidden(recent([value] * 5, mode=mode, epochs=200, scores=given(loss=course("ended"))))
        assert (found.kind, found.failed) == ("training", False)
        assert "pass: use evaluate=10" in found.text


def test_a_missing_loss_is_named_in_the_row_and_what_still_changes_beside_its_limit():
    assert "no loss given: end of training not checked" in hidden(recent([HIGH] * 5, epochs=60)).text
    few = {"epochs": 60, "scores": given(loss=[1, 2, 3])}
    assert "3 values of loss given: end of training not checked" in hidden(recent([HIGH] * 5, **few)).text
    assert "given" not in hidden(recent([HIGH] * 5, epochs=60, scores=given(loss=course("ended")))).text
    falls = hidden(recent([HIGH] * 5, epochs=200, scores=given(loss=course("falls"))))
    assert (
        "loss still changes, by 10.1 % of its total change in the last tenth of the epochs; limit 5.0 %" in falls.text
    )
    assert falls.explain().endswith("Train for longer.")
    assert "w.step(loss=...)" in hidden(recent([HIGH] * 5, epochs=20)).explain()


@pytest.mark.parametrize(("accuracy", "words"), [(0.4, "Look at the optimisation"), (0.8, "can fail without collapse")])
def test_not_collapsed_is_not_called_healthy(accuracy, words):
    facts = {"epochs": 60, "scores": given(train_acc=[accuracy] * 60), "largest_class": 0.3, "labelled": 100}
    assert words in str(st.diagnose(recent([HIGH] * 5, **facts)))
    facts["scores"] = given(train_acc=[0.97] * 60)
    assert "can fail" not in str(st.diagnose(recent([HIGH] * 5, **facts)))
    assert words not in str(st.diagnose(recent([LOW] * 5, **facts)))


def test_the_first_low_layer_is_named():
    low = layers([0.0, 0.0, LOW, LOW, 0.5])  # neither the input nor a layer before its activation
    assert "First below 0.022: convs.0 hidden, 0.001 (described, not judged)." in str(st.diagnose(low))
    assert "First below" not in str(st.diagnose(layers([0.5, 0.5, 0.5, LOW, 0.5])))


def test_dead_and_not_finite_layers_are_verdicts_of_their_own():
    found, _ = verdicts(layers([np.nan] * 5, 1.0))
    assert {one.kind for one in found} == {"dead"}
    assert [one.snapshot for one in found] == ["convs.0", "convs.1/hidden", "convs.2"]  # where it began, and the places
    found, _ = verdicts(layers([np.nan] * 5, np.nan, epochs=3))  # also while it trains
    assert {one.kind for one in found} == {"not_finite"}
    assert all(one.failed for one in found)
    assert "DEAD, 100 % of its vectors are zero" in verdicts(layers([np.nan] * 5, 1.0))[0][0].text


def test_a_layer_of_mostly_zero_vectors_is_dead_and_half_of_them_are_named():
    """Not while the model trains, where some may revive; and a model that fits its labels all the same is spared."""
    ds, zero = layers([0.5, 0.5, 0.5, 0.83, 0.5]), [0.0, 0.0, 0.0, 0.965, 0.0]
    ds["dead_rows"] = ("snapshot", zero)
    found = hidden(ds)
    assert (found.kind, found.failed, found.value) == ("dead", True, 0.83)
    assert found.text == "convs.1 hidden: DEAD, 96.5 % of its vectors are zero"
    assert "96.5 % of the nodes a zero vector" in found.explain()
    assert hidden(ds.assign_attrs(epochs=10)).kind == "training"
    assert "0.965" in str(st.diagnose(ds))
    learned = hidden(ds.assign_attrs(epochs=60, scores=given(train_acc=[0.99] * 60)))
    assert (learned.kind, learned.failed) == ("dead", False)
    assert learned.text.endswith("so the model still tells classes apart")
    ds["dead_rows"] = ("snapshot", [0.0, 0.0, 0.0, 0.7, 0.0])
    assert hidden(ds).text.endswith("not collapsed 0.83 >= 0.022 at 1 of 1 evaluations; 70 % of its vectors are zero")


def test_a_model_that_learned_is_spared_by_the_check_and_another_is_not():
    facts = {"epochs": 60, "largest_class": 0.3, "labelled": 100}
    found = hidden(recent([LOW] * 5, scores=given(train_acc=[0.99] * 60), **facts))
    assert (found.kind, found.failed, found.facts["failed"]) == ("collapsed", False, False)
    assert found.text.endswith("so the model still tells classes apart by small differences")
    assert hidden(recent([LOW] * 5, scores=given(train_acc=[0.5] * 60), **facts)).failed
    assert hidden(recent([LOW] * 5, epochs=60, scores=given(test_acc=[0.99] * 60))).failed
    assert hidden(recent([LOW] * 5, epochs=60, scores=given(train_acc=[0.6] * 60))).failed  # may be chance


def test_a_diverged_training_is_named():
    loss = np.concatenate([[1.4, 35000.0], np.full(98, 94.0)])
    _, notes = verdicts(recent([HIGH] * 5, epochs=100, scores=given(loss=loss)))
    assert notes == ["The loss ended at 94, above its start 1.4: the training diverged."]
    for harmless in (given(val_loss=loss), given(loss=course("ended")), given(loss=1 + 0.5 * (loss > 2))):
        assert "diverged" not in " ".join(verdicts(recent([HIGH] * 5, epochs=100, scores=harmless))[1])


@pytest.mark.parametrize(
    ("accuracy", "share", "count", "chance"),
    [
        (0.981, 0.9494, 158, False),  # five of the eight nodes of the small class
        (0.9494, 0.9494, 158, True),
        (0.955, 0.9494, 158, True),  # one node
        (0.33, 0.3, 100, True),
        (0.42, 0.3, 100, False),
        (0.55, 0.5, 100, True),
        (0.62, 0.5, 100, False),
    ],
)
def test_the_largest_class_alone_is_chance(accuracy, share, count, chance):
    facts = {"epochs": 60, "largest_class": share, "labelled": count, "scores": given(train_acc=[accuracy] * 60)}
    text = hidden(recent([HIGH] * 5, **facts)).text
    assert text.endswith("at chance") == chance
    assert (f"train accuracy {accuracy:.2g} in the last 6 epochs (largest class {share:.2g})" in text) == (not chance)


def test_guesses_that_ignore_the_nodes_stay_at_chance():
    """Labels that are named at random, at any rate, exceed the largest class by the margin in at most a few draws."""
    rng = np.random.default_rng(0)
    for share in (0.5, 0.8, 0.95):
        labels = rng.random((2000, 160)) < share
        for rate in (0.5, 0.8, 0.95, 0.99):
            scores = ((rng.random(labels.shape) < rate) == labels).mean(axis=1)
            sizes = np.maximum(labels.mean(axis=1), 1 - labels.mean(axis=1))
            margin = 2 * np.sqrt(sizes * (1 - sizes) / 160)
            margin = margin * np.minimum(1, margin / np.maximum(2 * sizes - 1, margin))
            assert (scores > sizes + np.maximum(margin, 1 / 160)).mean() < 0.03


def test_the_judged_layer_is_in_the_table():
    """A layer that is called many times has no hidden state of its own."""
    names = ["lin", "lin/hidden", *(f"p#{at}" for at in range(2, 31)), "head"]
    roles = ["layer", "hidden", *["layer"] * 29, "output"]
    data = {"off_zero_live": np.linspace(0.9, 0.1, 32), "dead_rows": np.zeros(32), "effective_rank": np.ones(32)}
    coords = {"snapshot": names, "role": ("snapshot", roles), "hop": [1]}
    facts = {"snapshot_kind": "layers", "pass_mode": "eval", "pass_epoch": 7, "pass_step": 70}
    ds = xr.Dataset({name: ("snapshot", one) for name, one in data.items()}, coords, facts)
    rows = [line.split()[0] for line in str(st.diagnose(ds)).splitlines()]
    assert {"lin/hidden", "p#30", "head"} <= set(rows)
    many = ds.assign_coords(role=("snapshot", ["hidden"] * 31 + ["output"]))
    many["dead_rows"][15] = 1.0
    many["off_zero_live"][15] = np.nan
    assert any(line.startswith("p#15") and "nan" in line for line in str(st.diagnose(many)).splitlines())


def test_layers_without_a_number_have_a_sentence_in_place_of_a_table():
    ds = layers([np.nan] * 5, np.nan).assign(status=("snapshot", ["missing: no output with one row per node"] * 5))
    printed = str(st.diagnose(ds))
    assert "No layer has a number (missing: no output with one row per node)." in printed
    assert "nan" not in printed


def test_one_column_is_not_judged():
    """All nodes on one side have one direction, however their values differ."""
    ds = layers([0.5, 0.5, 0.5, 0.0, 0.0]).assign_coords(width=("snapshot", [9, 9, 9, 9, 1]))
    found, notes = verdicts(ds)
    assert [one.snapshot for one in found] == ["convs.1/hidden"]
    assert notes == ["convs.2: one column has no directions, and is not judged."]


def test_other_snapshots_are_not_judged():
    for facts in ({"snapshot_kind": "epochs"}, {"kind": "mini-batches"}):
        with pytest.raises(OptionError, match="over_layers"):
            verdicts(layers([0.0] * 5, **facts))
    with pytest.raises(OptionError):
        verdicts(layers([0.0] * 5).assign_coords(hop=[2]))


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({}, "collapsed"),  # nothing is known of the training
        ({"epochs": 0}, "collapsed"),  # none was seen
        ({"epochs": 49}, "training"),
        ({"epochs": 50}, "collapsed"),
        ({"epochs": 200, "scores": given(loss=course("ended"))}, "collapsed"),
        ({"epochs": 200, "scores": given(loss=course("falls"))}, "training"),
        ({"epochs": 200, "scores": given(loss=course("scatters"))}, "collapsed"),
        ({"epochs": 200, "scores": given(acc=course("scatters"), loss=course("falls"))}, "training"),
        ({"epochs": 200, "scores": given(val_loss=course("falls"), loss=course("ended"))}, "collapsed"),
        ({"epochs": 10, "scores": given(loss=course("waits", 10))}, "training"),
    ],
)
def test_a_model_that_still_trains_is_not_judged(facts, kind):
    found = hidden(recent([LOW] * 5, **facts))
    assert found.kind == kind
    assert found.failed == (kind == "collapsed")
    assert ("training, not judged" in found.text) == (kind == "training")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"scores": given(train_acc=[0.3] * 60)}, "train accuracy 0.3 in the last 6 epochs"),
        ({"scores": given(train_acc=[0.3] * 60), "largest_class": 0.3, "labelled": 100}, "at chance as well"),
        ({"scores": given(train_acc=[50] * 60), "largest_class": 0.3, "labelled": 100}, "epochs (largest class 0.3)"),
        ({"scores": given(val_acc=[0.3] * 60)}, "; val_acc 0.3"),
        ({"scores": given(acc=[0.3] * 60), "largest_class": 0.3, "labelled": 100}, "; acc 0.3"),
        ({"scores": given(**{"train/acc": [0.3] * 60})}, "train accuracy 0.3 in the last 6 epochs"),
    ],
)
def test_scores_say_what_the_verdict_adds(facts, words):
    assert hidden(recent([LOW] * 5, epochs=60, **facts)).text.endswith(words)


def test_thirty_two_layers_take_at_most_forty_lines_of_eighty_columns():
    count = 32
    names = [f"a.model.with.long.names.convs.{at}/hidden" for at in range(count - 1)] + ["convs.31"]
    coords = {"snapshot": names, "role": ("snapshot", ["hidden"] * (count - 1) + ["output"]), "hop": [1]}
    values = np.linspace(0.9, 1e-5, count)
    data = dict.fromkeys(
        ("off_zero_live", "off_zero_live_control", "r", "r_control", "effective_rank"), ("snapshot", values)
    )
    facts = {"snapshot_kind": "layers", "pass_mode": "eval", "pass_epoch": 7, "pass_step": 70, "epochs": 60}
    ds = xr.Dataset({**data, "dead_rows": ("snapshot", np.zeros(count))}, coords, facts)
    lines = str(st.diagnose(ds)).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert sum("0.871" in line for line in lines) == 1
    assert "... 4 more layers, in w.over_layers()" in lines


def test_levels_are_those_that_the_study_gave():
    study = json.loads((ROOT / "reproduction/studies/models/collapse_levels.json").read_text())["positions"]
    for place, known in LEVELS.items():
        own = study[place]["off_zero"]
        failed, good = (own["report"][group] for group in ("failed", "good"))
        assert known == (own["level"], failed["rate"], failed["models"], good["rate"], good["models"])


def test_the_remedy_is_quoted_from_the_benchmark():
    """Counts and the remedy with the best mean on the graphs where plain models collapsed."""
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(ROOT / "docs" / "models" / "remedies.csv")
    assert f"Of {5 * len(table)} plain GCNs" in collapse.REMEDY
    assert f"{table['collapsed'].sum()} collapsed" in collapse.REMEDY
    mostly = table[table["collapsed"] == 5]
    offered = mostly[["DropEdge", "PairNorm", "residual + LayerNorm"]]
    assert set(offered.idxmax(axis=1)) == {"residual + LayerNorm"}


@pytest.mark.parametrize(
    ("kind", "dead", "progress", "failed"),
    [
        ("collapsed", 0.0, 0.2, True),
        ("collapsed", 0.0, 0.9, False),
        ("dead", 0.97, 0.9, False),
        ("dead", 1.0, 0.9, True),
        ("not_finite", 0.0, 0.99, True),  # whatever was learned before
        ("not_finite", float("nan"), 0.99, True),
        ("not_collapsed", 0.0, 0.1, False),
    ],
)
def test_what_a_check_fails_on(kind, dead, progress, failed):
    assert Verdict(kind, "conv", "outputs", 0.01, dead=dead, progress=progress).failed is failed
