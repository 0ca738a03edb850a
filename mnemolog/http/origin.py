"""Origin checks: refuse requests that a page of another site may have made a browser send.

Without API keys the server listens on loopback only, and any page in a browser of this machine could reach it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from starlette.types import Scope

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
OTHER_SITES: Final = frozenset({b"cross-site", b"same-site"})
"""Sec-Fetch-Site of a page that is not ours; another port of this machine is the same site, and not ours."""
OF_FORMS: Final = frozenset({"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
"""Content types that any page may send anywhere without a preflight."""


def reason_to_refuse(scope: Scope, hosts: Collection[str] | None) -> tuple[HTTPStatus, str] | None:
    """Return why a request is refused, or None. `hosts` are the names that the server goes by; None: any.

    A page whose name was pointed at this machine (DNS rebinding) is of our origin for the browser; only its Host header
    gives it away.
    """
    headers: Mapping[bytes, bytes] = dict(scope["headers"])
    host = headers.get(b"host")
    if hosts is not None and host is not None and name_of(host.decode("latin-1")) not in hosts:
        detail = f"this server is not {host.decode('latin-1')!r}: ask it by {', '.join(sorted(hosts))}"
        return HTTPStatus.MISDIRECTED_REQUEST, detail
    origin = headers.get(b"origin")
    is_foreign = origin is not None and origin.partition(b"://")[2] != host
    reads = scope["method"] in READING
    if is_foreign or (not reads and headers.get(b"sec-fetch-site") in OTHER_SITES):
        detail = "a page of another site sent this request: browsers may use mnemolog from its own pages only"
        return HTTPStatus.FORBIDDEN, detail
    sent = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if not reads and sent in OF_FORMS:
        detail = f"a body of type {sent} is not read: send JSON, with Content-Type: application/json"
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail
    return None


def name_of(host: str) -> str:
    """Return the name in a Host header, in lower case: without a port, an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].rstrip(".").lower()
