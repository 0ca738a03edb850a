"""The key ring: the data keys on `mnemolog.keys` as far as read, their owners, and the ids of destroyed keys."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas import codec
from schemas.bounded_cache import BoundedCache
from schemas.identity import SYSTEM_TENANT, Owner
from schemas.log import LogError
from schemas.messages.data_keys import DataKey
from streams.sealing.master_key import KEY_BYTES, KEY_ID_BYTES, DataKeyForged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas.log import Record
    from streams.sealing.master_key import MasterKeys, UnwrappedKey

INSTALLATION: Final = Owner(SYSTEM_TENANT, "*")
"""The owner of the key for records that belong to no user, or must outlive their user."""
IDS: Final = Owner(SYSTEM_TENANT, "ids")
"""The owner of the key that goes into ids derived from words, if an installation has one."""
CACHED_CIPHERS: Final = 4_096
"""The most data keys that are kept unwrapped in memory."""


class KeysMissing(LogError):
    """The log is encrypted, and the keys that would decrypt it are missing; the text says what to do."""


class KeyRing:
    """Data keys, wrapped, and those in use also unwrapped. A user normally has one.

    If two workers created one at the same moment, both remain valid for what they sealed, and the later one seals
    from then on. A destroyed key never comes back.
    """

    def __init__(self, masters: MasterKeys | None) -> None:
        """Begin empty. Without master keys nothing can be wrapped or unwrapped."""
        self._masters = masters
        self._wrapped: dict[bytes, bytes] = {}
        """The encoded DataKey of each id."""
        self._ids: dict[bytes, tuple[bytes, ...]] = {}
        """The ids of each owner's keys, by the owner's message key, in the order in which they were created."""
        self._offsets: dict[bytes, int] = {}
        """The offset of each key's newest record."""
        self._destroyed: set[bytes] = set()
        self._ciphers = BoundedCache[bytes, AESGCM](CACHED_CIPHERS)

    @property
    def is_empty(self) -> bool:
        """Whether the topic never had a key, so that nothing was ever sealed."""
        return not self._wrapped and not self._destroyed

    @property
    def destroyed(self) -> frozenset[bytes]:
        """The ids of the keys that are known to be destroyed."""
        return frozenset(self._destroyed)

    def is_destroyed(self, key_id: bytes) -> bool:
        """Return whether a key is known to be destroyed."""
        return key_id in self._destroyed

    def knows(self, key_id: bytes) -> bool:
        """Return whether a key is in the ring, or is known to be destroyed."""
        return key_id in self._wrapped or key_id in self._destroyed

    def ids_of(self, owner: Owner) -> tuple[bytes, ...]:
        """Return the ids of an owner's keys: empty for an unknown or erased one."""
        return self._ids.get(owner.key, ())

    @property
    def owners(self) -> list[Owner]:
        """The owners that have a key."""
        return [Owner.of_key(key) for key in self._ids]

    def has_key(self, owner: Owner) -> bool:
        """Return whether an owner has a key to seal with."""
        return owner.key in self._ids

    def sealing(self, owner: Owner) -> tuple[bytes, AESGCM]:
        """Return the id and the cipher of the key that seals an owner's records. Raises KeyError without one."""
        key_id = self._ids[owner.key][-1]
        return key_id, self.cipher(key_id)

    def cipher(self, key_id: bytes) -> AESGCM:
        """Return the cipher of a key that is not destroyed. Raises KeyError if none has the id."""
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            cipher = AESGCM(self.unwrapped(key_id).key)
            self._ciphers.put(key_id, cipher)
        return cipher

    def derive(self, purpose: str, length: int = KEY_BYTES, *, of: Owner = INSTALLATION) -> bytes | None:
        """Return a key derived for one purpose, the same on all workers and after rotations of the master key.

        It is derived from the first data key of `of`. Returns None if there is none.
        """
        if not self.has_key(of):
            return None
        own = self.unwrapped(self._ids[of.key][0]).key
        return HKDF(hashes.SHA256(), length, None, f"mnemolog {purpose}".encode()).derive(own)

    def put(self, record: Record) -> bool:
        """Add the record of a data key; return whether its key is a destroyed one, which stays destroyed.

        Raises MasterKeyUnknown, KeysMissing; Undecodable, DataKeyForged if mnemolog has not written it.
        """
        key_id, data_key = record.key or b"", _data_key(record.value)
        if data_key.key_id != key_id or len(key_id) != KEY_ID_BYTES:
            raise DataKeyForged("it stands under another key's id")
        owner = self.masters.unwrap(data_key).owner
        if key_id in self._destroyed:
            return True
        self._wrapped[key_id] = record.value
        self._offsets[key_id] = record.position.offset
        ids = self._ids.get(owner.key, ())
        if key_id not in ids:
            self._ids[owner.key] = (*ids, key_id)
        return False

    def forget(self, key_ids: Iterable[bytes]) -> None:
        """Stop using keys from now on; their owners get new ones when they return."""
        for key_id in key_ids:
            self._destroyed.add(key_id)
            if key_id not in self._wrapped:
                continue
            owner = self.unwrapped(key_id).owner.key
            if left := tuple(one for one in self._ids.get(owner, ()) if one != key_id):
                self._ids[owner] = left
            else:
                self._ids.pop(owner, None)
            del self._wrapped[key_id], self._offsets[key_id]
            self._ciphers.pop(key_id)

    def use(self, masters: MasterKeys) -> None:
        """Replace the master keys. The new set must still contain those that wrap existing keys."""
        self._masters = masters

    @property
    def masters(self) -> MasterKeys:
        """The master keys. Raises KeysMissing without any."""
        if self._masters is None:
            raise KeysMissing(
                "the log is encrypted, and its master key was not given: set MNEMOLOG_MASTER_KEY or "
                "MNEMOLOG_MASTER_KEY_FILE to it, or put it back into keys/master"
            )
        return self._masters

    def unwrapped(self, key_id: bytes) -> UnwrappedKey:
        """Return a key that is not destroyed. Raises KeyError if none has the id, MasterKeyUnknown."""
        return self.masters.unwrap(_data_key(self._wrapped[key_id]))

    def wrapped_by(self) -> dict[str, int]:
        """Return the number of data keys that each master key wraps, by its id."""
        return Counter(_data_key(data).kek_id for data in self._wrapped.values())

    def outdated(self) -> tuple[int, list[Owner]]:
        """Return the number of keys wrapped by an older master key, and the owners of such or of disordered keys."""
        old = {key_id for key_id, data in self._wrapped.items() if _data_key(data).kek_id != self.masters.newest}
        owners = self.owners
        return len(old), [o for o in owners if not old.isdisjoint(self.ids_of(o)) or not self.are_in_order(o)]

    def are_in_order(self, owner: Owner) -> bool:
        """Return whether an owner's keys would be read in their order if each key's newest record alone were left."""
        return all(self._offsets[one] < self._offsets[other] for one, other in pairwise(self.ids_of(owner)))


def _data_key(data: bytes) -> DataKey:
    return codec.decode_as(data, DataKey)
