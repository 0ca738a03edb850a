"""Master keys: they wrap (encrypt) the users' data keys, and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from schemas.identity import Owner
from schemas.log import LogError
from schemas.messages.data_keys import DataKey

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY_BYTES: Final = 32
PUT_BACK: Final = "put it back into keys/master, or set MNEMOLOG_MASTER_KEY or MNEMOLOG_MASTER_KEY_FILE to it"
"""The remedy if a master key of the data directory is missing."""
KEY_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_LABEL: Final = b"mnemolog data key\0"


class MasterKeyUnknown(LogError):
    """A data key is wrapped by a master key that we do not have; the text says what to do."""


class DataKeyForged(Exception):
    """A record of `mnemolog.keys` was not written by this installation."""


@dataclass(frozen=True, slots=True)
class UnwrappedKey:
    """A data key in clear, and its owner."""

    owner: Owner
    key: bytes


class MasterKeys:
    """The master keys of an installation: the newest wraps, and all of them unwrap."""

    def __init__(self, keys: Sequence[bytes], source: str = "what was given", advice: str = PUT_BACK) -> None:
        """Take one or more keys of 32 bytes, the newest first. Raises ValueError.

        `source` names the place they were read from, and `advice` is the remedy for a missing one.
        """
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise ValueError(f"a master key has {KEY_BYTES} bytes")
        self._by_id = {key_id_of(key): AESGCM(key) for key in reversed(keys)}
        self.newest = key_id_of(keys[0])
        self._source = source
        self._advice = advice

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys."""
        return tuple(self._by_id)

    def wrap(self, key_id: bytes, unwrapped: UnwrappedKey) -> DataKey:
        """Return a data key, wrapped by the newest master key."""
        nonce = os.urandom(_NONCE_BYTES)
        clear = unwrapped.key + unwrapped.owner.key
        sealed = self._by_id[self.newest].encrypt(nonce, clear, _associated(key_id, self.newest))
        return DataKey(key_id=key_id, kek_id=self.newest, wrapped=nonce + sealed)

    def unwrap(self, data_key: DataKey) -> UnwrappedKey:
        """Return a data key in clear. Raises MasterKeyUnknown, DataKeyForged."""
        cipher = self._by_id.get(data_key.kek_id)
        if cipher is None:
            raise MasterKeyUnknown(
                f"the log was encrypted with the master key {data_key.kek_id}, which was not given: "
                f"{self._source} has {' and '.join(self.ids)}; {self._advice}"
            )
        nonce, sealed = data_key.wrapped[:_NONCE_BYTES], data_key.wrapped[_NONCE_BYTES:]
        try:
            clear = cipher.decrypt(nonce, sealed, _associated(data_key.key_id, data_key.kek_id))
            return UnwrappedKey(Owner.of_key(clear[KEY_BYTES:]), clear[:KEY_BYTES])
        except (InvalidTag, ValueError) as error:
            raise DataKeyForged("it was not wrapped by the master key that it names") from error


def key_id_of(master_key: bytes) -> str:
    """Return the id of a master key, which reveals nothing about the key: 16 hexadecimal digits."""
    return sha256(b"mnemolog master key\0" + master_key).hexdigest()[:16]


def _associated(key_id: bytes, kek_id: str) -> bytes:
    return _LABEL + key_id + kek_id.encode()
