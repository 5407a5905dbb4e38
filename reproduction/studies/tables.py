"""Tables of the studies, as CSV and as Markdown for the docs."""

from pathlib import Path

import pandas as pd

from reproduction.store import write_text


def markdown(table: pd.DataFrame, digits: int = 3) -> str:
    """A table in Markdown, floats rounded.

    Examples
    --------
    >>> import pandas as pd
    >>> print(markdown(pd.DataFrame({"graph": ["ring"], "share": [0.5]})))
    | graph | share |
    |---|---|
    | ring | 0.500 |
    """

    def cell(value: object) -> str:
        if isinstance(value, float):
            return "" if value != value else f"{value:.{digits}f}"
        return str(value)

    head = f"| {' | '.join(str(c) for c in table.columns)} |\n|{'---|' * len(table.columns)}"
    rows = [f"| {' | '.join(cell(v) for v in row)} |" for row in table.itertuples(index=False)]
    return "\n".join([head, *rows])


def write_table(table: pd.DataFrame, folder: Path, name: str, text: str) -> None:
    write_text(folder / f"{name}.csv", table.to_csv(index=False, float_format="%.10g"))
    write_text(folder / f"{name}.md", text + "\n")
