"""A sealed record: its key and value under its owner's data key.

    C3 02 | id of the data key, 8 | nonce, 12 | AES-256-GCM of (length of the record's key, 2 | key | value)

The associated data are what stands before the ciphertext, and the topic: sealed bytes mean nothing on another topic or
under another key. Whose record it is stands within, so that a record carries no name outside.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag

from streams.sealing.master_key import KEY_ID_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MARKER: Final = b"\xc3\x02"
"""The second byte is neither that of Avro's single-object encoding nor the beginning of JSON or of a registry's id."""
_NONCE_BYTES: Final = 12
_HEAD: Final = len(MARKER) + KEY_ID_BYTES
_NO_KEY: Final = 0xFFFF
OVERHEAD_BYTES: Final = _HEAD + _NONCE_BYTES + 2 + 16
"""How much longer a sealed record is than its key and value."""


class Tampered(Exception):
    """The bytes are not what was sealed, or not for this topic."""


def key_id_of(value: bytes) -> bytes | None:
    """Return the id of the data key that a value is sealed with; None for one that lies in clear."""
    return value[len(MARKER) : _HEAD] if value[: len(MARKER)] == MARKER and len(value) >= OVERHEAD_BYTES else None


def seal(cipher: AESGCM, key_id: bytes, topic: str, key: bytes | None, value: bytes) -> bytes:
    """Return a record's key and value, sealed for its topic."""
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
        raise Tampered("it is not what was sealed for this topic") from error
    length = int.from_bytes(clear[:2], "big")
    if length == _NO_KEY:
        return None, clear[2:]
    return clear[2 : 2 + length], clear[2 + length :]
