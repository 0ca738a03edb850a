"""Sessions with an external endpoint, by aiohttp, which takes a third of the time of httpx."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT_ALIVE_SECONDS: Final = 4.0
"""How long an idle connection is kept: servers close it after 5 s or longer, and it must not be used just then."""
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""The longest answer: 64 vectors of 4,096 decimal numbers take half of it."""
_INFLATED_AT_ONCE: Final = 64 * 1024
_ANY_HEAD: Final = 32 + zlib.MAX_WBITS
"""The window bits with which zlib recognises gzip and deflate by their headers."""


def session_with(url: str, timeout_seconds: float, headers: Mapping[str, str] | None = None) -> aiohttp.ClientSession:
    """Return a session with the endpoint of a URL, through the proxy that the environment names.

    Call it in the event loop that uses the session. It trusts the same certificates as httpx. `timeout_seconds` bounds
    the connection and each wait for bytes. Read answers with `read_bounded`.
    """
    return aiohttp.ClientSession(
        auto_decompress=False,
        connector=aiohttp.TCPConnector(ssl=httpx.create_ssl_context(), keepalive_timeout=_KEPT_ALIVE_SECONDS),
        headers={"Accept-Encoding": "gzip, deflate", **(headers or {})},
        timeout=aiohttp.ClientTimeout(total=None, connect=timeout_seconds, sock_read=timeout_seconds),
        proxy=_proxy_of(url),  # without trust_env, by which it would look for a netrc file before each request
    )


async def read_bounded(answer: aiohttp.ClientResponse) -> bytes:
    """Return the content of an answer, decompressed if necessary; at most 16 MiB are held in memory.

    Raises ValueError for a longer answer, and for a compression other than gzip and deflate.
    """
    coding = answer.headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise ValueError("it is compressed in a way that nobody asked for")
    inflate = None
    read = bytearray()
    async for chunk in answer.content.iter_any():
        if coding in ("", "identity"):
            read += chunk
        else:
            inflate = inflate or _inflation(chunk, coding)
            _inflate(inflate, chunk, read)
        if len(read) > MAX_ANSWER_BYTES:
            answer.close()
            raise ValueError(f"it is longer than {MAX_ANSWER_BYTES // 2**20} MiB")
    if inflate is not None:
        read += inflate.flush()
    return bytes(read)


def _inflation(beginning: bytes, coding: str) -> zlib._Decompress:
    """Return a decompressor for a coding; some servers omit the header of deflate."""
    is_bare = coding == "deflate" and beginning[:1] and beginning[0] & 0xF != zlib.DEFLATED
    return zlib.decompressobj(-zlib.MAX_WBITS if is_bare else _ANY_HEAD)


def _inflate(inflate: zlib._Decompress, chunk: bytes, read: bytearray) -> None:
    """Append the decompressed chunk to `read`, at most one step beyond the bound. Raises ValueError."""
    try:
        while chunk and len(read) <= MAX_ANSWER_BYTES:
            read += inflate.decompress(chunk, _INFLATED_AT_ONCE)
            chunk = inflate.unconsumed_tail
    except zlib.error as error:
        raise ValueError("it is not compressed as it says") from error


def _proxy_of(url: str) -> str | None:
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
