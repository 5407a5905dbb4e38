"""Tables of text, read by pandas as text: an id such as 007 or NA stays what it is."""

import csv
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spectrata.errors import FileFormatError, shown
from spectrata.inputs.readers.files import is_number, problem, read_utf8, suffix

if TYPE_CHECKING:
    import pandas as pd

SPACES = r"\s+"  # what pandas calls runs of blanks and tabs
DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
MOST_COLUMNS = 100_000  # pandas takes seconds for so many, and minutes for more


@dataclass(frozen=True, eq=False)
class TextTable:
    """The cells of a file as text; those that a short row lacks are empty."""

    path: Path
    cells: "pd.DataFrame"  # row labels count the lines of the file

    @property
    def lines(self) -> list[int]:
        """The line of each row in the file, counted from 1."""
        return [row + 1 for row in self.cells.index]

    def problem(self, message: str, row: int) -> FileFormatError:
        """The error for one row of ``cells``, with its line in the file."""
        return problem(self.path, message, int(self.cells.index[row]) + 1)

    def refused(self, column: int, advice: str) -> FileFormatError:
        """The error for the first cell of a column that is not a number."""
        row, cell = next((row, cell) for row, cell in enumerate(self.cells[column]) if not is_number(cell))
        if DECIMAL_COMMA.fullmatch(cell):
            advice = f"write decimals with a point, as in {cell.replace(',', '.')}"
        what = f"{shown(cell)} is not a number" if cell else "a cell is empty"
        return self.problem(f"{what} (column {column + 1}); {advice if cell else 'fill or drop it'}.", row)


def read_columns(path: Path) -> TextTable:
    """Read columns separated by commas, semicolons or tabs; rows without a filled cell are dropped."""
    data = read_utf8(path)
    return parse(path, data, separator_of(path, data))


def separator_of(path: Path, data: bytes) -> str:
    """The mark between the columns of a table: a tab in .tsv, else a comma, or a semicolon where there is no comma."""
    first = data.partition(b"\n")[0]
    separates = re.search(rb"(?<!\d),|,(?!\d)", first)  # not a decimal comma
    return "\t" if suffix(path) == ".tsv" else ";" if b";" in first and not separates else ","


def parse(path: Path, data: bytes, separator: str, least: int = 0) -> TextTable:
    """Cells of a text with as many columns as its first line, at least ``least``; longer lines are refused."""
    import pandas as pd

    # The cells of the first line that is not blank.
    found = re.search(rb"\S[^\r\n]*", data)
    top = b"" if found is None else data[data.rfind(b"\n", 0, found.start()) + 1 : found.end()]
    mark = separator.encode()
    count = len(top.split()) if separator == SPACES else 1 + re.sub(rb'"[^"]*"', b"", top).count(mark)
    width = max(least, count, 1)
    if width > MOST_COLUMNS:
        raise problem(path, f"the table has {width} columns, more than {MOST_COLUMNS}; save it as .npz or .parquet.")
    quoting = csv.QUOTE_NONE if separator == SPACES else csv.QUOTE_MINIMAL
    form = {"sep": separator, "quoting": quoting, "dtype": str, "keep_default_na": False, "skip_blank_lines": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # pandas would drop what does not fit
            cells = pd.read_csv(io.BytesIO(data), header=None, names=range(width), index_col=False, **form)
    except (pd.errors.ParserError, pd.errors.ParserWarning, OverflowError) as error:
        longer = re.search(r"fields in line (\d+), saw (\d+)", str(error))
        if longer is not None:
            first = width if width > least else "fewer"
            raise problem(path, f"the row has {longer[2]} columns, the first one {first}.", int(longer[1])) from None
        opened = re.search(r"starting at row (\d+)", str(error))
        line = None if opened is None else int(opened[1]) + 1
        raise problem(path, "the table is damaged: a quote is not closed.", line) from None
    if separator != SPACES and (b" " in data or b"\t" in data or not data.isascii()):  # such as hard spaces
        cells = cells.apply(lambda column: column.str.strip())
    filled = (cells != "").any(axis=1)
    return TextTable(path, cells if filled.all() else cells[filled])
