"""Requests to a schema registry. Its password never appears in logs or errors."""

from __future__ import annotations

import re
from typing import Any, Final

import httpx
import orjson

TIMEOUT_SECONDS: Final = 10.0
MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"


class RegistryUnavailable(Exception):
    """The registry cannot be reached, or something else answers in its place: try again later."""


def without_password(url: str) -> str:
    """Return a URL without the name and password in it, for logs and errors."""
    return re.sub(r"//[^/@]*@", "//", url)


def json_object(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object in a response; an empty one if there is none."""
    try:
        body = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


class RegistryClient:
    """The HTTP client of one registry."""

    def __init__(self, url: str) -> None:
        """Connect to nothing yet. The URL may contain a name and a password."""
        self.url = without_password(url)
        address = httpx.URL(url)
        self._http = httpx.AsyncClient(
            base_url=self.url.rstrip("/"),
            auth=(address.username, address.password)
            if address.username
            else None,  # httpx would log them with the URL
            timeout=TIMEOUT_SECONDS,
            verify=httpx.create_ssl_context(),  # respects SSL_CERT_FILE
            trust_env=False,  # keep its password and our schemas away from proxies
            headers={"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE},
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def request(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Return the response, whatever its status. Raises RegistryUnavailable if there is none."""
        content = None if body is None else orjson.dumps(body)
        try:
            return await self._http.request(method, path, content=content)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise RegistryUnavailable(f"{self.url} cannot be reached ({reason})") from error

    def successful(self, response: httpx.Response) -> dict[str, Any]:
        """Return the JSON object of a successful response. Raises RegistryUnavailable for any other response."""
        body = json_object(response)
        if response.is_success and body:
            return body
        message = body.get("message") or "that is no answer of a registry, look at the URL"
        raise RegistryUnavailable(f"{self.url} answers {response.status_code} ({message})")
