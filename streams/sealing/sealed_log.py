"""A log that stores its records encrypted, while its users write and read them in clear."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from schemas import telemetry
from schemas.identity import InvalidOwner, Owner
from schemas.log import ERASED_VALUE, Appended, LogUnavailable, NewRecord, Record
from schemas.messages.chain import hash_of, stored_hash
from schemas.messages.dead_letters import headers_in_clear
from schemas.topics import LEDGERS
from streams.sealing import sealed_record
from streams.sealing.key_ring import INSTALLATION
from streams.sealing.user_keys import KeyUnknown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from schemas.log import ExclusiveLog, TrimmedLog
    from streams.sealing.replacements import Replacements
    from streams.sealing.user_keys import UserKeys

log = logging.getLogger("mnemolog")


@dataclass(frozen=True, slots=True, eq=False)
class _Appending:
    """A call that has sealed records, and whose append is still in progress."""

    owners: frozenset[Owner]
    done: asyncio.Event


class SealedLog:
    """Encrypts each record under its user's key when it is appended, and decrypts it when it is read.

    Unencrypted records are returned as they are: those that other programs publish, and those from before encryption. A
    record whose key was destroyed is returned as erased, without key and value. A record that was tampered with is
    returned still encrypted, so that it cannot be decoded and becomes a dead letter. Headers are not encrypted, so a
    sealed record keeps only those of its trace, and the one with its first position if it was a dead letter that was
    sent back. The others repeat parts of the value.
    """

    def __init__(
        self,
        log: TrimmedLog,
        keys: UserKeys,
        *,
        seals: bool = True,
        counted: Callable[[str], None] = lambda _: None,
        replacements: Replacements | None = None,
    ) -> None:
        """Wrap a log. Without `seals`, records are appended in clear; sealed ones are decrypted in any case.

        `counted` is called with `erased` or `tampered` for each record that was not decrypted. `replacements` are read
        in place of records whose key was destroyed; None for a log that can be rewritten.
        """
        self._log = log
        self._keys = keys
        self._seals = seals
        self._counted = counted
        self.replacements = replacements
        self._appending: set[_Appending] = set()

    async def append(self, records: Sequence[NewRecord]) -> list[Appended]:
        """See `Log.append`. A user's data key is durable before the user's first record is appended.

        Also raises LogUnavailable if the append took so long that an erasure may not have waited for it.
        """
        return await self._append(records, self._log.append)

    def next_place(self, topic: str, partition: int) -> Appended:
        """See `ExclusiveLog.next_place`. Requires that the wrapped log is an ExclusiveLog."""
        return cast("ExclusiveLog", self._log).next_place(topic, partition)

    async def append_settled(self, records: Sequence[NewRecord], places: Sequence[Appended]) -> list[Appended]:
        """See `ExclusiveLog.append_settled`. Requires an ExclusiveLog. Raises LogUnavailable as `append` does."""
        inner = cast("ExclusiveLog", self._log)
        return await self._append(records, lambda sealed: inner.append_settled(sealed, places))

    async def _append(
        self, records: Sequence[NewRecord], append: Callable[[Sequence[NewRecord]], Awaitable[list[Appended]]]
    ) -> list[Appended]:
        records = telemetry.with_trace(records)
        if not self._seals:
            return await append(records)
        if not self._keys.are_fresh:
            await self._keys.follow()
        owners = [owner_of(record) for record in records]
        if not all(map(self._keys.ring.has_key, owners)):
            await self._keys.make(owners)
        sealed = [self._sealed(record, owner) for record, owner in zip(records, owners, strict=True)]
        sealed_at = asyncio.get_running_loop().time()
        appending = _Appending(frozenset(owners), asyncio.Event())
        self._appending.add(appending)
        try:
            appended = await append(sealed)
        finally:
            self._appending.discard(appending)
            appending.done.set()
        if self._keys.is_late(sealed_at):  # the process was stopped for a while
            raise LogUnavailable("the append took too long: append it again")
        return [
            place
            if place.stored_hash or record.topic not in LEDGERS
            else Appended(place.position, place.recorded_at, hash_of(record.value))
            for record, place in zip(sealed, appended, strict=True)
        ]

    async def sealed_forms(self, records: Sequence[Record]) -> dict[int, bytes]:
        """Return the encrypted values, by offset, of those records that are in clear. Raises LogError."""
        clear = {
            record.position.offset: NewRecord(
                topic=record.position.topic, partition=record.position.partition, key=record.key, value=record.value
            )
            for record in records
            if record.value != ERASED_VALUE and sealed_record.key_id_of(record.value) is None
        }
        owners = {offset: owner_of(record) for offset, record in clear.items()}
        await self._keys.make(owners.values())
        return {offset: self._sealed(record, owners[offset]).value for offset, record in clear.items()}

    async def settle(self, owner: Owner) -> None:
        """Wait until the appends of an owner's records that are in progress have ended, successfully or not."""
        for one in [one for one in self._appending if owner in one.owners]:
            await one.done.wait()

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """See `Log.read`."""
        return [await self.open(record) for record in await self._log.read(topic, partition, start, limit)]

    async def end(self, topic: str, partition: int) -> int:
        """See `Log.end`."""
        return await self._log.end(topic, partition)

    async def earliest(self, topic: str, partition: int) -> int:
        """See `Log.earliest`."""
        return await self._log.earliest(topic, partition)

    async def partitions(self, topic: str) -> int:
        """See `Log.partitions`."""
        return await self._log.partitions(topic)

    async def drop_before(self, topic: str, partition: int, offset: int) -> None:
        """See `TrimmedLog.drop_before`."""
        await self._log.drop_before(topic, partition, offset)

    async def open(self, record: Record) -> Record:
        """Return a record as it was appended. Raises LogUnavailable if its key cannot be read."""
        key_id = sealed_record.key_id_of(record.value)
        if key_id is None:
            return record if record.value != ERASED_VALUE else _erased(record, _hash_of(record))
        stored = _hash_of(record)
        try:
            cipher = await self._keys.opening(key_id)
            if cipher is None:
                if self.replacements is not None and (found := await self.replacements.of(record)) is not None:
                    return replace(found, stored_hash=stored)
                self._counted("erased")
                return _erased(record, stored)
            key, value = sealed_record.open_sealed(cipher, record.position.topic, record.value)
        except (KeyUnknown, sealed_record.Tampered) as error:
            self._counted("tampered")
            log.error("the record at %s cannot be decrypted: %s", record.position, error)  # noqa: TRY400 - its bytes say the rest
            return record
        # Not `replace`, which costs as much as the opening itself.
        return Record(
            position=record.position,
            recorded_at=record.recorded_at,
            key=key,
            value=value,
            headers=record.headers,
            is_settled=record.is_settled,
            stored_hash=stored,
        )

    def _sealed(self, record: NewRecord, owner: Owner) -> NewRecord:
        key_id, cipher = self._keys.ring.sealing(owner)
        value = sealed_record.seal(cipher, key_id, record.topic, record.key, record.value)
        headers = headers_in_clear(record.headers) if record.headers else ()
        return NewRecord(topic=record.topic, partition=record.partition, key=None, value=value, headers=headers)


def _erased(record: Record, stored: bytes) -> Record:
    return replace(record, key=None, value=b"", is_erased=True, stored_hash=stored)


def _hash_of(record: Record) -> bytes:
    """Return the hash of a decision as the log stores it; empty for other records, whose hash is never used."""
    return stored_hash(record) if record.position.topic in LEDGERS else b""


def owner_of(record: NewRecord) -> Owner:
    """Return the owner of the key that seals a record: its user, its tenant, or the installation."""
    if record.key is None or record.outlives_user:
        return INSTALLATION
    try:
        owner = Owner.of_key(record.key)
    except InvalidOwner:
        return INSTALLATION
    return INSTALLATION if owner.is_partition else owner
