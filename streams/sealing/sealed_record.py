"""The format of a sealed record: its key and value, encrypted under its owner's data key.

    C3 02 | id of the data key, 8 | nonce, 12 | AES-256-GCM of (length of the record's key, 2 | key | value)

The associated data are the marker, the key's id and the topic: the bytes decrypt on no other topic, and under no other
key. The record's own key, which names the user, is inside the ciphertext.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag

from streams.sealing.master_key import KEY_ID_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MARKER: Final = b"\xc3\x02"
"""Distinct from Avro's single-object encoding (C3 01), JSON, and the schema registry's format (00)."""
_NONCE_BYTES: Final = 12
_HEAD: Final = len(MARKER) + KEY_ID_BYTES
_NO_KEY: Final = 0xFFFF
OVERHEAD_BYTES: Final = _HEAD + _NONCE_BYTES + 2 + 16
"""The number of bytes of a sealed record in addition to its key and value."""


class Tampered(Exception):
    """The bytes were changed since they were sealed, or were sealed for another topic."""


def key_id_of(value: bytes) -> bytes | None:
    """Return the id of the data key that a value is sealed with; None if it is not sealed."""
    return value[len(MARKER) : _HEAD] if value[: len(MARKER)] == MARKER and len(value) >= OVERHEAD_BYTES else None


def seal(cipher: AESGCM, key_id: bytes, topic: str, key: bytes | None, value: bytes) -> bytes:
    """Return the sealed form of a record's key and value, for its topic."""
    head = MARKER + key_id
    nonce = os.urandom(_NONCE_BYTES)
    length = _NO_KEY if key is None else len(key)
    clear = b"".join((length.to_bytes(2, "big"), key or b"", value))
    return head + nonce + cipher.encrypt(nonce, clear, head + topic.encode())


def open_sealed(cipher: AESGCM, topic: str, value: bytes) -> tuple[bytes | None, bytes]:
    """Return the key and the value of a record. Raises Tampered."""
    try:
        clear = cipher.decrypt(
            value[_HEAD : _HEAD + _NONCE_BYTES], value[_HEAD + _NONCE_BYTES :], value[:_HEAD] + topic.encode()
        )
    except InvalidTag as error:
        raise Tampered("it was changed, or sealed for another topic") from error
    length = int.from_bytes(clear[:2], "big")
    if length == _NO_KEY:
        return None, clear[2:]
    return clear[2 : 2 + length], clear[2 + length :]
