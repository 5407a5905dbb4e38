"""JSON node-link graphs, as networkx and d3 write them."""

import json
import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from spectrata.errors import shown
from spectrata.inputs.formats.files import listed, problem, read_text
from spectrata.inputs.formats.graph_markup import placed, rows_of
from spectrata.inputs.formats.raw import Columns, RawGraph

_ADVICE = "write it with networkx.node_link_data"


def read_json(path: Path) -> RawGraph:
    """Read nodes and edges of a node-link file; the nodes' names are their ids.

    It is an object with a list ``nodes`` of objects with an ``id``, a list ``links`` or ``edges`` of objects with a
    ``source`` and a ``target``, and perhaps ``directed``. What else nodes and edges hold are their attributes.
    """
    try:
        return _from_node_link(path, _parsed(path))
    except RecursionError:
        raise problem(path, "the JSON is nested too deeply.") from None


def _from_node_link(path: Path, held: dict[str, Any]) -> RawGraph:
    key = _edges_key(path, held)
    nodes, edges = _objects(path, held, "nodes"), _objects(path, held, key)
    ids = tuple(_name(path, node.get("id"), f"node {place}", "id") for place, node in enumerate(nodes, 1))
    ends = [
        tuple(_name(path, edge.get(end), f"edge {place}", end) for end in ("source", "target"))
        for place, edge in enumerate(edges, 1)
    ]
    directed = held.get("directed", False)
    if not isinstance(directed, bool):
        raise problem(path, f"directed is {shown(directed)}; write true or false.")
    return RawGraph(
        rows_of(path, ids, ends),
        len(ids),
        ids,
        directed,
        "once",
        columns=Columns.of([_without(edge, ("source", "target", "key")) for edge in edges]),
        weight="weight",
        attributes=Columns.of([_without(node, ("id",)) for node in nodes], keep=True),
        positions=placed(nodes),
    )


def _parsed(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise problem(path, f"the JSON is damaged ({error.msg}).", error.lineno) from None
    except ValueError:
        raise problem(path, "the JSON holds a number that is too long.") from None
    if not isinstance(held, dict):
        raise problem(path, f"a graph is an object with nodes and links; {_ADVICE}.")
    return held


def _edges_key(path: Path, held: dict[str, Any]) -> str:
    keys = [key for key in ("links", "edges") if key in held]
    if len(keys) == 2:
        raise problem(path, "it has both links and edges; keep one.")
    if not keys or "nodes" not in held:
        found = listed(list(held)) or "nothing"
        raise problem(path, f"a graph has nodes, and links or edges, and this has {found}; {_ADVICE}.")
    return keys[0]


def _objects(path: Path, held: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = held[key]
    if not isinstance(entries, list):
        raise problem(path, f"{key} is not a list; {_ADVICE}.")
    for place, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise problem(path, f"entry {place} of {key} is {shown(entry)}, not an object; {_ADVICE}.")
    return entries


def _name(path: Path, value: Any, where: str, key: str) -> Hashable:
    """An id as networkx reads it: text, a number, or a list of these as a tuple."""
    if isinstance(value, list):
        return tuple(_name(path, part, where, key) for part in value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        what = "no" if value is None else f"the {key} {shown(value)} as its"
        raise problem(path, f"{where} has {what} {key}; give a text or a number.")
    if isinstance(value, float) and not math.isfinite(value):
        raise problem(path, f"{where} has the {key} {value}; give a text or a number.")
    return value


def _without(record: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}
