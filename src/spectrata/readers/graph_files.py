from pathlib import Path

from spectrata.errors import FileFormatError
from spectrata.readers.raw import RawGraph


def read_graph(path: str | Path) -> RawGraph:
    raise FileFormatError("being written")
