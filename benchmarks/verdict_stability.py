"""Does a verdict hold from one evaluation to the next? Plain deep GCNs on Cora, judged at many evaluations.

    python benchmarks/verdict_stability.py --data FOLDER [--depth 16] [--seeds 20] [--every 5] [--spike]

FOLDER holds ``cora.npz``. Every model is evaluated ``--last`` times before the end of its training, every ``--every``
epochs, with the control without messages. Printed are the models whose verdict, or whose cause, is not the same at
all of these evaluations. ``--spike`` multiplies the learning rate by 100 in the last two epochs.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from verdicts import load, st_edges

WIDTH, SPIKE = 64, 100.0
PLACES = ("last hidden", "outputs")


def evaluations(folder, depth, seed, epochs, at, spike):
    """``off_zero_live`` of the two places, with messages and without: ``(evaluations, place, mode)``; accuracies."""
    import torch
    from torch.nn import functional as F
    from torch_geometric import nn as pyg

    from spectrata import Stratification
    from spectrata.stats.describe.smoothness import measures

    torch.set_num_threads(1)
    x, edges, y, train, test = load(folder)
    loops = torch.arange(len(x)).expand(2, -1)
    stratum = Stratification(edges=st_edges(edges), n_nodes=len(x), hops=1).strata.at(1)
    torch.manual_seed(seed)
    model = pyg.GCN(x.shape[1], WIDTH, depth, int(y.max()) + 1, dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    heard = []
    model.convs[-1].register_forward_hook(lambda module, args, out: heard.extend([args[0], out]))
    found, accuracy = [], []
    for epoch in range(epochs):
        if spike and epoch == epochs - 2:
            optimizer.param_groups[0]["lr"] *= SPIKE
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges)[train], y[train].long()).backward()
        optimizer.step()
        if epoch not in at:
            continue
        model.eval()
        heard.clear()
        with torch.no_grad():
            accuracy.append(float((model(x, edges).argmax(dim=1)[test] == y[test]).float().mean()))
            model(x, loops)
        values = [float(measures(stratum, one.numpy()[None])["off_zero_live"][0]) for one in heard]
        found.append([[values[0], values[2]], [values[1], values[3]]])
    return np.array(found), accuracy


def main():
    """Run the models, and count."""
    from spectrata.stats.verdict import LEVELS

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--last", type=int, default=10)
    parser.add_argument("--spike", action="store_true")
    parser.add_argument("--out", help="JSON file of all values")
    given = parser.parse_args()
    at = [given.epochs - 1 - given.every * back for back in range(given.last)]
    level = np.array([LEVELS[place].level for place in PLACES])
    rows = []
    for seed in range(given.first, given.first + given.seeds):
        found, accuracy = evaluations(given.data, given.depth, seed, given.epochs, at, given.spike)
        below = found < level[:, None]  # (evaluations, place, mode)
        rows.append({"seed": seed, "accuracy": accuracy, "values": found.tolist()})
        for which, place in enumerate(PLACES):
            flagged, cause = below[:, which, 0], below[:, which, 0] & ~below[:, which, 1]
            print(
                f"seed {seed:2}  accuracy {accuracy[-1]:.3f}  {place:12} below its level {flagged.sum():2} of "
                f"{len(flagged)}  at the end {'yes' if flagged[-1] else 'no':3}  control above {cause.sum():2}  "
                f"values {found[:, which, 0].min():.2g} to {found[:, which, 0].max():.2g}",
                flush=True,
            )
    if given.out:
        Path(given.out).write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
