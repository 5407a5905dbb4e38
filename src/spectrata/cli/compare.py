"""``spectrata compare``: two results on one graph, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import describe
from spectrata.cli.tables import label, print_table, print_text
from spectrata.errors import FileFormatError, ResultError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ROW_KEYS = ("algorithm", "snapshot", "layer", "epoch", "column")
BAND = ("energy_shift", "shift_low", "shift_high", "shift_p")


def compare(a: str, b: str, *, bands: int, zero: bool, draws: int, seed: int, as_json: bool) -> None:
    """Open, compare, print."""
    from spectrata.core.registry import row_of
    from spectrata.results.files import open as open_result
    from spectrata.stats.describe.compare import compare as compare_results

    try:
        sides = open_result(_result(a)), open_result(_result(b))
        found = compare_results(*sides, bands=bands, zero=zero, draws=draws, seed=seed)
    except ResultError as problem:  # what was named on the command line is input
        raise FileFormatError(str(problem)) from problem
    frame = found.drop_dims("band").to_dataframe().reset_index()
    for name in BAND:
        short = {"energy_shift": "shift"}.get(name, name)
        for band in range(bands if name in found else 0):
            column = found[name].isel(band=band, drop=True).to_series()
            frame[f"{short}_{band + 1}"] = column.rename("value").reset_index()["value"]
    exact = frame["algorithm"].map(lambda name: row_of(name).exact)
    for name in ("off_zero_a", "off_zero_b"):  # of the exact algorithm alone
        if name in frame:
            frame.loc[~exact, name] = float("nan")
    if as_json:
        import typer

        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        facts = {name: found.attrs[name] for name in ("shift_test", "draws", "seed") if name in found.attrs}
        typer.echo(describe.to_json({"command": "compare", "a": a, "b": b} | facts | {"rows": rows}))
    else:
        _print(a, b, frame, bands, found)


def _result(path: str) -> Path:
    """The result meant by a path: itself, or the one in a folder that ``profile`` wrote."""
    inside = Path(path) / "spectra.nc"
    return inside if inside.is_file() else Path(path)


def _print(a: str, b: str, frame: "pd.DataFrame", bands: int, found: "xr.Dataset") -> None:
    keys = [name for name in (*ROW_KEYS, "hop") if name in frame]
    numbers = {
        "correlation": "correlation",
        "chance_low": "chance from",
        "chance_high": "to",
        "cosine": "cosine",
        "cosine_flat_a": "(flat, A)",
        "cosine_flat_b": "(flat, B)",
        "wasserstein": "Wasserstein",
        "largest_difference": "largest change",
        "at_eigenvalue": "at eigenvalue",
        "off_zero_a": "off zero A",
        "off_zero_b": "off zero B",
    } | {f"shift_{band + 1}": f"shift {band + 1}/{bands}" for band in range(bands)}
    shown = [name for name in numbers if name in frame]
    records = frame.to_dict("records")
    front = {{"hop": "K"}.get(name, name): [label(row[name]) for row in records] for name in keys}
    print_text(f"A: {a}")
    print_text(f"B: {b}")
    print_table(front, {numbers[name]: [_number(row[name]) for row in records] for name in shown}, left=ROW_KEYS)
    print_text("correlation: centred, over the components off zero;")
    print_text("chance: 95 % of it with eigenspaces in random order.")
    print_text("cosine: compare it with the cosines of a flat spectrum beside it.")
    print_text("shift: share of energy off zero per band, low to high frequencies, B less A.")
    if "shift_p" in found:
        _print_test(records, keys, bands, found)
    else:
        reason = str(found.attrs["shift_test"]).removeprefix("none: ")
        print_text(f"The shifts were not tested: {reason}.")
    for words in sorted(set(frame["status"]) - {"ok"}):
        print_text(words, "-: ")


def _print_test(records: list[dict[str, Any]], keys: list[str], bands: int, found: "xr.Dataset") -> None:
    """The shifts that were tested, one line per band."""
    cells: list[list[str]] = []
    for row in records:
        for band in range(1, bands + 1):
            p = row[f"shift_p_{band}"]
            if p == p:
                reach = f"{_number(row[f'shift_low_{band}'])} to {_number(row[f'shift_high_{band}'])}"
                numbers = [
                    f"{band}/{bands}",
                    _number(row[f"shift_{band}"]),
                    reach,
                    "< 0.001" if p < 0.001 else f"{p:.2g}",
                ]
                cells.append([*(label(row[name]) for name in keys), *numbers])
    titles = [{"hop": "K"}.get(name, name) for name in keys] + ["band", "shift", "95 % of exchanges", "p"]
    columns = {title: [line[at] for line in cells] for at, title in enumerate(titles)}
    print_text(f"Test: A and B exchanged at random nodes {found.attrs['draws']} times; p over the bands of a hop.")
    print_table({title: columns.pop(title) for title in titles[: len(keys)]}, columns, left=ROW_KEYS)


def _number(value: Any) -> str:
    return "-" if value != value else f"{value:.3f}"
