"""A Zarr store whose files are on the disk before they get their names.

Zarr renames a file into place without waiting for the disk. After a loss of power the name can then lead to an empty
file, and the rows that the older file held are lost with the new ones.
"""

import asyncio
import os
import uuid
from pathlib import Path

from zarr.core.buffer import Buffer
from zarr.storage import LocalStore

from spectrata.results.atomic_io import flush_disk, make_folder, sync


class DurableStore(LocalStore):
    """A folder of Zarr files; what was set before :meth:`sync_names` survives a loss of power.

    Parameters
    ----------
    root : path
        The folder.
    read_only : bool, default False
        As of any Zarr store.
    """

    def __init__(self, root: Path | str, *, read_only: bool = False) -> None:
        super().__init__(Path(root), read_only=read_only)
        self._changed: set[Path] = set()  # folders with names that may not be on the disk yet

    def sync_names(self) -> None:
        """Wait until the names of all files that were set are on the disk, and those of deleted ones are not."""
        while self._changed:
            sync(self._changed.pop())

    async def set(self, key: str, value: Buffer) -> None:
        """Write a file, wait for the disk, then rename it into place."""
        await asyncio.to_thread(self.set_sync, key, value)

    def set_sync(self, key: str, value: Buffer) -> None:
        """As :meth:`set`, in this thread."""
        self._check_writable()
        path = self.root / key
        make_folder(path.parent)
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
        try:
            with part.open("wb") as file:
                file.write(value.to_bytes())
                file.flush()
                flush_disk(file.fileno())
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        self._changed.add(path.parent)

    async def delete(self, key: str) -> None:
        """Remove a file or a folder."""
        await super().delete(key)
        self._changed.add((self.root / key).parent)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Write a file that is not there yet."""
        if not await self.exists(key):
            await self.set(key, value)
