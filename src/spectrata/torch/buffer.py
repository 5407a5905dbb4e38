"""Copies of activations between the pass that made them and the transform: bounded, spilled to disk.

One snapshot is one forward pass: its number, its label, and one array per layer. On disk a snapshot is one ``.npz``
file that plain numpy reads, written beside and renamed, so that it is there whole or not at all.
"""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from spectrata.errors import ResultError, shortened, warn
from spectrata.inputs.readers.files import open_npz
from spectrata.results.atomic_io import cannot_write

MOST_FILES = 4096  # copies on disk from which they are transformed, however small they are
MOST_GRAPHS = 2**20  # of one mini-batch
KEPT = "recorded passes are kept in memory until it can"
LABELS = "labels.jsonl"  # labels that came after their snapshots were written
_META = "spectrata"  # name of the entry that holds everything but the layers
GRAPH = ("edge_index", "batch", "edge_weight")  # arrays of a graph of its own
_PREFIX = "layer/"
PASSES = ("train", "eval", "control")
ROLES = ("input", "layer", "hidden", "output")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Activations of one forward pass.

    Attributes
    ----------
    step : int
        Number of the forward pass, from 0.
    epoch : int or None
        Label given by hand.
    mode : {"train", "eval", "control"}
        Mode of the model; "control": evaluation mode without message passing.
    layers : dict
        Layer name to ``(n, d)`` array, or to anything with ``numpy()`` and ``nbytes`` that becomes one.
    missing : dict
        Layer name to the reason why there is no array.
    roles : dict
        Layer name to its role where that is not "layer": "input", "hidden" or "output".
    graph : dict
        For mini-batches: ``edge_index (2, E)``, ``batch (n,)`` and, where weights are used, ``edge_weight (E,)``.
    """

    step: int
    epoch: int | None
    mode: str
    layers: dict[str, Any]
    missing: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    graph: dict[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Memory of the copies."""
        return sum(int(array.nbytes) for array in (*self.layers.values(), *self.graph.values()))

    def in_memory(self) -> "Snapshot":
        """The same with plain numpy arrays."""
        layers = {name: plain(array) for name, array in self.layers.items()}
        return replace(self, layers=layers, graph={name: plain(array) for name, array in self.graph.items()})


def plain(array: Any) -> np.ndarray:
    """A numpy array, waiting for its copy where that is still under way."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.numpy())


class CopyBuffer:
    """Snapshots that wait for their transform.

    Parameters
    ----------
    memory_bytes : int
        Held in memory; beyond it snapshots go to disk.
    disk_bytes : int
        Held on disk; beyond it the buffer is :attr:`full`.
    folder : path, optional
        Where to put copies. With it every snapshot is on disk as soon as it is recorded, and survives a crash;
        without it a temporary folder takes what memory does not.
    n_nodes : int, optional
        Of the graph; None for mini-batches, which bring theirs.
    keep : KeptSignals, optional
        Takes the activations once they are transformed.

    Examples
    --------
    >>> buffer = CopyBuffer()
    >>> buffer.add(Snapshot(0, None, "train", {"conv": np.zeros((3, 2), dtype=np.float32)}))
    >>> len(buffer), buffer.nbytes
    (1, 24)
    >>> [snapshot.step for batch in buffer.batches() for snapshot in batch]
    [0]
    """

    def __init__(
        self,
        memory_bytes: int = 2**28,
        disk_bytes: int = 2**32,
        folder: str | os.PathLike | None = None,
        n_nodes: int | None = None,
        keep: "KeptSignals | None" = None,
    ) -> None:
        self.memory_bytes, self.disk_bytes, self.n_nodes = memory_bytes, disk_bytes, n_nodes
        self.keep = keep
        self.durable = folder is not None
        self._folder = Path(folder) if folder is not None else None
        self._waiting: list[Snapshot] = []
        self._files: dict[Path, int] = {}
        self._labels: dict[int, int] = {}
        if self._folder is not None and self._folder.is_dir():
            self._files = {path: path.stat().st_size for path in sorted(self._folder.glob("*.npz"))}
            self._labels = _read_labels(self._folder / LABELS)
        self._held, self._on_disk = 0, sum(self._files.values())  # bytes, counted along

    def __len__(self) -> int:
        return len(self._waiting) + len(self._files)

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""
        return self._held

    @property
    def full(self) -> bool:
        """Whether nothing more should wait."""
        return self._on_disk > self.disk_bytes or len(self._files) >= MOST_FILES

    def last_step(self) -> int:
        """The highest step of the snapshots here, -1 where there are none."""
        written = [int(path.stem) for path in self._files if path.stem.isdigit()]
        return max([-1, *written, *(snapshot.step for snapshot in self._waiting)])

    def steps(self) -> set[int]:
        """The steps of the snapshots that wait."""
        return {int(path.stem) for path in self._files if path.stem.isdigit()} | {s.step for s in self._waiting}

    def add(self, snapshot: Snapshot) -> None:
        """Take a snapshot in; older ones make room by going to disk.

        What a full disk refuses stays in memory and goes to disk later; past ``memory_bytes`` it is lost, and said.
        """
        self._waiting.append(snapshot)
        self._held += snapshot.nbytes
        if not (self.durable or self._held > self.memory_bytes):
            return
        try:
            self.spill()
        except ResultError as problem:
            if self._held <= self.memory_bytes or self._waiting[-1] is not snapshot:
                raise
            self._waiting.pop()
            self._held -= snapshot.nbytes
            raise ResultError(
                f"{str(problem).rstrip('.')}; memory_bytes are full too, so passes are lost."
            ) from problem

    def spill(self) -> None:
        """Write everything in memory to disk."""
        folder = self._spill_folder()
        while self._waiting:
            path = write_snapshot(folder, self._waiting[0])
            self._files[path] = path.stat().st_size
            self._on_disk += self._files[path]
            self._held -= self._waiting.pop(0).nbytes

    def label(self, steps: list[int], epoch: int) -> None:
        """Label snapshots that are already here."""
        self._labels |= dict.fromkeys(steps, epoch)
        if self.durable and steps:
            folder = self._spill_folder()
            try:
                with (folder / LABELS).open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps({"step": step, "epoch": epoch}) + "\n" for step in steps)
            except OSError as problem:
                raise cannot_write(folder, problem, "labels are kept in memory") from problem

    def batches(self) -> Iterator[list[Snapshot]]:
        """Hand out everything in order, as much at a time as memory may hold, and forget it afterwards.

        A batch is forgotten when the next is asked for, so that a failure in between loses nothing.
        """
        while len(self):
            batch, paths, size = [], [], 0
            for path in list(self._files):
                try:
                    snapshot = read_snapshot(path, self.n_nodes)
                except ResultError as problem:
                    self._on_disk -= self._files.pop(path)  # it stays where it is
                    warn(f"A recorded pass is left out: {problem}")
                    continue
                batch.append(snapshot)
                paths.append(path)
                size += snapshot.nbytes
                if size >= self.memory_bytes:
                    break
            held = self._waiting if size < self.memory_bytes else []
            batch += [snapshot.in_memory() for snapshot in held]
            if not batch:
                return
            yield [self._labelled(snapshot) for snapshot in batch]
            self._held -= sum(snapshot.nbytes for snapshot in self._waiting[: len(held)])
            self._waiting = self._waiting[len(held) :]
            for snapshot in batch if self.keep is not None else ():
                self.keep.add(snapshot)  # type: ignore[union-attr]
            for path in paths:
                self._on_disk -= self._files.pop(path, 0)
                path.unlink(missing_ok=True)
            for snapshot in batch:
                self._labels.pop(snapshot.step, None)

    def close(self) -> None:
        """Remove the temporary folder; a folder that was given is removed only when it is empty of copies."""
        if self._folder is None:
            return
        if not self.durable:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder, self._files, self._on_disk = None, {}, 0
        elif self._folder.is_dir() and not any(self._folder.glob("*.npz")):
            shutil.rmtree(self._folder, ignore_errors=True)

    def _labelled(self, snapshot: Snapshot) -> Snapshot:
        label = self._labels.get(snapshot.step)
        return snapshot if label is None else replace(snapshot, epoch=label)

    def _spill_folder(self) -> Path:
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="spectrata-copies-"))
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise cannot_write(self._folder or tempfile.gettempdir(), problem, KEPT) from problem
        return self._folder


class KeptSignals:
    """Activations that stay after their transform: in memory, or as one file per pass in a folder.

    Parameters
    ----------
    folder : path, optional
    n_nodes : int, optional
        As for :class:`CopyBuffer`.

    Examples
    --------
    >>> kept = KeptSignals()
    >>> kept.add(Snapshot(3, None, "eval", {"conv": np.ones((4, 2))}))
    >>> kept.get(3, "conv").shape, kept.get(3, "other") is None
    ((4, 2), True)
    """

    def __init__(self, folder: str | os.PathLike | None = None, n_nodes: int | None = None) -> None:
        self.folder, self.n_nodes = None if folder is None else Path(folder), n_nodes
        self._held: dict[int, Snapshot] = {}

    def add(self, snapshot: Snapshot) -> None:
        """Take the activations of a pass."""
        if self.folder is None:
            self._held[snapshot.step] = snapshot
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        write_snapshot(self.folder, snapshot)

    def get(self, step: int, layer: str) -> np.ndarray | None:
        """The activation of a layer at a pass, ``(n, d)``; None where there is none."""
        found = self._held.get(step)
        if self.folder is not None and found is None:
            path = self.folder / f"{step:09d}.npz"
            found = read_snapshot(path, self.n_nodes) if path.is_file() else None
        return None if found is None else found.layers.get(layer)


def write_snapshot(folder: Path, snapshot: Snapshot) -> Path:
    """One snapshot as one file, whole or not at all."""
    meta = {
        "step": snapshot.step,
        "epoch": snapshot.epoch,
        "mode": snapshot.mode,
        "missing": snapshot.missing,
        "roles": snapshot.roles,
        "layers": list(snapshot.layers),
    }
    arrays = {f"{_PREFIX}{name}": plain(array) for name, array in snapshot.layers.items()}
    arrays |= {name: plain(array) for name, array in snapshot.graph.items()}
    path = folder / f"{snapshot.step:09d}.npz"
    beside = folder / f".{path.name}.part"
    try:
        with beside.open("wb") as file:
            np.savez(file, **{_META: np.array(json.dumps(meta))}, **arrays)  # type: ignore[arg-type]
        os.replace(beside, path)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(problem, OSError):  # without the file's own name, which the message has already
            raise cannot_write(folder, problem, KEPT) from problem
        raise
    return path


def read_snapshot(path: Path, n_nodes: int | None) -> Snapshot:
    """A snapshot back from its file; of a graph of ``n_nodes``, or with a graph of its own."""
    try:
        with open_npz(path, own=True) as file:
            meta = json.loads(file.text(_META))
            layers = {name[len(_PREFIX) :]: file[name] for name in file.keys if name.startswith(_PREFIX)}
            graph = {name: file[name] for name in GRAPH if name in file}
        if meta.pop("layers", list(layers)) != list(layers):  # a damaged archive can be short and look whole
            raise ValueError("some of its layers are not there")
        snapshot = Snapshot(layers=layers, graph=graph, **meta)
        _check(snapshot, n_nodes)
    except Exception as problem:  # a damaged archive raises almost anything
        raise ResultError(f"{path} is not a readable snapshot ({shortened(str(problem))}).") from problem
    return snapshot


def _check(snapshot: Snapshot, n_nodes: int | None) -> None:
    """Refuse what no recorded pass can be."""
    labels = [snapshot.step, 0 if snapshot.epoch is None else snapshot.epoch]
    if not all(type(label) is int and abs(label) < 2**62 for label in labels) or snapshot.step < 0:
        raise ValueError("its labels are not whole numbers")
    words = [*snapshot.missing, *snapshot.missing.values(), *snapshot.roles]
    known = snapshot.mode in PASSES and set(snapshot.roles.values()) <= set(ROLES)
    if not known or not all(isinstance(word, str) for word in words):
        raise ValueError("it does not say what it holds")
    if n_nodes is None:
        n_nodes = _check_graph(**snapshot.graph)
    for name, array in snapshot.layers.items():
        if array.ndim != 2 or len(array) != n_nodes or array.shape[1] < 1 or array.dtype.kind not in "fiu":
            raise ValueError(f"{name!r} is {array.dtype} of shape {array.shape}, for {n_nodes} nodes")


def _check_graph(edge_index: np.ndarray, batch: np.ndarray, edge_weight: np.ndarray | None = None) -> int:
    if edge_index.ndim != 2 or len(edge_index) != 2 or batch.ndim != 1:
        raise ValueError("its graph is not edge_index (2, E) and batch (n,)")
    for array, most in ((edge_index, len(batch)), (batch, MOST_GRAPHS)):
        if array.dtype.kind not in "iu" or (array.size and not 0 <= array.min() <= array.max() < most):
            raise ValueError("its graph has nodes that are not there")
    if edge_weight is not None and (edge_weight.shape != edge_index.shape[1:] or edge_weight.dtype.kind != "f"):
        raise ValueError("its edge_weight is not one number for each edge")
    return len(batch)


def _read_labels(path: Path) -> dict[int, int]:
    labels = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                row = json.loads(line)
                labels[int(row["step"])] = int(row["epoch"])
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                continue  # the last line of a killed run may be half a line
    return labels
