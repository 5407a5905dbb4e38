"""``spectrata profile --columns separate``: the columns of a signal, ranked."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli.tables import label, print_table, print_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

TABLE = "columns.csv"
SHOWN = 20  # rows of the table in the terminal
NUMBERS = {"ratio": "ratio", "z": "z", "p": "p", "q": "q"}
NUMBERS |= {f"{end}_{name}": f"{end} {name}" for end in ("low", "high") for name in ("z", "q")}


def rank(strat: "Stratification", signal: "Signal", ds: "xr.Dataset") -> "pd.DataFrame":
    """The columns ranked, with the Laplacian of the result."""
    from spectrata.analysis.column_table import column_table

    operator: dict[str, Any] = {"laplacian": str(ds.attrs["laplacian"]), "self_loops": bool(ds.attrs["self_loops"])}
    return column_table(strat, signal, seed=int(ds.attrs["seed"]), **operator)


def write(table: "pd.DataFrame", folder: Path) -> Path:
    """All rows as a file beside the others."""
    from spectrata.results.atomic_io import written_whole

    with written_whole(folder / TABLE) as beside:
        table.to_csv(beside, index=False)
    return folder / TABLE


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """All rows for JSON, NaN as null."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def show(table: "pd.DataFrame") -> None:
    """Print the clearest columns."""
    rows = table.head(SHOWN)
    numbers = {title: [_number(value) for value in rows[name]] for name, title in NUMBERS.items()}
    marked = zip(numbers["p"], rows["p_is_bound"], rows["p_method"], strict=True)
    numbers["p"] = [f"{'<= ' * bound}{text}{'*' * (method == 'moments')}" for text, bound, method in marked]
    print_text(f"Columns against chance at K = {int(table['hop'].iloc[0])}, the smallest p first:")
    print_table({"column": [label(name) for name in rows["column"]]}, numbers, left=("column",))
    print_text("ratio, z, p, q: mean squared difference of the pairs (correlogram); ratio below 1: alike.")
    print_text("low, high: energy of the lowest and highest quarter of the frequencies off zero, against chance.")
    print_text("q: false discovery rate over all columns, for bands over all four bands of each.")
    if table.attrs["confirmed"]:
        print_text(f"*: {table.attrs['confirmed']}")
    if table["low_z"].notna().any() and table["low_p"].isna().all():
        print_text("-: q of bands was not computed, since permutations would take long; z is exact.")
    if len(table) > SHOWN:
        print_text(f"{len(table) - SHOWN:,} more columns; {TABLE} has all, with p of the bands.")


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3g}" if abs(value) < 1000 else f"{value:.2e}"
