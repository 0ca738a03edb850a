"""The part of a log to copy, as of one moment, for both engines."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mnemolog.backup.manifest import EMBEDDED, KAFKA, TopicShape
from mnemolog.log.connection import opened_log, retention_of
from mnemolog.operations.erasing.receipts import LIST_FILE
from schemas.log import LogError
from schemas.topics import INBOX, INPUTS, KEYS, REPLACEMENTS, TOPICS
from streams.sealing.key_files import FOLDER
from streams.transports.sqlite.file import LOG_FILE
from streams.transports.sqlite.read_only_log import ReadOnlyLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from mnemolog.settings import Settings
    from schemas.log import Log

_CAUSES: Final = (INBOX, *INPUTS, REPLACEMENTS, KEYS)
CAUSES_LAST: Final = (*(topic for topic in TOPICS if topic not in _CAUSES), *_CAUSES)
"""The topics in the order in which their ends are read: a record refers only to later topics, or to earlier records."""


@dataclass(frozen=True, slots=True)
class Place:
    """The records of a partition that belong in a backup."""

    topic: str
    partition: int
    earliest: int
    end: int
    edits: int


@dataclass(frozen=True, slots=True)
class Source:
    """A log to read, and the moment up to which it is read."""

    log: Log
    engine: str
    identity: str | None
    taken_at: datetime
    topics: Mapping[str, TopicShape]
    places: Sequence[Place]
    group_offsets: Sequence[tuple[str, str, int, int]]
    erasures: Path
    """The list of erasures in the data directory."""


@asynccontextmanager
async def opened_source(settings: Settings) -> AsyncIterator[Source]:
    """Open the configured log alongside the workers that use it. Raises LogError."""
    erasures = settings.data_dir.resolve() / FOLDER / LIST_FILE
    if not settings.is_embedded:
        async with opened_log(settings) as log:
            yield await _source(log, settings, KAFKA, erasures)
        return
    path = settings.data_dir.resolve() / "log" / LOG_FILE
    if not path.exists():
        raise LogError(f"there is no log in {path.parent}: nothing to back up; name the data directory with --data")
    with ReadOnlyLog.beside_worker(path) as read_only:
        yield await _source(read_only, settings, EMBEDDED, erasures)


async def _source(log: Log, settings: Settings, engine: str, erasures: Path) -> Source:
    taken_at = datetime.now(UTC)
    state = log.state if isinstance(log, ReadOnlyLog) else None
    topics, places = {}, []
    for topic in CAUSES_LAST:
        if state is not None and topic.name not in state.topics:
            continue  # the log is from an older version
        partitions = await log.partitions(topic.name)
        retention = retention_of(topic, settings)
        topics[topic.name] = TopicShape(
            partitions=partitions,
            retention_s=0 if retention is None else int(retention.total_seconds()),
            compact=topic.compacted,
        )
        for partition in range(partitions):
            end = await log.end(topic.name, partition)
            earliest = await log.earliest(topic.name, partition)
            edits = log.edits(topic.name, partition) if isinstance(log, ReadOnlyLog) else 0
            places.append(Place(topic.name, partition, min(earliest, end), end, edits))
    identity, groups = (None, ()) if state is None else (state.identity, state.group_offsets)
    return Source(log, engine, identity, taken_at, topics, places, groups, erasures)
