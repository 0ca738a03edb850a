"""Whether Weaviate is ready. Asked by us: its client prints what went wrong, and says no more than no."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import httpx

from projections.index.weaviate.errors import sentence

if TYPE_CHECKING:
    from projections.index.weaviate.address import WeaviateAddress

log = logging.getLogger("mnemolog.index")
READY_SECONDS: Final = 2.0


class WeaviateReadiness:
    """Asks over a connection of its own, which is opened at the first question."""

    def __init__(self, address: WeaviateAddress, api_key: str | None) -> None:
        """`api_key`: None where Weaviate lets everybody in."""
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._url = f"{'https' if address.secure else 'http'}://{host}:{address.http}/v1/.well-known/ready"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http: httpx.AsyncClient | None = None
        self._is_closed = False

    async def trouble(self) -> str | None:
        """Return why Weaviate is not ready, after READY_SECONDS at the latest; None when it is."""
        if self._is_closed:
            return "it is asked no more: this worker stops"
        if self._http is None:
            self._http = httpx.AsyncClient(headers=self._headers, timeout=READY_SECONDS, trust_env=False)
        try:
            async with asyncio.timeout(READY_SECONDS):
                answer = await self._http.get(self._url)
        except (TimeoutError, httpx.TimeoutException):
            return f"it does not answer within {READY_SECONDS:.0f} s"
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return sentence(error)
        return None if answer.is_success else f"it says that it is not ready ({answer.status_code})"

    async def close(self) -> None:
        """Close the connection, and ask no more."""
        self._is_closed = True
        if self._http is not None:
            await self._http.aclose()


class Outages:
    """Logs once when the index goes away, and once when it answers again, however many notice."""

    def __init__(self, address: WeaviateAddress) -> None:
        """Nothing is known yet, and nothing is said until it is away."""
        self._address = address
        self._is_away = False

    def away(self, why: object) -> None:
        """Note that it does not answer; `why` names the address."""
        if not self._is_away:
            self._is_away = True
            log.warning(
                "the index is away: %s. Searches answer 503; all else goes on, and it is told when it is back", why
            )

    def answers(self) -> None:
        """Note that it answers."""
        if self._is_away:
            self._is_away = False
            log.info("the index at %s answers again, and is brought up to date", self._address)
