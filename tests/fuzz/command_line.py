"""The command line as a target: words and files in one folder, run in this process."""

import contextlib
import io
import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from . import containers, stores
from . import mutate as damage
from . import seeds as small

WORDS = "argv"
VALUES = damage.split(
    "1|2|1-2|1,2|all|0|-1|99|1-|1,,2|2-1|1-99999999999|1.5|x|nan|inf|1e400|99999999999999999999||,|a\nb|é|\x1b[31m|gft|gft,gft"
    "|ln_vx|ens|in_agg,adj_diff|auto|angular|euclidean|paper|error|zero|none|signal|eigenvectors,signal|float32|cpu|cuda:99"
    "|log|width|random|index|eigenvalue|program|random_walk|normalized|adj_diff=0.5,in_agg=0.5|adj_diff=|=|gft=1,gft=1"
    "|incidence|selu|signed|separate|true|false|w|graph.txt|signal.npy|signal.csv|a.nc|b.nc|manifest.csv|none.txt|.|out"
    "|out/deep|graph.txt/x"
)
# Commands that compute for minutes, or reach out to other machines, are tested elsewhere.
LEFT_OUT = ("demo", "--scheduler", "--jobs", "--debug")


@cache
def options() -> tuple[list[str], list[str]]:
    """The options of every command that take a value, and those that take none."""
    from typer.main import get_command

    from spectrata.cli.app import app

    params = [one for command in get_command(app).commands.values() for one in command.params if one.opts[0][0] == "-"]
    flags = {word for one in params if one.is_flag for word in one.opts}
    return sorted({word for one in params for word in one.opts} - flags), sorted(flags | {"--bogus", "--", "-h"})


def seeds() -> list[bytes]:
    """Calls that work."""
    results = stores._saved(".nc")
    files = {
        "graph.txt": b"0 1\n1 2\n2 3\n3 0\n",
        "signal.npy": small.npy(np.array([0.5, 1.0, -2.0, 3.0])),
        "signal.csv": b"node,x,y\n0,1,2\n1,3,4\n2,5,6\n3,7,1\n",
        "manifest.csv": b"graph,signal,name\ngraph.txt,signal.npy,one\ngraph.txt,signal.csv,two\n",
        "a.nc": results[0],
        "b.nc": results[2],
    }
    calls = [
        ["profile", "graph.txt", "signal.npy", "--hops", "1", "--algorithms", "gft"],
        ["profile", "graph.txt", "signal.csv", "--metric", "euclidean", "-o", "out"],
        ["profile", "graph.txt", "signal.npy", "--bands", "2"],
        ["profile", "--many", "manifest.csv"],
        ["strata", "graph.txt", "--hops", "2"],
        ["strata", "graph.txt", "--json"],
        ["compare", "a.nc", "a.nc"],
        ["compare", "a.nc", "b.nc", "--bands", "2"],
        ["info"],
        ["--version"],
    ]
    return [containers.pack({WORDS: "\0".join(words).encode()} | _needed(words, files)) for words in calls]


def _needed(words: Sequence[str], files: dict[str, bytes]) -> dict[str, bytes]:
    wanted = set(words) | ({"graph.txt", "signal.npy", "signal.csv"} if "--many" in words else set())
    return {name: data for name, data in files.items() if name in wanted}


def mutate(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """Other words, or damage to one of the files."""
    files = containers.unpack(data)
    words = files.get(WORDS, b"").decode("utf-8", "replace").split("\0")
    if len(files) > 1 and random.random() < 0.45:
        name = random.choice([name for name in files if name != WORDS])
        files[name] = _hurt(name, files[name], random)
    else:
        for _ in range(random.choice([1, 1, 2, 3])):
            words = _reworded(words, random)
    files[WORDS] = "\0".join(word for word in words if not word.startswith(LEFT_OUT)).encode("utf-8", "replace")
    return containers.pack(files)


def _hurt(name: str, data: bytes, random: Random) -> bytes:
    if name.endswith(".npy"):
        return containers.npy(data, random, [])
    if name.endswith(".nc"):
        return damage.raw(data, random, [])
    return damage.text(["graph,signal\n", "0 1\n", "node,x\n"])(data, random, [])


def _reworded(words: list[str], random: Random) -> list[str]:
    place = random.randrange(len(words) + 1)
    deed = random.random()
    if deed < 0.55:
        return [*words, random.choice(options()[0]), random.choice(VALUES)]
    if deed < 0.65:
        return [*words[:place], random.choice(options()[1]), *words[place:]]
    if deed < 0.75:
        return [*words[:place], random.choice(VALUES), *words[place + random.choice([0, 1]) :]]
    if deed < 0.85:
        return words[:place] + words[place + 1 :]
    if deed < 0.9:
        return [random.choice(["profile", "strata", "compare", "info", "bogus", ""]), *words[1:]]
    word = random.choice(random.choice([damage.NUMBERS, damage.WORDS])).replace("\0", "")
    return [*words[:place], word if "/" not in word else "a", *words[place + random.choice([0, 1]) :]]


def write(path: Path, data: bytes) -> None:
    """A clean folder with the files of this call."""
    if path.is_dir():
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
    path.mkdir(exist_ok=True)
    for name, content in containers.unpack(data).items():
        if "/" not in name and "\0" not in name and name not in ("", ".", ".."):
            with contextlib.suppress(OSError):
                (path / name).write_bytes(content)


def run(path: Path) -> None:
    """Call it; only exit codes 0, 1 and 2, one sentence for a failure, and nothing unexpected."""
    from spectrata.cli.app import app
    from spectrata.errors import ResultError, SpectrataError

    from .targets import Wrong

    words = [word for word in (path / WORDS).read_text(encoding="utf-8").split("\0") if len(word) < 5000]
    said, printed = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(path)
    code: object = None
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            app(words, prog_name="spectrata")
    except SystemExit as end:
        code = end.code
    finally:
        os.chdir(before)
    lines = said.getvalue().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if code not in (0, 1, 2) or (code == 0) != (not errors) or len(errors) > 1:
        raise Wrong(f"exit code {code} with {len(errors)} errors: {lines[:3]}")
    if any(not line.startswith(("error: ", "note: ")) for line in lines) or any(
        line.startswith("error: unexpected") for line in errors
    ):
        raise Wrong(f"said {lines[:3]}")
    if "Traceback" in printed.getvalue() + said.getvalue():
        raise Wrong("a traceback was printed")
    if code == 1:
        raise ResultError(errors[0])
    if code == 2:
        raise SpectrataError(errors[0])
