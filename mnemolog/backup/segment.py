"""Segments of a backup: a range of one partition's records as an Avro container file, which many programs can read."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, cast

import fastavro
from fastavro.write import Writer

from schemas.log import LogError, Position, Record
from streams.transports.milliseconds import from_ms, to_ms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "BackedUpRecord",
        "namespace": "mnemolog",
        "doc": "A record of the log as it stands there: encrypted records are encrypted here.",
        "fields": [
            {"name": "offset", "type": "long"},
            {"name": "recorded_ms", "type": "long"},
            {"name": "key", "type": ["null", "bytes"]},
            {"name": "value", "type": "bytes"},
            {
                "name": "headers",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Header",
                        "fields": [{"name": "name", "type": "string"}, {"name": "value", "type": "bytes"}],
                    },
                },
            },
        ],
    }
)
SYNC_MARKER: Final = hashlib.sha256(b"mnemolog segment").digest()[:16]
"""The same marker in all files, so that equal records give equal bytes."""
NAME_DIGITS: Final = 16
READ_BYTES: Final = 1 << 20


class BackupDamaged(LogError):
    """A backup is not as it was written; the text names the file and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One file of a partition's records: those from the offset `first` on, and before `end`."""

    file: str
    first: int
    end: int
    records: int
    size: int
    """The size in bytes."""
    sha256: str


class _Hashed:
    """A write-only file, and the SHA-256 of its content."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def seekable(self) -> bool:
        """Return that nothing precedes the content, which Avro would otherwise check."""
        return False

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> str:
        """Make the file durable; return the hash."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self._hash.hexdigest()


class SegmentWriter:
    """Writes one segment; its file gets its name only when it is complete and durable."""

    def __init__(self, folder: Path, place: str) -> None:
        """Take the folder, and the prefix of the name."""
        self._folder = folder
        self._place = place
        self._path = folder / f"{place}.unfinished"
        self._path.unlink(missing_ok=True)
        self._file = _Hashed(self._path)
        self._writer: Any = Writer(cast("IO[bytes]", self._file), SCHEMA, codec="null", sync_marker=SYNC_MARKER)
        self._first: int | None = None
        self._records = 0

    @property
    def size(self) -> int:
        """The number of bytes written so far."""
        return self._file.size

    def add(self, record: Record) -> None:
        """Write a record."""
        if self._first is None:
            self._first = record.position.offset
        self._records += 1
        headers = [{"name": name, "value": value} for name, value in record.headers]
        self._writer.write(
            {
                "offset": record.position.offset,
                "recorded_ms": to_ms(record.recorded_at),
                "key": record.key,
                "value": record.value,
                "headers": headers,
            }
        )

    def finish(self, end: int) -> Segment | None:
        """Make the file durable under its name, which describes its content; return None if there were no records."""
        self._writer.flush()
        digest = self._file.close()
        if self._first is None:
            self._path.unlink()
            return None
        name = f"{self._place}-{self._first:012d}-{digest[:NAME_DIGITS]}.avro"
        self._path.replace(self._folder / name)
        return Segment(
            file=name, first=self._first, end=end, records=self._records, size=self._file.size, sha256=digest
        )


def read_segment(folder: Path, segment: Segment, topic: str, partition: int) -> Iterator[Record]:
    """Yield the records of a segment whose file was checked. Raises BackupDamaged."""
    path = folder / segment.file
    try:
        with path.open("rb") as file:
            for row in cast("Iterator[dict[str, Any]]", fastavro.reader(file)):
                yield Record(
                    position=Position(topic, partition, row["offset"]),
                    recorded_at=from_ms(row["recorded_ms"]),
                    key=row["key"],
                    value=row["value"],
                    headers=tuple((one["name"], one["value"]) for one in row["headers"]),
                )
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise BackupDamaged(_damage(path, f"it cannot be read ({type(error).__name__})")) from error


def check_size(folder: Path, segment: Segment) -> None:
    """Raise BackupDamaged if a segment's file is missing or has the wrong size; its content is not read."""
    path = folder / segment.file
    try:
        size = path.stat().st_size
    except OSError as error:
        raise BackupDamaged(_damage(path, error.strerror or "it cannot be read")) from error
    if size != segment.size:
        raise BackupDamaged(_damage(path, f"it has {size} bytes, and {segment.size} were written"))


def check_segment(folder: Path, segment: Segment) -> None:
    """Raise BackupDamaged if a segment's file is not the one that was written."""
    check_size(folder, segment)
    path, found = folder / segment.file, hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(READ_BYTES):
                found.update(data)
    except OSError as error:
        raise BackupDamaged(_damage(path, error.strerror or "it cannot be read")) from error
    if found.hexdigest() != segment.sha256:
        raise BackupDamaged(_damage(path, "its bytes are not those that were written"))


def _damage(path: Path, reason: str) -> str:
    return (
        f"{path}: {reason}: put this file back from a copy of the backup, or take a new backup into another folder "
        "while the log is there"
    )
