"""``spectrata compare``: two results on one graph, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spectrata.cli.options import CHANCE, COMPUTED, JSON, OUTPUT, SEED, option, switch
from spectrata.cli.render import CHANCE as INTERVAL
from spectrata.cli.render import as_json, row_table, text
from spectrata.errors import FileFormatError, ResultError

if TYPE_CHECKING:
    import xarray as xr

BAND = ("energy_shift", "shift_low", "shift_high", "shift_p")
KEYS = ("algorithm", "snapshot", "layer", "epoch", "column", "hop")
MEASURES = {"r": "correlation", "chance": INTERVAL, "cosine": "cosine", "distance": "wasserstein"}
MEASURES |= {"off A": "off_zero_a", "off B": "off_zero_b"}
SHIFTS = {"band": "place", "shift": "energy_shift", "95 % of exchanges": ("shift_low", "shift_high"), "p": "shift_p"}
LEVEL = 0.05


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A result (.nc, .zarr), or a folder that profile wrote.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another result on the same graph.")],
    bands: int = option(4, COMPUTED, "N", "Number of frequency bands.", min=1),
    zero: bool = switch("--zero", COMPUTED, "Include the zero components."),
    draws: int = option(999, CHANCE, "N", "Random exchanges of A and B.", min=0),
    seed: int = SEED,
    top: int = option(12, OUTPUT, "N", "Rows of each table to print.", min=1),
    json: bool = JSON,
) -> None:
    """Compare two results on the same graph: where energy moves from A to B."""
    from spectrata.results.files import open as open_result
    from spectrata.stats.describe.compare import compare as compare_results

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
    place = {band: f"{at + 1}/{bands}" for at, band in enumerate(found["band"].values.tolist())}
    first = found["algorithm"].values[0]
    by_band = [row | {"place": place[row["band"]]} for row in by_band if row["algorithm"] == first]
    keys = {name: name for name in KEYS[0 if found.sizes["algorithm"] > 1 else 1 :]}
    text(_sentence(found, by_band))
    text(f"A: {a}; B: {b}")
    row_table(rows[:top], keys | MEASURES, left=KEYS)
    text(
        "r: correlation of the two spectra off zero; chance: 95 % of it with eigenspaces in random order; distance: "
        "Wasserstein, in eigenvalues; off A, off B: share of the signal that varies from node to node."
    )
    by_band.sort(key=lambda row: row["shift_p"] if "shift_p" in row else -abs(row["energy_shift"]))
    row_table(by_band[:top], {name: name for name in KEYS[1:]} | SHIFTS, left=KEYS)
    text("shift: share of the energy off zero, B less A, bands from low to high frequencies.")
    if max(len(rows), len(by_band)) > top:
        text("More rows: --top shows them, --json has all.")
    for words in sorted({row["status"] for row in rows} - {"ok"}):
        text(f"status: {words}")


def _result(path: str) -> Path:
    """The result meant by a path: itself, or the one in a folder that ``profile`` wrote."""
    inside = Path(path) / "spectra.nc"
    return inside if inside.is_file() else Path(path)


def _sentence(found: "xr.Dataset", by_band: list[dict[str, Any]]) -> str:
    if "shift_p" not in found:
        return f"The shifts were not tested: {str(found.attrs['shift_test']).removeprefix('none: ')}."
    clear = [row for row in by_band if row["shift_p"] <= LEVEL]
    if not clear:
        return "No shift of energy from A to B is distinguishable from chance (p > .05 at every hop)."
    best = min(clear, key=lambda row: (row["shift_p"], -abs(row["energy_shift"])))
    band, many = best["place"].replace("/", " of "), "more" if best["energy_shift"] > 0 else "less"
    return (
        f"B has {many} energy in band {band}, from low to high frequencies, than A at hop {best['hop']} "
        f"({best['energy_shift']:+.3f} of the energy); {len(clear)} of {len(by_band)} shifts differ from chance."
    )
