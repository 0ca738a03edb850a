"""Signatures of deliveries, after the specification that is called Standard Webhooks.

Receivers check them with any of its libraries: `webhook-signature` holds `v1,` and the base64 of HMAC-SHA256, with the
secret as its key, over `webhook-id`, `webhook-timestamp` (in seconds since 1970) and the body, with points between.
While a secret is changed there are two signatures with a space between, one of each secret.
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
"""As the specification has it."""


def new_secret() -> bytes:
    """Return a new secret, 32 random bytes."""
    return os.urandom(NEW_BYTES)


def spelt(secret: bytes) -> str:
    """Return a secret as text: `whsec_` and base64."""
    return PREFIX + b64encode(secret).decode()


def read_secret(text: str) -> bytes:
    """Return the secret that a text spells. Raises ValueError, which does not quote it."""
    try:
        secret = b64decode(text.removeprefix(PREFIX), validate=True)
    except ValueError:
        secret = b""
    if not text.startswith(PREFIX) or not LEAST_BYTES <= len(secret) <= MOST_BYTES:
        raise ValueError(f"must be {PREFIX} and {LEAST_BYTES} to {MOST_BYTES} bytes in base64, or be left out")
    return secret


def signed_headers(secrets: Iterable[bytes], message_id: str, sent_at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers that let a receiver check who has sent a body, and that it is not old.

    Each secret signs: a receiver takes the body when one signature is that of a secret it knows.
    """
    timestamp = str(int(sent_at.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signatures = [f"v1,{b64encode(hmac.digest(secret, signed, sha256)).decode()}" for secret in secrets]
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": " ".join(signatures)}
