"""Objects in memory, described by JSON so that they can be damaged like files: labels, edge weights, AnnData."""

import json
import warnings
from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from . import mutate

MAKERS = {
    "list": lambda held: held,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda held: np.array(held, dtype=object),
    "text": lambda held: np.array(held, dtype=str),
    "float32": lambda held: np.array(held, dtype=np.float32),
    "int8": lambda held: np.array(held, dtype=np.int8),
    "bool": lambda held: np.array(held, dtype=bool),
    "complex": lambda held: np.array(held, dtype=complex),
    "masked": lambda held: np.ma.masked_invalid(np.array(held, dtype=float)),
    "csr": lambda held: sp.csr_array(np.array(held, dtype=float)),
    "coo": lambda held: sp.coo_matrix(np.array(held, dtype=float)),
    "series": pd.Series,
    "frame": pd.DataFrame,
    "categorical": lambda held: pd.Series(pd.Categorical(held)),
    "iterator": iter,
    "set": set,
}


def make(held: Any) -> Any:
    """The object that ``{"make": kind, "of": value}`` describes; what describes none, as it is."""
    if not (isinstance(held, dict) and set(held) == {"make", "of"}):
        return held
    maker = MAKERS.get(held["make"]) if isinstance(held["make"], str) else None
    if maker is not None:
        with suppress(Exception), warnings.catch_warnings():  # a library that makes no such object
            warnings.simplefilter("ignore")
            return maker(held["of"])
    return held["of"]


def anndata(held: Any) -> Any:
    """An object with the parts of an AnnData; what may be missing there is missing where the description lacks it."""
    held = held if isinstance(held, dict) else {}

    def parts(name: str) -> dict[str, Any]:
        inside = held.get(name)
        return {str(key): make(value) for key, value in inside.items()} if isinstance(inside, dict) else {}

    def names(name: str) -> pd.Index:
        inside = held.get(name)
        return pd.Index([str(one) for one in inside] if isinstance(inside, list) else [])

    made = SimpleNamespace(obsp=parts("obsp"), obsm=parts("obsm"), X=make(held.get("X")))
    made.obs_names, made.var_names = names("obs_names"), names("var_names")
    for name in ("layers", "obs"):
        if name in held:
            setattr(made, name, parts(name))
    with suppress(Exception):
        made.obs = pd.DataFrame(made.obs, index=made.obs_names)
    return made


def damage(data: bytes, random: Random, pool: Any) -> bytes:
    """Damage to a description; kinds of objects are exchanged, too."""
    held = json.loads(data)
    for _ in range(random.choice([1, 1, 2, 3])):
        held = _other_kind(held, random) if random.random() < 0.3 else mutate.tree(held, random)
    return json.dumps(held).encode()


def _other_kind(held: Any, random: Random) -> Any:
    if isinstance(held, dict) and "make" in held and random.random() < 0.7:
        return held | {"make": random.choice(list(MAKERS))}
    if isinstance(held, dict) and held:
        key = random.choice(list(held))
        return held | {key: _other_kind(held[key], random)}
    return {"make": random.choice(list(MAKERS)), "of": held}


def described(path: Path) -> Any:
    """The description in a file."""
    return json.loads(path.read_bytes())


def _dump(*held: Any) -> list[bytes]:
    return [json.dumps(one).encode() for one in held]


def labels() -> list[bytes]:
    lists = [["a", "b", "a"], [0, 1, -1], [True, False, None], [1.0, 2.0, float("nan")], [["a"], ["b"], ["a"]]]
    made = [{"labels": {"make": kind, "of": one}, "missing": None} for one in lists for kind in ("array", "list")]
    more = [{"labels": {"0": "x", "1": "y", "2": "x"}, "missing": "y"}, {"labels": lists[1], "missing": [-1, "1"]}]
    kinds = [{"labels": {"make": kind, "of": lists[0]}} for kind in ("series", "categorical", "objects", "frame")]
    return _dump(*more, *made, *kinds)


def weights() -> list[bytes]:
    edges = [[0, 1], [1, 2], [2, 0]]
    matrix = [[0, 2.5, 1], [2.5, 0, 3], [1, 3, 0]]
    return _dump(
        {"edges": edges, "weights": [1, 2.5, 3]},
        {"edges": {"make": "array", "of": edges}, "weights": {"make": "float32", "of": [1, 2, 0.5]}},
        {"adjacency": {"make": "array", "of": matrix}, "weights": True},
        {"adjacency": {"make": "csr", "of": matrix}, "weights": {"make": "csr", "of": matrix}},
        {"adjacency": {"make": "frame", "of": matrix}, "weights": {"make": "array", "of": matrix}},
        {"edges": edges, "weights": {"make": "series", "of": [1, 1, 4]}},
    )


def tables() -> list[bytes]:
    matrix = [[0, 0.5, 0, 1], [0.5, 0, 2, 0], [0, 2, 0, 1], [1, 0, 1, 0]]
    counts = [[0, 3], [1, 0], [4, 4], [0, 1]]
    names = {"obs_names": ["c1", "c2", "c3", "c4"], "var_names": ["Sox2", "Actb"]}
    plain = {
        "obsp": {"connectivities": {"make": "csr", "of": matrix}},
        "obsm": {},
        "X": {"make": "array", "of": counts},
    }
    full = {
        "obsp": {"spatial_connectivities": {"make": "array", "of": matrix}, "distances": {"make": "csr", "of": matrix}},
        "obsm": {"spatial": {"make": "array", "of": counts}, "X_pca": {"make": "float32", "of": counts}},
        "X": {"make": "csr", "of": counts},
        "layers": {"counts": {"make": "coo", "of": counts}},
        "obs": {
            "type": {"make": "categorical", "of": ["a", "b", "a", "b"]},
            "depth": {"make": "list", "of": [1, 2, 3, 4]},
        },
    }
    return _dump(plain | names, full | names)
