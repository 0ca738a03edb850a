"""The users' data keys on `mnemolog.keys`: created with a user's first record, destroyed by the user's erasure."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from datetime import timedelta
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from schemas import codec
from schemas.log import LogError, LogUnavailable, NewRecord
from schemas.topics import KEYS
from streams.sealing.key_ring import KeyRing
from streams.sealing.master_key import KEY_BYTES, KEY_ID_BYTES, DataKeyForged, MasterKeyUnknown, UnwrappedKey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from schemas.identity import Owner
    from schemas.log import Log, Record
    from schemas.messages.data_keys import DataKey
    from streams.sealing.master_key import MasterKeys

LEASE_SECONDS: Final = 5.0
"""The time for which a worker may seal with the keys that it has read before it must read the topic again."""
ARRIVAL_SECONDS: Final = 20.0
"""The time after its sealing within which a record may arrive in a shared log, and be acknowledged.

An erasure waits for both, so that no record arrives later that is sealed with a key that it destroys."""
SEGMENT_TIME: Final = timedelta(hours=1)
"""The least time for which Kafka writes to one segment of the topic (`segment.ms`)."""
CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""The tolerance for the broker's clock, which decides, and may be behind ours."""
KEYS_AT_ONCE: Final = 500
"""The most rewrapped keys that a rotation appends in one call, unless one owner has more."""

log = logging.getLogger("mnemolog")


class KeyUnknown(LogError):
    """A record is sealed with a key that is not on `mnemolog.keys`."""


class UserKeys:
    """Creates and destroys data keys on the topic, and updates its ring with the records of all workers.

    The message key of each record is the data key's id. A record that would revive a destroyed key is answered with
    another tombstone.
    """

    def __init__(self, log: Log, masters: MasterKeys | None, *, lease_seconds: float | None = None) -> None:
        """Read and write the topic on the unsealed log. Without master keys no key can be created.

        `lease_seconds` is the time for which keys may seal without another read of the topic; None if no other process
        writes to it.
        """
        self._log = log
        self.ring = KeyRing(masters)
        self._lease = lease_seconds
        self._next = 0
        self._unknown: dict[bytes, MasterKeyUnknown] = {}
        """The reason why each key cannot be unwrapped. After a rotation, a later record of the key may be usable."""
        self._following = asyncio.Lock()
        self._followed_at = -math.inf
        """When the topic was last read, by the event loop's clock."""
        self._buried: set[bytes] = set()
        """The keys whose tombstone was read."""
        self._unclosed: tuple[bytes, datetime] | None = None
        """The last key destroyed, and when, while its tombstone may still be in the open segment."""
        self._making: dict[Owner, asyncio.Event] = {}
        """Set when the task that creates a key has ended. A future would be cancelled with its first waiter."""
        self._appending: set[asyncio.Event] = set()
        """One for each call that is appending new keys, set when it has ended."""

    async def follow(self) -> None:
        """Read the topic to its present end. Raises LogUnavailable, KeysMissing, MasterKeyUnknown."""
        async with self._following:
            began = asyncio.get_running_loop().time()
            revived: list[bytes] = []
            while records := await self._log.read(KEYS.name, 0, self._next):
                for record in records:
                    self._fold(record, revived)
                self._next = records[-1].position.offset + 1
            self._followed_at = began
            for unknown in self._unknown.values():
                raise unknown
            if revived:
                await self._log.append([_tombstone(key_id) for key_id in revived])

    @property
    def are_fresh(self) -> bool:
        """Whether the topic was read within the lease. Otherwise a user may have been erased since."""
        return self._lease is None or asyncio.get_running_loop().time() - self._followed_at < self._lease

    @property
    def arrival_seconds(self) -> float:
        """The time for which records that other workers sealed with a key may arrive after a newer one was created."""
        return 0.0 if self._lease is None else self._lease + ARRIVAL_SECONDS

    def is_late(self, sealed_at: float) -> bool:
        """Return whether an erasure may not have waited for records sealed at a time of the event loop's clock."""
        return self._lease is not None and asyncio.get_running_loop().time() - sealed_at > ARRIVAL_SECONDS

    async def make(self, owners: Iterable[Owner]) -> None:
        """Ensure that each owner has a key, durable when this returns. Raises LogError."""
        missing = [owner for owner in dict.fromkeys(owners) if not self.ring.has_key(owner)]
        own = [owner for owner in missing if owner not in self._making]
        others = [self._making[owner] for owner in missing if owner in self._making]
        if own:
            done = asyncio.Event()
            self._making.update(dict.fromkeys(own, done))
            try:
                await self._append_new(own)
                await self.follow()
            finally:
                for owner in own:
                    del self._making[owner]
                done.set()
        for other in others:
            await other.wait()
        if others:
            await self.make(missing)  # the other task may have failed

    async def renew(self, owner: Owner) -> tuple[bytes, ...]:
        """Create a new key for an owner, which seals from now on; return the ids of the earlier ones. Raises LogError.

        Earlier ones still decrypt. They include those that other workers have created by now.
        """
        [new] = await self._append_new([owner])
        await self.follow()
        ids = self.ring.ids_of(owner)
        if new not in ids:
            raise LogUnavailable("another worker has destroyed the new key meanwhile: try again")
        return ids[: ids.index(new)]

    async def opening(self, key_id: bytes) -> AESGCM | None:
        """Return the cipher of a key; None if it was destroyed. Raises KeyUnknown, LogUnavailable."""
        if not self.ring.knows(key_id):
            await self.follow()  # another worker has just made it
        if self.ring.is_destroyed(key_id):
            return None
        if not self.ring.knows(key_id):
            raise KeyUnknown(f"no key has the id {key_id.hex()}")
        return self.ring.cipher(key_id)

    async def destroy(self, key_ids: Iterable[bytes]) -> None:
        """Destroy keys, durably when this returns. Destroying one again changes nothing.

        Raises LogError; the keys count as destroyed only where their tombstones are on the topic.
        """
        ids = list(key_ids)
        if ids:
            await self._log.append([_tombstone(key_id) for key_id in ids])
        # Not earlier: a repeated erasure would take keys for destroyed that every other reader still has.
        self.ring.forget(ids)

    async def let_compact(self, now: datetime) -> None:
        """Append the newest tombstone again if nothing was appended for the length of a segment. Raises LogError.

        Kafka closes a segment only when something is appended, and compacts closed segments only. Without this a
        destroyed key would stay on the topic, wrapped, until the next key is created.
        """
        if self._unclosed is not None and now - self._unclosed[1] > SEGMENT_TIME + CLOCKS_DIFFER:
            await self._log.append([_tombstone(self._unclosed[0])])
            await self.follow()

    async def rotate(self) -> int:
        """Rewrap all keys with the newest master key, online; return how many were rewrapped. Raises LogError.

        It can be interrupted and run again: owners whose keys are wrapped by the newest master key already are skipped.
        An owner's keys are appended together, in their order: compaction leaves only these records, and the last seals.
        """
        ring, masters = self.ring, self.ring.masters
        for one in list(self._appending):  # they may be wrapped by a master key that is no longer the newest
            await one.wait()
        await self.follow()
        number, owners = ring.outdated()
        while owners:
            counts = accumulate(len(ring.ids_of(owner)) for owner in owners)
            some = owners[: max(1, sum(1 for _ in takewhile(lambda count: count <= KEYS_AT_ONCE, counts)))]
            ids = [key_id for owner in some for key_id in ring.ids_of(owner)]
            if ids:  # else they were erased meanwhile
                await self._log.append([_record(masters.wrap(key_id, ring.unwrapped(key_id))) for key_id in ids])
                await self.follow()
            # Another worker may have created a key meanwhile, which now precedes the others.
            moved = [owner for owner in some if not ring.are_in_order(owner)]
            owners = [*moved, *owners[len(some) :]]
        return number

    def _fold(self, record: Record, revived: list[bytes]) -> None:
        key_id = record.key or b""
        self._unknown.pop(key_id, None)
        if self._unclosed is not None and record.recorded_at - self._unclosed[1] > SEGMENT_TIME:
            self._unclosed = None
        if not record.value:
            if key_id not in self._buried:
                self._buried.add(key_id)
                self._unclosed = key_id, record.recorded_at
            self.ring.forget([key_id])
            return
        try:
            if self.ring.put(record):
                revived.append(key_id)
        except MasterKeyUnknown as error:
            self._unknown[key_id] = error
        except (codec.Undecodable, DataKeyForged) as error:
            log.error("the record at %s is not a data key that mnemolog wrote: skipped (%s)", record.position, error)  # noqa: TRY400 - another program wrote it

    async def _append_new(self, owners: Iterable[Owner]) -> list[bytes]:
        """Append a new key for each owner; return the ids. Raises LogError."""
        done = asyncio.Event()
        self._appending.add(done)
        try:
            new = [self._new(owner) for owner in owners]
            await self._log.append(new)
            return [record.key or b"" for record in new]
        finally:
            self._appending.discard(done)
            done.set()

    def _new(self, owner: Owner) -> NewRecord:
        key_id = os.urandom(KEY_ID_BYTES)
        return _record(self.ring.masters.wrap(key_id, UnwrappedKey(owner, AESGCM.generate_key(8 * KEY_BYTES))))


def _record(data_key: DataKey) -> NewRecord:
    return NewRecord(topic=KEYS.name, partition=0, key=data_key.key_id, value=codec.encode(data_key))


def _tombstone(key_id: bytes) -> NewRecord:
    return NewRecord(topic=KEYS.name, partition=0, key=key_id, value=b"")
