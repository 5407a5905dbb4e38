"""Levels below which a trained model's layer has collapsed, with their rates: from the study over trained models.

The file beside this module is written by ``spectrata reproduce models``; ``docs/activations.md`` shows its tables.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def study_levels() -> dict[str, Any]:
    """The levels' file: ``["positions"][position][measure]`` has ``level`` and rates by half and group.

    Positions are "last hidden", "outputs" and "either". Rates are those of the half of the graphs that the level was
    chosen on ("choose") and of the other half ("report"): ``models``, ``rate``, and its interval ``low``, ``high``.

    Examples
    --------
    >>> found = study_levels()["positions"]["last hidden"]["off_zero"]
    >>> sorted(found)
    ['by_graph', 'choose', 'level', 'report']
    """
    text = files("spectrata.analysis").joinpath("collapse_levels.json").read_text(encoding="utf-8")
    return json.loads(text)
