"""The users' data keys on `mnemolog.keys`: created with a user's first record, destroyed by the user's erasure."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections import OrderedDict
from datetime import timedelta
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas import codec
from schemas.identity import SYSTEM_TENANT, Owner
from schemas.log import LogError, LogUnavailable, NewRecord
from schemas.messages.data_keys import DataKey
from schemas.topics import KEYS
from streams.sealing.master_key import KEY_BYTES, KEY_ID_BYTES, DataKeyForged, MasterKeyUnknown, UnwrappedKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from schemas.log import Log, Record
    from streams.sealing.master_key import MasterKeys

INSTALLATION: Final = Owner(SYSTEM_TENANT, "*")
"""The owner of the key for records that belong to no user, or must outlive their user."""
IDS: Final = Owner(SYSTEM_TENANT, "ids")
"""The owner of the key that goes into ids derived from words, where an installation has one."""
LEASE_SECONDS: Final = 5.0
"""How long a worker may seal with the keys that it has read before it must read the topic again."""
ARRIVAL_SECONDS: Final = 20.0
"""How long after it was sealed a record may arrive in a log that is shared, and be acknowledged.

An erasure waits for both, so that nothing arrives any more that lies under a key that it destroys."""
CACHED_CIPHERS: Final = 4_096
"""How many data keys are kept unwrapped in memory."""
SEGMENT_TIME: Final = timedelta(hours=1)
"""How long Kafka writes to one segment of the topic, at least (`segment.ms`)."""
CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""The broker's clock decides, and may be behind ours."""
KEYS_AT_ONCE: Final = 500
"""How many rewrapped keys a rotation appends in one call."""

log = logging.getLogger("mnemolog")


class KeyUnknown(LogError):
    """A record is sealed with a key that is not on `mnemolog.keys`."""


class KeysMissing(LogError):
    """The log is encrypted, and what would decrypt it is missing; the text says what to do."""


class UserKeys:  # noqa: PLR0904 - nine of them look up
    """All data keys of the installation, wrapped, and those in use also unwrapped.

    The message key of each record is the data key's id. A user normally has one data key. If two workers create one at
    the same moment, both remain valid for what they sealed, and the later one seals from then on. A destroyed key never
    comes back: a record that would revive it is answered with another tombstone.
    """

    def __init__(self, log: Log, masters: MasterKeys | None, *, lease_seconds: float | None = None) -> None:
        """Read and write the topic on the unsealed log. Without master keys no key can be created.

        `lease_seconds`: how long keys may seal without reading the topic again; None where nobody else writes to it.
        """
        self._log = log
        self._masters = masters
        self._lease = lease_seconds
        self._next = 0
        self._wrapped: dict[bytes, bytes] = {}
        """The encoded DataKey of each id."""
        self._ids: dict[bytes, tuple[bytes, ...]] = {}
        """The ids of each owner's keys, by the owner's message key, in the order in which they were created."""
        self._offsets: dict[bytes, int] = {}
        """The offset of each key's newest record."""
        self._destroyed: set[bytes] = set()
        self._unknown: dict[bytes, MasterKeyUnknown] = {}
        """Why a key cannot be unwrapped. After a rotation, a later record of the key may be."""
        self._ciphers: OrderedDict[bytes, AESGCM] = OrderedDict()
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

    @property
    def is_empty(self) -> bool:
        """Whether the topic never had a key, so that nothing was ever sealed."""
        return not self._wrapped and not self._destroyed

    async def follow(self) -> None:
        """Read what the topic holds by now. Raises LogUnavailable, KeysMissing, MasterKeyUnknown."""
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
    def destroyed(self) -> frozenset[bytes]:
        """The ids of the keys that are known to be destroyed."""
        return frozenset(self._destroyed)

    def is_destroyed(self, key_id: bytes) -> bool:
        """Return whether a key is known to be destroyed."""
        return key_id in self._destroyed

    @property
    def arrival_seconds(self) -> float:
        """How long records that other workers sealed with a key may still arrive after a newer key was created."""
        return 0.0 if self._lease is None else self._lease + ARRIVAL_SECONDS

    def is_late(self, sealed_at: float) -> bool:
        """Return whether an erasure may not have waited for what was sealed at a time of the event loop's clock."""
        return self._lease is not None and asyncio.get_running_loop().time() - sealed_at > ARRIVAL_SECONDS

    def ids_of(self, owner: Owner) -> tuple[bytes, ...]:
        """Return the ids of an owner's keys: empty for an unknown or erased one."""
        return self._ids.get(owner.key, ())

    @property
    def owners(self) -> list[Owner]:
        """Whoever has a key."""
        return [Owner.of_key(key) for key in self._ids]

    def has_key(self, owner: Owner) -> bool:
        """Return whether an owner has a key to seal with."""
        return owner.key in self._ids

    async def make(self, owners: Iterable[Owner]) -> None:
        """Ensure that each owner has a key, durable when this returns. Raises LogError."""
        missing = [owner for owner in dict.fromkeys(owners) if not self.has_key(owner)]
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
        ids = self.ids_of(owner)
        if new not in ids:
            raise LogUnavailable("another worker has destroyed the new key meanwhile: try again")
        return ids[: ids.index(new)]

    def sealing(self, owner: Owner) -> tuple[bytes, AESGCM]:
        """Return the id and the cipher of the key that seals an owner's records. Raises KeyError without one."""
        key_id = self._ids[owner.key][-1]
        return key_id, self._cipher(key_id)

    async def opening(self, key_id: bytes) -> AESGCM | None:
        """Return the cipher of a key; None if it was destroyed. Raises KeyUnknown, LogUnavailable."""
        if key_id not in self._wrapped and key_id not in self._destroyed:
            await self.follow()  # another worker has just made it
        if key_id in self._destroyed:
            return None
        if key_id not in self._wrapped:
            raise KeyUnknown(f"no key has the id {key_id.hex()}")
        return self._cipher(key_id)

    def derive(self, purpose: str, length: int = KEY_BYTES, *, of: Owner = INSTALLATION) -> bytes:
        """Return a key derived for one purpose, the same on all workers and after rotations of the master key.

        It is derived from the first data key of `of`. Raises KeyError if there is none yet: call `make` before.
        """
        own = self._unwrapped(self._ids[of.key][0]).key
        return HKDF(hashes.SHA256(), length, None, f"mnemolog {purpose}".encode()).derive(own)

    def forget(self, key_ids: Iterable[bytes]) -> None:
        """Stop using keys from now on; their owners get new ones when they return."""
        for key_id in key_ids:
            self._destroyed.add(key_id)
            if key_id not in self._wrapped:
                continue
            owner = self._unwrapped(key_id).owner.key
            if left := tuple(one for one in self._ids.get(owner, ()) if one != key_id):
                self._ids[owner] = left
            else:
                self._ids.pop(owner, None)
            del self._wrapped[key_id], self._offsets[key_id]
            self._ciphers.pop(key_id, None)

    async def destroy(self, key_ids: Iterable[bytes]) -> None:
        """Destroy keys, durably when this returns. Destroying one again changes nothing.

        Raises LogError; the keys count as destroyed only where their tombstones are on the topic.
        """
        ids = list(key_ids)
        if ids:
            await self._log.append([_tombstone(key_id) for key_id in ids])
        # Not before: whoever repeats an erasure would take keys for destroyed that every other reader still has.
        self.forget(ids)

    async def let_compact(self, now: datetime) -> None:
        """Append the newest tombstone again if nothing was appended for the length of a segment. Raises LogError.

        Kafka closes a segment only when something is appended, and compacts closed segments only. Without this a
        destroyed key would stay on the topic, wrapped, until the next key is created.
        """
        if self._unclosed is not None and now - self._unclosed[1] > SEGMENT_TIME + CLOCKS_DIFFER:
            await self._log.append([_tombstone(self._unclosed[0])])
            await self.follow()

    def use(self, masters: MasterKeys) -> None:
        """Replace the master keys. The new set must still contain those that wrap existing keys."""
        self._masters = masters

    async def rotate(self) -> int:
        """Rewrap all keys with the newest master key, online; return how many were rewrapped. Raises LogError.

        It can be interrupted and run again: owners whose keys are wrapped by the newest master key already are skipped.
        An owner's keys are appended together, in their order: compaction leaves only these records, and the last seals.
        """
        masters = self._require_masters()
        for one in list(self._appending):  # they may be wrapped by a master key that is no longer the newest
            await one.wait()
        await self.follow()
        old = {key_id for key_id, data in self._wrapped.items() if _data_key(data).kek_id != masters.newest}
        owners = [key for key, ids in self._ids.items() if not old.isdisjoint(ids) or not self._are_in_order(ids)]
        while owners:
            some = self._some_of(owners)
            ids = [key_id for key in some for key_id in self._ids.get(key, ())]
            if ids:  # else they were erased meanwhile
                await self._log.append([_record(masters.wrap(key_id, self._unwrapped(key_id))) for key_id in ids])
                await self.follow()
            # Another worker may have created a key meanwhile, which stands before the others now.
            moved = [key for key in some if not self._are_in_order(self._ids.get(key, ()))]
            owners = [*moved, *owners[len(some) :]]
        return len(old)

    def _some_of(self, owners: Sequence[bytes]) -> list[bytes]:
        """Return the first owners, at least one, who have at most KEYS_AT_ONCE keys together."""
        counts = accumulate(len(self._ids.get(key, ())) for key in owners)
        return list(owners[: max(1, sum(1 for _ in takewhile(lambda count: count <= KEYS_AT_ONCE, counts)))])

    def _are_in_order(self, key_ids: Sequence[bytes]) -> bool:
        """Return whether keys would be read in their order if each key's newest record alone were left."""
        return all(self._offsets[one] < self._offsets[other] for one, other in pairwise(key_ids))

    def wrapped_by(self) -> dict[str, int]:
        """Return the number of data keys that each master key wraps, by its id."""
        found: dict[str, int] = {}
        for data in self._wrapped.values():
            kek_id = _data_key(data).kek_id
            found[kek_id] = found.get(kek_id, 0) + 1
        return found

    def _fold(self, record: Record, revived: list[bytes]) -> None:
        key_id = record.key or b""
        self._unknown.pop(key_id, None)
        if self._unclosed is not None and record.recorded_at - self._unclosed[1] > SEGMENT_TIME:
            self._unclosed = None
        if not record.value:
            if key_id not in self._buried:
                self._buried.add(key_id)
                self._unclosed = key_id, record.recorded_at
            self.forget([key_id])
            return
        try:
            data_key = _data_key_under(key_id, record.value)
            owner = self._require_masters().unwrap(data_key).owner
        except MasterKeyUnknown as error:
            self._unknown[key_id] = error
            return
        except (codec.Undecodable, DataKeyForged) as error:
            log.error("the record at %s is not a data key that mnemolog wrote: skipped (%s)", record.position, error)  # noqa: TRY400 - who wrote it is not us
            return
        if key_id in self._destroyed:
            revived.append(key_id)
            return
        self._wrapped[key_id] = record.value
        self._offsets[key_id] = record.position.offset
        ids = self._ids.get(owner.key, ())
        if key_id not in ids:
            self._ids[owner.key] = (*ids, key_id)

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
        return _record(self._require_masters().wrap(key_id, UnwrappedKey(owner, AESGCM.generate_key(8 * KEY_BYTES))))

    def _unwrapped(self, key_id: bytes) -> UnwrappedKey:
        return self._require_masters().unwrap(_data_key(self._wrapped[key_id]))

    def _cipher(self, key_id: bytes) -> AESGCM:
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            cipher = self._ciphers[key_id] = AESGCM(self._unwrapped(key_id).key)
            if len(self._ciphers) > CACHED_CIPHERS:
                self._ciphers.popitem(last=False)
        else:
            self._ciphers.move_to_end(key_id)
        return cipher

    def _require_masters(self) -> MasterKeys:
        if self._masters is None:
            raise KeysMissing(
                "the log is encrypted, and its master key was not given: set MNEMOLOG_MASTER_KEY or "
                "MNEMOLOG_MASTER_KEY_FILE to it, or put it back into keys/master"
            )
        return self._masters


def _record(data_key: DataKey) -> NewRecord:
    return NewRecord(topic=KEYS.name, partition=0, key=data_key.key_id, value=codec.encode(data_key))


def _tombstone(key_id: bytes) -> NewRecord:
    return NewRecord(topic=KEYS.name, partition=0, key=key_id, value=b"")


def _data_key(data: bytes) -> DataKey:
    return codec.decode_as(data, DataKey)


def _data_key_under(key_id: bytes, data: bytes) -> DataKey:
    """Return the data key of a record. Raises Undecodable, DataKeyForged."""
    data_key = _data_key(data)
    if data_key.key_id != key_id or len(key_id) != KEY_ID_BYTES:
        raise DataKeyForged("it stands under another key's id")
    return data_key
