"""Sessions with an endpoint outside: aiohttp, which takes a worker a third of the time that httpx does."""

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
"""Servers end a connection that is idle for 5 s or longer: it is not used when that may be under way."""
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""64 vectors of 4,096 numbers in decimals take half of it; what is longer is no answer."""
_INFLATED_AT_ONCE: Final = 64 * 1024
_ANY_HEAD: Final = 32 + zlib.MAX_WBITS
"""By its head zlib tells gzip from deflate."""


def session_with(url: str, timeout_seconds: float, headers: Mapping[str, str] | None = None) -> aiohttp.ClientSession:
    """Return a session with the endpoint of a URL, through the proxy that the environment names; call it in its loop.

    It trusts the certificates that httpx trusts. `timeout_seconds` bounds connecting, and each wait for bytes. Answers
    are to be read by `read_bounded`.
    """
    return aiohttp.ClientSession(
        auto_decompress=False,
        connector=aiohttp.TCPConnector(ssl=httpx.create_ssl_context(), keepalive_timeout=_KEPT_ALIVE_SECONDS),
        headers={"Accept-Encoding": "gzip, deflate", **(headers or {})},
        timeout=aiohttp.ClientTimeout(total=None, connect=timeout_seconds, sock_read=timeout_seconds),
        proxy=_proxy_of(url),  # without trust_env, by which it would look for a netrc file before each request
    )


async def read_bounded(answer: aiohttp.ClientResponse) -> bytes:
    """Return what an answer holds, inflated where it is compressed; never more than 16 MiB are in memory.

    Raises ValueError for more than that, and for a compression that is none of gzip and deflate.
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
    """Return what inflates; some servers leave out the head of deflate."""
    is_bare = coding == "deflate" and beginning[:1] and beginning[0] & 0xF != zlib.DEFLATED
    return zlib.decompressobj(-zlib.MAX_WBITS if is_bare else _ANY_HEAD)


def _inflate(inflate: zlib._Decompress, chunk: bytes, read: bytearray) -> None:
    """Add what a chunk holds to what is read, up to one step beyond the bound. Raises ValueError."""
    try:
        while chunk and len(read) <= MAX_ANSWER_BYTES:
            read += inflate.decompress(chunk, _INFLATED_AT_ONCE)
            chunk = inflate.unconsumed_tail
    except zlib.error as error:
        raise ValueError("it is not compressed as it says") from error


def _proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for a URL."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
