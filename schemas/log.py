"""The log: an ordered, durable sequence of records for each partition of a topic. The protocol of every engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

ERASED_VALUE: Final = b"\xc3\x03"
"""Replaces an erased record in a log whose records can be overwritten."""
Headers: TypeAlias = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where a record stands; written `topic:partition:offset`."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}:{self.partition}:{self.offset}"

    @classmethod
    def of(cls, text: str) -> Position:
        """Return the position that a text writes. Raises ValueError."""
        topic, partition, offset = text.rsplit(":", 2)
        return cls(topic, int(partition), int(offset))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """What is to be appended, and to which partition: `schemas.topics.partition_of` computes it from the key."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes
    headers: Headers = ()
    outlives_user: bool = False
    """Whether it stays readable when its user's key is destroyed: it is sealed with the installation's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the log holds: `recorded_at` is the broker's append time.

    Within a partition it never decreases, except where a wrong clock was put right (a tick of the policy `clock`).
    """

    position: Position
    recorded_at: datetime
    key: bytes | None
    value: bytes
    headers: Headers = ()
    is_erased: bool = False
    """Whether its user's key was destroyed: then it has no key and no value, and is skipped."""
    is_settled: bool = False
    """Whether it was appended together with what its delivery would lead to, so that no agent needs it."""
    stored_hash: bytes = field(default=b"", compare=False)
    """The hash of what the log stores, where it is known already. See `schemas.messages.chain`."""


@dataclass(frozen=True, slots=True)
class Appended:
    """The log's acknowledgement: the record is durable at this position."""

    position: Position
    recorded_at: datetime
    stored_hash: bytes = field(default=b"", compare=False)
    """As `Record.stored_hash`."""


class LogError(Exception):
    """The log refused or failed."""


class LogUnavailable(LogError):
    """The log cannot be reached or is busy: try again later. Whether the records were appended is unknown."""


class LogFull(LogUnavailable):
    """The log's disk is full: free space, then try again. Nothing was acknowledged."""


class RecordTooLarge(LogError):
    """A record is larger than its topic takes, and always will be. Nothing was appended."""


class LogDamaged(LogError):
    """The log's file cannot be read as a log: restore it from a copy. Nothing is written to it."""


class LogLocked(LogError):
    """Another process holds the log: stop it, or talk to it over HTTP."""


class LogMoved(LogError):
    """Somebody else's record came first to where a record was to stand. Nothing was appended."""


class UnknownTopic(LogError):
    """The topic or partition does not exist: `mnemolog topics create` creates it."""


class Log(Protocol):
    """Append and read, without consumer groups. All methods may be called from any task of the owning event loop."""

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """Append all records, each to its partition, in the given order; return when all are durable (fsync, acks=all).

        Raises LogUnavailable (any of them may have been appended: appending again is safe, because folds count
        each message once), LogFull, LogDamaged, UnknownTopic; RecordTooLarge for one of them, and then none was.
        """
        ...

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """Return at most `limit` durable records with offset >= `start`, in order; [] at the end. Does not wait.

        Offsets may have gaps (retention, compaction). A `start` before `earliest` reads from `earliest`.
        """
        ...

    async def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record will get; all records before it that remain are durable."""
        ...

    async def earliest(self, topic: str, partition: int) -> int:
        """Return the offset of the first record still held, or `end` when there is none."""
        ...

    async def partitions(self, topic: str) -> int:
        """Return how many partitions the topic has. Raises UnknownTopic."""
        ...


class TrimmedLog(Log, Protocol):
    """A log whose oldest records can be removed before their topic's own retention takes them."""

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the partition's records before an offset; offsets stay. Deleting them again changes nothing.

        Raises LogUnavailable, UnknownTopic, and LogError where the log does not allow it.
        """
        ...


class ExclusiveLog(Log, Protocol):
    """A log that no other process appends to, so that a record's place can be known before it is appended."""

    def next_place(self, topic: str, partition: int) -> Appended:
        """Return the position and the time that a record appended now would get. Raises UnknownTopic."""
        ...

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """Append records that no agent of this process needs, and some of which must get the places foreseen for them.

        `places` are the first ones wanted, one for each partition in question, all of one time, which is that of all
        records. As `append`, and raises LogMoved where a partition ends elsewhere by now, or one of the records'
        partitions has a later time: then nothing was appended.
        """
        ...
