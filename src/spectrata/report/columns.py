"""The columns of a result, ranked against chance: a table for the page, and the columns that it shows."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Signal, as_signal
from spectrata.plot.style import count
from spectrata.report.contents import REBUILT
from spectrata.report.payload import most_snapshots
from spectrata.results.schema import View, view
from spectrata.stats.column_table import band_note, column_key, column_sentences, rank_columns
from spectrata.stats.describe.levels import rebuild
from spectrata.stats.findings import LEVEL

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 40  # columns whose spectra a page holds, the first of the ranking
LISTED = 2000  # rows of the table
WHOLE = ("reach", "peak_band")
LOW_AND_HIGH = "low z, high z: energy of the lowest and of the highest quarter of the frequencies against chance."
NUMBERS = ("ratio", "z", "p", "q", "peak_q", "peak_eigenvalue", "low_z", "low_q", "high_z", "high_q")


def best_columns(result: View, strat: Stratification | None, signal: Any) -> tuple[View, Any, dict[str, Any] | None]:
    """The columns that rank first, their signals, and the ranking; a result without columns as it is.

    Of several snapshots the last counts. Without the signal or the graph there is no ranking.
    """
    if "column" not in result.row_dims:
        return result, signal, None
    if strat is None and result.n_nodes <= REBUILT:
        strat = rebuild(result)
    names = result.labels("column")
    values = _last_values(result, strat, signal, len(names))
    if strat is None or values is None:
        return result, signal, None
    facts = result.ds.attrs
    operator: dict[str, Any] = {"laplacian": str(facts["laplacian"]), "self_loops": bool(facts["self_loops"])}
    known = Signal(values[None], None, columns=tuple(names))
    table = rank_columns(strat.only(*result.hops), known, seed=int(facts["seed"]), **operator)
    last = result.ds.isel({dim: -1 for dim in result.row_dims if dim != "column"}, drop=True)
    kept = [names.index(name) for name in table["column"][: min(SHOWN, most_snapshots(view(last)))]]
    shown = Signal(np.ascontiguousarray(values[:, kept].T)[..., None], tuple(names[at] for at in kept))
    tested, clear = int(table["q"].notna().sum()), int((table["q"] <= LEVEL).sum())
    chosen = last.isel(column=kept).assign_attrs(n_tested=tested, n_clear=clear)
    return view(chosen, result.name), shown, _payload(table, len(kept))


def _last_values(result: View, strat: Stratification | None, signal: Any, columns: int) -> np.ndarray | None:
    """The columns of the last snapshot, ``(n, columns)``."""
    if signal is not None and strat is not None:
        values = as_signal(signal, strat.graph).values[-1]
        return values if values.shape[1] == columns else None
    return None if result.signal is None else result.signal[-columns:, :, 0].T


def _payload(table: "pd.DataFrame", shown: int) -> dict[str, Any]:
    """What the page's script reads: names as text, numbers with NaN as null."""
    rows = table.head(LISTED)
    numbers: dict[str, Any] = {name: [float(x) if np.isfinite(x) else None for x in rows[name]] for name in NUMBERS}
    numbers |= {name: rows[name].astype(object).where(rows[name].notna(), None).tolist() for name in WHOLE}
    return numbers | {
        "reach_bound": rows["reach_is_bound"].astype(bool).tolist(),
        "note": band_note(table),
        "key": [*column_key(table), LOW_AND_HIGH],
        "column": [str(name) for name in rows["column"]],
        "bound": rows["p_is_bound"].astype(bool).tolist(),
        "matched": (rows["p_method"] == "moments").tolist(),
        "hop": int(table["hop"].iloc[0]),
        "total": len(table),
        "tested": int(table["q"].notna().sum()),
        "shown": shown,
        "sentences": column_sentences(table),
        "line": f"{count(len(table), 'column')}, each a signal of its own; metric euclidean",
    }
