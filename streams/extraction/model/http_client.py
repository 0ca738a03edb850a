"""The HTTP client of the model's client: it sends the requests of the `openai` library over aiohttp."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import aiohttp
import httpx2

from projections.http_session import read_bounded, session_with

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OF_THE_CONNECTION: Final = frozenset({"host", "connection", "content-length", "accept-encoding"})
"""Headers of a request that aiohttp sets itself."""
_OF_THE_CODING: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})
"""Headers of an answer that no longer apply once it has been read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of an endpoint."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request without its content."""

    what: tuple[str, str, float | None]
    """The method, the URL, and the most seconds to wait for bytes."""
    headers: list[tuple[str, str]]
    timeout: aiohttp.ClientTimeout


_HAD: ContextVar[Answer | None] = ContextVar("the answer that is there already", default=None)


@contextmanager
def answered(answer: Answer | None) -> Iterator[None]:
    """Answer the requests of this task with an existing answer, unless it is None."""
    token = _HAD.set(answer)
    try:
        yield
    finally:
        _HAD.reset(token)


class HttpClient(httpx2.AsyncClient):
    """An httpx2 client reduced to requests and answers, because pool, streams and hooks took most of its time."""

    def __init__(self, url: str, timeout_seconds: float) -> None:
        """Connect to nothing yet. All requests go to the host of `url`."""
        super().__init__(trust_env=False)
        self._url, self._seconds = url, timeout_seconds
        self._has_own_credentials = urlsplit(url).username is not None
        self._session: aiohttp.ClientSession | None = None  # made in the loop that uses it
        self._urls: dict[str, httpx2.URL] = {}
        self._last: _Asked | None = None

    def build_request(self, method: str, url: httpx2.URL | str, **parts: Any) -> httpx2.Request:  # noqa: ANN401 - httpx2's own parameters
        """Return a request with only the given parts; `url` is absolute."""
        at = self._urls.setdefault(str(url), httpx2.URL(url))
        limits = httpx2.Timeout(parts["timeout"]).as_dict()
        content, headers, query = parts.get("content"), parts["headers"], parts.get("params")
        return httpx2.Request(
            method, at, params=query, headers=headers, content=content, extensions={"timeout": limits}
        )

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:  # noqa: ANN401 - httpx2's own options, of which none is used
        """Return the answer, read to its end. Raises httpx2.RequestError, including TimeoutException."""
        if (had := _HAD.get()) is not None:
            return httpx2.Response(had.status, headers=had.headers, content=had.content, request=request)
        left_out = _OF_THE_CONNECTION
        if self._has_own_credentials:  # those of the URL take precedence
            left_out |= {"authorization"}
        headers = [(name, value) for name, value in request.headers.multi_items() if name not in left_out]
        url, seconds = str(request.url), request.extensions.get("timeout", {})
        answer = await self._ask(request.method, url, headers, request.content or None, _timeout(seconds))
        self._last = _Asked((request.method, url, seconds.get("read")), headers, _timeout(seconds))
        return httpx2.Response(answer.status, headers=answer.headers, content=answer.content, request=request)

    async def again(self, method: str, url: str, content: bytes, seconds: float) -> Answer | None:
        """Return the answer to a request that differs from the last one only in its content; None if it differs more.

        It reuses the headers of the last request. Raises the same errors as `send`.
        """
        last = self._last
        if last is None or last.what != (method, url, seconds):
            return None
        return await self._ask(method, url, last.headers, content, last.timeout)

    async def _ask(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        content: bytes | None,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - of aiohttp, which keeps it
    ) -> Answer:
        if self._session is None:
            self._session = session_with(self._url, self._seconds)
        try:
            async with self._session.request(
                method, url, data=content, headers=headers, timeout=timeout, allow_redirects=False
            ) as answer:
                read = await read_bounded(answer)
        except TimeoutError as error:
            raise httpx2.ReadTimeout(str(error)) from error
        except aiohttp.ClientConnectionError as error:
            raise httpx2.ConnectError(str(error)) from error
        except (aiohttp.ClientError, ValueError) as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _OF_THE_CODING]
        return Answer(answer.status, kept, read)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
        await super().aclose()


def _timeout(seconds: Mapping[str, float | None]) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=seconds.get("connect"), sock_read=seconds.get("read"))
