"""``spectrata profile --calibrate``: which eigenspaces differ from chance."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli.tables import print_table, print_text
from spectrata.results.schema import view

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.core.stratification import Stratification

TABLE = "calibrated.csv"
NAMES = ("magnitude", "share", "chance", "chance_low", "chance_high", "ratio", "p", "q")
LEVEL = 0.05


def judge(strat: "Stratification", signal: Any, ds: "xr.Dataset", draws: int | None) -> "xr.Dataset":
    """Test against permuted nodes, as the result was computed."""
    from spectrata.stats.verbs.calibrate import calibrate_result

    return calibrate_result(ds, signal, list(view(ds).algorithms), strat=strat, draws=draws)


def write(found: "xr.Dataset", path: Path) -> None:
    """Write the calibration as a long table."""
    frame = found[list(NAMES)].to_dataframe().reset_index().dropna(subset=["magnitude"])
    columns = ["algorithm", "snapshot", "column", "hop", "component", "eigenvalue", "multiplicity", *NAMES]
    frame[[name for name in columns if name in frame]].to_csv(path, index=False)


def rows(found: "xr.Dataset") -> list[dict[str, Any]]:
    """Per algorithm and hop: how many eigenspaces stand out, and the strongest; snapshots together."""
    out = []
    for algorithm in found["algorithm"].values:
        for hop in found["hop"].values:
            cell = found.sel({"algorithm": algorithm, "hop": hop})
            frame = cell[["q", "p", "ratio"]].to_dataframe().reset_index(drop=False).dropna(subset=["p"])
            row: dict[str, Any] = {"algorithm": str(algorithm), "hop": int(hop), "judged": len(frame)}
            row["more_than_chance"] = int((frame["q"] <= LEVEL).sum())
            if len(frame):
                frame["size"] = -frame["ratio"]
                best = frame.sort_values(["p", "size"]).iloc[0]
                row |= {name: float(best[name]) for name in ("eigenvalue", "ratio", "p", "q")}
            out.append(row)
    return out


def show(found: "xr.Dataset") -> None:
    """Print the eigenspaces that differ from chance, per algorithm and hop."""
    lines = rows(found)
    numbers = {
        "tested": [str(row["judged"]) for row in lines],
        f"q <= {LEVEL}": [str(row["more_than_chance"]) for row in lines],
        "clearest at": [f"{row['eigenvalue']:.3g}" if "eigenvalue" in row else "-" for row in lines],
        "x chance": [f"{row['ratio']:.3g}" if "ratio" in row else "-" for row in lines],
    }
    for name in ("p", "q"):
        numbers[name] = [_p(row[name]) if name in row else "-" for row in lines]
    print_text(f"Eigenspaces against chance: {found.attrs['draws']:,} permutations of the nodes.")
    front = {"algorithm": [row["algorithm"] for row in lines], "K": [str(row["hop"]) for row in lines]}
    print_table(front, numbers, left=("algorithm",))
    print_text(
        "clearest at: eigenvalue with the smallest p; x chance: its energy divided by the mean under permutation."
    )
    print_text("q: p corrected over all hops and eigenspaces of an algorithm (false discovery rate).")
    for words in sorted({words for words in found["status"].values.ravel().tolist() if words.startswith("With ")}):
        print_text(words.replace("draws=", "--draws ") + ".")


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.2g}"
