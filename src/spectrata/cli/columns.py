"""``spectrata profile --columns separate``: the columns of a signal, ranked."""

from typing import TYPE_CHECKING, Any

from spectrata.cli.tables import label, print_table, print_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

TABLE = "columns.csv"
SHOWN = 20  # rows of the table in the terminal
TITLES = {"verdict": "verdict", "r": "r", "p": "p", "q": "q", "p_given": "p given", "q_given": "q given"}
TITLES |= {"reach": "reach", "scale": "scale"}


def rank(strat: "Stratification", signal: "Signal", ds: "xr.Dataset", draws: int | None) -> "pd.DataFrame":
    """The columns ranked."""
    from spectrata.stats.verbs.rank_columns import rank_columns

    return rank_columns(strat, signal, draws=draws, seed=int(ds.attrs["seed"]))


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """All rows for JSON, NaN as null."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def show(table: "pd.DataFrame") -> None:
    """Print the clearest columns."""
    from pandas import NA

    from spectrata.stats.findings.columns import COLUMN_KEY
    from spectrata.stats.findings.table import shown, shown_p

    rows = table.head(SHOWN)
    forms: dict[str, Any] = {
        "verdict": str,
        "r": shown,
        "reach": str,
        "scale": lambda value: "-" if value is NA else str(value),
    }
    cells = {title: [forms.get(name, shown_p)(value) for value in rows[name]] for name, title in TITLES.items()}
    print_text(f"Columns against chance at K = {table['hop'].iloc[0]}, the clearest first:")
    print_table({"column": [label(name) for name in rows["column"]]}, cells, left=("column", "verdict"))
    for line in COLUMN_KEY:
        print_text(line)
    if len(table) > SHOWN:
        print_text(f"{len(table) - SHOWN:,} more columns; {TABLE} has all.")
