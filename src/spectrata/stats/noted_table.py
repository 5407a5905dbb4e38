"""Tables that print a note above themselves."""

import pandas as pd


class NotedTable(pd.DataFrame):
    """A DataFrame that prints ``attrs["note"]`` above itself; what is selected from it is a plain DataFrame.

    Examples
    --------
    >>> table = NotedTable({"hop": [1]})
    >>> table.attrs["note"] = "compared by direction"
    >>> print(table)
    compared by direction
       hop
    0    1
    """

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self.attrs.get("note"), super().__repr__()]))

    def _repr_html_(self) -> str | None:
        from html import escape

        table, note = super()._repr_html_(), self.attrs.get("note")
        return f"<p>{escape(note)}</p>\n{table}" if note and table else table
