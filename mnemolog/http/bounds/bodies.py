"""Bodies of requests, read completely: bounded by path, by a deadline, and by their total in the worker."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mnemolog.access.principal import PRINCIPAL
from mnemolog.http.authentication import BETWEEN_WORKERS
from mnemolog.http.problems import Problem

if TYPE_CHECKING:
    from contextlib import ExitStack

    from starlette.types import Message, Receive, Scope

    from mnemolog.access.principal import Principal

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""The maximum size of a body with many events or memories."""
MAX_SMALL_BODY_BYTES: Final = 512 * 1024
"""The maximum size of any other body; enough for the largest content and metadata, fully escaped, or for 1,000 ids."""
LARGE: Final = frozenset(
    {"/v1/events", "/v1/conversations", "/v1/import", "/v3/memories/add/", "/v1/memories/", "/memories", "/v1/batch/"}
)
MAX_BYTES_IN_FLIGHT: Final = 64 * 1024 * 1024
"""The maximum size of all bodies whose requests are not answered yet; parsed JSON takes several times as much."""
SHARE_OF_A_TENANT: Final = 0.5
"""A tenant's maximum share of these bytes, which leaves room for the others. Callers without keys are not limited."""
FREE_BYTES: Final = 64 * 1024
"""The first bytes of each body, which do not count, so that small requests succeed while large ones fill the budget."""
BODY_SECONDS: Final = 30.0
"""The maximum time from the head of a request to the end of its body."""
_CODINGS: Final = (b"identity", b"gzip", b"x-gzip", b"deflate")
_ANY_HEAD: Final = 32 + zlib.MAX_WBITS
_MARK: Final = b"\xef\xbb\xbf"
_ESCAPE: Final = re.compile(
    rb"(?:\\[^u])+|\\u(?:[dD][89abAB][0-9a-fA-F]{2}(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|[dD][c-fC-F][0-9a-fA-F]{2})",
    re.DOTALL,
)
"""Escapes in JSON; the group is a low surrogate that follows its high surrogate."""
_HALF: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


class Gone(Exception):
    """The caller hung up before the body was complete."""


class Bodies:
    """Reads the bodies of a worker's requests."""

    def __init__(self, most_in_flight: int = MAX_BYTES_IN_FLIGHT, seconds: float = BODY_SECONDS) -> None:
        self._most_in_flight = most_in_flight
        self._seconds = seconds
        self.in_flight = 0
        self._of_tenants: Counter[str] = Counter()

    async def read(self, scope: Scope, receive: Receive, until_answered: ExitStack) -> bytes:
        """Return the whole body in plain UTF-8, which counts until the request is answered. Raises Problem, Gone.

        A compressed body is decompressed, and the headers are changed accordingly. What arrives of a refused body after
        the answer is discarded, for as long as a head may take.
        """
        coding = dict(scope["headers"]).get(b"content-encoding", b"identity").strip().lower()
        if coding not in _CODINGS:
            detail = f"the body is in {coding.decode('latin-1')!r}: send it as it is, or in gzip"
            accepted = {"Accept-Encoding": "gzip, identity"}
            raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail, headers=accepted)
        body = await self._whole(scope, receive, until_answered)
        if coding != b"identity":
            most = most_bytes(scope["path"])
            spelt, body = len(body), _inflated(body, most)
            self._take(max(0, len(body) - max(spelt, FREE_BYTES)), _tenant(scope), until_answered)
            given = [(k, v) for k, v in scope["headers"] if k not in (b"content-encoding", b"content-length")]
            scope["headers"] = [*given, (b"content-length", str(len(body)).encode())]
        return plain(body)

    async def _whole(self, scope: Scope, receive: Receive, until_answered: ExitStack) -> bytes:
        most = most_bytes(scope["path"])
        headers = dict(scope["headers"])
        if b"content-length" not in headers and b"transfer-encoding" not in headers:
            message = await receive()  # there is no body, and nothing to wait for
            if message["type"] == "http.request" and not message.get("body") and not message.get("more_body", False):
                return b""
            receive = _after(message, receive)
        announced = headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced) > most:
            raise _too_large(most)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._read(receive, most, _tenant(scope), until_answered)
        except TimeoutError:
            detail = f"the body was not complete after {self._seconds:g} s: send less at once"
            raise Problem(HTTPStatus.REQUEST_TIMEOUT, detail) from None

    async def _read(self, receive: Receive, most: int, tenant: str | None, until_answered: ExitStack) -> bytes:
        parts: list[bytes] = []
        size = counted = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > most:
                raise _too_large(most)
            if size - FREE_BYTES > counted:
                self._take(size - FREE_BYTES - counted, tenant, until_answered)
                counted = size - FREE_BYTES
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)

    def _take(self, size: int, tenant: str | None, until_answered: ExitStack) -> None:
        is_greedy = tenant is not None and self._of_tenants[tenant] + size > SHARE_OF_A_TENANT * self._most_in_flight
        if is_greedy or self.in_flight + size > self._most_in_flight:
            detail = "many large requests are being answered: ask again in a moment, or send less at once"
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail)
        self.in_flight += size
        if tenant is not None:
            self._of_tenants[tenant] += size
        until_answered.callback(self._give_back, size, tenant)

    def _give_back(self, size: int, tenant: str | None) -> None:
        self.in_flight -= size
        if tenant is not None:
            self._of_tenants[tenant] -= size
            if not self._of_tenants[tenant]:
                del self._of_tenants[tenant]


def plain(body: bytes) -> bytes:
    """Return JSON without a byte order mark, and with U+FFFD for each lone surrogate."""
    body = body.removeprefix(_MARK)
    if b"\xed" in body:
        body = _HALF.sub("\ufffd".encode(), body)
    return _ESCAPE.sub(_whole_character, body) if b"\\ud" in body or b"\\uD" in body else body


def _whole_character(escape: re.Match[bytes]) -> bytes:
    is_half = escape[0][:2] == b"\\u" and escape[1] is None
    return b"\\ufffd" if is_half else escape[0]


def _inflated(body: bytes, most: int) -> bytes:
    """Return the decompressed body. Raises Problem."""
    inflate = zlib.decompressobj(_ANY_HEAD)
    try:
        found = inflate.decompress(body, most + 1)
    except zlib.error as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body is not compressed as its Content-Encoding says") from error
    if len(found) > most:
        raise _too_large(most)
    if not inflate.eof:
        raise Problem(HTTPStatus.BAD_REQUEST, "the compressed body is not complete")
    return found


def _after(message: Message, receive: Receive) -> Receive:
    """Return a `receive` that yields this message first."""
    first = [message]

    async def received() -> Message:
        return first.pop() if first else await receive()

    return received


def _tenant(scope: Scope) -> str | None:
    """Return the tenant of the caller's key; None without keys and for another worker."""
    principal: Principal | None = scope.get(PRINCIPAL)
    return None if principal is None or principal.key_id is None else principal.tenant


def most_bytes(path: str) -> int:
    """Return the maximum size of a body for a path, in bytes."""
    if path.startswith(BETWEEN_WORKERS):
        return 2 * MAX_BODY_BYTES  # Base64, a third longer than the callers' bodies
    return MAX_BODY_BYTES if path in LARGE else MAX_SMALL_BODY_BYTES


def _too_large(most: int) -> Problem:
    detail = f"a request to this path holds at most {most} bytes: send it in parts"
    return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
