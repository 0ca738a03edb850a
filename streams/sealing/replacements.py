"""Replacements: the rest of a user's records after the erasure of a memory, on a log that cannot be rewritten.

If a record's data key was destroyed, its replacement is read instead: the same message key, the same offset, and a
value without the erased words. Its key on `mnemolog.replacements` is the place of the record and the id of the data key
that seals it. So a replacement that is written late, under a destroyed key, never hides one that can be read.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from schemas.log import NewRecord
from schemas.topics import REPLACEMENTS
from streams.sealing import sealed_record
from streams.sealing.master_key import KEY_ID_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from schemas.identity import Owner
    from schemas.log import Log, Position, Record
    from streams.sealing.user_keys import UserKeys

log = logging.getLogger("mnemolog")
READ_AHEAD: Final = 200
"""Replacements are written in the order of what they replace, and mostly read in that order."""
TOMBSTONES_AT_ONCE: Final = 500


class Replacements:
    """Finds the replacement of a record by the record's place. Keeps the offsets of all in memory, and a few values.

    A data key is destroyed only after the replacements of the records that it sealed are durable. So a reader that
    knows that a key is destroyed, and then reads the topic to its end, has all of them.
    """

    def __init__(self, log: Log, keys: UserKeys) -> None:
        """Read and write the topic on the unsealed log. Nothing is read before it is needed."""
        self._log = log
        self._keys = keys
        self._next = 0
        self._offsets: dict[bytes, dict[bytes, int]] = {}
        """The offset of each replacement, by place and then by the id of its data key, in the order of the topic."""
        self._settled: frozenset[bytes] = frozenset()
        """The destroyed keys whose replacements were all read."""
        self._window: dict[int, Record] = {}
        self._following = asyncio.Lock()

    async def of(self, record: Record) -> Record | None:
        """Return the replacement of a record whose key was destroyed; None if nothing of it remains.

        Raises LogUnavailable, KeyUnknown, Tampered.
        """
        place, tried = _place(record.position), None
        keys = [sealed_record.key_id_of(record.value), *self._offsets.get(place, ())]
        if any(key_id not in self._settled and self._keys.ring.is_destroyed(key_id) for key_id in keys if key_id):
            await self.follow()
        while (found := self._newest(place)) is not None and found != tried:
            tried = found
            key_id, offset = found
            cipher = await self._keys.opening(key_id)
            lying = await self._read(offset) if cipher is not None else None
            if cipher is not None and lying is not None:
                key, value = sealed_record.open_sealed(cipher, place.decode(), lying.value)
                return replace(record, key=key, value=value)
            await self.follow()  # it was replaced once more
        return None

    def key_of(self, position: Position) -> bytes | None:
        """Return the id of the key that seals a position's replacement; None if there is none. Call `follow` before."""
        found = self._newest(_place(position))
        return found and found[0]

    async def put(self, owner: Owner, records: Sequence[Record]) -> None:
        """Write replacements for an owner's records, given in clear with their positions. Raises LogError.

        They are sealed with the owner's newest key, and take effect once the key of the original is destroyed.
        """
        key_id, cipher = self._keys.ring.sealing(owner)
        await self._log.append([_replacing(record, key_id, cipher) for record in records])

    async def trim(self, is_gone: Callable[[str, int, int], bool]) -> None:
        """Delete replacements that cannot be read: under a destroyed key, or of deleted records. Raises LogError.

        `is_gone` returns, by topic, partition and offset, whether a record was deleted.
        """
        await self.follow()
        useless = self._useless(is_gone)
        while some := list(islice(useless, TOMBSTONES_AT_ONCE)):
            await self._log.append([NewRecord(topic=REPLACEMENTS.name, partition=0, key=k, value=b"") for k in some])
        await self.follow()

    async def follow(self) -> None:
        """Read the topic to its present end. Raises LogUnavailable."""
        async with self._following:
            destroyed = self._keys.ring.destroyed
            while records := await self._log.read(REPLACEMENTS.name, 0, self._next):
                for record in records:
                    self._fold(record)
                self._next = records[-1].position.offset + 1
            self._settled = destroyed

    def _fold(self, record: Record) -> None:
        parts = _parts(record.key or b"")
        if parts is None:
            log.error("the record at %s is not a replacement that mnemolog wrote: skipped", record.position)
            return
        place, key_id = parts
        found = self._offsets.setdefault(place, {})
        found.pop(key_id, None)
        if record.value:
            found[key_id] = record.position.offset
        elif not found:
            del self._offsets[place]

    def _newest(self, place: bytes) -> tuple[bytes, int] | None:
        """Return the data key's id and the offset of the newest replacement that can still be decrypted."""
        found = self._offsets.get(place)
        if not found:
            return None
        return next((one for one in reversed(found.items()) if not self._keys.ring.is_destroyed(one[0])), None)

    async def _read(self, offset: int) -> Record | None:
        if offset not in self._window:
            records = await self._log.read(REPLACEMENTS.name, 0, offset, READ_AHEAD)
            self._window = {record.position.offset: record for record in records}
        return self._window.get(offset)

    def _useless(self, is_gone: Callable[[str, int, int], bool]) -> Iterator[bytes]:
        for place, found in list(self._offsets.items()):
            topic, partition, offset = place.decode().rsplit("/", 2)
            gone = is_gone(topic, int(partition), int(offset))
            yield from (place + b"/" + one.hex().encode() for one in found if gone or self._keys.ring.is_destroyed(one))


def _place(position: Position) -> bytes:
    return f"{position.topic}/{position.partition}/{position.offset}".encode()


def _parts(key: bytes) -> tuple[bytes, bytes] | None:
    """Return the place and the data key's id in a replacement's key; None if mnemolog did not write it."""
    try:
        topic, partition, offset, key_id = key.decode("ascii").split("/")
        place, found = f"{topic}/{int(partition)}/{int(offset)}".encode(), bytes.fromhex(key_id)
    except ValueError:
        return None
    return (place, found) if len(found) == KEY_ID_BYTES else None


def _replacing(record: Record, key_id: bytes, cipher: AESGCM) -> NewRecord:
    place = _place(record.position)
    value = sealed_record.seal(cipher, key_id, place.decode(), record.key, record.value)
    return NewRecord(topic=REPLACEMENTS.name, partition=0, key=place + b"/" + key_id.hex().encode(), value=value)
