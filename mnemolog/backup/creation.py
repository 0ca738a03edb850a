"""The creation of a backup: missing records are copied next to existing ones, and a new manifest names both."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b, sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from mnemolog.backup.manifest import (
    FILE,
    RECORDS,
    Manifest,
    NoBackup,
    PartitionCopy,
    read_manifest,
    write_manifest,
)
from mnemolog.backup.segment import NAME_DIGITS, SegmentWriter, check_size
from mnemolog.log.private_files import FOLDER_MODE
from projections.durable_files import replace_file, sync_folder
from schemas.instant import instant
from schemas.log import ERASED_VALUE, LogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mnemolog.backup.segment import Segment
    from mnemolog.backup.source import Place, Source
    from schemas.log import Record

SEGMENT_BYTES: Final = 8 << 20
"""The size at which a segment ends; changes in the log are copied segment by segment."""
READ_RECORDS: Final = 500
SMALL_SEGMENTS: Final = 16
"""The most small segments at the end of a partition; further ones are merged while they fit into one segment."""
LOCK_FILE: Final = "lock"


class BackupRefused(LogError):
    """A folder cannot take a backup of this log; the text says why, and what to do. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a backup."""

    manifest: Manifest
    copied_records: int
    copied_bytes: int


class Pace:
    """Limits the number of bytes copied per second by waiting."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._due = time.monotonic()

    async def wait(self, copied: int) -> None:
        """Wait for the time that copying these bytes may take, and let other tasks run in any case."""
        self._due = max(self._due, time.monotonic()) + copied / self._rate
        await asyncio.sleep(max(0.0, self._due - time.monotonic()))


async def back_up(
    source: Source, folder: Path, bytes_per_second: float, progress: Callable[[int, int], None] = lambda *_: None
) -> Made:
    """Bring the backup in a folder up to the source's moment; create the folder if its parent exists.

    Existing files are not read again; only their presence and size are checked. The former backup stays complete until
    the new manifest is durable, even if this is interrupted. `progress` is called with the records and bytes copied.
    Raises BackupRefused, BackupDamaged, LogError, OSError.
    """
    if not folder.parent.is_dir():  # most often a volume is not mounted
        raise BackupRefused(f"{folder.parent}, where the backup is to be, is not there: mount it, or make it")
    (folder / RECORDS).mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    with _locked(folder):
        former = _former(folder, source)
        for segment in () if former is None else former.segments:
            check_size(folder / RECORDS, segment)
        _remove_unnamed(folder, former)
        copying = _Copying(source, folder / RECORDS, Pace(bytes_per_second), progress)
        partitions = []
        for place in source.places:
            before = None if former is None else former.of(place.topic, place.partition)
            await _check_continues(source, place, before, folder)
            partitions.append(
                await copying.bring_up_to_date(place, before, is_whole=source.topics[place.topic].compact)
            )
        manifest = Manifest(
            version=version("mnemolog"),
            engine=source.engine,
            log=source.identity,
            taken_at=str(instant(source.taken_at)),
            topics=dict(source.topics),
            partitions=tuple(partitions),
            group_offsets=tuple(source.group_offsets),
            erasures=_copy_erasures(source.erasures, folder / RECORDS),
        )
        write_manifest(folder, manifest)
        _remove_unnamed(folder, manifest)
        return Made(manifest, copying.records, copying.bytes)


class _Copying:
    """Copies partitions of a log."""

    def __init__(self, source: Source, folder: Path, pace: Pace, progress: Callable[[int, int], None]) -> None:
        self._source = source
        self._log = source.log
        self._folder = folder
        self._pace = pace
        self._progress = progress
        self.records = 0
        self.bytes = 0
        self._last: Record | None = None

    async def bring_up_to_date(self, place: Place, before: PartitionCopy | None, *, is_whole: bool) -> PartitionCopy:
        """Copy a partition, and return its new contents in the backup; with `is_whole`, nothing of `before` is reused.

        Records that were changed in the log, such as by an erasure, are read again, and so is a segment whose first
        records have left the log. In this way, erasures and the end of the retention reach the backup.
        """
        self._last = None
        segments: list[Segment] = []
        at = place.earliest
        if before is not None and not is_whole:
            for segment in before.segments:
                if segment.end <= place.earliest:
                    continue
                if before.edits != place.edits or segment.first < place.earliest:
                    segments += await self._copy(place, max(segment.first, place.earliest), segment.end)
                else:
                    segments.append(segment)
                at = segment.end
        segments += await self._copy(place, max(at, place.earliest), place.end)
        last = self._last
        if not is_whole:
            segments = await self._merge(place, segments)
        unchanged = "" if before is None or before.edits != place.edits else before.last_record
        return PartitionCopy(
            topic=place.topic,
            partition=place.partition,
            earliest=place.earliest,
            end=place.end,
            edits=place.edits,
            last_record=unchanged if last is None else _hash_of(last),
            segments=tuple(segments),
        )

    async def _copy(self, place: Place, start: int, end: int) -> list[Segment]:
        """Copy the records from `start` on and before `end`."""
        segments = []
        while start < end:
            writer = SegmentWriter(self._folder, f"{place.topic}-{place.partition}")
            while start < end and writer.size < SEGMENT_BYTES:
                records = await self._log.read(place.topic, place.partition, start, READ_RECORDS)
                records = [record for record in records if record.position.offset < end]
                if not records:
                    start = end
                    break
                size = 0
                for record in records:
                    writer.add(record)
                    size += len(record.value) + len(record.key or b"")
                self._last = records[-1]
                start = records[-1].position.offset + 1
                self.records += len(records)
                self.bytes += size
                self._progress(self.records, self.bytes)
                await self._pace.wait(size)
            if (segment := writer.finish(start)) is not None:
                segments.append(segment)
        return segments

    async def _merge(self, place: Place, segments: list[Segment]) -> list[Segment]:
        """Merge the last segments if they have become many, because each run adds at least one."""
        small, size = 0, 0
        for segment in reversed(segments):
            if (size := size + segment.size) > SEGMENT_BYTES:
                break
            small += 1
        if small <= SMALL_SEGMENTS:
            return segments
        return [*segments[:-small], *await self._copy(place, segments[-small].first, segments[-1].end)]


def _former(folder: Path, source: Source) -> Manifest | None:
    """Return the existing manifest. Raises BackupRefused for a folder that is not a backup of this log."""
    try:
        former = read_manifest(folder)
    except NoBackup:
        others = [path.name for path in folder.iterdir() if path.name not in {RECORDS, LOCK_FILE, f"{FILE}.new"}]
        if others:
            raise BackupRefused(
                f"{folder} is no backup, and holds {others[0]}: name an empty folder, or one that does not exist"
            ) from None
        return None
    if (former.engine, former.log) != (source.engine, source.identity):
        raise BackupRefused(f"{folder} is a backup of another log: back this one up into a folder of its own")
    return former


async def _check_continues(source: Source, place: Place, before: PartitionCopy | None, folder: Path) -> None:
    """Raise BackupRefused if the log is not the one that was backed up, or is an older copy of it."""
    if before is None:
        return
    if place.end < before.end:
        raise BackupRefused(
            f"{place.topic}:{place.partition} ends at {place.end}, and the backup in {folder} has it up to "
            f"{before.end}: the log was replaced by an older copy; back it up into another folder"
        )
    if not before.last_record or before.edits != place.edits or source.topics[place.topic].compact:
        return
    last = before.segments[-1].end - 1
    for record in await source.log.read(place.topic, place.partition, last, 1):
        if record.position.offset == last and _hash_of(record) != before.last_record:
            raise BackupRefused(
                f"{record.position} is not the record that the backup in {folder} has: the log went on from an older "
                "copy; back it up into another folder"
            )


def _hash_of(record: Record) -> str:
    return "" if record.value == ERASED_VALUE else blake2b(record.value, digest_size=16).hexdigest()


def _copy_erasures(path: Path, folder: Path) -> str | None:
    """Copy the list of erasures, which has no names; return the file's name, or None if there is no list."""
    try:
        listed = path.read_bytes()
    except FileNotFoundError:
        return None
    name = f"erasures-{sha256(listed).hexdigest()[:NAME_DIGITS]}.jsonl"
    replace_file(folder / name, listed)
    return name


def _remove_unnamed(folder: Path, manifest: Manifest | None) -> None:
    """Remove the files that a manifest does not name: remains of an interrupted run, and files that were replaced."""
    named = set() if manifest is None else manifest.files
    for path in (folder / RECORDS).iterdir():
        if path.name not in named:
            path.unlink()
    sync_folder(folder / RECORDS)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder. Raises BackupRefused."""
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise BackupRefused(f"another run is at work on {folder}: wait for it") from None
    finally:
        os.close(descriptor)
