"""The manifest: the contents of a backup. It is replaced as a whole, so that one complete backup always exists."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemolog.backup.segment import BackupDamaged, Segment
from projections.durable_files import replace_file, sync_folder
from schemas.log import LogError

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "manifest.json"
RECORDS: Final = "records"
"""The folder of the segments, and of the list of erasures."""
FORMAT: Final = 1
EMBEDDED: Final = "embedded"
KAFKA: Final = "kafka"
"""The engines."""


class NoBackup(LogError):
    """There is no backup in a folder; the text says what is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicShape:
    """The settings with which a topic was created."""

    partitions: int
    retention_s: int
    compact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCopy:
    """The contents of a partition in a backup: its records from `earliest` on, and before `end`."""

    topic: str
    partition: int
    earliest: int
    end: int
    edits: int
    """The number of in-place changes to its records, at the time of the backup."""
    last_record: str
    """The hash of the last record copied; empty without records."""
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The contents of a backup, as of one moment of the log."""

    version: str
    """The version of mnemolog that wrote it."""
    engine: str
    log: str | None
    """The identity of the log; None on Kafka."""
    taken_at: str
    """The time at which its positions were read; it holds everything accepted before."""
    topics: dict[str, TopicShape]
    partitions: tuple[PartitionCopy, ...]
    group_offsets: tuple[tuple[str, str, int, int], ...]
    """Consumer group, topic, partition and the offset from which the group continues."""
    erasures: str | None
    """The file of the list of erasures."""
    format: int = FORMAT

    def of(self, topic: str, partition: int) -> PartitionCopy | None:
        """Return the contents of a partition; None if it has none."""
        return next((one for one in self.partitions if (one.topic, one.partition) == (topic, partition)), None)

    @property
    def segments(self) -> list[Segment]:
        """The segments of all partitions."""
        return [segment for one in self.partitions for segment in one.segments]

    @property
    def files(self) -> set[str]:
        """The names of all files that belong to it."""
        named = {segment.file for segment in self.segments}
        return named if self.erasures is None else {*named, self.erasures}

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(segment.records for segment in self.segments)

    @property
    def size(self) -> int:
        """The total size of the segments, in bytes."""
        return sum(segment.size for segment in self.segments)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a backup. Raises NoBackup, BackupDamaged."""
    path = folder / FILE
    try:
        body, _, digest = path.read_bytes().rstrip(b"\n").rpartition(b"\n")
    except FileNotFoundError:
        raise NoBackup(f"there is no backup in {folder}: it has no {FILE}") from None
    except OSError as error:
        raise NoBackup(f"the backup in {folder} cannot be read: {error.strerror}") from error
    if sha256(body).hexdigest().encode() != digest:
        raise BackupDamaged(f"{path} is not as it was written: put it back from a copy, or take a new backup elsewhere")
    found = orjson.loads(body)
    if found["format"] > FORMAT:
        raise NoBackup(f"{path} has format {found['format']}, this version reads up to {FORMAT}: upgrade")
    return _from_json(found)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest, durably: from then on, the backup is this one. Its files must already be durable."""
    sync_folder(folder / RECORDS)
    body = orjson.dumps(asdict(manifest))
    replace_file(folder / FILE, body + b"\n" + sha256(body).hexdigest().encode() + b"\n")


def _from_json(found: dict[str, Any]) -> Manifest:
    partitions = tuple(
        PartitionCopy(**{**one, "segments": tuple(Segment(**segment) for segment in one["segments"])})
        for one in found["partitions"]
    )
    return Manifest(
        **{
            **found,
            "topics": {name: TopicShape(**shape) for name, shape in found["topics"].items()},
            "partitions": partitions,
            "group_offsets": tuple(tuple(row) for row in found["group_offsets"]),
        }
    )
