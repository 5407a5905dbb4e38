"""Does the probe name the family of models that wins? ``st.probe`` beside trained models.

    python benchmarks/trained_models.py probe --data FOLDER --out models.jsonl      # hours, minutes on a GPU
    python benchmarks/probe_models.py probe --data FOLDER --out probes.jsonl        # minutes
    python benchmarks/probe_models.py compare probes.jsonl models.jsonl [--csv table.csv]

Of each family (MLP; GCN and APPNP; GraphSAGE) the validation nodes choose depth, recipe and epoch, and the score is the
mean test score of five seeds: accuracy, on Minesweeper ROC AUC. The family that the probe names counts as right where
it is within .03, or one standard error of the best over seeds, of the best family. A view of exact hops counts as
GraphSAGE, the nearest family that was trained. On rewired graphs the probe is right when it finds no gain, or none
beyond degrees.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from trained_models import PROBED, PROBED_AGAIN, graph_of

from reproduction.studies.tables import markdown

FAMILIES = {"mlp": "no graph", "gcn": "low-pass", "appnp": "low-pass", "sage": "beside neighbours"}
NEAR = {"exact hops": "beside neighbours"}
WITHIN = 0.03


def probes(given: argparse.Namespace) -> None:
    """Probe every graph on its training nodes; one line of JSON each."""
    import spectrata as st

    with given.out.open("w") as file:
        for name in (*PROBED, *PROBED_AGAIN) if given.only is None else given.only:
            graph = graph_of(name, given.data, given.small)
            start, wall = time.process_time(), time.perf_counter()
            strat = st.Stratification(edges=graph.edges, n_nodes=graph.n, hops=1)
            found = st.probe(strat, graph.features, graph.labels, graph.splits["train"])
            row = {"graph": name, "verdict": found.verdict, "family": found.family, "best": found.best}
            row |= {"score": float(np.nanmax(found.to_frame()["score"])), "alone": float(found.alone.mean())}
            row |= {"gain": found.gain, "error": found.gain_error, "headline": found.headline}
            row |= {"processor": time.process_time() - start, "wall": time.perf_counter() - wall}
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{name}: {found.headline} ({row['processor']:.1f} s)", flush=True)


def by_family(models: pd.DataFrame) -> pd.DataFrame:
    """Test score of each graph and family, of the configuration that has the highest mean validation score."""
    models = models.assign(family=models["architecture"].map(FAMILIES))
    keys = ["graph", "family", "architecture", "depth", "recipe"]
    tested = models.groupby(keys)["best_test"]
    table = pd.DataFrame(
        {"val": models.groupby(keys)["best_val"].mean(), "test": tested.mean(), "error": tested.sem()}
    ).reset_index()
    return table.loc[table.groupby(["graph", "family"])["val"].idxmax()].set_index(["graph", "family"])


def compared(found: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """One row per graph: what the probe names, and the scores of the families."""
    scores = by_family(models)
    rows = []
    for row in found.itertuples():
        here = scores.loc[row.graph]
        best = here["test"].idxmax()
        named = NEAR.get(row.family, row.family)
        rewired = row.graph.endswith("rewired")
        right = row.verdict in ("no gain found", "degrees alone")
        if not rewired:
            slack = max(WITHIN, here["error"][best])
            right = bool(named) and here["test"][named] >= here["test"][best] - slack
        rows.append(
            {"graph": row.graph, "best view": row.best, "AUC": row.score, "alone": row.alone, "named": row.family}
            | {f"{family}": here["test"][family] for family in dict.fromkeys(FAMILIES.values())}
            | {"best": best, "right": "yes" if right else "not judged" if not row.family else "no"}
            | {"seconds": row.processor}
        )
    return pd.DataFrame(rows)


def compare(given: argparse.Namespace) -> None:
    """Print the table and the counts."""
    found = pd.read_json(given.probes, lines=True)
    models = pd.read_json(given.models, lines=True)
    table = compared(found, models[models["kind"] == "probe"])
    print(markdown(table, 3) if given.markdown else table.round(3).to_string(index=False))
    rewired, again = (table["graph"].str.endswith(word) for word in ("rewired", "again"))
    parts = {"graphs": ~(rewired | again), "rewired graphs": rewired, "graphs of another seed": again}
    for words, here in parts.items():
        print(f"{(table['right'][here] == 'yes').sum()} of {here.sum()} {words} right")
    if given.csv:
        table.round(4).to_csv(given.csv, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("probe")
    one.add_argument("--data", required=True)
    one.add_argument("--out", required=True, type=Path)
    one.add_argument("--only", nargs="+")
    one.add_argument("--small", action="store_true")
    one.set_defaults(act=probes)
    two = commands.add_parser("compare")
    two.add_argument("probes", type=Path)
    two.add_argument("models", type=Path)
    two.add_argument("--csv", type=Path)
    two.add_argument("--markdown", action="store_true")
    two.set_defaults(act=compare)
    given = parser.parse_args()
    given.act(given)


if __name__ == "__main__":
    main()
