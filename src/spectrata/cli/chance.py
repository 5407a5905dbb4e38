"""``spectrata profile --calibrate``: which eigenspaces are more than chance, and what that says in words."""

import re
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


def judge(
    strat: "Stratification", signal: Any, ds: "xr.Dataset", draws: int, max_draws: int
) -> tuple["xr.Dataset", "Findings"]:
    """Calibrate against permuted nodes, and diagnose, as the result was computed."""
    from spectrata.analysis.calibrate import calibrate
    from spectrata.analysis.findings import Findings
    from spectrata.analysis.levels import options_given
    from spectrata.report.contents import findings

    result = view(ds)
    given = {"draws": draws, "max_draws": max_draws, "algorithms": result.algorithms}
    found = calibrate(strat, signal, **given, **options_given(result))
    if result.options.get("n_eigs") is not None:  # findings read whole spectra
        return found, Findings()
    return found, findings(result, strat, signal)


def write(found: "xr.Dataset", folder: Path) -> Path:
    """The calibration as a long table beside the other files."""
    from spectrata.results.atomic_io import written_whole

    names = ["magnitude", "null_energy", "null_std", "ratio", "z", "p", "q", "degenerate", "draws_used", "p_floor"]
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


def show(found: "xr.Dataset", findings: "Findings") -> None:
    """Print both."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    titles = ("algorithm", "K", "eigenspaces", f"q <= {LEVEL}", "clearest at", "energy / chance", "p", "q")
    for index, title in enumerate(titles):
        table.add_column(title, justify="right" if index else "left")
    for row in rows(found):
        bound = "<= " if row.get("p_is_bound") else ""
        numbers = [f"{row[name]:.3g}" if name in row else "-" for name in ("eigenvalue", "ratio")]
        numbers += [f"{bound}{row[name]:.2g}" if name in row else "-" for name in ("p", "q")]
        table.add_row(row["algorithm"], str(row["hop"]), str(row["judged"]), str(row["more_than_chance"]), *numbers)
    out = console()
    draws = (
        f"{found.attrs['draws']:,} random orders of the nodes, and up to {int(found['draws_used'].max()):,} where clear"
    )
    out.print(f"against {draws}; q over all hops of an algorithm:", soft_wrap=True)
    out.print(table)
    for line in short_of_draws(found):
        out.print(line, soft_wrap=True)
    for sentence in (*findings.notes, *findings.sentences):
        out.print(f"* {sentence}", soft_wrap=True)


def short_of_draws(found: "xr.Dataset") -> list[str]:
    """The sentences of the status that name the draws needed, for the command line, with their algorithms."""
    said: dict[str, list[str]] = {}
    for algorithm in found["algorithm"].values:
        for status in found["status"].sel(algorithm=algorithm).values.ravel().tolist():
            for sentence in re.findall(r"With [^;]*(?:; use \w+=\d+)?", status):
                said.setdefault(sentence.replace("max_draws=", "--max-draws "), []).append(str(algorithm))
    return [f"{', '.join(dict.fromkeys(names))}: {text}." for text, names in said.items()]
