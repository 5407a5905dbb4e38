"""``spectrata profile --calibrate``: which eigenspaces are more than chance, and what that says in words."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli.terminal import console
from spectrata.results.schema import view

if TYPE_CHECKING:
    import xarray as xr

    from spectrata.analysis.findings import Findings
    from spectrata.core.stratification import Stratification

TABLE = "calibrated.csv"
LEVEL = 0.05


def judge(strat: "Stratification", signal: Any, ds: "xr.Dataset", draws: int) -> tuple["xr.Dataset", "Findings"]:
    """Calibrate against permuted nodes, and diagnose, as the result was computed."""
    from spectrata.analysis.calibrate import calibrate
    from spectrata.analysis.findings import Findings
    from spectrata.analysis.levels import options_given
    from spectrata.report.contents import findings

    result = view(ds)
    found = calibrate(strat, signal, draws=draws, algorithms=result.algorithms, **options_given(result))
    if result.options.get("n_eigs") is not None:  # findings read whole spectra
        return found, Findings()
    return found, findings(result, strat, signal)


def write(found: "xr.Dataset", folder: Path) -> Path:
    """The calibration as a long table beside the other files."""
    from spectrata.results.atomic_io import written_whole

    names = ["magnitude", "null_energy", "null_std", "ratio", "z", "p", "q", "degenerate"]
    frame = found[names].to_dataframe().reset_index().dropna(subset=["magnitude"])
    columns = ["algorithm", "snapshot", "hop", "component", "eigenvalue", "multiplicity", *names]
    with written_whole(folder / TABLE) as beside:
        frame[[name for name in columns if name in frame]].to_csv(beside, index=False)
    return folder / TABLE


def rows(found: "xr.Dataset") -> list[dict[str, Any]]:
    """Per algorithm and hop: how many eigenspaces stand out, and the strongest; snapshots together."""
    out = []
    for algorithm in found["algorithm"].values:
        for hop in found["hop"].values:
            cell = found.sel({"algorithm": algorithm, "hop": hop})
            frame = cell[["q", "p", "ratio", "z", "degenerate"]].to_dataframe().reset_index(drop=False)
            frame = frame[~frame["degenerate"].astype(bool)].dropna(subset=["p"])
            row: dict[str, Any] = {"algorithm": str(algorithm), "hop": int(hop), "judged": len(frame)}
            row["more_than_chance"] = int((frame["q"] <= LEVEL).sum())
            if len(frame):
                frame["size"] = -frame["z"].abs()
                best = frame.sort_values(["p", "size"]).iloc[0]
                row |= {"eigenvalue": float(best["eigenvalue"]), "ratio": float(best["ratio"]), "q": float(best["q"])}
            out.append(row)
    return out


def show(found: "xr.Dataset", findings: "Findings", draws: int) -> None:
    """Print both."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    titles = ("algorithm", "K", "eigenspaces", f"q <= {LEVEL}", "clearest at", "energy / chance", "q")
    for index, title in enumerate(titles):
        table.add_column(title, justify="right" if index else "left")
    for row in rows(found):
        numbers = [f"{row[name]:.3g}" if name in row else "-" for name in ("eigenvalue", "ratio", "q")]
        table.add_row(row["algorithm"], str(row["hop"]), str(row["judged"]), str(row["more_than_chance"]), *numbers)
    out = console()
    out.print(f"against {draws} random orders of the nodes, q over all hops of an algorithm:", soft_wrap=True)
    out.print(table)
    family = max(
        sum(row["judged"] for row in rows(found) if row["algorithm"] == name) for name in found["algorithm"].values
    )
    if 2 * family / (draws + 1) > LEVEL:  # the smallest two-sided p times the size of the family
        needed = int(2 * family / LEVEL) - 1
        text = f"With {draws} draws no single eigenspace can reach q <= {LEVEL}; use --draws {needed}."
        out.print(text, soft_wrap=True)
    for sentence in (*findings.notes, *findings.sentences):
        out.print(f"* {sentence}", soft_wrap=True)
