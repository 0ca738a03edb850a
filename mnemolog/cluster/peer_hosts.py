"""Peer hosts: the hosts that peers may run on. The URLs in the group are set by its members and must be checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Self

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class PeerHosts:
    """Patterns of host names, and whether requests to peers must use TLS.

    `*` and `?` match within one label, so `worker-*` does not match `worker-1.example.com`.
    """

    patterns: tuple[str, ...]
    needs_tls: bool = False

    @classmethod
    def beside(cls, url: str | None, *, needs_tls: bool = False) -> Self:
        """Return the hosts of a worker's peers, derived from its own URL; None allows this machine only.

        They differ from the worker's host in the numbers of the first label only: `worker-*` for `worker-1`, and
        `mnemolog-*.mnemolog.default.svc` for the pod `mnemolog-0` of a StatefulSet.
        """
        host = _host(url) if url is not None else None
        if host is None or host in LOOPBACK:
            return cls(LOOPBACK, needs_tls)
        if _is_address(host):
            return cls((host,), needs_tls)
        first, dot, domain = host.partition(".")
        return cls((_NUMBER.sub("*", first) + dot + domain,), needs_tls)

    @classmethod
    def named(cls, patterns: Iterable[str], *, needs_tls: bool = False) -> Self:
        """Return the hosts that an operator has listed."""
        return cls(tuple(pattern.strip().rstrip(".").lower() for pattern in patterns if pattern.strip()), needs_tls)

    def refusal(self, url: str) -> str | None:
        """Return the reason not to send requests to a URL of the group, or None if it is allowed."""
        try:
            host, scheme = _host(url), httpx.URL(url).scheme
        except httpx.InvalidURL:
            host, scheme = None, ""
        if host is None or scheme not in ("http", "https"):
            return f"the group names {url!r} as a worker's place, which is none"
        if not any(_matches(host, pattern) for pattern in self.patterns):
            allowed = ", ".join(self.patterns) or "none"
            return (
                f"the group names {url} as a worker's place, whose host is none that MNEMOLOG_PEERS allows ({allowed})"
            )
        if self.needs_tls and scheme != "https":
            return f"the group names {url} as a worker's place: with TLS here, give it a certificate too"
        return None


def _host(url: str) -> str | None:
    address = httpx.URL(url)
    return None if address.userinfo else address.host.rstrip(".").lower() or None


def _matches(host: str, pattern: str) -> bool:
    labels, wanted = host.split("."), pattern.split(".")
    return len(labels) == len(wanted) and all(map(fnmatchcase, labels, wanted))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
