"""Numbers and arrays as JSON that no reader can take for markup: arrays as base64 of little-endian numbers."""

import base64
import json
from typing import Any

import numpy as np


def numbers(values: Any) -> Any:
    """Nested lists with six digits; None for NaN."""
    if isinstance(values, (list, np.ndarray)):
        return [numbers(one) for one in values]
    return float(f"{float(values):.6g}") if np.isfinite(values) else None


def packed(array: Any, kind: str = "f4") -> dict[str, Any]:
    """An array as text: its type, shape and bytes.

    Examples
    --------
    >>> packed([1.0, 2.0])
    {'t': 'f4', 's': [2], 'b': 'AACAPwAAAEA='}
    """
    values = np.ascontiguousarray(array, dtype=f"<{kind}")
    return {"t": kind, "s": list(values.shape), "b": base64.b64encode(values.tobytes()).decode("ascii")}


def escaped_json(document: Any) -> str:
    """JSON that can stand inside a script element: no character in it can end one, or open a comment.

    Examples
    --------
    >>> escaped_json({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
