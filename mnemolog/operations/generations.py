"""Generations on disk: complete sets of shards in numbered folders, with a pointer to the active one."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Final

from mnemolog.log.private_files import FOLDER_MODE
from projections.durable_files import sync_folder
from projections.shard.errors import advise_on_failure

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

ACTIVE_FILE: Final = "active"
POINTER_PATTERN: Final = re.compile(r"(\d+)(?: (-?\d+))?")
"""The content of the active file: the number of a generation, and the number of switches so far."""
NO_SWITCHES: Final = -1
"""The count of a worker that has made no switch: its first generation is equivalent to the one of the others."""
BUILDING_FILE: Final = "building"
"""The marker in a generation's folder until it is complete; an interrupted rebuild continues there."""


def active_folder(data_dir: Path) -> Path:
    """Return the folder of the active generation; generation 1 when there is none yet."""
    return Generations(data_dir).active_folder


class Generations:
    """The generations of a data directory: folders below `shards/`, and the file that names the active one."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "shards"
        self._pointer = self._folder / ACTIVE_FILE
        self._new_pointer = self._pointer.with_suffix(".new")

    @property
    def active(self) -> int:
        """The number of the active generation; without the pointer, the newest complete one, since all are folds."""
        return self._read_pointer()[0]

    @property
    def switches(self) -> int:
        """The number of switches by all workers when this one made its last; a worker that is behind has fewer.

        NO_SWITCHES for a worker whose shards are new.
        """
        return self._read_pointer()[1]

    @property
    def active_folder(self) -> Path:
        """The folder of the active generation."""
        return self.folder(self.active)

    @property
    def active_files(self) -> list[Path]:
        """The files of the active generation's shards that are not empty; a lost pointer is not written again."""
        active, _ = self._pointer_there() or self._pointer_lost()
        return [path for path in sorted(self.folder(active).glob("*.sqlite")) if path.stat().st_size]

    def folder(self, generation: int) -> Path:
        """Return the folder of a generation."""
        return self._folder / str(generation)

    def complete(self) -> list[int]:
        """Return the generations that are or were active."""
        return [g for g in self._all() if not (self.folder(g) / BUILDING_FILE).exists()]

    def next_number(self) -> int:
        """Return the number of the next generation: that of an interrupted rebuild, if there is one."""
        building = set(self._all()) - set(self.complete())
        return max(building) if building else max([self.active, *self._all()]) + 1

    def begin(self, generation: int) -> Path:
        """Return the folder of a generation to build or bring up to date; drop other incomplete ones.

        Raises ShardUnavailable.
        """
        for other in set(self._all()) - set(self.complete()) - {generation}:
            self.drop(other)
        folder = self.folder(generation)
        if not folder.exists():
            with advise_on_failure(self._folder):
                folder.mkdir(FOLDER_MODE, parents=True)
                try:
                    (folder / BUILDING_FILE).touch()
                except OSError:  # without its marker it would count as complete
                    folder.rmdir()
                    raise
        return folder

    def finish(self, generation: int, switches: int) -> None:
        """Mark a generation as complete, and make it the active one.

        Raises ShardUnavailable if the disk is full; nothing has changed then, and the next rebuild continues there.
        """
        self._write_pointer(generation, switches)  # this needs disk space; the following steps need none
        with advise_on_failure(self._folder):
            (self.folder(generation) / BUILDING_FILE).unlink(missing_ok=True)
        self._put_pointer_in_place()

    def activate(self, generation: int, switches: int) -> None:
        """Set the active generation, atomically and durably. Raises ShardUnavailable."""
        self._write_pointer(generation, switches)
        self._put_pointer_in_place()

    def _write_pointer(self, generation: int, switches: int) -> None:
        with advise_on_failure(self._folder), self._new_pointer.open("w", encoding="ascii") as file:
            file.write(f"{generation} {switches}")
            file.flush()
            os.fsync(file.fileno())

    def _put_pointer_in_place(self) -> None:
        with advise_on_failure(self._folder):
            self._new_pointer.replace(self._pointer)
            sync_folder(self._folder)

    def keep_only(self, generations: Collection[int]) -> None:
        """Delete the folders of all other generations."""
        for other in set(self._all()) - set(generations):
            self.drop(other)

    def drop(self, generation: int) -> None:
        """Delete a generation's folder."""
        shutil.rmtree(self.folder(generation), ignore_errors=True)

    def drop_half_built(self) -> None:
        """Delete the remains of incomplete rebuilds."""
        for generation in set(self._all()) - set(self.complete()):
            self.drop(generation)

    def _read_pointer(self) -> tuple[int, int]:
        if (pointer := self._pointer_there()) is not None:
            return pointer
        active, switches = self._pointer_lost()
        self._folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        self.activate(active, switches)
        return active, switches

    def _pointer_there(self) -> tuple[int, int] | None:
        content = self._pointer.read_text("ascii", "replace") if self._pointer.exists() else ""
        match = POINTER_PATTERN.fullmatch(content)
        return None if match is None else (int(match[1]), int(match[2] or 0))  # older versions counted no switches

    def _pointer_lost(self) -> tuple[int, int]:
        known = self.complete()
        return max(known, default=1), 0 if known else NO_SWITCHES

    def _all(self) -> list[int]:
        if not self._folder.exists():
            return []
        return sorted(int(f.name) for f in self._folder.iterdir() if f.is_dir() and f.name.isdecimal())
