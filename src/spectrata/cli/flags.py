"""Messages that name Python arguments, in the words of the command line: ``hops=3`` is ``--hops 3``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

# A quoted text stays as it is: it may be a name from a file. What follows a letter is an apostrophe.
_QUOTED = r"(?<!\w)'[^']*'|(?<!\w)\"[^\"]*\""
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|(?:[^\s,;()'\"\[\]]*[^\s,;()'\"\[\].:])?"


@dataclass(frozen=True)
class Flag:
    """How an argument is given on the command line."""

    name: str
    is_switch: bool  # takes no value


def flags_of(command: Any) -> dict[str, Flag]:
    """The flags of a command by the argument they set."""
    found = {}
    for param in getattr(command, "params", ()):
        longest = max(param.opts, key=len, default="")
        if longest.startswith("--"):
            found[param.name] = Flag(longest, bool(getattr(param, "is_flag", False)))
    return found


def as_flags(text: str, flags: Mapping[str, Flag]) -> str:
    """A message with its arguments written as flags; arguments that the command lacks stay.

    Examples
    --------
    >>> flags = {"metric": Flag("--metric", False), "undirected": Flag("--undirected", True)}
    >>> as_flags("The graph's metric is not known: use metric='angular', or undirected=True.", flags)
    "The graph's metric is not known: use --metric angular, or --undirected."
    """
    if not flags:
        return text
    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    # Names with an underscore are no English words, so they are arguments without a value too.
    bare = "|".join(sorted((re.escape(name) for name in flags if "_" in name), key=len, reverse=True)) or r"(?!)"
    pattern = rf"{_QUOTED}|(?<![\w./=-])(?P<name>{names})=(?P<value>{_VALUE})|(?<![\w./=-])(?P<bare>{bare})(?![\w/=-])"

    def replaced(match: re.Match) -> str:
        if match["bare"]:
            return flags[match["bare"]].name
        if not match["name"]:
            return match[0]
        flag, value = flags[match["name"]], _written(match["value"])
        if flag.is_switch:
            return {"false": f"no {flag.name}"}.get(value, flag.name)
        return f"{flag.name} {value}".rstrip()

    return re.sub(pattern, replaced, text)


def _written(value: str) -> str:
    """A Python value as it is typed after a flag."""
    if value[:1] == "[":
        return ",".join(_written(piece.strip()) for piece in value[1:-1].split(","))
    if value[:1] in ("'", '"'):
        return value[1:-1] if re.fullmatch(r"[\w./-]+", value[1:-1]) else value
    return {"True": "true", "False": "false", "None": "none"}.get(value, value)


def swallowed(words: Sequence[str], flags: Mapping[str, Flag]) -> str:
    """A sentence where a flag that needs a value is followed by another flag, which would be taken for it."""
    known = {flag.name: flag for flag in flags.values()}
    for word, following in pairwise(words):
        if word == "--":
            break
        if word in known and not known[word].is_switch and following in known:
            return f"{word} needs a value, and {following} follows it; write {word} VALUE {following}."
    return ""
