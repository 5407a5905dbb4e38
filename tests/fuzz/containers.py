"""Damage inside archives: each is taken apart, a part is damaged, and it is put together again."""

import io
import json
import struct
import zipfile
from collections.abc import Sequence
from random import Random
from zlib import error as zlib_error

from .mutate import Mutation, json_bytes, raw
from .words import HEADER


def pack(files: dict[str, bytes]) -> bytes:
    """A folder as bytes."""
    return b"".join(
        struct.pack("<II", len(name.encode()), len(data)) + name.encode() + data for name, data in files.items()
    )


def unpack(packed: bytes) -> dict[str, bytes]:
    """The folder back; what does not fit ends it."""
    files, place = {}, 0
    while place + 8 <= len(packed):
        head, size = struct.unpack_from("<II", packed, place)
        place += 8
        name = packed[place : place + head].decode("utf-8", "replace")
        files[name] = packed[place + head : place + head + size]
        place += head + size
    return files


def zip_parts(data: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of a zip archive, those that can be read."""
    parts = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist()[:50]:
                try:
                    with archive.open(info) as stream:
                        parts.append((info.filename, stream.read(100_000)))
                except (
                    zipfile.BadZipFile,
                    zlib_error,
                    EOFError,
                    OSError,
                    RuntimeError,
                    ValueError,
                    NotImplementedError,
                ):
                    continue
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        pass
    return parts


def make_zip(parts: Sequence[tuple[str, bytes]], random: Random | None = None) -> bytes:
    """A zip archive; with a random, at times compressed."""
    algorithm = zipfile.ZIP_DEFLATED if random is not None and random.random() < 0.3 else zipfile.ZIP_STORED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", algorithm) as archive:
        for name, data in parts:
            info = zipfile.ZipInfo(name.replace("\0", "") or "x")
            info.compress_type = algorithm
            # The archive's own list keeps two parts of one name, which is part of the game.
            archive.NameToInfo.pop(info.filename, None)
            archive.writestr(info, data)
    return buffer.getvalue()


def npy(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """Damage to an .npy array: its header kept in step, its numbers, or anything."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12 or random.random() < 0.15:
        return raw(data, random, pool)
    wide = 4 if data[6:7] in (b"\2", b"\3") else 2
    length = int.from_bytes(data[8 : 8 + wide], "little")
    header, body = data[8 + wide : 8 + wide + length], data[8 + wide + length :]
    if random.random() < 0.6:
        header = HEADER(header, random, [])[:60000]
    if random.random() < 0.5:
        body = random.choice([raw(body, random, pool), body * 2, body[:-8], body + bytes(8), _special(body, random)])
    version = random.choice([b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0"]) if random.random() < 0.1 else data[6:8]
    size = 2 if version == b"\1\0" else 4
    return b"\x93NUMPY" + version + (len(header) % 65536).to_bytes(size, "little") + header + body


def _special(body: bytes, random: Random) -> bytes:
    value = random.choice([float("nan"), float("inf"), 1e308, 5e-324, -0.0])
    place = 8 * random.randrange(len(body) // 8 + 1)
    return body[:place] + struct.pack("<d", value) + body[place + 8 :]


def archive(inside: Mutation, names: Sequence[str]) -> Mutation:
    """Damage to a zip archive: to its parts by ``inside``, to their names and order, or to the whole."""

    def mutate(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
        parts = zip_parts(data)
        if not parts or random.random() < 0.2:
            return raw(data, random, pool)
        for _ in range(random.choice([1, 1, 2, 3])):
            place = random.randrange(len(parts))
            name, content = parts[place]
            deed = random.random()
            if deed < 0.65:
                parts[place] = (name, inside(content, random, [content for _, content in parts]))
            elif deed < 0.75:
                parts[place] = (random.choice(names), content)
            elif deed < 0.85:
                parts.append((random.choice(names), content))
            elif deed < 0.9 and len(parts) > 1:
                del parts[place]
            else:
                other = zip_parts(random.choice(pool)) if pool else []
                parts.append(random.choice(other) if other else (name, b""))
        made = make_zip(parts, random)
        return raw(made, random, pool) if random.random() < 0.15 else made

    return mutate


def safetensors(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """Damage to a safetensors file: its JSON header kept in step, its bytes, or anything."""
    length = int.from_bytes(data[:8], "little")
    if not 0 < length <= len(data) - 8 or random.random() < 0.15:
        return raw(data, random, pool)
    header, body = data[8 : 8 + length], data[8 + length :]
    if random.random() < 0.75:
        header = json_bytes(header, random, [])
    if random.random() < 0.4:
        body = random.choice([raw(body, random, pool), body * 2, body[:-8], _special(body, random)])
    return len(header).to_bytes(8, "little") + header + body


def folder(data: bytes, random: Random, pool: Sequence[bytes]) -> bytes:
    """Damage to a folder of JSON files and chunks; a Zarr's consolidated metadata follow half of the time."""
    files = unpack(data)
    if not files:
        return data
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        name = random.choice(list(files))
        last = name.rpartition("/")[2]
        deed = random.random()
        if deed < 0.08:
            del files[name]
            if not files:
                break
        elif last.startswith(".z") or last.endswith(".json"):
            files[name] = json_bytes(files[name], random, [])
            if random.random() < 0.5:
                _follow(files, name)
        elif last.endswith(".npz"):
            files[name] = archive(npy, [key for key, _ in zip_parts(files[name])] or [""])(files[name], random, [])
        else:
            files[name] = raw(files[name], random, pool)
    return pack(files)


def _follow(files: dict[str, bytes], name: str) -> None:
    try:
        whole = json.loads(files[".zmetadata"])
        whole["metadata"][name] = json.loads(files[name])
        files[".zmetadata"] = json.dumps(whole).encode()
    except (KeyError, ValueError, TypeError, RecursionError):
        pass
