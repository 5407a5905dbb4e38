"""``spectrata profile --calibrate``: which eigenspaces differ from chance."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli.tables import print_table, print_text
from spectrata.results.schema import view

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.core.stratification import Stratification

TABLE = "calibrated.csv"
LEVEL = 0.05


def judge(strat: "Stratification", signal: Any, ds: "xr.Dataset", draws: int, max_draws: int) -> "xr.Dataset":
    """Calibrate against permuted nodes, as the result was computed."""
    from spectrata.stats.describe.levels import options_given
    from spectrata.stats.verbs.calibrate import calibrate

    result = view(ds)
    given: dict[str, Any] = {"draws": draws, "max_draws": max_draws, "algorithms": result.algorithms}
    given["columns"] = result.options.get("columns", "joint")
    return calibrate(strat, signal, **given, **options_given(result))


def write(found: "xr.Dataset", path: Path) -> None:
    """The calibration as a long table."""
    names = ["magnitude", "null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used", "p_floor"]
    frame = found[names].to_dataframe().reset_index().dropna(subset=["magnitude"])
    columns = ["algorithm", "snapshot", "column", "hop", "component", "eigenvalue", "multiplicity", *names]
    frame[[name for name in columns if name in frame]].to_csv(path, index=False)


def rows(found: "xr.Dataset") -> list[dict[str, Any]]:
    """Per algorithm and hop: how many eigenspaces stand out, and the strongest; snapshots together."""
    out = []
    for algorithm in found["algorithm"].values:
        for hop in found["hop"].values:
            cell = found.sel({"algorithm": algorithm, "hop": hop})
            frame = cell[["q", "p", "p_floor", "ratio", "z", "degenerate"]].to_dataframe().reset_index(drop=False)
            frame = frame[~frame["degenerate"].astype(bool)].dropna(subset=["p"])
            row: dict[str, Any] = {"algorithm": str(algorithm), "hop": int(hop), "judged": len(frame)}
            row["more_than_chance"] = int((frame["q"] <= LEVEL).sum())
            if len(frame):
                frame["size"] = -frame["z"].abs()
                best = frame.sort_values(["p", "size"]).iloc[0]
                row |= {name: float(best[name]) for name in ("eigenvalue", "ratio", "p", "q")}
                row["p_is_bound"] = bool(best["p"] <= best["p_floor"])
            out.append(row)
    return out


def show(found: "xr.Dataset") -> None:
    """Print the eigenspaces that differ from chance, per algorithm and hop."""
    from spectrata.stats.sequential import Orders

    lines = rows(found)
    numbers = {
        "tested": [str(row["judged"]) for row in lines],
        f"q <= {LEVEL}": [str(row["more_than_chance"]) for row in lines],
        "clearest at": [f"{row['eigenvalue']:.3g}" if "eigenvalue" in row else "-" for row in lines],
        "x chance": [f"{row['ratio']:.3g}" if "ratio" in row else "-" for row in lines],
    }
    for name in ("p", "q"):
        numbers[name] = [f"{'<= ' * row['p_is_bound']}{row[name]:.2g}" if name in row else "-" for row in lines]
    most = int(found["draws_used"].max())
    more = f", and up to {most:,} where p is small" if most > found.attrs["draws"] else ""
    made = found.attrs["draws"]
    every = Orders(found.attrs["n_nodes"], (0,), made).exhaustive
    many = f"all {made + 1:,}" if every else f"{made:,}"
    print_text(f"Eigenspaces against chance: {many} permutations of the nodes{more}.")
    front = {"algorithm": [row["algorithm"] for row in lines], "K": [str(row["hop"]) for row in lines]}
    print_table(front, numbers, left=("algorithm",))
    print_text(
        "clearest at: eigenvalue with the smallest p; x chance: its energy divided by the mean under permutation."
    )
    print_text("q: p corrected over all hops and eigenspaces of an algorithm (false discovery rate).")
    for line in short_of_draws(found):
        print_text(line)


def short_of_draws(found: "xr.Dataset") -> list[str]:
    """Which algorithms had too few draws for one q of 0.05 by itself, and the flag that gives them enough."""
    needed: dict[str, dict[str, None]] = {}
    for algorithm in found["algorithm"].values.tolist():
        for status in found["status"].sel(algorithm=algorithm).values.ravel().tolist():
            for name, number, more in re.findall(r"use (draws|max_draws)=(\d+)([^;]*)", status):
                flag = f"--{name.replace('_', '-')} {number}{more}"
                needed.setdefault(flag, {})[algorithm] = None
    return [
        f"{', '.join(names)}: too few draws for one eigenspace alone to reach q <= {LEVEL}; use {flag}."
        for flag, names in needed.items()
    ]
