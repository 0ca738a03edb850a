"""Signatures of deliveries, according to the Standard Webhooks specification.

Receivers check them with any of its libraries: `webhook-signature` holds `v1,` and the base64 of an HMAC-SHA256, with
the secret as its key, of `webhook-id`, `webhook-timestamp` (in seconds since 1970) and the body, joined by dots. During
a rotation there is a signature for each secret, separated by spaces.
"""

from __future__ import annotations

import hmac
import os
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

PREFIX: Final = "whsec_"
NEW_BYTES: Final = 32
LEAST_BYTES, MOST_BYTES = 24, 64
"""The limits of the specification for the length of a secret."""


def new_secret() -> bytes:
    """Return a new secret, 32 random bytes."""
    return os.urandom(NEW_BYTES)


def spelt(secret: bytes) -> str:
    """Return a secret as text: `whsec_` and base64."""
    return PREFIX + b64encode(secret).decode()


def read_secret(text: str) -> bytes:
    """Return the secret in a text. Raises ValueError, whose message does not quote the text."""
    try:
        secret = b64decode(text.removeprefix(PREFIX), validate=True)
    except ValueError:
        secret = b""
    if not text.startswith(PREFIX) or not LEAST_BYTES <= len(secret) <= MOST_BYTES:
        raise ValueError(f"must be {PREFIX} and {LEAST_BYTES} to {MOST_BYTES} bytes in base64, or be left out")
    return secret


def signed_headers(secrets: Iterable[bytes], message_id: str, sent_at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver can check the sender and the age of a delivery.

    There is a signature for each secret; a receiver accepts the body if it can verify one of them.
    """
    timestamp = str(int(sent_at.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signatures = [f"v1,{b64encode(hmac.digest(secret, signed, sha256)).decode()}" for secret in secrets]
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": " ".join(signatures)}
