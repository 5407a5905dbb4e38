"""``spectrata profile --columns separate``: the columns of a signal, ranked."""

from typing import TYPE_CHECKING, Any

from spectrata.cli.tables import label, print_table, print_text
from spectrata.stats.findings import LEVEL

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from spectrata.core.stratification import Stratification
    from spectrata.inputs.signals import Signal

TABLE = "columns.csv"
SHOWN = 20  # rows of the table in the terminal
TITLES = {"ratio": "ratio", "z": "z", "p": "p", "q": "q", "reach": "up to\nK"}
TITLES |= {"peak_band": "peak\nband", "peak_q": "band q", "peak_eigenvalue": "peak at"}


def rank(strat: "Stratification", signal: "Signal", ds: "xr.Dataset", draws: int, max_draws: int) -> "pd.DataFrame":
    """The columns ranked, with the Laplacian of the result; a cut spectrum has no bands."""
    from spectrata.stats.column_table import rank_columns

    operator: dict[str, Any] = {"laplacian": str(ds.attrs["laplacian"]), "self_loops": bool(ds.attrs["self_loops"])}
    bands = bool(ds["complete"].all())
    return rank_columns(
        strat, signal, draws=draws, max_draws=max_draws, bands=bands, seed=int(ds.attrs["seed"]), **operator
    )


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """All rows for JSON, NaN as null."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def show(table: "pd.DataFrame") -> None:
    """Print the clearest columns."""
    from spectrata.stats.column_table import band_note, column_key

    rows = table.head(SHOWN)
    hop, last = int(table["hop"].iloc[0]), table.attrs["last_hop"]
    left_out = {"reach"} if last == hop else set()
    left_out |= set() if table["peak_band"].notna().any() else {name for name in TITLES if name.startswith("peak")}
    left_out |= set() if table["peak_q"].notna().any() else {"peak_q"}
    shown = {name: title for name, title in TITLES.items() if name not in left_out}
    clear = (rows["q"] <= LEVEL) | (rows["peak_q"] <= LEVEL)
    rows = rows.assign(peak_eigenvalue=rows["peak_eigenvalue"].where(clear))  # that of noise means nothing
    known = {name: rows[name].astype(object).where(rows[name].notna(), None) for name in shown}
    numbers = {title: [_number(value) for value in known[name]] for name, title in shown.items()}
    marked = zip(numbers["p"], rows["p_is_bound"], rows["p_method"], strict=True)
    numbers["p"] = [f"{'<= ' * bound}{text}{'*' * (method == 'moments')}" for text, bound, method in marked]
    if "reach" in shown:
        bounds = zip(numbers[TITLES["reach"]], rows["reach_is_bound"], strict=True)
        numbers[TITLES["reach"]] = [f"{'>= ' * bound}{text}" for text, bound in bounds]
    print_text(f"Columns against chance at K = {hop}, the smallest p first:")
    print_table({"column": [label(name) for name in rows["column"]]}, numbers, left=("column",))
    for line in filter(None, (band_note(table), *column_key(table))):
        print_text(line)
    if len(table) > SHOWN:
        print_text(f"{len(table) - SHOWN:,} more columns; {TABLE} has all, and more of their bands.")


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3g}" if abs(value) < 1000 else f"{value:.2e}"
