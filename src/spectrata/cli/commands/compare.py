"""``spectrata compare``: two results on one graph, side by side."""

from pathlib import Path
from typing import Annotated, Any

import typer

from spectrata.cli.options import CHANCE, COMPUTED, JSON, OUTPUT, SEED, option, switch
from spectrata.cli.render import CHANCE as INTERVAL
from spectrata.cli.render import as_json, row_table, text
from spectrata.errors import FileFormatError, ResultError

BAND = ("energy_shift", "shift_low", "shift_high", "shift_p")
KEYS = ("algorithm", "snapshot", "layer", "epoch", "column", "hop")
SHOWN = {"r": "correlation", "chance": INTERVAL, "off A": "off_zero_a", "off B": "off_zero_b"}
SHOWN |= {"band": "place", "shift": "energy_shift", "p": "shift_p"}


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A result (.nc, .zarr), or a folder that profile wrote.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another result on the same graph.")],
    bands: int = option(4, COMPUTED, "N", "Number of frequency bands.", min=1),
    zero: bool = switch("--zero", COMPUTED, "Include the zero components."),
    draws: int = option(999, CHANCE, "N", "Random exchanges of A and B.", min=0),
    seed: int = SEED,
    top: int = option(8, OUTPUT, "N", "Rows to print.", min=1),
    json: bool = JSON,
) -> None:
    """Compare two results on the same graph: where energy moves from A to B."""
    from spectrata.results.files import open as open_result
    from spectrata.stats.describe.compare import compare as compare_results
    from spectrata.stats.findings.sentences import shift_sentence

    try:
        sides = open_result(_result(a)), open_result(_result(b))
        found = compare_results(*sides, bands=bands, zero=zero, draws=draws, seed=seed)
    except ResultError as problem:  # what was named on the command line is input
        raise FileFormatError(str(problem)) from problem
    rows = found.drop_dims("band").to_dataframe().reset_index().to_dict("records")
    by_band = found[[name for name in BAND if name in found]].to_dataframe().reset_index().to_dict("records")
    if json:
        facts = {name: found.attrs[name] for name in ("shift_test", "draws", "seed") if name in found.attrs}
        as_json({"command": "compare", "a": a, "b": b} | facts | {"rows": rows, "bands": by_band})
        return
    keys = [name for name in KEYS if name in rows[0] and (name != "algorithm" or found.sizes["algorithm"] > 1)]
    best: dict[tuple[Any, ...], dict[str, Any]] = {}  # the clearest shift of each row
    known = [row for row in by_band if row["energy_shift"] == row["energy_shift"]]
    for row in sorted(known, key=lambda row: (row.get("shift_p", 0.0), -abs(row["energy_shift"]))):
        best.setdefault(tuple(row[name] for name in KEYS if name in row), row | {"place": f"{row['band'] + 1}/{bands}"})
    rows = [row | best.get(tuple(row[name] for name in KEYS if name in row), {}) for row in rows]
    text(shift_sentence(found, list(best.values()), known))
    text(f"A: {a}; B: {b}")
    row_table(rows[:top], {name: name for name in keys} | SHOWN)
    text(
        "r: correlation of the two spectra off zero, chance: with eigenspaces in random order; off A, off B: share of "
        "the signal that varies from node to node; shift: energy of the band that differs most, B less A."
    )
    if len(rows) > top:
        text(f"{len(rows) - top:,} more rows: --top shows them; --json has all bands.")
    for words in sorted({row["status"] for row in rows} - {"ok"}):
        text(f"status: {words}")


def _result(path: str) -> Path:
    """The result meant by a path: itself, or the one in a folder that ``profile`` wrote."""
    inside = Path(path) / "spectra.nc"
    return inside if inside.is_file() else Path(path)
