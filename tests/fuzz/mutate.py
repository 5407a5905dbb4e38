"""Damage: to bytes, to text, to JSON trees. Every function takes a ``random.Random`` and decides by it alone."""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

NUMBERS = [
    "0", "1", "-1", "2", "3", "4", "7", "007", "1.5", "-0.0", "1e-320", "1e308", "1e400", "-1e400", "nan", "NaN",
    "inf", "-Infinity", "1_0", "0x10", "+1", "1.", ".5", "1e", "--1", "255", "65536", "2147483648", "4294967296",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1000001",
    "99999999999999999999999999", "1" * 400, "٣", "¾", "1,5", "1e15", "1000000000000000", "True", "None",
]  # fmt: skip
WORDS = [
    "", " ", "\t", "\n", "\r", "\r\n", "\0", "\x0b", "\x1c", "\x85", "\u2028", "\xa0", "\ufeff", "é", "\U0001f600",
    "#", "%",    '"', "'", ",", ";", ":", "{", "}", "[", "]", "(", ")", "<", ">", "&", "=", "/", "\\",
    "../../etc/passwd", "a/b", "a\\b", "<b>x</b>", "<script>", "[red]", "\x1b[31m", "=1+1", "__class__", "node", "id",
    "name", "weight", "a b", "0 1", "x" * 300,
]  # fmt: skip
BYTES = [0, 1, 2, 9, 10, 13, 32, 34, 44, 48, 63, 64, 127, 128, 192, 254, 255]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def chunk(data: bytes, random: Random) -> tuple[int, int]:
    """A stretch of the data: short ones are more likely."""
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + 1 + int(2 ** (random.random() * 8)))


def _flip(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    if not data:
        return b"\0"
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


def _set(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + bytes([random.choice(BYTES)]) + data[place + 1 :]


def _cut(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _delete(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    start, stop = chunk(data, random)
    return data[:start] + data[stop:]


def _repeat(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    start, stop = chunk(data, random)
    times = random.choice([1, 1, 1, 2, 5, 50])
    return data[:stop] + data[start:stop] * times + data[stop:]


def _overwrite(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """A little-endian integer of 4 or 8 bytes, as headers hold them."""
    size = random.choice([2, 4, 8])
    value = random.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1, random.randrange(4096)])
    place = random.randrange(len(data) + 1)
    return data[:place] + (value % 2 ** (8 * size)).to_bytes(size, "little") + data[place + size :]


def _splice(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    other = random.choice(pool) if pool else data
    start, stop = chunk(other, random)
    place = random.randrange(len(data) + 1)
    return data[:place] + other[start:stop] + data[place + random.choice([0, stop - start]) :]


def _word(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    place = random.randrange(len(data) + 1)
    word = random.choice(random.choice([NUMBERS, WORDS])).encode()
    return data[:place] + word + data[place + random.choice([0, len(word)]) :]


def _number(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data[:20000]))
    if not found:
        return _word(data, random, pool)
    match = random.choice(found)
    return data[: match.start()] + random.choice(NUMBERS).encode() + data[match.end() :]


def _lines(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """Drop, double, swap or join lines."""
    lines = data.split(b"\n")
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    deed = random.randrange(4)
    if deed == 0:
        del lines[place]
    elif deed == 1:
        lines.insert(other, lines[place])
    elif deed == 2:
        lines[place], lines[other] = lines[other], lines[place]
    else:
        lines[place : place + 2] = [b" ".join(lines[place : place + 2])]
    return b"\n".join(lines)


def _encoding(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(random.choice(["utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32"]), "replace")


Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]
RAW: list[Mutation] = [_flip, _flip, _set, _cut, _delete, _repeat, _overwrite, _splice]
TEXT: list[Mutation] = [_set, _cut, _delete, _repeat, _splice, _word, _word, _number, _number, _number, _lines, _lines]


def raw(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """Damage without regard for what the bytes mean."""
    for _ in range(random.choice([1, 1, 1, 2, 2, 4, 8])):
        data = random.choice(RAW)(data, random, pool)
    return data


def split(words: str) -> list[str]:
    """Words with bars between them."""
    return words.split("|")


def text(words: str | Sequence[str]) -> Mutation:
    """Damage to text, with the words of a format thrown in."""
    own = [word.encode() for word in (split(words) if isinstance(words, str) else words)]

    def mutate(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
        for _ in range(random.choice([1, 1, 1, 2, 2, 3, 6])):
            luck = random.random()
            if own and luck < 0.25:
                place = random.randrange(len(data) + 1)
                word = random.choice(own)
                data = data[:place] + word + data[place + random.choice([0, 0, len(word)]) :]
            elif luck < 0.27:
                data = _encoding(data, random, pool)
            elif luck < 0.35:
                data = random.choice(RAW)(data, random, pool)
            else:
                data = random.choice(TEXT)(data, random, pool)
        return data[:200_000]

    return mutate


# ---- trees


def odd_value(random: Random) -> Any:
    """Something that is seldom expected."""
    return random.choice([
        None, True, False, 0, 1, -1, 2, 3, 5, 2**31, 2**63, 10**15, 10**30, -(2**63), 1.5, 1e308,
        float("nan"), float("inf"),
        "", "x", "<U22", "|O", "<f8", ">i4", "NaN", "../x", "\0", "é", [], {}, [1], [0], [-1], [10**12], [1, 2, 3, 4],
        [[1]], ["a"],
        {"id": "pickle"}, [{"id": "pickle"}], {"id": "zlib"}, {"id": "blosc"}, [{"id": "vlen-utf8"}], {"id": "nothing"},
    ])  # fmt: skip


def tree(value: Any, random: Random) -> Any:
    """One change somewhere in a JSON tree."""
    inside = isinstance(value, (dict, list)) and len(value) > 0
    if not inside or random.random() < 0.1:
        return odd_value(random)
    if isinstance(value, dict):
        key = random.choice(list(value))
        deed = random.random()
        if deed < 0.1:
            return {name: held for name, held in value.items() if name != key}
        if deed < 0.2:
            return value | {
                random.choice(["x", "", key + "2", "units", "scale_factor", "_FillValue"]): odd_value(random)
            }
        return value | {key: tree(value[key], random)}
    place = random.randrange(len(value))
    deed = random.random()
    if deed < 0.1:
        return value[:place] + value[place + 1 :]
    if deed < 0.2:
        return [*value, odd_value(random)]
    return [*value[:place], tree(value[place], random), *value[place + 1 :]]


def json_bytes(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """Damage to a JSON document: mostly to its tree, at times to its text."""
    try:
        held = json.loads(data)
    except (ValueError, RecursionError):
        return raw(data, random, pool)
    if random.random() < 0.15:
        return raw(data, random, pool)
    for _ in range(random.choice([1, 1, 2])):
        held = tree(held, random)
    return json.dumps(held).encode()
