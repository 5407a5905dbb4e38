"""The columns of a result, ranked against chance: a table for the page, and the columns that it shows."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import Signal, as_signal
from spectrata.plot.style import count
from spectrata.report.contents import REBUILT
from spectrata.report.payload import most_snapshots
from spectrata.results.schema import View, view
from spectrata.stats.describe.levels import rebuild
from spectrata.stats.findings.columns import COLUMN_KEY, column_sentences
from spectrata.stats.verbs.rank_columns import SIGNIFICANT, rank_columns

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 40  # columns whose spectra a page holds, the first of the ranking
LISTED = 2000  # rows of the table
WHOLE = ("reach", "scale")
NUMBERS = ("r", "p", "q", "r_given", "p_given", "q_given")


def best_columns(result: View, strat: Stratification | None, signal: Any) -> tuple[View, Any, dict[str, Any] | None]:
    """The columns that rank first, their signals, and the ranking; a result without columns as it is.

    Of several snapshots the last counts. Without the signal or the graph there is no ranking.
    """
    if "column" not in result.row_dims:
        return result, signal, None
    if strat is None and result.n_nodes <= REBUILT and "bins" not in result.ds.attrs:
        strat = rebuild(result)
    names = result.labels("column")
    values = _last_values(result, strat, signal, len(names))
    if strat is None or values is None:
        return result, signal, None
    facts = result.ds.attrs
    known = Signal(values[None], None, columns=tuple(names))
    table = rank_columns(strat.only(*result.hops), known, None, seed=int(facts["seed"]))
    last = result.ds.isel({dim: -1 for dim in result.row_dims if dim != "column"}, drop=True)
    kept = [names.index(name) for name in table["column"][: min(SHOWN, most_snapshots(view(last)))]]
    shown = Signal(np.ascontiguousarray(values[:, kept].T)[..., None], tuple(names[at] for at in kept))
    tested, clear = int(table["q"].notna().sum()), int(table["verdict"].isin(SIGNIFICANT).sum())
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
        "verdict": rows["verdict"].tolist(),
        "key": list(COLUMN_KEY),
        "column": [str(name) for name in rows["column"]],
        "hop": int(table["hop"].iloc[0]),
        "total": len(table),
        "tested": int(table["q"].notna().sum()),
        "shown": shown,
        "sentences": column_sentences(table),
        "line": f"{count(len(table), 'column')}, each a signal of its own; metric euclidean",
    }
