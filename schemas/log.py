"""The log: an ordered, durable sequence of records for each partition of a topic, and the protocol of its engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

ERASED_VALUE: Final = b"\xc3\x03"
"""The value that replaces an erased record in a log whose records can be overwritten."""
Headers: TypeAlias = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The position of a record, written as `topic:partition:offset`."""

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
    """A record to append; `schemas.topics.partition_of` computes its partition from the key."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes
    headers: Headers = ()
    outlives_user: bool = False
    """Whether it stays readable when its user's key is destroyed, because it is sealed with the installation's key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record in the log; `recorded_at` is the broker's append time.

    Within a partition, it never decreases, except after the correction of a wrong clock (a tick of the policy `clock`).
    """

    position: Position
    recorded_at: datetime
    key: bytes | None
    value: bytes
    headers: Headers = ()
    is_erased: bool = False
    """Whether its user's key was destroyed; the record then has no key and no value, and is skipped."""
    is_settled: bool = False
    """Whether it was appended together with the results of its delivery, so that no agent needs it."""
    stored_hash: bytes = field(default=b"", compare=False)
    """The hash of the stored record, if it is known already. See `schemas.messages.chain`."""


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
    """Another record has taken the place that was foreseen for one. Nothing was appended."""


class UnknownTopic(LogError):
    """The topic or partition does not exist: `mnemolog topics create` creates it."""


class Log(Protocol):
    """Append and read, without consumer groups. All methods may be called from any task of the owning event loop."""

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """Append all records, each to its partition, in the given order; return when all are durable (fsync, acks=all).

        Raises LogUnavailable (any of them may have been appended: appending again is safe, because folds count
        each message once), LogFull, LogDamaged, UnknownTopic. If one of them is too large, none is appended, and
        RecordTooLarge is raised.
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
        """Return the offset of the first remaining record, or `end` if there is none."""
        ...

    async def partitions(self, topic: str) -> int:
        """Return the number of the topic's partitions. Raises UnknownTopic."""
        ...


class TrimmedLog(Log, Protocol):
    """A log whose oldest records can be removed before their topic's own retention removes them."""

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the partition's records before an offset; offsets do not change. A repeated deletion has no effect.

        Raises LogUnavailable, UnknownTopic, and LogError if the log does not allow it.
        """
        ...


class ExclusiveLog(Log, Protocol):
    """A log to which no other process appends, so that a record's place is known before it is appended."""

    def next_place(self, topic: str, partition: int) -> Appended:
        """Return the position and the time of a record that would be appended now. Raises UnknownTopic."""
        ...

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """Append records that no agent of this process needs, some of them at foreseen places.

        `places` has the first place in each partition concerned. All have the same time, which becomes that of all
        records. Raises the same errors as `append`, and LogMoved, without appending anything, if a partition now ends
        elsewhere or has a later time.
        """
        ...
