"""Receivers of posts, reached over HTTP: no redirects, no proxies, no private addresses unless allowed."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httpcore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from ssl import SSLContext

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 20.0
"""The time-out from the first byte sent until the status of the answer is known."""
IDLE_SECONDS: Final = 30.0
"""How long an idle connection is kept."""
CONNECTIONS_KEPT: Final = 32
NAMES_AT_ONCE: Final = 32
"""The number of concurrent name lookups; a name server may be slow on purpose."""
MAX_ANSWER_BYTES: Final = 64 << 10
"""The part of an answer that is read; the connection of a longer one is closed."""
MAX_URL_CHARACTERS: Final = 2_048
MAX_DIGITS: Final = 9
"""The digits read of a Retry-After; any longer number exceeds every limit anyway."""
_NAT64: Final = IPv6Network("64:ff9b::/96")
_NOT_PUBLIC: Final = (IPv4Network("192.0.0.0/24"), IPv4Network("168.63.129.16/32"), IPv6Network("fec0::/10"))
"""Networks that Python counts as public: internal services of clouds (Oracle, Azure), and site-local addresses."""
Address = IPv4Address | IPv6Address
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class AddressRefused(ValueError):
    """Nothing is posted to this address; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A receiver's answer: its status, and the seconds of its Retry-After."""

    status: int
    retry_after: float | None = None


class Receivers:
    """Posts to receivers, on connections that are kept alive.

    Addresses are checked when a connection is opened, not when an address is set, because a name may resolve to
    another address later.
    """

    def __init__(self, allowed: Iterable[str] = (), *, tls: SSLContext | None = None) -> None:
        """Allow these hosts to be private and to be used without TLS; `tls` verifies certificates."""
        self._allowed = frozenset(allowed)
        self._names = _Names()
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=None,  # the callers limit them, so that no receiver waits for another
            max_keepalive_connections=CONNECTIONS_KEPT,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=_PublicNetwork(self._allowed, self._names),
        )

    def check(self, url: str) -> None:
        """Check the form of an address. Raises AddressRefused."""
        parts = urlsplit(url)  # raises a ValueError of its own for a wrong bracket or port
        host = parts.hostname or ""
        if (
            parts.scheme not in ("https", "http")
            or not host
            or not url.isascii()
            or not url.isprintable()
            or " " in url
        ):
            raise AddressRefused("must be an https:// address, percent-encoded")
        if parts.username is not None or parts.password is not None:
            raise AddressRefused("holds a name or a password: deliveries are signed instead, leave them out")
        if parts.fragment:
            raise AddressRefused("has a fragment, which nobody sends: leave it out")
        if parts.port == 0:
            raise AddressRefused("has the port 0")
        if host in self._allowed:
            return
        if parts.scheme != "https":
            raise AddressRefused(
                "must begin with https://: what is posted holds memories. "
                "A host that MNEMOLOG_WEBHOOK_HOSTS names may have http://"
            )
        if (literal := _literal(host)) is not None:
            _require_public(host, literal)

    async def look_up(self, url: str) -> None:
        """Check the form of an address, and whether its name resolves to a private one. Raises AddressRefused."""
        self.check(url)
        parts = urlsplit(url)
        host = str(parts.hostname)
        if host not in self._allowed:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._names.public_addresses(host, parts.port or 443)
            except OSError:  # a TimeoutError is one
                return  # unknown so far: each attempt resolves the name again

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Post a body and return the answer's status and Retry-After; the body of the answer is ignored.

        Raises AddressRefused, OSError, TimeoutError, and httpcore's errors.
        """
        self.check(url)
        timeout = {"connect": CONNECT_SECONDS, "read": ANSWER_SECONDS, "write": ANSWER_SECONDS, "pool": ANSWER_SECONDS}
        given = [(name.encode(), value.encode()) for name, value in headers.items()]
        host = urlsplit(url).netloc.encode()
        async with (
            asyncio.timeout(CONNECT_SECONDS + ANSWER_SECONDS),
            self._pool.stream(
                "POST", url, headers=[(b"host", host), *given], content=body, extensions={"timeout": timeout}
            ) as response,
        ):
            answer = Answer(response.status, retry_after(response.headers, datetime.now(UTC)))
            read = 0
            async for part in response.aiter_stream():  # to its end, so that the connection can be used again
                read += len(part)
                if read > MAX_ANSWER_BYTES:
                    break
            return answer

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()
        self._names.close()


class _Names:
    """Looks up names in its own threads, so that a slow name server cannot occupy the few threads of the process."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(NAMES_AT_ONCE, "webhook-names")

    async def public_addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a name. Raises OSError, and AddressRefused if any address is private."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        for address in addresses:
            _require_public(host, ip_address(address.partition("%")[0]))
        return addresses

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class _PublicNetwork(httpcore.AsyncNetworkBackend):
    """Connects to public addresses, and to the hosts that may be private.

    It looks up a name once and connects to the addresses that it has checked, so that a change of the name in between
    has no effect.
    """

    def __init__(self, allowed: frozenset[str], names: _Names) -> None:
        self._allowed = allowed
        self._names = names
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = [host] if host in self._allowed else await self._names.public_addresses(host, port)
        for number, address in enumerate(addresses, 1):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError:
                if number == len(addresses):
                    raise
        raise OSError(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _require_public(host: str, address: Address) -> None:
    if not is_public(address):
        raise AddressRefused(
            f"{host} is or means a private address: MNEMOLOG_WEBHOOK_HOSTS names hosts that may be private"
        )


def is_public(address: Address) -> bool:
    """Return whether an address is public; for an address that embeds another, whether the embedded one is."""
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner:
            return is_public(inner)
    is_named = any(address in network for network in _NOT_PUBLIC)
    return address.is_global and not (is_named or address.is_multicast or address.is_reserved)


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None


def retry_after(headers: Iterable[tuple[bytes, bytes]], now: datetime) -> float | None:
    """Return the seconds of a Retry-After, given as a number or a date; None if there is none."""
    said = next((value for name, value in headers if name.lower() == b"retry-after"), b"").decode("latin-1").strip()
    if said.isascii() and said.isdigit():
        return float(said[:MAX_DIGITS])
    try:
        return max(0.0, (parsedate_to_datetime(said) - now).total_seconds())
    except (TypeError, ValueError, OverflowError):  # no date, or one without its zone
        return None
