"""Judge the claims of ``claims.toml`` and the slips of ``errata.toml`` on what a run has measured."""

import io
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from timeit import repeat
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.numbers import FLAT_MARGIN, Check, Results, namespace
from reproduction.tasks.caveman import caveman_graph
from spectrata.core.stratification import Stratification

HOLDS, PARTLY, FAILS, UNCHECKED = "holds", "partly", "fails", "unchecked"
VERDICTS = (HOLDS, PARTLY, FAILS, UNCHECKED)
NAMES = {"text": "sections 1 and 2", "task1": "Task 1", "task2": "Task 2", "task3": "Task 3", "runs": "Tasks 4 to 8"}
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Record:
    id: str
    task: str
    claim: str
    published: str
    measured: str
    verdict: str
    note: str
    rule: str
    checks: str
    over_flat: str = ""  # smallest and largest excess over the flat spectrum; empty where none was measured
    of: str = ""  # the claims whose checks it repeats

    @property
    def better(self) -> str:
        """Whether it is better than a flat spectrum: yes, in part, no, or empty where that was not measured."""
        if not self.over_flat:
            return ""
        low, high = (float(word) > FLAT_MARGIN for word in self.over_flat.split(" to "))
        return "yes" if low else "in part" if high else "no"


def verdict(checks: Iterable[Check]) -> str:
    made = [bool(check) for check in checks if check is not None]
    if not made:
        return UNCHECKED
    if all(made):
        return HOLDS
    return PARTLY if 2 * sum(made) >= len(made) else FAILS


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


def judge_all(results: Results) -> list[Record]:
    """Give the record of every claim, in the order of the file; a conclusion comes after the claims it repeats."""
    data = read("claims.toml")
    made: dict[str, list[Check]] = {}
    known = namespace(results) | data["published"] | {"checks": made}
    known["repeated"] = lambda names: [check for name in names for check in made.get(name, [])]
    known["verdicts_of"] = lambda names: ", ".join(f"{n.rsplit('.', 1)[1]}: {verdict(made.get(n, []))}" for n in names)
    return [_judge(claim, results, known, made) for claim in data["claim"]]


def _judge(claim: dict[str, Any], results: Results, known: dict[str, Any], made: dict[str, list[Check]]) -> Record:
    missing = [NAMES[name] for name in claim.get("needs", []) if getattr(results, name) is None]
    measured, note = "not measured", f"{', '.join(missing)} was not part of this run."
    checks: list[Check] = [None]
    over_flat: Any = ()
    if not missing:
        here = assign(claim.get("let", []), known | {"of": claim.get("of", [])})
        measured, note = (fill(claim.get(name, ""), here) for name in ("measured", "note"))
        checks = list(eval(claim["checks"], here))
        over_flat = eval(claim.get("over_flat", "()"), here)
    made[claim["id"]] = checks
    true = [bool(check) for check in checks if check is not None]
    given = {name: claim[name] for name in ("id", "task", "claim", "published", "rule")}
    given |= {"checks": f"{sum(true)} of {len(true)} checks", "over_flat": _range(over_flat)}
    return Record(**given, measured=measured, verdict=verdict(checks), note=note, of=" ".join(claim.get("of", [])))


def assign(lines: Sequence[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate lines such as ``a, b = expression`` one after the other.

    Examples
    --------
    >>> assign(["a, b = 1, 2", "c = a + b"], {})["c"]
    3
    """
    here = dict(known)
    for line in lines:
        names, _, expression = line.partition(" = ")
        value = eval(expression, here)
        here |= dict(zip(names.split(", "), value, strict=True)) if ", " in names else {names: value}
    return here


def fill(text: str, known: dict[str, Any]) -> str:
    """Replace the expressions in braces by what they give, as an f-string does.

    Examples
    --------
    >>> fill("share {part / 3:.2f}", {"part": 1})
    'share 0.33'
    """
    return eval(f'f"""{text}"""', known) if "{" in text else text


def _range(values: Any) -> str:
    """Smallest and largest of some numbers, as text."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return f"{known.min():.2f} to {known.max():.2f}" if known.size else ""


def slips() -> list[dict[str, Any]]:
    """Check every slip of ``errata.toml``: its texts, ``evidence`` as measured now, and whether it is ``confirmed``."""
    found = []
    known = namespace(Results()) | {"strat": Stratification(caveman_graph()), "repeat": repeat}
    for slip in read("errata.toml")["slip"]:
        here = assign(slip.get("let", []), known)
        measured = {"evidence": fill(slip["evidence"], here), "confirmed": bool(eval(slip["confirmed"], here))}
        found.append(slip | measured)
    return found


def counts(records: Sequence[Record]) -> dict[str, int]:
    """Count verdicts of single claims; conclusions repeat their checks and are not counted again."""
    single = [record.verdict for record in records if not record.of]
    return {name: single.count(name) for name in VERDICTS}


def to_json(records: Sequence[Record], settings: Mapping[str, Any]) -> str:
    plain = {"settings": dict(settings), "counts": counts(records), "claims": [asdict(record) for record in records]}
    return json.dumps(plain, indent=1, ensure_ascii=False)


def to_csv(records: Sequence[Record]) -> str:
    return pd.DataFrame([asdict(record) for record in records]).to_csv(index=False, lineterminator="\n")


def from_csv(text: str) -> list[Record]:
    table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    return [Record(**row) for row in table.to_dict("records")]
