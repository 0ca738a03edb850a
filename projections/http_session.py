"""Sessions with an endpoint outside: aiohttp, which takes a worker a third of the time that httpx does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT_ALIVE_SECONDS: Final = 4.0
"""Servers end a connection that is idle for 5 s or longer: it is not used when that may be under way."""


def session_with(url: str, timeout_seconds: float, headers: Mapping[str, str] | None = None) -> aiohttp.ClientSession:
    """Return a session with the endpoint of a URL, through the proxy that the environment names; call it in its loop.

    It trusts the certificates that httpx trusts. `timeout_seconds` bounds connecting, and each wait for bytes.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=httpx.create_ssl_context(), keepalive_timeout=_KEPT_ALIVE_SECONDS),
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=None, connect=timeout_seconds, sock_read=timeout_seconds),
        proxy=_proxy_of(url),  # without trust_env, by which it would look for a netrc file before each request
    )


def _proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for a URL."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
