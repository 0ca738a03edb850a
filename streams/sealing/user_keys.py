"""The data keys of users, as `mnemolog.keys` has them: made at a user's first record, destroyed at the erasure."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas import codec
from schemas.identity import SYSTEM_TENANT, Owner
from schemas.log import LogError, NewRecord
from schemas.messages.data_keys import DataKey
from schemas.topics import KEYS
from streams.sealing.master_key import KEY_BYTES, KEY_ID_BYTES, DataKeyForged, MasterKeyUnknown, UnwrappedKey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from schemas.log import Log, Record
    from streams.sealing.master_key import MasterKeys

INSTALLATION: Final = Owner(SYSTEM_TENANT, "*")
"""Whose key seals what belongs to no user, and what outlives one."""
IDS: Final = Owner(SYSTEM_TENANT, "ids")
"""Whose key ids are derived with from words, where an installation has one."""
LEASE_SECONDS: Final = 5.0
"""How long a worker seals with the keys that it has read, before it reads again. An erasure waits as long: then nobody
seals with a key that it destroys."""
CACHED_CIPHERS: Final = 4_096
"""Users whose keys lie unwrapped in memory."""
SEGMENT_TIME: Final = timedelta(hours=1)
"""For how long a segment of the topic is written, at least (`segment.ms`)."""
CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""The broker's clock decides, and it may be behind ours."""
KEYS_AT_ONCE: Final = 500
"""Appended in one call while keys are wrapped anew."""

log = logging.getLogger("mnemolog")


class KeyUnknown(LogError):
    """A record is sealed with a key that `mnemolog.keys` never had."""


class KeysMissing(LogError):
    """The log holds keys, or sealed records, and nothing that opens them; the text says what to do."""


class UserKeys:  # noqa: PLR0904 - ten of them look up
    """Every data key of the installation, wrapped; those in use also unwrapped.

    Each record of the topic lies under its key's id. A user has one key; two workers that made one at the same moment
    leave two, of which either opens what it has sealed, and the newer seals from then on. A destroyed key never comes
    back: a record that would revive one is answered with another tombstone.
    """

    def __init__(self, log: Log, masters: MasterKeys | None, *, lease_seconds: float | None = None) -> None:
        """Read and write the topic of a log that seals nothing itself. Without master keys no key can be made.

        `lease_seconds`: how long what was read of the topic may seal; None where nobody else writes it.
        """
        self._log = log
        self._masters = masters
        self._lease = lease_seconds
        self._next = 0
        self._wrapped: dict[bytes, bytes] = {}
        """The encoded DataKey of each id."""
        self._ids: dict[bytes, tuple[bytes, ...]] = {}
        """The ids of each owner's keys, by the owner's message key, in the order of the topic."""
        self._destroyed: set[bytes] = set()
        self._unknown: dict[bytes, MasterKeyUnknown] = {}
        """Why a key cannot be unwrapped; after a rotation a later record of it can."""
        self._ciphers: OrderedDict[bytes, AESGCM] = OrderedDict()
        self._following = asyncio.Lock()
        self._followed_at = -math.inf
        """When the topic was read last, by the event loop's clock."""
        self._buried: set[bytes] = set()
        """The keys whose tombstone was read."""
        self._unclosed: tuple[bytes, datetime] | None = None
        """The key that was destroyed last, and when, while the segment with its tombstone may still be written."""
        self._making: dict[Owner, asyncio.Event] = {}
        """Set when who makes an owner's key has ended. A future would be cancelled with the first who waits."""

        self._appending: set[asyncio.Event] = set()
        """Of each call that appends new keys, set when it has ended: they are wrapped already."""

    @property
    def is_empty(self) -> bool:
        """Whether the topic has no key at all: nothing was ever sealed."""
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
        """Whether the topic was read within the lease, so that no key is used whose user was erased since."""
        return self._lease is None or asyncio.get_running_loop().time() - self._followed_at < self._lease

    @property
    def are_shared(self) -> bool:
        """Whether other workers make keys too."""
        return self._lease is not None

    @property
    def destroyed(self) -> frozenset[bytes]:
        """The ids of the keys that are known to be destroyed."""
        return frozenset(self._destroyed)

    def is_destroyed(self, key_id: bytes) -> bool:
        """Return whether a key is known to be destroyed."""
        return key_id in self._destroyed

    @property
    def lease_seconds(self) -> float:
        """How long others may go on to seal with a key after a newer one."""
        return self._lease or 0.0

    def ids_of(self, owner: Owner) -> tuple[bytes, ...]:
        """Return the ids of an owner's keys: none for who has none, or was erased."""
        return self._ids.get(owner.key, ())

    @property
    def owners(self) -> list[Owner]:
        """Whoever has a key."""
        return [Owner.of_key(key) for key in self._ids]

    def has_key(self, owner: Owner) -> bool:
        """Return whether an owner has a key to seal with."""
        return owner.key in self._ids

    async def make(self, owners: Iterable[Owner]) -> None:
        """Give each owner a key that is durable when this returns. Raises LogError."""
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
            await self.make(missing)  # who was making them may have failed

    async def renew(self, owner: Owner) -> None:
        """Give an owner another key, which seals from now on; the former ones still open. Raises LogError."""
        await self._append_new([owner])
        await self.follow()

    def sealing(self, owner: Owner) -> tuple[bytes, AESGCM]:
        """Return the id and the cipher that an owner's records are sealed with. Raises KeyError without a key."""
        key_id = self._ids[owner.key][-1]
        return key_id, self._cipher(key_id)

    async def opening(self, key_id: bytes) -> AESGCM | None:
        """Return the cipher of a key; None where the key was destroyed. Raises KeyUnknown, LogUnavailable."""
        if key_id not in self._wrapped and key_id not in self._destroyed:
            await self.follow()  # another worker has just made it
        if key_id in self._destroyed:
            return None
        if key_id not in self._wrapped:
            raise KeyUnknown(f"no key has the id {key_id.hex()}")
        return self._cipher(key_id)

    def derive(self, purpose: str, length: int = KEY_BYTES, *, of: Owner = INSTALLATION) -> bytes:
        """Return a key of the installation for one purpose, the same for all workers and master keys.

        Raises KeyError where it has none yet: `make` it for INSTALLATION, or whose it is to be `of`.
        """
        own = self._unwrapped(self._ids[of.key][0]).key
        return HKDF(hashes.SHA256(), length, None, f"mnemolog {purpose}".encode()).derive(own)

    def forget(self, key_ids: Iterable[bytes]) -> None:
        """Use keys no more, from now on: who returns gets a new one."""
        for key_id in key_ids:
            self._destroyed.add(key_id)
            if key_id not in self._wrapped:
                continue
            owner = self._unwrapped(key_id).owner.key
            if left := tuple(one for one in self._ids.get(owner, ()) if one != key_id):
                self._ids[owner] = left
            else:
                self._ids.pop(owner, None)
            del self._wrapped[key_id]
            self._ciphers.pop(key_id, None)

    async def destroy(self, key_ids: Iterable[bytes]) -> None:
        """Destroy keys: durably when this returns, and once however often it is said. Raises LogError."""
        ids = list(key_ids)
        self.forget(ids)
        if ids:
            await self._log.append([_tombstone(key_id) for key_id in ids])

    async def let_compact(self, now: datetime) -> None:
        """Append the newest tombstone once more where nothing was for as long as a segment may grow. Raises LogError.

        Kafka ends a segment when it appends, and compacts none before: without it a destroyed key would stay, wrapped,
        until somebody makes another one.
        """
        if self._unclosed is not None and now - self._unclosed[1] > SEGMENT_TIME + CLOCKS_DIFFER:
            await self._log.append([_tombstone(self._unclosed[0])])
            await self.follow()

    def use(self, masters: MasterKeys) -> None:
        """Take other master keys, which still hold those that wrap what there is."""
        self._masters = masters

    async def rotate(self) -> int:
        """Wrap every key by the newest master key; return how many were not. Others go on meanwhile. Raises LogError.

        It can be stopped and run again: keys that are wrapped by the newest already are left alone.
        """
        masters = self._require_masters()
        for one in list(self._appending):  # they may be wrapped by a master key that is no longer the newest
            await one.wait()
        await self.follow()
        old = [key_id for key_id, data in self._wrapped.items() if _data_key(data).kek_id != masters.newest]
        for start in range(0, len(old), KEYS_AT_ONCE):
            ids = [key_id for key_id in old[start : start + KEYS_AT_ONCE] if key_id in self._wrapped]
            await self._log.append([_record(masters.wrap(key_id, self._unwrapped(key_id))) for key_id in ids])
            await self.follow()
        return len(old)

    def wrapped_by(self) -> dict[str, int]:
        """Return how many keys each master key wraps."""
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
            log.error("the record at %s is no data key of ours, and passed over: %s", record.position, error)  # noqa: TRY400 - who wrote it is not us
            return
        if key_id in self._destroyed:
            revived.append(key_id)
            return
        self._wrapped[key_id] = record.value
        ids = self._ids.get(owner.key, ())
        if key_id not in ids:
            self._ids[owner.key] = (*ids, key_id)

    async def _append_new(self, owners: Iterable[Owner]) -> None:
        done = asyncio.Event()
        self._appending.add(done)
        try:
            await self._log.append([self._new(owner) for owner in owners])
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
        raise DataKeyForged("it lies under another id")
    return data_key
