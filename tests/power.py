"""Loss of power on purpose: every state that a disk may be in after a cut, from a record of one undisturbed run.

``Recorder`` runs inside the process of a case (``Fault("power")``). Before every operation on a file below the folder,
and at every ``fsync``, it writes down the whole folder: names, and what each file holds. ``states`` then gives the
folders that a cut at each of these moments may leave:

- a file's content is on the disk as it was at its last ``fsync``; what came later is there, or not, or in part;
- a folder's names are those at the folder's last ``fsync``; each later operation on names has reached the disk or not,
  independently of all others and of the order they came in. A rename is one operation.
"""

import hashlib
import os
import pickle
import random
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

ROOT = 0  # the number of the folder itself
EMPTY = b""


@dataclass
class Moment:
    """The folder at one time: names below each folder, the content of each file, and what was synced just now."""

    names: dict  # number of a folder -> {name: number of a file or folder}
    content: dict  # number of a file -> digest
    synced: int | None
    said: list


@dataclass
class Record:
    moments: list = field(default_factory=list)
    blobs: dict = field(default_factory=dict)  # digest -> bytes

    def write(self, path):
        Path(path).write_bytes(pickle.dumps(self))

    @staticmethod
    def read(path):
        return pickle.loads(Path(path).read_bytes())


class Recorder:
    """Writes down the folder before each operation, which ``matters(event, arguments)`` picks."""

    def __init__(self, folder, matters, said):
        self.folder, self.matters, self.said = Path(folder), matters, Path(said)
        self.record, self.lock = Record(), threading.RLock()
        self.numbers, self.seen, self.next = {}, {}, ROOT

    def install(self):
        self.fsync = os.fsync
        os.fsync = self.sync
        self.look()
        sys.addaudithook(self)

    def __call__(self, event, arguments):
        if self.matters(event, arguments):
            self.look()

    def sync(self, descriptor):
        with self.lock:
            self.fsync(descriptor)
            self.look(os.fstat(descriptor).st_ino)

    def look(self, synced=None):
        """Scan the folder; ``synced`` is the inode that was synced."""
        with self.lock:
            names, content, alive = {}, {}, {}
            self._scan(self.folder, self.folder.stat().st_ino, names, content, alive)
            self.numbers = alive
            said = self.said.read_text().split()
            self.record.moments.append(Moment(names, content, alive.get(synced), said))

    def _number(self, inode, alive):
        if inode not in alive:
            if inode not in self.numbers:
                self.numbers[inode], self.next = self.next, self.next + 1
            alive[inode] = self.numbers[inode]
        return alive[inode]

    def _scan(self, folder, inode, names, content, alive):
        mine = names[self._number(inode, alive)] = {}
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:  # by another thread, just now
            return
        for entry in entries:
            try:
                stat = entry.stat(follow_symlinks=False)
                number = self._number(stat.st_ino, alive)
                if entry.is_dir(follow_symlinks=False):
                    self._scan(entry.path, stat.st_ino, names, content, alive)
                else:
                    content[number] = self._digest(number, entry.path, stat)
            except FileNotFoundError:
                continue
            mine[entry.name] = number

    def _digest(self, number, path, stat):
        version = (number, stat.st_mtime_ns, stat.st_size)
        if version not in self.seen or stat.st_size < 10_000:  # a clock is too coarse to tell small writes apart
            data = Path(path).read_bytes()
            self.seen[version] = hashlib.sha256(data).hexdigest()
            self.record.blobs[self.seen[version]] = data
        return self.seen[version]


class Disk:
    """What is on the disk for certain, and what may be, as the moments go by."""

    def __init__(self, first):
        self.names = {number: dict(held) for number, held in first.names.items()}
        self.content = dict(first.content)
        self.now = first
        self.folders = set(first.names)
        self.pending = []  # operations on names: lists of (folder, name, number or None)

    def step(self, moment):
        self.pending += _operations(self.now, moment)
        self.now = moment
        self.folders |= moment.names.keys()
        if moment.synced in moment.content:
            self.content[moment.synced] = moment.content[moment.synced]
        elif moment.synced in moment.names:
            self.names[moment.synced] = dict(moment.names[moment.synced])
            left = ([part for part in parts if part[0] != moment.synced] for parts in self.pending)
            self.pending = [parts for parts in left if parts]

    def choices(self, rng, few):
        """Which pending operations reach the disk: none, all, one, all but one, some."""
        count = len(self.pending)
        chosen = [frozenset(), frozenset(range(count))]
        for one in rng.sample(range(count), min(count, few)):
            chosen += [frozenset([one]), chosen[1] - {one}]
        chosen += [frozenset(i for i in range(count) if rng.random() < 0.5) for _ in range(few)]
        return dict.fromkeys(chosen)

    def tree(self, chosen):
        """The names below each folder, when these operations reach the disk."""
        names = {number: dict(held) for number, held in self.names.items()}
        for place in sorted(chosen):
            for folder, name, number in self.pending[place]:
                if number is None:
                    names.setdefault(folder, {}).pop(name, None)
                else:
                    names.setdefault(folder, {})[name] = number
        return names


def _operations(before, after):
    """Changes of names between two moments; those that share a file, or a place, are one operation."""
    changes = []
    for folder in before.names.keys() | after.names.keys():
        old, new = before.names.get(folder, {}), after.names.get(folder, {})
        for name in old.keys() | new.keys():
            if old.get(name) != new.get(name):
                changes.append(((folder, name, new.get(name)), {old.get(name), new.get(name)} - {None}))
    groups = []
    for part, files in changes:
        together = [group for group in groups if group[1] & files]
        merged = [part, *(other for group in together for other in group[0])]
        shared = files.union(*(group[1] for group in together))
        groups = [group for group in groups if group not in together] + [(merged, shared)]
    return [parts for parts, _ in groups]


CUTS = {
    "lost": lambda data, old: old,
    "whole": lambda data, old: data,
    "half": lambda data, old: data[: len(data) // 2],
    "zeros": lambda data, old: bytes(len(data)),
}


def states(record, wanted=None, few=2, seed=0):
    """Folders that a cut may leave at all moments, or at the ``wanted`` ones, each folder once.

    Gives the number of the moment, what had been said until then, and ``{path: bytes, or None for a folder}``.
    """
    rng, disk, seen = random.Random(seed), Disk(record.moments[0]), set()
    for index, moment in enumerate(record.moments):
        disk.step(moment)
        if wanted is not None and index not in wanted:
            continue
        for chosen in disk.choices(rng, few):
            tree = disk.tree(chosen)
            for cut in CUTS.values():
                files = dict(_files(record, disk, tree, cut, ROOT, ""))
                key = (hash(frozenset(files.items())), len(moment.said), index == len(record.moments) - 1)
                if key not in seen:
                    seen.add(key)
                    yield index, moment.said, files


def _files(record, disk, tree, cut, folder, path):
    """Every path below a folder, with its bytes, or None for a folder."""
    for name, number in tree.get(folder, {}).items():
        place = f"{path}{name}"
        if number in disk.folders:
            yield place, None
            yield from _files(record, disk, tree, cut, number, f"{place}/")
            continue
        old = record.blobs.get(disk.content.get(number), EMPTY)
        new = disk.now.content.get(number)
        data = old if new is None else record.blobs[new]
        yield place, old if data == old else cut(data, old)


def lay_out(files, folder):
    """Make such a folder."""
    folder.mkdir()
    for path, data in files.items():
        if data is None:
            (folder / path).mkdir(parents=True, exist_ok=True)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
