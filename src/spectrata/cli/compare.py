"""``spectrata compare``: two results on one graph, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spectrata.cli import describe
from spectrata.cli.terminal import console
from spectrata.errors import FileFormatError, ResultError

if TYPE_CHECKING:
    import pandas as pd


def compare(a: str, b: str, *, bands: int, zero: bool, as_json: bool) -> None:
    """Open, compare, print."""
    from spectrata.analysis.compare import compare as compare_results
    from spectrata.core.registry import row_of
    from spectrata.results.files import open as open_result

    try:
        found = compare_results(open_result(_result(a)), open_result(_result(b)), bands=bands, zero=zero)
    except ResultError as problem:  # what was named on the command line is input
        raise FileFormatError(str(problem)) from problem
    shifts = found["energy_shift"]
    frame = found.drop_vars("energy_shift").drop_dims("band").to_dataframe().reset_index()
    for band in range(bands):
        column = shifts.isel(band=band, drop=True).to_series().rename(f"shift_{band + 1}").reset_index()
        frame[f"shift_{band + 1}"] = column[f"shift_{band + 1}"]
    exact = frame["algorithm"].map(lambda name: row_of(name).exact)
    for name in ("off_zero_a", "off_zero_b"):  # of the exact algorithm alone
        if name in frame:
            frame.loc[~exact, name] = float("nan")
    if as_json:
        import typer

        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        typer.echo(describe.to_json({"command": "compare", "a": a, "b": b, "rows": rows}))
    else:
        _print(a, b, frame, bands)


def _result(path: str) -> Path:
    """The result meant by a path: itself, or the one in a folder that ``profile`` wrote."""
    inside = Path(path) / "spectra.nc"
    return inside if inside.is_file() else Path(path)


def _print(a: str, b: str, frame: "pd.DataFrame", bands: int) -> None:
    from rich import box
    from rich.table import Table

    keys = [name for name in ("algorithm", "snapshot", "hop") if name in frame]
    numbers = {
        "correlation": "correlation",
        "cosine": "cosine",
        "cosine_flat_a": "(flat, A)",
        "cosine_flat_b": "(flat, B)",
        "largest_difference": "largest change",
        "at_eigenvalue": "at eigenvalue",
        "wasserstein": "Wasserstein",
        "off_zero_a": "off zero A",
        "off_zero_b": "off zero B",
    } | {f"shift_{band + 1}": f"shift {band + 1}/{bands}" for band in range(bands)}
    shown = {name: title for name, title in numbers.items() if name in frame}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in keys:
        table.add_column({"hop": "K"}.get(name, name), justify="left" if name == "algorithm" else "right")
    for title in shown.values():
        table.add_column(title, justify="right")
    for row in frame.to_dict("records"):
        table.add_row(*(str(row[name]) for name in keys), *(_number(row[name]) for name in shown))
    out = console()
    out.print(f"A: {a}", soft_wrap=True)
    out.print(f"B: {b}", soft_wrap=True)
    out.print(table)
    out.print(
        "correlation: centred, over components off zero; a cosine no larger than the flat ones says nothing",
        soft_wrap=True,
    )
    out.print("shift: share of energy off zero per band, slow to fast, B less A", soft_wrap=True)
    for words in sorted(set(frame["status"]) - {"ok"}):
        out.print(f"- : {words}", soft_wrap=True)


def _number(value: Any) -> str:
    return "-" if value != value else f"{value:.3f}"
