"""Readiness of a server, checked over HTTP: a vendor's client may print its errors, and retry for long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import httpx

from projections.index.remote.failure import sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

READY_SECONDS: Final = 2.0


class HttpReadiness:
    """Requests one URL over a connection of its own, which is opened at the first request."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Request `url`, which answers with 2xx when the server is ready."""
        self._url = url
        self._headers = headers
        self._http: httpx.AsyncClient | None = None
        self._is_closed = False

    async def trouble(self) -> str | None:
        """Return why the server is not ready, after READY_SECONDS at the latest; None when it is."""
        if self._is_closed:
            return "it is asked no more: this worker stops"
        if self._http is None:
            self._http = httpx.AsyncClient(headers=self._headers, timeout=READY_SECONDS, trust_env=False)
        try:
            async with asyncio.timeout(READY_SECONDS):
                response = await self._http.get(self._url)
        except (TimeoutError, httpx.TimeoutException):
            return f"it does not answer within {READY_SECONDS:.0f} s"
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return sentence(error)
        return None if response.is_success else f"it says that it is not ready ({response.status_code})"

    async def close(self) -> None:
        """Close the connection, and send no further requests."""
        self._is_closed = True
        if self._http is not None:
            await self._http.aclose()
