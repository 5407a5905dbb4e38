from pathlib import Path

from spectrata.errors import FileFormatError
from spectrata.readers.raw import RawSignal


def read_signal(path: str | Path) -> RawSignal:
    raise FileFormatError("being written")
