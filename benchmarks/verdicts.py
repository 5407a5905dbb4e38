"""Verdicts on freshly trained models, beside the rule "training score at chance".

    python benchmarks/verdicts.py fresh --data FOLDER --out fresh.jsonl [--graphs cora actor] [--seeds 6] [--jobs 8]
    python benchmarks/verdicts.py rates fresh.jsonl models.jsonl --data FOLDER

``fresh`` trains seven architectures of PyTorch Geometric inside ``watch`` and writes what ``diagnose`` says of their
last evaluation. ``rates`` counts hits and false alarms of these models and of those of ``trained_models.py settings``,
how often a remedy that the control names is the best of ``trained_models.py remedies``, and what helps the models of
``trained_models.py messages`` that collapse, by what their control says. A model has failed when
its test score is less than 10 % of the way from the largest class to the best of the study, and is good above 75 %.
"""

import argparse
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
from trained_models import NORMALISED, SHALLOW, graph_of

from reproduction.studies.models.judging import roc_area
from reproduction.studies.models.records import group_of
from reproduction.studies.models.report import LEVELS as STUDY
from reproduction.studies.tables import markdown
from spectrata.stats.findings.collapse import FAILURES, LEVELS, MARGIN

KINDS = {
    "GCN": 2,
    "GAT": 2,
    "GraphSAGE": 2,
    "APPNP": 2,
    "GCNII": 8,
    "plain GCN, 16 layers": 16,
    "plain GCN, 32 layers": 32,
}
WIDTH, EPOCHS, FIRST_SEED = 64, 200, 1000  # seeds that no other run of the project has
PLACES = ("last hidden", "outputs")
STUDY_FOLDER = Path(__file__).parents[1] / "reproduction" / "studies" / "models"
OPTIMISATION, MESSAGES = "residual + LayerNorm", "PairNorm"  # named where the control has collapsed too, and where not


def network(kind, width_in, classes):
    """A model of PyTorch Geometric's own parts."""
    from torch import nn
    from torch.nn import functional as F
    from torch_geometric import nn as pyg

    if kind == "GAT":
        return pyg.GAT(width_in, WIDTH, 2, classes, dropout=0.5, heads=8, v2=False)
    if kind == "GraphSAGE":
        return pyg.GraphSAGE(width_in, WIDTH, 2, classes, dropout=0.5)
    if "GCN" in kind and kind != "GCNII":
        return pyg.GCN(width_in, WIDTH, KINDS[kind], classes, dropout=0.5)

    class Appnp(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(width_in, WIDTH), nn.Linear(WIDTH, classes)
            self.spread = pyg.APPNP(10, 0.1)

        def forward(self, x, edge_index):
            x = F.dropout(self.first(F.dropout(x, 0.5, self.training)).relu(), 0.5, self.training)
            return self.spread(self.last(x), edge_index)

    class Gcnii(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(width_in, WIDTH), nn.Linear(WIDTH, classes)
            self.convs = nn.ModuleList(pyg.GCN2Conv(WIDTH, 0.1, 0.5, layer + 1) for layer in range(KINDS[kind]))

        def forward(self, x, edge_index):
            start = x = self.first(F.dropout(x, 0.5, self.training)).relu()
            for conv in self.convs:
                x = conv(F.dropout(x, 0.5, self.training), start, edge_index).relu()
            return self.last(F.dropout(x, 0.5, self.training))

    return Appnp() if kind == "APPNP" else Gcnii()


def data_of(name, folder, device):
    """A public graph as PyTorch Geometric has it."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.utils import to_undirected

    graph = graph_of(name, folder)
    put = lambda array: torch.as_tensor(np.ascontiguousarray(array))  # noqa: E731
    masks = {f"{split}_mask": torch.zeros(graph.n, dtype=torch.bool) for split in ("train", "test")}
    for split in ("train", "test"):
        masks[f"{split}_mask"][put(graph.splits[split])] = True
    edges = to_undirected(put(graph.edges.T))
    return Data(x=put(graph.features), edge_index=edges, y=put(graph.labels), **masks).to(device)


def one(task):
    """Train one model inside ``watch``; its scores and the verdicts on its last evaluation."""
    import torch
    from torch.nn import functional as F

    from spectrata.stats.findings.collapse import verdicts
    from spectrata.torch import watch

    folder, name, kind, seed, epochs = task
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = data_of(name, folder, device)
    torch.manual_seed(seed)
    model = network(kind, data.x.shape[1], int(data.y.max()) + 1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    named = f"train_{'auc' if graph_of(name, folder).score == 'auc' else 'acc'}"

    def score(mask):
        model.eval()
        with torch.no_grad(), w.pause():
            found = model(data.x, data.edge_index)[mask]
        if named == "train_auc":
            margin, positive = (found[:, 1] - found[:, 0]).double().cpu().numpy(), (data.y[mask] == 1).cpu().numpy()
            return roc_area(margin[~positive], margin[positive])
        return float((found.argmax(dim=1) == data.y[mask]).float().mean())

    with watch(model, data, evaluate=max(1, epochs // 10), control="no_messages") as w:
        for epoch in range(epochs):
            model.train()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
            loss.backward()
            optimizer.step()
            w.step(epoch, loss=loss, **({named: score(data.train_mask)} if (epoch + 1) % 10 == 0 else {}))
    rows = pd.DataFrame([found.facts for found in verdicts(w.over_layers())[0]])
    shares = np.bincount(data.y[data.train_mask].cpu()) / int(data.train_mask.sum())
    return {
        "graph": name,
        "architecture": kind,
        "seed": seed,
        "train": score(data.train_mask),
        "test": score(data.test_mask),
        "largest_class": float(shares.max()),
        "labelled": int(data.train_mask.sum()),
        "verdicts": json.loads(rows[["kind", "snapshot", "value", "agreeing", "evaluations", "cause", "text"]].to_json(
            orient="records")),
    }  # fmt: skip


def fresh(given):
    """Train, and write one line per model."""
    tasks = [
        (given.data, graph, kind, FIRST_SEED + seed, given.epochs)
        for graph in given.graphs
        for kind in KINDS
        for seed in range(given.seeds)
    ]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool, given.out.open("w") as file:
        for row in pool.map(one, sorted(tasks, key=lambda task: -KINDS[task[2]])):
            file.write(json.dumps(row) + "\n")
            file.flush()


def main():
    """Read the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    train = commands.add_parser("fresh")
    train.add_argument("--data", required=True)
    train.add_argument("--out", type=Path, required=True)
    train.add_argument("--graphs", nargs="+", default=["cora"])
    train.add_argument("--seeds", type=int, default=6)
    train.add_argument("--epochs", type=int, default=EPOCHS)
    train.add_argument("--jobs", type=int, default=1)
    train.set_defaults(act=fresh)
    count = commands.add_parser("rates")
    count.add_argument("files", nargs="+", type=Path)
    count.add_argument("--data", required=True)
    count.add_argument("--csv", type=Path, help="folder for the tables as data")
    count.set_defaults(act=rates)
    given = parser.parse_args()
    given.act(given)


def rates(given):
    """Print hits and false alarms of verdict and training score, and how the named remedies fare."""
    rows = [json.loads(line) for path in given.files for line in path.read_text().splitlines()]
    tables = {}
    for name, kept, by in (
        ("fresh", [row for row in rows if "verdicts" in row], "architecture"),
        ("settings", [row for row in rows if row.get("kind") == "settings"], "setting"),
    ):
        if kept:
            tables[name] = table_of(pd.DataFrame([judged(row, given.data) for row in kept]), by)
    tried = pd.DataFrame([row for row in rows if row.get("kind") == "remedies"])
    if len(tried):
        said, tables["remedies"] = remedies(tried)
        print(said)
    deep = pd.DataFrame([row for row in rows if row.get("kind") == "messages"])
    if len(deep):
        tables["collapsed-deep"] = by_cause(deep)
    for name, table in tables.items():
        print(f"\n{name}\n{markdown(table)}")
        if given.csv:
            table.round(4).to_csv(given.csv / f"{name}.csv", index=False)
    changed = [one for row in rows for one in row.get("verdicts", []) if one["agreeing"] < one["evaluations"]]
    print(f"\n{len(changed)} layers changed sides within their last five evaluations.")


def judged(row, data):
    """A model with its group, and whether verdict and training score flag it."""
    study = json.loads((STUDY_FOLDER / STUDY).read_text())["graphs"][row["graph"]]
    graph = graph_of(row["graph"], data)
    progress = (row["test"] - study["baseline"]) / (study["best"] - study["baseline"])
    if "verdicts" in row:
        flagged = any(one["kind"] in FAILURES for one in row["verdicts"])
        silent = all(one["kind"] == "training" for one in row["verdicts"])
    else:
        levels = [LEVELS[place].level for place in PLACES]
        flagged = any(not value >= level for value, level in zip(row["off_zero"], levels, strict=True))
        silent = False
    chance, labelled = graph.baseline("train"), len(graph.splits["train"])
    spread = np.sqrt(chance * (1 - chance) / labelled)
    if graph.score == "auc":  # of ranks without order
        positive = int((graph.labels[graph.splits["train"]] == 1).sum())
        spread = np.sqrt((labelled + 1) / (12 * positive * (labelled - positive)))
    found = {"group": str(group_of(np.array([progress]))[0]), "verdict": flagged, "not judged": silent}
    return row | found | {"at chance": bool(row["train"] <= chance + 2 * spread)}


def table_of(models, by):
    """Hits and false alarms of both rules, by a column and in all."""
    parts = [*models.groupby(by, sort=False), ("all", models)]
    rows = []
    for name, here in parts:
        failed, good = here[here["group"] == "failed"], here[here["group"] == "good"]
        row = {by: name, "models": len(here), "failed": len(failed), "good": len(good)}
        for rule in ("verdict", "at chance"):
            row |= {f"{rule}: hits": int(failed[rule].sum()), f"{rule}: false alarms": int(good[rule].sum())}
        row["only verdict"] = int((failed["verdict"] & ~failed["at chance"]).sum())
        row["only score"] = int((~failed["verdict"] & failed["at chance"]).sum())
        rows.append(row | {"still training": int(here["not judged"].sum())})
    return pd.DataFrame(rows)


def remedies(tried):
    """Test scores of each remedy, and how often the one that the control names is the best."""
    key, level = ["graph", "depth", "seed"], LEVELS["outputs"].level
    whole = scores = tried.pivot_table("best_test", key, "remedy")
    plain = tried[tried["remedy"] == "plain"].set_index(key)
    collapsed, too = (~(plain[name].str[-1] >= level) for name in ("off_zero", "control"))  # outputs, NaN included
    scores, too = scores.loc[collapsed[collapsed].index], too[collapsed]
    offered = scores.drop(columns="plain")
    always, best = offered.mean().idxmax(), offered.idxmax(axis=1)
    named = too.map({True: OPTIMISATION, False: MESSAGES})
    taken = pd.Series([offered.loc[one, name] for one, name in named.items()], named.index)
    lines = [
        f"{len(scores)} of {len(plain)} plain models collapsed, the control of {int(too.sum())} of them too.",
        f"Best of three remedies: the one named in {int((best == named).sum())} of {len(best)}, always {always} in "
        f"{int((best == always).sum())}.",
        f"Mean test score: plain {scores['plain'].mean():.3f}, named {taken.mean():.3f}, always {always} "
        f"{offered[always].mean():.3f}, the best each time {offered.max(axis=1).mean():.3f}.",
    ]
    counted = scores.assign(collapsed=1).groupby(["graph", "depth"])["collapsed"].sum()
    table = whole.groupby(["graph", "depth"]).mean().assign(collapsed=counted).fillna({"collapsed": 0}).reset_index()
    return "\n".join(lines), table.astype({"collapsed": int})


def cause_of(row):
    """What the control says of a model, as a verdict would from its last evaluation; "" where nothing collapsed."""
    levels = np.array([LEVELS[place].level for place in PLACES])
    off, control = (np.array(row[name], dtype=float) for name in ("off_zero", "control"))
    below = ~(off >= levels)
    if not below.any():
        return ""
    if (~(control >= levels))[below].all():
        return "control collapsed too"
    return "messages" if ((control >= levels) & (control >= MARGIN * off))[below].all() else "open"


def by_cause(tried):
    """Mean test scores of collapsed deep networks and of their remedies, and how often each is the best."""
    scores = tried.set_index(["graph", "architecture", "depth", "seed"])["best_test"]
    tried = tried.assign(cause=tried.apply(cause_of, axis=1))
    rows = []
    for row in tried[(tried["depth"] > SHALLOW) & tried["architecture"].isin(NORMALISED)].to_dict("records"):
        pairnorm, residual = NORMALISED[row["architecture"]]
        offered = {
            "as it is": (row["architecture"], row["depth"]),
            f"{SHALLOW} layers": (row["architecture"], SHALLOW),
            "PairNorm": (pairnorm, row["depth"]),
            "residual + LayerNorm": (residual, row["depth"]),
        }
        found = {name: scores.get((row["graph"], *one, row["seed"]), np.nan) for name, one in offered.items()}
        rows.append({name: row[name] for name in ("graph", "architecture", "cause")} | found)
    models = pd.DataFrame(rows)
    names = list(models.columns[3:])
    collapsed = models[(models["cause"] != "") & models[names].notna().all(axis=1)]
    best = collapsed[names].idxmax(axis=1)
    lines = []
    for (cause, kind), here in [*collapsed.groupby(["cause", "architecture"]), *_totals(collapsed)]:
        line = {"control says": cause, "architecture": kind, "collapsed": len(here), "graphs": here["graph"].nunique()}
        line |= here[names].mean().to_dict() | {
            f"{name}: best": int((best[here.index] == name).sum()) for name in names
        }
        lines.append(line)
    return pd.DataFrame(lines)


def _totals(collapsed):
    return [((cause, "all"), here) for cause, here in collapsed.groupby("cause")]


if __name__ == "__main__":
    main()
