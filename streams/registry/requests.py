"""Requests to a schema registry: what counts as its answer, and that its password is in no log."""

from __future__ import annotations

import re
from typing import Any, Final

import httpx
import orjson

ASK_SECONDS: Final = 10.0
MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"


class RegistryUnavailable(Exception):
    """The registry cannot be reached, or does not answer as one: try again later."""


def shown(url: str) -> str:
    """Return a URL as it may be told: without the name and password in it."""
    return re.sub(r"//[^/@]*@", "//", url)


def told(answer: httpx.Response) -> dict[str, Any]:
    """Return the JSON object that is answered, empty where none is."""
    try:
        found = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


class RegistryCalls:
    """One registry's HTTP."""

    def __init__(self, url: str) -> None:
        """Name the registry, with name and password in the URL where it wants them; nothing is asked yet."""
        self.url = shown(url)
        whole = httpx.URL(url)
        self._http = httpx.AsyncClient(
            base_url=self.url.rstrip("/"),
            auth=(whole.username, whole.password) if whole.username else None,  # httpx would log them with the URL
            timeout=ASK_SECONDS,
            headers={"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE},
        )

    async def aclose(self) -> None:
        """Ask no more."""
        await self._http.aclose()

    async def request(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Return what is answered, whatever it is. Raises RegistryUnavailable where nobody answers."""
        content = None if body is None else orjson.dumps(body)
        try:
            return await self._http.request(method, path, content=content)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise RegistryUnavailable(f"{self.url} cannot be reached ({reason})") from error

    def answered(self, answer: httpx.Response) -> dict[str, Any]:
        """Return a registry's answer. Raises RegistryUnavailable for what is none."""
        found = told(answer)
        if answer.is_success and found:
            return found
        said = found.get("message") or "that is no answer of a registry, look at the URL"
        raise RegistryUnavailable(f"{self.url} answers {answer.status_code} ({said})")
