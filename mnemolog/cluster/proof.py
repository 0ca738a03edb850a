"""Proofs: signatures of requests between workers, which only a worker with the secret of the group can create.

A signature is the HMAC-SHA256, with a key that HKDF derives from CLUSTER_SECRET, of the method, target, receiver,
sender, principal, headers, body, time and nonce. During a rotation a request is signed with both secrets, and one
signature that the receiver can verify is enough.
"""

from __future__ import annotations

import hmac
import re
import time
from collections import OrderedDict
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Final, NamedTuple

import httpx
import orjson
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PROOF: Final = "mnemolog-proof"
"""The header with the signatures, and with the time, nonce and body hash that they cover."""
SKEW_SECONDS: Final = 30.0
"""The allowed difference between the clocks of two workers, including the time on the network."""
MOST_NONCES: Final = 200_000
"""The nonces kept, each for at most 2 * SKEW_SECONDS. Beyond it, requests older than the oldest kept are refused."""
SIGNED_HEADERS: Final = ("accept", "content-type", "idempotency-key", "last-event-id")
"""The headers of a caller's request that routes read; they are forwarded to other workers and signed."""
_PURPOSE: Final = b"mnemolog: requests between workers, 1"
_HEADER: Final = re.compile(r"2;(\d{1,15});([0-9a-f]{32});([0-9a-f]{64});([0-9a-f]{64})(?:;([0-9a-f]{64}))?")


class NotProven(Exception):
    """A request without proof that a worker of the group sent it; the message says why."""


class Covered(NamedTuple):
    """The signed parts of a request except its body. No worker but the receiver accepts the signature."""

    method: str
    target: str
    """The path and the query as sent."""
    receiver: str
    sender: str
    principal: str
    """The caller's statement, or "" for the worker's own requests."""
    headers: str
    """The headers of SIGNED_HEADERS in the request, as `signed_headers` returns them."""


class Proof:
    """Signs requests to other workers, and verifies requests from them. Each signature is accepted once."""

    def __init__(self, secrets: Sequence[bytes], clock: Callable[[], float] = time.time) -> None:
        """`secrets` are one secret, or two during a rotation. `clock` returns seconds since 1970."""
        self._keys = [_derived(secret) for secret in secrets]
        self._clock = clock
        self._seen: OrderedDict[str, float] = OrderedDict()
        # A request that an earlier process may have seen is refused. Times are signed in whole milliseconds.
        self._floor = clock() - 0.002

    def sign(self, covered: Covered, body: bytes) -> str:
        """Return the value of the header PROOF for a request."""
        parameters = (round(self._clock() * 1000), token_hex(16), sha256(body).hexdigest())
        return ";".join(["2", *map(str, parameters), *self._signatures(covered, *parameters)])

    def verify(self, covered: Covered, header: str | None) -> str:
        """Return the hexadecimal SHA-256 that the body must have. Raises NotProven, also for a repeated header."""
        found = _HEADER.fullmatch(header or "")
        if found is None:
            raise NotProven("it is not signed")
        milliseconds, nonce, body = int(found[1]), found[2], found[3]
        given = [signature for signature in (found[4], found[5]) if signature]
        known = self._signatures(covered, milliseconds, nonce, body)
        if not any([hmac.compare_digest(ours, theirs) for ours in known for theirs in given]):  # noqa: C419 - in constant time
            raise NotProven("it is signed with another secret, for another worker, or was changed on its way")
        self._count_once(milliseconds / 1000, nonce)
        return body

    def _signatures(self, covered: Covered, milliseconds: int, nonce: str, body: str) -> list[str]:
        message = orjson.dumps([2, *covered, milliseconds, nonce, body])
        return [hmac.digest(key, message, "sha256").hex() for key in self._keys]

    def _count_once(self, signed_at: float, nonce: str) -> None:
        now = self._clock()
        if abs(now - signed_at) > SKEW_SECONDS:
            detail = (
                f"it was signed {now - signed_at:.0f} s ago by this worker's clock: set the clocks of both machines"
            )
            raise NotProven(detail)
        if nonce in self._seen or signed_at <= self._floor:
            raise NotProven("it came before, or may have: send it anew")
        self._seen[nonce] = signed_at
        while self._seen:
            oldest, at = next(iter(self._seen.items()))
            if len(self._seen) <= MOST_NONCES and now - at <= SKEW_SECONDS:
                break
            del self._seen[oldest]
            self._floor = max(self._floor, at)


def signed_headers(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the signed headers of a request in canonical form. Raises NotProven if one occurs twice."""
    found: dict[str, str] = {}
    for raw, value in headers:
        name = raw.decode("latin-1").lower()
        if name in SIGNED_HEADERS:
            if name in found:
                raise NotProven(f"it has {name} twice")
            found[name] = value.decode("latin-1").strip()
    return orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode()


def normalised(url: str) -> str:
    """Return a worker's URL in the canonical form that both sides sign."""
    return str(httpx.URL(url)).rstrip("/")


def _derived(secret: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(secret)
